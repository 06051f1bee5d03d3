//! Frames: 20 ms of a call's audio, with types for its side.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::format::AudioFormat;

/// 20 ms of 16-bit audio. Clones share the samples.
///
/// `Debug` shows the level, not the audio.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    format: AudioFormat,
    /// Exactly as many as a frame of the format has.
    samples: Arc<[i16]>,
}

/// Audio of the person at the other end; a separate type from [`AgentAudio`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerAudio(pub Frame);

/// Audio of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAudio(pub Frame);

impl Frame {
    /// Returns a frame of silence.
    #[must_use]
    pub fn silence(format: AudioFormat) -> Self {
        static NARROWBAND: LazyLock<Arc<[i16]>> = LazyLock::new(|| zeros(AudioFormat::Narrowband));
        static WIDEBAND: LazyLock<Arc<[i16]>> = LazyLock::new(|| zeros(AudioFormat::Wideband));
        let samples = match format {
            AudioFormat::Narrowband => &NARROWBAND,
            AudioFormat::Wideband => &WIDEBAND,
        };
        Self { format, samples: Arc::clone(samples) }
    }

    /// Creates a frame from the first samples of `samples`, padded with silence if there are too few.
    #[must_use]
    pub fn from_slice(format: AudioFormat, samples: &[i16]) -> Self {
        let size = format.frame_samples();
        if samples.len() >= size {
            return Self { format, samples: Arc::from(&samples[..size]) };
        }
        Self::from_samples(format, samples.iter().copied())
    }

    /// Creates a frame from the first samples of `samples`, padded with silence if there are too few.
    #[must_use]
    pub fn from_samples(format: AudioFormat, samples: impl IntoIterator<Item = i16>) -> Self {
        let mut samples = samples.into_iter();
        // One allocation: the length of a range is known.
        let samples = (0..format.frame_samples()).map(|_| samples.next().unwrap_or(0)).collect();
        Self { format, samples }
    }

    /// Returns the format.
    #[must_use]
    pub const fn format(&self) -> AudioFormat {
        self.format
    }

    /// Returns the samples.
    #[must_use]
    pub fn samples(&self) -> &[i16] {
        &self.samples
    }

    /// Returns the level; see [`crate::level::rms_dbfs`].
    #[must_use]
    pub fn rms_dbfs(&self) -> f32 {
        crate::level::rms_dbfs(self.samples())
    }
}

fn zeros(format: AudioFormat) -> Arc<[i16]> {
    std::iter::repeat_n(0, format.frame_samples()).collect()
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({:.0} dBFS)", self.rms_dbfs())
    }
}

/// Splits audio of any length into frames.
#[derive(Clone)]
pub struct Framer {
    format: AudioFormat,
    left: Vec<i16>,
}

impl fmt::Debug for Framer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Framer({} samples wait)", self.left.len())
    }
}

impl Framer {
    /// Creates a framer for this format.
    #[must_use]
    pub const fn new(format: AudioFormat) -> Self {
        Self { format, left: Vec::new() }
    }

    /// Adds audio and returns every complete frame.
    pub fn push(&mut self, samples: &[i16]) -> Vec<Frame> {
        self.left.extend_from_slice(samples);
        let size = self.format.frame_samples();
        let whole = self.left.len() / size * size;
        let frames = self.left[..whole].chunks(size).map(|chunk| Frame::from_slice(self.format, chunk)).collect();
        self.left.drain(..whole);
        frames
    }

    /// Returns the rest, padded with silence; `None` if nothing is left.
    pub fn finish(&mut self) -> Option<Frame> {
        let rest = std::mem::take(&mut self.left);
        (!rest.is_empty()).then(|| Frame::from_slice(self.format, &rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_stays_out_of_debug() {
        let frame = Frame::from_slice(AudioFormat::Narrowband, &[16_384; 160]);
        assert_eq!(format!("{:?}", CallerAudio(frame)), "CallerAudio(Frame(-6 dBFS))");
        let mut framer = Framer::new(AudioFormat::Narrowband);
        framer.push(&[16_384; 170]);
        assert_eq!(format!("{framer:?}"), "Framer(10 samples wait)");
    }

    #[test]
    fn a_frame_holds_what_its_format_has() {
        for format in AudioFormat::ALL {
            let size = format.frame_samples();
            let frame = Frame::from_slice(format, &[7; 1_000]);
            assert_eq!((frame.format(), frame.samples()), (format, &[7; 1_000][..size]));
            let short = Frame::from_slice(format, &[7, 7]);
            assert_eq!((short.samples().len(), &short.samples()[..3]), (size, &[7, 7, 0][..]));
            assert_eq!(Frame::silence(format), Frame::from_slice(format, &[]));
        }
        assert_ne!(Frame::silence(AudioFormat::Narrowband), Frame::silence(AudioFormat::Wideband));
    }

    proptest! {
        #[test]
        fn a_framer_neither_loses_nor_invents_samples(
            wide in any::<bool>(),
            pieces in prop::collection::vec(prop::collection::vec(any::<i16>(), 0..500), 0..12),
        ) {
            let format = if wide { AudioFormat::Wideband } else { AudioFormat::Narrowband };
            let mut framer = Framer::new(format);
            let mut frames: Vec<Frame> = pieces.iter().flat_map(|piece| framer.push(piece)).collect();
            frames.extend(framer.finish());
            let out: Vec<i16> = frames.iter().flat_map(|frame| frame.samples().to_vec()).collect();
            let sent: Vec<i16> = pieces.concat();
            prop_assert_eq!(&out[..sent.len()], &sent[..]);
            prop_assert!(out[sent.len()..].iter().all(|sample| *sample == 0) && out.len() - sent.len() < format.frame_samples());
        }
    }
}
