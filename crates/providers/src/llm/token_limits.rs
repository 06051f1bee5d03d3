//! Token limits that are too low for a model, which uses them up on reasoning before its first word.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
        self.raised().get(&(model.to_owned(), requested)).copied().unwrap_or(requested)
    }

    /// Remembers that `model` needs `limit` where `requested` is asked for.
    pub(super) fn remember(&self, model: &str, requested: u32, limit: u32) {
        let mut raised = self.raised();
        if limit > requested && (raised.len() < MOST || raised.contains_key(&(model.to_owned(), requested))) {
            raised.insert((model.to_owned(), requested), limit);
        }
    }

    /// Forgets a raised limit, which leaves no room for the conversation.
    pub(super) fn forget(&self, model: &str, requested: u32) {
        self.raised().remove(&(model.to_owned(), requested));
    }

    /// Forgets all of them: the models may be others now.
    pub(super) fn forget_all(&self) {
        self.raised().clear();
    }

    fn raised(&self) -> MutexGuard<'_, HashMap<(String, u32), u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the limit to try after a model has used up `used`; `None` if that is the highest.
pub(super) fn raise(used: u32) -> Option<u32> {
    let higher = used.saturating_mul(FACTOR).min(HIGHEST);
    (higher > used).then_some(higher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_up_to_the_highest() {
        assert_eq!(
            (raise(300), raise(2_400), raise(HIGHEST), raise(100_000)),
            (Some(2_400), Some(HIGHEST), None, None)
        );
    }

    #[test]
    fn a_limit_is_remembered_for_its_model_and_request_until_it_is_forgotten() {
        let limits = TokenLimits::default();
        limits.remember("a", 300, 2_400);
        limits.remember("b", 300, 300);
        assert_eq!((limits.of("a", 300), limits.of("b", 300), limits.of("a", 4_000)), (2_400, 300, 4_000));
        limits.forget("a", 300);
        assert_eq!(limits.of("a", 300), 300);
    }
}
