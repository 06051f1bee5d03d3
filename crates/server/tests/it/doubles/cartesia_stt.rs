//! Cartesia Ink: `/stt/websocket` and `/stt/turns/websocket`.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::stt::{FromClient, Peer, SttHandshake, TestStt, halves, json as parse};

fn text(message: &Value) -> Message {
    Message::text(message.to_string())
}

fn admitted(asked: &SttHandshake, path: &str, known: &[&str]) -> Result<(), (u16, String)> {
    if asked.header("authorization") != "Bearer ca-key" {
        return Err((401, json!({ "title": "Unauthorized", "message": "Invalid API key." }).to_string()));
    }
    if asked.header("cartesia-version") != "2026-08-14" {
        return Err((400, "the version is not that of the published types".to_owned()));
    }
    let terms: Vec<&str> = asked.query.iter().filter(|(name, _)| name == "keyterm").map(|(_, term)| &**term).collect();
    if terms.len() > 100 || terms.concat().chars().count() > 1_200 {
        return Err((400, "too many keyterms".to_owned()));
    }
    if asked.path != path {
        return Err((404, format!("there is no {}", asked.path)));
    }
    if let Some(words) = asked.unknown(known) {
        return Err((400, words));
    }
    let encoding = asked.one("encoding");
    if !encoding.starts_with("pcm_") || asked.one("sample_rate") != "8000" || !asked.one("model").starts_with("ink-") {
        return Err((400, format!("these parameters cannot be: {:?}", asked.query)));
    }
    Ok(())
}

#[derive(Default)]
pub(crate) struct Manual {
    encoding: String,
}

impl Peer for Manual {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        admitted(asked, "/stt/websocket", &["model", "encoding", "sample_rate", "language", "keyterm"])?;
        if !matches!(asked.one("language"), "" | "en") {
            return Err((400, "there is no such language".to_owned()));
        }
        self.encoding = asked.one("encoding").to_owned();
        Ok(())
    }

    fn greeting(&mut self) -> Vec<Message> {
        Vec::new()
    }

    fn oddities(&self) -> Vec<Value> {
        vec![json!({ "type": "transcript", "text": "", "is_final": false, "words": null })]
    }

    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        let command = match message {
            FromClient::Binary(audio) => {
                stt.hear(&self.encoding, &audio);
                return Ok(Vec::new());
            }
            FromClient::Text(command) => command,
        };
        let transcript =
            |text: &str, is_final: bool| json!({ "type": "transcript", "text": text, "is_final": is_final });
        match command.as_str() {
            "finalize" => {
                let words = stt.words();
                let (first, rest) = halves(&words);
                Ok(vec![
                    text(&transcript(&first, false)),
                    // The space is part of the text.
                    text(&transcript(&format!("{first} "), true)),
                    text(&transcript(&rest, true)),
                    text(&json!({ "type": "flush_done", "request_id": "r" })),
                ])
            }
            "close" => Ok(vec![text(&json!({ "type": "done", "request_id": "r" })), Message::Close(None)]),
            other => Err(format!("there is no command {other}")),
        }
    }
}

#[derive(Default)]
pub(crate) struct Turns {
    encoding: String,
}

impl Peer for Turns {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        admitted(asked, "/stt/turns/websocket", &["model", "encoding", "sample_rate", "keyterm"])?;
        self.encoding = asked.one("encoding").to_owned();
        Ok(())
    }

    fn greeting(&mut self) -> Vec<Message> {
        vec![text(&json!({ "type": "connected", "request_id": "r" }))]
    }

    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        match message {
            FromClient::Binary(audio) => stt.hear(&self.encoding, &audio),
            FromClient::Text(message) if parse(&message)?["type"] == "close" => return Ok(vec![Message::Close(None)]),
            FromClient::Text(message) => return Err(format!("there is no message {message}")),
        }
        if !stt.has_stopped() {
            return Ok(Vec::new());
        }
        let words = stt.words();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let turn = |event: &str, transcript: &str| {
            text(&json!({ "type": format!("turn.{event}"), "transcript": transcript, "request_id": "r" }))
        };
        Ok(vec![
            text(&json!({ "type": "turn.start", "request_id": "r" })),
            turn("update", &halves(&words).0),
            turn("eager_end", &words),
            turn("end", &words),
        ])
    }
}
