//! When a caller has finished: how much silence their words ask for.
//!
//! The longer the silence, the less finished a sentence has to sound: the threshold falls from 100 at
//! `turn_taking.min_silence_ms` to 0 at `max_silence_ms`, and the turn ends where it meets the score of the words. That
//! moment is computed rather than polled; it is computed again whenever the words change.

use std::time::Duration;

use crate::agent::TurnTaking;

/// Sounds finished: a sentence with its final punctuation, or a whole answer such as "yes".
const FINISHED: u32 = 100;
/// Nothing speaks for or against an end.
const UNKNOWN: u32 = 75;
/// Digits or letters are being dictated; another group may follow.
const DICTATING: u32 = 40;
/// A comma or dash: the sentence goes on.
const SUSPENDED: u32 = 20;
/// The last word wants another one.
const OPEN: u32 = 0;
/// From this score on an end is likely enough to ask the model early.
const LIKELY: u32 = UNKNOWN;
/// Digits of a whole telephone number.
const WHOLE_NUMBER: usize = 10;

const ANSWERS: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "yup",
    "no",
    "nope",
    "nah",
    "sure",
    "correct",
    "right",
    "okay",
    "ok",
    "exactly",
    "absolutely",
    "please",
    "thanks",
    "thank",
    "you",
    "hello",
    "hi",
    "bye",
    "goodbye",
];
/// Open whatever punctuation a recogniser puts behind them.
const ALWAYS_OPEN: &[&str] =
    &["and", "but", "or", "because", "um", "uh", "uhm", "er", "erm", "hmm", "the", "a", "an", "my", "your", "well"];
/// Open unless a recogniser closes the sentence behind them.
const OPEN_UNLESS_CLOSED: &[&str] = &[
    "is", "are", "was", "to", "for", "of", "with", "at", "in", "on", "from", "that", "if", "when", "i", "it's", "i'm",
    "so", "like", "about", "by", "then",
];
const DIGITS: &[&str] = &[
    "zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "double", "triple", "hundred",
];
/// First words of a question that is answered by yes or no.
const AUXILIARIES: &[&str] = &[
    "is", "are", "am", "was", "were", "do", "does", "did", "can", "could", "will", "would", "shall", "should", "may",
    "have", "has",
];

/// What is known about the caller's turn.
#[derive(Clone, Copy)]
pub(super) struct Spoken<'a> {
    /// The words so far.
    pub(super) text: &'a str,
    /// Whether the recogniser is sure of them.
    pub(super) settled: bool,
    /// Whether the agent just asked something that is answered by yes or no.
    pub(super) yes_no: bool,
}

/// The silence after which this turn is over.
pub(super) fn silence_needed(spoken: Spoken<'_>, settings: &TurnTaking) -> Duration {
    let hurry = spoken.yes_no && spoken.settled && is_answer(&words(spoken.text));
    let min = if hurry { settings.min_silence_ms * 3 / 4 } else { settings.min_silence_ms };
    let max = settings.max_silence_ms.max(min);
    Duration::from_millis(u64::from(min + (max - min) * (FINISHED - score(spoken)) / FINISHED))
}

/// Whether the model may be asked before the silence is over.
pub(super) fn is_likely_end(spoken: Spoken<'_>) -> bool {
    spoken.settled && score(spoken) >= LIKELY
}

/// Whether an answer to `said` is probably yes or no.
pub(super) fn is_yes_no_question(said: &str) -> bool {
    let Some(question) = said.trim_end().strip_suffix('?') else { return false };
    let last = question.rsplit(['.', '!', '?', ',']).next().unwrap_or(question);
    let words = words(last);
    let first = words.iter().find(|word| !["and", "so", "or", "but"].contains(&word.as_str()));
    first.is_some_and(|word| AUXILIARIES.contains(&word.as_str()))
        || ["right", "correct", "okay"].contains(&last.trim())
}

