//! Turns Markdown into the text that is spoken: what a parser says is markup is left out, and the keys of a telephone get their names.
//!
//! Keys are found before and after parsing, because `*` is a key in "Dial *21*555#" and markup in "*really*".

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::language::{KeyNames, Language};

/// Stand for keys and for an asterisk that is a sign while a text is parsed; private characters, which mean nothing to the parser.
const STAR: char = '\u{e000}';
const HASH: char = '\u{e001}';
const SIGN: char = '\u{e002}';
/// Stands before text that does not begin a line, and so begins no block.
const INLINE: &str = "x ";

/// Characters that follow a key in languages without spaces: particles, "key", "button", punctuation.
const BEHIND_KEYS: [char; 12] = ['を', 'か', 'ま', 'で', 'と', 'は', 'キ', 'ボ', '、', '。', '键', '，'];

/// How a text is written and spoken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speech {
    /// Whether words are separated by spaces.
    pub(super) spaced: bool,
    pub(super) keys: KeyNames,
}

/// Returns plain text for a TTS: no markup, no emoji, single spaces. `None` if no word is left. `begins_line` is whether the text does.
pub(super) fn plain(text: &str, begins_line: bool, speech: Speech) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    for (at, line) in text.lines().enumerate() {
        plain.push_str(&without_markup(line.trim(), begins_line || at > 0, speech));
        plain.push(' ');
    }
    plain.retain(|c| !matches!(c, '`' | '~' | '*') && !is_pictogram(c));
    let plain = spoken_keys(&without_hashes(&plain), speech);
    let words: Vec<&str> =
        plain.split_whitespace().map(|word| word.trim_matches('_')).filter(|word| !word.is_empty()).collect();
    let plain = words.join(" ");
    plain.contains(char::is_alphanumeric).then_some(plain)
}

/// Returns a text that is no Markdown with names for the keys in it.
pub(in crate::conversation) fn named_keys(text: &str, tag: &str) -> String {
    if !text.contains(['*', '#']) {
        return text.to_owned();
    }
    let speech = Speech { spaced: Language::of(tag).spaced, keys: KeyNames::of(tag) };
    spoken_keys(&with_keys(text, true, speech), speech).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether emphasis, code or a link begins in a text and does not end in it.
pub(super) fn is_open(text: &str, begins_line: bool, speech: Speech) -> bool {
    let line = text.lines().last().unwrap_or_default().trim_start();
    if !line.contains(['*', '`', '[']) {
        return false;
    }
    let left = without_markup(line, begins_line || text.contains('\n'), speech);
    let left: Vec<char> = left.chars().collect();
    let opens = |at: usize| {
        let mark = left[at];
        let before = left[..at].iter().rev().copied().find(|c| *c != mark).unwrap_or(' ');
        let after = left[at..].iter().copied().find(|c| *c != mark).unwrap_or(' ');
        matches!(mark, '*' | '`') && !after.is_whitespace() && !before.is_alphanumeric()
    };
    let link = line.rsplit_once('[').is_some_and(|(_, label)| match label.split_once(']') {
        None => true,
        Some((_, address)) => address.starts_with('(') && !address.contains(')'),
    });
    link || (0..left.len()).any(opens)
}

/// Returns the text of a line, with placeholders for keys and with the asterisks that are no markup.
fn without_markup(line: &str, begins_line: bool, speech: Speech) -> String {
    if let Some(cells) = table_row(line).filter(|_| begins_line) {
        return cells.iter().map(|cell| inline(cell, speech).trim().to_owned()).collect::<Vec<_>>().join(", ");
    }
    if is_ruler(line) {
        return String::new();
    }
    let marker = if begins_line { marker(line) } else { 0 };
    if marker == 0 {
        return inline(line, speech);
    }
    let marked = format!("{}{}", &line[..marker], with_keys(&line[marker..], false, speech));
    with_keys(&parsed(&marked), true, speech)
}

/// The same for text that begins no block.
fn inline(text: &str, speech: Speech) -> String {
    let marked = format!("{INLINE}{}", with_keys(text, false, speech));
    let parsed = parsed(&marked);
    with_keys(parsed.strip_prefix(INLINE).unwrap_or(parsed.trim_start_matches('x')), true, speech)
}

/// Returns the length of the marks that begin a block: of a heading, a list, a quotation or fenced code.
fn marker(line: &str) -> usize {
    if line.starts_with("```") || line.starts_with("~~~") {
        return line.len();
    }
    let hashes = line.len() - line.trim_start_matches('#').len();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = match line.chars().next() {
        // "# takes you back" is about a key: headings begin like sentences.
        Some('#') if hashes == 1 && line[1..].trim_start().starts_with(char::is_lowercase) => 0,
        Some('#') if hashes <= 6 => hashes,
        Some('*' | '-' | '+' | '>') => 1,
        _ if (1..=9).contains(&digits) && line[digits..].starts_with(['.', ')']) => digits + 1,
        _ => 0,
    };
    let ends = line[length..].is_empty() || line[length..].starts_with(char::is_whitespace) || line.starts_with('>');
    if ends { length } else { 0 }
}

/// Returns whether a line separates parts, as `---` and `***` do.
fn is_ruler(line: &str) -> bool {
    let marks = line.chars().filter(|c| !c.is_whitespace());
    line.chars().filter(|c| matches!(c, '-' | '*' | '_' | '=')).count() >= 3
        && marks.clone().all(|c| Some(c) == marks.clone().next())
}

/// Returns the cells of a line of a table; none of the line below its head.
fn table_row(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('|').or_else(|| line.strip_suffix('|').filter(|row| row.contains('|')));
    let inner = inner.or_else(|| Some(line).filter(|line| line.contains(" | ") || line.contains("-|-")))?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    if inner.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
        return Some(Vec::new());
    }
    Some(inner.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect())
}

