//! When a caller has finished: how much silence their words need.
//!
//! The longer the silence, the less finished a sentence has to sound: the threshold falls from 100 at
//! `turn_taking.min_silence_ms` to 0 at `max_silence_ms`, and the turn ends where it meets the score of the words. That
//! moment is computed rather than polled; it is computed again whenever the words change.

use std::time::Duration;

use crate::agent::TurnTaking;
use crate::language::{Language, WordList, YesNo};

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
/// From this score on an end is likely enough to send the LLM request early.
const LIKELY: u32 = UNKNOWN;
const SENTENCE_ENDS: &[char] = &['.', '!', '?', '。', '！', '？', '।'];
const QUESTION_MARKS: &[char] = &['?', '？'];
const SUSPENSIONS: &[char] = &[',', ';', ':', '-', '\u{2014}', '\u{2026}', '、', '，'];

/// What is known about the caller's turn.
#[derive(Clone, Copy)]
pub(super) struct Spoken<'a> {
    pub(super) language: &'static Language,
    /// The words so far.
    pub(super) text: &'a str,
    /// Whether the STT is sure of them.
    pub(super) settled: bool,
    /// Whether the agent just asked something that is answered by yes or no.
    pub(super) yes_no: bool,
}

/// The silence after which this turn is over.
pub(super) fn silence_needed(spoken: Spoken<'_>, settings: &TurnTaking) -> Duration {
    let language = spoken.language;
    let hurry = spoken.yes_no && spoken.settled && is_answer(language, &language.words(spoken.text));
    let min = if hurry { settings.min_silence_ms * 3 / 4 } else { settings.min_silence_ms };
    let max = settings.max_silence_ms.max(min);
    Duration::from_millis(u64::from(min + (max - min) * (FINISHED - score(spoken)) / FINISHED))
}

/// Whether the LLM request may be sent before the silence is over.
pub(super) fn is_likely_end(spoken: Spoken<'_>) -> bool {
    spoken.settled && score(spoken) >= LIKELY
}

/// Whether an answer to `said` is probably yes or no.
pub(super) fn is_yes_no_question(said: &str, language: &Language) -> bool {
    let Some(question) = question(said, language).filter(|_| language.is_known()) else { return false };
    match language.yes_no {
        YesNo::By { first, after, tags } => {
            let last = question.rsplit(['.', '!', '?', ',']).next().unwrap_or(question);
            let words = language.words(last);
            let begins = words.iter().map(String::as_str).find(|word| !after.contains(word));
            begins.is_some_and(|word| first.contains(&word)) || tags.contains(&last.trim())
        }
        YesNo::Without(question_words) => {
            let last = question.rsplit(SENTENCE_ENDS).next().unwrap_or(question);
            let words = language.words(last);
            let asks = |question_word: &&str| {
                if language.spaced {
                    words.iter().any(|word| word == question_word)
                } else {
                    last.contains(question_word)
                }
            };
            !words.is_empty() && !question_words.iter().any(asks)
        }
    }
}

/// The text without the mark, or the ending, that makes it a question; nothing when it is none.
fn question<'t>(text: &'t str, language: &Language) -> Option<&'t str> {
    let text = text.trim_end();
    let plain = text.trim_end_matches('。');
    let ending = || language.question_endings.iter().find_map(|ending| plain.strip_suffix(ending));
    text.strip_suffix(QUESTION_MARKS).or_else(ending)
}

/// How finished the words sound, from 0 to 100.
fn score(spoken: Spoken<'_>) -> u32 {
    let language = spoken.language;
    let text = spoken.text.trim_end();
    let words = language.words(text);
    if words.is_empty() || !language.is_known() {
        return UNKNOWN;
    }
    let closed = spoken.settled && text.ends_with(SENTENCE_ENDS) && !text.ends_with("..");
    let open = language.ends_in(&words, language.always_open) || wants_another_word(language, &words, closed);
    if !spoken.settled {
        return if open { OPEN } else { UNKNOWN };
    }
    if is_answer(language, &words) {
        FINISHED
    } else if open && !is_dictating(language, &words) {
        OPEN
    } else if question(text, language).is_some() {
        FINISHED
    } else if is_dictating(language, &words) {
        DICTATING
    } else if closed {
        FINISHED
    } else if language.ends_in(&words, language.open_unless_closed) {
        OPEN
    } else if text.ends_with(SUSPENSIONS) || text.ends_with("..") {
        SUSPENDED
    } else {
        UNKNOWN
    }
}

