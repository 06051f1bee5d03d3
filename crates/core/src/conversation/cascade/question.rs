//! Recognises questions, and those that take yes or no.

use crate::language::{Language, YesNo};

const SENTENCE_ENDS: &[char] = &['.', '!', '?', '。', '！', '？', '।'];
const QUESTION_MARKS: &[char] = &['?', '？'];

/// Returns whether a text ends in a question.
pub(super) fn is_question(text: &str, language: &Language) -> bool {
    question(text, language).is_some()
}

/// Returns whether an answer to `said` is probably yes or no.
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

/// Returns whether it is phrased as a request: "Could you tell me your number?" needs more than "yes".
pub(super) fn is_request(said: &str, language: &Language) -> bool {
    let words = format!(" {} ", language.words(said).join(" "));
    language.requests.iter().any(|request| words.contains(&format!(" {request} ")))
}

/// Returns the text without the mark or ending that makes it a question; `None` if it is not one.
fn question<'t>(text: &'t str, language: &Language) -> Option<&'t str> {
    let text = text.trim_end();
    let plain = text.trim_end_matches('。');
    let ending = || language.question_endings.iter().find_map(|ending| plain.strip_suffix(ending));
    text.strip_suffix(QUESTION_MARKS).or_else(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::ENGLISH;

    #[test]
    fn yes_no_questions_are_known_by_their_first_word() {
        for said in ["Fine. Is that right?", "Would you like that?", "So, do you come?", "Eight, correct?"] {
            assert!(is_yes_no_question(said, &ENGLISH), "{said}");
        }
        for said in ["What is your name?", "Is it. Well.", "", "How many are you?"] {
            assert!(!is_yes_no_question(said, &ENGLISH), "{said}");
        }
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
