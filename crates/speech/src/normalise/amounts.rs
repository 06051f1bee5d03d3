//! Money, percentages, measures, ordinals and bare numbers.

use super::numbers::{cardinal, in_pairs, is_digits, ordinal, plain, whole_number};
use super::{Reading, Word, abbreviations};

const CURRENCIES: [(char, &str, &str, &str); 3] =
    [('$', "dollar", "dollars", "cent"), ('€', "euro", "euros", "cent"), ('£', "pound", "pounds", "penny")];

const UNITS: [(&str, &str); 26] = [
    ("km", "kilometers"),
    ("kg", "kilograms"),
    ("cm", "centimeters"),
    ("mm", "millimeters"),
    ("m", "meters"),
    ("mi", "miles"),
    ("ft", "feet"),
    ("lb", "pounds"),
    ("lbs", "pounds"),
    ("oz", "ounces"),
    ("g", "grams"),
    ("mg", "milligrams"),
    ("ml", "milliliters"),
    ("L", "liters"),
    ("min", "minutes"),
    ("mins", "minutes"),
    ("h", "hours"),
    ("hr", "hours"),
    ("hrs", "hours"),
    ("sec", "seconds"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("GB", "gigabytes"),
    ("MB", "megabytes"),
    ("mph", "miles per hour"),
    ("k", "thousand"),
];

/// Reads "$45.50", "$1,200", "$3.5 million", "€20".
pub(super) fn money(words: &[Word<'_>]) -> Option<Reading> {
    let word = words.first()?;
    let (_, one, many, small) = CURRENCIES.iter().find(|currency| word.core.starts_with(currency.0))?;
    let number = word.core.trim_start_matches(|c: char| !c.is_ascii());
    let number = number.strip_prefix('$').unwrap_or(number);
    let scale = words.get(1).filter(|_| word.tail.is_empty()).map(|word| word.core);
    if let Some(scale @ ("thousand" | "million" | "billion" | "trillion")) = scale {
        return Some(Reading::words(2, format!("{} {scale} {many}", plain(number)?)));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = if whole.is_empty() { 0 } else { whole_number(whole)? };
    let cents = match fraction {
        "" => 0,
        cents if cents.len() == 2 && is_digits(cents) => cents.parse().ok()?,
        _ => return Some(Reading::words(1, format!("{} {many}", plain(number)?))),
    };
    let name =
        |count: u64, one: &str, many: &str| format!("{} {}", cardinal(count), if count == 1 { one } else { many });
    let small_many = if *small == "penny" { "pence".to_owned() } else { format!("{small}s") };
    Some(Reading::words(
        1,
        match (whole, cents) {
            (whole, 0) => name(whole, one, many),
            (0, cents) => name(cents, small, &small_many),
            (whole, cents) => format!("{} and {}", name(whole, one, many), name(cents, small, &small_many)),
        },
    ))
}

/// Reads "50%", "72°F", "5km", "22nd", "24/7", "10-12", "1,250", "1450".
pub(super) fn number(words: &[Word<'_>], before: Option<&Word<'_>>) -> Option<Reading> {
    let text = words.first()?.core;
    let said = |said: String| Some(Reading::words(1, said));
    if text == "24/7" {
        return said("twenty-four seven".to_owned());
    }
    if let Some(number) = text.strip_suffix('%') {
        return said(format!("{} percent", plain(number)?));
    }
    if let Some((number, scale)) = text.split_once('°') {
        let scale = match scale {
            "F" => " Fahrenheit",
            "C" => " Celsius",
            _ => "",
        };
        return said(format!("{} degrees{scale}", plain(number)?));
    }
    if let Some((from, to)) = text.split_once(['-', '–']).filter(|(from, _)| !from.is_empty()) {
        return said(format!("{} to {}", plain(from)?, plain(to)?));
    }
    if let Some((top, bottom)) = text.split_once('/') {
        return said(fraction(top, bottom)?);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    match &text[digits.len()..] {
        "" => said(bare(text, words, before)?),
        "st" | "nd" | "rd" | "th" => said(ordinal(whole_number(digits)?)),
        unit => {
            let (_, name) = UNITS.iter().find(|(short, _)| *short == unit)?;
            let one = if digits == "1" { name.strip_suffix('s').unwrap_or(name) } else { name };
            said(format!("{} {one}", plain(digits)?))
        }
    }
}

fn fraction(top: &str, bottom: &str) -> Option<String> {
    let (top, bottom) = (whole_number(top)?, whole_number(bottom)?);
    Some(match (top, bottom) {
        (1, 2) => "one half".to_owned(),
        (1, 4) => "one quarter".to_owned(),
        (3, 4) => "three quarters".to_owned(),
        (1, 3..=10) => format!("one {}", ordinal(bottom)),
        (_, 3..=10) if top < bottom => format!("{} {}s", cardinal(top), ordinal(bottom)),
        _ => format!("{} over {}", cardinal(top), cardinal(bottom)),
    })
}

/// Reads a bare number: a year, a house number or a quantity.
fn bare(text: &str, words: &[Word<'_>], before: Option<&Word<'_>>) -> Option<String> {
    let Some(number) = whole_number(text).filter(|_| !text.contains(',')) else { return plain(text) };
    let place = before.is_some_and(|word| {
        ["room", "suite", "apartment", "apt", "unit", "gate", "route", "highway"]
            .iter()
            .any(|name| word.core.eq_ignore_ascii_case(name))
    });
    let house = place || abbreviations::is_street_ahead(words);
    let four = text.len() == 4 && number >= 1100;
    Some(if four || (house && (100..1000).contains(&number)) { in_pairs(number) } else { cardinal(number) })
}
