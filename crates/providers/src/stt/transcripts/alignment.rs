//! Aligns a text with words that were emitted before they were final.

/// Punctuation that ends the words before it rather than beginning those after it.
const LEFT_OVER: [char; 6] = ['.', ',', ';', ':', '!', '?'];
/// A correction may change one word in this many.
const WORDS_PER_EDIT: usize = 3;
/// The longest texts in which corrections are searched, in words.
const LONGEST: usize = 200;

/// How a text relates to the emitted words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AlignmentKind {
    /// Begins with the emitted words.
    Same,
    /// Begins with the emitted words, a few of them corrected.
    Corrected,
    /// Begins with other words.
    Other,
}

/// A text split into the part that was emitted before and the rest.
#[derive(Debug, PartialEq)]
pub(super) struct Alignment<'t> {
    pub(super) kind: AlignmentKind,
    /// The part that replaces the emitted words.
    pub(super) matched: &'t str,
    /// The rest of the text.
    pub(super) remainder: &'t str,
    /// Emitted words beyond the end of this text, when it is shorter.
    pub(super) left: String,
}

impl<'t> Alignment<'t> {
    /// Aligns `text` with the `emitted` words.
    pub(super) fn of(text: &'t str, emitted: &str) -> Self {
        let same = Self::exact(text, emitted);
        same.or_else(|| Self::with_corrections(text, emitted)).unwrap_or_else(|| Self::other(text))
    }

    /// Creates the alignment of a text that is unrelated to the emitted words.
    pub(super) fn other(text: &'t str) -> Self {
        Self { kind: AlignmentKind::Other, matched: text, remainder: "", left: String::new() }
    }

    /// Returns the part that was not emitted in any form.
    pub(super) fn new_text(&self) -> &'t str {
        if self.kind == AlignmentKind::Other { self.matched } else { self.remainder }
    }

    fn exact(text: &'t str, emitted: &str) -> Option<Self> {
        let (remainder, left) = match beyond(emitted, text) {
            Some(remainder) => (remainder, String::new()),
            None if text.contains(char::is_alphanumeric) => ("", beyond(text, emitted)?.to_owned()),
            None => return None,
        };
        Some(Self { kind: AlignmentKind::Same, matched: &text[..text.len() - remainder.len()], remainder, left })
    }

    fn with_corrections(text: &'t str, emitted: &str) -> Option<Self> {
        let (theirs, ours) = (words(emitted), words(text));
        let (of_emitted, of_text) = alike(&theirs, &ours)?;
        let end = |words: &[(String, usize)], count: usize, all: usize| {
            if count == words.len() { all } else { words[count - 1].1 }
        };
        let (matched, remainder) = text.split_at(end(&ours, of_text, text.len()));
        let left = emitted[end(&theirs, of_emitted, emitted.len())..].to_owned();
        Some(Self { kind: AlignmentKind::Corrected, matched, remainder, left })
    }
}

/// Returns the rest of `text` after `emitted`, with the space before it. Ignores case and punctuation in both.
fn beyond<'t>(emitted: &str, text: &'t str) -> Option<&'t str> {
    let mut letters = text.char_indices().filter(|(_, letter)| letter.is_alphanumeric());
    let mut end = 0;
    for expected in emitted.chars().filter(|letter| letter.is_alphanumeric()) {
        let (at, letter) = letters.next().filter(|(_, letter)| letter.to_lowercase().eq(expected.to_lowercase()))?;
        end = at + letter.len_utf8();
    }
    if end == 0 {
        return Some(text);
    }
    let Some((at, next)) = letters.next() else { return Some("") };
    // "four on" is not the beginning of "four one". Scripts without case may write words without spaces.
    if at == end {
        return Some(&text[at..]).filter(|_| !(next.is_lowercase() || next.is_uppercase() || next.is_numeric()));
    }
    // A symbol right before the first new letter belongs to it, as in "$20".
    let between = &text[end..at];
    Some(if between.contains(char::is_whitespace) { text[end..].trim_start_matches(LEFT_OVER) } else { &text[at..] })
}

