//! Digits and letters that a caller dictates: detects whether more will follow.

use super::question::{is_request, is_yes_no_question};
use crate::language::{Language, WordList};

/// How complete a dictation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dictation {
    /// One group of it.
    Begun,
    /// Several groups, or letters: their number is unknown.
    Partial,
    /// A common length, though there are longer ones.
    Usual,
    /// The full length of such a number.
    Complete,
}

/// The number of digits of a card number.
const CARD_DIGITS: usize = 16;
/// The usual maximum length of a group of digits.
const GROUP: usize = 4;
/// The number of digits of a local telephone number in North America.
const LOCAL_DIGITS: usize = 7;
/// Currency signs.
const CURRENCIES: &[char] = &['$', '€', '£', '¥', '₹'];

/// Returns the state of the dictation that the last words are part of, in response to what the agent asked. `closed`: the STT has closed the
/// sentence.
pub(super) fn dictation(language: &Language, text: &str, asked: &str, closed: bool) -> Option<Dictation> {
    let is_dictated = |word: &&str| digits_of(language, word) > 0 || is_letter(language, word);
    let words = language.words(behind_amounts(text));
    let tail: Vec<&str> = words.iter().rev().map(String::as_str).take_while(is_dictated).collect();
    let digits: usize = tail.iter().map(|word| digits_of(language, word)).sum();
    let several = tail.len() > 1 || tail.first().is_some_and(|word| digits_of(language, word) > 2);
    if !several {
        return None;
    }
    // "Room 204." contains a number but is not a dictation.
    let one_group = closed && tail.len() == 1 && digits <= GROUP;
    if one_group && !asks_number(language, asked) && !mentions(language.asks_number, language, text) {
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

/// Returns what follows the last time of day or amount of money: "7:30" and "$120" are not dictated.
fn behind_amounts(text: &str) -> &str {
    let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    let follows_digit = |at: usize| is_digit(text[..at].chars().next_back());
    let marks = |(at, c): &(usize, char)| {
        let within_digits = || follows_digit(*at) && is_digit(text[at + c.len_utf8()..].chars().next());
        CURRENCIES.contains(c) || (matches!(c, ':' | '：') && within_digits())
    };
    let Some((at, mark)) = text.char_indices().rev().find(marks) else { return text };
    let behind = &text[at + mark.len_utf8()..];
    if CURRENCIES.contains(&mark) && follows_digit(at) {
        return behind; // As in 120 €.
    }
    behind.trim_start().trim_start_matches(|c: char| c.is_numeric() || matches!(c, '.' | ','))
}

/// Returns whether the agent has asked for a number or a spelling that is dictated, rather than whether one is right.
pub(super) fn asks_number(language: &Language, asked: &str) -> bool {
    asks(language.asks_number, language, asked) && !is_confirmation(language, asked)
}

/// Returns whether the question takes yes or no, like "Is that the right number?" but not "Could you tell me your number?". Without a table of
/// requests for the language, the two cannot be distinguished.
fn is_confirmation(language: &Language, asked: &str) -> bool {
    let known = !language.requests.is_empty();
    known && is_yes_no_question(asked, language) && !is_request(last_sentence(asked), language)
}

fn asks(by: WordList, language: &Language, asked: &str) -> bool {
    asked.ends_with(['?', '？', '.', '。']) && mentions(by, language, last_sentence(asked))
}

fn last_sentence(text: &str) -> &str {
    text.trim_end_matches(['?', '？', '.', '。', ' ']).rsplit(['.', '!', '?', '。']).next().unwrap_or_default()
}

fn mentions(any: WordList, language: &Language, text: &str) -> bool {
    if language.spaced {
        language.words(text).iter().any(|word| any.contains(&word.as_str()))
    } else {
        any.iter().any(|word| text.contains(word))
    }
}

/// Returns whether a word is a letter that is being spelled.
fn is_letter(language: &Language, word: &str) -> bool {
    word.chars().count() == 1 && (language.spaced || word.is_ascii()) && !language.one_letter_words.contains(&word)
}

/// Returns how many digits a word stands for.
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
            assert_eq!(dictation(language, text, asked, false), expected, "{text}");
        }
        for (text, rest) in
            [("at 7:30, 555", " 555"), ("it's: 555", "it's: 555"), ("€ 1,200.50 5 5", " 5 5"), ("120€ 555", " 555")]
        {
            assert_eq!(behind_amounts(text), rest, "{text}");
        }
        assert!(asks_number(language, phone) && asks_number(language, card));
        assert!(
            !asks_number(language, "What is your name?") && !asks_number(language, "Your number is 5. Anything else?")
        );
    }
}
