//! From a carrier's coding of sound to ours, which is 8 kHz and 16 bit, and back.

use switchhook_media::frame::Frame;
use switchhook_media::g711::Law;
use switchhook_media::resample::Resampler;

/// Samples per second of our sound.
const OURS: u32 = switchhook_media::frame::SAMPLE_RATE;

/// How sound is coded on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// What a sample is.
    pub coding: Coding,
    /// Samples per second.
    pub rate: u32,
}

/// What a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// G.711, one byte.
    G711(Law),
    /// 16 bit, little-endian.
    L16,
}

impl Format {
    /// G.711 µ-law at 8 kHz, what telephones speak.
    pub const MU_LAW: Self = Self { coding: Coding::G711(Law::Mu), rate: OURS };
    /// G.711 A-law at 8 kHz.
    pub const A_LAW: Self = Self { coding: Coding::G711(Law::A), rate: OURS };
    /// 16 bit at 16 kHz.
    pub const L16: Self = Self { coding: Coding::L16, rate: 16_000 };
}

/// The sound has a rate to or from which nothing is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sound of {0} samples per second is not understood")]
pub struct UnknownFormat(pub u32);

/// The caller's sound to ours.
pub struct Decoder {
    coding: Coding,
    resampler: Option<Resampler>,
    /// The first half of a sample whose second half has not come yet.
    half: Option<u8>,
}

impl Decoder {
    /// For sound of this format.
    ///
    /// # Errors
    /// When its rate cannot be converted.
    pub fn new(format: Format) -> Result<Self, UnknownFormat> {
        Ok(Self { coding: format.coding, resampler: resampler(format.rate, OURS)?, half: None })
    }

    /// The next piece, of any length.
    pub fn decode(&mut self, payload: &[u8]) -> Vec<i16> {
        let samples = match self.coding {
            Coding::G711(law) => payload.iter().map(|&byte| law.decode(byte)).collect(),
            Coding::L16 => self.sixteen_bit(payload),
        };
        resampled(&mut self.resampler, samples)
    }

    fn sixteen_bit(&mut self, payload: &[u8]) -> Vec<i16> {
        let mut bytes = self.half.take().into_iter().chain(payload.iter().copied());
        let mut samples = Vec::with_capacity(payload.len() / 2);
        while let Some(low) = bytes.next() {
            match bytes.next() {
                Some(high) => samples.push(i16::from_le_bytes([low, high])),
                None => self.half = Some(low),
            }
        }
        samples
    }
}

/// Our sound to the agent's on the line.
pub struct Encoder {
    coding: Coding,
    resampler: Option<Resampler>,
}

impl Encoder {
    /// For sound of this format.
    ///
    /// # Errors
    /// When its rate cannot be converted.
    pub fn new(format: Format) -> Result<Self, UnknownFormat> {
        Ok(Self { coding: format.coding, resampler: resampler(OURS, format.rate)? })
    }

    /// 20 ms.
    pub fn encode(&mut self, frame: &Frame) -> Vec<u8> {
        match (self.coding, &mut self.resampler) {
            (Coding::G711(law), None) => law.encode_frame(frame).to_vec(),
            (coding, resampler) => {
                let samples = resampled(resampler, frame.samples().to_vec());
                match coding {
                    Coding::G711(law) => samples.into_iter().map(|sample| law.encode(sample)).collect(),
                    Coding::L16 => samples.into_iter().flat_map(i16::to_le_bytes).collect(),
                }
            }
        }
    }
}

fn resampler(from: u32, to: u32) -> Result<Option<Resampler>, UnknownFormat> {
    if from == to {
        return Ok(None);
    }
    let theirs = if from == OURS { to } else { from };
    Resampler::new(from, to).map(Some).map_err(|_| UnknownFormat(theirs))
}

fn resampled(resampler: &mut Option<Resampler>, samples: Vec<i16>) -> Vec<i16> {
    let Some(resampler) = resampler else { return samples };
    let mut out = Vec::with_capacity(samples.len() * 2);
    resampler.process(&samples, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use switchhook_media::level::rms_dbfs;
    use switchhook_media::tone::sine;

    use super::*;

    /// A second of a tone, spoken in `format` and heard again.
    fn there_and_back(format: Format) -> Vec<i16> {
        let (mut encoder, mut decoder) = (Encoder::new(format).expect("known"), Decoder::new(format).expect("known"));
        let tone = sine(440.0, 8_000, 0.25, 8_000);
        let mut heard = Vec::new();
        for chunk in tone.chunks_exact(160) {
            let bytes = encoder.encode(&Frame::from_slice(chunk));
            // Carriers cut it as they like.
            let (first, second) = bytes.split_at(bytes.len() / 3);
            heard.extend(decoder.decode(first));
            heard.extend(decoder.decode(second));
        }
        heard
    }

    #[test]
    fn what_is_spoken_is_heard_as_loud_as_it_was_in_every_format() {
        let loud = rms_dbfs(&sine(440.0, 8_000, 0.25, 8_000));
        let eight = Format { coding: Coding::L16, rate: 8_000 };
        for format in [Format::MU_LAW, Format::A_LAW, Format::L16, eight, Format { rate: 24_000, ..Format::L16 }] {
            let heard = there_and_back(format);
            let middle = &heard[heard.len() / 4..heard.len() * 3 / 4];
            assert!((rms_dbfs(middle) - loud).abs() < 0.5, "{format:?}: {} dBFS", rms_dbfs(middle));
            assert!((7_500..=8_000).contains(&heard.len()), "{format:?}: {} samples", heard.len());
        }
    }

    #[test]
    fn a_rate_that_nobody_uses_is_an_error() {
        assert_eq!(Decoder::new(Format { rate: 7, ..Format::L16 }).err(), Some(UnknownFormat(7)));
    }
}
