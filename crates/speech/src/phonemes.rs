//! Converts spoken text to phonemes in hibari's alphabet.
//!
//! A dictionary and tagger (misaki) cover most words; a small network from hibari reads words that are in no dictionary, mostly names; letters are
//! spelled. Text that cannot be pronounced is dropped, so the voice never gets an unknown symbol.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use misaki_rs::fallback::FallbackError;
use misaki_rs::{Fallback, G2P, Language, MToken};
use rten::{Model, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use serde::Deserialize;

use super::normalise::{Unit, normalise};
use super::{Job, SpeechError};

/// The phonemes of a piece of text, with the written words they belong to.
#[derive(Debug)]
pub(super) struct Phrase {
    /// The written form: one word, or several that are read as one ("7:30 pm").
    pub(super) written: String,
    /// The phonemes, with a space between words and punctuation at the end.
    pub(super) phonemes: String,
}

/// Converts text to phonemes.
pub(super) struct Phonemiser {
    g2p: G2P,
    spelling: Arc<UnknownWords>,
}

impl Phonemiser {
    /// Loads `oov.onnx` and `oov.json` from `dir`; the dictionaries are in the binary.
    pub(super) fn load(dir: &Path) -> Result<Self, SpeechError> {
        let spelling = Arc::new(UnknownWords::load(dir)?);
        let fallback = Box::new(SharedFallback(Arc::clone(&spelling)));
        Ok(Self { g2p: G2P::with_fallback(Language::EnglishUS, Some(fallback)), spelling })
    }

    /// Returns the phonemes of `text`. One phrase per unit of text; units that cannot be pronounced have no phonemes.
    pub(super) fn phrases(&self, text: &str) -> Result<Vec<Phrase>, SpeechError> {
        let units = normalise(text);
        let spoken = units.iter().map(|unit| unit.spoken.as_str()).filter(|spoken| !spoken.is_empty());
        let spoken = spoken.collect::<Vec<_>>().join(" ");
        let (_, tokens) = self.g2p.g2p(&spoken).map_err(SpeechError::run("pronunciation"))?;
        let mut words = words_of(&tokens).into_iter();
        let phrases = units.into_iter().map(|unit| {
            let count = unit.spoken.split_whitespace().count();
            let said = words.by_ref().take(count).map(|word| self.say(word, &unit)).filter(|said| !said.is_empty());
            Phrase { phonemes: said.collect::<Vec<_>>().join(" "), written: unit.written }
        });
        Ok(phrases.collect())
    }

    fn say(&self, tokens: &[MToken], unit: &Unit) -> String {
        tokens.iter().map(|token| self.say_token(token, unit.letters)).collect()
    }

    fn say_token(&self, token: &MToken, letters: bool) -> String {
        let text = token.text.trim_end_matches('.');
        let mut single = text.chars();
        if let (Some(letter), None) = (single.next(), single.next())
            && let Some(name) = letter_name(letter)
            && (letters || !matches!(letter, 'a' | 'A' | 'I'))
        {
            return if text.len() < token.text.len() { format!("{name}.") } else { name.to_owned() };
        }
        if let Some(phonemes) = interjection(text) {
            return phonemes.to_owned();
        }
        match &token.phonemes {
            Some(phonemes) if !phonemes.contains(UNKNOWN) => phonemes.clone(),
            _ if text.chars().any(char::is_alphanumeric) => self.spelling.say(text),
            _ => String::new(),
        }
    }
}

/// Returns the phonemes of interjections that no dictionary has.
fn interjection(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_lowercase().as_str() {
        "mm-hmm" | "mm-hm" | "mhm" | "mmhmm" | "m-hm" => "ˌʌmhˈʌm",
        "uh-huh" => "ʌhˈʌ",
        "hmm" | "hm" => "hˈəm",
        "mm" | "mmm" => "ˈəmː",
        _ => return None,
    })
}

/// The character that misaki writes for unknown text.
const UNKNOWN: char = '❓';

/// Groups the tokens by word: those up to the next space.
fn words_of(tokens: &[MToken]) -> Vec<&[MToken]> {
    let words = tokens.split_inclusive(|token| !token.whitespace.is_empty());
    words.filter(|tokens| tokens.iter().any(|token| !token.text.trim().is_empty())).collect()
}

