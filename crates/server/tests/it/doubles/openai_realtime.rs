//! OpenAI's Realtime interface, speech to speech, in the event names that are generally available.
//!
//! Its model speaks in tones, four times as fast as it is heard, and says what the test wants. Its ear understands the simulated
//! caller's recordings; on a silent line it hears what the test wants.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use switchhook_media::g711::Law;
use switchhook_media::tone::sine;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use super::complaints::{Complaints, Guard};
use super::listening::Ear;

pub(crate) const KEY: &str = "sk-key";
/// How long a character is spoken.
const CHARACTER_MS: usize = 60;
/// The sound of one message, and how long it takes to make.
const DELTA_MS: usize = 200;
const MAKING: Duration = Duration::from_millis(50);
/// Silence of the caller that ends a turn, beyond that of the ear, in frames.
const SILENCE: u32 = 25;
/// What the caller said is written down so long after the answer has begun.
const LATE: Duration = Duration::from_millis(400);

/// What the model does when it is its turn.
#[derive(Clone)]
pub(crate) enum Reply {
    Says(&'static str),
    /// Says this, if anything, and calls a tool: id, name, arguments.
    Calls(Option<&'static str>, &'static str, &'static str, Value),
    /// Begins, and nothing ever comes of it.
    Nothing,
    Fails(&'static str),
    /// The connection breaks.
    Dies,
    /// Sends what is not JSON.
    Garbage,
}

/// What is heard on a silent line: so long after the last turn, for so long, these words.
pub(crate) type Turn = (u32, u32, &'static str);

pub(crate) struct Double {
    address: SocketAddr,
    shared: Arc<Shared>,
    _guard: Guard,
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    turns: Mutex<VecDeque<Turn>>,
    complaints: Complaints,
    /// Everything it was told but sound, and of each session its setting up.
    told: Mutex<Vec<Value>>,
    open: watch::Sender<usize>,
    made: watch::Sender<usize>,
}

fn locked<T, R>(mutex: &Mutex<T>, with: impl FnOnce(&mut T) -> R) -> R {
    with(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Double {
    pub(crate) async fn start(replies: Vec<Reply>, turns: Vec<Turn>) -> Self {
        let complaints = Complaints::default();
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into()),
            turns: Mutex::new(turns.into()),
            complaints: complaints.clone(),
            told: Mutex::default(),
            open: watch::Sender::new(0),
            made: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&server), stream));
            }
        });
        Self { address, shared, _guard: Guard(complaints) }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was told under this name.
    pub(crate) fn told(&self, kind: &str) -> Vec<Value> {
        locked(&self.shared.told, |told| told.iter().filter(|message| message["type"] == kind).cloned().collect())
    }

    /// How many sessions there have been.
    pub(crate) fn sessions(&self) -> usize {
        *self.shared.made.borrow()
    }

    /// Waits until no session is open.
    pub(crate) async fn is_free(&self) {
        self.shared.open.subscribe().wait_for(|open| *open == 0).await.expect("the server lives");
    }
}

#[expect(clippy::result_large_err, reason = "the websocket server's own type")]
async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    let opened =
        tokio_tungstenite::accept_hdr_async(stream, |request: &Request, response| opening(&shared, request, response));
    let Ok(socket) = opened.await else { return };
    shared.made.send_modify(|made| *made += 1);
    shared.open.send_modify(|open| *open += 1);
    Session::new(Arc::clone(&shared), socket).await.run().await;
    shared.open.send_modify(|open| *open -= 1);
}

