//! Word timings, from what providers report about words or single characters.

use switchhook_core::conversation::SpokenWord;
use switchhook_core::language::is_unspaced;
use unicode_segmentation::UnicodeSegmentation as _;

/// How much earlier than its last word audio may end, in milliseconds: times are rounded.
const END_TOLERANCE_MS: u64 = 50;

/// Timing that came with a piece of audio.
#[derive(Default)]
pub(crate) enum WordTiming {
    /// Nothing.
    #[default]
    None,
    /// Words, timed from the start of the utterance.
    Words(Vec<SpokenWord>),
    /// Characters, timed from the start of this piece of audio.
    Characters(Vec<Character>),
}

impl WordTiming {
    /// Returns its size in a queue, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Words(words) => words.iter().map(|word| size_of::<SpokenWord>() + word.text.len()).sum(),
            Self::Characters(all) => all.iter().map(|one| size_of::<Character>() + one.text.len()).sum(),
        }
    }
}

/// A character and its position in a piece of audio.
pub(crate) struct Character {
    pub(crate) text: String,
    pub(crate) start_ms: u64,
    pub(crate) end_ms: u64,
}

/// The part of a text whose times are known.
pub(crate) struct TimedText {
    /// The letters and digits that were not timed yet, the first one last. `None` once something else was timed: providers may time what
    /// they make of a text, such as "five dollars".
    rest: Option<Vec<char>>,
    last_end_ms: u64,
}

impl TimedText {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            rest: Some(text.chars().filter(|character| character.is_alphanumeric()).rev().collect()),
            last_end_ms: 0,
        }
    }

    /// Adds timing; `before_ms` is the length of the audio before its piece.
    pub(crate) fn add(&mut self, timing: &WordTiming, before_ms: u64) {
        match timing {
            WordTiming::None => {}
            WordTiming::Words(words) => words.iter().for_each(|word| self.add_text(&word.text, word.end_ms)),
            WordTiming::Characters(all) => {
                all.iter().for_each(|one| self.add_text(&one.text, before_ms.saturating_add(one.end_ms)));
            }
        }
    }

    fn add_text(&mut self, text: &str, end_ms: u64) {
        self.last_end_ms = self.last_end_ms.max(end_ms);
        for character in text.chars().filter(|character| character.is_alphanumeric()) {
            self.rest.take_if(|rest| rest.pop() != Some(character));
        }
    }

    /// Returns whether audio of this length is known to contain the whole text.
    pub(crate) fn is_spoken_in(&self, audio_ms: u64) -> bool {
        self.rest.as_ref().is_some_and(Vec::is_empty) && audio_ms + END_TOLERANCE_MS >= self.last_end_ms
    }
}

/// Assembles characters into words; a word may be split between two pieces. In languages written without spaces, each character is a
/// word.
#[derive(Default)]
pub(crate) struct WordAssembler {
    open: Option<SpokenWord>,
}

impl WordAssembler {
    /// Returns the words that `timing` completes; `before_ms` is the length of the audio before this piece.
    pub(crate) fn push(&mut self, timing: WordTiming, before_ms: u64) -> Vec<SpokenWord> {
        match timing {
            WordTiming::None => Vec::new(),
            WordTiming::Words(words) => words,
            WordTiming::Characters(characters) => {
                characters.into_iter().filter_map(|character| self.character(&character, before_ms)).collect()
            }
        }
    }

    /// Returns the last word.
    pub(crate) fn finish(&mut self) -> Option<SpokenWord> {
        self.open.take()
    }

    fn character(&mut self, character: &Character, before_ms: u64) -> Option<SpokenWord> {
        if character.text.trim().is_empty() {
            return self.open.take();
        }
        let [start_ms, end_ms] = [character.start_ms, character.end_ms].map(|ms| before_ms.saturating_add(ms));
        let complete = self.open.take_if(|open| stand_apart(&open.text, &character.text));
        let word = self.open.get_or_insert_with(|| SpokenWord { text: String::new(), start_ms, end_ms });
        word.text.push_str(&character.text);
        word.end_ms = end_ms;
        complete
    }
}

