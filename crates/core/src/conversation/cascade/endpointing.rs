//! Endpointing: how much silence ends the caller's turn.
//!
//! The evidence gives a probability that the turn is over, weighed in `weights.rs`. The longer the silence, the lower the probability that is
//! required: the turn ends after `turn_taking.min_silence_ms` at the highest probability that words can give, and after `max_silence_ms` at the
//! lowest. The moment is computed rather than polled, and recomputed whenever the evidence changes.

use std::time::Duration;

use super::evidence::{Evidence, Found, Spoken, evidence};
use super::weights::BIAS;
use crate::agent::{Eagerness, TurnTaking};

/// The maximum probability that words can give: people pause after whole sentences, too.
const CERTAIN: f32 = 0.75;
/// From this probability on, the caller might have finished.
const LIKELY: f32 = 0.45;
/// From this probability on, the LLM request is sent early.
const SPECULATE: f32 = 0.2;

/// The probability that a turn is over.
pub(super) struct Judgement {
    /// The evidence for and against it.
    pub(super) found: Found,
    /// The probability, from 0 to 1.
    pub(super) probability: f32,
}

/// Evaluates a turn by what was said so far.
pub(super) fn judge(spoken: Spoken<'_>) -> Judgement {
    let found = evidence(spoken);
    Judgement { probability: probability(&found), found }
}

/// Returns the probability of an end with this evidence, from 0 to 1.
#[must_use]
pub fn probability(found: &[(Evidence, f32)]) -> f32 {
    let sum: f32 = found.iter().map(|(kind, value)| kind.weight() * value).sum();
    1.0 / (1.0 + (-(BIAS + sum)).exp())
}

impl Judgement {
    /// Returns the silence after which the turn is over.
    pub(super) fn silence_needed(&self, settings: &TurnTaking) -> Duration {
        let awaited = self.found.contains(&(Evidence::Answer, 1.0));
        let min = if awaited { settings.min_silence_ms.saturating_mul(3) / 4 } else { settings.min_silence_ms };
        let range = settings.max_silence_ms.saturating_sub(min);
        let doubt = (1.0 - self.probability / CERTAIN).max(0.0);
        let silence = Duration::from_millis(min.into()) + Duration::from_millis(range.into()).mul_f32(doubt);
        let wanted = match settings.eagerness {
            Eagerness::Low => silence * 3 / 2,
            Eagerness::Normal => silence,
            Eagerness::High => silence * 2 / 3,
        };
        wanted.min(Duration::from_millis(settings.max_silence_ms.into()))
    }

    /// Returns whether the caller might have finished.
    pub(super) fn is_likely_end(&self) -> bool {
        self.probability >= LIKELY
    }