#[expect(clippy::result_large_err, reason = "the websocket server's own type")]
fn opening(shared: &Shared, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refuse = |status: u16, body: Value| {
        let mut refusal = ErrorResponse::new(Some(body.to_string()));
        *refusal.status_mut() = status.try_into().expect("a status");
        refusal
    };
    if !header("openai-beta").is_empty() {
        shared.complaints.add("the beta interface is gone");
    }
    if request.uri().path() != "/v1/realtime" || !request.uri().query().unwrap_or_default().starts_with("model=") {
        shared.complaints.add(format!("there is no {}", request.uri()));
        return Err(refuse(404, json!({})));
    }
    if header("authorization") != format!("Bearer {KEY}") {
        let message = format!("Incorrect API key provided: {}.", header("authorization").trim_start_matches("Bearer "));
        return Err(refuse(401, json!({ "error": { "message": message, "code": "invalid_api_key" } })));
    }
    Ok(response)
}

/// Why a session ends.
enum Over {
    /// Their side.
    Closed,
    /// Ours, on purpose.
    Broken,
    /// The real one would have refused this.
    Refused(String),
}

struct Session {
    shared: Arc<Shared>,
    socket: WebSocketStream<TcpStream>,
    ready: bool,
    interrupts: bool,
    /// What will be said, and whether it belongs to the response under way.
    pending: VecDeque<(Instant, Value, bool)>,
    active: Option<String>,
    count: u32,
    /// Items and the milliseconds that were made of them; nothing once they were truncated.
    items: HashMap<String, Option<usize>>,
    calls: HashSet<String>,
    ear: Ear,
    /// Frames since the caller stopped, while that may be the end of their turn.
    stopped: Option<u32>,
    speaking: bool,
    /// Milliseconds heard since the last turn that the test wants.
    heard_ms: u32,
}

impl Session {
    async fn new(shared: Arc<Shared>, socket: WebSocketStream<TcpStream>) -> Self {
        Self {
            shared,
            socket,
            ready: false,
            interrupts: true,
            pending: VecDeque::new(),
            active: None,
            count: 0,
            items: HashMap::new(),
            calls: HashSet::new(),
            ear: Ear::new().await,
            stopped: None,
            speaking: false,
            heard_ms: 0,
        }
    }

    async fn run(mut self) {
        let _ = self.say(json!({ "type": "session.created", "session": { "type": "realtime" } })).await;
        loop {
            let due = self.pending.front().map(|(at, ..)| *at);
            let done = tokio::select! {
                message = self.socket.next() => match message {
                    Some(Ok(Message::Text(text))) => self.take(text.as_str()).await,
                    Some(Ok(Message::Close(_))) | None => Err(Over::Closed),
                    Some(Ok(Message::Binary(_))) => Err(Over::Refused("binary messages are not taken".to_owned())),
                    Some(Ok(_)) => Ok(()),
                    Some(Err(_)) => Err(Over::Refused("the connection was dropped without a goodbye".to_owned())),
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.next().await,
            };
            match done {
                Ok(()) => {}
                Err(Over::Closed | Over::Broken) => return,
                Err(Over::Refused(words)) => return self.shared.complaints.add(words),
            }
        }
    }

    /// A peer that has gone is noticed when nothing more is read.
    async fn say(&mut self, message: Value) -> Result<(), Over> {
        let _ = self.socket.send(Message::text(message.to_string())).await;
        Ok(())
    }

    fn name(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}_{}", self.count)
    }

    /// Says what is due.
    async fn next(&mut self) -> Result<(), Over> {
        let Some((_, message, _)) = self.pending.pop_front() else { return Ok(()) };
        match message["type"].as_str() {
            Some("die") => return Err(Over::Broken),
            Some("garbage") => {
                let _ = self.socket.send(Message::text("{\"type\":")).await;
                return Ok(());
            }
            Some("response.done") => self.active = None,
            Some("response.output_audio.delta") => {
                let made =
                    self.items.entry(message["item_id"].as_str().unwrap_or_default().to_owned()).or_insert(Some(0));
                *made = made.map(|ms| {
                    ms + STANDARD
                        .decode(message["delta"].as_str().unwrap_or_default())
                        .map_or(0, |sound| sound.len() / 8)
                });
            }
            _ => {}
        }
        self.say(message).await
    }

