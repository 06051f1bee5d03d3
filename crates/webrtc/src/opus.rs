//! Opus at the sample rate of a call. RTP timestamps of Opus always count 48 kHz; encoder and decoder run at 16 kHz, so that nothing is resampled.

use opus_rs::{Application, OpusDecoder, OpusEncoder};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;

/// The audio format inside the service.
pub(crate) const FORMAT: AudioFormat = AudioFormat::Wideband;
/// The bit rate of the agent's audio: transparent for speech of this band.
const BITS_PER_SECOND: i32 = 32_000;
/// The encoder's complexity, of 10: more costs time and makes no audible difference for speech.
const COMPLEXITY: i32 = 5;
/// The longest audio in one packet: 120 ms.
const LONGEST: usize = FORMAT.samples_in_ms(120);
/// The maximum size of a packet, in bytes.
const PACKET_LIMIT: usize = 1_275;

/// Why audio could not be converted, in the codec's own message, which does not quote any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Opus: {0}")]
pub(crate) struct CodecError(&'static str);

/// Encodes the agent's audio.
pub(crate) struct Encoder {
    inner: Box<OpusEncoder>,
    packet: Box<[u8; PACKET_LIMIT]>,
}

impl Encoder {
    pub(crate) fn new() -> Result<Self, CodecError> {
        let rate = i32::try_from(FORMAT.sample_rate()).map_err(|_| CodecError("rate"))?;
        let mut inner = Box::new(OpusEncoder::new(rate, 1, Application::Voip).map_err(CodecError)?);
        inner.bitrate_bps = BITS_PER_SECOND;
        inner.complexity = COMPLEXITY;
        // With a variable rate this encoder uses half as much again as its setting.
        inner.use_cbr = true;
        Ok(Self { inner, packet: Box::new([0; PACKET_LIMIT]) })
    }

    /// Encodes a frame as one packet.
    pub(crate) fn encode(&mut self, frame: &Frame) -> Result<&[u8], CodecError> {
        let samples = frame.samples();
        let length = self.inner.encode_i16(samples, samples.len(), &mut self.packet[..]).map_err(CodecError)?;
        self.packet.get(..length).ok_or(CodecError("length"))
    }
}

/// Decodes the person's audio, with any channels and bandwidth.
pub(crate) struct Decoder {
    inner: Box<OpusDecoder>,
    audio: Vec<f32>,
    /// The duration of the last packet, which is assumed for a lost one.
    last: usize,
}

impl Decoder {
    pub(crate) fn new() -> Result<Self, CodecError> {
        let rate = i32::try_from(FORMAT.sample_rate()).map_err(|_| CodecError("rate"))?;
        let inner = Box::new(OpusDecoder::new(rate, 1).map_err(CodecError)?);
        Ok(Self { inner, audio: vec![0.0; LONGEST], last: FORMAT.frame_samples() })
    }

    /// Appends the audio of a packet to `out`.
    pub(crate) fn decode(&mut self, packet: &[u8], out: &mut Vec<i16>) -> Result<(), CodecError> {
        if packet.is_empty() || packet.len() > PACKET_LIMIT {
            return Err(CodecError("a packet is empty or too long"));
        }
        let decoded = self.inner.decode(packet, LONGEST, &mut self.audio).map_err(CodecError)?;
        self.last = decoded.clamp(1, LONGEST);
        self.give(decoded, out);
        Ok(())
    }

    /// Appends replacement audio for a lost packet: decoded from the redundancy in the `next` one if possible, else concealed.
    pub(crate) fn conceal(&mut self, next: Option<&[u8]>, out: &mut Vec<i16>) -> Result<(), CodecError> {
        // The codec conceals multiples of 2.5 ms only.
        let step = FORMAT.frame_samples() / 8;
        let length = (self.last / step).max(1) * step;
        let repeated = next.filter(|packet| (2..=PACKET_LIMIT).contains(&packet.len()));
        let made = match repeated {
            Some(packet) => self.inner.decode_fec(packet, length, &mut self.audio),
            None => self.inner.decode(&[], length, &mut self.audio),
        };
        self.give(made.map_err(CodecError)?, out);
        Ok(())
    }

    fn give(&self, samples: usize, out: &mut Vec<i16>) {
        out.extend(self.audio.iter().take(samples).map(|sample| to_i16(*sample)));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to 16 bits; what is no number becomes 0")]
fn to_i16(sample: f32) -> i16 {
    (sample * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let tone = switchhook_media::tone::sine(440.0, FORMAT.sample_rate(), 0.3, FORMAT.samples_in_ms(200));
        let mut ours = Encoder::new().expect("an encoder");
        let speech = tone
            .chunks_exact(FORMAT.frame_samples())
            .map(|chunk| ours.encode(&Frame::from_slice(FORMAT, chunk)).expect("a packet").to_vec())
            .collect();
        vec![speech, tests::fullband(128_000, Application::Audio), tests::fullband(24_000, Application::Voip)]
    },
    read: |messages| {
        let (mut decoder, mut out) = (Decoder::new().expect("a decoder"), Vec::new());
        switchhook_fuzz::Read::each(messages, |packet| {
            out.clear();
            let concealed = decoder.conceal(Some(packet), &mut out).and_then(|()| decoder.conceal(None, &mut out));
            concealed.and_then(|()| decoder.decode(packet, &mut out)).map(|()| 2 * out.len())
        })
    },
};

#[cfg(test)]
mod tests {
    use switchhook_media::level::rms_dbfs;
    use switchhook_media::tone::sine;

    use super::*;

    /// Returns a tone encoded as browsers do: in 48 kHz.
    pub(super) fn fullband(bits: i32, application: Application) -> Vec<Vec<u8>> {
        let mut encoder = OpusEncoder::new(48_000, 1, application).expect("an encoder");
        (encoder.bitrate_bps, encoder.use_cbr) = (bits, true);
        let tone = sine(440.0, 48_000, 0.3, 48_000 / 5);
        tone.chunks_exact(960)
            .map(|chunk| {
                let mut packet = vec![0; PACKET_LIMIT];
                let length = encoder.encode_i16(chunk, 960, &mut packet).expect("a packet");
                packet.truncate(length);
                packet
            })
            .collect()
    }

    fn tone() -> Vec<Frame> {
        let tone = sine(440.0, FORMAT.sample_rate(), 0.3, FORMAT.samples_in_ms(1_000));
        tone.chunks_exact(FORMAT.frame_samples()).map(|chunk| Frame::from_slice(FORMAT, chunk)).collect()
    }

    fn loudness(samples: &[i16]) -> f32 {
        rms_dbfs(&samples[samples.len() / 4..samples.len() * 3 / 4])
    }

    #[test]
    fn speech_goes_through_at_its_level_and_in_32_kbit_per_second() {
        let (mut encoder, mut decoder) = (Encoder::new().expect("an encoder"), Decoder::new().expect("a decoder"));
        let (mut out, mut bytes) = (Vec::new(), 0);
        for frame in tone() {
            let packet = encoder.encode(&frame).expect("a packet");
            bytes += packet.len();
            decoder.decode(packet, &mut out).expect("audio");
        }
        assert_eq!(out.len(), FORMAT.samples_in_ms(1_000));
        assert!((loudness(&out) - tone()[20].rms_dbfs()).abs() < 1.5, "{} dBFS", loudness(&out));
        assert!((3_900..=4_100).contains(&bytes), "{bytes} bytes a second");
    }

    #[test]
    fn what_browsers_send_in_48_khz_is_decoded_at_16() {
        let loud = tone()[20].rms_dbfs();
        for (bits, application) in [(24_000, Application::Voip), (128_000, Application::Audio)] {
            let (mut decoder, mut out) = (Decoder::new().expect("a decoder"), Vec::new());
            for packet in fullband(bits, application) {
                decoder.decode(&packet, &mut out).expect("audio");
            }
            assert_eq!(out.len(), FORMAT.samples_in_ms(200), "{bits}");
            assert!((loudness(&out) - loud).abs() < 2.0, "{bits}: {} dBFS", loudness(&out));
        }
    }

    #[test]
    fn a_lost_packet_is_made_up_for_in_length_and_level() {
        let (mut encoder, mut decoder) = (Encoder::new().expect("an encoder"), Decoder::new().expect("a decoder"));
        let packets: Vec<Vec<u8>> =
            tone().iter().map(|frame| encoder.encode(frame).expect("a packet").to_vec()).collect();
        let mut out = Vec::new();
        for (number, packet) in packets.iter().enumerate() {
            match number % 10 {
                7 => decoder.conceal(packets.get(number + 1).map(Vec::as_slice), &mut out).expect("audio"),
                9 => decoder.conceal(None, &mut out).expect("audio"),
                _ => decoder.decode(packet, &mut out).expect("audio"),
            }
        }
        assert_eq!(out.len(), FORMAT.samples_in_ms(1_000));
        assert!((loudness(&out) - tone()[20].rms_dbfs()).abs() < 3.0, "{} dBFS", loudness(&out));
    }

    #[test]
    fn packets_without_audio_are_refused() {
        let mut decoder = Decoder::new().expect("a decoder");
        let mut out = Vec::new();
        for packet in [&[][..], &[0xff; PACKET_LIMIT + 1], &[0x03]] {
            assert!(decoder.decode(packet, &mut out).is_err(), "{} bytes", packet.len());
        }
        assert!(out.is_empty());
    }
}
