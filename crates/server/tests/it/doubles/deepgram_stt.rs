//! Deepgram: Nova on `/v1/listen`, Flux on `/v2/listen`.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::stt::{FromClient, Peer, SttHandshake, TestStt, halves, json as parse};

const V1: &[&str] = &[
    "model",
    "encoding",
    "sample_rate",
    "channels",
    "language",
    "interim_results",
    "endpointing",
    "smart_format",
    "no_delay",
    "keyterm",
    "keywords",
    "numerals",
    "punctuate",
];
const V2: &[&str] = &[
    "model",
    "encoding",
    "sample_rate",
    "keyterm",
    "language_hint",
    "eot_threshold",
    "eager_eot_threshold",
    "eot_timeout_ms",
];

fn admitted(asked: &SttHandshake, path: &str, known: &[&str]) -> Result<(), (u16, String)> {
    if asked.header("authorization") != "Token dg-key" {
        return Err((401, json!({ "err_code": "INVALID_AUTH", "err_msg": "Invalid credentials." }).to_string()));
    }
    if asked.path != path {
        return Err((404, format!("there is no {}", asked.path)));
    }
    if let Some(words) = asked.unknown(known) {
        return Err((400, words));
    }
    let rate = asked.one("sample_rate");
    match asked.one("encoding") {
        "mulaw" | "alaw" if rate == "8000" => Ok(()),
        "linear16" if rate.parse::<u32>().is_ok() => Ok(()),
        encoding => Err((400, format!("{encoding} at {rate} cannot be"))),
    }
}

fn text(message: &Value) -> Message {
    Message::text(message.to_string())
}

#[derive(Default)]
pub(crate) struct Nova {
    encoding: String,
    /// Whether it ends speech on its own, like compatible servers without Finalize.
    ends_by_itself: bool,
    /// The text so far, if nothing ever becomes final.
    never_final: Option<String>,
}

impl Nova {
    pub(crate) fn without_finalize() -> Self {
        Self { ends_by_itself: true, ..Self::default() }
    }

    /// Creates a server that accepts Finalize, but continues with preliminary text.
    pub(crate) fn never_final() -> Self {
        Self { never_final: Some(String::new()), ..Self::default() }
    }

    /// Returns the preliminary text: everything since the last final text.
    fn so_far(&mut self, stt: &mut TestStt) -> Vec<Message> {
        let Some(so_far) = &mut self.never_final else { return Vec::new() };
        let words = stt.words();
        if words.is_empty() {
            return Vec::new();
        }
        *so_far = format!("{so_far} {words}").trim().to_owned();
        vec![results(so_far, &json!({ "is_final": false }))]
    }

    fn ended(&self, stt: &mut TestStt) -> Vec<Message> {
        let words = stt.words();
        // With nothing buffered it may not respond.
        if words.is_empty() {
            return Vec::new();
        }
        let (first, rest) = halves(&words);
        let mut said = vec![
            results(&first.to_lowercase(), &json!({ "is_final": false })),
            results(&words.to_lowercase(), &json!({ "is_final": false })),
            results(&first, &json!({ "is_final": true })),
            results(&rest, &json!({ "is_final": true, "speech_final": true })),
        ];
        if !self.ends_by_itself {
            said.push(results("", &json!({ "is_final": true, "from_finalize": true })));
        }
        said
    }
}

