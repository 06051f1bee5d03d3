//! Splits the model's stream into sentences for the TTS: the first clause early, then whole sentences.

use super::markdown::{Speech, is_open, plain};
use crate::language::{KeyNames, Language};

/// The minimum length in characters at which a comma may end the first sentence.
const FIRST_CLAUSE_MIN: usize = 12;
/// The length in characters after which the first sentence ends between two words, even without punctuation.
const FIRST_PIECE_MAX: usize = 60;
/// A later sentence shorter than this is spoken together with the next one.
const SENTENCE_MIN: usize = 20;
/// The length in characters after which any sentence ends between two words.
const PIECE_MAX: usize = 200;

const SENTENCE_ENDS: &[char] = &['.', '!', '?', '\u{2026}', '।'];
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '\u{2014}'];
/// Ends of sentences that need no space after them. The clause ends below do not, either.
const WIDE_SENTENCE_ENDS: &[char] = &['。', '！', '？'];
const WIDE_CLAUSE_ENDS: &[char] = &['、', '，'];
/// Characters that may stand between the end of a sentence and the space after it.
const CLOSERS: &[char] =
    &['"', '\'', ')', ']', '\u{201d}', '\u{2019}', '*', '_', '.', '!', '?', '」', '』', '）', '。', '！', '？'];

/// A stream being split. The result does not depend on how the stream was divided into deltas.
pub(super) struct SentenceSplitter {
    language: &'static Language,
    speech: Speech,
    pending: String,
    /// Whether a sentence was returned.
    begun: bool,
    /// Whether nothing stands before the pending text.
    at_start: bool,
    /// Up to where the pending text does not end, in bytes, because markup is open.
    held: usize,
}

impl SentenceSplitter {
    /// Creates one for a text in the language of this tag.
    pub(super) fn new(tag: &str) -> Self {
        let language = Language::of(tag);
        let speech = Speech { spaced: language.spaced, keys: KeyNames::of(tag) };
        Self { language, speech, pending: String::new(), begun: false, at_start: true, held: 0 }
    }

    /// Adds text and returns the sentences that are ready. A sentence is ready when the next one has begun.
    pub(super) fn push(&mut self, delta: &str) -> Vec<String> {
        self.pending.push_str(delta);
        let mut ready = Vec::new();
        while let Some(end) = self.cut() {
            let rest = self.pending.split_off(end);
            let sentence = std::mem::replace(&mut self.pending, rest);
            self.held = 0;
            ready.extend(self.spoken(&sentence));
        }
        ready
    }

    /// Returns what is left at the end of the stream.
    pub(super) fn finish(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.pending);
        self.spoken(&rest)
    }

    /// Returns a sentence as it is spoken.
    fn spoken(&mut self, sentence: &str) -> Option<String> {
        let spoken = plain(sentence, self.begins_line(sentence), self.speech);
        self.at_start = false;
        self.begun |= spoken.is_some();
        spoken
    }

    /// Returns whether the first sentence of the pending text begins a line.
    fn begins_line(&self, sentence: &str) -> bool {
        self.at_start || sentence[..sentence.len() - sentence.trim_start().len()].contains('\n')
    }

    /// Returns where the first sentence of the pending text ends, in bytes; `None` while more text might change that. A sentence does not end
    /// within markup, as long as it is not too long.
    fn cut(&mut self) -> Option<usize> {
        let (text, first) = (self.pending.as_str(), !self.begun);
        let begins_line = self.begins_line(text);
        let is_open = |end: usize| is_open(&text[..end], begins_line, self.speech);
        let forced = if first { FIRST_PIECE_MAX } else { PIECE_MAX };
        let mut last_space = None;
        for (count, (at, c)) in text.char_indices().enumerate() {
            if c.is_whitespace() {
                last_space = Some(at);
                if c == '\n' && has_words(&text[..at]) && has_more(&text[at..]) {
                    return Some(at);
                }
                continue;
            }
            if count >= PIECE_MAX || (count >= forced && at >= self.held && !is_open(at)) {
                return Some(last_space.filter(|at| has_words(&text[..*at])).unwrap_or(at));
            }
            if at < self.held {
                continue;
            }
            let Some(end) = end_at(text, at, c, count + 1, first, self.language) else {
                self.held = if count >= forced { at + 1 } else { self.held };
                continue;
            };
            if !has_more(&text[end..]) {
                return None;
            }
            if is_open(end) {
                self.held = at + 1;
                continue;
            }
            if is_wide(c) || text[end..].starts_with(char::is_whitespace) {
                return Some(end);
            }
        }
        None
    }
}

