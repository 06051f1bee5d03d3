//! Sounds without words: hums of assent, coughs, keys, a television in the room.

use std::f32::consts::{PI, TAU};

use switchhook_media::g711::SAMPLE_RATE;

use super::Sound;
use super::line::{self, Random};
use super::voices::Voices;

/// A television across the room, in dB below full scale.
const TELEVISION_DBFS: f32 = -36.0;
const NOISE_DBFS: std::ops::RangeInclusive<f32> = -24.0..=-18.0;

pub(super) fn make(kind: &str, voice: &str, voices: &Voices, random: &mut Random) -> anyhow::Result<Sound> {
    let dbfs = random.between(NOISE_DBFS);
    Ok(match kind {
        "hum" => line::through_line(&hum(voice, random), dbfs),
        "cough" => line::through_line(&cough(random), dbfs),
        "keys" => line::through_line(&keys(random), dbfs - 4.0),
        "television" => television(voice, voices, random)?,
        _ => anyhow::bail!("there is no noise {kind}"),
    })
}

fn seconds(n: usize) -> f32 {
    n as f32 / SAMPLE_RATE as f32
}

fn length(seconds: f32) -> usize {
    (seconds * SAMPLE_RATE as f32) as usize
}

/// "Mm-hmm": two syllables with closed lips, the second higher.
fn hum(voice: &str, random: &mut Random) -> Vec<f32> {
    let base = if voice == "hum-low" { 115.0 } else { 195.0 } * random.between(0.92..=1.08);
    let (first, gap, second) = (random.between(0.14..=0.2), random.between(0.04..=0.07), random.between(0.2..=0.3));
    let total = first + gap + second;
    let mut phase = 0.0_f32;
    (0..length(total))
        .map(|n| {
            let t = seconds(n);
            let (envelope, pitch) = if t < first {
                ((PI * t / first).sin(), base)
            } else if t < first + gap {
                (0.08, base * 1.1)
            } else {
                let share = (t - first - gap) / second;
                ((PI * share).sin(), base * (1.15 + 0.15 * share))
            };
            phase += TAU * pitch / SAMPLE_RATE as f32;
            // A nasal sound: little above the first formant.
            let voiced: f32 = (1..16)
                .map(|k| {
                    let hz = k as f32 * pitch;
                    let formants =
                        (-((hz - 280.0) / 180.0).powi(2)).exp() + 0.15 * (-((hz - 1_100.0) / 300.0).powi(2)).exp();
                    (formants + 0.01) * (k as f32 * phase).sin()
                })
                .sum();
            envelope * (voiced + 0.01 * random.normal())
        })
        .collect()
}

/// One to three bursts of breath through an open throat.
fn cough(random: &mut Random) -> Vec<f32> {
    let bursts = 1 + (random.next() % 3) as usize;
    let mut audio = Vec::new();
    for _ in 0..bursts {
        let (lasts, formant) = (random.between(0.16..=0.26), random.between(700.0..=1_400.0));
        let mut filter = Resonance::new(formant, 500.0);
        audio.extend((0..length(lasts)).map(|n| {
            let t = seconds(n);
            let envelope = (t / 0.008).min(1.0) * (-t / 0.07).exp();
            let noise = random.normal();
            envelope * (filter.next(noise) + 0.2 * noise)
        }));
        let pause = random.between(0.08..=0.18);
        audio.resize(audio.len() + length(pause), 0.0);
    }
    audio
}

/// Returns the sound of typing for a second and a half.
fn keys(random: &mut Random) -> Vec<f32> {
    let mut audio = vec![0.0; length(1.6)];
    let mut at = 0.0;
    while at < 1.5 {
        let (loud, ring) = (random.between(0.4..=1.0), random.between(1_400.0..=2_800.0));
        let start = length(at);
        for n in 0..length(0.02) {
            let t = seconds(n);
            if let Some(sample) = audio.get_mut(start + n) {
                *sample += loud * (-t / 0.004).exp() * (0.6 * random.normal() + (TAU * ring * t).sin());
            }
        }
        at += random.between(0.08..=0.22);
    }
    audio
}

/// Three people who talk at once, far away and with an echo.
fn television(split: &str, voices: &Voices, random: &mut Random) -> anyhow::Result<Sound> {
    const SAID: [&str; 4] = [
        "And now the weather for the rest of the week, with rain in the north and sunshine along the coast.",
        "Police say that nobody was hurt when the bridge was closed early on Sunday morning.",
        "The home team has won the match after a goal in the very last minute of the game.",
        "Join us after the break, when we talk to the author of this remarkable new book.",
    ];
    let speakers =
        if split == "tune" { ["hibari-low", "flite-slt", "espeak-us"] } else { ["hibari", "pico-gb", "flite-rms"] };
    let mut mix = vec![0.0; length(2.5)];
    for speaker in speakers {
        let said = SAID[(random.next() % SAID.len() as u64) as usize];
        let speech = voices.sentence(speaker, said, -20.0)?;
        let from = length(random.between(0.0..=1.5)).min(speech.len() / 3);
        for (delay, loud) in [(0.0, 1.0), (0.031, 0.5), (0.057, 0.35), (0.093, 0.2)] {
            for (sample, sound) in mix.iter_mut().skip(length(delay)).zip(&speech[from..]) {
                *sample += loud * sound;
            }
        }
    }
    let factor = line::gain(TELEVISION_DBFS) / line::rms(&mix).max(1e-6);
    Ok(mix.into_iter().map(|sample| sample * factor).collect())
}

/// A second-order resonance.
struct Resonance {
    feedback: [f32; 2],
    past: [f32; 2],
}

impl Resonance {
    fn new(hz: f32, width: f32) -> Self {
        let radius = (-PI * width / SAMPLE_RATE as f32).exp();
        let turn = TAU * hz / SAMPLE_RATE as f32;
        Self { feedback: [2.0 * radius * turn.cos(), -radius * radius], past: [0.0; 2] }
    }

    fn next(&mut self, input: f32) -> f32 {
        let output = input + self.feedback[0] * self.past[0] + self.feedback[1] * self.past[1];
        self.past = [output, self.past[0]];
        output
    }
}
