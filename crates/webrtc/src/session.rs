//! The session of one browser: ICE, DTLS, SRTP and Opus, without I/O and without a clock.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::config::DtlsCert;
use str0m::crypto::CryptoProvider;
use str0m::format::{Codec, PayloadParams};
use str0m::media::{Direction, MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{Extension, RtpWrite};
use str0m::{Candidate, Event, IceConnectionState, IceCreds, Input, Rtc, RtcConfig};
use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::{Frame, Framer};
use switchhook_runtime::clock;

use crate::offer::{self, OfferError};
use crate::opus::{Decoder, Encoder, FORMAT};
use crate::packet;
use crate::playout::{Item, Playout};
use crate::reorder::{Next, Reorder};
use crate::routes::SOURCES;

/// How long to wait for the browser's first audio. The websocket carries the call meanwhile.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Browsers send a packet every 20 ms, even of silence. One that is quiet for this long has lost the network.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// How long an ended session may take to close its connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);
/// The maximum packets of one session in a second. A browser sends 50 with audio, and some more.
const PACKETS_PER_SECOND: u32 = 400;
/// The maximum number of outputs from one packet or timer.
const OUTPUTS: usize = 256;
/// The maximum number of RTP sources of a session; a browser has one. Each costs memory until the session ends.
const RTP_SOURCES: usize = 8;
/// The number of the header extension with the media ID, which the browser may change in its offer.
const MID_EXTENSION: u8 = 4;
/// RTP timestamp units per frame: always 48 kHz for Opus, regardless of its encoding.
const RTP_FRAME: u32 = 960;

/// Settings shared by the sessions of a node.
#[derive(Clone)]
pub struct SessionSettings {
    crypto: Arc<CryptoProvider>,
    certificate: DtlsCert,
    /// The addresses that answers offer to browsers.
    addresses: Vec<SocketAddr>,
}

impl SessionSettings {
    /// Creates settings for sessions at these addresses.
    ///
    /// # Errors
    /// Fails with a sentence if no address can be offered, or no certificate can be created.
    pub fn new(addresses: Vec<SocketAddr>) -> Result<Self, String> {
        if addresses.is_empty() {
            return Err("there is no address to offer to browsers".to_owned());
        }
        for address in &addresses {
            Candidate::host(*address, Protocol::Udp)
                .map_err(|_| format!("{} cannot be offered to browsers", address.ip()))?;
        }
        let crypto = Arc::new(str0m::crypto::from_feature_flags());
        let certificate = crypto.dtls_provider.generate_certificate().ok_or("no certificate can be made")?;
        Ok(Self { crypto, certificate, addresses })
    }

    /// Returns the local address of the same family as this one.
    fn local(&self, remote: SocketAddr) -> SocketAddr {
        let same = self.addresses.iter().find(|address| address.is_ipv4() == remote.is_ipv4());
        *same.unwrap_or(&self.addresses[0])
    }
}

/// An output of a session.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a packet.
    Transmit(SocketAddr, Vec<u8>),
    /// Route packets from this address to the session: its owner knows the session's password.
    Source(SocketAddr),
    /// Audio flows: the browser's has arrived, and the agent's can be played.
    Connected,
    /// 20 ms of the person's audio.
    Audio(Frame),
    /// Everything before this mark has been played.
    Mark(u64),
    /// The browser can no longer be reached. Queued audio comes back as [`Output::Unsent`], in real time.
    Failed(End),
    /// 20 ms of the agent's audio to send over another transport.
    Unsent(Frame),
    /// A mark after that audio.
    UnsentMark(u64),
    /// The session has ended; this is the last output.
    Ended,
}

/// Why a session no longer carries audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No audio from the browser arrived in time.
    NotConnected,
    /// Its audio has stopped arriving.
    Quiet,
    /// The browser has closed the session, or the session has failed.
    Closed,
    /// The service has stopped the session.
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting {
        by: Instant,
    },
    Flowing {
        heard_at: Instant,
    },
    /// Unplayed audio goes to another transport.
    Draining {
        by: Instant,
    },
    Ended,
}

/// The session of one browser.
pub struct Session {
    rtc: Rtc,
    settings: SessionSettings,
    name: String,
    mid: Mid,
    payload: Pt,
    phase: Phase,
    /// When str0m must be woken.
    rtc_wakes_at: Instant,
    /// Addresses at which the browser has proved that it knows the session's password.
    sources: Vec<SocketAddr>,
    /// RTP sources seen in packets.
    rtp_sources: Vec<u32>,
    /// The start of the current count of packets, and the count.
    counted: (Instant, u32),
    /// Whether an error in the browser's packets has been logged.
    complained: bool,
    encoder: Encoder,
    decoder: Decoder,
    /// Whether the person's audio was requested.
    listens: bool,
    reorder: Reorder,
    framer: Framer,
    samples: Vec<i16>,
    playout: Playout,
    /// Whether frames are being sent.
    plays: bool,
    sequence: u64,
    rtp_time: u32,
}

