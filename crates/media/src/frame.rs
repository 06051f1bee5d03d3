//! Frames: 20 ms of telephone sound, and whose it is.

use std::fmt;
use std::time::Duration;

/// Samples per second on every call.
pub const SAMPLE_RATE: u32 = 8_000;
/// Samples of a frame.
pub const FRAME_SAMPLES: usize = 160;
/// How long a frame is.
pub const FRAME_DURATION: Duration = Duration::from_millis(20);

/// 20 ms of sound: 160 samples of 16 bit.
///
/// `Debug` tells how loud it is and nothing of what is said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame([i16; FRAME_SAMPLES]);

/// Sound of the person at the other end. Not to be mixed up with [`AgentAudio`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerAudio(pub Frame);

/// Sound of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentAudio(pub Frame);

impl Frame {
    /// A frame of these samples.
    #[must_use]
    pub const fn new(samples: [i16; FRAME_SAMPLES]) -> Self {
        Self(samples)
    }

    /// A frame without sound.
    #[must_use]
    pub const fn silence() -> Self {
        Self([0; FRAME_SAMPLES])
    }

    /// The first samples of `samples`, padded with silence when there are too few.
    #[must_use]
    pub fn from_slice(samples: &[i16]) -> Self {
        let mut frame = Self::silence();
        for (slot, sample) in frame.0.iter_mut().zip(samples) {
            *slot = *sample;
        }
        frame
    }

    /// The samples.
    #[must_use]
    pub const fn samples(&self) -> &[i16; FRAME_SAMPLES] {
        &self.0
    }

    /// The samples, to be changed in place.
    pub const fn samples_mut(&mut self) -> &mut [i16; FRAME_SAMPLES] {
        &mut self.0
    }

    /// How loud it is; see [`crate::level::rms_dbfs`].
    #[must_use]
    pub fn rms_dbfs(&self) -> f32 {
        crate::level::rms_dbfs(&self.0)
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({:.0} dBFS)", self.rms_dbfs())
    }
}

/// Cuts sound of any length into frames.
#[derive(Clone, Default)]
pub struct Framer {
    left: Vec<i16>,
}

impl fmt::Debug for Framer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Framer({} samples wait)", self.left.len())
    }
}

impl Framer {
    /// Takes more sound and gives every frame that is whole.
    pub fn push(&mut self, samples: &[i16]) -> Vec<Frame> {
        self.left.extend_from_slice(samples);
        let whole = self.left.len() / FRAME_SAMPLES * FRAME_SAMPLES;
        let frames = self.left[..whole].chunks(FRAME_SAMPLES).map(Frame::from_slice).collect();
        self.left.drain(..whole);
        frames
    }

    /// The rest, padded with silence; `None` when nothing is left.
    pub fn finish(&mut self) -> Option<Frame> {
        let rest = std::mem::take(&mut self.left);
        (!rest.is_empty()).then(|| Frame::from_slice(&rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_stays_out_of_debug() {
        let mut frame = Frame::silence();
        frame.samples_mut().fill(16_384);
        assert_eq!(format!("{:?}", CallerAudio(frame)), "CallerAudio(Frame(-6 dBFS))");
        let mut framer = Framer::default();
        framer.push(&[16_384; 170]);
        assert_eq!(format!("{framer:?}"), "Framer(10 samples wait)");
    }

    proptest! {
        #[test]
        fn a_framer_neither_loses_nor_invents_samples(pieces in prop::collection::vec(prop::collection::vec(any::<i16>(), 0..500), 0..12)) {
            let mut framer = Framer::default();
            let mut frames: Vec<Frame> = pieces.iter().flat_map(|piece| framer.push(piece)).collect();
            frames.extend(framer.finish());
            let out: Vec<i16> = frames.iter().flat_map(|frame| *frame.samples()).collect();
            let sent: Vec<i16> = pieces.concat();
            prop_assert_eq!(&out[..sent.len()], &sent[..]);
            prop_assert!(out[sent.len()..].iter().all(|sample| *sample == 0) && out.len() - sent.len() < FRAME_SAMPLES);
        }
    }
}
