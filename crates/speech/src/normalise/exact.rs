//! Text that must be spoken letter by letter and digit by digit: telephone numbers, codes, internet addresses, spelling.

use super::numbers::{digits, is_digits};
use super::{Reading, Word};

/// Endings that identify a web address.
const DOMAINS: [&str; 18] = [
    "com", "org", "net", "edu", "gov", "io", "co", "ai", "app", "dev", "us", "uk", "de", "ca", "eu", "info", "example",
    "health",
];

/// Words after which a number is read digit by digit.
const CUES: [&str; 13] = [
    "code",
    "pin",
    "number",
    "extension",
    "ext",
    "confirmation",
    "account",
    "zip",
    "reference",
    "order",
    "ticket",
    "policy",
    "flight",
];

/// Reads keys of the phone with an asterisk among them, such as `*67`; between two numbers it is a sign.
pub(super) fn keys(words: &[Word<'_>], before: Option<&Word<'_>>) -> Option<Reading> {
    let pressed = words[0].raw.trim_matches(|c: char| !c.is_alphanumeric() && !"*#".contains(c));
    if !pressed.contains('*')
        || pressed.contains("**")
        || !pressed.chars().all(|c| c.is_ascii_digit() || "*#".contains(c))
    {
        return None;
    }
    let is_number = |word: &Word<'_>| !word.core.is_empty() && word.core.chars().all(|c| c.is_ascii_digit());
    if pressed == "*" && before.is_some_and(is_number) && words.get(1).is_some_and(is_number) {
        return Some(Reading::words(1, "times".to_owned()));
    }
    let said = pressed.chars().map(|key| match key {
        '*' => "star".to_owned(),
        '#' => "pound".to_owned(),
        digit => digits(&digit.to_string(), "zero"),
    });
    Some(Reading::words(1, said.collect::<Vec<_>>().join(" ")))
}

/// Reads "+1 (415) 555-0142", "555-0142", "415.555.0142": groups of digits with a pause between them.
pub(super) fn telephone(words: &[Word<'_>]) -> Option<Reading> {
    let most = words.len().min(5);
    (1..=most).rev().find_map(|count| {
        let inner = words[..count - 1].iter().all(|word| word.tail.is_empty() || word.tail == ")");
        let joined = words[..count - 1].iter().map(|word| word.raw).chain([words[count - 1].body()]);
        let joined = joined.collect::<Vec<_>>().join(" ");
        inner.then(|| telephone_groups(&joined)).flatten().map(|said| Reading::words(count, said))
    })
}

fn telephone_groups(text: &str) -> Option<String> {
    let international = text.starts_with('+');
    if !text.chars().all(|c| c.is_ascii_digit() || "+()-. ".contains(c)) || text.matches('+').count() > 1 {
        return None;
    }
    let groups: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let all = groups.concat();
    let american = matches!(*lengths, [3, 4] | [3, 3, 4] | [1, 3, 3, 4]);
    let groups: Vec<&str> = match all.len() {
        _ if american => groups,
        11 if international && groups.len() <= 2 && all.starts_with('1') => {
            vec![&all[..1], &all[1..4], &all[4..7], &all[7..]]
        }
        10 if groups.len() == 1 => vec![&all[..3], &all[3..6], &all[6..]],
        8..=15 if international && groups.len() == 1 => in_threes(&all),
        8..=15 if international => groups,
        _ => return None,
    };
    let groups =
        groups.iter().map(|group| if *group == "800" { "eight hundred".to_owned() } else { digits(group, "oh") });
    let said = groups.collect::<Vec<_>>().join(", ");
    Some(if international { format!("plus {said}") } else { said })
}

/// Splits digits into groups of three, the last of two to four.
fn in_threes(digits: &str) -> Vec<&str> {
    let mut groups = Vec::new();
    let mut rest = digits;
    while rest.len() > 4 {
        let (group, after) = rest.split_at(3);
        groups.push(group);
        rest = after;
    }
    groups.push(rest);
    groups
}

/// Reads "483920", "A1B2", "XK-4471", "#48213", and any number after a word such as "code".
pub(super) fn code(words: &[Word<'_>], before: Option<&Word<'_>>) -> Option<Reading> {
    let word = words.first()?;
    let (marked, text) = word.core.strip_prefix('#').map_or((false, word.core), |rest| (true, rest));
    let is_code = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    if !text.chars().all(is_code) || !text.contains(|c: char| c.is_ascii_digit()) || text.starts_with('-') {
        return None;
    }
    let cued =
        before.is_some_and(|word| word.tail.is_empty() && CUES.iter().any(|cue| word.core.eq_ignore_ascii_case(cue)));
    let has_letters = text.contains(|c: char| c.is_ascii_uppercase());
    let long = text.len() >= 5 || (text.starts_with('0') && text.len() > 1);
    let short_letters = text.split(|c: char| !c.is_ascii_uppercase()).all(|letters| letters.len() <= 3);
    if !(has_letters && short_letters || !has_letters && (long || cued || marked && text.len() > 3)) {
        return None;
    }
    Some(Reading::letters(1, spell(text)))
}

/// Spells letters and digits one by one, in groups of three with pauses, and with a pause at a hyphen.
fn spell(text: &str) -> String {
    let parts = text.split('-').filter(|part| !part.is_empty());
    let one =
        |c: char| if c.is_ascii_digit() { digits(&c.to_string(), "zero") } else { c.to_ascii_uppercase().to_string() };
    let group = |group: &str| group.chars().map(one).collect::<Vec<_>>().join(" ");
    parts.flat_map(in_threes).map(group).collect::<Vec<_>>().join(", ")
}

/// Reads "S-M-I-T-H", or single capitals in a row.
pub(super) fn spelling(words: &[Word<'_>], before: Option<&Word<'_>>) -> Option<Reading> {
    let word = words.first()?;
    let letters: Vec<&str> = word.core.split(['-', '.']).collect();
    let single = |text: &str| text.len() == 1 && text.as_bytes()[0].is_ascii_alphabetic();
    let capital = |word: &Word<'_>| single(word.core) && word.core.as_bytes()[0].is_ascii_uppercase();
    if letters.len() >= 3 && letters.iter().all(|letter| single(letter)) {
        return Some(Reading::letters(1, letters.join(", ").to_ascii_uppercase()));
    }
    let neighbours = words.get(1).is_some_and(capital) || before.is_some_and(capital);
    (capital(word) && neighbours).then(|| Reading::letters(1, word.core.to_owned()))
}

/// Reads "sarah.miller@example.com" and "www.example.com/help".
pub(super) fn net_address(words: &[Word<'_>]) -> Option<Reading> {
    let text = words.first()?.core;
    let bare = ["https://", "http://", "mailto:"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let bare = bare.trim_end_matches('/');
    let host = bare.rsplit('@').next()?.split('/').next()?;
    let ending = host.rsplit_once('.')?.1.to_ascii_lowercase();
    let known = DOMAINS.contains(&ending.as_str()) || bare.contains('@') || bare.len() < text.len();
    let proper =
        host.chars().all(|c| c.is_ascii_alphanumeric() || "-.:".contains(c)) && !is_digits(&host.replace('.', ""));
    if !known || !proper || ending.len() < 2 {
        return None;
    }
    let mut said = String::new();
    for c in bare.chars() {
        match c {
            '@' => said.push_str(" at "),
            '.' => said.push_str(" dot "),
            '-' => said.push_str(" dash "),
            '_' => said.push_str(" underscore "),
            '/' => said.push_str(" slash "),
            '+' => said.push_str(" plus "),
            c if c.is_ascii_digit() => said.push_str(&format!(" {} ", digits(&c.to_string(), "zero"))),
            c if c.is_alphabetic() => said.push(c),
            _ => said.push(' '),
        }
    }
    let said = said.replace("www dot", "W W W dot").replace(" io", " I O").replace(" ai", " A I");
    Some(Reading::letters(1, said.split_whitespace().collect::<Vec<_>>().join(" ")))
}
