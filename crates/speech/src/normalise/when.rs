//! Times of day and dates.

use super::numbers::{cardinal, in_pairs, is_digits, ordinal, whole_number};
use super::{Reading, Word};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Reads "7:30 pm", "7pm", "19:30", "9am-5pm".
pub(super) fn time(words: &[Word<'_>]) -> Option<Reading> {
    let first = words.first()?;
    let next = words.get(1).filter(|_| first.tail.is_empty()).and_then(|word| half(word.core).map(|half| (half, word)));
    if let Some((half, word)) = next
        && let Some(clock) = clock(first.core, true)
    {
        return Some(Reading::letters(2, format!("{clock} {half}")).ends_with_dot_of(word));
    }
    if let Some((from, to)) = first.core.split_once(['-', '–']) {
        let (from, to) = (time_of(from, true)?, time_of(to, true)?);
        return (from.1 || to.1).then(|| Reading::letters(1, format!("{} to {}", from.0, to.0)));
    }
    let (said, certain) = time_of(first.core, false)?;
    certain.then(|| Reading::letters(1, said).ends_with_dot_of(first))
}

/// Returns the words of a time, and whether it can only be a time.
fn time_of(text: &str, short: bool) -> Option<(String, bool)> {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
    let (number, rest) = text.split_at(digits);
    if rest.is_empty() {
        return Some((clock(number, short)?, number.contains(':')));
    }
    Some((format!("{} {}", clock(number, true)?, half(rest)?), true))
}

/// Returns hours and minutes in words. `short`: "am" or "pm" follows, so omit "o'clock".
fn clock(text: &str, short: bool) -> Option<String> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "00"));
    if !is_digits(hour) || hour.len() > 2 || !is_digits(minute) || minute.len() != 2 {
        return None;
    }
    let (hour, minute): (u64, u64) = (hour.parse().ok()?, minute.parse().ok()?);
    match (hour, minute) {
        (24.., _) | (_, 60..) => None,
        (hour, 0) if short => Some(cardinal(hour)),
        (hour @ 1..=12, 0) => Some(format!("{} o'clock", cardinal(hour))),
        (hour, 0) => Some(format!("{} hundred", cardinal(hour))),
        (hour, minute @ 1..10) => Some(format!("{} oh {}", cardinal(hour), cardinal(minute))),
        (hour, minute) => Some(format!("{} {}", cardinal(hour), cardinal(minute))),
    }
}

fn half(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "am" | "a.m" => Some("A M"),
        "pm" | "p.m" => Some("P M"),
        _ => None,
    }
}

/// Reads "2026-03-14", "3/14/2026", "3/14", "March 14, 2026", "14 March".
pub(super) fn date(words: &[Word<'_>]) -> Option<Reading> {
    let first = words.first()?;
    numeric(first.core).map(|said| Reading::words(1, said)).or_else(|| month_first(words)).or_else(|| day_first(words))
}

fn numeric(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    if !parts.iter().all(|part| is_digits(part)) {
        return None;
    }
    let number = |index: usize| parts[index].parse::<u64>().ok();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    match (lengths.as_slice(), text.contains('/')) {
        ([4, 2, 2], false) => spoken(number(1)?, number(2)?, Some(number(0)?)),
        ([1 | 2, 1 | 2, 4], true) => spoken(number(0)?, number(1)?, Some(number(2)?)),
        ([1 | 2, 1 | 2, 2], true) => spoken(number(0)?, number(1)?, Some(2000 + number(2)?)),
        // 3/4 is a fraction; 3/14 and 10/2 are dates.
        ([1 | 2, 1 | 2], true) if number(1)? > 8 || number(0)? >= number(1)? => spoken(number(0)?, number(1)?, None),
        _ => None,
    }
}

fn month_first(words: &[Word<'_>]) -> Option<Reading> {
    let month = month(words.first()?)?;
    let day_word = words.get(1)?;
    let day = day(day_word.core)?;
    let year = words.get(2).filter(|_| matches!(day_word.tail, "" | ",")).and_then(|word| year(word.core));
    Some(Reading::words(if year.is_some() { 3 } else { 2 }, spoken(month, day, year)?))
}

fn day_first(words: &[Word<'_>]) -> Option<Reading> {
    let (day, month) = (day(words.first()?.core)?, month(words.get(1)?)?);
    if !words[0].tail.is_empty() {
        return None;
    }
    let year = words.get(2).filter(|_| words[1].tail.is_empty()).and_then(|word| year(word.core));
    Some(Reading::words(if year.is_some() { 3 } else { 2 }, spoken(month, day, year)?))
}

fn spoken(month: u64, day: u64, year: Option<u64>) -> Option<String> {
    let name = MONTHS.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if !(1..=31).contains(&day) {
        return None;
    }
    let year = year.map(|year| format!(", {}", in_pairs(year))).unwrap_or_default();
    Some(format!("{name} {}{year}", ordinal(day)))
}

/// Parses a month's name, in full or abbreviated; "may" and "march" only if capitalised.
fn month(word: &Word<'_>) -> Option<u64> {
    let text = word.core;
    let is = |name: &&str| text == *name || (text.len() >= 3 && text.len() <= 4 && name.starts_with(text));
    let index = MONTHS.iter().position(is)?;
    (word.tail.is_empty() || (word.tail == "." && text.len() <= 4)).then_some(index as u64 + 1)
}

fn day(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &text[digits.len()..];
    let day = is_digits(digits).then(|| digits.parse().ok())??;
    (matches!(suffix, "" | "st" | "nd" | "rd" | "th") && (1..=31).contains(&day)).then_some(day)
}

/// Parses a year on its own.
pub(super) fn year(text: &str) -> Option<u64> {
    whole_number(text).filter(|year| text.len() == 4 && (1000..2200).contains(year))
}