    async fn take(&mut self, text: &str) -> Result<(), Over> {
        let refused = |words: String| Err(Over::Refused(words));
        let Ok(message) = serde_json::from_str::<Value>(text) else { return refused(format!("not JSON: {text}")) };
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        if kind == "input_audio_buffer.append" {
            return self.hear(&message).await;
        }
        locked(&self.shared.told, |told| told.push(message.clone()));
        if kind != "session.update" && !self.ready {
            return refused(format!("{kind} before the session is set up"));
        }
        match kind.as_str() {
            "session.update" => self.set_up(&message["session"]).await,
            "response.create" => self.asked(&message).await,
            "response.cancel" if self.active.is_some() => self.cancel("client_cancelled").await,
            "response.cancel" => self.error(&message, "response_cancel_not_active").await,
            "conversation.item.truncate" => self.truncate(&message).await,
            "conversation.item.create" => self.create(&message["item"]).await,
            other => refused(format!("there is no message {other}")),
        }
    }

    async fn error(&mut self, about: &Value, code: &str) -> Result<(), Over> {
        let error =
            json!({ "type": "invalid_request_error", "code": code, "message": code, "event_id": about["event_id"] });
        self.say(json!({ "type": "error", "event_id": "e", "error": error })).await
    }

    async fn set_up(&mut self, session: &Value) -> Result<(), Over> {
        let (input, output) = (&session["audio"]["input"], &session["audio"]["output"]);
        let detection = &input["turn_detection"];
        let formats = [&input["format"], &output["format"]].map(|format| *format == json!({ "type": "audio/pcmu" }));
        let words = [&session["model"], &session["instructions"], &output["voice"], &input["transcription"]["model"]];
        let tools = session["tools"].as_array().cloned().unwrap_or_default();
        let tools_fit = tools.iter().all(|tool| {
            tool["type"] == "function" && tool["parameters"]["type"] == "object" && tool["name"].is_string()
        });
        let known = ["type", "model", "instructions", "output_modalities", "audio", "tools", "tool_choice"];
        let fields = session.as_object().is_some_and(|fields| fields.keys().all(|name| known.contains(&name.as_str())));
        let fits = session["type"] == "realtime"
            && session["output_modalities"] == json!(["audio"])
            && formats == [true, true]
            && words.iter().all(|word| word.as_str().is_some_and(|word| !word.is_empty()))
            && matches!(detection["type"].as_str(), Some("semantic_vad" | "server_vad"))
            && detection["create_response"] == true
            && (detection["type"] == "server_vad" || detection["silence_duration_ms"].is_null());
        if !fits || !tools_fit || !fields || self.ready {
            return Err(Over::Refused(format!("this session cannot be: {session}")));
        }
        self.interrupts = detection["interrupt_response"] == true;
        self.ready = true;
        self.say(json!({ "type": "session.updated", "session": session })).await
    }

    /// The model is told to speak.
    async fn asked(&mut self, message: &Value) -> Result<(), Over> {
        if self.active.is_some() {
            return self.error(message, "conversation_already_has_active_response").await;
        }
        if let Some(call) = self.calls.iter().next() {
            return Err(Over::Refused(format!("the model is to speak before {call} was answered")));
        }
        let response = &message["response"];
        let instructions = response["instructions"].as_str().unwrap_or_default();
        let exactly = response["tool_choice"] == "none";
        let reply = match instructions.split_once("\n\n").filter(|_| exactly) {
            Some((_, words)) => Reply::Says(words.to_owned().leak()),
            None => self.reply(),
        };
        self.respond(reply, &response["metadata"]);
        Ok(())
    }

    fn reply(&self) -> Reply {
        locked(&self.shared.replies, VecDeque::pop_front).unwrap_or(Reply::Says("All right."))
    }

