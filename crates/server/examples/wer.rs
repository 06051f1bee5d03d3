//! Measures how well callers are understood: the word error rate of the whole way from the line to the words.
//!
//! ```text
//! cargo run --release --example wer -- DATA_DIR [--noise white:15] [--json]
//! ```
//!
//! Each voice of `bench/wer` becomes one stream of µ-law with 1.2 to 2.2 s between utterances; voice activity cuts it, the local
//! STT hears the pieces, and what it heard is compared with what was said. `--noise white:DB` or
//! `pink:DB` mixes noise in at that ratio of speech to noise. `DATA_DIR` holds the models.

#![expect(clippy::print_stdout, reason = "a tool for the command line")]

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::Path;

use std::time::{Duration, Instant};

use serde::Serialize;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::{FRAME_BYTES as FRAME_SAMPLES, SAMPLE_RATE};
use switchhook_media::g711::{ulaw_decode, ulaw_encode};
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use switchhook_providers::local::{LocalSpeech, LocalStt};
use switchhook_providers::{Stt, SttEvent, SttOptions};
use switchhook_speech::models::ModelStore;
use switchhook_speech::wer::WordErrors;
use tokio::sync::mpsc;

/// Room noise between utterances when no other is asked for: -60 dBFS.
const ROOM_DBFS: f32 = -60.0;

struct Utterance {
    said: String,
    /// Where it is in the stream, in samples.
    place: Range<usize>,
}

/// One voice's result.
#[derive(Default, Serialize)]
struct Score {
    voice: String,
    utterances: usize,
    exact: usize,
    /// Utterances for which nothing was heard.
    empty: usize,
    words: usize,
    errors: usize,
    rate: f64,
    audio_seconds: f64,
    /// From the stop that ends a segment to its words, mean, one at a time.
    answer_ms: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data_dir = arguments.first().ok_or("give DATA_DIR, where the models are")?;
    let json = arguments.iter().any(|argument| argument == "--json");
    let noise = arguments.iter().position(|argument| argument == "--noise").and_then(|at| arguments.get(at + 1));
    let noise = noise.map(|noise| parse_noise(noise)).transpose()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/wer");
    let truth = fs::read_to_string(folder.join("truth.tsv"))?;
    let rows: Vec<(&str, &str)> = truth.lines().filter_map(|row| row.split_once('\t')).collect();

    let stt = LocalStt::new(LocalSpeech::new(ModelStore::new(Path::new(data_dir))));
    let mut scores = Vec::new();
    for rows in rows.chunk_by(|a, b| voice(a.0) == voice(b.0)) {
        let (stream, utterances) = stream(&folder, rows, noise)?;
        let (heard, answer_ms) = listen(&stt, &stream).await?;
        let mut score = judge(&utterances, &heard, !json);
        score.voice = voice(rows[0].0).to_owned();
        score.audio_seconds = stream.len() as f64 / f64::from(SAMPLE_RATE);
        score.answer_ms = answer_ms;
        scores.push(score);
    }
    report(&scores, json)
}

fn voice(file: &str) -> &str {
    file.split('/').next().unwrap_or(file)
}

#[derive(Clone, Copy)]
struct Noise {
    pink: bool,
    snr_db: f32,
}

fn parse_noise(text: &str) -> Result<Noise, Box<dyn Error>> {
    let (kind, snr) = text.split_once(':').ok_or("noise is white:DB or pink:DB")?;
    Ok(Noise { pink: kind == "pink", snr_db: snr.parse()? })
}

/// A voice's utterances one after the other, with pauses, and noise all over.
fn stream(
    folder: &Path,
    rows: &[(&str, &str)],
    noise: Option<Noise>,
) -> Result<(Vec<i16>, Vec<Utterance>), Box<dyn Error>> {
    let mut speech: Vec<f32> = vec![0.0; SAMPLE_RATE as usize];
    let mut utterances = Vec::new();
    let mut random = Random(7);
    for (file, said) in rows {
        let start = speech.len();
        let bytes = fs::read(folder.join(file))?;
        speech.extend(bytes.into_iter().map(|byte| f32::from(ulaw_decode(byte)) / 32_768.0));
        utterances.push(Utterance { said: (*said).to_owned(), place: start..speech.len() });
        let pause = (1.2 + (random.uniform() + 1.0) / 2.0) * SAMPLE_RATE as f32;
        speech.resize(speech.len() + pause as usize, 0.0);
    }
    speech.resize(speech.len().next_multiple_of(FRAME_SAMPLES) + SAMPLE_RATE as usize, 0.0);
    let spoken: Vec<f32> = utterances.iter().flat_map(|utterance| speech[utterance.place.clone()].to_vec()).collect();
    let level = rms(&spoken);
    let (pink, target) = match noise {
        Some(noise) => (noise.pink, level * 10_f32.powf(-noise.snr_db / 20.0)),
        None => (false, 10_f32.powf(ROOM_DBFS / 20.0)),
    };
    let sound = if pink {
        pink_noise(speech.len(), &mut random)
    } else {
        (0..speech.len()).map(|_| random.uniform()).collect()
    };
    let gain = target / rms(&sound);
    let line = |(speech, noise): (f32, f32)| {
        ulaw_decode(ulaw_encode(((speech + gain * noise).clamp(-1.0, 1.0) * 32_767.0) as i16))
    };
    Ok((speech.into_iter().zip(sound).map(line).collect(), utterances))
}

