//! AssemblyAI's streaming speech to text (`/v3/ws`): turns with all their words so far. Turns end when our VAD detects silence or,
//! with `stt_finalize` set to false, when the provider decides.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use switchhook_net::outbound::ws::Message;

use crate::adapter_config::AdapterConfig;
use crate::stt::{
    Encoding, KeepAlive, KeytermLimits, SttAdapter, SttDefaults, SttMessage, SttProtocol, SttServer, SttStreamConfig,
    close_description, streaming_stt,
};
use crate::websocket::{Handshake, StreamError, field, json as parse};
use crate::{Stt, SttOptions, is_english};

const PROVIDER: &str = "assemblyai";
const URL: &str = "https://streaming.assemblyai.com";
/// The models when neither the agent nor the connection names one.
pub(crate) const ENGLISH: &str = "universal-streaming-english";
const OTHER: &str = "universal-streaming-multilingual";
/// The languages of the latter.
const SIX: [&str; 6] = ["en", "es", "fr", "de", "it", "pt"];
/// The API version, a date.
const VERSION: &str = "2025-05-12";
/// A message must hold 50 to 1000 ms.
const DEFAULTS: SttDefaults = SttDefaults {
    encodings: &[Encoding::Mulaw, Encoding::Linear16],
    chunk: 3,
    finalize_timeout_ms: 1_500,
    // A ForceEndpoint without a turn gets no response; one with words does, within 420 ms at the 99th percentile.
    finalize_timeout_without_words_ms: Some(800),
};
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEYTERM_LIMITS: KeytermLimits = KeytermLimits { max_count: 100, max_chars: 50, max_total_chars: 5_000 };

/// Creates speech to text for a connection.
///
/// # Errors
/// A sentence that names the invalid setting.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Stt>, String> {
    let server = SttServer::read(config, URL, &DEFAULTS)?;
    if !(3..=50).contains(&server.settings.chunk) {
        return Err("settings.stt_chunk_ms must be from 60 to 1000 for assemblyai.".to_owned());
    }
    Ok(streaming_stt(config, AssemblyAi { server }))
}

struct AssemblyAi {
    server: SttServer,
}

impl AssemblyAi {
    /// Returns whether our VAD ends turns.
    fn finalize(&self) -> bool {
        self.server.settings.finalize.unwrap_or(true)
    }

    fn query(&self, options: &SttOptions) -> Vec<(&str, String)> {
        let language = self.server.settings.short_language(options);
        let model = self.model(&language, options);
        let encoding = if self.server.settings.encoding == Encoding::Mulaw { "pcm_mulaw" } else { "pcm_s16le" };
        let mut query = vec![
            ("sample_rate", self.server.settings.sample_rate.to_string()),
            ("encoding", encoding.to_owned()),
            ("format_turns", "false".to_owned()),
        ];
        // Its own ends of turn would be added to ours.
        if self.finalize() && model.starts_with("universal-streaming") {
            query.push(("end_of_turn_confidence_threshold", "1.0".to_owned()));
        } else if self.finalize() {
            query.extend([("min_turn_silence", "100".to_owned()), ("max_turn_silence", "100".to_owned())]);
        }
        let terms = KEYTERM_LIMITS.of(options);
        if !terms.is_empty() {
            query.push(("keyterms_prompt", json!(terms).to_string()));
        }
        // That model supports a single language. The others would have to detect the language.
        if !language.is_empty() && model != ENGLISH {
            query.push(("language_codes", json!([language]).to_string()));
        }
        query.push(("speech_model", model));
        query
    }

    fn model(&self, language: &str, options: &SttOptions) -> String {
        self.server.settings.model(options, if is_english(language) { ENGLISH } else { OTHER })
    }
}

impl SttAdapter for AssemblyAi {
    fn handshake(&self, options: &SttOptions) -> Result<Handshake, String> {
        let mut handshake = self.server.handshake("/v3/ws", self.query(options), "authorization", "")?;
        handshake.headers.insert("assemblyai-version", HeaderValue::from_static(VERSION));
        Ok(handshake)
    }

    fn protocol(&self, _: &SttOptions) -> Box<dyn SttProtocol> {
        let formatted =
            self.server.settings.parameters.get("format_turns").is_some_and(|value| *value == true || *value == "true");
        Box::new(AssemblyAiTurns { finalize: self.finalize(), formatted, forced: false, over: None })
    }

