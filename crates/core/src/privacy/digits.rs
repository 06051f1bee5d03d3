//! Runs of digits: figures of several scripts, and English words as speech-to-text writes them.

use super::{Found, Redact, Redactor};
use crate::number_words::{TEENS, TENS, UNITS};

/// A figure or a number in words.
#[derive(Clone, Debug)]
struct Atom {
    start: usize,
    end: usize,
    digits: String,
    /// Counts only after other digits: "oh", "hundred".
    weak: bool,
}

/// First digits of scripts with ten consecutive digits.
const ZEROS: [char; 5] = ['0', '\u{660}', '\u{6f0}', '\u{966}', '\u{ff10}'];
/// Words that people say between groups of digits.
const SPOKEN_GAPS: [&str; 3] = ["dash", "hyphen", "space"];

/// Finds what to redact, in order.
pub(super) fn find(text: &str, redactor: &Redactor) -> Vec<Found> {
    let runs = runs(text);
    let mut found = Vec::new();
    // A list instead of recursion, because texts can be long.
    let mut open: Vec<&[Atom]> = runs.iter().map(Vec::as_slice).collect();
    while let Some(run) = open.pop() {
        judge(text, run, redactor, &mut open, &mut found);
    }
    found.sort_unstable_by_key(|(place, _)| place.start);
    found
}

/// Replaces every digit by `0` and every number word by "zero".
pub(super) fn zeroed(text: &str) -> String {
    let mut zeroed = String::with_capacity(text.len());
    let mut end = 0;
    for atom in atoms(text).into_iter().filter(|atom| !atom.weak) {
        zeroed.push_str(&text[end..atom.start]);
        let written = &text[atom.start..atom.end];
        if written.chars().all(|c| figure(c).is_some()) {
            zeroed.extend(written.chars().map(|_| '0'));
        } else {
            zeroed.push_str("zero");
        }
        end = atom.end;
    }
    zeroed + &text[end..]
}

/// Finds runs of digits in `text`, separated only by short gaps.
fn runs(text: &str) -> Vec<Vec<Atom>> {
    let mut runs: Vec<Vec<Atom>> = Vec::new();
    for atom in atoms(text) {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| is_gap(&text[last.end..atom.start])) => run.push(atom),
            _ if atom.weak => {}
            _ => runs.push(vec![atom]),
        }
    }
    runs
}

fn is_gap(between: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || matches!(c, '-' | '.' | ',' | '(' | ')' | '\u{2010}'..='\u{2015}');
    let word = between.trim_matches(blank);
    let spoken = word.is_empty() || SPOKEN_GAPS.iter().any(|gap| gap.eq_ignore_ascii_case(word));
    spoken && between.chars().filter(|c| blank(*c)).count() <= 3
}

/// Returns whether the gap is longer than any within a number.
fn is_pause(between: &str) -> bool {
    between.contains([',', '.', '\n'])
}

/// Classifies a run; parts to check separately go back to `open`.
fn judge<'a>(text: &str, run: &'a [Atom], redactor: &Redactor, open: &mut Vec<&'a [Atom]>, found: &mut Vec<Found>) {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
    let digits: String = run.iter().map(|atom| atom.digits.as_str()).collect();
    let whole = begin(text, first.start)..last.end;
    if redactor.takes_out(Redact::Dtmf) && redactor.pressed.contains(&digits) {
        return found.push((whole, Redact::Dtmf));
    }
    if redactor.takes_out(Redact::CardNumbers)
        && let Some(card) = card_in(run)
    {
        found.push((run[card.start].start..run[card.end - 1].end, Redact::CardNumbers));
        return open.extend([&run[..card.start], &run[card.end..]]);
    }
    if redactor.takes_out(Redact::PhoneNumbers) {
        if (7..=15).contains(&digits.len()) && !is_date(&text[first.start..last.end]) {
            return found.push((whole, Redact::PhoneNumbers));
        }
        let mut parts = run.chunk_by(|a, b| !is_pause(&text[a.end..b.start]));
        if digits.len() > 15 && parts.clone().nth(1).is_some() {
            return open.extend(parts.by_ref());
        }
    }
    if redactor.takes_out(Redact::Digits) && digits.len() >= 4 {
        found.push((whole, Redact::Digits));
    }
}

