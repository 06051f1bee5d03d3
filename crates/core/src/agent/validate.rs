//! The limits of an agent's fields.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::Serialize;

use super::{AgentConfig, OnMachine};

/// What is wrong with one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Where, for example `limits.max_duration_seconds`.
    pub path: String,
    /// What is wrong, as a sentence part.
    pub message: String,
}

impl FieldError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// The longest text a field may hold, in bytes.
const MAX_TEXT: usize = 100_000;

impl AgentConfig {
    /// Everything that is out of range; empty when the agent can take calls.
    #[must_use]
    pub fn validate(&self) -> Vec<FieldError> {
        let mut check = Check(Vec::new());
        check.text("instructions", &self.instructions);
        check.text("greeting.text", &self.greeting.text);
        check.that(
            "language",
            !self.language.is_empty() && self.language.len() <= 35,
            "must be a language tag such as en-US",
        );
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
        if let Some(seconds) = self.silence.hangup_after_seconds {
            check.range("silence.hangup_after_seconds", seconds, 5..=3_600);
        }
        check.range("limits.max_duration_seconds", self.limits.max_duration_seconds, 10..=14_400);
        check.range("limits.ring_timeout_seconds", self.limits.ring_timeout_seconds, 5..=120);
        if let Some(temperature) = self.llm.as_ref().and_then(|llm| llm.temperature) {
            check.range("llm.temperature", temperature, 0.0..=2.0);
        }
        if let Some(tokens) = self.llm.as_ref().and_then(|llm| llm.max_tokens) {
            check.range("llm.max_tokens", tokens, 1..=100_000);
        }
        if let Some(speed) = self.tts.as_ref().and_then(|tts| tts.speed) {
            check.range("tts.speed", speed, 0.5..=2.0);
        }
        check.text("answering_machine.message", self.answering_machine.message.as_deref().unwrap_or_default());
        if self.answering_machine.on_machine == OnMachine::LeaveMessage {
            let message = self.answering_machine.message.as_deref().unwrap_or_default();
            check.that(
                "answering_machine.message",
                !message.trim().is_empty(),
                "is required when on_machine is leave_message",
            );
        }
        check.0
    }
}

struct Check(Vec<FieldError>);

impl Check {
    fn that(&mut self, path: &str, holds: bool, message: &str) {
        if !holds {
            self.0.push(FieldError::new(path, message));
        }
    }

    fn range<T: PartialOrd + Display>(&mut self, path: &str, value: T, range: RangeInclusive<T>) {
        let message = format!("must be from {} to {}", range.start(), range.end());
        self.that(path, range.contains(&value), &message);
    }

    fn text(&mut self, path: &str, value: &str) {
        self.that(path, value.len() <= MAX_TEXT, &format!("must be at most {MAX_TEXT} bytes"));
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
        let paths: Vec<_> = agent.validate().into_iter().map(|error| error.path).collect();
        assert_eq!(paths, ["silence.hangup_after_seconds", "limits.max_duration_seconds", "answering_machine.message"]);
    }
}