/// Splits a complete text in the language of this tag. Empty if it contains nothing to speak.
pub(super) fn sentences_of(text: &str, tag: &str) -> Vec<String> {
    let mut sentences = SentenceSplitter { begun: true, ..SentenceSplitter::new(tag) };
    let mut all = sentences.push(text);
    all.extend(sentences.finish());
    all
}

/// Returns where a sentence or clause ends whose last character `c` is at `at` and has this number.
fn end_at(text: &str, at: usize, c: char, number: usize, first: bool, language: &Language) -> Option<usize> {
    let ends = SENTENCE_ENDS.contains(&c) && !is_abbreviation(text, at, language);
    let sentence = (WIDE_SENTENCE_ENDS.contains(&c) || ends) && (first || number >= SENTENCE_MIN);
    let clause = WIDE_CLAUSE_ENDS.contains(&c) || CLAUSE_ENDS.contains(&c);
    if !(sentence || (first && clause && number >= FIRST_CLAUSE_MIN)) {
        return None;
    }
    let end = at + c.len_utf8();
    Some(end + text[end..].len() - text[end..].trim_start_matches(CLOSERS).len())
}

/// Returns whether no space follows the sentence or clause that ends in this character.
fn is_wide(c: char) -> bool {
    WIDE_SENTENCE_ENDS.contains(&c) || WIDE_CLAUSE_ENDS.contains(&c)
}

