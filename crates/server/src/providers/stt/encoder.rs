//! The caller's audio as a provider wants it.

use switchhook_media::frame::{Frame, SAMPLE_RATE};
use switchhook_media::g711::Law;
use switchhook_media::resample::{Resampler, UnsupportedRates};

/// How samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// G.711 µ-law, 8 kHz only.
    Mulaw,
    /// G.711 A-law, 8 kHz only.
    Alaw,
    /// 16 bit, little-endian.
    Linear16,
}

impl Encoding {
    /// The word in settings.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mulaw => "mulaw",
            Self::Alaw => "alaw",
            Self::Linear16 => "linear16",
        }
    }
}

/// Makes messages of frames.
pub(crate) struct Encoder {
    encoding: Encoding,
    resampler: Resampler,
    /// Frames in a message.
    chunk: usize,
    frames: usize,
    bytes: Vec<u8>,
    samples: Vec<i16>,
}

impl Encoder {
    pub(crate) fn new(encoding: Encoding, sample_rate: u32, chunk: usize) -> Result<Self, UnsupportedRates> {
        let resampler = Resampler::new(SAMPLE_RATE, sample_rate)?;
        Ok(Self { encoding, resampler, chunk, frames: 0, bytes: Vec::new(), samples: Vec::new() })
    }

    /// Takes 20 ms; gives a message when one is full.
    pub(crate) fn push(&mut self, frame: &Frame) -> Option<Vec<u8>> {
        match self.encoding {
            Encoding::Mulaw => self.bytes.extend(Law::Mu.encode_frame(frame)),
            Encoding::Alaw => self.bytes.extend(Law::A.encode_frame(frame)),
            Encoding::Linear16 => {
                self.samples.clear();
                self.resampler.process(frame.samples(), &mut self.samples);
                self.bytes.extend(self.samples.iter().flat_map(|sample| sample.to_le_bytes()));
            }
        }
        self.frames += 1;
        if self.frames < self.chunk { None } else { self.take() }
    }

    /// What is left of a message; filled up with silence if it must be `whole`.
    pub(super) fn flush(&mut self, whole: bool) -> Option<Vec<u8>> {
        if whole && self.frames > 0 {
            return self.silence();
        }
        self.take()
    }

    /// A message that ends in silence, or is all silence.
    pub(super) fn silence(&mut self) -> Option<Vec<u8>> {
        (self.frames..self.chunk).find_map(|_| self.push(&Frame::silence()))
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.frames = 0;
        let bytes = std::mem::take(&mut self.bytes);
        // Some take an empty message for the end of the stream.
        (!bytes.is_empty()).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::frame::FRAME_SAMPLES;

    const LOUD: Frame = Frame::new([8_000; FRAME_SAMPLES]);

    #[test]
    fn messages_have_the_agreed_length_and_none_is_empty() {
        let mut encoder = Encoder::new(Encoding::Mulaw, 8_000, 3).expect("rates");
        assert_eq!((encoder.push(&LOUD), encoder.push(&LOUD)), (None, None));
        assert_eq!(encoder.push(&LOUD), Some(vec![Law::Mu.encode(8_000); 480]));
        assert_eq!(encoder.flush(false), None);
        encoder.push(&LOUD);
        assert_eq!(encoder.flush(false).expect("the rest").len(), 160);
        encoder.push(&LOUD);
        let whole = encoder.flush(true).expect("filled up");
        assert_eq!((whole.len(), whole[0], whole[479]), (480, Law::Mu.encode(8_000), Law::Mu.encode(0)));
        assert_eq!(encoder.silence().expect("silence"), vec![Law::Mu.encode(0); 480]);
    }

    #[test]
    fn other_rates_get_as_much_time_as_was_spoken() {
        let mut encoder = Encoder::new(Encoding::Linear16, 16_000, 1).expect("rates");
        let bytes: usize = (0..100).filter_map(|_| encoder.push(&LOUD)).map(|message| message.len()).sum();
        assert!((62_000..=64_000).contains(&bytes), "2 s at 16 kHz: {bytes}");
    }
}
