//! Fits the weights of the evidence for the end of a turn.
//!
//! Every silence that voice activity detection reports in a turn of the corpus is one example: what the local STT makes of the speech
//! before it, and whether the turn was over. The fit is a logistic regression with a normal prior for each weight: the means below
//! come from the literature on turn-taking and from conversation itself, and where the corpus has few examples of something they stay.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context as _;
use indicatif::ProgressBar;
use switchhook_core::conversation::cascade::{Evidence, Found, Spoken, evidence, probability};
use switchhook_core::language::Language;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::FRAME_BYTES;
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use switchhook_providers::local::transcribe_call;
use switchhook_speech::models::{MOONSHINE, ModelStore};
use switchhook_speech::{Job, Moonshine};

use super::baseline;
use super::corpus::{Clip, Corpus, Split};

const BEFORE_MS: usize = 1_000;
const AFTER_MS: usize = 1_600;
const FRAME_MS: usize = 20;
/// As the segments of the local STT: audio before the start is noticed, and a pause within a segment.
const PRE_ROLL_MS: usize = 300;
const PAUSE_MS: usize = 680;

const BIAS: f64 = 0.7;
/// The standard deviation of a weight from its mean.
const SPREAD: f64 = 0.6;
const STEPS: usize = 5_000;
const RATE: f64 = 0.01;

/// Returns the value of each weight without examples.
fn mean(kind: Evidence) -> f64 {
    match kind {
        Evidence::OpenWord => -2.5,
        Evidence::DictationBegun | Evidence::Suspension => -2.0,
        Evidence::SubordinateClause => -1.5,
        Evidence::DictationPartial => -1.2,
        Evidence::LooseWord | Evidence::MissingObject => -1.0,
        Evidence::DoubtfulQuestion => -0.8,
        Evidence::ShortPhrase | Evidence::MissingNumber => -0.6,
        Evidence::NoWords => -0.5,
        Evidence::UnknownLanguage => -0.45,
        Evidence::NotFinal | Evidence::LongPauses => -0.4,
        Evidence::Request => 0.2,
        Evidence::ClosedSentence => 0.4,
        Evidence::ShortAnswer => 0.5,
        Evidence::Question => 0.8,
        Evidence::Answer => 1.2,
        Evidence::DictationComplete => 2.0,
    }
}

/// A silence in a turn.
struct Example {
    split: Split,
    found: Found,
    over: bool,
}

/// Writes the weights to `file`, and prints what they rest on.
pub(crate) fn fit(corpus: &Corpus, data_dir: &Path, file: &Path) -> anyhow::Result<()> {
    let examples = examples(corpus, data_dir)?;
    let tune: Vec<&Example> = examples.iter().filter(|example| example.split == Split::Tune).collect();
    let (bias, weights) = regress(&tune);
    println!("| evidence | tune | over | mean | weight |\n|---|---|---|---|---|");
    for (kind, weight) in Evidence::ALL.into_iter().zip(&weights) {
        let with: Vec<_> =
            tune.iter().filter(|example| example.found.iter().any(|(found, _)| *found == kind)).collect();
        let over = with.iter().filter(|example| example.over).count();
        println!("| {} | {} | {over} | {:.2} | {weight:.2} |", kind.name(), with.len(), mean(kind));
    }
    for split in [Split::Tune, Split::Test] {
        let of: Vec<&Example> = examples.iter().filter(|example| example.split == split).collect();
        let new = |found: &Found| logit(bias, &weights, found);
        let old = |found: &Found| f64::from(probability(found));
        println!(
            "\n{split:?}: {} silences; area under the curve {:.3}, with the weights in use {:.3}",
            of.len(),
            area(&of, new),
            area(&of, old)
        );
    }
    std::fs::write(file, source(bias, &weights)).with_context(|| file.display().to_string())
}

fn examples(corpus: &Corpus, data_dir: &Path) -> anyhow::Result<Vec<Example>> {
    let path = ModelStore::new(data_dir).path(MOONSHINE).context("run `switchhook models pull` first")?;
    let model = Moonshine::load(&path)?;
    let clips: Vec<&Clip> = baseline::turns(corpus).collect();
    let bar = ProgressBar::new(clips.len() as u64);
    let next = Mutex::new(clips.into_iter());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let work = || -> anyhow::Result<Vec<Example>> {
        let mut found = Vec::new();
        loop {
            let Some(clip) = next.lock().expect("no thread panics with it").next() else { return Ok(found) };
            found.extend(of_clip(clip, &corpus.room, &model)?);
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().expect("a thread that fails returns an error")?);
        }
        Ok(all)
    })
}

