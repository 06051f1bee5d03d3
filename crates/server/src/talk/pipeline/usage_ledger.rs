//! What a question has cost that is not answered to its end: nobody tells, and it is charged all the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchhook_providers::prices::Rates;
use switchhook_providers::{Usage, llm};

/// Filled while requests run, and read when the response is no longer waited for.
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
    /// Notes a request to a provider. `unanswered` is what it costs without a response.
    pub(super) fn requested(&self, attempt: usize, unanswered: Usage, rates: Option<Rates>) {
        self.items().push(Item { attempt, unanswered, rates });
    }

    /// It charges nothing, or has said itself what it charges.
    pub(super) fn settled(&self, attempt: usize) {
        self.items().retain(|item| item.attempt != attempt);
    }

    /// It is the one that answers.
    pub(super) fn answers(&self, attempt: usize) {
        self.items().sort_by_key(|item| item.attempt == attempt);
    }

    /// All of it, when so many characters of an answer were written.
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
