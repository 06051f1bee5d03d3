//! Evidence for or against the end of a caller's turn.
//!
//! Only the strongest evidence from the form of the sentence counts; the agent's question and the caller's way of speaking are added to it. The
//! punctuation of STT is weak evidence: local models put a full stop at every pause.

use super::dictation::{self, Dictation};
use super::question::{is_question, is_yes_no_question};
use super::weights::WEIGHTS;
use crate::language::{Language, WordList};

/// One kind of evidence. Its weight is in `weights.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Evidence {
    /// There is voice but no text.
    NoWords,
    /// The text is not final.
    NotFinal,
    /// Only an answer such as "yes"; half if the agent asked no such question.
    Answer,
    /// The last word requires another one: "a table for".
    OpenWord,
    /// The last word usually has another one after it: "I could come on".
    LooseWord,
    /// The first digits or letters of several.
    DictationBegun,
    /// Digits or letters, fewer than expected.
    DictationPartial,
    /// As many digits as expected; 0 for a common length that may still be longer.
    DictationComplete,
    /// A question of several words.
    Question,
    /// A question mark after a text that is not a question, or a question of two or three words.
    DoubtfulQuestion,
    /// A sentence that the STT has closed.
    ClosedSentence,
    /// A comma or dash.
    Suspension,
    /// It begins like a request.
    Request,
    /// One or two words that do not answer a question from the agent.
    ShortPhrase,
    /// One or two words, as the agent's question asks for.
    ShortAnswer,
    /// The last word is a verb that needs an object.
    MissingObject,
    /// A subordinate clause without a main clause.
    SubordinateClause,
    /// The agent asked for a number or a spelling, and the turn has neither.
    MissingNumber,
    /// This caller pauses within turns; 1 for each 400 ms above 400.
    LongPauses,
    /// The language has no table of words.
    UnknownLanguage,
}

impl Evidence {
    /// The number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// All kinds, in the order of the weights.
    pub const ALL: [Self; 20] = [
        Self::NoWords,
        Self::NotFinal,
        Self::Answer,
        Self::OpenWord,
        Self::LooseWord,
        Self::DictationBegun,
        Self::DictationPartial,
        Self::DictationComplete,
        Self::Question,
        Self::DoubtfulQuestion,
        Self::ClosedSentence,
        Self::Suspension,
        Self::Request,
        Self::ShortPhrase,
        Self::ShortAnswer,
        Self::MissingObject,
        Self::SubordinateClause,
        Self::MissingNumber,
        Self::LongPauses,
        Self::UnknownLanguage,
    ];

    /// Returns the log odds that a value of 1 adds to an end.
    #[must_use]
    pub fn weight(self) -> f32 {
        WEIGHTS[self as usize]
    }

    /// Returns its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoWords => "no_words",
            Self::NotFinal => "not_final",
            Self::Answer => "answer",
            Self::OpenWord => "open_word",
            Self::LooseWord => "loose_word",
            Self::DictationBegun => "dictation_begun",
            Self::DictationPartial => "dictation_partial",
            Self::DictationComplete => "dictation_complete",
            Self::Question => "question",
            Self::DoubtfulQuestion => "doubtful_question",
            Self::ClosedSentence => "closed_sentence",
            Self::Suspension => "suspension",
            Self::Request => "request",
            Self::ShortPhrase => "short_phrase",
            Self::ShortAnswer => "short_answer",
            Self::MissingObject => "missing_object",
            Self::SubordinateClause => "subordinate_clause",
            Self::MissingNumber => "missing_number",
            Self::LongPauses => "long_pauses",
            Self::UnknownLanguage => "unknown_language",
        }
    }
}

const _: () = assert!(WEIGHTS.len() == Evidence::COUNT, "each kind of evidence needs a weight");

const SENTENCE_ENDS: &[char] = &['.', '!', '?', '。', '！', '？', '।'];
const SUSPENSIONS: &[char] = &[',', ';', ':', '-', '\u{2014}', '\u{2026}', '、', '，'];
/// A clause with more words may include its main clause.
const SHORT_CLAUSE: usize = 6;
/// A request with fewer words may be only the beginning of one.
const SHORTEST_REQUEST: usize = 5;

/// The caller's turn so far, with its context.
#[derive(Clone, Copy)]
pub struct Spoken<'a> {
    /// The language.
    pub language: &'static Language,
    /// The text so far.
    pub text: &'a str,
    /// Whether the STT's transcript is final.
    pub is_final: bool,
    /// The agent's last sentence.
    pub asked: &'a str,
    /// The average length of this caller's pauses within turns, in milliseconds; `None` before the first.
    pub pauses_ms: Option<u32>,
}

/// Evidence with its amount: 1 unless the kind defines otherwise.
pub type Found = Vec<(Evidence, f32)>;

