//! The speakers: our own TTS voice at several pitches, voices of Debian packages, and recordings of people.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use switchhook_media::g711::SAMPLE_RATE;
use switchhook_media::resample::Resampler;
use switchhook_speech::models::{HIBARI, ModelStore};
use switchhook_speech::{Hibari, Job, hibari};

use super::line::{self, Part, Random, SPEECH_DBFS};

/// Recordings of Debian's asterisk-core-sounds-en-wav: Allison Smith, CC-BY-SA-3.0.
const ALLISON: &str = "/usr/share/asterisk/sounds/en_US_f_Allison";
/// Recordings of Debian's pocketsphinx-testdata: a reader of LibriVox (public domain), speakers of CMU (BSD).
const SPHINX: &str = "/usr/share/pocketsphinx/test/data";
/// Between words that were recorded one by one.
const BETWEEN_WORDS_MS: usize = 60;

/// The source of a voice's audio.
#[derive(Clone, Copy)]
enum Engine {
    /// Our own voice, so much higher, so much faster.
    Hibari {
        pitch: f32,
        pace: f32,
    },
    Flite(&'static str),
    /// Voice and words per minute.
    Espeak(&'static str, &'static str),
    Pico(&'static str),
}

fn engine(voice: &str) -> Option<Engine> {
    Some(match voice {
        "hibari" => Engine::Hibari { pitch: 1.0, pace: 1.05 },
        "hibari-low" => Engine::Hibari { pitch: 0.84, pace: 1.0 },
        "hibari-high" => Engine::Hibari { pitch: 1.12, pace: 1.15 },
        "flite-slt" => Engine::Flite("slt"),
        "flite-rms" => Engine::Flite("rms"),
        "flite-awb" => Engine::Flite("awb"),
        "espeak-us" => Engine::Espeak("en-us", "160"),
        "pico-us" => Engine::Pico("en-US"),
        "pico-gb" => Engine::Pico("en-GB"),
        _ => return None,
    })
}

pub(super) struct Voices {
    hibari: Hibari,
    folder: tempfile::TempDir,
}

impl Voices {
    pub(super) fn load(data_dir: &Path) -> anyhow::Result<Self> {
        let model = ModelStore::new(data_dir).path(HIBARI);
        let model = model.with_context(|| format!("run: switchhook models pull --data-dir {}", data_dir.display()))?;
        Ok(Self { hibari: Hibari::load(&model)?, folder: tempfile::tempdir()? })
    }

    /// A sentence in one go, cut where its parts meet; nothing when the voice makes no break there.
    pub(super) fn say(&self, voice: &str, parts: &[&str], random: &mut Random) -> anyhow::Result<Option<Vec<Part>>> {
        let sentence = self.sentence(voice, &with_breaks(parts), random.between(SPEECH_DBFS))?;
        let Some((first, rest)) = parts.split_first().filter(|(_, rest)| !rest.is_empty()) else {
            return Ok(Some(vec![sentence]));
        };
        let (before, after) = (first.len(), rest.concat().len());
        let place = before as f32 / (before + after) as f32;
        Ok(line::cut(&sentence, place).map(Vec::from))
    }

    pub(super) fn sentence(&self, voice: &str, text: &str, dbfs: f32) -> anyhow::Result<Part> {
        let engine = engine(voice).with_context(|| format!("there is no voice {voice}"))?;
        let (samples, rate) = match engine {
            Engine::Hibari { pitch, pace } => {
                let speech = self.hibari.synthesize(text, pace / pitch, 1, &Job::single())?;
                // Played at another speed, which moves pitch and formants alike: another person.
                (speech.samples, (hibari::SAMPLE_RATE as f32 * pitch).round() as u32)
            }
            Engine::Flite(name) => self.run("flite", &["-voice", name, "-t", text, "-o"])?,
            Engine::Espeak(name, pace) => self.run("espeak-ng", &["-v", name, "-s", pace, text, "-w"])?,
            Engine::Pico(language) => self.run("pico2wave", &["-l", language, text, "-w"])?,
        };
        Ok(line::through_line(&at_line_rate(&samples, rate)?, dbfs))
    }

    /// Recordings one after the other; `|` stands for the pause.
    pub(super) fn play(&self, files: &[String], random: &mut Random) -> anyhow::Result<Vec<Part>> {
        let dbfs = random.between(SPEECH_DBFS);
        let mut parts = vec![Part::new()];
        for file in files {
            if file == "|" {
                parts.push(Part::new());
                continue;
            }
            let (samples, rate) = recording(file)?;
            let words = line::through_line(&at_line_rate(&samples, rate)?, dbfs);
            if let Some(part) = parts.last_mut() {
                if !part.is_empty() {
                    part.resize(part.len() + BETWEEN_WORDS_MS * SAMPLE_RATE as usize / 1_000, 0.0);
                }
                part.extend(line::faded(&words));
            }
        }
        Ok(parts)
    }

    /// Has a program write a WAV file, whose name is its last argument.
    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<(Vec<f32>, u32)> {
        let file = self.folder.path().join("speech.wav");
        // pico2wave wants its options first.
        let (text, options) = match program {
            "pico2wave" => (arguments.get(2..3).unwrap_or_default(), [&arguments[..2], &arguments[3..]].concat()),
            _ => (&[][..], arguments.to_vec()),
        };
        let output = Command::new(program).args(options).arg(&file).args(text).output();
        let output =
            output.with_context(|| format!("{program} cannot be run: bench/turns/README.md says what to install"))?;
        anyhow::ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        read_wav(&file)
    }
}

/// A comma makes a voice pause; the words after it sound like a continuation.
fn with_breaks(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        if text.ends_with(|c: char| c.is_alphanumeric()) {
            text.push(',');
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(part);
    }
    text
}

fn recording(name: &str) -> anyhow::Result<(Vec<f32>, u32)> {
    let file = match name.split_once(':') {
        Some(("sphinx", name)) => PathBuf::from(SPHINX).join(name),
        _ => PathBuf::from(ALLISON).join(format!("{name}.wav")),
    };
    if file.extension().is_some_and(|extension| extension == "raw") {
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        return Ok((samples(&bytes), 16_000));
    }
    read_wav(&file)
}

/// 16-bit mono.
fn read_wav(file: &Path) -> anyhow::Result<(Vec<f32>, u32)> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let word = |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let (mut at, mut rate) = (12, None);
    while let (Some(name), Some(length)) = (bytes.get(at..at + 4), word(at + 4)) {
        let start = at + 8;
        match name {
            b"fmt " => rate = word(start + 4),
            b"data" => {
                let end = start.saturating_add(length as usize).min(bytes.len());
                return Ok((samples(&bytes[start..end]), rate.context("a WAV file says its rate")?));
            }
            _ => {}
        }
        at = start.saturating_add(length as usize).next_multiple_of(2);
    }
    anyhow::bail!("{} has no audio", file.display())
}

fn samples(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(2).map(|two| f32::from(i16::from_le_bytes([two[0], two[1]])) / 32_768.0).collect()
}

fn at_line_rate(samples: &[f32], rate: u32) -> anyhow::Result<Vec<f32>> {
    let mut audio = Vec::new();
    let mut resampler = Resampler::new(rate, SAMPLE_RATE)?;
    resampler.process_f32(samples, &mut audio);
    resampler.flush_f32(&mut audio);
    Ok(audio)
}
