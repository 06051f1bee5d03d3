//! Digits and letters that a caller dictates: whether more of them are to come.

use crate::language::Language;

/// How far a dictation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dictation {
    /// One group of it.
    Begun,
    /// Several groups, or letters: nobody knows how many there are.
    Partial,
    /// A length that is usual, though there are longer ones.
    Usual,
    /// As long as such numbers are.
    Complete,
}

/// Digits of a card's number.
const CARD_DIGITS: usize = 16;
/// A group of digits is seldom longer.
const GROUP: usize = 4;
/// Local telephone numbers have this many digits in North America.
const LOCAL_DIGITS: usize = 7;

/// The dictation that the last words are part of, in response to what the agent asked.
pub(super) fn dictation(language: &Language, words: &[String], asked: &str) -> Option<Dictation> {
    let is_dictated = |word: &&str| digits_of(language, word) > 0 || is_letter(language, word);
    let tail: Vec<&str> = words.iter().rev().map(String::as_str).take_while(is_dictated).collect();
    let digits: usize = tail.iter().map(|word| digits_of(language, word)).sum();
    let several = tail.len() > 1 || tail.first().is_some_and(|word| digits_of(language, word) > 2);
    if !several {
        return None;
    }
    let letters = tail.iter().any(|word| digits_of(language, word) == 0);
    let expected = if asks(language.asks_card, language, asked) { CARD_DIGITS } else { language.phone_digits };
    Some(match digits {
        _ if digits >= expected => Dictation::Complete,
        LOCAL_DIGITS if expected == 10 && !letters => Dictation::Usual,
        0..=GROUP if !letters => Dictation::Begun,
        _ => Dictation::Partial,
    })
}

/// Whether the agent has asked for a number that is dictated.
pub(super) fn asks_number(language: &Language, asked: &str) -> bool {
    asks(language.asks_number, language, asked)
}

fn asks(by: &[&str], language: &Language, asked: &str) -> bool {
    if by.is_empty() || !asked.ends_with(['?', '？', '.', '。']) {
        return false;
    }
    let lower = asked.to_lowercase();
    let last =
        lower.trim_end_matches(['?', '？', '.', '。', ' ']).rsplit(['.', '!', '?', '。']).next().unwrap_or_default();
    if language.spaced {
        language.words(last).iter().any(|word| by.contains(&word.as_str()))
    } else {
        by.iter().any(|word| last.contains(word))
    }
}

/// Whether a word is a letter that is being spelled.
fn is_letter(language: &Language, word: &str) -> bool {
    word.chars().count() == 1 && (language.spaced || word.is_ascii()) && !language.one_letter_words.contains(&word)
}

/// How many digits a word stands for.
fn digits_of(language: &Language, word: &str) -> usize {
    let is_digit = |part: &str| language.digits.contains(&part);
    if is_digit(word) {
        return 1;
    }
    if word.contains('-') && word.split('-').all(is_digit) {
        return 2; // As in quarante-deux.
    }
    let digits = word.chars().filter(|c| c.is_numeric()).count();
    let numeric = word.chars().all(|c| c.is_numeric() || !c.is_alphanumeric());
    if numeric { digits } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_digits_are_expected_as_such_numbers_have() {
        let language = Language::of("en");
        let (phone, card) = ("What is your phone number?", "Please read me the number of your card.");
        let table = [
            ("at seven", phone, None),
            ("five five five", phone, Some(Dictation::Begun)),
            ("it's 555", phone, Some(Dictation::Begun)),
            ("five five five zero one", phone, Some(Dictation::Partial)),
            ("555 0193", phone, Some(Dictation::Usual)),
            ("two oh two five five five zero one two two", phone, Some(Dictation::Complete)),
            ("202-555-0123", card, Some(Dictation::Partial)),
            ("4000 1234 5678 9010", card, Some(Dictation::Complete)),
            ("m i l", "How do you spell that?", Some(Dictation::Partial)),
        ];
        for (text, asked, expected) in table {
            assert_eq!(dictation(language, &language.words(text), asked), expected, "{text}");
        }
        assert!(asks_number(language, phone) && asks_number(language, card));
        assert!(
            !asks_number(language, "What is your name?") && !asks_number(language, "Your number is 5. Anything else?")
        );
    }
}