impl Session {
    /// Answers an offer. Returns the session and the answer.
    ///
    /// # Errors
    /// Fails if the offer cannot be answered.
    pub fn answer(settings: &SessionSettings, offer: &str, now: Instant) -> Result<(Self, String), OfferError> {
        let offer = offer::read(offer)?;
        let name = hex(&clock::random::<8>());
        let credentials = IceCreds { ufrag: name.clone(), pass: hex(&clock::random::<16>()) };
        let mut rtc = RtcConfig::new()
            .set_crypto_provider(settings.crypto.clone())
            .set_dtls_cert(settings.certificate.clone())
            .set_local_ice_credentials(credentials)
            .set_ice_lite(true)
            .clear_codecs()
            .enable_opus(true, false)
            // Congestion reports would list all packet numbers that a browser has skipped, and it may skip any number.
            .clear_extension_map()
            .set_extension(MID_EXTENSION, Extension::RtpMid)
            .set_rtp_mode(true)
            .build(now);
        for address in &settings.addresses {
            let candidate = Candidate::host(*address, Protocol::Udp).map_err(|_| OfferError::Unavailable)?;
            rtc.add_local_candidate(candidate);
        }
        let answer = rtc.sdp_api().accept_offer(offer).map_err(|_| OfferError::Malformed)?.to_sdp_string();
        // There is one medium; str0m reports it only once connected.
        let mid = answer.lines().find_map(|line| line.strip_prefix("a=mid:")).ok_or(OfferError::NoAudio)?.into();
        let media = rtc.media(mid).ok_or(OfferError::NoAudio)?;
        if media.kind() != MediaKind::Audio || media.direction() != Direction::SendRecv {
            return Err(OfferError::NoAudio);
        }
        let offered = media.remote_pts().to_vec();
        let is_opus = |params: &&PayloadParams| params.spec().codec == Codec::Opus && offered.contains(&params.pt());
        let payload = rtc.codec_config().params().iter().find(is_opus).map(PayloadParams::pt);
        let session = Self {
            rtc,
            settings: settings.clone(),
            name,
            mid,
            payload: payload.ok_or(OfferError::NoAudio)?,
            phase: Phase::Connecting { by: now + CONNECT_TIMEOUT },
            rtc_wakes_at: now,
            sources: Vec::new(),
            rtp_sources: Vec::new(),
            counted: (now, 0),
            complained: false,
            encoder: Encoder::new().map_err(|_| OfferError::Unavailable)?,
            decoder: Decoder::new().map_err(|_| OfferError::Unavailable)?,
            listens: false,
            reorder: Reorder::default(),
            framer: Framer::new(FORMAT),
            samples: Vec::new(),
            playout: Playout::new(now),
            plays: false,
            // Low, because the receiver cannot know of a number that has already wrapped.
            sequence: u64::from(clock::random::<1>()[0]),
            rtp_time: u32::from_be_bytes(clock::random()),
        };
        Ok((session, answer))
    }

    /// Returns the name that the browser uses for the session when it connects.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns when [`Session::wake`] is due.
    #[must_use]
    pub fn wakes_at(&self) -> Instant {
        let phase = match self.phase {
            Phase::Connecting { by } => by,
            Phase::Flowing { heard_at } => heard_at + LOST_AFTER,
            Phase::Draining { by } if self.playout.is_empty() => by,
            Phase::Draining { .. } => self.playout.due(),
            Phase::Ended => return self.rtc_wakes_at,
        };
        let frame = self.plays.then(|| self.playout.due());
        let missing = self.reorder.wakes_at();
        [Some(self.rtc_wakes_at), frame, missing].into_iter().flatten().fold(phase, Instant::min)
    }