    fn respond(&mut self, reply: Reply, metadata: &Value) {
        let id = self.name("resp");
        self.active = Some(id.clone());
        let mut at = Instant::now();
        let mut say = |pending: &mut VecDeque<_>, message: Value, takes: Duration| {
            at += takes;
            pending.push_back((at, message, true));
        };
        let now = Duration::ZERO;
        let pending = &mut VecDeque::new();
        say(pending, json!({ "type": "response.created", "response": { "id": id, "metadata": metadata } }), now);
        let mut output = Vec::new();
        let mut failed = Value::Null;
        let (words, call) = match reply {
            Reply::Says(words) => (Some(words), None),
            Reply::Calls(words, call, name, arguments) => (words, Some((call, name, arguments))),
            Reply::Nothing => {
                self.pending.append(pending);
                return;
            }
            Reply::Fails(words) => {
                failed = json!({ "type": "failed", "error": { "code": "server_error", "message": words } });
                (None, None)
            }
            Reply::Dies => {
                say(pending, json!({ "type": "die" }), MAKING);
                (None, None)
            }
            Reply::Garbage => {
                say(pending, json!({ "type": "garbage" }), MAKING);
                (None, None)
            }
        };
        if let Some(words) = words {
            let item = self.name("item");
            let part = |kind: &str, name: &str, value: Value| {
                json!({
                    "type": format!("response.{kind}"), "response_id": id, "item_id": item, "output_index": 0, "content_index": 0,
                    name: value,
                })
            };
            let ms = words.chars().count() * CHARACTER_MS;
            let mut written = 0;
            for from in (0..ms).step_by(DELTA_MS) {
                let until = (from + DELTA_MS).min(ms);
                let text: String = words.chars().take(until / CHARACTER_MS).skip(written).collect();
                written = until / CHARACTER_MS;
                say(pending, part("output_audio_transcript.delta", "delta", json!(text)), now);
                let tone = sine(300.0, 8_000, 0.3, (until - from) * 8);
                let sound: Vec<u8> = tone.into_iter().map(|sample| Law::Mu.encode(sample)).collect();
                say(pending, part("output_audio.delta", "delta", json!(STANDARD.encode(sound))), MAKING);
            }
            say(pending, part("output_audio.done", "none", Value::Null), now);
            say(pending, part("output_audio_transcript.done", "transcript", json!(words)), now);
            output.push(json!({ "type": "message", "id": item, "role": "assistant" }));
        }
        if let Some((call, name, arguments)) = call {
            self.calls.insert(call.to_owned());
            let item =
                json!({ "type": "function_call", "call_id": call, "name": name, "arguments": arguments.to_string() });
            say(pending, json!({ "type": "response.output_item.done", "response_id": id, "item": item }), now);
            output.push(item);
        }
        let status = if failed.is_null() { "completed" } else { "failed" };
        say(pending, done(&id, status, failed, output), now);
        self.pending.append(pending);
    }

    /// Stops the response under way.
    async fn cancel(&mut self, reason: &str) -> Result<(), Over> {
        let Some(id) = self.active.take() else { return Ok(()) };
        self.pending.retain(|(_, _, of_response)| !of_response);
        self.say(done(&id, "cancelled", json!({ "type": "cancelled", "reason": reason }), Vec::new())).await
    }

    async fn truncate(&mut self, message: &Value) -> Result<(), Over> {
        let item = message["item_id"].as_str().unwrap_or_default().to_owned();
        let ms = message["audio_end_ms"].as_u64().and_then(|ms| usize::try_from(ms).ok());
        match (self.items.get_mut(&item), ms) {
            (Some(made @ Some(_)), Some(ms))
                if message["content_index"] == 0 && made.is_some_and(|made| ms <= made) =>
            {
                *made = None;
                self.say(json!({ "type": "conversation.item.truncated", "item_id": item, "audio_end_ms": ms })).await
            }
            (made, _) => {
                Err(Over::Refused(format!("this cannot be truncated: {message}, of which {made:?} ms were made")))
            }
        }
    }

