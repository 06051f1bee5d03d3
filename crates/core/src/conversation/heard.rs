//! How much of an utterance was heard, in words, given how much of its audio was played.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::language::is_unspaced;

/// How long a character takes when nothing better is known: 15 characters a second.
const PER_CHARACTER: Duration = Duration::from_micros(66_625);

/// A word with its place in an utterance.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenWord {
    /// The word as written in the utterance's text.
    pub text: String,
    /// Milliseconds from the start of the utterance.
    pub start_ms: u64,
    /// Milliseconds from the start of the utterance.
    pub end_ms: u64,
}

impl fmt::Debug for SpokenWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpokenWord({} to {} ms)", self.start_ms, self.end_ms)
    }
}

/// What is known about the audio of an utterance.
#[derive(Clone, Default)]
pub(super) struct Audio {
    /// How much there is so far.
    pub(super) made: Duration,
    /// Whether that is all of it.
    pub(super) complete: bool,
    /// Where its words are, as far as the TTS reports it.
    pub(super) words: Vec<SpokenWord>,
}

impl Audio {
    /// Whether the TTS made nothing of the text.
    pub(super) fn is_empty(&self) -> bool {
        self.complete && self.made.is_zero()
    }
}

/// The beginning of `text` that was wholly heard when so much of it was `played`. Words are never cut in two.
pub(super) fn heard<'a>(text: &'a str, audio: &Audio, played: Duration) -> &'a str {
    if audio.complete && played >= audio.made {
        return if audio.is_empty() { "" } else { text };
    }
    by_words(text, &audio.words, played).unwrap_or_else(|| by_proportion(text, audio, played))
}

/// By the word times of the TTS; nothing when it reported none or its words are not those of the text.
fn by_words<'a>(text: &'a str, words: &[SpokenWord], played: Duration) -> Option<&'a str> {
    if words.is_empty() {
        return None;
    }
    let mut end = 0;
    for word in words.iter().take_while(|word| Duration::from_millis(word.end_ms) <= played) {
        let spoken = word.text.trim();
        end += text[end..].find(spoken)? + spoken.len();
    }
    if end == 0 {
        return Some("");
    }
    let with_punctuation = text[end..].find(char::is_whitespace).map_or(text.len(), |space| end + space);
    let only_punctuation = !text[end..with_punctuation].contains(char::is_alphanumeric);
    Some(&text[..if only_punctuation { with_punctuation } else { end }])
}

/// By the share of the audio that was played.
fn by_proportion<'a>(text: &'a str, audio: &Audio, played: Duration) -> &'a str {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let guess = PER_CHARACTER.saturating_mul(characters);
    let total = if audio.complete { audio.made } else { audio.made.max(guess) };
    if total.is_zero() {
        return "";
    }
    let share = u128::from(characters) * played.as_micros() / total.as_micros().max(1);
    let end = text.char_indices().nth(usize::try_from(share).unwrap_or(usize::MAX)).map_or(text.len(), |(at, _)| at);
    let ends_word = text[end..].chars().next().is_none_or(|next| next.is_whitespace() || is_unspaced(next));
    if ends_word || text[..end].ends_with(is_unspaced) {
        return text[..end].trim_end();
    }
    text[..end].rfind(char::is_whitespace).map_or("", |space| text[..space].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn word(text: &str, start_ms: u64, end_ms: u64) -> SpokenWord {
        SpokenWord { text: text.to_owned(), start_ms, end_ms }
    }

    #[test]
    fn word_times_decide_where_there_are_any() {
        let words = vec![word("Yes", 0, 300), word("from", 400, 600), word("ten", 600, 900)];
        let audio = Audio { made: ms(1_000), complete: true, words };
        let text = "Yes, from ten.";
        for (played, expected) in
            [(0, ""), (299, ""), (300, "Yes,"), (600, "Yes, from"), (950, "Yes, from ten."), (1_000, text)]
        {
            assert_eq!(heard(text, &audio, ms(played)), expected, "after {played} ms");
        }
    }

    #[test]
    fn without_times_the_share_of_the_audio_decides_and_words_stay_whole() {
        let audio = Audio { made: ms(1_000), complete: true, words: Vec::new() };
        let text = "abcd efgh ij"; // 12 characters: one takes 83 ms.
        for (played, expected) in [(0, ""), (333, ""), (334, "abcd"), (700, "abcd"), (750, "abcd efgh"), (1_000, text)]
        {
            assert_eq!(heard(text, &audio, ms(played)), expected, "after {played} ms");
        }
    }

    #[test]
    fn words_that_are_not_in_the_text_are_not_believed() {
        let audio =
            Audio { made: ms(2_000), complete: true, words: vec![word("five", 0, 500), word("dollars", 500, 900)] };
        assert_eq!(heard("$5 please", &audio, ms(1_000)), "$5", "half of nine characters ends in \"pl\"");
    }

    #[test]
    fn a_text_of_which_no_audio_was_made_was_not_heard() {
        let audio = Audio { made: Duration::ZERO, complete: true, words: Vec::new() };
        assert_eq!(heard("Hello.", &audio, Duration::ZERO), "");
    }

    #[test]
    fn an_utterance_that_still_streams_is_not_taken_for_whole() {
        let audio = Audio { made: ms(100), complete: false, words: Vec::new() };
        assert_eq!(heard("one two three four", &audio, ms(100)), "", "100 ms of about 1.2 s");
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let audio = Audio { made: ms(2_000), complete: true, words: Vec::new() };
        let text = "かしこまりました。少々お待ちください。";
        assert_eq!(heard(text, &audio, ms(1_000)), "かしこまりました。");
        assert_eq!(heard(text, &audio, ms(1_250)), "かしこまりました。少々");
    }
}
