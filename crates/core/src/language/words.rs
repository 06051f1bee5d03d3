//! Splits text of a language into words.

use super::{Language, WordList, YesNo};

/// Punctuation that ends a word even without a space after it.
const SEPARATORS: &[char] = &[',', '、', '，', '。', '！', '？', '।'];

/// Punctuation that ends a sentence.
const SENTENCE_ENDS: &[char] = &['.', '!', '?', ';', '。', '！', '？', '।'];

impl Language {
    /// Returns the words of a text in lower case, without punctuation around them. Text without spaces is split at known words and at changes of
    /// script.
    #[must_use]
    pub fn words(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for chunk in text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(&c)) {
            let word = chunk.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('\u{2019}', "'");
            if word.is_empty() {
                continue;
            }
            if self.spaced { words.push(word) } else { self.split_unspaced(&word, &mut words) }
        }
        words
    }

    fn split_unspaced(&self, chunk: &str, words: &mut Vec<String>) {
        let mut unknown = String::new();
        let mut rest = chunk;
        while let Some(next) = rest.chars().next() {
            let boundary = unknown.chars().next_back().is_none_or(|last| ends_run(last, next));
            if boundary && !unknown.is_empty() {
                words.push(std::mem::take(&mut unknown));
            }
            let known =
                self.known_words().filter(|word| boundary && rest.starts_with(word)).max_by_key(|word| word.len());
            match known {
                Some(word) => words.push(word.to_owned()),
                None => unknown.push(next),
            }
            rest = &rest[known.map_or(next.len_utf8(), str::len)..];
        }
        words.extend(Some(unknown).filter(|word| !word.is_empty()));
    }

    fn known_words(&self) -> impl Iterator<Item = &'static str> {
        let lists = [
            self.backchannels,
            self.commands,
            self.hesitations,
            self.farewells,
            self.courtesies,
            self.answers,
            self.digits,
        ];
        lists.into_iter().flatten().copied()
    }

    /// Returns the words that are left without these phrases.
    pub(crate) fn words_outside<'w>(&self, words: &'w [String], phrases: &[Vec<String>]) -> Vec<&'w str> {
        let mut rest = words;
        let mut left = Vec::new();
        while let Some((first, after)) = rest.split_first() {
            let phrase =
                phrases.iter().filter(|phrase| !phrase.is_empty() && rest.starts_with(phrase)).map(Vec::len).max();
            if phrase.is_none() {
                left.push(first.as_str());
            }
            rest = phrase.map_or(after, |length| &rest[length..]);
        }
        left
    }

    /// Returns whether the last words are one of these phrases.
    pub(crate) fn ends_in(&self, words: &[String], phrases: WordList) -> bool {
        let text = words.join(if self.spaced { " " } else { "" });
        let ends = |before: &str| !self.spaced || before.is_empty() || before.ends_with(' ');
        phrases.iter().any(|phrase| text.strip_suffix(phrase).is_some_and(ends))
    }

    /// Returns which kind of machine says this; `None` if people also say it. Before its end, a text may still turn out to be a question.
    #[must_use]
    pub fn machine_words(&self, text: &str, is_final: bool) -> Option<MachineWords> {
        let mut plain = text.to_lowercase().replace('\u{2019}', "'");
        if !self.spaced {
            plain.retain(|c| !c.is_whitespace());
        }
        // Networks and voicemail ask nothing, but a person may offer voicemail.
        let offers = |sentence: &str| self.is_offer(sentence) && (!is_final || ends_in_question(sentence));
        let asks = |sentence: &str| offers(sentence) || self.asks_about_machine(sentence, is_final);
        let mut sentences = plain.split_inclusive(SENTENCE_ENDS);
        if sentences.any(|sentence| contains(sentence, self.recordings) && !asks(sentence)) {
            return Some(MachineWords::Recording);
        }
        let sentences = plain.split_inclusive(SENTENCE_ENDS).filter(|sentence| is_final && !ends_in_question(sentence));
        let mut clauses = sentences.flat_map(|sentence| sentence.split(SEPARATORS));
        let greeting = clauses.any(|clause| contains(clause, self.voicemail) && !self.is_offer(clause));
        greeting.then_some(MachineWords::Voicemail)
    }

    /// Returns whether a person offers to take a message.
    fn is_offer(&self, clause: &str) -> bool {
        self.says_any(clause, self.offers.iter().copied())
    }

    /// Returns whether a person asks whether a machine is speaking. The end of the sentence shows that, or an auxiliary before the pronoun.
    fn asks_about_machine(&self, sentence: &str, is_final: bool) -> bool {
        let is_question = !is_final || self.is_question(sentence);
        let questions =
            || self.machine_questions.iter().copied().filter(move |asked| is_question || self.is_inverted(asked));
        let mut named = sentence.split(SEPARATORS).filter(|clause| contains(clause, self.recordings));
        named.all(|clause| self.says_any(clause, questions()))
    }

    /// Returns whether a sentence is marked as a question, or ends as one.
    fn is_question(&self, sentence: &str) -> bool {
        let unmarked = sentence.trim_end().trim_end_matches(SENTENCE_ENDS);
        ends_in_question(sentence) || self.question_endings.iter().any(|ending| unmarked.ends_with(*ending))
    }

    /// Returns whether these words are in the order of a question, in languages where that is known by their first one.
    fn is_inverted(&self, words: &str) -> bool {
        let YesNo::By { first, .. } = self.yes_no else { return false };
        words.split(' ').next().is_some_and(|word| first.contains(&word))
    }

    /// Returns whether a clause contains one of these phrases, as whole words where words have spaces between them.
    fn says_any(&self, clause: &str, mut phrases: impl Iterator<Item = &'static str>) -> bool {
        let words = format!(" {} ", if self.spaced { self.words(clause).join(" ") } else { String::new() });
        phrases.any(|phrase| if self.spaced { words.contains(&format!(" {phrase} ")) } else { clause.contains(phrase) })
    }
}

fn contains(text: &str, phrases: WordList) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

fn ends_in_question(sentence: &str) -> bool {
    sentence.trim_end().ends_with(['?', '？'])
}

/// The kind of a text that machines say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineWords {
    /// A greeting that asks for a message, as a person also may.
    Voicemail,
    /// A text that only a recording says.
    Recording,
}

#[derive(PartialEq, Eq)]
enum Script {
    Hiragana,
    Katakana,
    Ideographs,
    Thai,
    Lao,
    Khmer,
    Burmese,
    Other,
}

fn script(c: char) -> Script {
    match c {
        '\u{3040}'..='\u{309f}' => Script::Hiragana,
        '\u{30a0}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}' => Script::Katakana,
        '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => Script::Ideographs,
        '\u{e00}'..='\u{e7f}' => Script::Thai,
        '\u{e80}'..='\u{eff}' => Script::Lao,
        '\u{1780}'..='\u{17ff}' => Script::Khmer,
        '\u{1000}'..='\u{109f}' => Script::Burmese,
        _ => Script::Other,
    }
}

/// Returns whether a run of one script ends between these characters. The mark of a long vowel belongs to the character before it.
fn ends_run(last: char, next: char) -> bool {
    next != 'ー' && script(last) != script(next)
}

/// Returns whether this character's script is written without spaces between words.
#[must_use]
pub fn is_unspaced(c: char) -> bool {
    script(c) != Script::Other
}