/// Returns the evidence in a turn so far.
#[must_use]
pub fn evidence(spoken: Spoken<'_>) -> Found {
    let mut found = Found::new();
    if let Some(pauses) = spoken.pauses_ms.filter(|pauses| *pauses > 400) {
        #[expect(clippy::cast_precision_loss, reason = "no pause within a turn is that long")]
        found.push((Evidence::LongPauses, ((pauses - 400) as f32 / 400.0).min(2.0)));
    }
    let words = spoken.language.words(spoken.text);
    if words.is_empty() {
        found.push((Evidence::NoWords, 1.0));
    } else if spoken.language.is_known() {
        of_words(spoken, &words, &mut found);
    } else {
        found.push((Evidence::UnknownLanguage, 1.0));
    }
    found
}

fn of_words(spoken: Spoken<'_>, words: &[String], found: &mut Found) {
    let Spoken { language, asked, is_final, .. } = spoken;
    let text = spoken.text.trim_end();
    let closed = is_final && text.ends_with(SENTENCE_ENDS) && !text.ends_with("..");
    if !is_final {
        found.push((Evidence::NotFinal, 1.0));
    }
    if is_final && is_answer(language, words) {
        let fits = if is_yes_no_question(asked, language) { 1.0 } else { 0.5 };
        return found.push((Evidence::Answer, fits));
    }
    let asks_number = dictation::asks_number(language, asked);
    let may_dictate = is_final && (asks_number || !is_whole_question(language, text));
    if let Some(dictation) = dictation::dictation(language, text, asked, closed).filter(|_| may_dictate) {
        return found.push(match dictation {
            Dictation::Begun => (Evidence::DictationBegun, 1.0),
            Dictation::Partial => (Evidence::DictationPartial, 1.0),
            Dictation::Usual => (Evidence::DictationComplete, 0.0),
            Dictation::Complete => (Evidence::DictationComplete, 1.0),
        });
    }
    if language.ends_in(words, language.always_open) || wants_another_word(language, words, closed) {
        return found.push((Evidence::OpenWord, 1.0));
    }
    if !is_final {
        return;
    }
    of_sentence(language, text, words, closed, found);
    if asks_number {
        found.push((Evidence::MissingNumber, 1.0));
    } else if language.spaced && words.len() <= 2 {
        let fits = is_question(asked, language) && !is_yes_no_question(asked, language);
        found.push((if fits { Evidence::ShortAnswer } else { Evidence::ShortPhrase }, 1.0));
    }
}

/// Adds evidence from the form of the last sentence.
fn of_sentence(language: &Language, text: &str, words: &[String], closed: bool, found: &mut Found) {
    let last = last_sentence(text);
    let sentence = language.words(last);
    if is_question(text, language) {
        let whole = is_whole_question(language, text);
        found.push((if whole { Evidence::Question } else { Evidence::DoubtfulQuestion }, 1.0));
    } else if language.ends_in(words, language.open_unless_closed) && !(closed && is_particle(language, words)) {
        found.push((Evidence::LooseWord, 1.0));
    } else if closed {
        found.push((Evidence::ClosedSentence, 1.0));
    } else if text.ends_with(SUSPENSIONS) || text.ends_with("..") {
        found.push((Evidence::Suspension, 1.0));
    }
    // "What should I bring?" has its object in front.
    if language.ends_in(words, language.wants_object) && !is_whole_question(language, text) {
        found.push((Evidence::MissingObject, 1.0));
    }
    let asks = is_question(text, language);
    if !asks
        && sentence.len() <= SHORT_CLAUSE
        && sentence.first().is_some_and(|first| is_in(language.subordinators, first))
    {
        found.push((Evidence::SubordinateClause, 1.0));
    }
    if words.len() >= SHORTEST_REQUEST && begins_with(words, language.requests) {
        found.push((Evidence::Request, 1.0));
    }
}

/// Returns whether the last sentence is a question by its words and not only by its question mark.
fn is_whole_question(language: &Language, text: &str) -> bool {
    let last = last_sentence(text);
    let sentence = language.words(last);
    let asks = is_yes_no_question(last, language) || asks_by_word(language, &sentence);
    let whole = !language.spaced || sentence.len() > 3;
    is_question(text, language) && asks && whole
}

fn is_in(list: WordList, word: &str) -> bool {
    list.contains(&word)
}

fn begins_with(words: &[String], phrases: WordList) -> bool {
    let begins = |phrase: &&str| {
        let mut words = words.iter();
        phrase.split(' ').all(|word| words.next().is_some_and(|next| next == word))
    };
    phrases.iter().any(begins)
}

fn last_sentence(text: &str) -> &str {
    let whole = text.trim_end_matches(|c: char| SENTENCE_ENDS.contains(&c) || c.is_whitespace());
    let start = whole.rfind(SENTENCE_ENDS).map_or(0, |at| at + whole[at..].chars().next().map_or(0, char::len_utf8));
    text[start..].trim()
}

/// Returns whether the sentence has a question word, in languages that mark questions with them.
fn asks_by_word(language: &Language, words: &[String]) -> bool {
    match language.stranding {
        Some(stranding) => {
            words.iter().any(|word| is_in(stranding.question_words, word) || word == "when" || word == "why")
        }
        None => true,
    }
}

