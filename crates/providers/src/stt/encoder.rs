//! Encodes the caller's audio for a provider.

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::Law;
use switchhook_media::resample::{Resampler, UnsupportedRates};

/// The encoding of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// G.711 µ-law, 8 kHz only.
    Mulaw,
    /// G.711 A-law, 8 kHz only.
    Alaw,
    /// 16-bit little-endian PCM.
    Linear16,
}

impl Encoding {
    /// Returns its name in settings.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mulaw => "mulaw",
            Self::Alaw => "alaw",
            Self::Linear16 => "linear16",
        }
    }
}

/// Encodes frames into messages.
pub(crate) struct Encoder {
    format: AudioFormat,
    encoding: Encoding,
    resampler: Resampler,
    /// Frames per message.
    chunk: usize,
    frames: usize,
    bytes: Vec<u8>,
    samples: Vec<i16>,
}

impl Encoder {
    /// Creates an encoder from the format of a call to messages of `chunk` frames at `sample_rate`.
    pub(crate) fn new(
        format: AudioFormat,
        encoding: Encoding,
        sample_rate: u32,
        chunk: usize,
    ) -> Result<Self, UnsupportedRates> {
        let resampler = Resampler::new(format.sample_rate(), sample_rate)?;
        Ok(Self { format, encoding, resampler, chunk, frames: 0, bytes: Vec::new(), samples: Vec::new() })
    }

    /// Takes 20 ms; returns a message when one is full.
    pub(crate) fn push(&mut self, frame: &Frame) -> Option<Vec<u8>> {
        self.samples.clear();
        self.resampler.process(frame.samples(), &mut self.samples);
        match self.encoding {
            Encoding::Mulaw => self.bytes.extend(self.samples.iter().map(|sample| Law::Mu.encode(*sample))),
            Encoding::Alaw => self.bytes.extend(self.samples.iter().map(|sample| Law::A.encode(*sample))),
            Encoding::Linear16 => self.bytes.extend(self.samples.iter().flat_map(|sample| sample.to_le_bytes())),
        }
        self.frames += 1;
        if self.frames < self.chunk { None } else { self.take() }
    }

    /// Returns the rest of a message, padded with silence if it must be `whole`.
    pub(super) fn flush(&mut self, whole: bool) -> Option<Vec<u8>> {
        if whole && self.frames > 0 {
            return self.silence();
        }
        self.take()
    }

    /// Returns a message that ends in silence, or consists of it.
    pub(super) fn silence(&mut self) -> Option<Vec<u8>> {
        (self.frames..self.chunk).find_map(|_| self.push(&Frame::silence(self.format)))
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.frames = 0;
        let bytes = std::mem::take(&mut self.bytes);
        // Some providers treat an empty message as the end of the stream.
        (!bytes.is_empty()).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loud(format: AudioFormat) -> Frame {
        Frame::from_slice(format, &[8_000; 320])
    }

    #[test]
    fn messages_have_the_agreed_length_and_none_is_empty() {
        let mut encoder = Encoder::new(AudioFormat::Narrowband, Encoding::Mulaw, 8_000, 3).expect("rates");
        let loud = loud(AudioFormat::Narrowband);
        assert_eq!((encoder.push(&loud), encoder.push(&loud)), (None, None));
        assert_eq!(encoder.push(&loud), Some(vec![Law::Mu.encode(8_000); 480]));
        assert_eq!(encoder.flush(false), None);
        encoder.push(&loud);
        assert_eq!(encoder.flush(false).expect("the rest").len(), 160);
        encoder.push(&loud);
        let whole = encoder.flush(true).expect("filled up");
        assert_eq!((whole.len(), whole[0], whole[479]), (480, Law::Mu.encode(8_000), Law::Mu.encode(0)));
        assert_eq!(encoder.silence().expect("silence"), vec![Law::Mu.encode(0); 480]);
    }

    #[test]
    fn other_rates_get_as_much_time_as_was_spoken() {
        for format in AudioFormat::ALL {
            let frame = loud(format);
            let sent = |encoding, rate| -> usize {
                let mut encoder = Encoder::new(format, encoding, rate, 1).expect("rates");
                (0..100).filter_map(|_| encoder.push(&frame)).map(|message| message.len()).sum()
            };
            let (linear, law) = (sent(Encoding::Linear16, 16_000), sent(Encoding::Mulaw, 8_000));
            assert!((62_000..=64_000).contains(&linear), "2 s at 16 kHz from {format:?}: {linear}");
            assert!((15_500..=16_000).contains(&law), "2 s at 8 kHz from {format:?}: {law}");
        }
    }
}
