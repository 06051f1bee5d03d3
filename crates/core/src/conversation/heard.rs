//! Estimates which words of an utterance were heard, given how much of its audio was played.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::language::is_unspaced;

/// Duration of a character if nothing better is known: 15 characters a second.
const PER_CHARACTER: Duration = Duration::from_micros(66_625);

/// A word with its position in an utterance.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenWord {
    /// The word as written in the utterance's text.
    pub text: String,
    /// Start, in milliseconds from the start of the utterance.
    pub start_ms: u64,
    /// End, in milliseconds from the start of the utterance.
    pub end_ms: u64,
}

impl fmt::Debug for SpokenWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpokenWord({} to {} ms)", self.start_ms, self.end_ms)
    }
}

/// The audio of an utterance, as far as it is known.
#[derive(Clone, Default)]
pub(super) struct Audio {
    /// How much was synthesized so far.
    pub(super) made: Duration,
    /// Whether that is all of it.
    pub(super) complete: bool,
    /// The words and their times, as far as the TTS reports them.
    pub(super) words: Vec<SpokenWord>,
}

impl Audio {
    /// Returns whether the TTS produced no audio for the text.
    pub(super) fn is_empty(&self) -> bool {
        self.complete && self.made.is_zero()
    }
}

/// Returns the beginning of `text` that was heard in full when `played` of its audio was played. Never splits a word.
pub(super) fn heard<'a>(text: &'a str, audio: &Audio, played: Duration) -> &'a str {
    if audio.complete && played >= audio.made {
        return if audio.is_empty() { "" } else { text };
    }
    by_words(text, &audio.words, played).unwrap_or_else(|| by_proportion(text, audio, played))
}

/// Estimates by the word times of the TTS; `None` if it reported none or its words do not match the text.
fn by_words<'a>(text: &'a str, words: &[SpokenWord], played: Duration) -> Option<&'a str> {
    if words.is_empty() {
        return None;
    }
    let mut end = 0;
    let mut words = words.iter().peekable();
    while let Some(word) = words.next_if(|word| Duration::from_millis(word.end_ms) <= played) {
        let spoken = word.text.trim();
        end += text[end..].find(spoken)? + spoken.len();
    }
    if let Some(under_way) = words.peek().map(|word| unspaced_share(word, played)).filter(|share| !share.is_empty()) {
        end += text[end..].find(under_way)? + under_way.len();
        return Some(&text[..end]);
    }
    if end == 0 {
        return Some("");
    }
    let with_punctuation = text[end..].find(char::is_whitespace).map_or(text.len(), |space| end + space);
    let only_punctuation = !text[end..with_punctuation].contains(char::is_alphanumeric);
    Some(&text[..if only_punctuation { with_punctuation } else { end }])
}

/// Returns what was heard of a word under way: nothing, except in scripts without spaces, where a "word" may be a whole sentence.
fn unspaced_share(word: &SpokenWord, played: Duration) -> &str {
    let text = word.text.trim();
    let length = word.end_ms.saturating_sub(word.start_ms);
    let played = u64::try_from(played.as_millis()).unwrap_or(u64::MAX).saturating_sub(word.start_ms);
    if length == 0 || !text.contains(is_unspaced) {
        return "";
    }
    let characters = text.graphemes(true).count() as u64;
    let share = usize::try_from(characters.saturating_mul(played) / length).unwrap_or(usize::MAX);
    let end = text.grapheme_indices(true).nth(share).map_or(text.len(), |(at, _)| at);
    let heard = &text[..end];
    // The cut may fall within a spaced word.
    let within_word = heard.ends_with(char::is_alphanumeric) && !heard.ends_with(is_unspaced);
    let last = heard.char_indices().rfind(|(_, c)| !within_word || is_unspaced(*c));
    last.map_or("", |(at, c)| &heard[..at + c.len_utf8()])
}

/// Returns where the grapheme cluster that contains the character at `position` begins.
fn character_at(text: &str, position: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(position) else { return text.len() };
    text.grapheme_indices(true).map(|(at, _)| at).take_while(|at| *at <= end).last().unwrap_or(0)
}

/// Estimates by the share of the audio that was played.
fn by_proportion<'a>(text: &'a str, audio: &Audio, played: Duration) -> &'a str {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let guess = PER_CHARACTER.saturating_mul(characters);
    let total = if audio.complete { audio.made } else { audio.made.max(guess) };
    if total.is_zero() {
        return "";
    }
    let share = u128::from(characters) * played.as_micros() / total.as_micros().max(1);
    let end = character_at(text, usize::try_from(share).unwrap_or(usize::MAX));
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
    fn of_a_word_without_spaces_the_share_that_was_played_is_heard() {
        let text = "かしこまりました。明日の七時ですね。";
        let audio = Audio { made: ms(1_800), complete: true, words: vec![word(text, 0, 1_800)] };
        for (played, expected) in
            [(0, ""), (99, ""), (100, "か"), (900, "かしこまりました。"), (1_799, "かしこまりました。明日の七時ですね")]
        {
            assert_eq!(heard(text, &audio, ms(played)), expected, "{played}");
        }
        let thai = "สวัสดีค่ะ";
        let audio = Audio { made: ms(600), complete: true, words: vec![word(thai, 0, 600)] };
        assert_eq!(heard(thai, &audio, ms(300)), "สวัส", "marks stay with their letters");
        let characters =
            text.chars().enumerate().map(|(at, c)| word(&c.to_string(), at as u64 * 100, at as u64 * 100 + 100));
        let audio = Audio { made: ms(1_800), complete: true, words: characters.collect() };
        assert_eq!(heard(text, &audio, ms(850)), "かしこまりました");
        let mixed =
            Audio { made: ms(1_000), complete: true, words: vec![word("Yes", 0, 400), word("Ann", 400, 1_000)] };
        assert_eq!(heard("Yes Ann", &mixed, ms(900)), "Yes", "words with spaces are never cut");
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
