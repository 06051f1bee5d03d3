//! Converts written to spoken text for the telephone: what a person would say so that the other side can write it down.
//!
//! Each rule looks at the words from one position on and returns how many it reads and how. The first matching rule wins; words without a rule are
//! left to the pronunciation dictionary. The written text is kept beside the spoken text, so that word times can be given for the words as written.

mod abbreviations;
mod amounts;
mod exact;
mod numbers;
mod when;

/// A piece of text and its spoken form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The written form: one word, or several that are read as one.
    pub(super) written: String,
    /// The spoken form.
    pub(super) spoken: String,
    /// Whether single capitals in `spoken` are names of letters, including "A".
    pub(super) letters: bool,
}

/// A written word, split into parts.
struct Word<'a> {
    raw: &'a str,
    /// The word without the quotes, brackets and punctuation around it.
    core: &'a str,
    /// The punctuation after it.
    tail: &'a str,
}

/// The result of a rule for the words in front of it.
struct Reading {
    /// The number of words that it reads.
    words: usize,
    spoken: String,
    letters: bool,
    /// Whether the last word's full stop is part of an abbreviation.
    takes_dot: bool,
}

impl Reading {
    fn words(words: usize, spoken: String) -> Self {
        Self { words, spoken, letters: false, takes_dot: false }
    }

    fn letters(words: usize, spoken: String) -> Self {
        Self { letters: true, ..Self::words(words, spoken) }
    }

    /// Takes the full stop after `word`, if any, as part of the abbreviation.
    fn ends_with_dot_of(mut self, word: &Word<'_>) -> Self {
        self.takes_dot = word.has_dot();
        self
    }
}

impl<'a> Word<'a> {
    fn new(raw: &'a str) -> Self {
        const OPENING: &[char] = &['"', '\'', '“', '‘', '[', '{', '*', '_', '`', '<'];
        const CLOSING: &[char] =
            &['"', '\'', '”', '’', ']', '}', '*', '_', '`', '>', ')', '.', ',', '!', '?', ';', ':', '…'];
        let inner = raw.trim_start_matches(OPENING).trim_start_matches('(');
        let core = inner.trim_end_matches(CLOSING);
        Self { raw, core, tail: &inner[core.len()..] }
    }

    /// Returns the word without its tail, keeping an opening bracket.
    fn body(&self) -> &'a str {
        &self.raw[..self.raw.len() - self.tail.len()]
    }

    fn has_dot(&self) -> bool {
        self.tail.starts_with('.') && !self.tail.starts_with("..")
    }

    fn is_capitalised(&self) -> bool {
        self.core.starts_with(char::is_uppercase) && self.core.len() > 1
    }
}

/// Returns the spoken form of `text`, unit by unit.
pub(super) fn normalise(text: &str) -> Vec<Unit> {
    let words: Vec<Word<'_>> = text.split_whitespace().map(Word::new).collect();
    let mut units = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let reading = read(&words, at);
        let end = at + reading.words;
        let last = &words[end - 1];
        let tail = match (reading.takes_dot, end == words.len()) {
            // At the very end, the abbreviation's full stop also ends the sentence.
            (true, false) => &last.tail[1..],
            _ => last.tail,
        };
        let written = words[at..end].iter().map(|word| word.raw).collect::<Vec<_>>().join(" ");
        let punctuation: String = tail.chars().filter(|c| ".,!?;:…".contains(*c)).take(3).collect();
        units.push(Unit { written, spoken: reading.spoken + &punctuation, letters: reading.letters });
        at = end;
    }
    units
}

fn read(words: &[Word<'_>], at: usize) -> Reading {
    let (ahead, before) = (&words[at..], at.checked_sub(1).map(|index| &words[index]));
    let starts_with_digit = |word: &Word<'_>| word.core.starts_with(|c: char| c.is_ascii_digit());
    let number_before = words[at.saturating_sub(4)..at].iter().any(starts_with_digit);
    exact::keys(ahead, before)
        .or_else(|| exact::telephone(ahead))
        .or_else(|| exact::net_address(ahead))
        .or_else(|| amounts::money(ahead))
        .or_else(|| when::time(ahead))
        .or_else(|| when::date(ahead))
        .or_else(|| exact::spelling(ahead, before))
        .or_else(|| exact::code(ahead, before))
        .or_else(|| amounts::number(ahead, before))
        .or_else(|| abbreviations::abbreviation(ahead, before, number_before))
        .unwrap_or_else(|| as_written(&words[at]))
}

/// Reads a word without a rule, dropping characters that cannot be spoken.
fn as_written(word: &Word<'_>) -> Reading {
    let core = word.core.replace(['’', '‘'], "'");
    let core = if core == "and/or" { "and or".to_owned() } else { core.replace('/', " or ") };
    let core = core.strip_prefix('#').map_or(core.clone(), |rest| match numbers::whole_number(rest) {
        Some(number) => format!("number {}", numbers::cardinal(number)),
        None => rest.to_owned(),
    });
    let core = core.replace(['—', '–'], ", ").replace("--", ", ");
    let said: String = core.chars().filter(|c| c.is_alphanumeric() || " '-,.".contains(*c)).collect();
    let said = said.split_whitespace().filter(|part| part.contains(char::is_alphanumeric) || *part == ",");
    Reading::words(1, said.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests;
