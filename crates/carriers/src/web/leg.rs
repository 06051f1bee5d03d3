//! One browser's side of a call: the task that reads and writes its socket, and waits for a new one when it is lost. [`super::rtc`]
//! decides what transports the audio, and is called from here.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::{Bytes, BytesMut};
use switchhook_core::call::{CarrierCause, EndedBy, Hangup};
use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_runtime::clock;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

use super::FORMAT;
use super::browsers::Seat;
use super::flood::FloodGate;
use super::rtc::{Call, Event, Rtc, RtcEvent};
use super::wire::{AgentState, BrowserMessage, ServiceMessage, Transport};
use crate::closing::await_close;
use crate::stream::codec::{StreamDecoder, StreamEncoder, StreamFormat};
use crate::{CallInfo, CarrierEvent, FromCarrier, LegEvent, ToCarrier};

/// The longest message that is read, in bytes: a second of audio is 32,000.
pub const MESSAGE_LIMIT: usize = 64 << 10;
/// How long a lost socket may take to resume.
const RESUME_WITHIN: Duration = Duration::from_secs(5);
/// Messages that may precede the one that resumes: the microphone sends 50 per second.
const RESUME_MESSAGES: usize = 1_000;
/// Browsers send audio all the time, including silence. One that has sent nothing for this long is pinged, and then considered lost.
const PING_AFTER: Duration = Duration::from_secs(1);
const LOST_AFTER: Duration = Duration::from_secs(3);
/// A browser that responds but has sent no audio for this long, for example because its microphone is suspended, has a silent caller.
const SILENT_AFTER: Duration = PING_AFTER;
/// How long sending a message may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// How long after the conversation the command to hang up may arrive.
const HANG_UP: Duration = Duration::from_secs(3);
/// Silence of the agent after which the browser has played everything it was sent, so that the transport can change.
const PLAYED_OUT_AFTER: Duration = Duration::from_millis(200);
const TO_WEBSOCKET: ServiceMessage<'static> = ServiceMessage::Transport { transport: Transport::Websocket };
/// The interval at which timeouts are checked.
const TIMEOUT_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How a call ended, in terms of the API.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// `end_reason` of a completed call.
    pub reason: Option<String>,
    /// `error_code` of a failed one.
    pub error_code: Option<String>,
}

/// One browser of a call.
pub struct Leg {
    seat: Seat,
    rtc: Rtc,
    /// The token by which the next socket resumes when this one is lost.
    resume: String,
    decoder: StreamDecoder,
    encoder: StreamEncoder,
    /// Less than a frame, between two messages.
    samples: Vec<i16>,
    /// A frame for the browser; its memory is reused once it has been sent.
    payload: Vec<u8>,
    message: BytesMut,
    gate: FloodGate,
    /// When it last sent audio.
    audio_at: Instant,
    state: AgentState,
    /// When the browser will have played everything it was sent.
    plays_until: Instant,
}

/// Why a socket is no longer used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parted {
    /// It is gone, and another one may follow.
    Lost,
    /// The person has hung up.
    HungUp,
    /// The browser violated the protocol.
    Violation,
    /// Our side has ended.
    Over,
}

impl Leg {
    /// Creates the leg of a browser that has taken this seat.
    #[must_use]
    pub fn new(seat: Seat) -> Self {
        const SAME_RATE: &str = "nothing is resampled";
        let now = Instant::now();
        Self {
            resume: String::new(),
            decoder: StreamDecoder::new(StreamFormat::L16, FORMAT).expect(SAME_RATE),
            encoder: StreamEncoder::new(StreamFormat::L16, FORMAT).expect(SAME_RATE),
            samples: Vec::new(),
            payload: Vec::new(),
            message: BytesMut::new(),
            gate: FloodGate::new(now),
            audio_at: now,
            state: AgentState::Listening,
            plays_until: now,
            rtc: Rtc::new(seat.rtc.clone()),
            seat,
        }
    }

