//! smart-turn v3.2 (BSD-2, Daily), as the Python package `pipecat-ai` contains it: the last eight seconds of a turn as Whisper's
//! log-mel spectrum in, the probability that the turn is over out. Only for comparison; nothing of it is shipped.

use std::path::Path;

use anyhow::Context as _;
use rten::{Model, NodeId, ValueOrView};
use rten_tensor::NdTensor;
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use switchhook_media::g711::SAMPLE_RATE;
use switchhook_media::resample::Resampler;

const MODEL_RATE: u32 = 16_000;
const SAMPLES: usize = 8 * MODEL_RATE as usize;
const WINDOW: usize = 400;
const HOP: usize = 160;
const MELS: usize = 80;
const FRAMES: usize = SAMPLES / HOP;
const BINS: usize = WINDOW / 2 + 1;

pub(crate) struct SmartTurn {
    model: Model,
    input: NodeId,
    output: NodeId,
    filters: Vec<[f64; BINS]>,
}

impl SmartTurn {
    pub(crate) fn load(file: &Path) -> anyhow::Result<Self> {
        let model = Model::load_file(file).with_context(|| file.display().to_string())?;
        let input = *model.input_ids().first().context("the model has an input")?;
        let output = *model.output_ids().first().context("the model has an output")?;
        Ok(Self { model, input, output, filters: mel_filters() })
    }

    /// Of a turn so far, 8 kHz.
    pub(crate) fn probability(&self, turn: &[i16]) -> anyhow::Result<f32> {
        let samples: Vec<f32> = turn.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        let mut audio = Vec::new();
        let mut resampler = Resampler::new(SAMPLE_RATE, MODEL_RATE)?;
        resampler.process_f32(&samples, &mut audio);
        resampler.flush_f32(&mut audio);
        // Shorter turns are padded in front.
        let kept = &audio[audio.len().saturating_sub(SAMPLES)..];
        let mut padded = vec![0.0; SAMPLES - kept.len()];
        padded.extend_from_slice(kept);
        let features = NdTensor::from_data([1, MELS, FRAMES], self.features(&padded));
        let inputs = vec![(self.input, ValueOrView::from(features))];
        let outputs = self.model.run(inputs, &[self.output], None)?;
        let probability = outputs.into_iter().next().and_then(|value| value.into_tensor::<f32>());
        let probability = probability.context("the model answers in numbers")?.into_data();
        probability.first().copied().context("the model answers one number")
    }

    /// Whisper's features after bringing the audio to mean 0 and variance 1.
    fn features(&self, audio: &[f32]) -> Vec<f32> {
        let count = audio.len() as f64;
        let mean = audio.iter().map(|sample| f64::from(*sample)).sum::<f64>() / count;
        let variance = audio.iter().map(|sample| (f64::from(*sample) - mean).powi(2)).sum::<f64>() / count;
        let scaled: Vec<f64> =
            audio.iter().map(|sample| (f64::from(*sample) - mean) / (variance + 1e-7).sqrt()).collect();
        let half = WINDOW / 2;
        let front = (1..=half).rev().map(|n| scaled[n]);
        let back = (2..=half + 1).map(|n| scaled[scaled.len() - n]);
        let reflected: Vec<f64> = front.chain(scaled.iter().copied()).chain(back).collect();
        let turn = std::f64::consts::TAU / WINDOW as f64;
        let hann: Vec<f64> = (0..WINDOW).map(|n| 0.5 - 0.5 * (turn * n as f64).cos()).collect();
        let fft = FftPlanner::new().plan_fft_forward(WINDOW);
        let mut planes = vec![0.0_f64; MELS * FRAMES];
        for frame in 0..FRAMES {
            let window = &reflected[frame * HOP..][..WINDOW];
            let mut bins: Vec<Complex<f64>> =
                window.iter().zip(&hann).map(|(sample, weight)| Complex::new(sample * weight, 0.0)).collect();
            fft.process(&mut bins);
            for (mel, filter) in self.filters.iter().enumerate() {
                let energy: f64 = filter.iter().zip(&bins).map(|(weight, bin)| weight * bin.norm_sqr()).sum();
                planes[mel * FRAMES + frame] = energy.max(1e-10).log10();
            }
        }
        let highest = planes.iter().copied().fold(f64::MIN, f64::max);
        planes.into_iter().map(|value| ((value.max(highest - 8.0) + 4.0) / 4.0) as f32).collect()
    }
}

/// Triangles on Slaney's mel scale, each of the same area.
fn mel_filters() -> Vec<[f64; BINS]> {
    const KNEE_HZ: f64 = 1_000.0;
    const KNEE_MEL: f64 = 15.0;
    let step = 6.4_f64.ln() / 27.0;
    let highest = KNEE_MEL + (f64::from(MODEL_RATE) / 2.0 / KNEE_HZ).ln() / step;
    let hz = |mel: f64| if mel < KNEE_MEL { 200.0 * mel / 3.0 } else { KNEE_HZ * (step * (mel - KNEE_MEL)).exp() };
    let edges: Vec<f64> = (0..MELS + 2).map(|n| hz(highest * n as f64 / (MELS + 1) as f64)).collect();
    let triangle = |mel: usize| {
        let mut filter = [0.0; BINS];
        for (bin, weight) in filter.iter_mut().enumerate() {
            let at = bin as f64 * f64::from(MODEL_RATE) / WINDOW as f64;
            let up = (at - edges[mel]) / (edges[mel + 1] - edges[mel]);
            let down = (edges[mel + 2] - at) / (edges[mel + 2] - edges[mel + 1]);
            *weight = up.min(down).max(0.0) * 2.0 / (edges[mel + 2] - edges[mel]);
        }
        filter
    };
    (0..MELS).map(triangle).collect()
}
