//! Validates an agent's fields.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;

use super::map::{MAX_BYTES, check_map};
use super::{AgentConfig, Fallback, OnMachine, ToolKind, schema};
use crate::dtmf::is_key;

/// An error in one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Its path, for example `limits.max_duration_seconds`; list indexes start at 0: `stt.keyterms.0`.
    pub path: String,
    /// The problem, as part of a sentence.
    pub message: String,
}

impl FieldError {
    /// Creates an error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 100_000;
/// Maximum length of a model or voice name, and of a word or phrase in a list, in characters.
const MAX_WORD: usize = 200;
/// Maximum words in a list.
const MAX_WORDS: usize = 200;
const MAX_FALLBACKS: usize = 5;
const MAX_TOOLS: usize = 32;

impl AgentConfig {
    /// Returns all errors; empty if the agent is valid.
    #[must_use]
    pub fn validate(&self) -> Vec<FieldError> {
        let mut check = Check(Vec::new());
        self.check_texts(&mut check);
        self.check_providers(&mut check);
        self.check_numbers(&mut check);
        self.check_dtmf(&mut check);
        self.check_tools(&mut check);
        self.check_variables(&mut check);
        if let Some(schema) = &self.analysis.schema {
            check.0.extend(schema::check("analysis.schema", schema));
        }
        check.0
    }

    /// The same for the fields that a call can override: `greeting.text`, `instructions`, `limits` and `answering_machine`.
    #[must_use]
    pub fn validate_overrides(&self) -> Vec<FieldError> {
        let mut check = Check(Vec::new());
        self.check_instructions(&mut check);
        self.check_answering_machine(&mut check);
        self.check_limits(&mut check);
        check.0
    }

    /// Returns its JSON Schemas with their paths.
    #[must_use]
    pub fn schemas(&self) -> Vec<(String, &Value)> {
        let tools = self.tools.iter().enumerate();
        let parameters =
            tools.filter_map(|(i, tool)| Some((format!("tools.{i}.parameters"), tool.parameters.as_ref()?)));
        let outcome = self.analysis.schema.iter().map(|schema| ("analysis.schema".to_owned(), schema));
        parameters.chain(outcome).collect()
    }

    fn check_texts(&self, check: &mut Check) {
        self.check_instructions(check);
        check.that("language", is_language_tag(&self.language), "must be a language tag such as en-US");
        check.words("interruption.backchannels", &self.interruption.backchannels);
        self.check_answering_machine(check);
    }

    fn check_instructions(&self, check: &mut Check) {
        check.that("instructions", !self.instructions.trim().is_empty(), "must not be empty");
        check.text("instructions", &self.instructions);
        check.text("greeting.text", &self.greeting.text);
    }

    fn check_answering_machine(&self, check: &mut Check) {
        let message = self.answering_machine.message.as_deref().unwrap_or_default();
        check.text("answering_machine.message", message);
        check.that(
            "answering_machine.message",
            self.answering_machine.on_machine != OnMachine::LeaveMessage || !message.trim().is_empty(),
            "is required if on_machine is leave_message",
        );
    }

    fn check_limits(&self, check: &mut Check) {
        check.range("limits.max_duration_seconds", self.limits.max_duration_seconds, 10..=14_400);
        check.range("limits.ring_timeout_seconds", self.limits.ring_timeout_seconds, 5..=120);
    }

    fn check_providers(&self, check: &mut Check) {
        if let Some(stt) = &self.stt {
            check.word("stt.model", stt.model.as_deref());
            check.words("stt.keyterms", &stt.keyterms);
            check.fallbacks("stt", &stt.fallbacks);
        }
        if let Some(llm) = &self.llm {
            check.word("llm.model", llm.model.as_deref());
            check.optional("llm.temperature", llm.temperature, 0.0..=2.0);
            check.optional("llm.max_tokens", llm.max_tokens, 1..=100_000);
            check.fallbacks("llm", &llm.fallbacks);
        }
        if let Some(tts) = &self.tts {
            check.word("tts.voice", tts.voice.as_deref());
            check.word("tts.model", tts.model.as_deref());
            check.optional("tts.speed", tts.speed, 0.5..=2.0);
            check.fallbacks("tts", &tts.fallbacks);
        }
        if let Some(realtime) = &self.realtime {
            check.word("realtime.model", realtime.model.as_deref());
            check.word("realtime.voice", realtime.voice.as_deref());
            check.fallbacks("realtime", &realtime.fallbacks);
        }
    }

    fn check_numbers(&self, check: &mut Check) {
        check.range("turn_taking.min_silence_ms", self.turn_taking.min_silence_ms, 100..=5_000);
        check.range("turn_taking.max_silence_ms", self.turn_taking.max_silence_ms, 200..=10_000);
        check.that(
            "turn_taking.max_silence_ms",
            self.turn_taking.max_silence_ms >= self.turn_taking.min_silence_ms,
            "must not be less than min_silence_ms",
        );
        check.range("interruption.min_speech_ms", self.interruption.min_speech_ms, 50..=5_000);
        check.range("interruption.min_words", self.interruption.min_words, 0..=20);
        check.range("silence.reprompt_after_seconds", self.silence.reprompt_after_seconds, 2..=600);
        check.range("silence.max_reprompts", self.silence.max_reprompts, 0..=10);
        check.optional("silence.hangup_after_seconds", self.silence.hangup_after_seconds, 5..=3_600);
        self.check_limits(check);
        check.optional("privacy.retention_days", self.privacy.retention_days, 1..=3_650);
    }