    /// Transports the call's media until it ends. `is_live` returns whether the call still has a runner, and `ended` how it ended.
    pub async fn run<F>(mut self, mut socket: WebSocket, is_live: impl Fn() -> bool, ended: impl FnOnce() -> F)
    where
        F: Future<Output = Ended>,
    {
        let parted = loop {
            let parted = match self.begin(&mut socket).await {
                Ok(()) => self.exchange(&mut socket, &is_live).await,
                Err(parted) => parted,
            };
            if parted != Parted::Lost {
                break parted;
            }
            match self.await_resumption().await {
                Ok(next) => socket = next,
                Err(parted) => break parted,
            }
        };
        let Seat { shared, to_us, from_us, held: _held, .. } = self.seat;
        let dialed = shared.events.get();
        if parted == Parted::Over && dialed.is_some() {
            // Without a command the call has ended some other way.
            let _ = timeout(HANG_UP, shared.end.cancelled()).await;
        }
        if let Some(events) = dialed {
            let hung_up_by = (parted != Parted::Over).then_some(EndedBy::Caller);
            let hangup = Hangup { hung_up_by, ..Hangup::new(CarrierCause::Normal) };
            events.send(LegEvent::Carrier(CarrierEvent::Hangup(hangup)));
        }
        // The conversation ends with its media.
        drop((to_us, from_us));
        if parted != Parted::Lost {
            say_goodbye(socket, parted, &ended().await).await;
        }
    }

    /// Opens the protocol on a new socket.
    async fn begin(&mut self, socket: &mut WebSocket) -> Result<(), Parted> {
        let is_first = self.resume.is_empty();
        self.audio_at = Instant::now();
        self.resume = clock::random::<16>().iter().map(|byte| format!("{byte:02x}")).collect();
        let rtc = self.rtc.is_offered();
        send(socket, &ServiceMessage::Start { sample_rate: FORMAT.sample_rate(), rtc }).await?;
        send(socket, &ServiceMessage::State { state: self.state, resume: Some(&self.resume) }).await?;
        if rtc && !is_first {
            // The session may have been lost with the last socket, or since.
            let transport = if self.rtc.carries() { Transport::Udp } else { Transport::Websocket };
            send(socket, &ServiceMessage::Transport { transport }).await?;
        }
        for mark in self.rtc.held_marks() {
            send(socket, &ServiceMessage::Mark { name: mark.to_string() }).await?;
        }
        Ok(())
    }

    /// Runs until the socket is no longer used.
    async fn exchange(&mut self, socket: &mut WebSocket, is_live: &impl Fn() -> bool) -> Parted {
        let mut ticks = interval(TIMEOUT_CHECK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard_at, mut pinged) = (Instant::now(), false);
        loop {
            let done = tokio::select! {
                message = socket.recv() => {
                    (heard_at, pinged) = (Instant::now(), false);
                    match message {
                        Some(Ok(message)) => self.received(socket, &message).await,
                        Some(Err(_)) | None => Err(Parted::Lost),
                    }
                }
                message = self.seat.from_us.recv() => match message {
                    Some(message) => self.say(socket, message).await,
                    None => Err(Parted::Over),
                },
                event = self.rtc.event() => self.happened(socket, event).await,
                () = self.seat.shared.end.cancelled() => Err(Parted::Over),
                _ = ticks.tick() => {
                    let silent = heard_at.elapsed();
                    if silent >= LOST_AFTER {
                        Err(Parted::Lost)
                    } else if (self.seat.shared.events.get().is_none() && !is_live()) || self.fill_gap(heard_at).is_err() {
                        Err(Parted::Over)
                    } else {
                        self.tick(socket, silent >= PING_AFTER && !std::mem::replace(&mut pinged, silent >= PING_AFTER)).await
                    }
                }
            };
            if let Err(parted) = done {
                return parted;
            }
        }
    }

    async fn received(&mut self, socket: &mut WebSocket, message: &Message) -> Result<(), Parted> {
        let now = Instant::now();
        match message {
            Message::Binary(audio) if self.gate.takes_audio(audio.len(), now) => self.hear(audio),
            Message::Text(text) if self.gate.takes_text(now) => self.read(socket, text).await,
            Message::Ping(_) | Message::Pong(_) if self.gate.takes_text(now) => Ok(()),
            Message::Binary(_) | Message::Text(_) | Message::Ping(_) | Message::Pong(_) => {
                tracing::warn!("a browser floods its socket: it is closed");
                Err(Parted::Violation)
            }
            // Browsers send other codes for pages that close or lose the network.
            Message::Close(Some(frame)) if frame.code == close_code::NORMAL => Err(Parted::HungUp),
            Message::Close(_) => Err(Parted::Lost),
        }
    }