    fn stream_config(&self, _: &SttOptions) -> SttStreamConfig {
        SttStreamConfig {
            full_chunks_only: true,
            ..SttStreamConfig::of(PROVIDER, &self.server.settings, self.finalize())
        }
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        let language = self.server.settings.short_language(options);
        let model = self.model(&language, options);
        let known: &[&str] = match model.as_str() {
            ENGLISH => &["en"],
            OTHER => &SIX,
            _ => &[],
        };
        let foreign = !language.is_empty() && !known.is_empty() && !known.contains(&language.as_str());
        let words = || format!("understands {} with the model {model}, not {language:?}", known.join(", "));
        foreign.then(words).into_iter().chain(KEYTERM_LIMITS.omitted_keyterms(options)).collect()
    }
}

struct AssemblyAiTurns {
    finalize: bool,
    /// Whether a turn counts only once its text is formatted: each turn then ends twice.
    formatted: bool,
    /// Whether an end of turn was requested and has not arrived.
    forced: bool,
    /// The last turn that has ended.
    over: Option<u64>,
}

impl AssemblyAiTurns {
    fn turn(&mut self, message: &Value) -> Vec<SttMessage> {
        let is = |name: &str| message.get(name).and_then(Value::as_bool).unwrap_or(false);
        let order = message.get("turn_order").and_then(Value::as_u64);
        let text = field(message, "transcript").to_owned();
        if order.is_some() && order <= self.over {
            return Vec::new();
        }
        if !is("end_of_turn") || (self.formatted && !is("turn_is_formatted")) {
            return vec![SttMessage::Partial(text)];
        }
        self.over = order;
        let end = if !self.finalize {
            Some(SttMessage::EndOfTurn)
        } else if self.forced {
            self.forced = false;
            Some(SttMessage::Finalized)
        } else {
            None
        };
        [Some(SttMessage::Final(text)), end].into_iter().flatten().collect()
    }
}

