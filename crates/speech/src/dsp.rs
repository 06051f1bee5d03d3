//! Converts hibari's spectra to audio: a source-filter model in the short-time Fourier domain.
//!
//! ```text
//! S = exp(harmonic) e^{iπ tanh(turn)} STFT(pulses(f0)) + exp(noise) Z + exp(rest) e^{i angle},    Z complex white noise
//! ```
//!
//! A frame is 300 samples (12.5 ms at 24 kHz) under a Hann window of 1200.

use std::f32::consts::{PI, TAU};
use std::sync::Arc;

use switchhook_fft::{Complex32, Fft};

/// Samples per second.
pub(super) const SAMPLE_RATE: usize = 24_000;
/// Samples per frame.
pub(super) const HOP: usize = 300;
/// Rows of each spectrum.
pub(super) const BINS: usize = WINDOW / 2 + 1;

const WINDOW: usize = 1200;
const OVERLAP: usize = WINDOW / HOP;
/// Pitch below this, in Hz, is unvoiced.
const VOICED_ABOVE: f32 = 40.0;
/// The upper limit of the harmonics, in Hz.
const HARMONICS_BELOW: f32 = 11_000.0;
/// Magnitudes above this, as a natural logarithm, are a fault of the network.
const MAX_LOG_MAGNITUDE: f32 = 7.0;

/// The network's output for a sentence. Each plane has [`BINS`] rows of one value per frame.
pub(super) struct Spectra<'a> {
    pub(super) harmonic: &'a [f32],
    pub(super) turn: &'a [f32],
    pub(super) noise: &'a [f32],
    pub(super) rest: &'a [f32],
    pub(super) angle: &'a [f32],
    /// Pitch per frame, in Hz.
    pub(super) f0: &'a [f32],
}

/// The Fourier transforms, planned once.
pub(super) struct Synthesiser {
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    hann: Vec<f32>,
}

impl Synthesiser {
    pub(super) fn new() -> Self {
        #[expect(clippy::cast_precision_loss, reason = "1200 is small")]
        let hann = (0..WINDOW).map(|i| 0.5 - 0.5 * (TAU * i as f32 / WINDOW as f32).cos()).collect();
        Self { forward: switchhook_fft::forward(WINDOW), inverse: switchhook_fft::inverse(WINDOW), hann }
    }

    /// Returns [`HOP`] samples per frame. The same `seed` gives the same samples. `None` if the sizes of the planes do not match.
    pub(super) fn render(&self, spectra: &Spectra<'_>, seed: u64) -> Option<Vec<f32>> {
        let frames = spectra.f0.len();
        let planes = [spectra.harmonic, spectra.turn, spectra.noise, spectra.rest, spectra.angle];
        if frames < OVERLAP || planes.iter().any(|plane| plane.len() != BINS * frames) {
            return None;
        }
        let source = reflect(&pulses(spectra.f0));
        let mut random = Noise(seed);
        let mut out = vec![0.0; (frames + OVERLAP) * HOP];
        let mut weight = vec![0.0; out.len()];
        let mut buffer = vec![Complex32::default(); WINDOW];
        for frame in 0..frames {
            let at = frame * HOP;
            for (value, (sample, window)) in buffer.iter_mut().zip(source[at..].iter().zip(&self.hann)) {
                *value = Complex32::new(sample * window / (HOP as f32), 0.0);
            }
            self.forward.process(&mut buffer);
            shape(&mut buffer, spectra, frame, &mut random);
            self.inverse.process(&mut buffer);
            for (offset, (value, window)) in buffer.iter().zip(&self.hann).enumerate() {
                out[at + offset] += value.re * window;
                weight[at + offset] += window * window;
            }
        }
        let kept = WINDOW / 2..WINDOW / 2 + frames * HOP;
        let samples = out[kept.clone()].iter().zip(&weight[kept]);
        Some(samples.map(|(sample, weight)| sample / (weight.max(1e-8) * WINDOW as f32)).collect())
    }
}

/// Filters one frame of the source, adds noise and rest, and mirrors it so that the inverse is real.
fn shape(buffer: &mut [Complex32], spectra: &Spectra<'_>, frame: usize, random: &mut Noise) {
    let frames = spectra.f0.len();
    let magnitude = |log: f32| log.min(MAX_LOG_MAGNITUDE).exp();
    for (bin, value) in buffer.iter_mut().enumerate().take(BINS) {
        let i = bin * frames + frame;
        let harmonic = Complex32::from_polar(magnitude(spectra.harmonic[i]), PI * spectra.turn[i].tanh());
        let rest = Complex32::from_polar(magnitude(spectra.rest[i]), spectra.angle[i]);
        *value = *value * harmonic + random.next_complex() * magnitude(spectra.noise[i]) + rest;
    }
    buffer[0].im = 0.0;
    buffer[BINS - 1].im = 0.0;
    for bin in 1..BINS - 1 {
        buffer[WINDOW - bin] = buffer[bin].conj();
    }
}