/// A network that reads words by their letters.
struct UnknownWords {
    model: Model,
    job: Job,
    letters: HashMap<char, i32>,
    phonemes: Vec<char>,
    max_letters: usize,
}

#[derive(Deserialize)]
struct Alphabet {
    #[serde(rename = "in")]
    letters: Vec<char>,
    #[serde(rename = "out")]
    phonemes: Vec<char>,
    #[serde(rename = "maxlen")]
    max_letters: usize,
}

impl UnknownWords {
    fn load(dir: &Path) -> Result<Self, SpeechError> {
        let (model, alphabet) = (dir.join("oov.onnx"), dir.join("oov.json"));
        let bytes = fs::read(&alphabet).map_err(SpeechError::file(&alphabet))?;
        let Alphabet { letters, phonemes, max_letters } =
            serde_json::from_slice(&bytes).map_err(SpeechError::damaged(&alphabet))?;
        let bytes = fs::read(&model).map_err(SpeechError::file(&model))?;
        Ok(Self {
            model: Model::load(bytes).map_err(SpeechError::damaged(&model))?,
            job: Job::single(),
            letters: letters.into_iter().zip(1..).collect(),
            phonemes,
            max_letters: max_letters.max(1),
        })
    }

    /// Returns the phonemes of `word`, or of its letters if the network has no result. May be empty.
    fn say(&self, word: &str) -> String {
        let said = self.read(word).unwrap_or_default();
        if said.is_empty() { spell(word) } else { said }
    }

    fn read(&self, word: &str) -> Option<String> {
        if word.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let ids: Vec<i32> = word.chars().filter_map(|letter| self.letters.get(&letter).copied()).collect();
        ids.chunks(self.max_letters).map(|ids| self.read_piece(ids)).collect()
    }

    fn read_piece(&self, ids: &[i32]) -> Option<String> {
        let input = NdTensor::from_data([1, ids.len()], ids.to_vec());
        let inputs = vec![(self.model.input_ids()[0], ValueOrView::from(input))];
        let output = self.model.run(inputs, &self.model.output_ids()[..1], self.job.options()).ok()?.remove(0);
        // One phoneme per slot: 0 is none, and a repetition continues the previous one.
        let mut before = 0;
        let mut said = String::new();
        for &id in output.into_tensor::<i32>()?.iter() {
            if id != before && id > 0 {
                said.extend(self.phonemes.get(usize::try_from(id - 1).ok()?));
            }
            before = id;
        }
        Some(said)
    }
}

/// Returns the names of the letters and digits of `word`.
fn spell(word: &str) -> String {
    word.chars().filter_map(letter_name).collect::<Vec<_>>().join(" ")
}

fn letter_name(letter: char) -> Option<&'static str> {
    Some(match letter.to_ascii_uppercase() {
        'A' => "ˈA",
        'B' => "bˈi",
        'C' => "sˈi",
        'D' => "dˈi",
        'E' => "ˈi",
        'F' => "ˈɛf",
        'G' => "ʤˈi",
        'H' => "ˈAʧ",
        'I' => "ˈI",
        'J' => "ʤˈA",
        'K' => "kˈA",
        'L' => "ˈɛl",
        'M' => "ˈɛm",
        'N' => "ˈɛn",
        'O' => "ˈO",
        'P' => "pˈi",
        'Q' => "kjˈu",
        'R' => "ˈɑɹ",
        'S' => "ˈɛs",
        'T' => "tˈi",
        'U' => "jˈu",
        'V' => "vˈi",
        'W' => "dˈʌbᵊlju",
        'X' => "ˈɛks",
        'Y' => "wˈI",
        'Z' => "zˈi",
        '0' => "zˈɪɹO",
        '1' => "wˈʌn",
        '2' => "tˈu",
        '3' => "θɹˈi",
        '4' => "fˈɔɹ",
        '5' => "fˈIv",
        '6' => "sˈɪks",
        '7' => "sˈɛvən",
        '8' => "ˈAt",
        '9' => "nˈIn",
        _ => return None,
    })
}

struct SharedFallback(Arc<UnknownWords>);

impl Fallback for SharedFallback {
    fn phonemize(&self, word: &str) -> Result<String, FallbackError> {
        Ok(self.0.say(word))
    }
}
