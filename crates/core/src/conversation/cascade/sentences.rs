//! Splits the model's stream into sentences for the TTS: the first clause early, then whole sentences.

use crate::language::Language;

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
    pending: String,
    begun: bool,
}

impl SentenceSplitter {
    pub(super) fn new(language: &'static Language) -> Self {
        Self { language, pending: String::new(), begun: false }
    }

    /// Adds text and returns the sentences that are ready. A sentence is ready when the next one has begun.
    pub(super) fn push(&mut self, delta: &str) -> Vec<String> {
        self.pending.push_str(delta);
        let mut ready = Vec::new();
        while let Some(end) = cut(&self.pending, !self.begun, self.language) {
            let rest = self.pending.split_off(end);
            let sentence = clean(&std::mem::replace(&mut self.pending, rest));
            self.begun |= sentence.is_some();
            ready.extend(sentence);
        }
        ready
    }

    /// Returns what is left at the end of the stream.
    pub(super) fn finish(&mut self) -> Option<String> {
        clean(&std::mem::take(&mut self.pending))
    }
}

/// Splits a complete text. Empty if it contains nothing to speak.
pub(super) fn sentences_of(text: &str, language: &'static Language) -> Vec<String> {
    let mut sentences = SentenceSplitter { begun: true, ..SentenceSplitter::new(language) };
    let mut all = sentences.push(text);
    all.extend(sentences.finish());
    all
}

/// Returns where the first sentence of `text` ends, in bytes; `None` while more text might change that.
fn cut(text: &str, first: bool, language: &Language) -> Option<usize> {
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
        if count >= forced {
            return Some(last_space.filter(|at| has_words(&text[..*at])).unwrap_or(at));
        }
        let end = at + c.len_utf8();
        let (wide_sentence, wide_clause) = (WIDE_SENTENCE_ENDS.contains(&c), WIDE_CLAUSE_ENDS.contains(&c));
        let sentence = (wide_sentence || (SENTENCE_ENDS.contains(&c) && !is_abbreviation(text, at, language)))
            && (first || count + 1 >= SENTENCE_MIN);
        let clause = first && (wide_clause || CLAUSE_ENDS.contains(&c)) && count + 1 >= FIRST_CLAUSE_MIN;
        if !(sentence || clause) {
            continue;
        }
        let end = end + text[end..].len() - text[end..].trim_start_matches(CLOSERS).len();
        if !has_more(&text[end..]) {
            return None;
        }
        if wide_sentence || wide_clause || text[end..].starts_with(char::is_whitespace) {
            return Some(end);
        }
    }
    None
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

/// Returns plain text for a TTS: no markdown, no emoji, single spaces. `None` if no word is left.
fn clean(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let line = without_heading(line.trim_start());
        let line = ["- ", "* ", "\u{2022} ", "> "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        plain.push_str(&without_links(line));
        plain.push(' ');
    }
    let mut plain = without_emphasis(&plain);
    plain.retain(|c| !matches!(c, '`' | '~') && !is_pictogram(c));
    let words: Vec<&str> =
        plain.split_whitespace().map(|word| word.trim_matches('_')).filter(|w| !w.is_empty()).collect();
    let plain = words.join(" ");
    has_words(&plain).then_some(plain)
}

/// Removes the marks of a heading from a line. A key such as `#1` is not one.
fn without_heading(line: &str) -> &str {
    let rest = line.trim_start_matches('#');
    if line.len() - rest.len() <= 6 && (rest.is_empty() || rest.starts_with(' ')) { rest } else { line }
}

/// Removes the asterisks of emphasis as defined by CommonMark (section 6.2), and those whose counterpart is in another sentence. An asterisk on its
/// own or next to a digit is a key or a sign.
fn without_emphasis(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut kept = vec![true; characters.len()];
    let mut opener = None;
    let mut at = 0;
    while at < characters.len() {
        let run = characters[at..].iter().take_while(|c| **c == '*').count();
        if run == 0 {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).map_or(' ', |last| characters[last]);
        let after = characters.get(at + run).copied().unwrap_or(' ');
        if run > 1 {
            kept[at..at + run].fill(before.is_whitespace() && after.is_whitespace());
        } else if is_alone(before, after) {
            // It is not a mark.
        } else if let Some(opened) =
            opener.filter(|opened| !before.is_whitespace() && !is_code(&characters[opened + 1..at]))
        {
            (kept[opened], kept[at], opener) = (false, false, None);
        } else {
            kept[at] = is_key(before, after);
            // One next to a digit may also open emphasis.
            opener = if after.is_whitespace() { opener } else { Some(at) };
        }
        at += run;
    }
    characters.into_iter().zip(kept).filter_map(|(c, kept)| kept.then_some(c)).collect()
}

