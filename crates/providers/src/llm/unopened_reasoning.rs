//! Models whose server puts the opening mark of their reasoning into the prompt, so that a response begins within it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most models remembered; more rarely share a connection between two restarts.
const MOST: usize = 1_000;

/// The models of a connection that begin with reasoning.
#[derive(Default)]
pub(super) struct UnopenedReasoning(Mutex<HashSet<String>>);

impl UnopenedReasoning {
    /// Returns whether responses of `model` begin with reasoning.
    pub(super) fn is_known(&self, model: &str) -> bool {
        self.models().contains(model)
    }

    /// Remembers whether the last response of `model` did; `None` if it did not show.
    pub(super) fn learn(&self, model: &str, begins_so: Option<bool>) {
        match begins_so {
            Some(true) if self.models().len() < MOST => drop(self.models().insert(model.to_owned())),
            Some(false) => drop(self.models().remove(model)),
            _ => {}
        }
    }

    fn models(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