    /// Sends 100 ms of silence when the browser responds but sends no audio.
    fn fill_gap(&self, heard_at: Instant) -> Result<(), Parted> {
        let answers = heard_at >= self.audio_at + SILENT_AFTER && heard_at.elapsed() < 2 * PING_AFTER;
        if !answers || self.seat.shared.events.get().is_none() || self.rtc.hears() {
            return Ok(());
        }
        let silence = || FromCarrier::Audio(CallerAudio(Frame::silence(FORMAT)));
        let frames = TIMEOUT_CHECK_INTERVAL.as_millis() / FRAME_DURATION.as_millis();
        let taken = (0..frames).all(|_| self.seat.to_us.send(silence()));
        if taken { Ok(()) } else { Err(Parted::Over) }
    }

    /// Handles the person's audio. Dropped before the conversation begins, since it would be heard late.
    fn hear(&mut self, audio: &[u8]) -> Result<(), Parted> {
        if self.seat.shared.events.get().is_none() || self.rtc.hears() {
            return Ok(());
        }
        self.audio_at = Instant::now();
        self.decoder.decode(audio, &mut self.samples);
        let size = FORMAT.frame_samples();
        let whole = self.samples.len() / size * size;
        let mut frames = self.samples[..whole].chunks_exact(size).map(|chunk| Frame::from_slice(FORMAT, chunk));
        let heard = frames.all(|frame| self.seat.to_us.send(FromCarrier::Audio(CallerAudio(frame))));
        self.samples.drain(..whole);
        if heard { Ok(()) } else { Err(Parted::Over) }
    }

    async fn read(&mut self, socket: &mut WebSocket, text: &str) -> Result<(), Parted> {
        let taken = match BrowserMessage::read(text) {
            Ok(BrowserMessage::Dtmf(key)) => self.seat.to_us.send(FromCarrier::Dtmf(key)),
            Ok(BrowserMessage::Mark(mark)) => self.seat.to_us.send(FromCarrier::MarkPlayed(mark)),
            Ok(BrowserMessage::HangUp) => return Err(Parted::HungUp),
            Ok(BrowserMessage::RtcOffer(offer)) => return self.answer(socket, &offer).await,
            Ok(BrowserMessage::Transport(transport)) => {
                match transport {
                    Transport::Udp => self.rtc.hear(),
                    Transport::Websocket => drop(self.rtc.give_up()),
                }
                true
            }
            Ok(BrowserMessage::Start | BrowserMessage::Resume(_) | BrowserMessage::Ignored) => true,
            Err(words) => {
                tracing::warn!(words, "could not read a browser's message");
                return Err(Parted::Violation);
            }
        };
        if taken { Ok(()) } else { Err(Parted::Over) }
    }

    async fn say(&mut self, socket: &mut WebSocket, message: ToCarrier) -> Result<(), Parted> {
        let now = Instant::now();
        match message {
            ToCarrier::Audio(audio) => {
                self.plays_until = self.plays_until.max(now) + FRAME_DURATION;
                if !self.by_rtc(socket, |call| call.play(audio.0.clone())).await? {
                    self.transmit_frame(socket, &audio.0).await?;
                }
                self.becomes(socket, AgentState::Speaking).await
            }
            ToCarrier::Mark(mark) => {
                if self.by_rtc(socket, |call| call.mark(mark)).await? {
                    return Ok(());
                }
                send(socket, &ServiceMessage::Mark { name: mark.to_string() }).await
            }
            ToCarrier::Clear => {
                self.plays_until = now;
                if let Some(call) = self.rtc.call() {
                    call.clear();
                }
                send(socket, &ServiceMessage::Clear).await
            }
            ToCarrier::Info(CallInfo::Said { by_agent, text, is_final }) => {
                let role = if by_agent { "agent" } else { "caller" };
                send(socket, &ServiceMessage::Transcript { role, text: text.reveal(), is_final }).await
            }
            ToCarrier::Info(CallInfo::TurnEnded) if self.state == AgentState::Listening => {
                self.becomes(socket, AgentState::Thinking).await
            }
            ToCarrier::Info(CallInfo::TurnEnded) => Ok(()),
            ToCarrier::Info(CallInfo::Responded(times)) => send(socket, &ServiceMessage::latency(&times)).await,
        }
    }

