//! Speech-to-text with Moonshine base-en (MIT, Moonshine AI): an encoder over raw audio and a decoder that writes token by token.
//!
//! Two properties of the model affect the code. With more than about half a second of silence before the first word it recognises nothing at all:
//! give it 100 to 300 ms; an empty result is retried with the start cut off. And it may fall into a loop: the number of tokens is bounded by the
//! length of the audio.

use std::fs;
use std::path::Path;

use rten::{Model, NodeId, Value, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use super::{Job, SpeechError};

/// Samples per second of its input.
pub const SAMPLE_RATE: usize = 16_000;

/// Shorter audio is not a word, and is shorter than the encoder's receptive field.
const MIN_SAMPLES: usize = SAMPLE_RATE / 10;
/// The model was trained on up to 30 s; longer audio is split into pieces.
const MAX_SAMPLES: usize = 28 * SAMPLE_RATE;
/// A long piece may be split within this many samples from its end, at the quietest point.
const CUT_WINDOW: usize = 6 * SAMPLE_RATE;
/// How much is cut off the start if nothing was recognised, in successive attempts.
const RETRY_CUTS: [usize; 2] = [SAMPLE_RATE / 10, SAMPLE_RATE * 4 / 10];
/// Speech is never faster; more tokens mean a loop.
const TOKENS_PER_TWO_SECONDS: usize = 13;

const START: i32 = 1;
const END: i32 = 2;
/// The shape of the decoder's cache, with its heads and head size.
const CACHE_SHAPE: [usize; 4] = [1, 8, 0, 52];

/// The loaded model, shared by all calls; each run needs about 20 MB more.
pub struct Moonshine {
    encoder: Model,
    decoder: Decoder,
    tokens: Vec<Box<[u8]>>,
}

struct Decoder {
    model: Model,
    input_ids: NodeId,
    encoder_hidden_states: NodeId,
    use_cache_branch: NodeId,
    logits: NodeId,
    /// The cache: each entry is an output of one step and an input of the next.
    cache: Vec<CacheEntry>,
}

struct CacheEntry {
    past: NodeId,
    present: NodeId,
    /// Whether these are keys and values of the encoder, which are computed only in the first step.
    fixed: bool,
}

impl Moonshine {
    /// Loads `encoder.onnx`, `decoder.onnx` and `tokenizer.bin` from `dir`.
    ///
    /// # Errors
    /// Fails if a file is missing or damaged.
    pub fn load(dir: &Path) -> Result<Self, SpeechError> {
        let load = |name: &str| {
            let path = dir.join(name);
            let bytes = fs::read(&path).map_err(SpeechError::file(&path))?;
            Model::load(bytes).map_err(SpeechError::damaged(&path))
        };
        let tokenizer = dir.join("tokenizer.bin");
        let bytes = fs::read(&tokenizer).map_err(SpeechError::file(&tokenizer))?;
        Ok(Self {
            encoder: load("encoder.onnx")?,
            decoder: Decoder::new(load("decoder.onnx")?).map_err(SpeechError::damaged(&dir.join("decoder.onnx")))?,
            tokens: read_tokens(&bytes).map_err(SpeechError::damaged(&tokenizer))?,
        })
    }

    /// Returns the text in `audio`: 16 kHz, mono, -1 to 1, with 100 to 300 ms before the first word. Empty if there is none.
    ///
    /// Blocks for about 60 ms per second of audio.
    ///
    /// # Errors
    /// Fails if the model fails or `job` is cancelled.
    pub fn transcribe(&self, audio: &[f32], job: &Job) -> Result<String, SpeechError> {
        let mut words = Vec::new();
        for piece in pieces(audio) {
            words.push(self.transcribe_piece(piece, job)?);
        }
        words.retain(|text| !text.is_empty());
        Ok(words.join(" "))
    }

    fn transcribe_piece(&self, audio: &[f32], job: &Job) -> Result<String, SpeechError> {
        let mut text = self.decode(audio, job)?;
        for cut in RETRY_CUTS {
            if text.is_empty() && audio.len() > cut + MIN_SAMPLES {
                text = self.decode(&audio[cut..], job)?;
            }
        }
        Ok(text)
    }

    fn decode(&self, audio: &[f32], job: &Job) -> Result<String, SpeechError> {
        if audio.len() < MIN_SAMPLES {
            return Ok(String::new());
        }
        const MODEL: &str = "speech to text";
        let input = NdTensor::from_data([1, audio.len()], audio.to_vec());
        let inputs = vec![(self.encoder.input_ids()[0], ValueOrView::from(input))];
        let encoded = self
            .encoder
            .run(inputs, &self.encoder.output_ids()[..1], job.options())
            .map_err(SpeechError::run(MODEL))?
            .remove(0);
        let mut cache: Vec<Value> =
            self.decoder.cache.iter().map(|_| NdTensor::<f32, 4>::zeros(CACHE_SHAPE).into()).collect();
        let mut bytes = Vec::new();
        let mut token = START;
        for step in 0..max_tokens(audio.len()) {
            job.check_cancelled()?;
            token = self.decoder.step(step == 0, token, &encoded, &mut cache, job).map_err(SpeechError::run(MODEL))?;
            if token == END {
                break;
            }
            if token > END {
                let index = usize::try_from(token).unwrap_or(usize::MAX);
                bytes.extend_from_slice(self.tokens.get(index).map_or(&[], |token| token.as_ref()));
            }
        }
        Ok(String::from_utf8_lossy(&bytes).replace('\u{2581}', " ").trim().to_owned())
    }
}

impl Decoder {
    fn new(model: Model) -> Result<Self, String> {
        let node = |name: &str| model.find_node(name).ok_or_else(|| format!("it has no {name}"));
        let names = |ids: &[NodeId]| -> Vec<String> {
            ids.iter().filter_map(|id| model.node_info(*id)?.name().map(str::to_owned)).collect()
        };
        let cache = names(model.input_ids()).into_iter().filter(|name| name.starts_with("past_key_values"));
        let entry = |past: String| {
            Ok(CacheEntry {
                present: node(&past.replace("past_key_values", "present"))?,
                fixed: past.contains(".encoder."),
                past: node(&past)?,
            })
        };
        let cache = cache.map(entry).collect::<Result<_, String>>()?;
        let (input_ids, logits) = (node("input_ids")?, node("logits")?);
        let (encoder_hidden_states, use_cache_branch) = (node("encoder_hidden_states")?, node("use_cache_branch")?);
        Ok(Self { input_ids, encoder_hidden_states, use_cache_branch, logits, cache, model })
    }

    /// Returns the token after `token`, and advances `cache` by one.
    fn step(&self, first: bool, token: i32, encoded: &Value, cache: &mut [Value], job: &Job) -> Result<i32, String> {
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![
            (self.input_ids, NdTensor::from_data([1, 1], vec![token]).into()),
            (self.encoder_hidden_states, encoded.into()),
            (self.use_cache_branch, NdTensor::from_data([1], vec![i32::from(!first)]).into()),
        ];
        inputs.extend(self.cache.iter().zip(&*cache).map(|(entry, value)| (entry.past, ValueOrView::from(value))));
        let changes = |entry: &CacheEntry| first || !entry.fixed;
        let changed = self.cache.iter().filter(|entry| changes(entry)).map(|entry| entry.present);
        let outputs: Vec<NodeId> = std::iter::once(self.logits).chain(changed).collect();
        let mut results = self.model.run(inputs, &outputs, job.options()).map_err(|error| error.to_string())?;
        let fresh = results.split_off(1);
        let places = cache.iter_mut().zip(&self.cache).filter(|(_, entry)| changes(entry));
        for ((place, _), value) in places.zip(fresh) {
            *place = value;
        }
        let logits = results.remove(0).into_tensor::<f32>().ok_or("its answer is not a table of numbers")?;
        let logits = logits.iter().copied().enumerate();
        let best = logits.max_by(|(_, a), (_, b)| a.total_cmp(b)).ok_or("its answer is empty")?.0;
        i32::try_from(best).map_err(|error| error.to_string())
    }
}

/// Returns the maximum number of tokens: six and a half a second, plus two for a short word.
fn max_tokens(samples: usize) -> usize {
    samples * TOKENS_PER_TWO_SECONDS / (2 * SAMPLE_RATE) + 2
}

/// Splits long audio at quiet points into pieces within the model's limit.
fn pieces(mut audio: &[f32]) -> Vec<&[f32]> {
    const BLOCK: usize = SAMPLE_RATE / 20;
    let mut pieces = Vec::new();
    while audio.len() > MAX_SAMPLES {
        let from = MAX_SAMPLES - CUT_WINDOW;
        let energy = |block: &[f32]| block.iter().map(|sample| sample * sample).sum::<f32>();
        let blocks = audio[from..MAX_SAMPLES].chunks_exact(BLOCK).map(energy).enumerate();
        let quietest = blocks.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(index, _)| index);
        let (piece, rest) = audio.split_at(from + quietest * BLOCK + BLOCK / 2);
        pieces.push(piece);
        audio = rest;
    }
    pieces.push(audio);
    pieces
}

