//! Records the simulated caller: the voice of hibari, made another person's, through a telephone.
//!
//! ```text
//! cargo run --release --example record_caller -- DATA_DIR crates/caller-audio/assets
//! cargo run --release --example record_caller -- DATA_DIR bench/wer
//! ```
//!
//! `DATA_DIR` holds the models (`switchhook models pull --data-dir DATA_DIR`). The folder says what to record: `lines.json` with
//! `[{"id", "file", "text"}]`, or `truth.tsv` with `file<TAB>text`, of which the files in `caller/` are recorded.
//! The results are raw 8 kHz µ-law, whole frames of 160 bytes, the same bytes every time.
//!
//! The voice: synthesised faster and played slower, which lowers pitch and formants alike; so it sounds like a larger
//! person than the agent, who speaks with hibari's own voice.

#![expect(clippy::print_stdout, reason = "a tool for the command line")]

use std::error::Error;
use std::f32::consts::PI;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use switchhook_media::g711::{FRAME_BYTES, SAMPLE_RATE, ulaw_encode};
use switchhook_media::resample::Resampler;
use switchhook_speech::models::{HIBARI, ModelStore};
use switchhook_speech::{Hibari, Job, hibari};

/// How much lower the caller's voice is than the agent's.
const LOWER: f32 = 0.84;
/// How fast the caller speaks.
const PACE: f32 = 1.0;
/// Peak of the recordings: -6 dBFS.
const PEAK: f32 = 0.5;
/// Room noise: -60 dBFS, for 120 ms before and after the words.
const ROOM: f32 = 0.001;
const EDGE: usize = SAMPLE_RATE as usize * 12 / 100;
/// What a telephone line lets through, in Hz.
const BAND: (f32, f32) = (300.0, 3400.0);

#[derive(Deserialize)]
struct Line {
    file: String,
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let [data_dir, folder] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "give DATA_DIR and a folder")?;
    let model =
        ModelStore::new(Path::new(&data_dir)).path(HIBARI).ok_or("the models are not in DATA_DIR; pull them first")?;
    let voice = Hibari::load(&model)?;
    let job = Job::single();
    for (number, line) in lines(Path::new(&folder))?.into_iter().enumerate() {
        let speech = voice.synthesize(&line.text, PACE / LOWER, number as u64, &job)?;
        let played_slower = (hibari::SAMPLE_RATE as f32 * LOWER) as u32;
        let mut audio = Vec::new();
        let mut resampler = Resampler::new(played_slower, SAMPLE_RATE)?;
        resampler.process_f32(&speech.samples, &mut audio);
        resampler.flush_f32(&mut audio);
        let bytes = telephone(&audio, number as u32);
        println!("{:5.2} s  {}", bytes.len() as f32 / SAMPLE_RATE as f32, line.file);
        fs::write(Path::new(&folder).join(line.file), bytes)?;
    }
    Ok(())
}

fn lines(folder: &Path) -> Result<Vec<Line>, Box<dyn Error>> {
    let json = folder.join("lines.json");
    if json.exists() {
        return Ok(serde_json::from_slice(&fs::read(json)?)?);
    }
    let table = fs::read_to_string(folder.join("truth.tsv"))?;
    let line = |(file, text): (&str, &str)| Line { file: file.to_owned(), text: text.to_owned() };
    let ours = table.lines().filter_map(|row| row.split_once('\t')).filter(|(file, _)| file.starts_with("caller/"));
    Ok(ours.map(line).collect())
}

/// Trims, filters and levels the words, puts a little room around them, and encodes whole frames.
fn telephone(audio: &[f32], seed: u32) -> Vec<u8> {
    let filtered = band_pass(audio);
    let peak = filtered.iter().fold(f32::EPSILON, |peak, sample| peak.max(sample.abs()));
    let audible = |sample: &f32| sample.abs() > peak * 0.02;
    let from = filtered.iter().position(audible).unwrap_or(0);
    let to = filtered.iter().rposition(audible).map_or(filtered.len(), |last| last + 1);
    let length = (to - from + 2 * EDGE).next_multiple_of(FRAME_BYTES);
    let mut room = Room(seed.wrapping_mul(2_654_435_769).max(1));
    let words = std::iter::repeat_n(0.0, EDGE).chain(filtered[from..to].iter().map(|sample| sample * PEAK / peak));
    let samples = words.chain(std::iter::repeat(0.0)).take(length);
    samples.map(|sample| ulaw_encode(((sample + room.next()) * 32_767.0) as i16)).collect()
}

/// A windowed-sinc filter for the telephone's band.
fn band_pass(audio: &[f32]) -> Vec<f32> {
    const HALF: i32 = 150;
    let low_pass = |cutoff: f32, n: i32| {
        let omega = 2.0 * PI * cutoff / SAMPLE_RATE as f32;
        if n == 0 { omega / PI } else { (omega * n as f32).sin() / (PI * n as f32) }
    };
    let window = |n: i32| 0.5 + 0.5 * (PI * n as f32 / (HALF + 1) as f32).cos();
    let taps: Vec<f32> = (-HALF..=HALF).map(|n| (low_pass(BAND.1, n) - low_pass(BAND.0, n)) * window(n)).collect();
    let padding = vec![0.0; HALF as usize];
    let padded = [&padding, audio, &padding].concat();
    padded.windows(taps.len()).map(|window| window.iter().zip(&taps).map(|(sample, tap)| sample * tap).sum()).collect()
}

/// Room noise: a linear congruential generator, smoothed.
struct Room(u32);

impl Room {
    fn next(&mut self) -> f32 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (uniform() + uniform() + uniform()) * ROOM
    }
}