impl SttProtocol for AssemblyAiTurns {
    fn finalize(&mut self) -> Option<Message> {
        if !self.finalize {
            return None;
        }
        self.forced = true;
        Some(Message::text(r#"{"type":"ForceEndpoint"}"#))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Message(KEEP_ALIVE, r#"{"type":"KeepAlive"}"#)
    }

    fn close_message(&self) -> Option<Message> {
        Some(Message::text(r#"{"type":"Terminate"}"#))
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        let message = parse(message)?;
        match field(&message, "type") {
            "Begin" => Ok(vec![SttMessage::Ready]),
            "Turn" => Ok(self.turn(&message)),
            "Error" => {
                let code = message.get("error_code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
                let words = field(&message, "error");
                Err(code
                    .map_or_else(|| StreamError::Retryable(words.to_owned()), |code| self.classify_close(code, words)))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn classify_close(&self, code: u16, reason: &str) -> StreamError {
        let words = close_description(code, reason);
        match code {
            // Earlier versions have no other code for the limit of sessions.
            1008 if reason.to_lowercase().contains("too many") => {
                StreamError::Retryable(format!("provider rate limit: {words}"))
            }
            // An error in the key, the account, a parameter or one of our messages.
            1008 | 3006 | 4000..=4003 | 4100 | 4101 => StreamError::Permanent(words),
            3009 | 4102 => StreamError::Retryable(format!("provider rate limit: {words}")),
            _ => StreamError::Retryable(words),
        }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"Begin","id":"x","expires_at":1700000000}"##,
                r##"{"type":"Turn","turn_order":0,"end_of_turn":false,"transcript":"book a"}"##,
                r##"{"type":"Turn","turn_order":1,"turn_is_formatted":true,"end_of_turn":true,"transcript":"Book a table.","words":[{"text":"Book","start":0,"end":200,"word_is_final":true}]}"##,
                r##"{"type":"Termination","audio_duration_seconds":3}"##,
            ],
            &[r##"{"type":"Begin"}"##, r##"{"type":"Error","error_code":4001,"error":"Not authorized"}"##],
        ])
    },
    read: |messages| {
        let mut turns = AssemblyAiTurns { finalize: true, formatted: false, forced: false, over: None };
        crate::fuzz::stt(&mut turns, messages)
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stt::testing::describe;

    fn turns(finalize: bool, formatted: bool) -> AssemblyAiTurns {
        AssemblyAiTurns { finalize, formatted, forced: false, over: None }
    }

    const PART: &str = r#"{"type":"Turn","turn_order":1,"end_of_turn":false,"transcript":"book a"}"#;
    const END: &str =
        r#"{"type":"Turn","turn_order":1,"turn_is_formatted":false,"end_of_turn":true,"transcript":"book a table"}"#;
    const FORMATTED: &str =
        r#"{"type":"Turn","turn_order":1,"turn_is_formatted":true,"end_of_turn":true,"transcript":"Book a table."}"#;

    #[test]
    fn a_turn_ends_once_though_it_is_reported_twice() {
        let mut plain = turns(true, false);
        plain.finalize();
        assert_eq!(describe(&mut plain, &[PART, END, FORMATTED]), ["~ book a", "= book a table", "flushed"]);
        let mut formatted = turns(false, true);
        assert_eq!(
            describe(&mut formatted, &[PART, END, FORMATTED]),
            ["~ book a", "~ book a table", "= Book a table.", "over"]
        );
        assert_eq!(describe(&mut turns(true, false), &[END]), ["= book a table"], "nobody asked for an end");
    }

    fn asked(settings: Value, language: &str) -> Vec<(String, String)> {
        switchhook_net::install_tls();
        let addresses = switchhook_core::webhook::AddressPolicy::default();
        let network = switchhook_net::outbound::NetworkSettings::default();
        let config = AdapterConfig {
            http: &reqwest::Client::new(),
            websockets: &switchhook_net::outbound::ws::WebSockets::new(&network, &addresses).expect("a client"),
            addresses: &addresses,
            settings: settings.as_object().expect("an object"),
            key: None,
        };
        let server = SttServer::read(&config, URL, &DEFAULTS).expect("good settings");
        let options = SttOptions { language: language.to_owned(), ..SttOptions::default() };
        let adapter = AssemblyAi { server };
        let query = adapter.query(&options);
        query.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn every_model_that_knows_several_languages_gets_the_right_one() {
        for (model, language, codes) in [
            (None, "de-DE", Some(r#"["de"]"#)),
            (None, "en-US", None),
            (Some(ENGLISH), "de", None),
            (Some("universal-3-5-pro"), "fr", Some(r#"["fr"]"#)),
            (Some("universal-3-5-pro"), "en-GB", Some(r#"["en"]"#)),
            (Some("whisper-rt"), "ja", Some(r#"["ja"]"#)),
        ] {
            let settings = model.map_or_else(|| json!({}), |model| json!({ "stt_model": model }));
            let query = asked(settings, language);
            let sent = query.iter().find(|(name, _)| name == "language_codes").map(|(_, value)| value.as_str());
            assert_eq!(sent, codes, "{model:?} {language}");
        }
    }

    #[test]
    fn errors_are_distinguished_by_their_code() {
        let error = r#"{"type":"Error","error_code":4001,"error":"Not authorized"}"#;
        let refused = StreamError::Permanent("Not authorized (close code 4001)".to_owned());
        assert_eq!(turns(true, false).read(error).err(), Some(refused));
        for (code, refused) in [
            (3006, true),
            (4000, true),
            (4002, true),
            (4100, true),
            (4101, true),
            (3005, false),
            (3008, false),
            (4004, false),
            (4008, false),
            (4029, false),
            (4031, false),
            (4103, false),
        ] {
            let broken = turns(true, false).classify_close(code, "");
            assert_eq!(matches!(broken, StreamError::Permanent(_)), refused, "{code}: {broken:?}");
        }
        let of_1008 = |reason: &str| turns(true, false).classify_close(1008, reason);
        let full = of_1008("Unauthorized Connection: Too many concurrent sessions");
        assert!(matches!(&full, StreamError::Retryable(words) if words.contains("rate limit")), "{full:?}");
        let keyless = of_1008("Unauthorized Connection: Missing Authorization header");
        assert!(matches!(keyless, StreamError::Permanent(_)), "{keyless:?}");
        let nameless = turns(true, false).read(r#"{"type":"Error","error":"Oh"}"#).err();
        assert_eq!(nameless, Some(StreamError::Retryable("Oh".to_owned())));
        assert!(
            matches!(turns(true, false).classify_close(3009, "busy"), StreamError::Retryable(words) if words.contains("rate limit"))
        );
    }
}