/// Returns whether the last word belongs to a verb, as in "turn it on".
fn is_particle(language: &Language, words: &[String]) -> bool {
    let before = words.len().checked_sub(2).and_then(|at| words.get(at));
    language.stranding.is_none_or(|stranding| before.is_some_and(|word| is_in(stranding.pronouns, word)))
}

/// Returns whether the last word can end only some sentences, and this is not one of them.
fn wants_another_word(language: &Language, words: &[String], closed: bool) -> bool {
    let (Some(stranding), Some((last, before))) = (language.stranding, words.split_last()) else { return false };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, asked: &str) -> Vec<Evidence> {
        let spoken = Spoken { language: Language::of("en"), text, is_final: true, asked, pauses_ms: None };
        evidence(spoken).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn every_kind_has_a_place_and_a_name_of_its_own() {
        for (at, kind) in Evidence::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
            assert!(Evidence::ALL.iter().filter(|other| other.name() == kind.name()).count() == 1, "{}", kind.name());
        }
    }

    #[test]
    fn the_form_of_the_last_sentence_counts() {
        let help = "How can I help you?";
        let table: &[(&str, &str, &[Evidence])] = &[
            ("I'd like to book a table for.", help, &[Evidence::OpenWord]),
            ("I'd like to book a table.", help, &[Evidence::ClosedSentence, Evidence::Request]),
            ("My order has not arrived.", help, &[Evidence::ClosedSentence]),
            ("Hello. When do you close today?", help, &[Evidence::Question]),
            ("Or what five?", help, &[Evidence::DoubtfulQuestion]),
            ("I could come on.", help, &[Evidence::LooseWord]),
            ("Please turn it on.", help, &[Evidence::ClosedSentence]),
            ("I want to know.", help, &[Evidence::OpenWord]),
            ("If it rains on Saturday,", help, &[Evidence::Suspension, Evidence::SubordinateClause]),
            ("Friday.", "Which day suits you?", &[Evidence::ClosedSentence, Evidence::ShortAnswer]),
            ("Friday.", "I am listening.", &[Evidence::ClosedSentence, Evidence::ShortPhrase]),
            ("Yes.", "Is that right?", &[Evidence::Answer]),
            ("My number is five five five.", "What is your number?", &[Evidence::DictationBegun]),
            ("Sure, it's", "What is your number?", &[Evidence::OpenWord]),
            ("Sure, one moment.", "What is your number?", &[Evidence::ClosedSentence, Evidence::MissingNumber]),
            (
                "Sure, one moment.",
                "Could you tell me your phone number?",
                &[Evidence::ClosedSentence, Evidence::MissingNumber],
            ),
            ("It's the right one.", "Is that the right number?", &[Evidence::ClosedSentence]),
            ("It has changed.", "Your number ends in twelve, right?", &[Evidence::ClosedSentence]),
            ("555.", "What is your number?", &[Evidence::DictationBegun]),
            ("555.", "Could you tell me your number?", &[Evidence::DictationBegun]),
            ("", help, &[Evidence::NoWords]),
        ];
        for (text, asked, expected) in table {
            assert_eq!(found(text, asked), *expected, "{text}");
        }
    }

    #[test]
    fn a_number_is_due_where_it_is_asked_for_and_not_where_it_is_confirmed() {
        let table = [
            ("de", "Wie ist Ihre Telefonnummer?", true),
            ("de", "Könnten Sie mir Ihre Telefonnummer nennen?", true),
            ("de", "Darf ich Ihre Telefonnummer haben?", true),
            ("de", "Ist das die richtige Telefonnummer?", false),
            ("es", "¿Me puede dar su número de teléfono?", true),
            ("es", "¿Es correcto el número?", false),
            ("fr", "Puis-je avoir votre numéro ?", true),
            ("fr", "C'est le bon numéro ?", false),
            ("it", "Mi può dare il suo numero?", true),
            ("it", "È il numero giusto?", false),
            ("nl", "Mag ik uw telefoonnummer?", true),
            ("nl", "Klopt het nummer?", false),
            ("pt", "Pode me dizer o seu número?", true),
            ("pt", "O número está certo?", false),
            ("hi", "क्या आप अपना नंबर बता सकते हैं?", true),
            ("ja", "お電話番号を教えていただけますか。", true),
            ("de", "Könnten Sie Ihren Namen buchstabieren?", true),
            ("es", "¿Me lo puede deletrear?", true),
            ("fr", "Pouvez-vous l'épeler ?", true),
            ("nl", "Kunt u uw naam spellen?", true),
            ("pt", "Pode soletrar o seu apelido?", true),
        ];
        for (language, asked, due) in table {
            assert_eq!(dictation::asks_number(Language::of(language), asked), due, "{asked}");
        }
    }

    #[test]
    fn an_unknown_language_has_no_words_to_judge_by() {
        let spoken =
            Spoken { language: Language::of("sv"), text: "och", is_final: true, asked: "", pauses_ms: Some(800) };
        assert_eq!(evidence(spoken), [(Evidence::LongPauses, 1.0), (Evidence::UnknownLanguage, 1.0)]);
    }
}