    /// Returns whether the LLM request may be sent before the silence is over.
    pub(super) fn permits_speculation(&self) -> bool {
        self.probability >= SPECULATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    /// Returns the silence that a text needs, in milliseconds.
    fn needed(language: &str, text: &str, is_final: bool, asked: &str) -> u128 {
        let spoken = Spoken { language: Language::of(language), text, is_final, asked, pauses_ms: None };
        judge(spoken).silence_needed(&TurnTaking::default()).as_millis()
    }

    #[test]
    fn words_ask_for_more_or_less_silence() {
        const WHOLE: std::ops::RangeInclusive<u128> = 400..=480;
        const PLAIN: std::ops::RangeInclusive<u128> = 481..=900;
        const PARTIAL: std::ops::RangeInclusive<u128> = 901..=1_300;
        const MORE: std::ops::RangeInclusive<u128> = 1_301..=2_000;
        let table = [
            ("I want to book a table.", WHOLE),
            ("Is it open on Sunday?", WHOLE),
            ("What is it for?", WHOLE),
            ("i want to book a table", PLAIN),
            ("yes", WHOLE),
            ("okay thank you", WHOLE),
            ("well, I was thinking,", MORE),
            ("my number is five five five", MORE),
            ("It's 555-1234.", PLAIN),
            ("It's 202-555-0123.", WHOLE),
            ("M I L", PARTIAL),
            ("my number is 555", MORE),
            ("My number is 555.", MORE),
            ("Are you open at 7:30?", WHOLE),
            ("Can you call me at 555 0123?", WHOLE),
            ("Can you come at 730?", WHOLE),
            ("I can come at 7:30", PLAIN),
            ("Room 204.", PLAIN),
            ("$120.", PLAIN),
            ("It was 120€.", WHOLE),
            ("In 2026.", PLAIN),
            ("my name is", MORE),
            ("My name is.", MORE),
            ("I would like a table and", MORE),
            ("A table, um.", MORE),
            ("Please turn it on.", WHOLE),
            ("i want to go to", MORE),
            ("I'd like to book a table for.", MORE),
            ("Can I get a table for?", MORE),
            ("Is there a.", MORE),
            ("Where are you from?", WHOLE),
            ("I don't know what to ask for.", WHOLE),
            ("Yes, it is right.", WHOLE),
            ("I think the place is.", MORE),
            ("The best time would be.", MORE),
            ("Could you.", MORE),
            ("If it rains.", MORE),
            ("There are currently.", MORE),
            ("Well, ah.", MORE),
            ("How about?", MORE),
            ("My internet has been.", MORE),
            ("We close at half past.", MORE),
            ("My name's.", MORE),
            ("I cannot come without.", MORE),
            ("Cash only.", PLAIN),
            ("What should I bring?", WHOLE),
        ];
        for (text, expected) in table {
            let silence = needed("en", text, true, "Hello.");
            assert!(expected.contains(&silence), "{text}: {silence}");
        }
        assert_eq!(needed("en", "yes", true, "Is that right?"), 300, "an awaited yes needs no second thought");
        assert!(needed("en", "I want to book a table.", false, "") > 480, "a partial's full stop is not believed");
        assert!(MORE.contains(&needed("en", "a table and", false, "")));
        for asked in ["What is your phone number?", "Could you spell your last name?", "How is that spelled?"] {
            assert!(needed("en", "Sure, one moment.", true, asked) > 600, "digits or letters are to come: {asked}");
        }
    }

    #[test]
    fn eagerness_stretches_or_shortens_the_silence() {
        let silence = |eagerness| {
            let text = "I want to book a table.";
            let spoken = Spoken { language: Language::of("en"), text, is_final: true, asked: "", pauses_ms: None };
            judge(spoken).silence_needed(&TurnTaking { eagerness, ..TurnTaking::default() }).as_millis()
        };
        let normal = silence(Eagerness::Normal);
        assert_eq!((silence(Eagerness::Low), silence(Eagerness::High)), (normal * 3 / 2, normal * 2 / 3));
    }

    #[test]
    fn no_turn_needs_more_than_the_longest_silence() {
        let text = "I want to book a table for and";
        let spoken = Spoken { language: Language::of("en"), text, is_final: true, asked: "", pauses_ms: Some(5_000) };
        for eagerness in [Eagerness::Low, Eagerness::Normal, Eagerness::High] {
            for max_silence_ms in [400, 2_000, 10_000] {
                let settings = TurnTaking { eagerness, max_silence_ms, ..TurnTaking::default() };
                let silence = judge(spoken).silence_needed(&settings).as_millis();
                assert!(silence <= max_silence_ms.into(), "{eagerness:?}: {silence} of {max_silence_ms}");
            }
        }
    }

    #[test]
    fn settings_that_were_never_checked_are_no_overflow() {
        let (text, asked) = ("yes", "Is that right?");
        let spoken = Spoken { language: Language::of("en"), text, is_final: true, asked, pauses_ms: None };
        let settings = TurnTaking { min_silence_ms: u32::MAX, max_silence_ms: u32::MAX, ..TurnTaking::default() };
        assert!(judge(spoken).silence_needed(&settings) >= Duration::from_millis(u64::from(u32::MAX) / 4));
    }

    #[test]
    fn a_caller_who_pauses_is_given_time() {
        let silence = |pauses_ms| {
            let text = "I want to book a table.";
            let spoken = Spoken { language: Language::of("en"), text, is_final: true, asked: "", pauses_ms };
            judge(spoken).silence_needed(&TurnTaking::default())
        };
        assert!(silence(Some(1_200)) > silence(Some(800)) && silence(Some(800)) > silence(None));
        assert_eq!(silence(Some(300)), silence(None));
    }

    #[test]
    fn every_language_tells_finished_turns_from_open_ones() {
        const WHOLE: std::ops::RangeInclusive<u128> = 400..=480;
        const PLAIN: std::ops::RangeInclusive<u128> = 481..=900;
        const DICTATED: std::ops::RangeInclusive<u128> = 901..=2_000;
        const COMMA: std::ops::RangeInclusive<u128> = 1_301..=2_000;
        const MORE: std::ops::RangeInclusive<u128> = 1_301..=2_000;
        let table = [
            ("de", "Ich möchte einen Tisch reservieren.", WHOLE),
            ("de", "ja gerne", WHOLE),
            ("de", "Rufen Sie mich bitte an.", WHOLE),
            ("de", "morgen um sieben", PLAIN),
            ("de", "Ich möchte einen Tisch, weil.", MORE),
            ("de", "Einen Tisch für zwei und ähm.", MORE),
            ("de", "ich hätte gerne", MORE),
            ("de", "Mein Name ist.", MORE),
            ("de", "null eins sieben sechs", DICTATED),
            ("de", "Also, ich wollte fragen,", COMMA),
            ("es", "Quisiera reservar una mesa.", WHOLE),
            ("es", "sí, por favor", WHOLE),
            ("es", "A las siete y cinco.", WHOLE),
            ("es", "Una mesa para.", MORE),
            ("es", "es que", MORE),
            ("es", "seis cinco cuatro", DICTATED),
            ("es", "seis cinco cuatro tres dos uno cero nueve ocho", WHOLE),
            ("fr", "Je voudrais réserver une table.", WHOLE),
            ("fr", "Oui, c\u{2019}est ça", WHOLE),
            ("fr", "Une table pour deux parce que.", MORE),
            ("fr", "je m\u{2019}appelle", MORE),
            ("fr", "zéro six douze quarante-deux", DICTATED),
            ("fr", "zéro six douze quarante-deux quarante-deux trente-trois vingt-huit", WHOLE),
            ("it", "Vorrei prenotare un tavolo.", WHOLE),
            ("it", "va bene", WHOLE),
            ("it", "Un tavolo per.", MORE),
            ("it", "mi chiamo", MORE),
            ("it", "tre quattro sette", DICTATED),
            ("pt", "Queria reservar uma mesa.", WHOLE),
            ("pt", "sim, por favor", WHOLE),
            ("pt", "Uma mesa para duas pessoas e.", MORE),
            ("pt", "meu nome é", MORE),
            ("pt-BR", "nove nove meia", DICTATED),
            ("nl", "Ik wil graag een tafel reserveren.", WHOLE),
            ("nl", "ja hoor", WHOLE),
            ("nl", "Een tafel voor twee en.", MORE),
            ("nl", "ik wil graag", MORE),
            ("nl", "nul zes een twee", DICTATED),
            ("hi", "मुझे कल के लिए एक मेज़ चाहिए।", WHOLE),
            ("hi", "जी हाँ", WHOLE),
            ("hi", "दिल्ली से।", PLAIN),
            ("hi", "मुझे दिल्ली से", MORE),
            ("hi", "कल शाम को और।", MORE),
            ("hi", "मेरा नाम है", MORE),
            ("hi", "नौ आठ सात", DICTATED),
            ("hi", "९८७ ६५", DICTATED),
            ("ja", "予約をお願いします。", WHOLE),
            ("ja", "はい、そうです", WHOLE),
            ("ja", "明日は空いていますか", WHOLE),
            ("ja", "予約したいんですが", PLAIN),
            ("ja", "明日の七時に", MORE),
            ("ja", "予約をしたいので、えっと。", MORE),
            ("ja", "名前は", MORE),
            ("ja", "090 1234", DICTATED),
        ];
        for (language, text, expected) in table {
            let silence = needed(language, text, true, "");
            assert!(expected.contains(&silence), "{language}: {text}: {silence}");
        }
    }

    #[test]
    fn without_a_table_silence_alone_ends_a_turn() {
        for text in ["Jag vill boka ett bord.", "och", "yes", "and", "my name is", "Vad kostar det?", "555 1234,"] {
            assert!((780..=820).contains(&needed("sv", text, true, "")), "{text}");
        }
    }
}
