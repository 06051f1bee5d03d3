//! Abbreviations and signs, and how they are spoken.

use super::{Reading, Word};

/// Abbreviations with a full stop. Matched without regard to case.
const SHORT: [(&str, &str); 35] = [
    ("mr", "Mister"),
    ("mrs", "Missus"),
    ("ms", "Miz"),
    ("prof", "Professor"),
    ("jr", "Junior"),
    ("sr", "Senior"),
    ("ave", "Avenue"),
    ("blvd", "Boulevard"),
    ("rd", "Road"),
    ("ln", "Lane"),
    ("ct", "Court"),
    ("pl", "Place"),
    ("hwy", "Highway"),
    ("pkwy", "Parkway"),
    ("sq", "Square"),
    ("apt", "apartment"),
    ("ste", "suite"),
    ("fl", "floor"),
    ("dept", "department"),
    ("ext", "extension"),
    ("approx", "approximately"),
    ("vs", "versus"),
    ("etc", "et cetera"),
    ("e.g", "for example"),
    ("i.e", "that is"),
    ("min", "minutes"),
    ("hr", "hour"),
    ("hrs", "hours"),
    ("tel", "telephone"),
    ("inc", "Incorporated"),
    ("ltd", "Limited"),
    ("corp", "Corporation"),
    ("co", "Company"),
    ("govt", "government"),
    ("appt", "appointment"),
];

/// Abbreviations that need no full stop, in exactly this spelling.
const BARE: [(&str, &str); 16] = [
    ("Mr", "Mister"),
    ("Mrs", "Missus"),
    ("Ms", "Miz"),
    ("Ave", "Avenue"),
    ("Blvd", "Boulevard"),
    ("Rd", "Road"),
    ("Apt", "apartment"),
    ("apt", "apartment"),
    ("ext", "extension"),
    ("vs", "versus"),
    ("&", "and"),
    ("+", "plus"),
    ("=", "equals"),
    ("@", "at"),
    ("w/", "with"),
    ("%", "percent"),
];

const DAYS: [(&str, &str); 9] = [
    ("mon", "Monday"),
    ("tue", "Tuesday"),
    ("tues", "Tuesday"),
    ("wed", "Wednesday"),
    ("thu", "Thursday"),
    ("thurs", "Thursday"),
    ("fri", "Friday"),
    ("sat", "Saturday"),
    ("sun", "Sunday"),
];

const STREETS: [&str; 18] = [
    "street",
    "st",
    "avenue",
    "ave",
    "road",
    "rd",
    "boulevard",
    "blvd",
    "lane",
    "ln",
    "drive",
    "dr",
    "court",
    "ct",
    "way",
    "place",
    "pl",
    "square",
];

/// Returns whether the words after the first, a number, name a street: "123 Oak Street".
pub(super) fn is_street_ahead(words: &[Word<'_>]) -> bool {
    let street = |word: &Word<'_>| STREETS.iter().any(|street| word.core.eq_ignore_ascii_case(street));
    let named = words.get(1).is_some_and(Word::is_capitalised) && words[0].tail.is_empty();
    named && words.iter().skip(2).take(2).any(street)
}

/// Reads an abbreviation or a sign. `before` and `number_before` distinguish "12 Oak Dr." from "Dr. Oak".
pub(super) fn abbreviation(words: &[Word<'_>], before: Option<&Word<'_>>, number_before: bool) -> Option<Reading> {
    let word = words.first()?;
    let name_before = before.is_some_and(|word| word.is_capitalised() && word.tail.is_empty());
    let name_after = words.get(1).is_some_and(Word::is_capitalised);
    let two_ways = match word.core {
        "Dr" if name_before && number_before => Some("Drive"),
        "Dr" if name_after => Some("Doctor"),
        "Dr" if name_before => Some("Drive"),
        "Dr" => Some("Doctor"),
        "St" if name_before => Some("Street"),
        "St" if name_after => Some("Saint"),
        "St" => Some("Street"),
        "No" if word.has_dot()
            && words.get(1).is_some_and(|next| next.core.starts_with(|c: char| c.is_ascii_digit())) =>
        {
            Some("number")
        }
        _ => None,
    };
    let look = |table: &[(&'static str, &'static str)]| {
        table.iter().find(|(short, _)| word.core.eq_ignore_ascii_case(short)).map(|(_, long)| *long)
    };
    let dotted = word.has_dot().then(|| look(&SHORT).or_else(|| word.is_capitalised().then(|| look(&DAYS)).flatten()));
    let bare = || BARE.iter().find(|(short, _)| word.core == *short).map(|(_, long)| *long);
    let long = two_ways.or(dotted.flatten()).or_else(bare)?;
    Some(Reading::words(1, long.to_owned()).ends_with_dot_of(word))
}
