//! Token limits that are too low for a model, which uses them up on reasoning before its first word.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The factor by which a limit is raised.
const FACTOR: u32 = 8;
/// The highest limit it is raised to: a caller does not wait for more reasoning.
const HIGHEST: u32 = 4_096;
/// The most limits remembered; more models and agents than that rarely share a connection between two restarts.
const MOST: usize = 1_000;
/// Text in refusals that OpenAI sends in place of such a response.
pub(super) const USED_UP: [&str; 1] = ["max_tokens or model output limit was reached"];

/// The token limit of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenLimit {
    /// The agent's, or the default, which can be raised.
    Raisable(u32),
    /// The limit in the connection's settings, if it is a number.
    Settings(Option<u64>),
}

impl Default for TokenLimit {
    fn default() -> Self {
        Self::Settings(None)
    }
}

/// The limits that a connection has raised, by the model and the limit that was requested: an analysis, whose limit is higher, does not
/// lengthen responses.
#[derive(Default)]
pub(super) struct TokenLimits(Mutex<HashMap<(String, u32), u32>>);

impl TokenLimits {
    /// Returns the limit for a request to `model`.
    pub(super) fn of(&self, model: &str, requested: u32) -> u32 {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get(&(model.to_owned(), requested)).copied().unwrap_or(requested)
    }

    /// Raises a limit of which `model` used up `used`, and remembers that. Returns the new one, unless it is the highest already.
    pub(super) fn raise(&self, model: &str, requested: u32, used: u32) -> Option<u32> {
        let higher = used.saturating_mul(FACTOR).min(HIGHEST);
        if higher <= used {
            return None;
        }
        let mut raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if raised.len() < MOST || raised.contains_key(&(model.to_owned(), requested)) {
            raised.insert((model.to_owned(), requested), higher);
        }
        Some(higher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_for_its_model_and_up_to_the_highest() {
        let limits = TokenLimits::default();
        assert_eq!(limits.raise("a", 300, 300), Some(2_400));
        assert_eq!((limits.of("a", 300), limits.of("b", 300), limits.of("a", 4_000)), (2_400, 300, 4_000));
        assert_eq!(limits.raise("a", 300, 2_400), Some(HIGHEST));
        assert_eq!(limits.raise("a", 300, HIGHEST), None);
        assert_eq!(limits.of("a", 300), HIGHEST);
        assert_eq!(limits.raise("a", 100_000, 100_000), None);
        assert_eq!(limits.of("a", 100_000), 100_000);
    }
}
