//! Finds names, days, times, numbers and yes or no in a transcript. English only.

use switchhook_core::number_words::{TEENS, TENS, UNITS};

/// The kind of answer a question expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// A person's name.
    Name,
    /// A weekday, `today` or `tomorrow`.
    Day,
    /// A time of day, as `19:30`.
    Time,
    /// A whole number from 0 to 99.
    Number,
}

/// A value that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A name, a day or a time.
    Text(String),
    /// A number.
    Number(u32),
}

/// Looks for `kind`. If it was `asked` for, a bare name or number is enough; otherwise the surrounding words must show what it is.
#[must_use]
pub fn find(kind: AnswerKind, text: &str, asked: bool) -> Option<Found> {
    let words = words(text);
    match kind {
        AnswerKind::Name => name(text, asked).map(Found::Text),
        AnswerKind::Day => day(&words).map(Found::Text),
        AnswerKind::Time => time(&words, asked).map(Found::Text),
        AnswerKind::Number => people(&words, asked).map(Found::Number),
    }
}

/// Returns `true` for yes, `false` for no, `None` for neither.
#[must_use]
pub fn agreement(text: &str) -> Option<bool> {
    const NO: &[&str] = &["no", "nope", "not", "wrong", "incorrect", "isn't", "don't"];
    const YES: &[&str] = &[
        "yes",
        "yeah",
        "yep",
        "right",
        "correct",
        "sure",
        "perfect",
        "exactly",
        "great",
        "okay",
        "ok",
        "fine",
        "absolutely",
    ];
    let words = words(text);
    let says = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    if says(NO) { Some(false) } else { says(YES).then_some(true) }
}

/// Returns whether the caller asks to hear the question again.
#[must_use]
pub fn wants_repetition(text: &str) -> bool {
    let words = words(text);
    let joined = words.join(" ");
    ["say that again", "repeat", "pardon", "come again", "what was that", "didn't hear", "hear me", "are you there"]
        .iter()
        .any(|phrase| joined.contains(phrase))
        || matches!(joined.as_str(), "sorry" | "hello" | "what" | "excuse me")
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || c == '-'
}

/// Returns lower-case words without punctuation, except inside (`7:30`, `that's`).
fn words(text: &str) -> Vec<String> {
    text.split(is_between_words)
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('\u{2019}', "'"))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns the name that is introduced (`my name is`) in any sentence. If it was `asked` for, falls back to the first candidate
/// without an introduction: people greet others by name.
fn name(text: &str, asked: bool) -> Option<String> {
    let sentences = || text.split(['.', '!', '?', ',']).map(str::trim).filter(|part| !part.is_empty());
    let bare = |part| name_after(part, 0);
    sentences().find_map(introduced_name).or_else(|| sentences().filter(|_| asked).find_map(bare))
}

fn introduced_name(sentence: &str) -> Option<String> {
    const INTRODUCTIONS: &[&str] =
        &["my name is", "name is", "my name's", "this is", "i am", "i'm", "it is", "it's", "speaking is"];
    let joined = words(sentence).join(" ");
    INTRODUCTIONS.iter().find_map(|intro| {
        let at = joined.find(intro)?;
        let whole = at == 0 || joined.as_bytes().get(at - 1) == Some(&b' ');
        let count = whole.then(|| joined[..at + intro.len()].split_whitespace().count())?;
        name_after(sentence, count)
    })
}