/// Returns a pulse train that follows `f0`: all harmonics below the limit with the same strength, silent where unvoiced.
///
/// The sum of cosines has a closed form: `sin((n + 1/2) t) / (2 sin(t / 2)) - 1/2`.
fn pulses(f0: &[f32]) -> Vec<f32> {
    let mut turns = 0.0_f64;
    let mut pulse = |sample: usize| {
        let pitch = pitch_at(f0, sample);
        let frequency = pitch.max(VOICED_ABOVE);
        turns = (turns + f64::from(frequency) / SAMPLE_RATE as f64).fract();
        if pitch <= VOICED_ABOVE {
            return 0.0;
        }
        #[expect(clippy::cast_possible_truncation, reason = "audio has single precision")]
        let t = (turns * std::f64::consts::TAU) as f32;
        let order = (HARMONICS_BELOW / frequency).floor() + 0.5;
        let below = 2.0 * (t * 0.5).sin();
        let sum = if below.abs() <= 2e-3 { order } else { (order * t).sin() / below };
        sum - 0.5
    };
    (0..f0.len() * HOP).map(&mut pulse).collect()
}

/// Returns the pitch at a sample, interpolated between the centres of its neighbouring frames.
fn pitch_at(f0: &[f32], sample: usize) -> f32 {
    // In half samples, to use integers: the centre of frame k is at (2k + 1) * HOP.
    let position = 2 * sample + 1 + HOP;
    let right = position / (2 * HOP);
    let share = (position % (2 * HOP)) as f32 / (2 * HOP) as f32;
    let last = f0.len() - 1;
    f0[right.saturating_sub(1).min(last)] * (1.0 - share) + f0[right.min(last)] * share
}

/// Returns `signal` with half a window of its mirror image at both ends.
fn reflect(signal: &[f32]) -> Vec<f32> {
    let half = WINDOW / 2;
    let before = signal[1..=half].iter().rev();
    let after = signal[signal.len() - 1 - half..signal.len() - 1].iter().rev();
    before.chain(signal).chain(after).copied().collect()
}

/// White noise from a counter (SplitMix64), so that a sentence sounds the same every time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a value with variance 1, close enough to a normal distribution for audio: the sum of four uniform ones.
    fn next_normal(&mut self) -> f32 {
        const MEAN: f32 = 2.0 * 65_535.0;
        const DEVIATION: f32 = 37_837.0; // 65536 / sqrt(3)
        let bits = self.next();
        let sum: u32 = (0..4).map(|part| u32::from((bits >> (16 * part)) as u16)).sum();
        (sum as f32 - MEAN) / DEVIATION
    }

    fn next_complex(&mut self) -> Complex32 {
        Complex32::new(self.next_normal(), self.next_normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders spectra that pass the pulses through unchanged and add only noise of this level.
    fn transparent(frames: usize, f0: &[f32], noise_log: f32) -> Vec<f32> {
        let (zero, silent) = (vec![0.0; BINS * frames], vec![-100.0; BINS * frames]);
        let noise = vec![noise_log; BINS * frames];
        let spectra = Spectra { harmonic: &zero, turn: &zero, noise: &noise, rest: &silent, angle: &zero, f0 };
        Synthesiser::new().render(&spectra, 7).unwrap()
    }

    #[test]
    fn a_steady_pitch_comes_out_as_pulses_at_that_pitch() {
        let frames = 80;
        let audio = transparent(frames, &vec![200.0; frames], -100.0);
        assert_eq!(audio.len(), frames * HOP);
        let middle = &audio[frames * HOP / 4..frames * HOP * 3 / 4];
        let loud = middle.iter().fold(0.0_f32, |peak, sample| peak.max(*sample)) / 2.0;
        let onsets = middle.windows(2).filter(|pair| pair[0] < loud && pair[1] >= loud).count();
        let expected = 200 * middle.len() / SAMPLE_RATE;
        assert!(onsets.abs_diff(expected) <= 1, "{onsets} pulses instead of {expected}");
    }

    #[test]
    fn nothing_voiced_and_no_noise_is_silence() {
        let audio = transparent(10, &[20.0; 10], -100.0);
        assert!(audio.iter().all(|sample| sample.abs() < 1e-5));
    }

    #[test]
    fn noise_is_the_same_for_the_same_seed_and_has_unit_variance() {
        assert_eq!(transparent(10, &[0.0; 10], 0.0), transparent(10, &[0.0; 10], 0.0));
        let mut noise = Noise(1);
        let squares: f32 = (0..20_000).map(|_| noise.next_normal().powi(2)).sum();
        assert!((squares / 20_000.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn planes_that_do_not_fit_together_are_refused() {
        let plane = vec![0.0; BINS * 5];
        let spectra =
            Spectra { harmonic: &plane, turn: &plane, noise: &plane, rest: &plane, angle: &plane, f0: &[100.0; 6] };
        assert!(Synthesiser::new().render(&spectra, 1).is_none());
    }
}