    fn check_dtmf(&self, check: &mut Check) {
        let mut key = self.dtmf.finish_on_key.iter().flat_map(|key| key.chars());
        let one_key = self.dtmf.finish_on_key.is_none() || (key.next().is_some_and(is_key) && key.next().is_none());
        check.that("dtmf.finish_on_key", one_key, "must be one of 0 to 9, *, #, A to D, or null");
        check.range("dtmf.digit_timeout_ms", self.dtmf.digit_timeout_ms, 500..=20_000);
        check.range("dtmf.max_digits", self.dtmf.max_digits, 1..=64);
    }

    fn check_tools(&self, check: &mut Check) {
        check.that("tools", self.tools.len() <= MAX_TOOLS, &format!("must have at most {MAX_TOOLS} entries"));
        let mut seen = HashSet::new();
        for (i, tool) in self.tools.iter().enumerate() {
            let path = format!("tools.{i}");
            tool.check(&path, check);
            let (field, known_by) = match tool.kind {
                ToolKind::Http => ("name", tool.name()),
                ToolKind::Mcp if tool.name.is_some() => ("name", tool.name()),
                ToolKind::Mcp => ("url", tool.url.as_deref().unwrap_or_default()),
                _ => ("type", tool.name()),
            };
            check.that(&format!("{path}.{field}"), seen.insert(known_by), "is a duplicate");
        }
    }

    fn check_variables(&self, check: &mut Check) {
        let mut fit = true;
        for (name, variable) in &self.variables {
            let path = format!("variables.{name}");
            let words = "must have a name of 1 to 64 letters, digits, _, - and .";
            check.that(&path, is_variable_name(name), words);
            let fits = variable.default.as_ref().is_none_or(|text| text.len() <= MAX_BYTES);
            check.that(&format!("{path}.default"), fits, &format!("must be at most {MAX_BYTES} bytes"));
            fit &= fits;
        }
        if fit {
            check.0.extend(check_map("variables", self.variables.len(), &self.variables));
        }
    }
}

/// Checks the outline of BCP 47: a language of two to eight letters, and subtags of up to eight letters and digits.
#[must_use]
pub fn is_language_tag(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let language = parts.next().unwrap_or_default();
    tag.len() <= 35
        && (2..=8).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether this is a valid variable name.
fn is_variable_name(name: &str) -> bool {
    let letters = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=64).contains(&name.chars().count()) && name.chars().all(letters)
}

pub(super) struct Check(pub(super) Vec<FieldError>);

impl Check {
    pub(super) fn that(&mut self, path: &str, holds: bool, message: &str) {
        if !holds {
            self.0.push(FieldError::new(path, message));
        }
    }

    pub(super) fn range<T: PartialOrd + Display>(&mut self, path: &str, value: T, range: RangeInclusive<T>) {
        let message = format!("must be from {} to {}", range.start(), range.end());
        self.that(path, range.contains(&value), &message);
    }

    pub(super) fn optional<T: PartialOrd + Display>(&mut self, path: &str, value: Option<T>, range: RangeInclusive<T>) {
        if let Some(value) = value {
            self.range(path, value, range);
        }
    }

    pub(super) fn text(&mut self, path: &str, value: &str) {
        self.that(path, value.len() <= MAX_TEXT, &format!("must be at most {MAX_TEXT} bytes"));
    }

    pub(super) fn word(&mut self, path: &str, word: Option<&str>) {
        let Some(word) = word else { return };
        let fits = !word.trim().is_empty() && word.chars().count() <= MAX_WORD && !word.chars().any(char::is_control);
        self.that(path, fits, &format!("must be 1 to {MAX_WORD} characters on one line"));
    }

    fn words(&mut self, path: &str, words: &[String]) {
        self.that(path, words.len() <= MAX_WORDS, &format!("must have at most {MAX_WORDS} entries"));
        for (i, word) in words.iter().enumerate().take(MAX_WORDS) {
            self.word(&format!("{path}.{i}"), Some(word));
        }
    }

    fn fallbacks(&mut self, of: &str, fallbacks: &[Fallback]) {
        let path = format!("{of}.fallbacks");
        self.that(&path, fallbacks.len() <= MAX_FALLBACKS, &format!("must have at most {MAX_FALLBACKS} entries"));
        let mut seen = HashSet::new();
        for (i, fallback) in fallbacks.iter().enumerate() {
            self.word(&format!("{path}.{i}.model"), fallback.model.as_deref());
            self.word(&format!("{path}.{i}.voice"), fallback.voice.as_deref());
            let again = !seen.insert((fallback.connection_id, &fallback.model, &fallback.voice));
            self.that(&format!("{path}.{i}"), !again, "is a duplicate");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bad_field_is_named_by_its_path() {
        let mut agent = AgentConfig::new("x");
        agent.limits.max_duration_seconds = 5;
        agent.silence.hangup_after_seconds = Some(1);
        agent.answering_machine.on_machine = OnMachine::LeaveMessage;
        agent.dtmf.finish_on_key = Some("##".to_owned());
        let paths: Vec<_> = agent.validate().into_iter().map(|error| error.path).collect();
        let expected = [
            "answering_machine.message",
            "silence.hangup_after_seconds",
            "limits.max_duration_seconds",
            "dtmf.finish_on_key",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn language_tags_look_like_some() {
        for (tag, fits) in
            [("en", true), ("en-US", true), ("zh-Hant-TW", true), ("e", false), ("en_US", false), ("", false)]
        {
            assert_eq!(is_language_tag(tag), fits, "{tag}");
        }
    }
}
