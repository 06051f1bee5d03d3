//! A session and a browser on a simulated network, in virtual time.

pub(crate) mod hostile;
mod media;
mod offers;
mod strangers;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::Frame;
use switchhook_media::tone::sine;

use crate::opus::FORMAT;
use crate::peer::Peer;
use crate::{Output, Session, SessionSettings};

pub(crate) const SERVICE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 7)), 40_000);
pub(crate) const BROWSER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 9)), 50_000);
const STEP: Duration = Duration::from_millis(5);
/// The network delay of a packet.
const DELAY: Duration = Duration::from_millis(20);

pub(crate) fn settings() -> SessionSettings {
    SessionSettings::new(vec![SERVICE]).expect("an address")
}

/// Returns an offer of a browser.
pub(crate) fn offer() -> String {
    Peer::new(BROWSER, Instant::now()).1
}

/// Returns frames of a tone.
fn tone(frames: usize) -> Vec<Frame> {
    let tone = sine(440.0, FORMAT.sample_rate(), 0.3, frames * FORMAT.frame_samples());
    tone.chunks_exact(FORMAT.frame_samples()).map(|chunk| Frame::from_slice(FORMAT, chunk)).collect()
}

/// The delay of the nth packet of a direction; `None` if it is lost.
type Delivery = fn(u64) -> Option<Duration>;

/// Both ends, and the packets between them.
pub(crate) struct Network {
    pub(crate) now: Instant,
    start: Instant,
    pub(crate) session: Session,
    peer: Peer,
    /// Packets in flight: when each arrives, whether at the service, and its bytes.
    under_way: Vec<(Instant, bool, Vec<u8>)>,
    fate: Delivery,
    sent: [u64; 2],
    /// The session's outputs except packets, with their times.
    outputs: Vec<(Duration, Output)>,
    /// The browser's audio, frame by frame; silence when empty.
    says: std::collections::VecDeque<Frame>,
    speaks_at: Instant,
    speaks: bool,
    /// Every packet that was sent to the service.
    trace: Vec<Vec<u8>>,
    /// Every packet that the session sent.
    answers: Vec<Vec<u8>>,
}

impl Network {
    fn new(fate: Delivery) -> Self {
        let now = Instant::now();
        let (mut peer, offer) = Peer::new(BROWSER, now);
        let (session, answer) = Session::answer(&settings(), &offer, now).expect("an answer");
        peer.answered(&answer);
        Self {
            now,
            start: now,
            session,
            peer,
            under_way: Vec::new(),
            fate,
            sent: [0; 2],
            outputs: Vec::new(),
            says: std::collections::VecDeque::new(),
            speaks_at: now,
            speaks: true,
            trace: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Returns both ends, with audio flowing between them, over a network without loss.
    pub(crate) fn connected() -> Self {
        Self::connected_over(|_| Some(DELAY))
    }

    fn connected_over(fate: Delivery) -> Self {
        let mut network = Self::new(fate);
        network.run_until(Duration::from_secs(4), |network| network.has(|output| *output == Output::Connected));
        network
    }

    fn has(&self, is: impl Fn(&Output) -> bool) -> bool {
        self.outputs.iter().any(|(_, output)| is(output))
    }

    /// Returns the outputs that are audio of the person.
    fn heard(&self) -> Vec<Frame> {
        let audio = |(_, output): &(Duration, Output)| match output {
            Output::Audio(frame) => Some(frame.clone()),
            _ => None,
        };
        self.outputs.iter().filter_map(audio).collect()
    }

    /// Advances the time.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
    }

    fn run_until(&mut self, within: Duration, done: impl Fn(&Self) -> bool) {
        let end = self.now + within;
        while !done(self) {
            assert!(self.now < end, "{:?}", self.outputs);
            self.step();
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        let (due, rest) = std::mem::take(&mut self.under_way).into_iter().partition(|(at, ..)| *at <= self.now);
        self.under_way = rest;
        let mut out = Vec::new();
        for (_, to_service, packet) in due {
            if to_service {
                self.session.receive(self.now, BROWSER, &packet, &mut out);
            } else {
                self.peer.receive(self.now, SERVICE, &packet);
            }
        }
        if self.session.wakes_at() <= self.now {
            self.session.wake(self.now, &mut out);
        }
        if self.peer.wakes_at() <= self.now {
            self.peer.wake(self.now);
        }
        if self.peer.connected && self.speaks && self.speaks_at <= self.now {
            let frame = self.says.pop_front().unwrap_or(Frame::silence(FORMAT));
            self.peer.speak(self.now, &frame);
            self.speaks_at = self.speaks_at.max(self.now - FRAME_DURATION) + FRAME_DURATION;
        }
        for output in out {
            match output {
                Output::Transmit(to, packet) => {
                    assert_eq!(to, BROWSER, "nobody else has asked");
                    self.answers.push(packet.clone());
                    self.send(false, packet);
                }
                other => self.outputs.push((self.now - self.start, other)),
            }
        }
        for (to, packet) in std::mem::take(&mut self.peer.packets) {
            assert_eq!(to, SERVICE);
            self.trace.push(packet.clone());
            self.send(true, packet);
        }
    }

    fn send(&mut self, to_service: bool, packet: Vec<u8>) {
        let number = &mut self.sent[usize::from(to_service)];
        *number += 1;
        if let Some(delay) = (self.fate)(*number) {
            self.under_way.push((self.now + delay, to_service, packet));
        }
    }
}

/// Returns everything that a browser sends in its first second, for a session that has seen none of it.
pub(crate) fn packets_of_a_browser() -> Vec<Vec<u8>> {
    let mut network = Network::connected();
    network.run(Duration::from_millis(200));
    network.trace
}