/// Extends a number by its leading plus or parenthesis.
fn begin(text: &str, start: usize) -> usize {
    text[..start].trim_end_matches(['+', '(']).len()
}

/// Finds the longest card number at the earliest start. It consists of whole groups: figures written without a
/// space belong together.
fn card_in(run: &[Atom]) -> Option<std::ops::Range<usize>> {
    let divides = |at: usize| at == 0 || at == run.len() || run[at - 1].end < run[at].start;
    (0..run.len()).filter(|start| divides(*start)).find_map(|start| {
        let mut digits = String::new();
        let mut longest = None;
        for (end, atom) in (start + 1..).zip(&run[start..]) {
            digits.push_str(&atom.digits);
            match digits.len() {
                ..13 => {}
                13..=19 if divides(end) && passes_luhn(&digits) => longest = Some(start..end),
                13..=19 => {}
                _ => break,
            }
        }
        longest
    })
}

/// Checks ISO/IEC 7812-1, annex B. All zeros would pass too and are not a card.
fn passes_luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(i, digit)| u32::from(digit - b'0') * if i % 2 == 1 { 2 } else { 1 })
        .map(|value| if value > 9 { value - 9 } else { value })
        .sum();
    sum > 0 && sum.is_multiple_of(10)
}

/// Returns whether this is a date such as `2026-11-21`.
fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |part: &str, length: usize| part.parse::<u32>().ok().filter(|_| part.len() == length);
    number(year, 4).is_some()
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// Finds every figure and number word.
fn atoms(text: &str) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut at = 0;
    // "double" and "triple" apply to the next number.
    let mut times: Option<(usize, usize)> = None;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let (atom, repeats) = if let Some(figure) = figure(c) {
            at += c.len_utf8();
            (Some(Atom { start, end: at, digits: figure.to_string(), weak: false }), None)
        } else if c.is_alphabetic() {
            at += text[at..].find(|c: char| !c.is_alphabetic()).unwrap_or(text.len() - at);
            word(&text[start..at], start, at)
        } else {
            at += c.len_utf8();
            continue;
        };
        let Some(mut atom) = atom else {
            times = repeats.map(|times| (start, times));
            continue;
        };
        if let Some((from, times)) = times.take()
            && atom.digits.len() == 1
        {
            atom = Atom { start: from, digits: atom.digits.repeat(times), weak: false, ..atom };
        }
        match atoms.last_mut() {
            Some(last) if completes(last, &atom, text) => {
                last.digits.replace_range(1.., &atom.digits);
                last.end = atom.end;
            }
            _ => atoms.push(atom),
        }
    }
    atoms
}

/// Returns whether the atom completes a tens word: "forty" and "one" are 41.
fn completes(last: &Atom, atom: &Atom, text: &str) -> bool {
    let tens = TENS.iter().any(|word| word.eq_ignore_ascii_case(&text[last.start..last.end]));
    let unit = UNITS[1..].iter().any(|word| word.eq_ignore_ascii_case(&text[atom.start..atom.end]));
    tens && unit && matches!(&text[last.end..atom.start], " " | "-")
}

fn figure(c: char) -> Option<u32> {
    ZEROS.iter().find_map(|zero| (u32::from(c)).checked_sub(u32::from(*zero)).filter(|value| *value < 10))
}

/// Parses a number word, or a repetition of the next one.
fn word(word: &str, start: usize, end: usize) -> (Option<Atom>, Option<usize>) {
    let place = |list: &[&str]| list.iter().position(|known| known.eq_ignore_ascii_case(word));
    let atom = |digits: String, weak| (Some(Atom { start, end, digits, weak }), None);
    if let Some(unit) = place(&UNITS) {
        return atom(unit.to_string(), false);
    }
    if let Some(teen) = place(&TEENS) {
        return atom((teen + 10).to_string(), false);
    }
    if let Some(ten) = place(&TENS) {
        return atom(((ten + 2) * 10).to_string(), false);
    }
    match place(&["o", "oh", "hundred", "thousand", "double", "triple", "treble"]) {
        Some(0 | 1) => atom("0".to_owned(), true),
        Some(2) => atom("00".to_owned(), true),
        Some(3) => atom("000".to_owned(), true),
        Some(4) => (None, Some(2)),
        Some(_) => (None, Some(3)),
        None => (None, None),
    }
}