impl Peer for Nova {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        admitted(asked, "/v1/listen", V1)?;
        self.encoding = asked.one("encoding").to_owned();
        if asked.one("model").starts_with("flux") {
            return Err((400, "flux does not work here".to_owned()));
        }
        if asked.one("model").starts_with("nova-3") && !asked.one("keywords").is_empty() {
            return Err((400, "nova-3 takes keyterm".to_owned()));
        }
        Ok(())
    }

    fn greeting(&mut self) -> Vec<Message> {
        Vec::new()
    }

    fn oddities(&self) -> Vec<Value> {
        vec![
            json!({ "type": "SpeechStarted", "channel": [0], "timestamp": 0.1 }),
            json!({ "type": "UtteranceEnd", "channel": [0, 1], "last_word_end": -1 }),
            json!({ "type": "Metadata", "request_id": null }),
            json!({ "type": "Results", "is_final": false, "channel": { "alternatives": [] } }),
            json!({ "type": "Results", "is_final": true, "channel": null }),
            json!({ "type": "Results", "is_final": false, "channel": { "alternatives": [{ "transcript": "" }] } }),
        ]
    }

    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        let message = match message {
            FromClient::Binary(audio) if audio.is_empty() => return Err("an empty message ends the stream".to_owned()),
            FromClient::Binary(audio) if audio.starts_with(b"{\"") => return Err("JSON was sent as audio".to_owned()),
            FromClient::Binary(audio) => {
                stt.hear(&self.encoding, &audio);
                let stopped = stt.has_stopped();
                if stopped && self.never_final.is_some() {
                    return Ok(self.so_far(stt));
                }
                return Ok(if stopped && self.ends_by_itself { self.ended(stt) } else { Vec::new() });
            }
            FromClient::Text(text) => parse(&text)?,
        };
        match message["type"].as_str() {
            Some("KeepAlive") => Ok(Vec::new()),
            Some("CloseStream") => Ok(vec![
                text(&json!({ "type": "Metadata", "request_id": "r", "duration": 1.0, "channels": 1 })),
                Message::Close(None),
            ]),
            Some("Finalize") if self.never_final.is_some() => Ok(Vec::new()),
            Some("Finalize") if !self.ends_by_itself => Ok(self.ended(stt)),
            other => Err(format!("there is no message {other:?}")),
        }
    }
}

fn results(transcript: &str, flags: &Value) -> Message {
    let mut message = json!({
        "type": "Results", "channel_index": [0, 1], "start": 0.0, "duration": 1.0,
        "channel": { "alternatives": [{ "transcript": transcript, "confidence": 0.9, "words": [] }] },
    });
    for (name, value) in flags.as_object().expect("flags") {
        message[name] = value.clone();
    }
    text(&message)
}

#[derive(Default)]
pub(crate) struct Flux {
    encoding: String,
    said: u64,
    turn: u64,
}

impl Flux {
    fn message(&mut self, mut message: Value) -> Message {
        message["sequence_id"] = json!(self.said);
        self.said += 1;
        text(&message)
    }

    fn turn(&mut self, event: &str, transcript: &str) -> Message {
        let turn = self.turn;
        self.message(json!({ "type": "TurnInfo", "event": event, "turn_index": turn, "transcript": transcript }))
    }
}

impl Peer for Flux {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        admitted(asked, "/v2/listen", V2)?;
        self.encoding = asked.one("encoding").to_owned();
        if asked.one("model").starts_with("flux-general-") { Ok(()) } else { Err((400, "no such model".to_owned())) }
    }

    fn greeting(&mut self) -> Vec<Message> {
        vec![self.message(json!({ "type": "Connected", "request_id": "r" }))]
    }

    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        let forced = match message {
            FromClient::Binary(audio) if audio.is_empty() => return Err("an empty message".to_owned()),
            FromClient::Binary(audio) => {
                stt.hear(&self.encoding, &audio);
                false
            }
            FromClient::Text(text) => match parse(&text)?["type"].as_str() {
                Some("ForceEndTurn") => true,
                Some("CloseStream") => return Ok(vec![Message::Close(None)]),
                other => return Err(format!("there is no message {other:?} on v2")),
            },
        };
        if !(forced || stt.has_stopped()) {
            return Ok(Vec::new());
        }
        let words = stt.words();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let (first, _) = halves(&words);
        let said = vec![
            self.turn("StartOfTurn", &first),
            self.turn("Update", &words),
            self.turn("EagerEndOfTurn", &words),
            self.turn("TurnResumed", &words),
            self.turn("EndOfTurn", &words),
        ];
        self.turn += 1;
        Ok(said)
    }
}
