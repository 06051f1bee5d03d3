//! Changing the sample rate, band-limited (rubato's FFT resampler in chunks of 20 ms; it delays by about 10 ms).

use audioadapter_buffers::direct::SequentialSlice;
use rubato::{Fft, FixedSync, Resampler as _};

/// Resamples one stream, in one direction. Make one per direction and call, not per frame: it remembers what came before.
pub struct Resampler {
    from_hz: u32,
    to_hz: u32,
    inner: Option<Fft<f32>>,
    waiting: Vec<f32>,
    chunk_out: Vec<f32>,
    /// Delayed samples at the very beginning that are still to be dropped.
    skip: usize,
    taken: u64,
    given: u64,
}

/// The pair of rates cannot be resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot resample from {from_hz} Hz to {to_hz} Hz")]
pub struct UnsupportedRates {
    from_hz: u32,
    to_hz: u32,
}

impl std::fmt::Debug for Resampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Resampler({} to {} Hz)", self.from_hz, self.to_hz)
    }
}

impl Resampler {
    /// From one rate to another, both in samples per second.
    ///
    /// # Errors
    /// When a rate is not between 1 kHz and 192 kHz.
    pub fn new(from_hz: u32, to_hz: u32) -> Result<Self, UnsupportedRates> {
        let unsupported = || UnsupportedRates { from_hz, to_hz };
        if !(1_000..=192_000).contains(&from_hz) || !(1_000..=192_000).contains(&to_hz) {
            return Err(unsupported());
        }
        let inner = if from_hz == to_hz {
            None
        } else {
            let rate = |hz: u32| usize::try_from(hz).map_err(|_| unsupported());
            let (from, to) = (rate(from_hz)?, rate(to_hz)?);
            Some(
                Fft::new_custom(from, to, from / 50, 1, 1, rubato::WindowFunction::BlackmanHarris2, FixedSync::Both)
                    .map_err(|_| unsupported())?,
            )
        };
        let skip = inner.as_ref().map_or(0, |inner| inner.output_delay());
        let chunk_out = vec![0.0; inner.as_ref().map_or(0, |inner| inner.output_frames_max())];
        Ok(Self { from_hz, to_hz, inner, waiting: Vec::new(), chunk_out, skip, taken: 0, given: 0 })
    }

    /// Takes sound from -1 to 1 of any length and appends what can be given to `out`.
    pub fn process_f32(&mut self, input: &[f32], out: &mut Vec<f32>) {
        self.taken += u64::try_from(input.len()).unwrap_or(0);
        self.waiting.extend_from_slice(input);
        self.drain(out);
    }

    /// As [`Resampler::process_f32`], in 16 bit.
    pub fn process(&mut self, input: &[i16], out: &mut Vec<i16>) {
        let input: Vec<f32> = input.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        let mut floats = Vec::new();
        self.process_f32(&input, &mut floats);
        out.extend(floats.into_iter().map(to_i16));
    }

    /// Appends the rest: as much sound as was put in, at the new rate.
    pub fn flush_f32(&mut self, out: &mut Vec<f32>) {
        let due = self.taken * u64::from(self.to_hz) / u64::from(self.from_hz);
        while self.inner.is_some() && self.given < due {
            let Some(needed) = self.inner.as_ref().map(rubato::Resampler::input_frames_next) else { break };
            self.waiting.resize(self.waiting.len().next_multiple_of(needed).max(needed), 0.0);
            let before = out.len();
            self.drain(out);
            if self.given > due {
                let extra = usize::try_from(self.given - due).unwrap_or(0);
                out.truncate(out.len().saturating_sub(extra).max(before));
                self.given = due;
            }
        }
    }

    /// As [`Resampler::flush_f32`], in 16 bit.
    pub fn flush(&mut self, out: &mut Vec<i16>) {
        let mut floats = Vec::new();
        self.flush_f32(&mut floats);
        out.extend(floats.into_iter().map(to_i16));
    }

    fn drain(&mut self, out: &mut Vec<f32>) {
        let Some(inner) = &mut self.inner else {
            self.given += u64::try_from(self.waiting.len()).unwrap_or(0);
            out.append(&mut self.waiting);
            return;
        };
        let needed = inner.input_frames_next();
        let whole = self.waiting.len() / needed * needed;
        for chunk in self.waiting[..whole].chunks_exact(needed) {
            let room = self.chunk_out.len();
            let input = SequentialSlice::new(chunk, 1, needed).expect("the slice has exactly that many samples");
            let mut output = SequentialSlice::new_mut(&mut self.chunk_out, 1, room)
                .expect("the slice has exactly that many samples");
            let (_, written) = inner
                .process_into_buffer(&input, &mut output, None)
                .expect("both buffers are as large as it asked for");
            let skipped = self.skip.min(written);
            self.skip -= skipped;
            self.given += u64::try_from(written - skipped).unwrap_or(0);
            out.extend_from_slice(&self.chunk_out[skipped..written]);
        }
        self.waiting.drain(..whole);
    }
}

/// A whole recording at another rate.
///
/// # Errors
/// As [`Resampler::new`].
pub fn whole(samples: &[i16], from_hz: u32, to_hz: u32) -> Result<Vec<i16>, UnsupportedRates> {
    let mut resampler = Resampler::new(from_hz, to_hz)?;
    let mut out = Vec::new();
    resampler.process(samples, &mut out);
    resampler.flush(&mut out);
    Ok(out)
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to 16 bits")]
fn to_i16(sample: f32) -> i16 {
    (sample * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::rms_dbfs;
    use crate::tone::sine;
    use proptest::prelude::*;

    fn gain_db(hz: f64, from: u32, to: u32) -> f32 {
        let tone = sine(hz, from, 0.5, usize::try_from(from).expect("small"));
        let out = whole(&tone, from, to).expect("supported");
        let (a, b) = (out.len() / 4, out.len() * 3 / 4);
        rms_dbfs(&out[a..b]) - rms_dbfs(&tone)
    }

    #[test]
    fn the_telephone_band_is_kept_and_nothing_folds_into_it() {
        for (from, to) in [(8_000, 16_000), (16_000, 8_000), (24_000, 8_000), (48_000, 16_000)] {
            assert!(gain_db(3_400.0, from, to).abs() < 0.5, "{from} to {to}: {}", gain_db(3_400.0, from, to));
        }
        assert!(gain_db(4_400.0, 16_000, 8_000) < -60.0, "{}", gain_db(4_400.0, 16_000, 8_000));
        assert!(Resampler::new(0, 8_000).is_err());
    }

    proptest! {
        #[test]
        fn as_much_sound_comes_out_as_went_in(
            count in 0_usize..5_000, piece in 1_usize..700,
            rates in prop::sample::select(vec![(8_000, 16_000), (24_000, 8_000), (16_000, 24_000), (44_100, 8_000), (8_000, 8_000)]),
        ) {
            let mut resampler = Resampler::new(rates.0, rates.1).expect("supported");
            let mut out = Vec::new();
            for part in vec![100_i16; count].chunks(piece) {
                resampler.process(part, &mut out);
            }
            resampler.flush(&mut out);
            prop_assert_eq!(out.len() as u64, count as u64 * u64::from(rates.1) / u64::from(rates.0));
        }
    }
}
