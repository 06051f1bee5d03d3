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
}

/// A connection's settings.
#[derive(Clone)]
pub(crate) struct Tuning {
    pub(crate) encoding: Encoding,
    pub(crate) sample_rate: u32,
    pub(crate) chunk: usize,
    pub(crate) patience: Duration,
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
        let patience = connect.integer("stt_finalize_timeout_ms", 200..=10_000)?.unwrap_or(defaults.patience_ms);
        Ok(Self {
            encoding,
            sample_rate,
            chunk,
            patience: Duration::from_millis(patience.into()),
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

    /// The same as ISO 639-1 for providers that know no regions: `en` for `en-US`.
    pub(crate) fn short_language(&self, options: &SttOptions) -> String {
        let own = self.language.clone();
        own.unwrap_or_else(|| options.language.split('-').next().unwrap_or_default().to_lowercase())
    }
}

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
        assert_eq!(terms(10, 20, 18), ["Harbor Table", "Ava"], "and nothing is cut in the middle");
    }
}