    /// Returns whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Receives a packet. One that is not from the browser is dropped.
    pub fn receive(&mut self, now: Instant, source: SocketAddr, packet: &[u8], out: &mut Vec<Output>) {
        if self.has_ended() {
            return;
        }
        if !self.admits(now) {
            return self.complain(&"too many packets in a second");
        }
        let destination = self.settings.local(source);
        let received = match Receive::new(Protocol::Udp, source, destination, packet) {
            Ok(received) => received,
            Err(error) if self.sources.contains(&source) => return self.complain(&error),
            Err(_) => return,
        };
        let input = Input::Receive(now, received);
        if !self.rtc.accepts(&input) {
            return;
        }
        if !self.sources.contains(&source) {
            if self.sources.len() >= SOURCES {
                return;
            }
            self.sources.push(source);
            out.push(Output::Source(source));
        }
        if packet::has_application_data(packet) {
            return self.complain(&"data for a channel that was not agreed on");
        }
        if !self.listens_to(packet) {
            return self.complain(&"too many sources of audio");
        }
        // An error in a packet affects only that packet; whether the session is still alive is checked below.
        if let Err(error) = self.rtc.handle_input(input) {
            self.complain(&error);
        }
        self.drain(now, out);
        self.wake(now, out);
    }

    /// Does the work that is due.
    pub fn wake(&mut self, now: Instant, out: &mut Vec<Output>) {
        if now >= self.rtc_wakes_at {
            if let Err(error) = self.rtc.handle_input(Input::Timeout(now)) {
                tracing::debug!(%error, "a session of a browser failed");
            }
            self.drain(now, out);
        }
        match self.phase {
            Phase::Connecting { by } if now >= by => self.fail(now, End::NotConnected, out),
            Phase::Flowing { heard_at } if now.saturating_duration_since(heard_at) >= LOST_AFTER => {
                self.fail(now, End::Quiet, out);
            }
            Phase::Connecting { .. } | Phase::Flowing { .. } if !self.rtc.is_alive() => {
                self.fail(now, End::Closed, out);
            }
            Phase::Connecting { .. } | Phase::Flowing { .. } => self.send_due(now, out),
            Phase::Draining { .. } | Phase::Ended => {}
        }
        self.hear(now, out);
        self.drain_unsent(now, out);
    }

    /// Queues 20 ms of the agent's audio.
    pub fn play(&mut self, frame: Frame) {
        self.playout.play(frame);
    }

    /// Queues a mark after the audio so far.
    pub fn mark(&mut self, mark: u64) {
        self.playout.mark(mark);
    }

    /// Drops audio and marks that were not sent.
    pub fn clear(&mut self) {
        self.playout.clear();
    }

    /// Starts passing on the person's audio, from now on.
    pub fn listen(&mut self) {
        self.listens = true;
        self.reorder.clear();
    }

    /// Ends the session. Unplayed audio is returned first.
    pub fn stop(&mut self, now: Instant, out: &mut Vec<Output>) {
        if matches!(self.phase, Phase::Connecting { .. } | Phase::Flowing { .. }) {
            self.fail(now, End::Stopped, out);
        }
        self.wake(now, out);
    }

