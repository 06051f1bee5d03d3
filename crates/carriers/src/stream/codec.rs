//! Converts between a carrier's audio encoding and the format of a call.

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::{self, Law};
use switchhook_media::resample::Resampler;

/// The audio format of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFormat {
    /// The encoding of samples.
    pub coding: Encoding,
    /// Samples per second.
    pub rate: u32,
}

/// The encoding of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// G.711, one byte per sample.
    G711(Law),
    /// 16-bit little-endian PCM.
    L16,
}

impl StreamFormat {
    /// G.711 µ-law at 8 kHz, the format of telephones.
    pub const MU_LAW: Self = Self { coding: Encoding::G711(Law::Mu), rate: g711::SAMPLE_RATE };
    /// G.711 A-law at 8 kHz.
    pub const A_LAW: Self = Self { coding: Encoding::G711(Law::A), rate: g711::SAMPLE_RATE };
    /// 16-bit PCM at 16 kHz.
    pub const L16: Self = Self { coding: Encoding::L16, rate: 16_000 };

    /// Returns the format of a call over such a stream; audio beyond its bandwidth is not used.
    #[must_use]
    pub fn call_format(self) -> AudioFormat {
        if self.rate < AudioFormat::Wideband.sample_rate() { AudioFormat::Narrowband } else { AudioFormat::Wideband }
    }
}

/// No resampler exists for this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("audio at {0} samples per second is not supported")]
pub struct UnsupportedSampleRate(pub u32);

/// Decodes the caller's audio.
pub struct StreamDecoder {
    coding: Encoding,
    resampler: Option<Resampler>,
    /// Samples at the stream's rate, for the resampler.
    samples: Vec<i16>,
    /// The first byte of a sample that was split.
    half: Option<u8>,
}

impl StreamDecoder {
    /// Creates a decoder from this format to that of the `call`.
    ///
    /// # Errors
    /// When its rate cannot be converted.
    pub fn new(format: StreamFormat, call: AudioFormat) -> Result<Self, UnsupportedSampleRate> {
        let resampler = resampler(format.rate, call.sample_rate(), format.rate)?;
        Ok(Self { coding: format.coding, resampler, samples: Vec::new(), half: None })
    }

    /// Appends the samples of the next payload, of any length, to `out`.
    pub fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        let Some(resampler) = &mut self.resampler else {
            return linear(self.coding, &mut self.half, payload, out);
        };
        self.samples.clear();
        linear(self.coding, &mut self.half, payload, &mut self.samples);
        resampler.process(&self.samples, out);
    }
}

/// Appends the payload's samples to `out`, without resampling.
fn linear(coding: Encoding, half: &mut Option<u8>, payload: &[u8], out: &mut Vec<i16>) {
    match coding {
        Encoding::G711(law) => out.extend(payload.iter().map(|&byte| law.decode(byte))),
        Encoding::L16 => {
            let mut bytes = half.take().into_iter().chain(payload.iter().copied());
            while let Some(low) = bytes.next() {
                match bytes.next() {
                    Some(high) => out.push(i16::from_le_bytes([low, high])),
                    None => *half = Some(low),
                }
            }
        }
    }
}

/// Encodes the agent's audio.
pub struct StreamEncoder {
    coding: Encoding,
    resampler: Option<Resampler>,
    /// Samples at the stream's rate.
    samples: Vec<i16>,
}

impl StreamEncoder {
    /// Creates an encoder from the format of the `call` to this format.
    ///
    /// # Errors
    /// When its rate cannot be converted.
    pub fn new(format: StreamFormat, call: AudioFormat) -> Result<Self, UnsupportedSampleRate> {
        let resampler = resampler(call.sample_rate(), format.rate, format.rate)?;
        Ok(Self { coding: format.coding, resampler, samples: Vec::new() })
    }

    /// Appends 20 ms to `out`.
    pub fn encode(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        let samples = match &mut self.resampler {
            None => frame.samples(),
            Some(resampler) => {
                self.samples.clear();
                resampler.process(frame.samples(), &mut self.samples);
                &self.samples
            }
        };
        match self.coding {
            Encoding::G711(law) => out.extend(samples.iter().map(|&sample| law.encode(sample))),
            Encoding::L16 => out.extend(samples.iter().flat_map(|sample| sample.to_le_bytes())),
        }
    }
}

fn resampler(from: u32, to: u32, theirs: u32) -> Result<Option<Resampler>, UnsupportedSampleRate> {
    if from == to {
        return Ok(None);
    }
    Resampler::new(from, to).map(Some).map_err(|_| UnsupportedSampleRate(theirs))
}

#[cfg(test)]
mod tests {
    use switchhook_media::level::rms_dbfs;
    use switchhook_media::tone::sine;

    use super::*;

    /// Returns a second of a tone, encoded in `format` and decoded again.
    fn there_and_back(format: StreamFormat, call: AudioFormat) -> Vec<i16> {
        let (mut encoder, mut decoder) =
            (StreamEncoder::new(format, call).expect("known"), StreamDecoder::new(format, call).expect("known"));
        let tone = sine(440.0, call.sample_rate(), 0.25, call.samples_in_ms(1_000));
        let mut decoded = Vec::new();
        for chunk in tone.chunks_exact(call.frame_samples()) {
            let mut bytes = Vec::new();
            encoder.encode(&Frame::from_slice(call, chunk), &mut bytes);
            // Carriers may split it anywhere.
            let (first, second) = bytes.split_at(bytes.len() / 3);
            decoder.decode(first, &mut decoded);
            decoder.decode(second, &mut decoded);
        }
        decoded
    }

    #[test]
    fn audio_survives_every_format_at_its_level() {
        let loud = rms_dbfs(&sine(440.0, 8_000, 0.25, 8_000));
        let eight = StreamFormat { coding: Encoding::L16, rate: 8_000 };
        for format in [
            StreamFormat::MU_LAW,
            StreamFormat::A_LAW,
            StreamFormat::L16,
            eight,
            StreamFormat { rate: 24_000, ..StreamFormat::L16 },
        ] {
            for call in AudioFormat::ALL {
                let decoded = there_and_back(format, call);
                let middle = &decoded[decoded.len() / 4..decoded.len() * 3 / 4];
                assert!((rms_dbfs(middle) - loud).abs() < 0.5, "{format:?}: {} dBFS", rms_dbfs(middle));
                let length = call.duration(decoded.len() as u64).as_millis();
                assert!((930..=1_000).contains(&length), "{format:?} in {call:?}: {length} ms");
            }
        }
    }

    #[test]
    fn unsupported_sample_rate_is_an_error() {
        assert_eq!(
            StreamDecoder::new(StreamFormat { rate: 7, ..StreamFormat::L16 }, AudioFormat::Narrowband).err(),
            Some(UnsupportedSampleRate(7))
        );
    }
}
