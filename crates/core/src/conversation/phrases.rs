//! Phrases that the agent says without a request to the model.

use crate::Timestamp;
use crate::language::{Language, WordList};

/// Returns the phrases for failures and delays.
pub(super) fn urgent(language: &Language) -> impl Iterator<Item = &'static str> {
    let phrases = &language.phrases;
    let goodbye = phrases.goodbyes.first().copied();
    phrases.covers().chain(goodbye).chain([phrases.technical, phrases.lost_thread].into_iter().flatten().copied())
}

/// Returns all phrases, fillers first.
pub(super) fn others(language: &Language) -> impl Iterator<Item = &'static str> {
    let phrases = &language.phrases;
    let covering = [phrases.fillers, phrases.retrying, phrases.still_here, phrases.unclear, phrases.goodbyes];
    let rest = [phrases.reprompts, phrases.time_is_up, phrases.not_put_through];
    covering.into_iter().chain(rest).flatten().copied()
}

/// Returns the most common of the phrases; empty in a language without a table.
pub(super) fn usual(phrases: WordList) -> &'static str {
    phrases.first().copied().unwrap_or_default()
}

/// Returns one of the phrases other than `last`; `None` in a language without a table. The time is the seed: calls are not in step with the clock.
pub(super) fn vary(phrases: WordList, now: Timestamp, last: &str) -> Option<&'static str> {
    let seed = usize::try_from(now.as_micros().unsigned_abs() / 1_000).unwrap_or(0);
    let fresh: Vec<&'static str> = phrases.iter().copied().filter(|phrase| *phrase != last).collect();
    let choice = if fresh.is_empty() { phrases } else { fresh.as_slice() };
    choice.get(seed.checked_rem(choice.len())?).copied()
}