/// Returns the name after this many words of introduction. Without any, a short sentence is a name; after one, names are capitalised.
fn name_after(sentence: &str, introduction: usize) -> Option<String> {
    const NOT_NAMES: &[&str] = &[
        "hi", "hello", "hey", "yes", "yeah", "ava", "the", "a", "an", "um", "uh", "sure", "of", "course", "please",
        "okay", "ok", "for", "well", "so", "sorry", "thanks", "thank", "you", "here", "speaking", "calling", "under",
        "name", "my", "wait", "keys",
    ];
    // Split as in `words`, so that both count alike.
    let plain: Vec<&str> =
        sentence.split(is_between_words).filter(|word| word.chars().any(char::is_alphanumeric)).collect();
    let rest = &plain[introduction..];
    let may_be_one =
        if introduction == 0 { plain.len() <= 4 } else { rest.iter().any(|word| word.starts_with(char::is_uppercase)) };
    let named: Vec<String> = rest
        .iter()
        .map(|word| word.trim_matches(|c: char| !c.is_alphabetic()))
        .take_while(|word| !word.is_empty())
        .skip_while(|word| NOT_NAMES.contains(&word.to_lowercase().as_str()))
        .take_while(|word| !NOT_NAMES.contains(&word.to_lowercase().as_str()))
        .take(3)
        .map(capitalised)
        .collect();
    (may_be_one && !named.is_empty() && day(&words(sentence)).is_none()).then(|| named.join(" "))
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn day(words: &[String]) -> Option<String> {
    const DAYS: &[&str] =
        &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Today", "Tomorrow"];
    // The last one counts: people correct themselves.
    let named = words.iter().rev().find_map(|word| {
        let word = word.trim_end_matches("'s");
        let one = |day: &&&str| day.eq_ignore_ascii_case(word) || format!("{day}s").eq_ignore_ascii_case(word);
        DAYS.iter().find(one)
    });
    let tonight = words.iter().any(|word| word == "tonight").then_some("Today");
    let named = named.copied().or(tonight)?;
    Some(if matches!(named, "Today" | "Tomorrow") { named.to_lowercase() } else { named.to_owned() })
}

/// Returns the number at the start of `words` and how many words it takes: `4`, `four`, `twenty four`.
fn number(words: &[String]) -> Option<(u32, usize)> {
    let first = words.first()?.as_str();
    let below_twenty = || UNITS.iter().chain(&TEENS);
    let unit = |word: &str| below_twenty().position(|name| *name == word).and_then(|at| u32::try_from(at).ok());
    if let Ok(digits) = first.parse::<u32>() {
        return (digits < 100).then_some((digits, 1));
    }
    if let Some(units) = unit(first) {
        return Some((units, 1));
    }
    let tens = TENS.iter().position(|name| *name == first).and_then(|at| u32::try_from(at).ok())? * 10 + 20;
    match words.get(1).and_then(|word| unit(word)).filter(|units| (1..10).contains(units)) {
        Some(units) => Some((tens + units, 2)),
        None => Some((tens, 1)),
    }
}

fn time(words: &[String], asked: bool) -> Option<String> {
    let said = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let morning = said(&["morning", "am", "a.m"]);
    let evening = said(&["evening", "pm", "p.m", "tonight", "night", "afternoon"]);
    let (hour, minute) = (0..words.len()).rev().find_map(|at| clock_at(words, at, asked))?;
    let hour = match hour {
        12 if morning => 0,
        // A table is not booked for two in the morning: without further words it is the afternoon or evening.
        1..=10 if !morning => hour + 12,
        11 if evening => 23,
        hour => hour,
    };
    (hour < 24 && minute < 60).then(|| format!("{hour:02}:{minute:02}"))
}

/// Returns the time of day that begins at word `at`.
fn clock_at(words: &[String], at: usize, asked: bool) -> Option<(u32, u32)> {
    let here = &words[at..];
    let after =
        |count: usize| here.get(count..).and_then(number).map(|(hour, _)| hour).filter(|hour| (1..=12).contains(hour));
    match (here.first()?.as_str(), here.get(1).map(String::as_str)) {
        ("half", Some("past")) => return after(2).map(|hour| (hour, 30)),
        ("quarter", Some("past" | "after")) => return after(2).map(|hour| (hour, 15)),
        ("quarter", Some("to" | "before")) => return after(2).map(|hour| (if hour == 1 { 12 } else { hour - 1 }, 45)),
        ("noon", _) => return Some((12, 0)),
        _ => {}
    }
    if let Some((hour, minute)) = here[0].split_once([':', '.']) {
        let digits = |text: &str| text.trim_end_matches(|c: char| c.is_alphabetic() || c == '.').parse::<u32>().ok();
        return Some((digits(hour)?, digits(minute)?)).filter(|(hour, minute)| *hour < 24 && *minute < 60);
    }
    let attached =
        here[0].strip_suffix("pm").or_else(|| here[0].strip_suffix("am")).and_then(|hour| hour.parse::<u32>().ok());
    if let Some(hour) = attached.filter(|hour| (1..=12).contains(hour)) {
        return Some((hour, 0));
    }
    let before = |count: usize| at.checked_sub(count).map(|at| words[at].as_str());
    // Part of an expression that begins earlier.
    if matches!(before(1), Some("past" | "to" | "after" | "before")) {
        return None;
    }
    let (hour, taken) = number(here).filter(|(hour, _)| (1..=23).contains(hour))?;
    let next = here.get(taken).map(String::as_str);
    if let Some((minute, _)) = here.get(taken..).and_then(number).filter(|(minute, _)| (10..60).contains(minute)) {
        return Some((hour, minute));
    }
    let clear = matches!(next, Some("o'clock" | "oclock" | "pm" | "am" | "p.m" | "a.m"))
        || matches!(before(1), Some("at" | "around" | "about"));
    // `seven thirty`: scanning from the end finds the thirty first.
    let is_minute = at
        .checked_sub(1)
        .and_then(|at| words.get(at..))
        .and_then(number)
        .is_some_and(|(hour, taken)| hour < 24 && taken == 1);
    ((clear || asked) && !(is_minute && hour >= 10)).then_some((hour, 0))
}

fn people(words: &[String], asked: bool) -> Option<u32> {
    const COUNTED: &[&str] = &["people", "persons", "person", "guests", "guest", "adults", "diners"];
    if words.join(" ").contains("just me") || words.join(" ").contains("only me") {
        return Some(1);
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Some((count, taken)) = number(&words[at..]) else {
            at += 1;
            continue;
        };
        let next = words.get(at + taken).map(String::as_str);
        let of_us = next == Some("of") && words.get(at + taken + 1).is_some_and(|word| word == "us");
        let counted = next.is_some_and(|word| COUNTED.contains(&word));
        let table_for = at >= 2 && words[at - 1] == "for" && words[at - 2] == "table";
        found.push((count, of_us || counted || table_for));
        at += taken;
    }
    found.iter().rev().find(|(_, clear)| *clear).or_else(|| found.last().filter(|_| asked)).map(|(count, _)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_in_what_recognisers_write() {
        let text = |value: &str| Some(Found::Text(value.to_owned()));
        let table = [
            (AnswerKind::Name, "Hi, Ava. My name is Sarah Miller.", true, text("Sarah Miller")),
            (AnswerKind::Name, "Hi, Abba. my name is Sarah Miller.", true, text("Sarah Miller")),
            (AnswerKind::Name, "Sarah Miller", true, text("Sarah Miller")),
            (AnswerKind::Name, "It's Tom.", true, text("Tom")),
            (AnswerKind::Name, "Wait, make it Saturday.", true, None),
            (AnswerKind::Name, "Good-evening my name is Sarah Miller", false, text("Sarah Miller")),
            (AnswerKind::Name, "Friday evening, please.", false, None),
            (AnswerKind::Name, "I'm not sure what you mean", true, None),
            (AnswerKind::Day, "Friday evening, please.", true, text("Friday")),
            (AnswerKind::Day, "Wait, not Friday, actually make it Saturday.", false, text("Saturday")),
            (AnswerKind::Day, "Tonight", true, text("today")),
            (AnswerKind::Day, "Maybe.", true, None),
            (AnswerKind::Time, "At half past seven.", true, text("19:30")),
            (AnswerKind::Time, "at 7.30 p.m.", false, text("19:30")),
            (AnswerKind::Time, "Seven thirty.", true, text("19:30")),
            (AnswerKind::Time, "quarter to eight", false, text("19:45")),
            (AnswerKind::Time, "8pm", false, text("20:00")),
            (AnswerKind::Time, "eight o'clock in the morning", false, text("08:00")),
            (AnswerKind::Time, "There will be four of us.", false, None),
            (AnswerKind::Number, "There will be four of us.", false, Some(Found::Number(4))),
            (AnswerKind::Number, "A table for 12", false, Some(Found::Number(12))),
            (AnswerKind::Number, "Twenty two", true, Some(Found::Number(22))),
            (AnswerKind::Number, "It's just me.", true, Some(Found::Number(1))),
            (AnswerKind::Number, "At half past seven.", false, None),
        ];
        for (kind, said, asked, expected) in table {
            assert_eq!(find(kind, said, asked), expected, "{kind:?} in {said:?}");
        }
    }

    #[test]
    fn no_beats_yes_and_a_question_is_neither() {
        assert_eq!(agreement("Yes, that's right. Thank you."), Some(true));
        assert_eq!(agreement("No, that's not right."), Some(false));
        assert_eq!(agreement("Could you say that again?"), None);
        assert!(wants_repetition("Sorry? Could you say that again?") && !wants_repetition("Friday."));
    }
}
