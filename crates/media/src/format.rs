//! The format of a call's audio: 16 bit, mono, at one of two rates.

use std::time::Duration;

/// The duration of a frame.
pub const FRAME_DURATION: Duration = Duration::from_millis(20);

/// The format of a call's audio inside the service. Carriers and providers convert from and to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AudioFormat {
    /// 8 kHz: telephones.
    #[default]
    Narrowband,
    /// 16 kHz: browsers, and carriers that offer it.
    Wideband,
}

impl AudioFormat {
    /// Every format.
    pub const ALL: [Self; 2] = [Self::Narrowband, Self::Wideband];

    /// Returns the format with this sample rate; `None` if calls do not use it.
    #[must_use]
    pub fn of_rate(sample_rate: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.sample_rate() == sample_rate)
    }

    /// Returns the samples per second.
    #[must_use]
    pub const fn sample_rate(self) -> u32 {
        match self {
            Self::Narrowband => 8_000,
            Self::Wideband => 16_000,
        }
    }

    /// Returns the samples per frame.
    #[must_use]
    pub const fn frame_samples(self) -> usize {
        self.samples_in_ms(FRAME_DURATION.as_millis() as usize)
    }

    /// Returns the samples in this many milliseconds.
    #[must_use]
    pub const fn samples_in_ms(self, ms: usize) -> usize {
        ms * (self.sample_rate() as usize / 1_000)
    }

    /// Returns the duration of this many samples.
    #[must_use]
    pub fn duration(self, samples: u64) -> Duration {
        Duration::from_nanos(samples.saturating_mul(1_000_000_000 / u64::from(self.sample_rate())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_20_ms_at_either_rate() {
        for (format, samples) in [(AudioFormat::Narrowband, 160), (AudioFormat::Wideband, 320)] {
            assert_eq!(format.frame_samples(), samples);
            assert_eq!(format.duration(format.frame_samples() as u64), FRAME_DURATION);
            assert_eq!(AudioFormat::of_rate(format.sample_rate()), Some(format));
        }
        assert_eq!(AudioFormat::of_rate(24_000), None);
    }
}
