//! The UDP end of a browser, like a page's `RTCPeerConnection`.

use std::time::Instant;

use serde_json::{Value, json};
use switchhook_media::frame::Frame;
use switchhook_webrtc::testing::Peer;
use tokio::net::UdpSocket;

pub(crate) struct UdpEnd {
    peer: Peer,
    socket: UdpSocket,
    /// Whether packets get through.
    works: bool,
    /// Whether it transports audio.
    pub(crate) carries: bool,
    /// How many frames of the agent were returned.
    seen: usize,
    buffer: Vec<u8>,
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl UdpEnd {
    /// Creates a connection and its offer.
    pub(super) async fn offer() -> (Self, Value) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let (peer, sdp) = Peer::new(socket.local_addr().expect("bound"), now());
        let end = Self { peer, socket, works: true, carries: false, seen: 0, buffer: vec![0; 2_000] };
        (end, json!({ "type": "rtc_offer", "sdp": sdp }))
    }

    /// Handles a text of the service. Returns the response, if any.
    pub(super) fn answer_text(&mut self, text: &Value) -> Option<Value> {
        match text["type"].as_str()? {
            "rtc_answer" => {
                self.peer.answered(&super::text(&text["sdp"]));
                None
            }
            "transport" => {
                self.carries = text["transport"] == "udp";
                self.carries.then(|| text.clone())
            }
            _ => None,
        }
    }

    /// Drops all packets in both directions.
    pub(super) fn break_down(&mut self) {
        self.works = false;
    }

    /// Returns the service's address in its answer.
    pub(super) fn service(answer: &Value) -> std::net::SocketAddr {
        let sdp = super::text(&answer["sdp"]);
        let line = sdp.lines().find(|line| line.starts_with("a=candidate:")).expect("a candidate");
        let fields: Vec<&str> = line.split(' ').collect();
        format!("{}:{}", fields[4], fields[5]).parse().expect("an address")
    }

    /// Sends 20 ms of audio, or nothing while the socket transports the audio.
    pub(super) async fn speak(&mut self, frame: &Frame) {
        if self.peer.connected {
            self.peer.speak(now(), frame);
        }
        self.flush().await;
    }

    /// Waits for packets and timers, and handles them. Cancel safe.
    pub(super) async fn step(&mut self) {
        tokio::select! {
            received = self.socket.recv_from(&mut self.buffer) => {
                let (length, source) = received.expect("a packet");
                if self.works {
                    self.peer.receive(now(), source, &self.buffer[..length]);
                }
            }
            () = tokio::time::sleep_until(self.peer.wakes_at().into()) => self.peer.wake(now()),
        }
        self.flush().await;
    }

    async fn flush(&mut self) {
        for (to, packet) in std::mem::take(&mut self.peer.packets) {
            if self.works {
                self.socket.send_to(&packet, to).await.expect("sent");
            }
        }
    }

    /// Returns the frames of the agent that arrived since the last call.
    pub(super) fn heard(&mut self) -> Vec<Frame> {
        let frames = self.peer.heard[self.seen..].to_vec();
        self.seen = self.peer.heard.len();
        frames
    }
}
