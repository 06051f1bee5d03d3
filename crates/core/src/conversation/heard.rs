//! How much of an utterance was heard, in words, given how much of its sound was played.

use super::input::SpokenWord;
use crate::language::is_unspaced;

/// Samples in a millisecond of telephone sound.
const SAMPLES_PER_MS: u64 = 8;
/// How many samples a character takes when nothing better is known: 15 characters a second.
const SAMPLES_PER_CHARACTER: u64 = 8_000 / 15;

/// What is known about the sound of an utterance.
#[derive(Clone, Default)]
pub(super) struct Sound {
    /// Samples made so far.
    pub(super) made: u64,
    /// Whether that is all of it.
    pub(super) complete: bool,
    /// Where its words are, as far as the voice says.
    pub(super) words: Vec<SpokenWord>,
}

impl Sound {
    /// Whether the voice made nothing of the text.
    pub(super) fn is_empty(&self) -> bool {
        self.complete && self.made == 0
    }
}

/// The beginning of `text` that was wholly heard when `played` samples were. Words are never cut in two.
pub(super) fn heard<'a>(text: &'a str, sound: &Sound, played: u64) -> &'a str {
    if sound.complete && played >= sound.made {
        return if sound.is_empty() { "" } else { text };
    }
    by_words(text, &sound.words, played).unwrap_or_else(|| by_proportion(text, sound, played))
}

/// By the times the voice told; nothing when it told none or its words are not those of the text.
fn by_words<'a>(text: &'a str, words: &[SpokenWord], played: u64) -> Option<&'a str> {
    if words.is_empty() {
        return None;
    }
    let mut end = 0;
    for word in words.iter().take_while(|word| word.end_ms.saturating_mul(SAMPLES_PER_MS) <= played) {
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

/// By the share of the sound that was played.
fn by_proportion<'a>(text: &'a str, sound: &Sound, played: u64) -> &'a str {
    let characters = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let guess = characters.saturating_mul(SAMPLES_PER_CHARACTER);
    let total = if sound.complete { sound.made } else { sound.made.max(guess) };
    if total == 0 {
        return "";
    }
    let share = characters.saturating_mul(played) / total;
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

    fn word(text: &str, start_ms: u64, end_ms: u64) -> SpokenWord {
        SpokenWord { text: text.to_owned(), start_ms, end_ms }
    }

    #[test]
    fn word_times_decide_where_there_are_any() {
        let words = vec![word("Yes", 0, 300), word("from", 400, 600), word("ten", 600, 900)];
        let sound = Sound { made: 8_000, complete: true, words };
        let text = "Yes, from ten.";
        for (played_ms, expected) in
            [(0, ""), (299, ""), (300, "Yes,"), (600, "Yes, from"), (950, "Yes, from ten."), (1_000, text)]
        {
            assert_eq!(heard(text, &sound, played_ms * 8), expected, "after {played_ms} ms");
        }
    }

    #[test]
    fn without_times_the_share_of_the_sound_decides_and_words_stay_whole() {
        let sound = Sound { made: 1_000, complete: true, words: Vec::new() };
        let text = "abcd efgh ij"; // 12 characters: one takes 83 samples.
        for (played, expected) in [(0, ""), (333, ""), (334, "abcd"), (700, "abcd"), (750, "abcd efgh"), (1_000, text)]
        {
            assert_eq!(heard(text, &sound, played), expected, "after {played} samples");
        }
    }

    #[test]
    fn words_that_are_not_in_the_text_are_not_believed() {
        let sound =
            Sound { made: 16_000, complete: true, words: vec![word("five", 0, 500), word("dollars", 500, 900)] };
        assert_eq!(heard("$5 please", &sound, 8_000), "$5", "half of nine characters ends in \"pl\"");
    }

    #[test]
    fn a_text_of_which_no_sound_was_made_was_not_heard() {
        let sound = Sound { made: 0, complete: true, words: Vec::new() };
        assert_eq!(heard("Hello.", &sound, 0), "");
    }

    #[test]
    fn an_utterance_that_still_streams_is_not_taken_for_whole() {
        let sound = Sound { made: 800, complete: false, words: Vec::new() };
        assert_eq!(heard("one two three four", &sound, 800), "", "100 ms of about 1.2 s");
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let sound = Sound { made: 16_000, complete: true, ..Sound::default() };
        let text = "かしこまりました。少々お待ちください。";
        assert_eq!(heard(text, &sound, 8_000), "かしこまりました。");
        assert_eq!(heard(text, &sound, 10_000), "かしこまりました。少々");
    }
}
