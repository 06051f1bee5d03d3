//! How a provider fails a conversation.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of failure a provider had: what the call ends with if it cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// It did not respond in time.
    ProviderTimeout,
    /// It refuses our settings or credentials: trying again is useless.
    Config,
    /// It refuses what it took earlier in the call: trying again is useless, too, but nothing was wrong when the call began.
    Refused,
    /// Anything else.
    Pipeline,
}

impl FailureCode {
    /// Whether trying again is useless.
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
    /// One sentence for the call's `error` field.
    pub words: String,
}

impl Failure {
    /// A failure with its sentence.
    #[must_use]
    pub fn new(code: FailureCode, words: impl Into<String>) -> Self {
        Self { code, words: words.into() }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({:?})", self.code)
    }
}
