//! OpenAI's Realtime API (`GET {base}/realtime?model=…`), and compatible servers: speech to speech.
//!
//! Audio is G.711 in both directions, as carriers transmit it; `wire` has the protocol.

mod audio;
pub(crate) mod wire;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchhook_core::conversation::Role;
use switchhook_media::format::AudioFormat;

use self::audio::Format;
use self::wire::OpenAiRealtime;
use super::PROVIDER;
use super::server::SpeechServer;
use crate::adapter_config::AdapterConfig;
use crate::realtime::protocol::{RealtimeAdapter, RealtimeProtocol};
use crate::realtime::{Realtime, RealtimeClient, RealtimeOptions};
use crate::websocket::Handshake;

/// The model when neither the agent nor the connection names one.
pub const DEFAULT_MODEL: &str = "gpt-realtime-2";
const VOICE: &str = "marin";
const TRANSCRIPTION_MODEL: &str = "gpt-transcribe";

/// The provider's endpointing.
#[derive(Clone, Copy)]
enum TurnDetection {
    /// By meaning.
    Semantic,
    /// By silence alone.
    Silence,
}

struct OpenAiSpeechToSpeech {
    server: SpeechServer,
    model: Option<String>,
    voice: Option<String>,
    transcription_model: String,
    turn_detection: TurnDetection,
    /// The connection's format; `None` selects the one closest to the call's.
    format: Option<Format>,
    parameters: Map<String, Value>,
}

/// Creates speech to speech for a connection. `settings.realtime_model` and `settings.realtime_voice` are for agents that name none;
/// `settings.realtime_turn_detection` is `semantic_vad` or `server_vad`, `settings.realtime_format` is `pcmu`, `pcma` or `pcm` (24 kHz);
/// `settings.realtime_transcription_model` transcribes callers; `settings.realtime_parameters` are merged into the session.
///
/// # Errors
/// A sentence that names the invalid setting.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Realtime>, String> {
    let text = |name: &str| config.text(name).map(|text| text.map(str::to_owned));
    let detections = [("semantic_vad", TurnDetection::Semantic), ("server_vad", TurnDetection::Silence)];
    let formats = [("pcmu", Format::Mulaw), ("pcma", Format::Alaw), ("pcm", Format::Linear16)];
    let parameters = match config.settings.get("realtime_parameters") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(parameters)) => parameters.clone(),
        Some(_) => return Err("settings.realtime_parameters must be an object: parts of the session.".to_owned()),
    };
    let dialect = OpenAiSpeechToSpeech {
        server: SpeechServer::read(config)?,
        model: text("realtime_model")?,
        voice: text("realtime_voice")?,
        transcription_model: text("realtime_transcription_model")?.unwrap_or_else(|| TRANSCRIPTION_MODEL.to_owned()),
        turn_detection: config.choice("realtime_turn_detection", &detections)?.unwrap_or(TurnDetection::Semantic),
        format: config.choice("realtime_format", &formats)?,
        parameters,
    };
    Ok(Arc::new(RealtimeClient::new(config, dialect)))
}

impl OpenAiSpeechToSpeech {
    fn model<'a>(&'a self, options: &'a RealtimeOptions) -> &'a str {
        options.model.as_deref().or(self.model.as_deref()).unwrap_or(DEFAULT_MODEL)
    }

    fn format(&self, options: &RealtimeOptions) -> Format {
        let usual = match options.format {
            AudioFormat::Narrowband => Format::Mulaw,
            AudioFormat::Wideband => Format::Linear16,
        };
        if options.pcm { Format::Linear16 } else { self.format.unwrap_or(usual) }
    }

    fn session(&self, options: &RealtimeOptions) -> Value {
        let format = self.format(options).error_body();
        let voice = options.voice.as_deref().or(self.voice.as_deref()).unwrap_or(VOICE);
        let language = options.language.split('-').next().unwrap_or_default().to_lowercase();
        let tools: Vec<Value> = options
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                })
            })
            .collect();
        let mut session = json!({
            "type": "realtime",
            "model": self.model(options),
            "instructions": instructions(options),
            "output_modalities": ["audio"],
            "audio": {
                "input": {
                    "format": format,
                    "transcription": { "model": self.transcription_model, "language": language },
                    "turn_detection": self.turn_detection(options),
                },
                "output": { "format": format, "voice": voice },
            },
            "tools": tools,
            "tool_choice": "auto",
        });
        merge(&mut session, &self.parameters);
        session
    }

    /// Returns the agent's endpointing in the provider's terms: semantic detection waits for at most 2, 4 or 8 seconds.
    fn turn_detection(&self, options: &RealtimeOptions) -> Value {
        match self.turn_detection {
            TurnDetection::Semantic => {
                let eagerness = match options.max_silence_ms {
                    0..=3_000 => "high",
                    3_001..=6_000 => "medium",
                    _ => "low",
                };
                json!({
                    "type": "semantic_vad", "eagerness": eagerness,
                    "create_response": true, "interrupt_response": options.interruptible,
                })
            }
            TurnDetection::Silence => json!({
                "type": "server_vad", "silence_duration_ms": options.min_silence_ms,
                "create_response": true, "interrupt_response": options.interruptible,
            }),
        }
    }
}

impl RealtimeAdapter for OpenAiSpeechToSpeech {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn can_use_pcm(&self) -> bool {
        self.format != Some(Format::Linear16)
    }

    fn handshake(&self, options: &RealtimeOptions) -> Result<Handshake, String> {
        self.server.websocket("/realtime", &[("model", self.model(options).to_owned())])
    }

    fn protocol(&self, options: &RealtimeOptions) -> Box<dyn RealtimeProtocol> {
        Box::new(OpenAiRealtime::new(
            self.session(options),
            instructions(options),
            &options.messages,
            self.format(options),
            options.format,
        ))
    }
}

fn instructions(options: &RealtimeOptions) -> String {
    let system = options.messages.iter().filter(|message| message.role == Role::System);
    system.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Applies a JSON merge patch (RFC 7396): objects are merged, `null` removes.
fn merge(into: &mut Value, changes: &Map<String, Value>) {
    if !into.is_object() {
        *into = json!({});
    }
    let Some(fields) = into.as_object_mut() else { return };
    for (name, change) in changes {
        match change {
            Value::Null => drop(fields.remove(name)),
            Value::Object(changes) => merge(fields.entry(name.clone()).or_insert(Value::Null), changes),
            change => drop(fields.insert(name.clone(), change.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_connection_change_parts_of_the_session() {
        let mut session =
            json!({ "audio": { "input": { "turn_detection": { "type": "server_vad" }, "format": 1 } }, "tools": [] });
        let changes =
            json!({ "audio": { "input": { "turn_detection": { "threshold": 0.7 }, "format": null } }, "speed": 1.1 });
        merge(&mut session, changes.as_object().expect("an object"));
        let expected = json!({
            "audio": { "input": { "turn_detection": { "type": "server_vad", "threshold": 0.7 } } }, "tools": [], "speed": 1.1,
        });
        assert_eq!(session, expected);
    }
}