/// Returns whether an asterisk between these characters stands alone: between blanks, at the end of a sentence, in quotation marks or brackets.
fn is_alone(before: char, after: char) -> bool {
    let encloses = |c: char| {
        matches!(c, '"' | '\'' | '(' | ')' | '[' | ']' | '„' | '“' | '”' | '«' | '»' | '‘' | '’' | '「' | '」')
    };
    let blank = before.is_whitespace() && (after.is_whitespace() || matches!(after, '.' | ',' | ';' | ':' | '!' | '?'));
    blank || (encloses(before) && encloses(after))
}

/// Returns whether an asterisk between these characters is a key: next to a digit or another key.
fn is_key(before: char, after: char) -> bool {
    let key = |c: char| c.is_ascii_digit() || c == '#';
    key(before) || key(after)
}

/// Returns whether the text between two asterisks is a phone code.
fn is_code(between: &[char]) -> bool {
    between.iter().all(|c| c.is_ascii_digit() || *c == '#')
}

/// Replaces `[text](address)` by `text`.
fn without_links(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, label, after)) = next_link(rest) {
        out.push_str(before);
        out.push_str(label);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn next_link(text: &str) -> Option<(&str, &str, &str)> {
    let (head, tail) = text.split_once("](")?;
    let (before, label) = head.rsplit_once('[')?;
    let (_address, after) = tail.split_once(')')?;
    Some((before, label, after))
}

fn is_pictogram(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0xFE0F | 0x200D)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut_all(text: &str) -> Vec<String> {
        cut_in("en", text)
    }

    fn cut_in(language: &str, text: &str) -> Vec<String> {
        let mut sentences = SentenceSplitter::new(Language::of(language));
        let mut all = sentences.push(text);
        all.extend(sentences.finish());
        all
    }

    #[test]
    fn stars_that_are_keys_or_signs_stay_and_those_of_emphasis_go() {
        for (written, plain) in [
            ("That is **important**, and 2 * 3 is 6.", "That is important, and 2 * 3 is 6."),
            ("Dial *67 first.", "Dial *67 first."),
            ("Dial *67 or *69, then **wait**.", "Dial *67 or *69, then wait."),
            ("Dial *#06# or *67*1.", "Dial *#06# or *67*1."),
            ("Or press * to go back.", "Or press * to go back."),
            ("Press \"*\" or (*), then *.", "Press \"*\" or (*), then *."),
            ("It is *very* important, *really*.", "It is very important, really."),
            ("That is ***very*** important.", "That is very important."),
            ("**Note this and *that.", "Note this and that."),
            ("It costs *20 euros* today.", "It costs 20 euros today."),
            ("#1 is the sales team.", "#1 is the sales team."),
            ("## Our hours", "Our hours"),
            ("* One table", "One table"),
        ] {
            assert_eq!(clean(written).as_deref(), Some(plain));
        }
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
        ];
        for (text, spoken) in table {
            assert_eq!(cut_all(text).join(" "), spoken);
        }
    }

    /// A delta that ends within `.?!.` once made the longest piece end before it.
    #[test]
    fn an_end_of_several_marks_is_awaited_at_the_longest_piece() {
        let text = format!("{} .?!. Next one.", "a".repeat(FIRST_PIECE_MAX - 3));
        let mut sentences = SentenceSplitter::new(Language::of("en"));
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
        fn where_it_is_cut_does_not_depend_on_the_deltas(text in "[A-Za-z0-9 .,!?\n*:$]{0,300}", size in 1_usize..9) {
            let mut sentences = SentenceSplitter::new(Language::of("en"));
            let chars: Vec<char> = text.chars().collect();
            let mut streamed: Vec<String> =
                chars.chunks(size).flat_map(|chunk| sentences.push(&chunk.iter().collect::<String>())).collect();
            streamed.extend(sentences.finish());
            prop_assert_eq!(streamed, cut_all(&text));
        }
    }
}