    async fn create(&mut self, item: &Value) -> Result<(), Over> {
        let fits = match item["type"].as_str() {
            Some("function_call_output") => {
                self.calls.remove(item["call_id"].as_str().unwrap_or_default()) && item["output"].is_string()
            }
            Some("function_call") => {
                self.calls.insert(item["call_id"].as_str().unwrap_or_default().to_owned())
                    && item["arguments"].is_string()
            }
            Some("message") => {
                let kind = if item["role"] == "assistant" { "output_text" } else { "input_text" };
                item["content"][0]["type"] == kind && item["content"][0]["text"].is_string()
            }
            _ => false,
        };
        if !fits {
            return Err(Over::Refused(format!("this item cannot be: {item}")));
        }
        self.say(json!({ "type": "conversation.item.added", "item": item })).await
    }

    async fn hear(&mut self, message: &Value) -> Result<(), Over> {
        let sound = message["audio"].as_str().and_then(|audio| STANDARD.decode(audio).ok());
        let Some(sound) = sound.filter(|sound| self.ready && sound.len() == 160) else {
            return Err(Over::Refused(
                "sound that is no 20 ms of G.711, or came before the session was set up".to_owned(),
            ));
        };
        self.ear.hear("pcmu", &sound);
        self.pretend().await?;
        if self.ear.has_started() {
            self.stopped = None;
            if !self.speaking {
                self.starts().await?;
            }
        }
        if self.ear.has_stopped() {
            self.stopped = Some(0);
        }
        if let Some(frames) = &mut self.stopped {
            *frames += 1;
            if *frames > SILENCE {
                self.stopped = None;
                let words = self.ear.words();
                self.stops(&words).await?;
            }
        }
        Ok(())
    }
}

impl Session {
    /// Hears what the test wants.
    async fn pretend(&mut self) -> Result<(), Over> {
        let Some((after, lasts, words)) = locked(&self.shared.turns, |turns| turns.front().copied()) else {
            return Ok(());
        };
        self.heard_ms += 20;
        if self.heard_ms == after {
            self.starts().await?;
        }
        if self.heard_ms >= after + lasts {
            self.heard_ms = 0;
            locked(&self.shared.turns, VecDeque::pop_front);
            self.stops(words).await?;
        }
        Ok(())
    }

    async fn starts(&mut self) -> Result<(), Over> {
        self.speaking = true;
        self.say(json!({ "type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "next" }))
            .await?;
        if self.interrupts { self.cancel("turn_detected").await } else { Ok(()) }
    }

    /// The caller's turn is over: it is answered at once, and written down late.
    async fn stops(&mut self, words: &str) -> Result<(), Over> {
        self.speaking = false;
        let item = self.name("item");
        self.say(json!({ "type": "input_audio_buffer.speech_stopped", "audio_end_ms": 0, "item_id": item })).await?;
        self.say(json!({ "type": "input_audio_buffer.committed", "item_id": item })).await?;
        if self.active.is_none() {
            let reply = self.reply();
            self.respond(reply, &Value::Null);
        }
        let completed = json!({
            "type": "conversation.item.input_audio_transcription.completed", "item_id": item, "transcript": words,
        });
        let at = Instant::now() + LATE;
        let place = self.pending.iter().position(|(due, ..)| *due > at).unwrap_or(self.pending.len());
        self.pending.insert(place, (at, completed, false));
        Ok(())
    }
}

fn done(id: &str, status: &str, details: Value, output: Vec<Value>) -> Value {
    let usage = json!({
        "input_token_details": {
            "text_tokens": 100, "audio_tokens": 200, "cached_tokens": 90,
            "cached_tokens_details": { "text_tokens": 40, "audio_tokens": 50 },
        },
        "output_token_details": { "text_tokens": 10, "audio_tokens": 30 },
    });
    let response = json!({ "id": id, "status": status, "status_details": details, "output": output, "usage": usage });
    json!({ "type": "response.done", "response": response })
}
