//! E-mail addresses, written or spelled out.

use super::{Found, Redact};

/// Finds the addresses in `text`, in order.
pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (at, sign) in signs(text) {
        let start = local_part(&text[..at]);
        let after = at + sign.len();
        let Some(length) = domain(&text[after..]) else { continue };
        let free = found.last().is_none_or(|(last, _)| last.end <= start);
        if start < at && free {
            found.push((start..after + length, Redact::EmailAddresses));
        }
    }
    found
}

/// Finds every `@`, and every word `at`, with surrounding whitespace.
fn signs(text: &str) -> Vec<(usize, &str)> {
    let mut signs: Vec<_> = text.match_indices('@').collect();
    for (at, two) in text.as_bytes().windows(4).enumerate() {
        if two[0] == b' ' && two[3] == b' ' && two[1..3].eq_ignore_ascii_case(b"at") {
            signs.push((at, &text[at..at + 4]));
        }
    }
    signs.sort_unstable();
    signs
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-')
}

/// Finds the start of the name before the sign: a word, joined to others by "dot" and similar.
fn local_part(before: &str) -> usize {
    let word = |text: &str| text.trim_end_matches(is_part).len();
    let mut start = word(before);
    if start == before.len() {
        return start;
    }
    loop {
        let joined = ["dot", "underscore", "dash", "hyphen", "plus"].into_iter().find_map(|joint| {
            let rest = before[..start].strip_suffix(' ')?;
            let cut = rest.len().checked_sub(joint.len())?;
            let (rest, last) = (rest.get(..cut)?, rest.get(cut..)?);
            let rest = last.eq_ignore_ascii_case(joint).then_some(rest)?.strip_suffix(' ')?;
            let start = word(rest);
            (start < rest.len()).then_some(start)
        });
        match joined {
            Some(earlier) => start = earlier,
            None => return start,
        }
    }
}

/// Returns the length of the domain after the sign: labels joined by dots, spoken or written, the last one of letters.
fn domain(behind: &str) -> Option<usize> {
    let label = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '-')).unwrap_or(text.len());
    let mut length = label(behind);
    if length == 0 {
        return None;
    }
    let mut whole = None;
    loop {
        let rest = &behind[length..];
        let spoken = rest.get(..5).is_some_and(|dot| dot.eq_ignore_ascii_case(" dot "));
        let dot = if spoken { 5 } else { usize::from(rest.starts_with('.')) };
        let next = label(&rest[dot..]);
        if dot == 0 || next == 0 {
            return whole;
        }
        let top = &rest[dot..dot + next];
        length += dot + next;
        if top.chars().count() >= 2 && top.chars().all(char::is_alphabetic) {
            whole = Some(length);
        }
    }
}