/// Returns the text in Markdown.
fn parsed(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut number = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS) {
        match event {
            Event::Start(Tag::List(first)) => number = first,
            Event::Start(Tag::Item) => {
                if let Some(number) = number {
                    text.push_str(&format!("{number}. "));
                }
            }
            Event::Text(words) | Event::Code(words) | Event::InlineMath(words) | Event::DisplayMath(words) => {
                text.push_str(&words);
            }
            Event::SoftBreak | Event::HardBreak | Event::Html(_) => text.push(' '),
            // A line break, or the end of a cell or paragraph.
            Event::InlineHtml(tag) if !tag.starts_with("<!") => text.push(' '),
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_)) => text.push(' '),
            _ => {}
        }
    }
    text
}

/// Puts placeholders for the keys in a text; `parsed` if it contains no more emphasis.
fn with_keys(text: &str, parsed: bool, speech: Speech) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let is_part = |c: &&char| c.is_ascii_digit() || matches!(c, '*' | '#');
        let run = &characters[at..at + characters[at..].iter().take_while(is_part).count()];
        if run.is_empty() {
            out.push(characters[at]);
            at += 1;
            continue;
        }
        let before = &characters[..at];
        at += run.len();
        push_run(run, before, &characters[at..], parsed, speech, &mut out);
    }
    out
}

/// Adds a run of digits and keys between two texts.
fn push_run(run: &[char], before: &[char], after: &[char], parsed: bool, speech: Speech, out: &mut String) {
    let (last, next) = (before.last().copied().unwrap_or(' '), after.first().copied().unwrap_or(' '));
    if !run.iter().any(char::is_ascii_digit) {
        let stands_alone = is_alone(last, next) || (!speech.spaced && run.len() == 1 && BEHIND_KEYS.contains(&next));
        let number_behind = next_word(after).is_some_and(|c| c.is_ascii_digit());
        match run {
            // A product, or a number sign.
            ['*'] if stands_alone && number_behind && last_word(before).is_some_and(|c| c.is_ascii_digit()) => {
                out.push(SIGN);
            }
            ['#'] if stands_alone && number_behind => out.push('#'),
            _ if stands_alone && run.len() <= 2 && run != ['#', '#'] => out.extend(run.iter().map(|c| key(*c))),
            _ => out.extend(run),
        }
        return;
    }
    let in_word = |c: char| c.is_alphabetic() || c == '_';
    // Bold text that is a code, or ends in one.
    let behind = if run.len() > 2 && run.ends_with(&['*', '*']) { 2 } else { 0 };
    let ahead = if behind > 0 && run.len() > 4 && run.starts_with(&['*', '*']) { 2 } else { 0 };
    let code = &run[ahead..run.len() - behind];
    if !in_word(last) && !in_word(next) && is_code(code, parsed) {
        out.push_str(&"*".repeat(ahead));
        // Digits of a code are said one by one.
        for (at, c) in code.iter().enumerate() {
            out.push_str(if at > 0 { " " } else { "" });
            out.push(key(*c));
        }
        out.push_str(&"*".repeat(behind));
        return;
    }
    for (at, c) in run.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| run.get(at)).is_some_and(char::is_ascii_digit);
        let sign = *c == '*' && digit(at.checked_sub(1)) && digit(Some(at + 1));
        out.push(if sign { SIGN } else { *c });
    }
}