fn has_more(text: &str) -> bool {
    text.contains(|c: char| !c.is_whitespace())
}

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Returns whether the dot at `at` belongs to an abbreviation, an initial, an ordinal or a list number.
fn is_abbreviation(text: &str, at: usize, language: &Language) -> bool {
    if !text[at..].starts_with('.') {
        return false;
    }
    let before = &text[..at];
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before).trim_start_matches(['(', '"', '*']);
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let starts_line = before[..before.len() - word.len()].rsplit('\n').next().is_none_or(|line| !has_words(line));
    let ordinal = language.ordinal_dot && word.len() <= 2;
    initial || (number && (starts_line || ordinal)) || language.abbreviations.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut_all(text: &str) -> Vec<String> {
        cut_in("en", text)
    }

    fn cut_in(language: &str, text: &str) -> Vec<String> {
        let mut sentences = SentenceSplitter::new(language);
        let mut all = sentences.push(text);
        all.extend(sentences.finish());
        all
    }

    #[test]
    fn pieces_end_where_a_speaker_would_breathe() {
        let table: &[(&str, &[&str])] = &[
            ("Yes, from ten to four.", &["Yes, from ten to four."]),
            ("Sure. We open at ten tomorrow. Anything else?", &["Sure.", "We open at ten tomorrow.", "Anything else?"]),
            ("Let me have a look, one moment please.", &["Let me have a look,", "one moment please."]),
            ("Dr. Smith is in. He waits for you.", &["Dr. Smith is in.", "He waits for you."]),
            ("It costs $29.9 or 3.5 euros a day. Fine?", &["It costs $29.9 or 3.5 euros a day.", "Fine?"]),
            ("We close at 7:30 p.m. on Sunday. Bye.", &["We close at 7:30 p.m. on Sunday.", "Bye."]),
            ("He said \"no.\" Then he left us.", &["He said \"no.\"", "Then he left us."]),
            ("Ok. No. Yes. Maybe so, who can know?", &["Ok.", "No. Yes. Maybe so, who can know?"]),
            (
                "I would think that everybody who wants to come along is most welcome",
                &["I would think that everybody who wants to come along is most", "welcome"],
            ),
            ("...", &[]),
        ];
        for (text, sentences) in table {
            assert_eq!(&cut_all(text), sentences, "{text}");
        }
    }

    #[test]
    fn other_languages_end_sentences_in_their_own_ways() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "de",
                "Gern. Am 3. Mai um zehn, z. B. mit Dr. Weiß. Passt das?",
                &["Gern.", "Am 3. Mai um zehn, z. B. mit Dr. Weiß.", "Passt das?"],
            ),
            ("en", "Dr. Lee is in. Am 3. Mai bei Nr. 7 ist es.", &["Dr. Lee is in.", "Am 3. Mai bei Nr. 7 ist es."]),
            (
                "hi",
                "जी हाँ। हमारे पास कल शाम सात बजे की मेज़ है। ठीक है?",
                &["जी हाँ।", "हमारे पास कल शाम सात बजे की मेज़ है।", "ठीक है?"],
            ),
            (
                "ja",
                "はい。明日の午後七時に二名様でお席をご用意できます。よろしいですか。",
                &["はい。", "明日の午後七時に二名様でお席をご用意できます。", "よろしいですか。"],
            ),
            (
                "ja",
                "「かしこまりました。」では少々お待ちください。",
                &["「かしこまりました。」", "では少々お待ちください。"],
            ),
        ];
        for (language, text, sentences) in table {
            assert_eq!(&cut_in(language, text), sentences, "{text}");
        }
    }

    #[test]
    fn what_only_the_eye_reads_is_not_spoken() {
        let table = [
            ("**Great**, see [our page](https://example.org/a_b) \u{1f600}!", "Great, see our page !"),
            ("# Hours\n- `ten` to four", "Hours ten to four"),
            ("# takes you back.", "pound takes you back."),
            (
                "Press 1 for sales now. # takes you back. * repeats.",
                "Press 1 for sales now. pound takes you back. star repeats.",
            ),
            ("**Note this. And this.** Then go.", "Note this. And this. Then go."),
        ];
        for (text, spoken) in table {
            assert_eq!(cut_all(text).join(" "), spoken);
        }
    }

    #[test]
    fn a_sentence_is_held_back_within_markup_up_to_the_longest_piece() {
        let mut sentences = SentenceSplitter::new("en");
        assert_eq!(sentences.push("**Please note this. We close at ten. "), Vec::<String>::new());
        assert_eq!(sentences.push("Really.** Is that fine?"), ["Please note this. We close at ten. Really."]);
        let mut sentences = SentenceSplitter::new("en");
        assert_eq!(
            sentences.push("Please dial *67 first. Then"),
            ["Please dial star 6 7 first."],
            "a key opens nothing"
        );
        let text = format!("**Please {}", "wait here. ".repeat(40));
        let pieces = cut_all(&text);
        assert!(pieces[0].chars().count() <= PIECE_MAX && pieces[0].starts_with("Please wait"), "{pieces:?}");
        assert!(pieces.iter().all(|piece| !piece.contains("star") && !piece.contains('*')), "{pieces:?}");
    }

    /// A delta that ends within `.?!.` once made the longest piece end before it.
    #[test]
    fn an_end_of_several_marks_is_awaited_at_the_longest_piece() {
        let text = format!("{} .?!. Next one.", "a".repeat(FIRST_PIECE_MAX - 3));
        let mut sentences = SentenceSplitter::new("en");
        let streamed: Vec<String> = text.chars().flat_map(|c| sentences.push(&c.to_string())).collect();
        assert_eq!(streamed, cut_all(&text)[..1]);
    }

    #[test]
    fn a_text_without_end_is_cut_between_words() {
        let sentences = cut_all(&"word ".repeat(200));
        assert!(sentences.iter().all(|sentence| sentence.chars().count() <= PIECE_MAX && sentence.ends_with("word")));
    }

    proptest! {
        #[test]
        fn where_it_is_cut_does_not_depend_on_the_deltas(text in "([A-Za-z0-9 .,!?\n:$]{0,12}[*#`|<>_()\\[\\]-]?){0,24}", size in 1_usize..9) {
            let mut sentences = SentenceSplitter::new("en");
            let chars: Vec<char> = text.chars().collect();
            let mut streamed: Vec<String> =
                chars.chunks(size).flat_map(|chunk| sentences.push(&chunk.iter().collect::<String>())).collect();
            streamed.extend(sentences.finish());
            prop_assert_eq!(streamed, cut_all(&text));
        }
    }
}