/// Returns how many words at the beginning of each text correspond, at least one of the texts in full; `None` when too many differ.
fn alike(emitted: &[(String, usize)], text: &[(String, usize)]) -> Option<(usize, usize)> {
    if emitted.len().max(text.len()) > LONGEST {
        return None;
    }
    // Edit distances (Levenshtein) between the beginnings of both, by their number of words.
    let mut edits = vec![vec![0; text.len() + 1]; emitted.len() + 1];
    for i in 0..=emitted.len() {
        for j in 0..=text.len() {
            edits[i][j] = match (i.checked_sub(1), j.checked_sub(1)) {
                (None, _) | (_, None) => i + j,
                (Some(a), Some(b)) => {
                    let replaced = edits[a][b] + usize::from(emitted[a].0 != text[b].0);
                    replaced.min(edits[a][j] + 1).min(edits[i][b] + 1)
                }
            };
        }
    }
    let all_emitted = (1..=text.len()).map(|j| (emitted.len(), j));
    let all_text = (1..=emitted.len()).map(|i| (i, text.len()));
    let likely = all_emitted.chain(all_text).filter(|(i, j)| *j > 0 && edits[*i][*j] * WORDS_PER_EDIT <= *i);
    likely.min_by_key(|(i, j)| (edits[*i][*j], emitted.len() - i + text.len() - j))
}

/// Returns the words of a text without case and punctuation, and the end of each, in bytes.
fn words(text: &str) -> Vec<(String, usize)> {
    let mut at = 0;
    let pieces = text.split_inclusive(char::is_whitespace).map(|piece| {
        let end = at + piece.trim_end().len();
        at += piece.len();
        (piece.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>(), end)
    });
    pieces.filter(|(letters, _)| !letters.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_words_does_not_depend_on_their_spelling() {
        for (emitted, text, rest) in [
            ("", "$20", Some("$20")),
            ("my number is", "My number is: four one.", Some("four one.")),
            ("it costs", "It costs, $20.", Some("$20.")),
            ("Yes", "yes.", Some("")),
            ("four on", "four one", None),
            ("a b c", "a b", None),
            ("你好", "你好。再见", Some("再见")),
            ("你好", "你好再见", Some("再见")),
        ] {
            assert_eq!(beyond(emitted, text).map(str::trim_start), rest, "{emitted} in {text}");
        }
    }

    #[test]
    fn a_text_may_cover_a_part_of_what_was_reported_or_correct_it() {
        for (emitted, text, (kind, matched, remainder, left)) in [
            ("hi ava my name", "Hi Ava.", (AlignmentKind::Same, "Hi Ava.", "", " my name")),
            ("hi ava", "Hi Ava. My name", (AlignmentKind::Same, "Hi Ava.", " My name", "")),
            ("right a evening", "Right, this evening.", (AlignmentKind::Corrected, "Right, this evening.", "", "")),
            (
                "right a evening",
                "Right, this evening. For two.",
                (AlignmentKind::Corrected, "Right, this evening.", " For two.", ""),
            ),
            ("hi eva my name is sarah", "Hi Ava, my", (AlignmentKind::Corrected, "Hi Ava, my", "", " name is sarah")),
            ("book a table um for", "Book a table for", (AlignmentKind::Corrected, "Book a table for", "", "")),
            ("four on", "four one five", (AlignmentKind::Other, "four one five", "", "")),
            ("twenty dollars", "$20 and thanks.", (AlignmentKind::Other, "$20 and thanks.", "", "")),
            ("yes", "no", (AlignmentKind::Other, "no", "", "")),
            ("yes", "...", (AlignmentKind::Other, "...", "", "")),
        ] {
            let expected = Alignment { kind, matched, remainder, left: left.to_owned() };
            assert_eq!(Alignment::of(text, emitted), expected, "{emitted} in {text}");
        }
    }
}
