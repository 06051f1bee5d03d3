//! Packets from strangers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use switchhook_media::tone::sine;
use tokio::net::UdpSocket;
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};

use super::{Network, SERVICE, packets_of_a_browser, settings, tone};
use crate::peer::Peer;
use crate::{Event, Node, Output, Session};

const STRANGER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 66)), 6_666);

/// Returns meaningless bytes, with every possible first byte.
fn garbage() -> Vec<Vec<u8>> {
    (0_u8..=255).map(|first| (0..u8::MAX).map(|at| first.wrapping_mul(at | 1)).collect()).collect()
}

#[test]
fn a_session_sends_nothing_to_who_does_not_know_its_password() {
    let (peer, offer) = Peer::new(SERVICE, Instant::now());
    drop(peer);
    let (mut session, _) = Session::answer(&settings(), &offer, Instant::now()).expect("an answer");
    let (mut out, now) = (Vec::new(), Instant::now());
    session.wake(now, &mut out);
    for packet in packets_of_a_browser().into_iter().chain(garbage()) {
        session.receive(now, STRANGER, &packet, &mut out);
    }
    session.wake(now + Duration::from_secs(1), &mut out);
    assert_eq!(out, [], "the packets were those of another session");
}

#[test]
fn a_strangers_packets_do_not_disturb_a_call() {
    let mut network = Network::connected();
    network.session.listen();
    network.says.extend(tone(50));
    let before = network.outputs.len();
    for _ in 0..20 {
        network.run(Duration::from_millis(50));
        let (mut out, now) = (Vec::new(), network.now);
        for packet in garbage().iter().take(10) {
            network.session.receive(now, STRANGER, packet, &mut out);
        }
        assert_eq!(out.iter().filter(|output| matches!(output, Output::Source(_) | Output::Failed(_))).count(), 0);
        network.outputs.extend(
            out.into_iter()
                .filter(|output| !matches!(output, Output::Transmit(..)))
                .map(|output| (now - network.start, output)),
        );
    }
    assert!(network.outputs.len() >= before + 48, "{:?}", network.outputs.len());
}

#[test]
fn a_flood_from_the_browsers_address_costs_the_flooder_only() {
    let mut network = Network::connected();
    let (mut out, now) = (Vec::new(), network.now);
    for packet in garbage().iter().cycle().take(100_000) {
        network.session.receive(now, super::BROWSER, packet, &mut out);
    }
    assert!(out.len() < 1_000, "{} outputs", out.len());
    assert!(!network.session.has_ended());
}

/// Counts the events of this crate at the levels that are logged by default.
#[derive(Clone, Default)]
struct Lines(Arc<AtomicUsize>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("switchhook") && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_session_logs_once_what_is_wrong_with_its_browsers_packets() {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        let mut network = Network::connected();
        let mut out = Vec::new();
        for second in 0..3 {
            let now = network.now + Duration::from_secs(second);
            for packet in garbage() {
                network.session.receive(now, super::BROWSER, &packet, &mut out);
            }
        }
    });
    assert_eq!(lines.0.load(Ordering::Relaxed), 1);
}

/// Runs the browser's end over a real socket: receives until `done`, sending audio all the time.
async fn talk(peer: &mut Peer, socket: &UdpSocket, done: impl Fn(&Peer) -> bool) {
    let now = || tokio::time::Instant::now().into_std();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let samples = sine(440.0, 16_000, 0.3, 320);
    let frame = switchhook_media::frame::Frame::from_slice(crate::opus::FORMAT, &samples);
    let mut buffer = [0; 2_000];
    while !done(peer) {
        for (to, packet) in std::mem::take(&mut peer.packets) {
            socket.send_to(&packet, to).await.expect("sent");
        }
        tokio::select! {
            received = socket.recv_from(&mut buffer) => {
                let (length, source) = received.expect("a packet");
                peer.receive(now(), source, &buffer[..length]);
            }
            () = tokio::time::sleep_until(peer.wakes_at().into()) => peer.wake(now()),
            _ = ticks.tick() => if peer.connected { peer.speak(now(), &frame) },
        }
    }
}

#[tokio::test]
async fn a_node_finds_the_session_of_each_packet_and_forgets_it_with_its_call() {
    let node = Node::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &[]).await.expect("a port");
    let address = node.address().expect("it listens");
    let stranger = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    for packet in garbage().iter().cycle().take(5_000) {
        stranger.send_to(packet, address).await.expect("sent");
    }
    let mut calls = Vec::new();
    for _ in 0..2 {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let (mut peer, offer) = Peer::new(socket.local_addr().expect("bound"), Instant::now());
        let (mut call, answer) = node.answer(&offer).expect("an answer");
        peer.answered(&answer);
        let connected = async { assert_eq!(call.event().await, Some(Event::Connected)) };
        tokio::select! {
            () = talk(&mut peer, &socket, |_| false) => {}
            () = connected => {}
            () = tokio::time::sleep(Duration::from_secs(10)) => panic!("it does not connect"),
        }
        calls.push((call, peer, socket));
    }
    assert_eq!(node.routes(), (2, 2));
    let (call, mut peer, socket) = calls.pop().expect("two");
    for frame in tone(10) {
        assert!(call.play(frame));
    }
    let loud = |peer: &Peer| peer.heard.iter().filter(|frame| frame.rms_dbfs() > -30.0).count() >= 10;
    tokio::time::timeout(Duration::from_secs(10), talk(&mut peer, &socket, loud)).await.expect("it is heard");
    drop(call);
    let (mut other, ..) = calls.pop().expect("the first");
    let forgotten = async {
        while node.routes() != (0, 0) {
            // The first browser is silent, so its session fails on its own.
            let _ = tokio::time::timeout(Duration::from_millis(50), other.event()).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), forgotten).await.expect("sessions end with their calls");
}
