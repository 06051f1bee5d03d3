//! Text to speech with hibari (Apache-2.0, distilled from Kokoro-82M): text, phonemes, spectra, audio.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rten::{Model, NodeId, ValueOrView};
use rten_tensor::NdTensor;

use super::dsp::{BINS, HOP, Spectra, Synthesiser};
use super::phonemes::{Phonemiser, Phrase};
use super::{Job, SpeechError};

/// Samples per second of its output.
pub const SAMPLE_RATE: usize = super::dsp::SAMPLE_RATE;

/// The model's longest input; longer text is synthesized in pieces.
const MAX_PHONEMES: usize = 400;
/// The names of its inputs and outputs.
const INPUTS: [&str; 2] = ["ids", "speed"];
const OUTPUTS: [&str; 6] = ["lh", "theta", "ln", "lr", "phi", "f0"];
/// The padding at both ends of its input.
const PAD: i32 = 0;

/// The loaded model, shared by all calls.
pub struct Hibari {
    model: Model,
    inputs: [NodeId; 2],
    outputs: [NodeId; 6],
    ids: HashMap<char, i32>,
    phonemiser: Phonemiser,
    synthesiser: Synthesiser,
}

/// Synthesized speech.
pub struct Speech {
    /// 24 kHz, mono, -1 to 1.
    pub samples: Vec<f32>,
    /// The time of each word. The model does not report them: they are estimated from the phonemes of each word, with pauses at punctuation, and are
    /// accurate to about 100 ms.
    pub words: Vec<TimedWord>,
}

/// A word as written, with its time from the start of the speech.
#[derive(Clone, PartialEq, Eq)]
pub struct TimedWord {
    /// As written, including punctuation; several words if they are read as one ("7:30 pm").
    pub text: String,
    /// Start, in milliseconds.
    pub start_ms: u32,
    /// End, in milliseconds.
    pub end_ms: u32,
}

impl Hibari {
    /// Loads the model from `dir`: `hibari.onnx`, `vocab.json`, `oov.onnx`, `oov.json`.
    ///
    /// # Errors
    /// Fails if a file is missing or damaged.
    pub fn load(dir: &Path) -> Result<Self, SpeechError> {
        let (path, vocabulary) = (dir.join("hibari.onnx"), dir.join("vocab.json"));
        let ids = fs::read(&vocabulary).map_err(SpeechError::file(&vocabulary))?;
        let ids = serde_json::from_slice(&ids).map_err(SpeechError::damaged(&vocabulary))?;
        let model =
            Model::load(fs::read(&path).map_err(SpeechError::file(&path))?).map_err(SpeechError::damaged(&path))?;
        let node = |name: &str| model.node_id(name).map_err(SpeechError::damaged(&path));
        let inputs = [node(INPUTS[0])?, node(INPUTS[1])?];
        let mut outputs = [inputs[0]; 6];
        for (place, name) in outputs.iter_mut().zip(OUTPUTS) {
            *place = node(name)?;
        }
        let (phonemiser, synthesiser) = (Phonemiser::load(dir)?, Synthesiser::new());
        Ok(Self { model, inputs, outputs, ids, phonemiser, synthesiser })
    }

    /// Synthesizes `text` at `speed` (1 is the voice's own; 0.5 to 2). The same text, speed and `seed` give the same samples.
    ///
    /// Blocks for about 15 ms per second of speech.
    ///
    /// # Errors
    /// Fails if the model fails or `job` is cancelled.
    pub fn synthesize(&self, text: &str, speed: f32, seed: u64, job: &Job) -> Result<Speech, SpeechError> {
        let mut speech = Speech { samples: Vec::new(), words: Vec::new() };
        for (number, piece) in pieces(self.phonemiser.phrases(text)?).into_iter().enumerate() {
            job.check_cancelled()?;
            let start = speech.samples.len();
            let phonemes: Vec<&str> = piece.iter().map(|phrase| phrase.phonemes.as_str()).collect();
            let audio = self.say(&phonemes.join(" "), speed, seed.wrapping_add(number as u64), job)?;
            speech.words.extend(word_times(&piece, start, audio.len()));
            speech.samples.extend(audio);
        }
        Ok(speech)
    }

    fn say(&self, phonemes: &str, speed: f32, seed: u64, job: &Job) -> Result<Vec<f32>, SpeechError> {
        const MODEL: &str = "text to speech";
        let known = phonemes.chars().filter_map(|phoneme| self.ids.get(&phoneme).copied());
        let ids: Vec<i32> = std::iter::once(PAD).chain(known).chain([PAD]).collect();
        if ids.len() == 2 {
            return Ok(Vec::new());
        }
        let speed = if speed.is_finite() { speed.clamp(0.5, 2.0) } else { 1.0 };
        let inputs = vec![
            (self.inputs[0], ValueOrView::from(NdTensor::from_data([1, ids.len()], ids))),
            (self.inputs[1], ValueOrView::from(NdTensor::from_data([1], vec![speed]))),
        ];
        let outputs = self.model.run(inputs, &self.outputs, job.options()).map_err(SpeechError::run(MODEL))?;
        let planes = outputs.into_iter().map(|plane| Some(plane.into_tensor::<f32>()?.into_data()));
        let planes: Option<Vec<Vec<f32>>> = planes.collect();
        let rendered = planes.and_then(|planes| {
            let [harmonic, turn, noise, rest, angle, f0] = planes.as_slice() else { return None };
            self.synthesiser.render(&Spectra { harmonic, turn, noise, rest, angle, f0 }, seed)
        });
        rendered.ok_or_else(|| SpeechError::run(MODEL)(format!("its planes are not {BINS} rows of frames of {HOP}")))
    }
}