/// Returns whether `next` begins a new word without a space before it: one of them belongs to a script without spaces, and they are not
/// one user-perceived character. Punctuation belongs to the text before it.
fn stand_apart(before: &str, next: &str) -> bool {
    let unspaced = before.contains(is_unspaced) || next.starts_with(is_unspaced);
    let last = before.graphemes(true).next_back().unwrap_or_default();
    unspaced && next.starts_with(char::is_alphanumeric) && format!("{last}{next}").graphemes(true).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_spoken_when_the_audio_reaches_the_end_of_its_last_word() {
        let mut timed = TimedText::new("Book it.");
        timed.add(&characters("Book", 100), 0);
        assert!(!timed.is_spoken_in(10_000));
        timed.add(&characters(" it.", 100), 400);
        assert!(!timed.is_spoken_in(700) && timed.is_spoken_in(760));
        let mut timed = TimedText::new("Book it.");
        let word = |text: &str, end_ms| SpokenWord { text: text.to_owned(), start_ms: end_ms - 100, end_ms };
        timed.add(&WordTiming::Words(vec![word("Book", 400), word("it.", 800)]), 5_000);
        assert!(!timed.is_spoken_in(400) && timed.is_spoken_in(800));
        assert!(!TimedText::new("Book it.").is_spoken_in(10_000), "nothing says so");
        let mut timed = TimedText::new("It is $5, please.");
        timed.add(&WordTiming::Words(vec![word("It", 200), word("is", 400), word("fivedollars", 800)]), 0);
        assert!(!timed.is_spoken_in(10_000), "these are other words");
    }

    fn characters(text: &str, each_ms: u64) -> WordTiming {
        let one = |(at, character): (usize, char)| {
            let start_ms = at as u64 * each_ms;
            Character { text: character.to_string(), start_ms, end_ms: start_ms + each_ms }
        };
        WordTiming::Characters(text.chars().enumerate().map(one).collect())
    }

    #[test]
    fn a_word_that_is_cut_by_the_end_of_a_piece_stays_one() {
        let mut words = WordAssembler::default();
        let mut all = words.push(characters("Yes, fr", 10), 0);
        all.extend(words.push(WordTiming::None, 70));
        all.extend(words.push(characters("om ten.", 10), 100));
        all.extend(words.finish());
        let all: Vec<_> = all.iter().map(|word| (word.text.as_str(), word.start_ms, word.end_ms)).collect();
        assert_eq!(all, [("Yes,", 0, 40), ("from", 50, 120), ("ten.", 130, 170)]);
    }

    #[test]
    fn without_spaces_each_character_is_a_word() {
        let mut words = WordAssembler::default();
        let mut all = words.push(characters("はい、Ann 7時。", 10), 0);
        all.extend(words.finish());
        let all: Vec<_> = all.iter().map(|word| (word.text.as_str(), word.start_ms, word.end_ms)).collect();
        let expected = [("は", 0, 10), ("い、", 10, 30), ("Ann", 30, 60), ("7", 70, 80), ("時。", 80, 100)];
        assert_eq!(all, expected);
        let mut words = WordAssembler::default();
        let mut thai = words.push(characters("ค่ะดี", 10), 0);
        thai.extend(words.finish());
        let thai: Vec<_> = thai.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(thai.concat(), "ค่ะดี");
        assert!(thai.len() > 1 && thai[0].starts_with("ค่"), "{thai:?}");
    }

    #[test]
    fn a_time_beyond_all_times_is_the_last() {
        let mut words = WordAssembler::default();
        words.push(WordTiming::Characters(vec![Character { text: "a".to_owned(), start_ms: 7, end_ms: u64::MAX }]), 70);
        let word = words.finish().expect("a word");
        assert_eq!((word.start_ms, word.end_ms), (77, u64::MAX));
    }
}