/// Returns whether digits and keys are typed on a telephone; once a text is `parsed`, one asterisk before a number is enough.
fn is_code(code: &[char], parsed: bool) -> bool {
    let stars = code.iter().take_while(|c| **c == '*').count();
    let has_more_keys = code[stars..].iter().any(|c| matches!(c, '*' | '#'));
    match stars {
        // `#1` is a number.
        0 => code.ends_with(&['#']),
        1 => parsed || has_more_keys,
        _ => has_more_keys,
    }
}

fn key(c: char) -> char {
    match c {
        '*' => STAR,
        '#' => HASH,
        digit => digit,
    }
}

/// Returns whether a run between these characters stands alone: between blanks, at the end of a sentence, in quotation marks or brackets.
fn is_alone(before: char, after: char) -> bool {
    let encloses = |c: char| {
        matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '„' | '“' | '”' | '«' | '»' | '‘' | '’' | '「' | '」')
    };
    let ends = matches!(after, '.' | ',' | ';' | ':' | '!' | '?');
    let blank = before.is_whitespace() && (after.is_whitespace() || ends);
    blank || (encloses(before) && encloses(after))
}

fn next_word(after: &[char]) -> Option<char> {
    after.iter().copied().find(|c| !c.is_whitespace())
}

fn last_word(before: &[char]) -> Option<char> {
    before.iter().rev().copied().find(|c| !c.is_whitespace())
}

/// Removes runs of `#`, which are what is left of headings.
fn without_hashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("##") {
        out.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches('#');
    }
    out + rest
}

/// Replaces the placeholders.
fn spoken_keys(text: &str, speech: Speech) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_key = false;
    for c in text.chars() {
        let name = match c {
            STAR => Some(speech.keys.star),
            HASH => Some(speech.keys.hash),
            _ => None,
        };
        match name {
            Some(name) => {
                if speech.spaced && out.ends_with(char::is_alphanumeric) {
                    out.push(' ');
                }
                out.push_str(name);
            }
            None => {
                if speech.spaced && after_key && c.is_alphanumeric() {
                    out.push(' ');
                }
                out.push(if c == SIGN { '*' } else { c });
            }
        }
        after_key = name.is_some();
    }
    out
}