/// Groups phrases into inputs for the model: as many as fit, split at punctuation if there is any in the second half.
fn pieces(phrases: Vec<Phrase>) -> Vec<Vec<Phrase>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Phrase> = Vec::new();
    let mut length = 0;
    for phrase in phrases.into_iter().flat_map(split_phrase) {
        let added = phrase.phonemes.chars().count() + 1;
        if length + added > MAX_PHONEMES {
            let pause =
                piece.iter().rposition(|phrase| phrase.phonemes.ends_with([',', '.', '!', '?', ';', ':', '…', '—']));
            let rest = match pause {
                Some(index) if index >= piece.len() / 2 => piece.split_off(index + 1),
                _ => Vec::new(),
            };
            pieces.push(std::mem::replace(&mut piece, rest));
            length = piece.iter().map(|phrase| phrase.phonemes.chars().count() + 1).sum();
        }
        length += added;
        piece.push(phrase);
    }
    pieces.push(piece);
    pieces.retain(|piece| piece.iter().any(|phrase| !phrase.phonemes.is_empty()));
    pieces
}

/// Splits a phrase beyond the limit (a word of hundreds of letters). The written word stays with its first part.
fn split_phrase(phrase: Phrase) -> Vec<Phrase> {
    const PART: usize = MAX_PHONEMES / 2;
    if phrase.phonemes.chars().count() <= PART {
        return vec![phrase];
    }
    let phonemes: Vec<char> = phrase.phonemes.chars().collect();
    let part = |(index, part): (usize, &[char])| Phrase {
        written: if index == 0 { phrase.written.clone() } else { String::new() },
        phonemes: part.iter().collect(),
    };
    phonemes.chunks(PART).enumerate().map(part).collect()
}

/// Distributes `len` samples from `start` among the words by their phonemes.
fn word_times(phrases: &[Phrase], start: usize, len: usize) -> Vec<TimedWord> {
    /// Silence before the first and after the last phoneme, in the same unit.
    const EDGE: f32 = 3.0;
    let weight = |phoneme: char| match phoneme {
        'ˈ' | 'ˌ' | 'ː' => 0.0,
        ' ' => 0.3,
        ',' | ';' | ':' | '—' => 3.0,
        '.' | '!' | '?' | '…' => 4.0,
        'A' | 'I' | 'O' | 'W' | 'Y' => 1.8,
        'i' | 'u' | 'ɑ' | 'ɔ' | 'æ' | 'ɜ' => 1.4,
        _ => 1.0,
    };
    let weight_of = |text: &str| text.chars().map(weight).sum::<f32>();
    let punctuation = |c: char| weight(c) >= 3.0;
    let total: f32 = phrases.iter().map(|phrase| weight_of(&phrase.phonemes) + 0.3).sum::<f32>() + 2.0 * EDGE;
    let at = |weight: f32| {
        let sample = start as f32 + weight / total * len as f32;
        (sample * 1000.0 / SAMPLE_RATE as f32) as u32
    };
    let mut passed = EDGE;
    let mut words = Vec::new();
    for phrase in phrases {
        let said = weight_of(phrase.phonemes.trim_end_matches(punctuation));
        if !phrase.written.is_empty() && said > 0.0 {
            let (start_ms, end_ms) = (at(passed), at(passed + said));
            words.push(TimedWord { text: phrase.written.clone(), start_ms, end_ms });
        }
        passed += weight_of(&phrase.phonemes) + 0.3;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(written: &str, phonemes: &str) -> Phrase {
        Phrase { written: written.to_owned(), phonemes: phonemes.to_owned() }
    }

    #[test]
    fn long_text_is_cut_at_its_last_pause_into_pieces_the_model_can_take() {
        let mut phrases: Vec<Phrase> = (0..100).map(|_| phrase("word", "wˈɜɹd")).collect();
        phrases[50].phonemes.push(',');
        phrases.push(phrase("long", &"ɑ".repeat(900)));
        let pieces = pieces(phrases);
        let lengths: Vec<usize> =
            pieces.iter().map(|piece| piece.iter().map(|phrase| phrase.phonemes.chars().count() + 1).sum()).collect();
        assert!(lengths.iter().all(|length| *length <= MAX_PHONEMES), "{lengths:?}");
        assert_eq!(pieces[0].len(), 51, "up to the comma");
        assert_eq!(pieces.iter().flatten().filter(|phrase| !phrase.written.is_empty()).count(), 101);
    }

    #[test]
    fn words_get_times_in_order_within_the_audio_with_room_for_pauses() {
        let words = word_times(&[phrase("Hello,", "həlˈO,"), phrase("you!", "ju!")], 24_000, 24_000);
        let times: Vec<u32> = words.iter().flat_map(|word| [word.start_ms, word.end_ms]).collect();
        assert!(times.is_sorted() && times[0] > 1000 && times[3] < 2000, "{times:?}");
        assert!(times[2] - times[1] > 100, "a comma is a pause: {times:?}");
    }
}
