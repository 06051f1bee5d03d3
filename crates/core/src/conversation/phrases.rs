//! What the agent says without asking the model.

use crate::Timestamp;

pub(super) const REPROMPTS: &[&str] =
    &["Are you still there?", "Hello, can you hear me?", "I am still here. Is there anything I can do for you?"];
pub(super) const UNCLEAR: &[&str] =
    &["Sorry, I did not catch that.", "Sorry, could you say that again?", "I am sorry, I did not get that."];
pub(super) const FILLERS: &[&str] = &["One moment.", "Just a second.", "Let me see."];
pub(super) const STILL_HERE: &[&str] =
    &["I am still here, one moment.", "Sorry, just another moment.", "Please bear with me."];
pub(super) const GOODBYES: &[&str] = &["Goodbye.", "Thank you for calling. Goodbye."];
pub(super) const RETRYING: &[&str] = &["This is taking longer than usual. One moment, please."];
pub(super) const LOST_THREAD: &[&str] = &["Sorry, I lost my thread. Could you say that again?"];
pub(super) const TECHNICAL: &[&str] =
    &["Sorry, I cannot go on because of a technical problem. Please call again later."];
/// Said in front of a voice that is late.
pub(super) const COVERS: &[&str] = &[FILLERS[0], STILL_HERE[0]];
pub(super) const NOT_PASSED_ON: &[&str] =
    &["I am sorry, I could not put you through.", "Sorry, putting you through did not work."];
pub(super) const TIME_IS_UP: &[&str] = &["I am sorry, our time is up. Goodbye."];

/// Words that do not keep a call open when they are said during the goodbye.
pub(super) const FAREWELLS: &[&str] = &[
    "bye", "goodbye", "good", "thanks", "thank", "you", "too", "ok", "okay", "have", "a", "nice", "great", "day",
    "cheers",
];

/// What is said when something fails or is late.
pub(super) fn urgent() -> impl Iterator<Item = &'static str> {
    [COVERS, &GOODBYES[..1], TECHNICAL, LOST_THREAD].into_iter().flatten().copied()
}

/// All phrases, those first that cover up for something.
pub(super) fn others() -> impl Iterator<Item = &'static str> {
    [FILLERS, RETRYING, STILL_HERE, UNCLEAR, GOODBYES, REPROMPTS, TIME_IS_UP, NOT_PASSED_ON]
        .into_iter()
        .flatten()
        .copied()
}

/// One of the phrases, other than the one said last. The time is the dice: callers are not in step with the clock.
pub(super) fn vary(phrases: &'static [&'static str], now: Timestamp, last: &str) -> &'static str {
    let dice = usize::try_from(now.as_micros().unsigned_abs() / 1_000).unwrap_or(0);
    let fresh: Vec<&'static str> = phrases.iter().copied().filter(|phrase| *phrase != last).collect();
    let choice = if fresh.is_empty() { phrases } else { fresh.as_slice() };
    choice[dice % choice.len()]
}
