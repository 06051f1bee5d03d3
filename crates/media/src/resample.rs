//! Sample rate conversion, band-limited: rubato's FFT resampler in chunks of 20 ms.
//!
//! The audio keeps its timing: the filter's delay of 10 ms is removed at the beginning, and [`Resampler::flush`] returns the last 10 ms. In a live
//! stream the newest 10 to 30 ms are therefore still buffered.

use switchhook_fft::audioadapter_buffers::direct::SequentialSlice;

/// Resamples one stream in one direction. Create one per direction and call, not per frame: it keeps state.
pub struct Resampler {
    from_hz: u32,
    to_hz: u32,
    /// `None` if both rates are the same.
    filter: Option<FirFilter>,
    waiting: Vec<f32>,
    taken: u64,
    given: u64,
}

struct FirFilter {
    fft: Box<dyn switchhook_fft::Resampler<f32> + Send + Sync>,
    chunk_in: usize,
    chunk_out: Vec<f32>,
    /// Delayed samples to drop at the beginning.
    skip: usize,
}

/// The pair of rates cannot be resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot resample from {from_hz} Hz to {to_hz} Hz: use rates from 8000 to 192000 Hz that share a divisor of 10 or more, \
     such as 8000, 16000, 24000, 44100 and 48000"
)]
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
    /// Creates a resampler from one rate to another, both in samples per second.
    ///
    /// # Errors
    /// Fails if a rate is not between 8 and 192 kHz, or if the greatest common divisor of the two is so small that a chunk would be longer than 100
    /// ms. Every pair of 8000, 16000, 24000, 44100 and 48000 is supported.
    pub fn new(from_hz: u32, to_hz: u32) -> Result<Self, UnsupportedRates> {
        let usable = |hz| (8_000..=192_000).contains(&hz);
        if !usable(from_hz) || !usable(to_hz) || common_divisor(from_hz, to_hz) < 10 {
            return Err(UnsupportedRates { from_hz, to_hz });
        }
        let filter = if from_hz == to_hz { None } else { Some(FirFilter::new(from_hz, to_hz)?) };
        Ok(Self { from_hz, to_hz, filter, waiting: Vec::new(), taken: 0, given: 0 })
    }

    /// Takes 16-bit audio of any length and appends the available output to `out`.
    pub fn process(&mut self, input: &[i16], out: &mut Vec<i16>) {
        if self.filter.is_none() {
            out.extend_from_slice(input);
            return;
        }
        self.taken += length(input);
        self.waiting.extend(input.iter().map(|sample| f32::from(*sample) / 32_768.0));
        self.convert(|audio| out.extend(audio.iter().map(|sample| to_i16(*sample))));
    }

    /// Like [`Resampler::process`], with samples from -1 to 1.
    pub fn process_f32(&mut self, input: &[f32], out: &mut Vec<f32>) {
        self.taken += length(input);
        self.waiting.extend_from_slice(input);
        self.convert(|audio| out.extend_from_slice(audio));
    }

    /// Appends the rest, so that the output has as much audio as the input (rounded down to whole samples), and resets the resampler for a new
    /// stream.
    pub fn flush(&mut self, out: &mut Vec<i16>) {
        self.finish(|audio| out.extend(audio.iter().map(|sample| to_i16(*sample))));
    }

    /// Like [`Resampler::flush`], with samples from -1 to 1.
    pub fn flush_f32(&mut self, out: &mut Vec<f32>) {
        self.finish(|audio| out.extend_from_slice(audio));
    }

    /// Converts every complete chunk.
    fn convert(&mut self, mut give: impl FnMut(&[f32])) {
        let Some(filter) = &mut self.filter else {
            self.given += length(&self.waiting);
            give(&self.waiting);
            self.waiting.clear();
            return;
        };
        let whole = self.waiting.len() / filter.chunk_in * filter.chunk_in;
        for chunk in self.waiting[..whole].chunks_exact(filter.chunk_in) {
            let audio = filter.convert(chunk);
            self.given += length(audio);
            give(audio);
        }
        self.waiting.drain(..whole);
    }

    fn finish(&mut self, mut give: impl FnMut(&[f32])) {
        let due = self.taken * u64::from(self.to_hz) / u64::from(self.from_hz);
        while let Some(filter) = &self.filter
            && self.given < due
        {
            let missing = usize::try_from(due - self.given).unwrap_or(usize::MAX);
            // Less than a chunk is buffered between calls.
            self.waiting.resize(filter.chunk_in, 0.0);
            self.convert(|audio| give(&audio[..audio.len().min(missing)]));
        }
        if let Some(filter) = &mut self.filter {
            filter.forget();
        }
        self.waiting.clear();
        (self.taken, self.given) = (0, 0);
    }
}