/// Whether the last word is one that only some sentences end in, and this is none of them.
fn wants_another_word(language: &Language, words: &[String], closed: bool) -> bool {
    let (Some(stranding), Some((last, before))) = (language.stranding, words.split_last()) else { return false };
    let is_in = |list: WordList, word: &String| list.contains(&word.as_str());
    if is_in(stranding.prepositions, last) {
        let asks = before.iter().any(|word| is_in(stranding.question_words, word));
        return !(closed && asks);
    }
    if is_in(stranding.auxiliaries, last) {
        let pronoun = before.last().is_some_and(|word| is_in(stranding.pronouns, word));
        let answers = before.len() < 3 || before.first().is_some_and(|word| is_in(language.answers, word));
        return !(closed && pronoun && answers);
    }
    false
}

fn is_answer(language: &Language, words: &[String]) -> bool {
    if words.is_empty() || words.len() > 4 {
        return false;
    }
    let answers: Vec<Vec<String>> = language.answers.iter().map(|answer| language.words(answer)).collect();
    language.words_outside(words, &answers).is_empty()
}

/// Whether the last words are digits or single letters and more of them may come.
fn is_dictating(language: &Language, words: &[String]) -> bool {
    let is_dictated = |word: &&str| digits_of(language, word) > 0 || is_letter(language, word);
    let tail: Vec<&str> = words.iter().rev().map(String::as_str).take_while(is_dictated).collect();
    let digits: usize = tail.iter().map(|word| digits_of(language, word)).sum();
    let several = tail.len() > 1 || tail.first().is_some_and(|word| digits_of(language, word) > 2);
    several && digits < language.phone_digits
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
    use crate::language::ENGLISH;

    #[test]
    fn words_ask_for_more_or_less_silence() {
        let settings = TurnTaking::default(); // 400 to 2000 ms: each point below 100 costs 16 ms.
        let needed = |text, settled, yes_no| {
            silence_needed(Spoken { language: Language::of("en"), text, settled, yes_no }, &settings).as_millis()
        };
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
            ("I'd like to book a table for.", 2_000),
            ("Can I get a table for?", 2_000),
            ("Is there a.", 2_000),
            ("Where are you from?", 400),
            ("I don't know what to ask for.", 400),
            ("Yes, it is.", 400),
            ("I think the place is.", 2_000),
            ("The best time would be.", 2_000),
            ("Could you.", 2_000),
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
            assert!(is_yes_no_question(said, &ENGLISH), "{said}");
        }
        for said in ["What is your name?", "Is it. Well.", "", "How many are you?"] {
            assert!(!is_yes_no_question(said, &ENGLISH), "{said}");
        }
    }

    /// Silence that settled words need in a language, in milliseconds.
    fn needed(language: &str, text: &str) -> u128 {
        let spoken = Spoken { language: Language::of(language), text, settled: true, yes_no: false };
        silence_needed(spoken, &TurnTaking::default()).as_millis()
    }

    #[test]
    fn every_language_tells_finished_turns_from_open_ones() {
        const WHOLE: u128 = 400;
        const PLAIN: u128 = 800;
        const DICTATED: u128 = 1_360;
        const COMMA: u128 = 1_680;
        const MORE: u128 = 2_000;
        let table = [
            ("de", "Ich möchte einen Tisch reservieren.", WHOLE),
            ("de", "ja gerne", WHOLE),
            ("de", "Rufen Sie mich bitte an.", WHOLE),
            ("de", "morgen um sieben", PLAIN),
            ("de", "Ich möchte einen Tisch, weil.", MORE),
            ("de", "Einen Tisch für zwei und ähm.", MORE),
            ("de", "ich hätte gerne", MORE),
            ("de", "Mein Name ist.", MORE),
            ("de", "null eins sieben sechs", DICTATED),
            ("de", "Also, ich wollte fragen,", COMMA),
            ("es", "Quisiera reservar una mesa.", WHOLE),
            ("es", "sí, por favor", WHOLE),
            ("es", "A las siete y cinco.", WHOLE),
            ("es", "Una mesa para.", MORE),
            ("es", "es que", MORE),
            ("es", "seis cinco cuatro", DICTATED),
            ("es", "seis cinco cuatro tres dos uno cero nueve ocho", PLAIN),
            ("fr", "Je voudrais réserver une table.", WHOLE),
            ("fr", "Oui, c\u{2019}est ça", WHOLE),
            ("fr", "Une table pour deux parce que.", MORE),
            ("fr", "je m\u{2019}appelle", MORE),
            ("fr", "zéro six douze quarante-deux", DICTATED),
            ("fr", "zéro six douze quarante-deux quarante-deux trente-trois vingt-huit", PLAIN),
            ("it", "Vorrei prenotare un tavolo.", WHOLE),
            ("it", "va bene", WHOLE),
            ("it", "Un tavolo per.", MORE),
            ("it", "mi chiamo", MORE),
            ("it", "tre quattro sette", DICTATED),
            ("pt", "Queria reservar uma mesa.", WHOLE),
            ("pt", "sim, por favor", WHOLE),
            ("pt", "Uma mesa para duas pessoas e.", MORE),
            ("pt", "meu nome é", MORE),
            ("pt-BR", "nove nove meia", DICTATED),
            ("nl", "Ik wil graag een tafel reserveren.", WHOLE),
            ("nl", "ja hoor", WHOLE),
            ("nl", "Een tafel voor twee en.", MORE),
            ("nl", "ik wil graag", MORE),
            ("nl", "nul zes een twee", DICTATED),
            ("hi", "मुझे कल के लिए एक मेज़ चाहिए।", WHOLE),
            ("hi", "जी हाँ", WHOLE),
            ("hi", "दिल्ली से।", WHOLE),
            ("hi", "मुझे दिल्ली से", MORE),
            ("hi", "कल शाम को और।", MORE),
            ("hi", "मेरा नाम है", MORE),
            ("hi", "नौ आठ सात", DICTATED),
            ("hi", "९८७ ६५", DICTATED),
            ("ja", "予約をお願いします。", WHOLE),
            ("ja", "はい、そうです", WHOLE),
            ("ja", "明日は空いていますか", WHOLE),
            ("ja", "予約したいんですが", PLAIN),
            ("ja", "明日の七時に", MORE),
            ("ja", "予約をしたいので、えっと。", MORE),
            ("ja", "名前は", MORE),
            ("ja", "090 1234", DICTATED),
        ];
        for (language, text, expected) in table {
            assert_eq!(needed(language, text), expected, "{language}: {text}");
        }
    }

    #[test]
    fn without_a_table_silence_alone_ends_a_turn() {
        for text in ["Jag vill boka ett bord.", "och", "yes", "and", "my name is", "Vad kostar det?", "555 1234,"] {
            assert_eq!(needed("sv", text), 800, "{text}");
        }
        assert!(!is_yes_no_question("Is that right?", Language::of("sv")));
    }

    #[test]
    fn other_languages_know_yes_no_questions_by_having_no_question_word() {
        let table = [
            ("de", "Gerne. Passt Ihnen sieben Uhr?", true),
            ("de", "Gut, um wie viel Uhr möchten Sie kommen?", false),
            ("es", "¿Le va bien a las siete?", true),
            ("es", "¿A qué hora?", false),
            ("fr", "Est-ce que cela vous convient ?", true),
            ("fr", "C'est à quel nom ?", false),
            ("it", "Le va bene alle sette?", true),
            ("pt", "Para quantas pessoas?", false),
            ("nl", "Klopt dat?", true),
            ("hi", "क्या यह सही है?", true),
            ("hi", "आप कब आना चाहेंगे?", false),
            ("ja", "七時でよろしいでしょうか。", true),
            ("ja", "お名前は何とおっしゃいますか。", false),
            ("ja", "かしこまりました。", false),
        ];
        for (language, said, expected) in table {
            assert_eq!(is_yes_no_question(said, Language::of(language)), expected, "{said}");
        }
    }
}
