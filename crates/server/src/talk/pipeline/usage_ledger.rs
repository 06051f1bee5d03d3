//! The cost of a request that is abandoned before its end: the provider does not report it, but charges it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchhook_providers::prices::Rates;
use switchhook_providers::{Usage, llm};

/// Filled while requests run; read when a response is no longer awaited.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageLedger(Arc<Mutex<Vec<Item>>>);

/// One attempt that may be charged.
#[derive(Debug)]
struct Item {
    attempt: usize,
    unanswered: Usage,
    rates: Option<Rates>,
}

impl UsageLedger {
    /// Records a request to a provider. `unanswered` is its cost without a response.
    pub(super) fn requested(&self, attempt: usize, unanswered: Usage, rates: Option<Rates>) {
        self.items().push(Item { attempt, unanswered, rates });
    }

    /// Removes an attempt that charges nothing or has reported its cost.
    pub(super) fn settled(&self, attempt: usize) {
        self.items().retain(|item| item.attempt != attempt);
    }

    /// Marks the attempt whose response is used.
    pub(super) fn answers(&self, attempt: usize) {
        self.items().sort_by_key(|item| item.attempt == attempt);
    }

    /// Returns the total after `written` characters of a response.
    pub(super) fn usage(&self, written: usize) -> Usage {
        let items = self.items();
        let answer = items.last().filter(|_| written > 0);
        let answer = answer.map(|item| Rates::price(item.rates.as_ref(), llm::estimate(0, written)));
        items.iter().map(|item| item.unanswered).chain(answer).fold(Usage::default(), |sum, usage| sum + usage)
    }

    fn items(&self) -> MutexGuard<'_, Vec<Item>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