fn is_pictogram(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0xFE0F | 0x200D)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn speech(tag: &str) -> Speech {
        Speech { spaced: tag != "ja", keys: KeyNames::of(tag) }
    }

    fn spoken(text: &str) -> String {
        plain(text, true, speech("en")).unwrap_or_default()
    }

    #[test]
    fn markup_goes_and_keys_get_their_names() {
        for (written, expected) in [
            ("That is **important**, and 2 * 3 is 6, and 2*3 too.", "That is important, and 2 * 3 is 6, and 2*3 too."),
            ("Dial *67 first.", "Dial star 6 7 first."),
            ("Dial *67 or *69, then **wait**.", "Dial star 6 7 or star 6 9, then wait."),
            ("Dial *#06# or *67*1.", "Dial star pound 0 6 pound or star 6 7 star 1."),
            ("Dial **21*0123# now.", "Dial star star 2 1 star 0 1 2 3 pound now."),
            ("Dial *21*555# or *22*556#.", "Dial star 2 1 star 5 5 5 pound or star 2 2 star 5 5 6 pound."),
            ("Dial **\\*67** and **#21#**.", "Dial star 6 7 and pound 2 1 pound."),
            ("Enter your number and 0#.", "Enter your number and 0 pound."),
            ("Press * to go back or # to confirm.", "Press star to go back or pound to confirm."),
            ("Press `*`, **#** or 1.", "Press star, pound or 1."),
            ("Press \"*\" or (*), then *.", "Press \"star\" or (star), then star."),
            ("It is *very* important, *really*.", "It is very important, really."),
            ("That is ***very*** and __quite__ _important_.", "That is very and quite important."),
            ("**Note this and *that.", "Note this and that."),
            ("It costs *20 euros* today, ~~30~~.", "It costs 20 euros today, 30."),
            ("Table **12** is free.", "Table 12 is free."),
            ("#1 is the sales team, in C#.", "#1 is the sales team, in C#."),
            ("## Our hours", "Our hours"),
            ("# takes you back", "pound takes you back"),
            ("# Takes you back", "Takes you back"),
            ("* One table", "One table"),
            ("- [x] One table", "One table"),
            ("> 1. One table", "1. One table"),
            ("2) Two tables", "2. Two tables"),
            ("```json\nten\n```", "ten"),
            ("Ten<br>to four<br/>daily", "Ten to four daily"),
            ("<p>Ten to <b>four</b></p>", "Ten to four"),
            ("If a < b & c > d, 5 &amp; 6", "If a < b & c > d, 5 & 6"),
            ("See [our page](https://example.org/a_b) and ![a map](x.png).", "See our page and a map."),
            ("| Day | Hours |\n|---|:-:|\n| Friday | **ten** |", "Day, Hours Friday, ten"),
            ("Day | Hours\n--- | ---\nFriday | ten", "Day, Hours Friday, ten"),
            ("Ten\n---\nto four\n***", "Ten to four"),
            ("my_name is a_b", "my_name is a_b"),
            ("***", ""),
        ] {
            assert_eq!(spoken(written), expected, "{written}");
        }
        assert_eq!(plain("# takes you", false, speech("en")).as_deref(), Some("pound takes you"), "within a line");
        assert_eq!(plain("* Takes you", false, speech("en")).as_deref(), Some("star Takes you"), "within a line");
    }

    #[test]
    fn keys_are_named_in_the_agents_language() {
        for (tag, written, expected) in [
            ("de", "Drücken Sie * oder #.", "Drücken Sie Stern oder Raute."),
            ("en-GB", "Press # now.", "Press hash now."),
            (
                "ja",
                "*を押すか#を押してください。**重要**です。",
                "こめじるしを押すかシャープを押してください。重要です。",
            ),
            ("tlh", "Press * or *67.", "Press * or * 6 7."),
        ] {
            assert_eq!(plain(written, true, speech(tag)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_keys_in_a_greeting_are_named_and_the_rest_is_as_written() {
        for (text, expected) in [
            ("Hello!  How are you?", "Hello!  How are you?"),
            ("Press *, # or *9 (#1 in town).", "Press star, pound or star 9 (#1 in town)."),
            ("That is *really* it.", "That is *really* it."),
        ] {
            assert_eq!(named_keys(text, "en-US"), expected);
        }
    }

    #[test]
    fn emphasis_code_and_links_are_open_until_they_are_closed() {
        for (text, open) in [
            ("**Note this.", true),
            ("**Note this.**", false),
            ("**2 tables.", true),
            ("Use `this.", true),
            ("Use `this`.", false),
            ("See [our page.", true),
            ("See [our page](https://a.", true),
            ("See [our page](https://a.b).", false),
            ("[1] is free.", false),
            ("Dial *67 first.", false),
            ("Dial **21*0123# now.", false),
            ("Press * or #.", false),
            ("2 * 3 is 6.", false),
        ] {
            assert_eq!(is_open(text, true, speech("en")), open, "{text}");
        }
    }

    proptest! {
        #[test]
        fn words_are_never_lost(text in "[A-Za-z0-9 .,*#_-]{0,80}") {
            let letters = |text: &str| text.chars().filter(char::is_ascii_uppercase).collect::<String>();
            prop_assert_eq!(letters(&spoken(&text)), letters(&text));
        }
    }
}
