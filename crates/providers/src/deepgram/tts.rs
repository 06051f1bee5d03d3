//! Deepgram's Aura voices over the websocket of API version 1 (`/v1/speak`), in µ-law at 8 kHz or
//! linear samples at 16 kHz.
//!
//! Audio does not say which utterance it belongs to, so a socket speaks one at a time, and after `Clear` it is not used until
//! `Cleared` arrives. The voice is the model, and is fixed per socket. There are no word timings.

use std::sync::Arc;

use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};
use switchhook_core::private::Private;
use switchhook_net::lenient_json;
use switchhook_net::outbound::ws::{Message, below};

use super::PROVIDER;
use crate::adapter_config::AdapterConfig;
use crate::failure::AttemptError;
use crate::parameters::Parameters;
use crate::tts::pool::TtsPool;
use crate::tts::protocol::{
    AudioChunk, CancelConfirmation, SocketLimits, TtsEncoding, TtsEvent, TtsMessage, TtsProtocol,
};
use crate::tts::timing::WordTiming;
use crate::tts::{TtsTimeouts, primary_language};
use crate::websocket::{Handshake, text_of};
use crate::{Tts, TtsRequest};

const URL: &str = "https://api.deepgram.com";
/// The voice when neither the agent nor the connection names one.
pub(crate) const DEFAULT_VOICE: &str = "aura-2-thalia-en";
/// The supported speaking rates.
const SPEEDS: (f32, f32) = (0.7, 1.5);
/// The longest `Speak` accepted, in characters.
const LONGEST: usize = 2_000;
/// More than 20 `Flush` per minute are ignored, and each utterance needs one.
const PER_MINUTE: usize = 20;

struct DeepgramTts {
    base: String,
    key: Option<Private<String>>,
    voice: String,
    parameters: Parameters,
}

/// Creates text to speech for a connection. `settings.tts_voice` or `settings.tts_model`, which are equivalent here, are for agents
/// that name neither; `settings.tts_parameters` are added to requests.
///
/// # Errors
/// A sentence when a setting is invalid.
pub fn connect(config: &AdapterConfig<'_>, timeouts: TtsTimeouts) -> Result<Arc<dyn Tts>, String> {
    let voice = config.text("tts_voice")?.or(config.text("tts_model")?).unwrap_or(DEFAULT_VOICE).to_owned();
    let protocol = DeepgramTts {
        base: config.base_url(URL)?,
        key: config.key.clone(),
        voice,
        parameters: Parameters::of_voices(config)?,
    };
    Ok(Arc::new(TtsPool::new(config, protocol, timeouts)))
}

impl DeepgramTts {
    fn voice<'a>(&'a self, request: &'a TtsRequest) -> &'a str {
        request.voice.as_ref().or(request.model.as_ref()).unwrap_or(&self.voice)
    }
}