    async fn transmit_frame(&mut self, socket: &mut WebSocket, frame: &Frame) -> Result<(), Parted> {
        self.payload.clear();
        self.encoder.encode(frame, &mut self.payload);
        self.message.extend_from_slice(&self.payload);
        transmit(socket, Message::Binary(self.message.split().freeze())).await
    }

    /// Passes audio or a mark to the session while it accepts them. Returns whether it did. Audio that it returns is sent first.
    async fn by_rtc(&mut self, socket: &mut WebSocket, give: impl Fn(&Call) -> bool) -> Result<bool, Parted> {
        while self.rtc.takes_audio() {
            if self.rtc.call().is_some_and(&give) {
                return Ok(true);
            }
            let event = self.rtc.event().await;
            self.happened(socket, event).await?;
        }
        Ok(false)
    }

    async fn answer(&mut self, socket: &mut WebSocket, offer: &str) -> Result<(), Parted> {
        match self.rtc.answer(offer) {
            Ok(sdp) => send(socket, &ServiceMessage::RtcAnswer { sdp: &sdp }).await,
            Err(reason) => send(socket, &ServiceMessage::RtcUnavailable { reason: &reason }).await,
        }
    }

    /// Handles an event of the WebRTC session.
    async fn happened(&mut self, socket: &mut WebSocket, event: RtcEvent) -> Result<(), Parted> {
        match event {
            RtcEvent::Session(Event::Connected) => self.rtc.connected(),
            RtcEvent::Session(Event::Audio(frame)) => return self.hear_frame(frame),
            RtcEvent::Session(Event::Mark(mark) | Event::UnsentMark(mark)) => {
                return send(socket, &ServiceMessage::Mark { name: mark.to_string() }).await;
            }
            RtcEvent::Session(Event::Unsent(frame)) => return self.transmit_frame(socket, &frame).await,
            RtcEvent::Session(Event::Failed) => {
                let is_new = !self.rtc.takes_audio();
                if self.rtc.give_up() {
                    return send(socket, &TO_WEBSOCKET).await;
                }
                if is_new {
                    let reason = "no audio came over UDP in time";
                    return send(socket, &ServiceMessage::RtcUnavailable { reason }).await;
                }
            }
            RtcEvent::Broken => return send(socket, &TO_WEBSOCKET).await,
            RtcEvent::Ended => {}
        }
        Ok(())
    }

    /// Handles 20 ms of the person's audio over UDP.
    fn hear_frame(&mut self, frame: Frame) -> Result<(), Parted> {
        if !self.rtc.hears() {
            return Ok(());
        }
        if !self.gate.takes_audio(2 * frame.samples().len(), Instant::now()) {
            tracing::warn!("a browser floods its session: it is closed");
            return Err(Parted::Violation);
        }
        let heard = self.seat.to_us.send(FromCarrier::Audio(CallerAudio(frame)));
        if heard { Ok(()) } else { Err(Parted::Over) }
    }

    async fn tick(&mut self, socket: &mut WebSocket, ping: bool) -> Result<(), Parted> {
        if ping {
            transmit(socket, Message::Ping(Bytes::new())).await?;
        }
        if self.rtc.is_ready() && self.plays_until + PLAYED_OUT_AFTER <= Instant::now() {
            self.rtc.carry();
            send(socket, &ServiceMessage::Transport { transport: Transport::Udp }).await?;
        }
        if self.state == AgentState::Speaking && self.plays_until + TIMEOUT_CHECK_INTERVAL <= Instant::now() {
            return self.becomes(socket, AgentState::Listening).await;
        }
        Ok(())
    }

    async fn becomes(&mut self, socket: &mut WebSocket, state: AgentState) -> Result<(), Parted> {
        if std::mem::replace(&mut self.state, state) == state {
            return Ok(());
        }
        send(socket, &ServiceMessage::State { state, resume: None }).await
    }