/// Parses `tokenizer.bin`: byte strings in the order of their ids, each after its length in one byte, or two from 128 on.
fn read_tokens(mut bytes: &[u8]) -> Result<Vec<Box<[u8]>>, &'static str> {
    let mut tokens = Vec::new();
    while let Some((&low, rest)) = bytes.split_first() {
        let (length, rest) = match (low, rest.split_first()) {
            (0..128, _) => (usize::from(low), rest),
            (_, Some((&high, rest))) => (usize::from(high) * 128 + usize::from(low) - 128, rest),
            (_, None) => return Err("it ends within a length"),
        };
        let (token, rest) = rest.split_at_checked(length).ok_or("it ends within a token")?;
        tokens.push(token.into());
        bytes = rest;
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_with_short_and_long_lengths() {
        let long = [b'x'; 130];
        let bytes = [&[0][..], &[2], b"hi", &[130, 1][..], &long].concat();
        assert!(read_tokens(&bytes).unwrap().iter().map(AsRef::as_ref).eq([&b""[..], b"hi", &long]));
        assert!(read_tokens(&[3, b'a']).is_err());
        assert!(read_tokens(&[200]).is_err());
    }

    #[test]
    fn long_audio_is_cut_where_it_is_quiet_and_nothing_is_lost() {
        let mut audio = vec![0.5; 70 * SAMPLE_RATE];
        audio[24 * SAMPLE_RATE..25 * SAMPLE_RATE].fill(0.0);
        let pieces = pieces(&audio);
        assert!((24 * SAMPLE_RATE..25 * SAMPLE_RATE).contains(&pieces[0].len()));
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_SAMPLES));
        assert_eq!(pieces.concat().len(), audio.len());
    }
}
