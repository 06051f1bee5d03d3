//! A browser's end of a session, for tests; also without I/O or clock.

use std::net::SocketAddr;
use std::time::Instant;

use str0m::change::{SdpAnswer, SdpPendingOffer};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::RtpWrite;
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig};
use switchhook_media::frame::{Frame, Framer};

use crate::opus::{Decoder, Encoder, FORMAT};

/// A browser.
pub struct Peer {
    rtc: Box<Rtc>,
    mid: Mid,
    local: SocketAddr,
    pending: Option<SdpPendingOffer>,
    encoder: Encoder,
    decoder: Decoder,
    framer: Framer,
    sequence: u64,
    wakes_at: Instant,
    /// Whether the DTLS handshake is complete.
    pub connected: bool,
    /// Packets to send.
    pub packets: Vec<(SocketAddr, Vec<u8>)>,
    /// Audio from the service, in frames.
    pub heard: Vec<Frame>,
    /// The numbers of the received RTP packets.
    pub received: Vec<u64>,
}

impl Peer {
    /// Creates a browser at this address, and its offer.
    ///
    /// # Panics
    /// If str0m does not behave as documented.
    #[must_use]
    pub fn new(local: SocketAddr, now: Instant) -> (Self, String) {
        let config = RtcConfig::new().clear_codecs().enable_opus(true, false).set_rtp_mode(true);
        let mut rtc = Box::new(config.build(now));
        rtc.add_local_candidate(Candidate::host(local, Protocol::Udp).expect("an address"));
        let mut api = rtc.sdp_api();
        let mid = api.add_media(MediaKind::Audio, Direction::SendRecv, None, None, None);
        let (offer, pending) = api.apply().expect("there is a change");
        let mut peer = Self {
            rtc,
            mid,
            local,
            pending: Some(pending),
            encoder: Encoder::new().expect("an encoder"),
            decoder: Decoder::new().expect("a decoder"),
            framer: Framer::new(FORMAT),
            sequence: 1,
            wakes_at: now,
            connected: false,
            packets: Vec::new(),
            heard: Vec::new(),
            received: Vec::new(),
        };
        peer.drain();
        (peer, offer.to_sdp_string())
    }

    /// Accepts the answer.
    ///
    /// # Panics
    /// If it is not an answer.
    pub fn answered(&mut self, answer: &str) {
        let answer = SdpAnswer::from_sdp_string(answer).expect("an answer");
        let pending = self.pending.take().expect("it has offered");
        self.rtc.sdp_api().accept_answer(pending, answer).expect("the answer is to this offer");
        self.drain();
    }

    /// Returns when [`Peer::wake`] is due.
    #[must_use]
    pub fn wakes_at(&self) -> Instant {
        self.wakes_at
    }

    /// Does the work that is due.
    pub fn wake(&mut self, now: Instant) {
        if self.rtc.handle_input(Input::Timeout(now)).is_err() {
            self.rtc.disconnect();
        }
        self.drain();
    }

    /// Receives a packet.
    ///
    /// # Panics
    /// If the session fails.
    pub fn receive(&mut self, now: Instant, source: SocketAddr, packet: &[u8]) {
        let received = Receive::new(Protocol::Udp, source, self.local, packet).expect("a packet of the service");
        self.rtc.handle_input(Input::Receive(now, received)).expect("the service's packets make sense");
        self.drain();
    }

    /// Sends 20 ms of audio.
    ///
    /// # Panics
    /// If the audio cannot be encoded.
    pub fn speak(&mut self, now: Instant, frame: &Frame) {
        let packet = self.encoder.encode(frame).expect("a packet").to_vec();
        let payload = self.payload();
        // The RTP timestamp wraps.
        let time = u32::try_from(self.sequence.wrapping_mul(960) & u64::from(u32::MAX)).expect("32 bits");
        let mut direct = self.rtc.direct_api();
        let stream = direct.stream_tx_by_mid(self.mid, None).expect("a stream");
        stream.write_rtp(RtpWrite::new(payload, self.sequence.into(), time, now, packet));
        self.sequence += 1;
        self.wake(now);
    }

    /// Sends any bytes as audio, `jump` packet numbers after the last.
    ///
    /// # Panics
    /// If there is no stream.
    pub fn send(&mut self, now: Instant, jump: u16, audio: Vec<u8>) {
        self.sequence += u64::from(jump);
        let payload = self.payload();
        let mut direct = self.rtc.direct_api();
        let stream = direct.stream_tx_by_mid(self.mid, None).expect("a stream");
        stream.write_rtp(RtpWrite::new(payload, self.sequence.into(), u32::from(jump) * 960, now, audio));
        self.wake(now);
    }

    /// Opens a data channel that was not negotiated.
    pub fn open_data_channel(&mut self) {
        self.rtc.direct_api().start_sctp(true);
    }

    /// Continues at another packet number.
    pub fn jump_to(&mut self, number: u64) {
        self.sequence = number;
    }

    fn payload(&self) -> Pt {
        let opus = self.rtc.codec_config().find(|params| params.spec().codec == Codec::Opus);
        opus.expect("the only codec").pt()
    }

    fn drain(&mut self) {
        loop {
            match self.rtc.poll_output() {
                Ok(Output::Timeout(at)) => {
                    self.wakes_at = at;
                    return;
                }
                Ok(Output::Transmit(packet)) => self.packets.push((packet.destination, packet.contents.to_vec())),
                Ok(Output::Event(Event::Connected)) => self.connected = true,
                Ok(Output::Event(Event::RtpPacket(packet))) => {
                    self.received.push(*packet.seq_no);
                    let mut samples = Vec::new();
                    self.decoder.decode(&packet.payload, &mut samples).expect("Opus");
                    self.heard.extend(self.framer.push(&samples));
                }
                Ok(Output::Event(_)) => {}
                // The service does not answer; a page would give up, too.
                Err(_) => self.rtc.disconnect(),
            }
        }
    }
}

/// Returns audio at 16 kHz after encoding and decoding; an incomplete last frame is cut off.
///
/// # Panics
/// If the codec fails.
#[must_use]
pub fn through_opus(samples: &[i16]) -> Vec<i16> {
    let (mut encoder, mut decoder) = (Encoder::new().expect("an encoder"), Decoder::new().expect("a decoder"));
    let mut out = Vec::new();
    for chunk in samples.chunks_exact(FORMAT.frame_samples()) {
        let packet = encoder.encode(&Frame::from_slice(FORMAT, chunk)).expect("a packet");
        decoder.decode(packet, &mut out).expect("audio");
    }
    out
}
