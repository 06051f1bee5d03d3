//! ElevenLabs Scribe realtime.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::stt::{FromClient, Peer, SttHandshake, TestStt, halves, json as parse};

const KNOWN: &[&str] =
    &["model_id", "audio_format", "commit_strategy", "language_code", "keyterms", "include_timestamps"];

#[derive(Default)]
pub(crate) struct Scribe {
    format: String,
    /// Whether it commits when it detects silence.
    commits: bool,
    refused: bool,
}

fn message(kind: &str, name: &str, value: &str) -> Message {
    Message::text(json!({ "message_type": kind, name: value }).to_string())
}

fn committed(stt: &mut TestStt) -> Vec<Message> {
    let words = stt.words();
    vec![message("partial_transcript", "text", &halves(&words).0), message("committed_transcript", "text", &words)]
}

impl Peer for Scribe {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        if asked.path != "/v1/speech-to-text/realtime" {
            return Err((404, format!("there is no {}", asked.path)));
        }
        if let Some(words) = asked.unknown(KNOWN) {
            return Err((400, words));
        }
        self.format = asked.one("audio_format").to_owned();
        self.commits = asked.one("commit_strategy") == "vad";
        if !matches!(&*self.format, "ulaw_8000" | "pcm_8000")
            || !(self.commits || asked.one("commit_strategy") == "manual")
        {
            return Err((400, format!("these parameters cannot be: {:?}", asked.query)));
        }
        if asked.query.iter().any(|(name, value)| name == "keyterms" && value.chars().count() > 20) {
            return Err((400, "a term is too long".to_owned()));
        }
        self.refused = asked.header("xi-api-key") != "xi-key";
        Ok(())
    }

    fn greeting(&mut self) -> Vec<Message> {
        if self.refused {
            return vec![message("auth_error", "error", "Invalid API key."), Message::Close(None)];
        }
        vec![message("session_started", "session_id", "s")]
    }

    fn oddities(&self) -> Vec<Value> {
        vec![
            json!({ "message_type": "partial_transcript", "text": "" }),
            json!({ "message_type": "session_started", "config": null }),
            json!({ "message_type": "committed_transcript_with_timestamps", "text": "", "words": [] }),
        ]
    }

    fn answer(&mut self, said: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        let FromClient::Text(said) = said else { return Err("binary messages are not taken".to_owned()) };
        let said: Value = parse(&said)?;
        if said["message_type"] != "input_audio_chunk" || said["sample_rate"] != 8_000 {
            return Err(format!("there is no such message: {said}"));
        }
        let sound = said["audio_base_64"].as_str().and_then(|audio| STANDARD.decode(audio).ok());
        stt.hear(&self.format, &sound.ok_or("the sound is not base64")?);
        match said["commit"].as_bool() {
            Some(false) if self.commits && stt.has_stopped() => Ok(committed(stt)),
            Some(false) => Ok(Vec::new()),
            Some(true) if !self.commits => Ok(committed(stt)),
            Some(true) => Err("it commits itself".to_owned()),
            None => Err("commit is missing".to_owned()),
        }
    }
}