fn of_clip(clip: &Clip, room: &[u8], model: &Moonshine) -> anyhow::Result<Vec<Example>> {
    let samples = clip.samples(room, BEFORE_MS, AFTER_MS);
    let end = clip.item.parts.last().context("an item has parts")?.end_ms as usize + BEFORE_MS;
    let (mut vad, job) = (Vad::new(VadSettings::default()), Job::single());
    let (mut all, mut start, mut stopped) = (Vec::new(), 0, None);
    for (number, frame) in samples.chunks_exact(FRAME_BYTES).enumerate() {
        let now = (number + 1) * FRAME_MS;
        match vad.push(&CallerAudio(Frame::from_slice(AudioFormat::Narrowband, frame))) {
            Some(VadEvent::SpeechStarted) if stopped.is_none_or(|stopped| now - stopped > PAUSE_MS) => {
                start = now.saturating_sub(PRE_ROLL_MS);
            }
            Some(VadEvent::SpeechStopped) => {
                stopped = Some(now);
                let text = transcribe_call(model, AudioFormat::Narrowband, &samples[start * 8..now * 8], &job)?;
                let text = text.trim_end_matches(',');
                let language = Language::of("en");
                let spoken = Spoken { language, text, is_final: true, asked: &clip.item.asked, pauses_ms: None };
                all.push(Example { split: clip.item.split, found: evidence(spoken), over: now >= end });
            }
            _ => {}
        }
    }
    Ok(all)
}

fn logit(bias: f64, weights: &[f64], found: &Found) -> f64 {
    bias + found.iter().map(|(kind, value)| weights[*kind as usize] * f64::from(*value)).sum::<f64>()
}

/// The most probable weights, by gradient ascent.
fn regress(examples: &[&Example]) -> (f64, Vec<f64>) {
    let means: Vec<f64> = Evidence::ALL.into_iter().map(mean).collect();
    let (mut bias, mut weights) = (BIAS, means.clone());
    for _ in 0..STEPS {
        let mut gradient: Vec<f64> =
            weights.iter().zip(&means).map(|(weight, mean)| (mean - weight) / (SPREAD * SPREAD)).collect();
        let mut of_bias = (BIAS - bias) / (SPREAD * SPREAD);
        for example in examples {
            let error =
                f64::from(u8::from(example.over)) - 1.0 / (1.0 + (-logit(bias, &weights, &example.found)).exp());
            of_bias += error;
            for (kind, value) in &example.found {
                gradient[*kind as usize] += error * f64::from(*value);
            }
        }
        bias += RATE * of_bias;
        for (weight, gradient) in weights.iter_mut().zip(&gradient) {
            *weight += RATE * gradient;
        }
    }
    (bias, weights)
}

/// Returns how often an end has a higher score than a pause.
fn area(examples: &[&Example], score: impl Fn(&Found) -> f64) -> f64 {
    let scores = |over: bool| -> Vec<f64> {
        examples.iter().filter(|example| example.over == over).map(|example| score(&example.found)).collect()
    };
    let (ends, pauses) = (scores(true), scores(false));
    let wins: f64 = ends
        .iter()
        .flat_map(|end| {
            pauses.iter().map(move |pause| {
                f64::from(u8::from(end > pause)) + 0.5 * f64::from(u8::from((end - pause).abs() < 1e-9))
            })
        })
        .sum();
    wins / (ends.len() * pauses.len()) as f64
}

/// The text of `weights.rs`, as the formatter wants it.
fn source(bias: f64, weights: &[f64]) -> String {
    let mut text = format!(
        "//! Weights of the evidence for the end of a turn. Made by `bench-turns --fit`; do not edit.\n\n\
         /// The log odds of an end without any evidence.\n\
         pub(super) const BIAS: f32 = {bias:.2};\n\n\
         /// What each kind of evidence adds to the log odds, in the order of `Evidence::ALL`.\n\
         pub(super) const WEIGHTS: [f32; {}] = [\n",
        weights.len()
    );
    for (kind, weight) in Evidence::ALL.into_iter().zip(weights) {
        let value = format!("{weight:.2},");
        let _ = writeln!(text, "    {value:6} // {}", kind.name());
    }
    text.push_str("];\n");
    text
}
