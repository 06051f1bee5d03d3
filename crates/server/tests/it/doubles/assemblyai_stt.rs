//! AssemblyAI streaming, `/v3/ws`. Keys and parameters are checked only after the handshake.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::stt::{FromClient, Peer, SttHandshake, TestStt, halves, json as parse};

const KNOWN: &[&str] = &[
    "sample_rate",
    "encoding",
    "speech_model",
    "format_turns",
    "end_of_turn_confidence_threshold",
    "min_turn_silence",
    "max_turn_silence",
    "keyterms_prompt",
    "language_codes",
];

#[derive(Default)]
pub(crate) struct AssemblyAi {
    encoding: String,
    refused: Option<(u16, String)>,
    /// Whether it detects ends of turn itself.
    judges: bool,
    /// The text so far, if no turn ever ends.
    never_final: Option<String>,
    order: u64,
}

impl AssemblyAi {
    /// Creates a server whose first turn never ends.
    pub(crate) fn never_final() -> Self {
        Self { never_final: Some(String::new()), ..Self::default() }
    }

    fn turns(&mut self, words: &str) -> Vec<Message> {
        if words.is_empty() {
            return Vec::new();
        }
        let order = self.order;
        let turn = |end: bool, text: &str| {
            let turn = json!({
                "type": "Turn", "turn_order": order, "turn_is_formatted": false, "end_of_turn": end,
                "transcript": text, "end_of_turn_confidence": 0.8, "words": [],
            });
            Message::text(turn.to_string())
        };
        if let Some(so_far) = &mut self.never_final {
            *so_far = format!("{so_far} {words}").trim().to_owned();
            return vec![turn(false, so_far)];
        }
        let said = vec![turn(false, &halves(words).0), turn(false, words), turn(true, words)];
        self.order += 1;
        said
    }
}

impl Peer for AssemblyAi {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        if asked.path != "/v3/ws" {
            return Err((404, format!("there is no {}", asked.path)));
        }
        self.encoding = asked.one("encoding").to_owned();
        self.judges = asked.one("end_of_turn_confidence_threshold") != "1.0";
        let terms = asked.one("keyterms_prompt");
        let terms_are_a_list = terms.is_empty()
            || serde_json::from_str::<Vec<String>>(terms)
                .is_ok_and(|terms| terms.len() <= 100 && terms.iter().all(|term| term.chars().count() <= 50));
        let codes = asked.one("language_codes");
        let knows_several = asked.one("speech_model") != "universal-streaming-english";
        let has_language = serde_json::from_str::<Vec<String>>(codes)
            .is_ok_and(|codes| !codes.is_empty() && codes.len() <= 10 && codes.iter().all(|code| code.len() == 2));
        if asked.header("assemblyai-version") != "2025-05-12" {
            self.refused = Some((3006, "the version is not that of the published types".to_owned()));
        } else if has_language != knows_several || has_language == codes.is_empty() {
            self.refused = Some((3006, format!("language_codes cannot be {codes:?} here")));
        } else if asked.header("authorization") != "aai-key" {
            self.refused = Some((4001, "Not authorized".to_owned()));
        } else if let Some(words) = asked.unknown(KNOWN) {
            self.refused = Some((3006, words));
        } else if !terms_are_a_list || asked.one("sample_rate") != "8000" || !self.encoding.starts_with("pcm_") {
            self.refused = Some((3006, format!("these parameters cannot be: {:?}", asked.query)));
        }
        Ok(())
    }

    fn greeting(&mut self) -> Vec<Message> {
        match &self.refused {
            Some((code, words)) => {
                let error = json!({ "type": "Error", "error_code": code, "error": words });
                let close = CloseFrame { code: (*code).into(), reason: words.clone().into() };
                vec![Message::text(error.to_string()), Message::Close(Some(close))]
            }
            None => vec![Message::text(json!({ "type": "Begin", "id": "s", "expires_at": 0 }).to_string())],
        }
    }

    fn oddities(&self) -> Vec<Value> {
        let turn =
            json!({ "type": "Turn", "turn_order": self.order, "end_of_turn": false, "transcript": "", "words": [] });
        vec![turn, json!({ "type": "SpeechStarted", "timestamp": 3 }), json!({ "type": "Begin", "id": null })]
    }

    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        let message: Value = match message {
            FromClient::Binary(audio) => {
                let ms = audio.len() / if self.encoding == "pcm_mulaw" { 8 } else { 16 };
                if !(50..=1_000).contains(&ms) {
                    return Err(format!("3007: a message of {ms} ms"));
                }
                stt.hear(&self.encoding, &audio);
                if self.judges && stt.has_stopped() {
                    let words = stt.words();
                    return Ok(self.turns(&words));
                }
                return Ok(Vec::new());
            }
            FromClient::Text(text) => parse(&text)?,
        };
        match message["type"].as_str() {
            Some("ForceEndpoint") if self.judges => Err("turns would end twice".to_owned()),
            Some("ForceEndpoint") => {
                let words = stt.words();
                Ok(self.turns(&words))
            }
            Some("KeepAlive") => Ok(Vec::new()),
            Some("Terminate") => {
                let end = json!({ "type": "Termination", "audio_duration_seconds": 1, "session_duration_seconds": 1 });
                Ok(vec![Message::text(end.to_string()), Message::Close(None)])
            }
            other => Err(format!("there is no message {other:?}")),
        }
    }
}
