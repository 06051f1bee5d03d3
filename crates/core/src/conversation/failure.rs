//! Failures of providers in a conversation.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a provider's failure: it decides how the call ends if it cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// It did not respond in time.
    ProviderTimeout,
    /// It refuses the settings or credentials: retrying is useless.
    Config,
    /// It refuses a request that it accepted earlier in the call: retrying is useless, but nothing was wrong when the call began.
    Refused,
    /// Anything else.
    Pipeline,
}

impl FailureCode {
    /// Returns whether retrying is useless.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Config | Self::Refused)
    }
}

/// A failure of a provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its kind.
    pub code: FailureCode,
    /// One sentence for the call's `error` field; `words` in recorded calls.
    #[serde(rename = "words")]
    pub message: String,
}

impl Failure {
    /// Creates a failure with its message.
    #[must_use]
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({:?})", self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_keeps_its_name_in_recorded_calls() {
        let failure = Failure::new(FailureCode::Refused, "It broke.");
        let recorded = serde_json::json!({ "code": "refused", "words": "It broke." });
        assert_eq!(serde_json::to_value(&failure).expect("JSON"), recorded);
        assert!(serde_json::from_value::<Failure>(recorded).expect("a failure") == failure);
    }
}