/// Text and place of every segment the STT heard, and the mean time of its answers.
async fn listen(stt: &LocalStt, stream: &[i16]) -> Result<(Vec<(Range<usize>, String)>, f64), Box<dyn Error>> {
    let (sender, mut events) = mpsc::channel(64);
    let mut session = stt.open(SttOptions { language: "en-US".to_owned(), ..SttOptions::default() }, sender).await?;
    let mut vad = Vad::new(VadSettings::default());
    let mut heard: Vec<(Range<usize>, String)> = Vec::new();
    let (mut start, mut waited) = (0, Duration::ZERO);
    for (index, frame) in stream.chunks_exact(FRAME_SAMPLES).enumerate() {
        let frame = CallerAudio(Frame::from_slice(AudioFormat::Narrowband, frame));
        session.audio(&frame);
        match vad.push(&frame) {
            Some(VadEvent::SpeechStarted) => {
                start = index * FRAME_SAMPLES;
                session.speech_started();
            }
            Some(VadEvent::SpeechStopped) => {
                let segment = u32::try_from(heard.len())?;
                let stopped = Instant::now();
                session.speech_stopped(segment);
                heard.push((start..index * FRAME_SAMPLES, String::new()));
                while let Some(event) = events.recv().await {
                    match event {
                        SttEvent::Final { segment: number, text } => {
                            heard[number as usize].1 = text;
                            if number == segment {
                                break;
                            }
                        }
                        SttEvent::Failed { message, .. } => return Err(message.into()),
                        SttEvent::Partial { .. } | SttEvent::EndOfTurn => {}
                    }
                }
                waited += stopped.elapsed();
            }
            None => {}
        }
    }
    let answers = heard.len().max(1) as f64;
    Ok((heard, waited.as_secs_f64() * 1000.0 / answers))
}

fn judge(utterances: &[Utterance], heard: &[(Range<usize>, String)], tell: bool) -> Score {
    let middle = |range: &Range<usize>| usize::midpoint(range.start, range.end);
    // A segment belongs to the utterance it is nearest to.
    let nearest = |place: &Range<usize>| {
        let distance = |utterance: &Utterance| middle(&utterance.place).abs_diff(middle(place));
        (0..utterances.len()).min_by_key(|index| distance(&utterances[*index]))
    };
    let mut score = Score { utterances: utterances.len(), ..Score::default() };
    let mut total = WordErrors::default();
    for (index, utterance) in utterances.iter().enumerate() {
        let ours = heard.iter().filter(|(place, _)| nearest(place) == Some(index)).map(|(_, text)| text.as_str());
        let text = ours.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        let errors = WordErrors::between(&utterance.said, &text);
        score.exact += usize::from(errors.errors == 0);
        score.empty += usize::from(text.is_empty());
        if tell && errors.errors > 0 {
            println!("  said:  {}\n  heard: {text}", utterance.said);
        }
        total += errors;
    }
    (score.words, score.errors, score.rate) = (total.words, total.errors, total.rate());
    score
}

fn report(scores: &[Score], json: bool) -> Result<(), Box<dyn Error>> {
    let sum = |count: fn(&Score) -> usize| scores.iter().map(count).sum::<usize>();
    let total = sum(|score| score.errors) as f64 / sum(|score| score.words).max(1) as f64;
    if json {
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({ "voices": scores, "rate": total }))?);
        return Ok(());
    }
    println!("{:8} {:>7} {:>7} {:>7} {:>10}", "voice", "WER", "exact", "empty", "answer");
    for score in scores {
        let exact = format!("{}/{}", score.exact, score.utterances);
        let (rate, answer) = (score.rate * 100.0, score.answer_ms);
        println!("{:8} {rate:6.1}% {exact:>7} {:>7} {answer:7.0} ms", score.voice, score.empty);
    }
    println!(
        "{:8} {:6.1}% {:>4}/{} {:>6}",
        "all",
        total * 100.0,
        sum(|score| score.exact),
        sum(|score| score.utterances),
        sum(|score| score.empty)
    );
    Ok(())
}

fn rms(sound: &[f32]) -> f32 {
    (sound.iter().map(|sample| sample * sample).sum::<f32>() / sound.len().max(1) as f32).sqrt().max(f32::EPSILON)
}

/// The same "random" numbers every time.
struct Random(u32);

impl Random {
    /// Between -1 and 1.
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Pink noise as the sum of noises that change every 1, 2, 4, … samples (Voss).
fn pink_noise(length: usize, random: &mut Random) -> Vec<f32> {
    let mut rows = [0.0_f32; 12];
    let mut sample = |index: usize| {
        let row = (index.trailing_zeros() as usize).min(rows.len() - 1);
        rows[row] = random.uniform();
        rows.iter().sum::<f32>()
    };
    (1..=length).map(&mut sample).collect()
}