impl TtsProtocol for DeepgramTts {
    fn provider(&self) -> &'static str {
        PROVIDER
    }

    fn key(&self) -> Option<&Private<String>> {
        self.key.as_ref()
    }

    fn limits(&self) -> SocketLimits {
        SocketLimits { contexts: 1, begun_per_minute: PER_MINUTE, cancel_confirmation: CancelConfirmation::Cancelled }
    }

    fn handshake(&self, request: &TtsRequest) -> Result<Handshake, String> {
        let (encoding, rate) = match TtsEncoding::of(request) {
            TtsEncoding::Mulaw8k => ("mulaw", "8000"),
            TtsEncoding::Linear16k => ("linear16", "16000"),
        };
        let mut query = vec![
            ("model", self.voice(request).to_owned()),
            ("encoding", encoding.to_owned()),
            ("sample_rate", rate.to_owned()),
        ];
        if (request.speed - 1.0).abs() > f32::EPSILON {
            query.push(("speed", request.speed.clamp(SPEEDS.0, SPEEDS.1).to_string()));
        }
        let url = below(&self.base, "/v1/speak", &self.parameters.in_query(query));
        Handshake::new(url.map_err(|error| format!("settings.base_url {error}."))?, self.key(), AUTHORIZATION, "Token ")
    }

    fn unsupported_options(&self, like: &TtsRequest) -> Option<String> {
        let voice = self.voice(like);
        let own = voice.rsplit_once('-').map(|(_, language)| language).filter(|language| language.len() == 2)?;
        let other = !like.language.is_empty() && !own.eq_ignore_ascii_case(primary_language(&like.language));
        other.then(|| format!("speaks {own:?} with the voice {voice}, not {:?}", like.language))
    }

    fn begin(&self, _context: &str, request: &TtsRequest) -> Vec<String> {
        let speak = pieces(&request.text).into_iter().map(|text| json!({ "type": "Speak", "text": text }).to_string());
        speak.chain([json!({ "type": "Flush" }).to_string()]).collect()
    }

    fn stop(&self, _context: &str) -> Vec<String> {
        vec![json!({ "type": "Clear" }).to_string()]
    }

    fn close_message(&self) -> Option<String> {
        Some(json!({ "type": "Close" }).to_string())
    }

    fn read(&self, message: &Message) -> Result<Vec<TtsMessage>, String> {
        let parsed = text_of(message).map(lenient_json::from_str::<Value>);
        let event = match (message, parsed) {
            (_, Some(Ok(message))) => self.event(&message),
            (Message::Binary(audio), _) => {
                Some(TtsEvent::Audio(AudioChunk { audio: audio.to_vec(), timing: WordTiming::None }))
            }
            (_, Some(Err(_))) => return Err("it sent a message that is not JSON".to_owned()),
            (_, None) => None,
        };
        Ok(event.map(|event| TtsMessage { context: None, event }).into_iter().collect())
    }
}

impl DeepgramTts {
    /// Returns what a message says, if that matters.
    fn event(&self, message: &Value) -> Option<TtsEvent> {
        match message.get("type").and_then(Value::as_str)? {
            "Flushed" => Some(TtsEvent::Done),
            "Cleared" => Some(TtsEvent::Cancelled),
            "Error" => Some(TtsEvent::Failed(AttemptError::from_message(PROVIDER, message, self.key()))),
            "Warning" => {
                // Its message may quote the text of the request.
                let code = message.get("code").or_else(|| message.get("warn_code")).and_then(Value::as_str);
                tracing::warn!(code, "Deepgram TTS warning");
                None
            }
            _ => None,
        }
    }
}

/// Splits `text` between words into pieces that fit into a message.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(LONGEST) {
        let cut = rest[..end].rfind(' ').map_or(end, |space| space + 1);
        let (piece, behind) = rest.split_at(cut);
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
fn plain() -> DeepgramTts {
    DeepgramTts { base: URL.to_owned(), key: None, voice: DEFAULT_VOICE.to_owned(), parameters: Parameters::default() }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"Metadata","request_id":"r","model_name":"aura"}"##,
                r##"{"type":"Flushed","sequence_id":0}"##,
                r##"{"type":"Cleared","sequence_id":1}"##,
            ],
            &[
                r##"{"type":"Flushed"}"##,
                r##"{"type":"Warning","description":"slow","code":"x"}"##,
                r##"{"type":"Error","description":"No.","code":"y"}"##,
            ],
        ])
    },
    read: |messages| crate::fuzz::tts(&plain(), messages),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_relay_forwards_in_binary_frames_is_not_played() {
        let event = |message: Message| plain().read(&message).expect("it is taken").pop().map(|message| message.event);
        assert!(matches!(event(Message::binary(r#"{"type":"Flushed"}"#)), Some(TtsEvent::Done)));
        assert!(event(Message::text("")).is_none());
        for audio in [&b"\x7f\xff"[..], b"{}}", b""] {
            assert!(matches!(event(Message::binary(audio.to_vec())), Some(TtsEvent::Audio(_))), "{audio:?}");
        }
        assert!(plain().read(&Message::text("Hello")).is_err());
    }

    #[test]
    fn a_long_text_is_cut_between_words_and_nothing_is_lost() {
        let text = "seven é ".repeat(600);
        let pieces = pieces(&text);
        assert_eq!(pieces.concat(), text);
        assert!(
            pieces.iter().all(|piece| piece.chars().count() <= LONGEST && piece.ends_with(' ') || piece.is_empty())
        );
        assert_eq!(super::pieces(&"x".repeat(LONGEST + 1)).len(), 2);
    }
}
