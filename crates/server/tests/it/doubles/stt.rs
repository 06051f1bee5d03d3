//! The shared part of the doubles of STT providers: a websocket server that misbehaves as a test requires, and a working STT.
//!
//! The STT recognises the simulated caller's recordings by their audio. Audio that does not arrive complete, in order and in the agreed
//! encoding yields no words.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::Law;
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use switchhook_providers::scripted::ScriptedStt;
use switchhook_providers::{Stt as _, SttEvent, SttOptions, SttSession};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use url::form_urlencoded;

use super::wild_stt::WildStt;

/// Script of one connection.
#[derive(Clone, Debug)]
pub(crate) enum SttBehaviour {
    /// It is served.
    Well,
    /// The handshake is refused: status, headers, body.
    Refuses(u16, Vec<(&'static str, &'static str)>, &'static str),
    /// The handshake is never answered.
    Silent,
    /// It opens, but nothing is ever sent.
    Mute,
    /// It is served until this many messages arrived, then the connection breaks.
    Dies(usize),
    /// The same, as soon as speech was received.
    DiesInSpeech,
    /// Like [`SttBehaviour::Dies`], but the connection stays open and is not read.
    Freezes(usize),
    /// It is served until this many messages arrived, then the server closes it.
    Closes(usize, u16, &'static str),
    /// After this many messages, this is sent.
    Says(usize, String),
    /// This is sent first instead of a greeting.
    Greets(&'static str),
    /// After this many messages this is sent, and the server closes with this code. After none, it is sent instead of a greeting.
    Ends(usize, &'static str, u16),
    /// After this many messages, everything is accepted but no further messages are sent.
    Deaf(usize),
    /// All messages are delayed by this much.
    Late(Duration),
    /// Only matching messages are delayed.
    LateWhere(Duration, fn(&str) -> bool),
    /// It follows its documentation loosely, determined by this seed, and every other connection breaks.
    Wild(u64),
}

/// The server side of one provider's connection.
pub(crate) trait Peer: Send {
    /// Checks the handshake.
    ///
    /// # Errors
    /// The status and body with which the real server refuses it.
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)>;
    /// Returns the first messages.
    fn greeting(&mut self) -> Vec<Message>;
    /// Returns the responses to a message.
    ///
    /// # Errors
    /// Problems that the real server would refuse.
    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String>;
    /// Returns messages that say nothing about the caller's words, and that a loose server sends at any time.
    fn oddities(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// A handshake.
pub(crate) struct SttHandshake {
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HashMap<String, String>,
}

impl SttHandshake {
    /// Returns the only value of this name; empty without one.
    pub(crate) fn one(&self, name: &str) -> &str {
        let mut values = self.query.iter().filter(|(other, _)| other == name);
        let value = values.next().map_or("", |(_, value)| value);
        assert!(values.next().is_none(), "{name} is given twice");
        value
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Describes the parameters that are not among `known`.
    pub(crate) fn unknown(&self, known: &[&str]) -> Option<String> {
        let unknown = self.query.iter().find(|(name, _)| !known.contains(&name.as_str()))?;
        Some(format!("there is no parameter {}", unknown.0))
    }
}

/// A message from the service.
pub(crate) enum FromClient {
    Text(String),
    Binary(Vec<u8>),
}

/// An STT server.
pub(crate) struct SttServer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    make: Box<dyn Fn() -> Box<dyn Peer> + Send + Sync>,
    /// The behaviour of future connections; the last one is for all further ones.
    behaviours: Mutex<VecDeque<SttBehaviour>>,
    /// The behaviour of the open connection, from its next message on.
    now: Mutex<Option<SttBehaviour>>,
    complaints: Mutex<Vec<String>>,
    /// The query parameters of each handshake.
    queries: Mutex<Vec<Vec<(String, String)>>>,
    connections: watch::Sender<usize>,
    /// Connections that have ended.
    over: watch::Sender<usize>,
    /// Messages that arrived.
    messages: watch::Sender<usize>,
}

impl SttServer {
    pub(crate) async fn start<P: Peer + 'static>(
        behaviours: impl IntoIterator<Item = SttBehaviour>,
        make: impl Fn() -> P + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            make: Box::new(move || Box::new(make())),
            behaviours: Mutex::new(behaviours.into_iter().collect()),
            now: Mutex::default(),
            complaints: Mutex::default(),
            queries: Mutex::default(),
            connections: watch::Sender::new(0),
            over: watch::Sender::new(0),
            messages: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // As servers of speech do: a message must not wait for the acknowledgement of the previous one.
                stream.set_nodelay(true).expect("a socket");
                let server = Arc::clone(&server);
                server.connections.send_modify(|count| *count += 1);
                tokio::spawn(async move {
                    serve(&server, stream).await;
                    server.over.send_modify(|count| *count += 1);
                });
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        *self.shared.connections.borrow()
    }

    /// Sets the behaviour of the open connection from now on; its messages are counted from the next one.
    pub(crate) fn now(&self, behaviour: SttBehaviour) {
        *locked(&self.shared.now) = Some(behaviour);
    }

    /// Waits until this many messages have arrived.
    pub(crate) async fn messages(&self, count: usize) {
        self.shared.messages.subscribe().wait_for(|now| *now >= count).await.expect("the server lives");
    }

    /// Waits until this many connections have ended.
    pub(crate) async fn over(&self, count: usize) {
        self.shared.over.subscribe().wait_for(|now| *now >= count).await.expect("the server lives");
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        locked(&self.shared.complaints).clone()
    }

    /// Returns all values of this parameter in the last handshake.
    pub(crate) fn parameter(&self, name: &str) -> Vec<String> {
        let queries = locked(&self.shared.queries);
        let last = queries.last().into_iter().flatten();
        last.filter(|(other, _)| other == name).map(|(_, value)| value.clone()).collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with it")
}

#[expect(clippy::result_large_err, reason = "the websocket server's own type")]
async fn serve(shared: &Shared, stream: TcpStream) {
    let behaviour = {
        let mut behaviours = locked(&shared.behaviours);
        if behaviours.len() > 1 { behaviours.pop_front() } else { behaviours.front().cloned() }
    };
    let behaviour = behaviour.unwrap_or(SttBehaviour::Well);
    if matches!(behaviour, SttBehaviour::Silent) {
        // Held until the client gives up.
        let _ = stream.peek(&mut [0; 1]).await;
        return std::future::pending().await;
    }
    let mut peer = (shared.make)();
    let opened = tokio_tungstenite::accept_hdr_async(stream, |request: &Request, response| {
        opening(shared, &behaviour, &mut *peer, request, response)
    });
    let Ok(socket) = opened.await else { return };
    let wild = match behaviour {
        SttBehaviour::Wild(seed) => Some(WildStt::new(seed, *shared.connections.borrow(), peer.oddities())),
        _ => None,
    };
    Serving { shared, behaviour, socket, late: VecDeque::new(), wild, stt: TestStt::new().await }.run(peer).await;
}

#[expect(clippy::result_large_err, reason = "the websocket server's own type")]
fn opening(
    shared: &Shared,
    behaviour: &SttBehaviour,
    peer: &mut dyn Peer,
    request: &Request,
    response: Response,
) -> Result<Response, ErrorResponse> {
    let refusal = |status: u16, body: String| {
        let mut response = ErrorResponse::new(Some(body));
        *response.status_mut() = status.try_into().expect("a status");
        response
    };
    if let SttBehaviour::Refuses(status, headers, body) = behaviour {
        let mut response = refusal(*status, (*body).to_owned());
        for (name, value) in headers {
            response.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        return Err(response);
    }
    let query = request.uri().query().unwrap_or_default();
    if query.contains('+') {
        locked(&shared.complaints).push(format!("a space is written + in {query}"));
    }
    let headers = request.headers().iter();
    let asked = SttHandshake {
        path: request.uri().path().to_owned(),
        query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        headers: headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
            .collect(),
    };
    locked(&shared.queries).push(asked.query.clone());
    peer.opens(&asked).map(|()| response).map_err(|(status, body)| {
        if status != 401 {
            locked(&shared.complaints).push(format!("{status}: {body}"));
        }
        refusal(status, body)
    })
}

struct Serving<'a> {
    shared: &'a Shared,
    behaviour: SttBehaviour,
    socket: WebSocketStream<TcpStream>,
    /// Delayed messages, and when they are due.
    late: VecDeque<(Instant, Message)>,
    wild: Option<WildStt>,
    stt: TestStt,
}

impl Serving<'_> {
    async fn run(mut self, mut peer: Box<dyn Peer>) {
        if matches!(self.behaviour, SttBehaviour::Mute) {
            return std::future::pending().await;
        }
        let greeting = match self.behaviour {
            SttBehaviour::Greets(words) => vec![Message::text(words)],
            SttBehaviour::Ends(0, words, code) => return self.end(words, code).await,
            _ => peer.greeting(),
        };
        for message in greeting {
            let _ = self.socket.send(message).await;
        }
        let mut count = 0;
        while let Some(message) = self.next().await {
            let Ok(message) = message else {
                if matches!(self.behaviour, SttBehaviour::Well) {
                    locked(&self.shared.complaints).push("the connection was dropped without a goodbye".to_owned());
                }
                return;
            };
            let said = match message {
                Message::Text(text) => FromClient::Text(text.to_string()),
                Message::Binary(bytes) => FromClient::Binary(bytes.to_vec()),
                _ => continue,
            };
            if let Some(behaviour) = locked(&self.shared.now).take() {
                self.behaviour = behaviour;
                count = 0;
            }
            count += 1;
            self.shared.messages.send_modify(|count| *count += 1);
            match peer.answer(said, &mut self.stt) {
                Ok(answers) => match self.behaviour {
                    SttBehaviour::Deaf(after) if count > after => {}
                    SttBehaviour::Late(by) => {
                        self.late.extend(answers.into_iter().map(|answer| (Instant::now() + by, answer)));
                    }
                    SttBehaviour::LateWhere(by, is_late) => {
                        for answer in answers {
                            if answer.to_text().is_ok_and(is_late) {
                                self.late.push_back((Instant::now() + by, answer));
                            } else {
                                let _ = self.socket.send(answer).await;
                            }
                        }
                    }
                    _ => {
                        let Some(answers) = self.loosely(answers).await else { return };
                        for answer in answers {
                            let _ = self.socket.send(answer).await;
                        }
                    }
                },
                Err(complaint) => {
                    locked(&self.shared.complaints).push(complaint);
                    return;
                }
            }
            if self.misbehaved(count).await {
                return;
            }
        }
    }

    /// Returns the next message, and sends delayed ones meanwhile.
    async fn next(&mut self) -> Option<Result<Message, tokio_tungstenite::tungstenite::Error>> {
        loop {
            let due = self.late.front().map(|(at, _)| *at);
            tokio::select! {
                message = self.socket.next() => return message,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    if let Some((_, message)) = self.late.pop_front() {
                        let _ = self.socket.send(message).await;
                    }
                }
            }
        }
    }

    /// Returns what a loose server sends in place of these answers; `None` once it has broken off.
    async fn loosely(&mut self, answers: Vec<Message>) -> Option<Vec<Message>> {
        let Some(wild) = &mut self.wild else { return Some(answers) };
        let (answers, then) = wild.answers(answers);
        // What is simulated, in virtual time: a slow server.
        tokio::time::sleep(wild.pause()).await;
        let Some(end) = then else { return Some(answers) };
        for answer in answers {
            let _ = self.socket.send(answer).await;
        }
        if let Some(code) = end {
            self.close(code, "Restarting.").await;
        }
        None
    }

    async fn end(&mut self, words: &'static str, code: u16) {
        let _ = self.socket.send(Message::text(words)).await;
        self.close(code, "").await;
    }

    async fn close(&mut self, code: u16, reason: &'static str) {
        let _ = self.socket.close(Some(CloseFrame { code: code.into(), reason: reason.into() })).await;
        while let Some(Ok(_)) = self.socket.next().await {}
    }

    /// Applies the test's behaviour at this message. Returns whether that ended the connection.
    async fn misbehaved(&mut self, count: usize) -> bool {
        match &self.behaviour {
            SttBehaviour::Dies(after) if count == *after => true,
            SttBehaviour::DiesInSpeech => self.stt.heard_speech,
            SttBehaviour::Freezes(after) if count == *after => std::future::pending().await,
            SttBehaviour::Closes(after, code, reason) if count == *after => {
                let (code, reason) = (*code, *reason);
                self.close(code, reason).await;
                true
            }
            SttBehaviour::Ends(after, words, code) if count == *after => {
                let (words, code) = (*words, *code);
                self.end(words, code).await;
                true
            }
            SttBehaviour::Says(after, words) if count == *after => {
                let _ = self.socket.send(Message::text(words.clone())).await;
                false
            }
            _ => false,
        }
    }
}

/// Recognises the simulated caller's recordings.
pub(crate) struct TestStt {
    session: Box<dyn SttSession>,
    heard: mpsc::Receiver<SttEvent>,
    vad: Vad,
    /// Whether speech has started, and stopped, since the last query.
    started: bool,
    stopped: bool,
    heard_speech: bool,
    rest: Vec<u8>,
    /// Samples since the last call of [`TestStt::words`].
    samples: usize,
}

impl TestStt {
    pub(crate) async fn new() -> Self {
        let (events, heard) = mpsc::channel(8);
        let session = ScriptedStt.open(SttOptions::default(), events).await.expect("opens");
        Self {
            session,
            heard,
            vad: Vad::new(VadSettings::default()),
            started: false,
            stopped: false,
            heard_speech: false,
            rest: Vec::new(),
            samples: 0,
        }
    }

    /// Takes audio in an encoding by the providers' names: `mulaw`, `pcm_mulaw`, `alaw`, `linear16` or `pcm_s16le`, 8 kHz.
    pub(crate) fn hear(&mut self, encoding: &str, sound: &[u8]) {
        self.rest.extend_from_slice(sound);
        let is = |names: &[&str]| names.iter().any(|name| encoding.contains(name));
        let law = if is(&["ulaw", "pcmu"]) { Some(Law::Mu) } else { is(&["alaw", "pcma"]).then_some(Law::A) };
        let length = if law.is_some() {
            AudioFormat::Narrowband.frame_samples()
        } else {
            2 * AudioFormat::Narrowband.frame_samples()
        };
        let whole = self.rest.len() / length * length;
        for bytes in self.rest.drain(..whole).collect::<Vec<_>>().chunks_exact(length) {
            let frame = if let Some(law) = law {
                law.decode_frame(bytes).expect("a whole frame")
            } else {
                Frame::from_slice(
                    AudioFormat::Narrowband,
                    &bytes.chunks_exact(2).map(|two| i16::from_le_bytes([two[0], two[1]])).collect::<Vec<_>>(),
                )
            };
            self.frame(CallerAudio(frame));
        }
    }

    pub(crate) fn frame(&mut self, frame: CallerAudio) {
        self.samples += AudioFormat::Narrowband.frame_samples();
        self.session.audio(&frame);
        let voice = self.vad.push(&frame);
        self.started |= voice == Some(VadEvent::SpeechStarted);
        self.heard_speech |= self.started;
        self.stopped |= voice == Some(VadEvent::SpeechStopped);
    }

    /// Returns whether speech has started since the last query.
    pub(crate) fn has_started(&mut self) -> bool {
        std::mem::take(&mut self.started)
    }

    /// Returns whether speech has stopped since the last query.
    pub(crate) fn has_stopped(&mut self) -> bool {
        std::mem::take(&mut self.stopped)
    }

    /// Returns how much audio arrived since the words were last queried, in milliseconds.
    pub(crate) fn heard_ms(&self) -> usize {
        self.samples / 8
    }

    /// Returns the words since the last query; may be empty.
    pub(crate) fn words(&mut self) -> String {
        self.samples = 0;
        self.session.speech_stopped(0);
        match self.heard.try_recv() {
            Ok(SttEvent::Final { text, .. }) => text,
            _ => unreachable!("it answers at once"),
        }
    }
}

/// Parses a message as JSON.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| format!("this is not JSON: {text}"))
}

/// Splits words into the first ones and the rest.
pub(crate) fn halves(words: &str) -> (String, String) {
    let middle = words.split_whitespace().count().div_ceil(2);
    let part = |words: Vec<&str>| words.join(" ");
    let words: Vec<&str> = words.split_whitespace().collect();
    (part(words[..middle].to_vec()), part(words[middle..].to_vec()))
}
