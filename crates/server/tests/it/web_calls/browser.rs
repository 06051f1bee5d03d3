//! A browser with the page: sends a frame every 20 ms, plays audio in real time, and returns marks when they were played.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::level::{VOICED_DBFS, rms_dbfs};
use tokio::net::TcpStream;
use tokio::time::{Instant, Interval, MissedTickBehavior, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::udp_end::UdpEnd;
use crate::harness::{TIMEOUT, text};

const FORMAT: AudioFormat = AudioFormat::Wideband;
const FRAME: Duration = Duration::from_millis(20);
/// Silence after which the agent counts as done.
const QUIET: Duration = Duration::from_millis(800);
/// A step that takes longer was held up, and perhaps the agent with it: it said nothing meanwhile, but is not done.
const HELD_UP: Duration = Duration::from_millis(200);
/// Frames in a second.
const SECOND: usize = 50;
const SILENCE: [i16; FORMAT.frame_samples()] = [0; FORMAT.frame_samples()];

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(crate) struct Browser {
    socket: Socket,
    udp: Option<UdpEnd>,
    ticks: Interval,
    /// All texts, oldest first.
    pub(crate) texts: Vec<Value>,
    /// How many of them were checked.
    seen: usize,
    /// Marks, and when everything before them will have been played.
    marks: VecDeque<(Instant, String)>,
    plays_until: Instant,
    /// When the socket had nothing more to read: what is read next arrived later, however late this machine reads it.
    read_until: Instant,
    /// When the last loud frame arrived.
    spoke_at: Option<Instant>,
    pub(crate) frames: usize,
    /// How many frames of the agent arrived over UDP.
    udp_frames: usize,
    /// The close code, once the socket is closed.
    pub(crate) closed: Option<u16>,
}

impl Browser {
    /// Opens the socket. Returns the HTTP status if it is refused.
    pub(crate) async fn open(url: &str) -> Result<Self, u16> {
        let socket = match connect_async(url).await {
            Ok((socket, _)) => socket,
            Err(Error::Http(answer)) => return Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        };
        let mut ticks = tokio::time::interval(FRAME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        Ok(Self {
            socket,
            udp: None,
            ticks,
            texts: Vec::new(),
            seen: 0,
            marks: VecDeque::new(),
            plays_until: Instant::now(),
            read_until: Instant::now(),
            spoke_at: None,
            frames: 0,
            udp_frames: 0,
            closed: None,
        })
    }

    pub(crate) async fn connect(url: &str) -> Self {
        let mut browser = Self::open(url).await.expect("the token is good");
        browser.send(json!({ "type": "start", "sample_rate": 16_000 })).await;
        browser
    }

    /// The same, with an offer to use WebRTC.
    pub(crate) async fn connect_over_udp(url: &str) -> Self {
        let mut browser = Self::connect(url).await;
        let start = browser.text("a start", |_| true).await;
        assert_eq!(start, json!({ "type": "start", "sample_rate": 16_000, "rtc": true }), "the first text");
        let (udp, offer) = UdpEnd::offer().await;
        browser.udp = Some(udp);
        browser.send(offer).await;
        browser
    }

    /// Makes UDP lose all packets.
    pub(crate) fn break_udp(&mut self) {
        self.udp.as_mut().expect("it has UDP").break_down();
    }

    /// Closes the page's WebRTC connection.
    pub(crate) fn stop_udp(&mut self) {
        self.udp = None;
    }

    /// Opens the socket of a call again, and retries as pages do until the service has noticed the loss of the previous one.
    pub(crate) async fn resume(url: &str, token: &str) -> Self {
        let opened = timeout(TIMEOUT, async {
            loop {
                match Self::open(url).await {
                    Ok(browser) => break browser,
                    Err(status) => assert_eq!(status, 409, "a lost socket is waited for"),
                }
                tokio::time::sleep(FRAME).await;
            }
        });
        let mut browser = opened.await.expect("the service notices the loss");
        browser.send(json!({ "type": "resume", "token": token })).await;
        browser
    }

    /// Loses the socket but not UDP, and opens another one.
    pub(crate) async fn lose_socket_and_resume(mut self, url: &str, token: &str) -> Self {
        let mut udp = self.udp.take().expect("it has UDP");
        drop(self);
        let mut resuming = std::pin::pin!(Self::resume(url, token));
        let mut ticks = tokio::time::interval(FRAME);
        let mut browser = loop {
            // A page speaks on meanwhile. One that is quiet for a second has lost UDP, too.
            tokio::select! {
                browser = &mut resuming => break browser,
                _ = ticks.tick() => udp.speak(&Frame::from_slice(FORMAT, &SILENCE)).await,
                () = udp.step() => {}
            }
        };
        browser.udp = Some(udp);
        browser
    }

    pub(crate) async fn send(&mut self, message: Value) {
        // A closed socket is detected elsewhere.
        let _ = self.socket.send(Message::text(message.to_string())).await;
    }

    /// Sends audio unchanged and at once.
    pub(crate) async fn send_audio(&mut self, samples: &[i16]) {
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let _ = self.socket.send(Message::binary(bytes)).await;
    }

    /// Advances 20 ms: sends a frame, and plays what arrives meanwhile.
    async fn step(&mut self, samples: &[i16]) {
        let carries = self.udp.as_ref().is_some_and(|udp| udp.carries);
        if let Some(udp) = &mut self.udp {
            let said = if carries { samples } else { &SILENCE };
            udp.speak(&Frame::from_slice(FORMAT, said)).await;
        }
        if !carries {
            self.send_audio(samples).await;
        }
        loop {
            tokio::select! {
                biased;
                message = self.socket.next(), if self.closed.is_none() => match message {
                    Some(Ok(message)) => self.received(message).await,
                    Some(Err(_)) | None => self.closed = Some(self.closed.unwrap_or(1006)),
                },
                _ = self.ticks.tick() => break,
                () = step_of(&mut self.udp) => self.heard_over_udp(),
            }
        }
        self.read_to_the_end();
        while let Some((_, name)) = self.marks.pop_front_if(|(at, _)| *at <= Instant::now()) {
            self.send(json!({ "type": "mark", "name": name })).await;
        }
    }

    /// Notes that there is nothing more to read. Silence counts from here if the step was held up.
    fn read_to_the_end(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.read_until);
        if let Some(at) = self.spoke_at.filter(|at| took > HELD_UP && *at < now) {
            self.spoke_at = Some((at + took).min(now));
        }
        self.read_until = now;
    }

    /// Plays audio that arrived over UDP at once.
    fn heard_over_udp(&mut self) {
        let frames = self.udp.as_mut().map(UdpEnd::heard).unwrap_or_default();
        self.udp_frames += frames.len();
        if frames.iter().any(|frame| frame.rms_dbfs() > VOICED_DBFS) {
            self.spoke_at = Some(Instant::now());
        }
    }

    async fn received(&mut self, message: Message) {
        match message {
            Message::Binary(bytes) => {
                assert_eq!(bytes.len(), 2 * FORMAT.frame_samples(), "20 ms each");
                self.frames += 1;
                let ahead = self.plays_until.saturating_duration_since(Instant::now());
                assert!(ahead <= Duration::from_millis(400), "the agent is {ahead:?} ahead");
                self.plays_until = self.plays_until.max(self.read_until) + FRAME;
                let samples: Vec<i16> =
                    bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
                if rms_dbfs(&samples) > VOICED_DBFS {
                    self.spoke_at = Some(self.plays_until);
                }
            }
            Message::Text(text) => {
                let text: Value = serde_json::from_str(&text).expect("JSON");
                match text["type"].as_str() {
                    Some("mark") => self.marks.push_back((self.plays_until, super::text(&text["name"]))),
                    Some("clear") => {
                        self.plays_until = Instant::now();
                        self.marks.iter_mut().for_each(|(at, _)| *at = Instant::now());
                    }
                    _ => {}
                }
                if let Some(answer) = self.udp.as_mut().and_then(|udp| udp.answer_text(&text)) {
                    self.send(answer).await;
                }
                self.texts.push(text);
            }
            Message::Close(frame) => self.closed = Some(frame.map_or(1005, |frame| frame.code.into())),
            _ => {}
        }
    }

    /// Listens in silence until `done`.
    async fn listen(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let listening = async {
            while !done(self) {
                assert!(self.closed.is_none(), "closed before {what}: {:?}", self.texts);
                self.step(&SILENCE).await;
            }
        };
        timeout(TIMEOUT, listening).await.unwrap_or_else(|_| panic!("{what} comes within a minute"));
    }

    /// Listens until the agent has said something and is quiet again.
    pub(crate) async fn hear_agent(&mut self) {
        self.spoke_at = None;
        self.listen("speech of the agent", |browser| browser.spoke_at.is_some()).await;
        self.listen("silence of the agent", |browser| browser.spoke_at.is_some_and(|at| at.elapsed() >= QUIET)).await;
    }

    /// Listens until the agent has been speaking for a second, so that some words have been heard.
    pub(crate) async fn hear_agent_begin(&mut self) {
        self.hear_agent_begin_speaking().await;
        let before = self.frames + self.udp_frames;
        self.listen("a second of it", |browser| browser.frames + browser.udp_frames >= before + SECOND).await;
    }

    /// Listens until the agent begins to say something.
    pub(crate) async fn hear_agent_begin_speaking(&mut self) {
        self.spoke_at = None;
        self.listen("speech of the agent", |browser| browser.spoke_at.is_some()).await;
    }

    /// Listens until a text arrives that was not checked yet. Returns it.
    pub(crate) async fn text(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let seen = self.seen;
        let found = |browser: &Self| browser.texts[seen..].iter().position(&is);
        self.listen(what, |browser| found(browser).is_some()).await;
        self.seen = seen + found(self).expect("it was there") + 1;
        self.texts[self.seen - 1].clone()
    }

    /// Speaks a recorded line.
    pub(crate) async fn say(&mut self, line: &str) {
        let line = switchhook_caller_audio::recording(line).expect("a shipped recording");
        for samples in line.samples(FORMAT).chunks_exact(FORMAT.frame_samples()) {
            self.step(samples).await;
        }
    }

    /// Speaks a recorded line and listens to the response. Repeats the line if the agent asks for it, as it does after audio was lost on a
    /// busy machine.
    pub(crate) async fn converse(&mut self, line: &str) {
        for _ in 0..3 {
            let before = self.texts.len();
            self.say(line).await;
            self.hear_agent().await;
            let asks = |text: &Value| {
                text["role"] == "agent" && text["text"].as_str().is_some_and(|said| said.contains("say that again"))
            };
            if !self.texts[before..].iter().any(asks) {
                return;
            }
        }
    }

    /// Gives all the answers needed to book a table, until the service ends the call. Returns its last text.
    pub(crate) async fn book_a_table(&mut self) -> Value {
        for line in ["name", "day", "time", "people", "yes"] {
            self.hear_agent().await;
            self.say(line).await;
        }
        self.end().await
    }

    /// Listens until the service reports how the call ended, and closes.
    pub(crate) async fn end(&mut self) -> Value {
        let end = self.text("the end", |text| text["type"] == "end").await;
        let closing = async {
            while self.closed.is_none() {
                self.step(&SILENCE).await;
            }
        };
        timeout(TIMEOUT, closing).await.expect("it closes");
        end
    }

    /// Listens until the service closes the socket for a violation.
    pub(crate) async fn refused(&mut self) {
        let closing = async {
            while self.closed.is_none() {
                self.step(&SILENCE).await;
            }
        };
        timeout(TIMEOUT, closing).await.expect("it closes");
        assert_eq!(self.closed, Some(1008), "{:?}", self.texts);
    }

    /// Returns the token by which a lost socket resumes.
    pub(crate) async fn resume_token(&mut self) -> String {
        text(&self.text("a resume token", |text| text["resume"].is_string()).await["resume"])
    }

    /// Loses the connection without a close.
    pub(crate) async fn lose(self) {
        drop(self);
    }
}

/// Advances UDP to its next event; waits forever without UDP. Cancel safe.
async fn step_of(udp: &mut Option<UdpEnd>) {
    match udp {
        Some(udp) => udp.step().await,
        None => std::future::pending().await,
    }
}
