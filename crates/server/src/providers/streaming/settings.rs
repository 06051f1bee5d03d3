//! The settings that every streaming recogniser has. Their names begin with `stt_`, since one connection often speaks as well.

use std::time::Duration;

use switchhook_media::frame::SAMPLE_RATE;

use super::sound::{Encoder, Encoding};
use crate::providers::SttOptions;
use crate::providers::connect::Connect;
use crate::providers::parameters::Parameters;

/// What a provider takes, and how it is used when the settings say nothing.
pub(crate) struct Defaults {
    /// The first is the default.
    pub(crate) encodings: &'static [Encoding],
    /// The length of a message in frames of 20 ms.
    pub(crate) chunk: u32,
    pub(crate) patience_ms: u32,
    /// How long an answer to finalize is awaited when no word is outstanding, of a provider that may have none then.
    pub(crate) without_words_ms: Option<u32>,
}

/// A connection's settings.
#[derive(Clone)]
pub(crate) struct Tuning {
    pub(crate) encoding: Encoding,
    pub(crate) sample_rate: u32,
    pub(crate) chunk: usize,
    pub(crate) patience: Duration,
    /// The provider's own for finalize when no word is outstanding, unless a setting says how long is waited.
    pub(crate) patience_without_words: Option<Duration>,
    /// Whether finalize is always answered.
    pub(crate) answers_all: bool,
    /// Whether the provider is told that the caller stopped; its own default when absent.
    pub(crate) finalize: Option<bool>,
    /// More for the provider.
    pub(crate) parameters: Parameters,
    model: Option<String>,
    language: Option<String>,
}

impl Tuning {
    /// Reads `stt_encoding`, `stt_sample_rate`, `stt_chunk_ms`, `stt_finalize`, `stt_finalize_timeout_ms`, `stt_model`, `stt_language` and
    /// `stt_parameters`.
    ///
    /// # Errors
    /// A sentence that names the setting.
    pub(crate) fn read(connect: &Connect<'_>, defaults: &Defaults) -> Result<Self, String> {
        let choices: Vec<_> = defaults.encodings.iter().map(|encoding| (encoding.word(), *encoding)).collect();
        let encoding = connect.choice("stt_encoding", &choices)?.unwrap_or(defaults.encodings[0]);
        let sample_rate = connect.integer("stt_sample_rate", SAMPLE_RATE..=48_000)?.unwrap_or(SAMPLE_RATE);
        if encoding != Encoding::Linear16 && sample_rate != SAMPLE_RATE {
            return Err(format!("settings.stt_sample_rate must be {SAMPLE_RATE} with {}.", encoding.word()));
        }
        let chunk = connect.integer("stt_chunk_ms", 20..=1_000)?.map_or(defaults.chunk, |ms| ms.div_ceil(20));
        let chunk = usize::try_from(chunk).unwrap_or(1);
        Encoder::new(encoding, sample_rate, chunk).map_err(|error| format!("settings.stt_sample_rate: {error}."))?;
        let patience = connect.integer("stt_finalize_timeout_ms", 200..=10_000)?;
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Ok(Self {
            encoding,
            sample_rate,
            chunk,
            patience: ms(patience.unwrap_or(defaults.patience_ms)),
            patience_without_words: defaults.without_words_ms.filter(|_| patience.is_none()).map(ms),
            answers_all: defaults.without_words_ms.is_none(),
            finalize: connect.flag("stt_finalize")?,
            model: connect.text("stt_model")?.map(str::to_owned),
            language: connect.text("stt_language")?.map(str::to_owned),
            parameters: Parameters::of_recogniser(connect)?,
        })
    }

    /// The agent's model, the connection's, or `default`.
    pub(crate) fn model(&self, options: &SttOptions, default: &str) -> String {
        options.model.as_ref().or(self.model.as_ref()).map_or_else(|| default.to_owned(), Clone::clone)
    }

    /// The connection's language as it stands there, or the agent's.
    pub(crate) fn language(&self, options: &SttOptions) -> String {
        self.language.clone().unwrap_or_else(|| options.language.clone())
    }

    /// The connection's language as it stands there.
    pub(crate) fn own_language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// The same as ISO 639-1 for providers that know no regions: `en` for `en-US`.
    pub(crate) fn short_language(&self, options: &SttOptions) -> String {
        let own = self.language.clone();
        own.unwrap_or_else(|| options.language.split('-').next().unwrap_or_default().to_lowercase())
    }
}

/// As many of the terms that are left out are named.
const NAMED: usize = 5;

/// As many words to expect as a provider takes.
pub(crate) struct Terms {
    pub(crate) most: usize,
    /// Characters of one; longer ones are left out.
    pub(crate) longest: usize,
    /// Characters of all.
    pub(crate) together: usize,
}

impl Terms {
    /// The first of the agent's that fit: one too many would have the whole stream refused.
    pub(crate) fn of<'a>(&self, options: &'a SttOptions) -> Vec<&'a str> {
        let mut left = self.together;
        let fits = |term: &&str| {
            let length = term.chars().count();
            let fits = length <= self.longest && length <= left;
            left -= if fits { length } else { 0 };
            fits
        };
        options.keyterms.iter().map(String::as_str).filter(fits).take(self.most).collect()
    }

    /// What is to be said of those that do not fit.
    pub(crate) fn left_out(&self, options: &SttOptions) -> Option<String> {
        let taken = self.of(options);
        let left: Vec<&str> =
            options.keyterms.iter().map(String::as_str).filter(|term| !taken.contains(term)).collect();
        let named: Vec<String> = left.iter().take(NAMED).map(|term| format!("{term:?}")).collect();
        let more = left.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let Self { most, longest, together } = self;
        (!left.is_empty()).then(|| {
            let limits = format!("at most {most} keyterms, each of {longest} characters, together of {together}");
            format!("takes {limits}: {}{more} are left out", named.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_terms_are_sent_as_fit() {
        let keyterms =
            ["Harbor Table", "a very long term indeed", "Ava", "Sarah", "Miller"].map(str::to_owned).to_vec();
        let options = SttOptions { keyterms, ..SttOptions::default() };
        let terms = |most, longest, together| Terms { most, longest, together }.of(&options);
        assert_eq!(terms(10, 20, 1_000), ["Harbor Table", "Ava", "Sarah", "Miller"]);
        assert_eq!(terms(2, 20, 1_000), ["Harbor Table", "Ava"]);
        let left_out = |most, longest| Terms { most, longest, together: 1_000 }.left_out(&options);
        let words = "takes at most 9 keyterms, each of 20 characters, together of 1000: \"a very long term indeed\" are left out";
        assert_eq!((left_out(9, 20).as_deref(), left_out(9, 30)), (Some(words), None));
        assert!(left_out(0, 1).is_some_and(|words| words.ends_with("\"Miller\" are left out")));
        assert_eq!(terms(10, 20, 18), ["Harbor Table", "Ava"], "and nothing is cut in the middle");
    }
}
