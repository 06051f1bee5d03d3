//! Text in transcripts that no caller has said: what models make of noise, silence and sounds.

use std::time::Duration;

use switchhook_core::conversation::cascade::has_words;

/// The brackets of descriptions of sounds.
const BRACKETS: [(char, char); 2] = [('[', ']'), ('【', '】')];
/// Other marks around such descriptions. They are also used around words, so they count only where nothing else was said.
const MARKS: [(char, char); 4] = [('(', ')'), ('（', '）'), ('*', '*'), ('♪', '♪')];
/// The longest description, in characters.
const LONGEST: usize = 60;
/// Parts of descriptions in upper case. Other words in upper case stand for what was redacted, such as `[PHONE_NUMBER]`.
const SOUNDS: [&str; 11] =
    ["AUDIO", "SILEN", "MUSI", "MÚSICA", "NOISE", "SOUND", "SPEECH", "INAUDIBLE", "APPLAU", "LAUGH", "COUGH"];
/// The fewest expected terms that a caller is unlikely to say in the order of the list: all of a short list, or four.
const TERMS_IN_A_ROW: (usize, usize) = (3, 4);
/// The time that a letter takes in the fastest speech.
const SHORTEST_LETTER: Duration = Duration::from_millis(50);

/// Returns what a caller can have said of a transcript of so much `audio`, without descriptions of sounds such as `[BLANK_AUDIO]` or
/// `*coughs*`. Empty if it has no words, or repeats the `terms` that the model was asked to expect, as models do with noise: in less time
/// than it takes to say them.
pub(crate) fn spoken_text(text: &str, terms: &[String], audio: Duration) -> String {
    if is_echo(text, terms, audio) {
        tracing::info!("a transcript that repeats the keyterms is left out");
        return String::new();
    }
    let spoken = without_sounds(text, &BRACKETS);
    if has_words(&without_sounds(&spoken, &MARKS)) { spoken } else { String::new() }
}

/// Returns a text without the descriptions of sounds between these marks.
fn without_sounds(text: &str, marks: &[(char, char)]) -> String {
    let mut kept = Vec::new();
    let mut from = 0;
    for (at, _) in text.char_indices() {
        if at >= from
            && let Some(length) = description_length(&text[at..], marks)
        {
            kept.push(text[from..at].trim());
            from = at + length;
        }
    }
    kept.push(text[from..].trim());
    kept.retain(|piece| !piece.is_empty());
    kept.join(" ")
}

/// Returns the length of the description that a text begins with, in bytes.
fn description_length(text: &str, marks: &[(char, char)]) -> Option<usize> {
    let first = text.chars().next()?;
    let (open, close) = *marks.iter().find(|(open, _)| *open == first)?;
    let inside = &text[open.len_utf8()..];
    let (end, _) = inside.char_indices().take(LONGEST).find(|(_, letter)| *letter == close)?;
    let label = &inside[..end];
    // The keys in "* or *" are no marks.
    let is_marked = open != '*' || label.trim() == label;
    (is_marked && describes_sound(label)).then_some(open.len_utf8() + end + close.len_utf8())
}

fn describes_sound(label: &str) -> bool {
    let upper_case = label.contains(char::is_uppercase) && !label.contains(char::is_lowercase);
    label.contains(char::is_alphabetic)
        && !label.contains(char::is_numeric)
        && (!upper_case || SOUNDS.iter().any(|sound| label.contains(sound)))
}

/// Returns whether a text consists of terms in the order of their list, and is too long for its audio.
fn is_echo(text: &str, terms: &[String], audio: Duration) -> bool {
    let terms: Vec<String> = terms.iter().map(|term| letters(term)).filter(|term| !term.is_empty()).collect();
    let (few, many) = TERMS_IN_A_ROW;
    if terms.len() < few {
        return false;
    }
    let said = letters(text);
    if audio >= SHORTEST_LETTER * u32::try_from(said.chars().count()).unwrap_or(u32::MAX) {
        return false;
    }
    (0..terms.len()).any(|first| terms_in(&said, &terms, first) >= terms.len().min(many))
}

/// Returns how many terms, from this one on and from the start again, a text consists of; 0 if it has anything else.
fn terms_in(said: &str, terms: &[String], first: usize) -> usize {
    let mut rest = said;
    for (count, term) in terms.iter().cycle().skip(first).enumerate() {
        if rest.is_empty() {
            return count;
        }
        let Some(behind) = rest.strip_prefix(term.as_str()) else { return 0 };
        rest = behind;
    }
    0
}

/// Returns the letters and digits of a text, without case.
fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_sounds_are_no_words_of_the_caller() {
        for (text, spoken) in [
            ("[BLANK_AUDIO]", ""),
            (" [ Silence ] ", ""),
            ("[Música]", ""),
            ("[音楽]", ""),
            ("(upbeat music)", ""),
            ("（笑）", ""),
            ("*coughs*", ""),
            ("♪ la la la ♪", ""),
            ("[MUSIC PLAYING] (laughs).", ""),
            ("[[BLANK_AUDIO]]", ""),
            (".", ""),
            (" … ", ""),
            ("[BLANK_AUDIO] Yes, [door closes] please.", "Yes, please."),
            ("Yes, please.", "Yes, please."),
            ("The Federal Bureau (the one in town).", "The Federal Bureau (the one in town)."),
            ("(202) 555-0199", "(202) 555-0199"),
            ("[PHONE_NUMBER]", "[PHONE_NUMBER]"),
            ("My name is [NAME].", "My name is [NAME]."),
            ("Press * or * again.", "Press * or * again."),
            ("* or *", "* or *"),
            ("#", "#"),
            ("[open", "[open"),
        ] {
            assert_eq!(spoken_text(text, &[], Duration::ZERO), spoken, "{text}");
        }
    }

    #[test]
    fn terms_that_are_repeated_in_their_order_were_not_said() {
        let terms = ["Harbor Table", "Ava", "Sarah Miller", "Pier 9", "gluten-free"].map(str::to_owned);
        for (text, expected, echo) in [
            ("Harbor Table, Ava, Sarah Miller, Pier 9, gluten-free", &terms[..], true),
            ("ava, sarah miller, pier 9, gluten free.", &terms[..], true),
            ("Harbor Table, Ava, Sarah Miller.", &terms[..3], true),
            ("Pier 9, gluten-free, Harbor Table, Ava", &terms[..], true),
            ("Ava, Sarah Miller.", &terms[..], false),
            ("Harbor Table, Ava, Sarah Miller, Pier 9, please.", &terms[..], false),
            ("Sarah Miller, Ava, Harbor Table, Pier 9", &terms[..], false),
            ("Harbor Table, Ava", &terms[..2], false),
            ("Ava, Ava, Ava, Ava", &terms[1..2], false),
            ("Yes.", &terms[..0], false),
        ] {
            assert_eq!(spoken_text(text, expected, Duration::from_millis(800)).is_empty(), echo, "{text}");
            assert_eq!(spoken_text(text, expected, Duration::from_secs(3)), text, "long enough to say {text}");
        }
    }
}