impl FirFilter {
    fn new(from_hz: u32, to_hz: u32) -> Result<Self, UnsupportedRates> {
        let unsupported = || UnsupportedRates { from_hz, to_hz };
        let rate = |hz: u32| usize::try_from(hz).map_err(|_| unsupported());
        let (from, to) = (rate(from_hz)?, rate(to_hz)?);
        let fft = switchhook_fft::resampler(from, to, from / 50).map_err(|_| unsupported())?;
        let (chunk_in, chunk_out, skip) = (fft.input_frames_next(), fft.output_frames_max(), fft.output_delay());
        Ok(Self { fft, chunk_in, chunk_out: vec![0.0; chunk_out], skip })
    }

    fn convert(&mut self, chunk: &[f32]) -> &[f32] {
        let room = self.chunk_out.len();
        let input = SequentialSlice::new(chunk, 1, self.chunk_in).expect("chunks are cut to this length");
        let mut output = SequentialSlice::new_mut(&mut self.chunk_out, 1, room).expect("this is its own length");
        let (_, written) = self
            .fft
            .process_into_buffer(&input, &mut output, None)
            .expect("both buffers are as large as the resampler asked for");
        let skipped = self.skip.min(written);
        self.skip -= skipped;
        &self.chunk_out[skipped..written]
    }

    fn forget(&mut self) {
        self.fft.reset();
        self.skip = self.fft.output_delay();
    }
}

/// Resamples a whole recording.
///
/// # Errors
/// See [`Resampler::new`].
pub fn whole(samples: &[i16], from_hz: u32, to_hz: u32) -> Result<Vec<i16>, UnsupportedRates> {
    let mut resampler = Resampler::new(from_hz, to_hz)?;
    let mut out = Vec::new();
    resampler.process(samples, &mut out);
    resampler.flush(&mut out);
    Ok(out)
}

fn length<T>(audio: &[T]) -> u64 {
    u64::try_from(audio.len()).unwrap_or(u64::MAX)
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
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

    const RATES: [u32; 5] = [8_000, 16_000, 24_000, 44_100, 48_000];

    /// Returns the level of the middle half of the output, away from the ends of the tone, relative to that of the input tone.
    fn gain_db(hz: f64, from: u32, to: u32) -> f32 {
        let tone = sine(hz, from, 0.5, usize::try_from(from).expect("small"));
        let out = whole(&tone, from, to).expect("supported");
        rms_dbfs(&out[out.len() / 4..out.len() * 3 / 4]) - rms_dbfs(&tone)
    }

    #[test]
    fn the_telephone_band_is_kept_between_all_rates_and_nothing_folds_into_it() {
        for (from, to) in RATES.into_iter().flat_map(|from| RATES.map(|to| (from, to))) {
            let gain = gain_db(3_400.0, from, to);
            assert!(gain.abs() < 0.5, "3.4 kHz from {from} to {to}: {gain} dB");
            if from > to && to == 8_000 {
                let alias = gain_db(4_400.0, from, to);
                assert!(alias < -60.0, "4.4 kHz from {from} to {to}: {alias} dB");
            }
        }
    }

    #[test]
    fn rates_without_much_in_common_are_refused_with_advice() {
        for (from, to) in [(0, 8_000), (8_000, 0), (8_000, 400_000), (8_000, 44_101)] {
            let refused = Resampler::new(from, to).expect_err("unsupported");
            assert!(refused.to_string().contains("16000"), "{refused}");
        }
    }

    #[test]
    fn audio_keeps_its_place_in_time_and_streams_do_not_touch() {
        let mut resampler = Resampler::new(8_000, 16_000).expect("supported");
        for round in 0..2 {
            let mut click = vec![0; 2_000];
            click[1_000] = 20_000;
            let mut out = Vec::new();
            resampler.process(&click, &mut out);
            resampler.flush(&mut out);
            let loudest = (0..out.len()).max_by_key(|at| out[*at].unsigned_abs());
            assert_eq!((out.len(), loudest), (4_000, Some(2_000)), "stream {round}");
            resampler.process(&vec![30_000; 777], &mut Vec::new());
            resampler.flush(&mut Vec::new());
        }
    }

    proptest! {
        #[test]
        fn as_much_audio_comes_out_as_went_in(
            count in 0_usize..5_000, piece in 1_usize..700,
            from in prop::sample::select(RATES.to_vec()), to in prop::sample::select(RATES.to_vec()),
        ) {
            let mut resampler = Resampler::new(from, to).expect("supported");
            let mut out = Vec::new();
            for part in vec![100_i16; count].chunks(piece) {
                resampler.process(part, &mut out);
            }
            resampler.flush(&mut out);
            prop_assert_eq!(out.len() as u64, count as u64 * u64::from(to) / u64::from(from));
        }
    }
}