/// How finished the words sound, from 0 to 100.
fn score(spoken: Spoken<'_>) -> u32 {
    let text = spoken.text.trim_end();
    let words = words(text);
    let Some(last) = words.last().map(String::as_str) else { return UNKNOWN };
    let closed = text.ends_with(['.', '!', '?']) && !text.ends_with("..");
    let finished = if !spoken.settled {
        UNKNOWN
    } else if text.ends_with('?') || is_answer(&words) {
        FINISHED
    } else if is_dictating(&words) {
        DICTATING
    } else if ALWAYS_OPEN.contains(&last) || ends_in(&words, &["name", "is"]) || ends_in(&words, &["number", "is"]) {
        OPEN
    } else if closed {
        FINISHED
    } else if OPEN_UNLESS_CLOSED.contains(&last) {
        OPEN
    } else if text.ends_with([',', ';', ':', '-', '\u{2014}', '\u{2026}']) || text.ends_with("..") {
        SUSPENDED
    } else {
        UNKNOWN
    };
    if spoken.settled { finished } else { finished.min(if ALWAYS_OPEN.contains(&last) { OPEN } else { UNKNOWN }) }
}

/// Lower case, without punctuation around.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || c == ',')
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

fn ends_in(words: &[String], tail: &[&str]) -> bool {
    words.len() >= tail.len() && words[words.len() - tail.len()..].iter().zip(tail).all(|(a, b)| a == b)
}

fn is_answer(words: &[String]) -> bool {
    !words.is_empty() && words.len() <= 4 && words.iter().all(|word| ANSWERS.contains(&word.as_str()))
}

/// Whether the last words are digits or single letters and more of them may come.
fn is_dictating(words: &[String]) -> bool {
    let tail: Vec<&str> = words.iter().rev().map(String::as_str).take_while(|word| is_dictated(word)).collect();
    let digits: usize = tail.iter().map(|word| digits_of(word)).sum();
    let several = tail.len() > 1 || tail.first().is_some_and(|word| digits_of(word) > 2);
    several && digits < WHOLE_NUMBER
}

fn is_dictated(word: &str) -> bool {
    digits_of(word) > 0 || word.chars().count() == 1 || DIGITS.contains(&word)
}

/// How many digits a word stands for.
fn digits_of(word: &str) -> usize {
    if DIGITS.contains(&word) {
        return 1;
    }
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let numeric = word.chars().all(|c| c.is_ascii_digit() || !c.is_alphanumeric());
    if numeric { digits } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_ask_for_more_or_less_silence() {
        let settings = TurnTaking::default(); // 400 to 2000 ms: each point below 100 costs 16 ms.
        let needed = |text, settled, yes_no| silence_needed(Spoken { text, settled, yes_no }, &settings).as_millis();
        let table = [
            ("I want to book a table.", 400),
            ("Is it open on Sunday?", 400),
            ("What is it for?", 400),
            ("yes", 400),
            ("okay thank you", 400),
            ("i want to book a table", 800),        // 400 + 25 * 16
            ("well, I was thinking,", 1_680),       // 400 + 80 * 16
            ("my number is five five five", 1_360), // 400 + 60 * 16
            ("It's 555-1234.", 1_360),
            ("It's 202-555-0123.", 400),
            ("M I L", 1_360),
            ("my name is", 2_000),
            ("My name is.", 2_000),
            ("I would like a table and", 2_000),
            ("A table, um.", 2_000),
            ("turn it on.", 400),
            ("i want to go to", 2_000),
        ];
        for (text, expected) in table {
            assert_eq!(needed(text, true, false), expected, "{text}");
        }
        assert_eq!(needed("yes", true, true), 300, "an awaited yes needs no second thought");
        assert_eq!(needed("I want to book a table.", false, false), 800, "a partial's full stop is not believed");
        assert_eq!(needed("a table and", false, false), 2_000);
    }

    #[test]
    fn yes_no_questions_are_known_by_their_first_word() {
        for said in ["Fine. Is that right?", "Would you like that?", "So, do you come?", "Eight, correct?"] {
            assert!(is_yes_no_question(said), "{said}");
        }
        for said in ["What is your name?", "Is it. Well.", "", "How many are you?"] {
            assert!(!is_yes_no_question(said), "{said}");
        }
    }
}