    /// Waits for a socket that resumes. The agent's audio meanwhile is lost, unless UDP transports it.
    async fn await_resumption(&mut self) -> Result<WebSocket, Parted> {
        let by = Instant::now() + RESUME_WITHIN;
        self.rtc.socket_lost();
        self.seat.shared.resumable_by(&self.resume);
        let resumed = loop {
            tokio::select! {
                biased;
                socket = self.seat.resumed.recv() => break socket.ok_or(Parted::Lost),
                message = self.seat.from_us.recv() => match message {
                    Some(message) => self.say_without_socket(&message),
                    None => break Err(Parted::Over),
                },
                event = self.rtc.event() => if let Err(parted) = self.happened_without_socket(event) { break Err(parted) },
                () = self.seat.shared.end.cancelled() => break Err(Parted::Over),
                () = tokio::time::sleep_until(by) => break Err(Parted::Lost),
            }
        };
        self.seat.shared.resumable_by("");
        if !self.rtc.carries() {
            (self.plays_until, self.state) = (Instant::now(), AgentState::Listening);
        }
        resumed
    }

    fn say_without_socket(&mut self, message: &ToCarrier) {
        let Some(call) = self.rtc.call() else { return };
        // The end of a session is reported by its events.
        match message {
            ToCarrier::Audio(audio) => {
                self.plays_until = self.plays_until.max(Instant::now()) + FRAME_DURATION;
                let _ = call.play(audio.0.clone());
            }
            ToCarrier::Mark(mark) => drop(call.mark(*mark)),
            ToCarrier::Clear => {
                self.plays_until = Instant::now();
                call.clear();
            }
            ToCarrier::Info(_) => {}
        }
    }

    fn happened_without_socket(&mut self, event: RtcEvent) -> Result<(), Parted> {
        match event {
            RtcEvent::Session(Event::Audio(frame)) => return self.hear_frame(frame),
            RtcEvent::Session(Event::Mark(mark)) => self.rtc.hold(mark),
            // Neither transport is left.
            RtcEvent::Session(Event::Failed) => drop(self.rtc.give_up()),
            RtcEvent::Session(_) | RtcEvent::Broken | RtcEvent::Ended => {}
        }
        Ok(())
    }
}

async fn send(socket: &mut WebSocket, message: &ServiceMessage<'_>) -> Result<(), Parted> {
    transmit(socket, Message::Text(message.text().into())).await
}

async fn transmit(socket: &mut WebSocket, message: Message) -> Result<(), Parted> {
    match timeout(SEND_TIMEOUT, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Parted::Lost),
    }
}

/// Sends the last message, and closes a socket that is still connected.
async fn say_goodbye(mut socket: WebSocket, parted: Parted, ended: &Ended) {
    let end = ServiceMessage::End { end_reason: ended.reason.as_deref(), error_code: ended.error_code.as_deref() };
    // Whether the browser is still there makes no difference.
    if send(&mut socket, &end).await.is_ok() {
        let code = if parted == Parted::Violation { close_code::POLICY } else { close_code::NORMAL };
        close(socket, CloseFrame { code, reason: "".into() }).await;
    }
}

/// Refuses a socket that does not belong to a call.
pub async fn refuse(socket: WebSocket) {
    close(socket, CloseFrame { code: close_code::POLICY, reason: "this token was used".into() }).await;
}

/// Closes a socket whose browser may still be sending audio.
async fn close(mut socket: WebSocket, frame: CloseFrame) {
    if transmit(&mut socket, Message::Close(Some(frame))).await.is_ok() {
        await_close(&mut socket).await;
    }
}

/// Reads the token of a socket that wants to resume.
pub async fn resume_token(socket: &mut WebSocket) -> Option<String> {
    let by = Instant::now() + RESUME_WITHIN;
    for _ in 0..RESUME_MESSAGES {
        match timeout_at(by, socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) => match BrowserMessage::read(&text) {
                Ok(BrowserMessage::Resume(token)) => return Some(token),
                Ok(BrowserMessage::Start | BrowserMessage::Ignored) => {}
                _ => return None,
            },
            // The microphone may be faster than the page.
            Ok(Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_)))) => {}
            _ => return None,
        }
    }
    None
}
