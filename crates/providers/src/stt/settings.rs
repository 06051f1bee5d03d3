//! Settings of all streaming STT providers. Names begin with `stt_`: the same connection is often used for TTS.

use std::time::Duration;

use switchhook_media::format::AudioFormat;
use switchhook_media::g711::SAMPLE_RATE;

use super::encoder::{Encoder, Encoding};
use crate::SttOptions;
use crate::adapter_config::AdapterConfig;
use crate::parameters::Parameters;

/// A provider's capabilities, and the defaults of its settings.
pub(crate) struct SttDefaults {
    /// The supported encodings; the first is the default.
    pub(crate) encodings: &'static [Encoding],
    /// The length of a message, in frames of 20 ms.
    pub(crate) chunk: u32,
    pub(crate) finalize_timeout_ms: u32,
    /// How long to wait for a response to finalize when no word is outstanding, for providers that may not send one then.
    pub(crate) finalize_timeout_without_words_ms: Option<u32>,
}

/// The settings that [`SttSettings::read`] reads.
pub(crate) const STT_SETTINGS: &[&str] = &[
    "stt_encoding",
    "stt_sample_rate",
    "stt_chunk_ms",
    "stt_finalize",
    "stt_finalize_timeout_ms",
    "stt_model",
    "stt_language",
    "stt_parameters",
];

/// A connection's settings.
#[derive(Clone)]
pub(crate) struct SttSettings {
    pub(crate) encoding: Encoding,
    pub(crate) sample_rate: u32,
    pub(crate) chunk: usize,
    pub(crate) finalize_timeout: Duration,
    /// The provider's timeout for a finalize when no word is outstanding, unless a setting overrides the timeout.
    pub(crate) finalize_timeout_without_words: Option<Duration>,
    /// Whether finalize always gets a response.
    pub(crate) always_confirms_finalize: bool,
    /// Whether our VAD finalizes segments; the provider's default when absent.
    pub(crate) finalize: Option<bool>,
    /// Additional parameters for the provider.
    pub(crate) parameters: Parameters,
    model: Option<String>,
    language: Option<String>,
}

impl SttSettings {
    /// Reads [`STT_SETTINGS`].
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub(crate) fn read(config: &AdapterConfig<'_>, defaults: &SttDefaults) -> Result<Self, String> {
        let choices: Vec<_> = defaults.encodings.iter().map(|encoding| (encoding.word(), *encoding)).collect();
        let encoding = config.choice("stt_encoding", &choices)?.unwrap_or(defaults.encodings[0]);
        let sample_rate = config.integer("stt_sample_rate", SAMPLE_RATE..=48_000)?.unwrap_or(SAMPLE_RATE);
        if encoding != Encoding::Linear16 && sample_rate != SAMPLE_RATE {
            return Err(format!("settings.stt_sample_rate must be {SAMPLE_RATE} with {}.", encoding.word()));
        }
        let chunk = config.integer("stt_chunk_ms", 20..=1_000)?.map_or(defaults.chunk, |ms| ms.div_ceil(20));
        let chunk = usize::try_from(chunk).unwrap_or(1);
        Encoder::new(AudioFormat::default(), encoding, sample_rate, chunk)
            .map_err(|error| format!("settings.stt_sample_rate: {error}."))?;
        let finalize_timeout = config.integer("stt_finalize_timeout_ms", 200..=10_000)?;
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Ok(Self {
            encoding,
            sample_rate,
            chunk,
            finalize_timeout: ms(finalize_timeout.unwrap_or(defaults.finalize_timeout_ms)),
            finalize_timeout_without_words: defaults
                .finalize_timeout_without_words_ms
                .filter(|_| finalize_timeout.is_none())
                .map(ms),
            always_confirms_finalize: defaults.finalize_timeout_without_words_ms.is_none(),
            finalize: config.flag("stt_finalize")?,
            model: config.text("stt_model")?.map(str::to_owned),
            language: config.text("stt_language")?.map(str::to_owned),
            parameters: Parameters::of_recogniser(config)?,
        })
    }

    /// Returns the agent's model, the connection's, or `default`.
    pub(crate) fn model(&self, options: &SttOptions, default: &str) -> String {
        options.model.as_ref().or(self.model.as_ref()).map_or_else(|| default.to_owned(), Clone::clone)
    }

    /// Returns the connection's language unchanged, or the agent's.
    pub(crate) fn language(&self, options: &SttOptions) -> String {
        self.language.clone().unwrap_or_else(|| options.language.clone())
    }

    /// Returns the connection's language unchanged.
    pub(crate) fn own_language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// Returns the language as ISO 639-1, for providers without regions: `en` for `en-US`.
    pub(crate) fn short_language(&self, options: &SttOptions) -> String {
        let own = self.language.clone();
        own.unwrap_or_else(|| options.language.split('-').next().unwrap_or_default().to_lowercase())
    }
}

/// The most omitted terms listed by name.
const NAMED: usize = 5;

/// A provider's limits for expected words.
pub(crate) struct KeytermLimits {
    pub(crate) max_count: usize,
    /// Characters of one term; longer ones are left out.
    pub(crate) max_chars: usize,
    /// Characters of all terms.
    pub(crate) max_total_chars: usize,
}

impl KeytermLimits {
    /// Returns the agent's first terms that fit: one too many would make the provider refuse the whole stream.
    pub(crate) fn of<'a>(&self, options: &'a SttOptions) -> Vec<&'a str> {
        let mut left = self.max_total_chars;
        let fits = |term: &&str| {
            let length = term.chars().count();
            let fits = length <= self.max_chars && length <= left;
            left -= if fits { length } else { 0 };
            fits
        };
        options.keyterms.iter().map(String::as_str).filter(fits).take(self.max_count).collect()
    }

    /// Describes the terms that do not fit.
    pub(crate) fn omitted_keyterms(&self, options: &SttOptions) -> Option<String> {
        let taken = self.of(options);
        let left: Vec<&str> =
            options.keyterms.iter().map(String::as_str).filter(|term| !taken.contains(term)).collect();
        let named: Vec<String> = left.iter().take(NAMED).map(|term| format!("{term:?}")).collect();
        let more = left.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let Self { max_count, max_chars, max_total_chars } = self;
        (!left.is_empty()).then(|| {
            let limits =
                format!("at most {max_count} keyterms, each of {max_chars} characters, together of {max_total_chars}");
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
        let terms = |max_count, max_chars, max_total_chars| {
            KeytermLimits { max_count, max_chars, max_total_chars }.of(&options)
        };
        assert_eq!(terms(10, 20, 1_000), ["Harbor Table", "Ava", "Sarah", "Miller"]);
        assert_eq!(terms(2, 20, 1_000), ["Harbor Table", "Ava"]);
        let omitted_keyterms = |max_count, max_chars| {
            KeytermLimits { max_count, max_chars, max_total_chars: 1_000 }.omitted_keyterms(&options)
        };
        let words = "takes at most 9 keyterms, each of 20 characters, together of 1000: \"a very long term indeed\" are left out";
        assert_eq!((omitted_keyterms(9, 20).as_deref(), omitted_keyterms(9, 30)), (Some(words), None));
        assert!(omitted_keyterms(0, 1).is_some_and(|words| words.ends_with("\"Miller\" are left out")));
        assert_eq!(terms(10, 20, 18), ["Harbor Table", "Ava"], "and nothing is cut in the middle");
    }
}