    /// Returns whether the packet limit allows one more.
    fn admits(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.counted.0) >= Duration::from_secs(1) {
            self.counted = (now, 0);
        }
        self.counted.1 += 1;
        self.counted.1 <= PACKETS_PER_SECOND
    }

    /// Returns whether a packet is from one of the first audio sources, or has none.
    fn listens_to(&mut self, packet: &[u8]) -> bool {
        let Some(source) = packet::rtp_source(packet) else { return true };
        if !self.rtp_sources.contains(&source) {
            if self.rtp_sources.len() >= RTP_SOURCES {
                return false;
            }
            self.rtp_sources.push(source);
        }
        true
    }

    /// Logs the first error in the browser's packets; more must not fill the log.
    fn complain(&mut self, error: &dyn fmt::Display) {
        if !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(%error, "a browser sends packets that are not understood; no more of its session is logged");
        }
    }

    /// Handles all pending outputs of str0m.
    fn drain(&mut self, now: Instant, out: &mut Vec<Output>) {
        for _ in 0..OUTPUTS {
            match self.rtc.poll_output() {
                Ok(str0m::Output::Timeout(at)) => {
                    // Never immediately: a session must not keep its task busy.
                    self.rtc_wakes_at = at.max(now + Duration::from_millis(1));
                    return;
                }
                Ok(str0m::Output::Transmit(packet)) => {
                    out.push(Output::Transmit(packet.destination, packet.contents.into()));
                }
                Ok(str0m::Output::Event(event)) => self.happened(now, event, out),
                Err(error) => {
                    tracing::debug!(%error, "a session of a browser failed");
                    self.rtc.disconnect();
                    break;
                }
            }
        }
        self.rtc_wakes_at = now + FRAME_DURATION;
    }

    fn happened(&mut self, now: Instant, event: Event, out: &mut Vec<Output>) {
        match event {
            Event::Connected => {
                self.plays = true;
                self.playout.begin(now);
            }
            Event::RtpPacket(packet) if packet.header.payload_type == self.payload => {
                match &mut self.phase {
                    Phase::Connecting { .. } => {
                        self.phase = Phase::Flowing { heard_at: now };
                        out.push(Output::Connected);
                    }
                    Phase::Flowing { heard_at } => *heard_at = now,
                    Phase::Draining { .. } | Phase::Ended => return,
                }
                out.extend(self.playout.confirm().map(Output::Mark));
                if self.listens {
                    self.reorder.push(*packet.seq_no, packet.payload, now);
                }
            }
            Event::Closed | Event::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                if matches!(self.phase, Phase::Connecting { .. } | Phase::Flowing { .. }) {
                    self.fail(now, End::Closed, out);
                }
            }
            _ => {}
        }
    }

    /// Passes on the person's audio as far as it is in order.
    fn hear(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some(next) = self.reorder.next(now) {
            self.samples.clear();
            let heard = match next {
                Next::Packet(packet) => self.decoder.decode(&packet, &mut self.samples),
                Next::Lost(behind) => self.decoder.conceal(behind.as_deref(), &mut self.samples),
            };
            if let Err(error) = heard {
                self.complain(&error);
            }
            out.extend(self.framer.push(&self.samples).into_iter().map(Output::Audio));
        }
    }

    /// Sends every frame that is due, including silence, so that the browser's jitter buffer does not change.
    fn send_due(&mut self, now: Instant, out: &mut Vec<Output>) {
        while self.plays
            && let Some((frame, missed)) = self.playout.next(now)
        {
            let skipped = u32::try_from(missed).unwrap_or(u32::MAX).wrapping_mul(RTP_FRAME);
            self.rtp_time = self.rtp_time.wrapping_add(skipped);
            if let Err(error) = self.send(now, &frame.unwrap_or(Frame::silence(FORMAT))) {
                tracing::debug!(error, "could not send audio to a browser");
            }
            self.rtp_time = self.rtp_time.wrapping_add(RTP_FRAME);
            self.drain(now, out);
        }
    }

    fn send(&mut self, now: Instant, frame: &Frame) -> Result<(), &'static str> {
        let packet = self.encoder.encode(frame).map_err(|_| "it could not be encoded")?;
        let mut direct = self.rtc.direct_api();
        let stream = direct.stream_tx_by_mid(self.mid, None).ok_or("there is no stream")?;
        stream.write_rtp(RtpWrite::new(self.payload, self.sequence.into(), self.rtp_time, now, packet));
        self.sequence += 1;
        // str0m sends written data only when time passes.
        self.rtc.handle_input(Input::Timeout(now)).map_err(|_| "the session failed")
    }

    fn fail(&mut self, now: Instant, end: End, out: &mut Vec<Output>) {
        self.phase = Phase::Draining { by: now + CLOSE_TIMEOUT };
        self.plays = false;
        self.listens = false;
        self.reorder.clear();
        self.playout.take_back();
        self.playout.begin(now);
        out.push(Output::Failed(end));
        if self.rtc.close().is_err() {
            self.rtc.disconnect();
        }
        self.drain(now, out);
    }

    fn drain_unsent(&mut self, now: Instant, out: &mut Vec<Output>) {
        let Phase::Draining { by } = self.phase else { return };
        out.extend(self.playout.next_unsent(now).into_iter().map(|item| match item {
            Item::Audio(frame) => Output::Unsent(frame),
            Item::Mark(mark) => Output::UnsentMark(mark),
        }));
        if self.playout.is_empty() && now >= by {
            self.phase = Phase::Ended;
            self.rtc.disconnect();
            out.push(Output::Ended);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fuzzes packets from the browser's address to a connected session. Packets from strangers do not get this far.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || vec![crate::tests::packets_of_a_browser()],
    read: |messages| {
        let mut call = crate::tests::Network::connected();
        call.session.listen();
        let mut out = Vec::new();
        switchhook_fuzz::Read::each(messages, |packet| {
            out.clear();
            let now = call.now;
            call.session.receive(now, crate::tests::BROWSER, packet, &mut out);
            call.session.wake(now + FRAME_DURATION, &mut out);
            let given = |output: &Output| match output {
                Output::Transmit(_, packet) => packet.len(),
                Output::Audio(frame) | Output::Unsent(frame) => 2 * frame.samples().len(),
                _ => 1,
            };
            if str0m::net::DatagramRecv::try_from(packet).is_err() {
                return Err("it is none of WebRTC");
            }
            Ok(out.iter().map(given).sum())
        })
    },
};
