//! Barge-in: decides whether a caller who speaks over the agent interrupts it.
//!
//! The agent pauses at once, which costs nothing: it can resume from the same sample, and does so soon after the voice. Whether it was an interruption is
//! decided by how long the voice lasted and what was said.

use crate::Timestamp;
use crate::agent::Interruption;
use crate::conversation::timings::Timings;
use crate::language::Language;

/// What happens to the agent's speech while the caller speaks over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Playing {
    /// It is paused until the voice has ended, or its words show that the caller only listens.
    Paused,
    /// It is paused until the verdict.
    Yielded,
    /// It has resumed before the verdict.
    Resumed,
}

/// The caller speaks over the agent.
#[derive(Clone, Copy)]
pub(super) struct Overlap {
    /// What happens to the agent's speech meanwhile.
    pub(super) playing: Playing,
    /// When the voice began.
    pub(super) onset: Timestamp,
    /// When its end was reported.
    pub(super) stopped: Option<Timestamp>,
}

/// The verdict on an overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is too early to say.
    Wait,
    /// The caller wants to speak.
    Interrupt,
    /// The overlap was noise or a backchannel such as "mm-hmm": resume.
    GoOn,
}

/// The caller's speech over the agent.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) language: &'static Language,
    /// The text so far.
    pub(super) text: &'a str,
    /// Whether the STT's transcript is final.
    pub(super) settled: bool,
    /// Whether one word is enough: nothing of the agent's current response was heard yet, so that nothing is lost by listening, or the caller
    /// continues the turn that it responds to.
    pub(super) one_word_interrupts: bool,
    /// Whether the agent is about to do something for the caller, which thanks and assent do not stop.
    pub(super) courtesies: bool,
}

impl Words<'_> {
    /// Returns whether the text alone shows that the caller wants to speak.
    pub(super) fn interrupt(&self, settings: &Interruption) -> bool {
        let content = self.content(settings);
        let needed =
            if self.one_word_interrupts { 1 } else { usize::try_from(settings.min_words).unwrap_or(usize::MAX) };
        needed > 0 && content > 0 && (content >= needed || self.has_command())
    }

    fn has_command(&self) -> bool {
        let words = self.language.words(self.text);
        words.iter().any(|word| self.language.commands.contains(&word.as_str()))
    }

    /// Returns whether the text is a single word that needs no response. Said briefly in the middle of the agent's sentence, it is usually a
    /// backchannel that the STT misheard.
    pub(super) fn are_aside(&self, settings: &Interruption) -> bool {
        let asks = self.text.trim_end().ends_with(['?', '？']);
        self.content(settings) == 1 && !self.one_word_interrupts && !asks && !self.has_command()
    }

    /// Returns whether nothing in the text needs a response.
    pub(super) fn are_backchannel(&self, settings: &Interruption) -> bool {
        self.content(settings) == 0
    }

    /// Returns how many words are left without backchannels and hesitations, and without courtesies where they do not count.
    fn content(&self, settings: &Interruption) -> usize {
        let mut words = self.language.words(self.text);
        if words.is_empty() {
            return 0;
        }
        let mut phrases: Vec<_> = settings.backchannels.iter().map(|phrase| self.language.words(phrase)).collect();
        if self.courtesies {
            let all = self.language.courtesies.iter().chain(self.language.farewells);
            phrases.extend(all.map(|phrase| self.language.words(phrase)));
            if !self.settled {
                words.truncate(words.len() - unfinished(&words, &phrases));
            }
        }
        let left = self.language.words_outside(&words, &phrases);
        left.into_iter().filter(|word| !self.language.hesitations.contains(word)).count()
    }
}

/// Returns how many of the last words are the beginning of a phrase.
fn unfinished(words: &[String], phrases: &[Vec<String>]) -> usize {
    let begins = |last: &[String]| phrases.iter().any(|phrase| phrase.len() > last.len() && phrase.starts_with(last));
    (1..=words.len()).rev().find(|count| begins(&words[words.len() - count..])).unwrap_or(0)
}

impl Overlap {
    /// Records that the voice began again. After a longer silence it counts as a new overlap.
    pub(super) fn resume(&mut self, onset: Timestamp, timings: &Timings) {
        let same =
            self.stopped.is_some_and(|stopped| onset.since(stopped - timings.vad_hangover) <= timings.same_speech);
        if !same {
            self.onset = onset;
        }
        self.stopped = None;
    }

    pub(super) fn judge(&self, said: Words<'_>, settings: &Interruption, timings: &Timings, now: Timestamp) -> Verdict {
        if said.interrupt(settings) {
            return Verdict::Interrupt;
        }
        let enough = self.speech_needed(said, settings, timings);
        // There is time to wait for the transcript: a second of "I see" is no interruption, and neither is a cough.
        match self.stopped {
            Some(_) if said.settled && said.text.is_empty() => Verdict::GoOn,
            _ if !said.settled && now < self.verdict_at(said, settings, timings) => Verdict::Wait,
            Some(stopped) if (stopped - timings.vad_hangover).since(self.onset) >= enough => Verdict::Interrupt,
            Some(_) => Verdict::GoOn,
            None if now < self.verdict_at(said, settings, timings) => Verdict::Wait,
            None => Verdict::Interrupt,
        }
    }

    /// Returns when paused playback resumes before the verdict: soon after the voice, even if its words are unknown, and at once if the words
    /// so far are a backchannel.
    pub(super) fn resume_at(&self, said: Words<'_>, settings: &Interruption, timings: &Timings) -> Option<Timestamp> {
        if self.playing != Playing::Paused {
            return None;
        }
        let listens = !said.text.is_empty() && said.are_backchannel(settings);
        let listens = listens.then_some(self.onset);
        listens.or_else(|| self.stopped.map(|stopped| stopped + timings.overlap_resume))
    }

    /// Returns when time alone brings a verdict.
    pub(super) fn verdict_at(&self, said: Words<'_>, settings: &Interruption, timings: &Timings) -> Timestamp {
        match self.stopped {
            // A stop is reported late: until then, a voice that has ended still seems to continue.
            None => self.onset + self.speech_needed(said, settings, timings) + timings.vad_hangover,
            // A slow STT may still report a courtesy.
            Some(stopped) if said.courtesies => stopped + timings.false_interruption.max(timings.stt),
            Some(stopped) => stopped + timings.false_interruption,
        }
    }

    fn speech_needed(&self, said: Words<'_>, settings: &Interruption, timings: &Timings) -> std::time::Duration {
        let needed = std::time::Duration::from_millis(settings.min_speech_ms.into());
        let courtesy = self.stopped.is_none() || (!said.text.is_empty() && said.are_backchannel(settings));
        if said.courtesies && courtesy {
            return needed.max(timings.courtesy);
        }
        match (said.text.is_empty(), self.stopped) {
            // Backchannels take as long as other words, so wait for the text.
            (true, None) => needed * 2,
            (false, _) if said.are_backchannel(settings) => needed.max(timings.long_backchannel),
            (false, Some(_)) if said.settled && said.are_aside(settings) => needed.max(timings.long_word),
            _ => needed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentConfig;

    fn said(text: &str, settled: bool) -> Words<'_> {
        Words { language: Language::of("en"), text, settled, one_word_interrupts: false, courtesies: false }
    }

    #[test]
    fn backchannels_are_no_words() {
        let settings = Interruption::default();
        for (text, content) in
            [("Mm-hmm.", 0), ("okay, right, I see", 0), ("uh yeah", 0), ("yes but Sunday", 2), ("I want", 2), ("", 0)]
        {
            assert_eq!(said(text, true).content(&settings), content, "{text}");
        }
    }

    #[test]
    fn voice_or_words_interrupt_and_noise_does_not() {
        let (settings, timings) = (Interruption::default(), Timings::default()); // 500 ms or two words.
        let at = Timestamp::from_millis;
        let ongoing = Overlap { playing: Playing::Paused, onset: at(0), stopped: None };
        // A stop is reported 120 ms after the speech: at 520 the voice lasted 400 ms.
        let short = Overlap { playing: Playing::Paused, onset: at(0), stopped: Some(at(520)) };
        let long = Overlap { playing: Playing::Paused, onset: at(0), stopped: Some(at(620)) };
        let drawn_out = Overlap { playing: Playing::Paused, onset: at(0), stopped: Some(at(920)) };
        let table = [
            (ongoing, said("", false), 1_119, Verdict::Wait), // 2 * 500 + 120
            (ongoing, said("", false), 1_120, Verdict::Interrupt),
            (ongoing, said("tonight", false), 620, Verdict::Interrupt), // 500 + 120
            (ongoing, said("I want", false), 300, Verdict::Interrupt),
            (ongoing, said("I", false), 300, Verdict::Wait),
            (ongoing, said("wait", false), 300, Verdict::Interrupt),
            (ongoing, said("yeah okay", false), 1_619, Verdict::Wait), // 1500 + 120
            (ongoing, said("yeah okay", false), 1_620, Verdict::Interrupt),
            (short, said("", false), 520, Verdict::Wait),
            (short, said("", true), 520, Verdict::GoOn),
            (short, said("", false), 1_520, Verdict::GoOn), // 520 + 1000
            (short, said("sure", true), 520, Verdict::GoOn),
            (long, said("", false), 620, Verdict::Wait),
            (long, said("", false), 1_620, Verdict::Interrupt), // 620 + 1000
            (long, said("", true), 620, Verdict::GoOn),
            (long, said("Friday", true), 620, Verdict::GoOn),
            (drawn_out, said("Friday", true), 920, Verdict::Interrupt),
            (long, said("Friday?", true), 620, Verdict::Interrupt),
            (long, said("Mamma.", true), 620, Verdict::GoOn),
            (long, said("okay right", true), 620, Verdict::GoOn),
        ];
        for (overlap, words, now, expected) in table {
            let verdict = overlap.judge(words, &settings, &timings, at(now));
            assert_eq!(verdict, expected, "{} at {now} ms", words.text);
        }
    }

    #[test]
    fn words_are_not_looked_at_when_the_agent_says_so() {
        let settings = Interruption { min_words: 0, ..Interruption::default() };
        assert!(!said("stop it now please", true).interrupt(&settings));
    }

    #[test]
    fn every_language_knows_its_backchannels_and_commands() {
        let table = [
            ("de", "ja, genau, mhm", 0, false),
            ("de", "ähm ach so", 0, false),
            ("de", "Moment", 1, true),
            ("de", "ja aber nicht Sonntag", 3, true),
            ("es", "sí, claro, ya veo", 0, false),
            ("es", "espere", 1, true),
            ("fr", "oui d\u{2019}accord, très bien", 0, false),
            ("fr", "attendez", 1, true),
            ("it", "sì, ho capito", 0, false),
            ("it", "no", 1, true),
            ("pt-PT", "pois é, está bem", 0, false),
            ("pt", "não", 1, true),
            ("nl", "ja ja, ik begrijp het", 0, false),
            ("nl", "wacht", 1, true),
            ("hi", "जी हाँ, ठीक है, अच्छा", 0, false),
            ("hi", "haan ji", 0, false),
            ("hi", "रुकिए", 1, true),
            ("ja", "はいはい、なるほど", 0, false),
            ("ja", "えーと、そうですか", 0, false),
            ("ja", "ちょっと待ってください", 1, true),
            ("ja", "明日がいい", 2, true),
            ("xx", "okay", 1, false),
        ];
        for (tag, text, content, interrupts) in table {
            let mut agent = AgentConfig::new("Book tables.");
            tag.clone_into(&mut agent.language);
            agent.localise();
            let said = Words { language: Language::of(tag), ..said(text, true) };
            let verdict = (said.content(&agent.interruption), said.interrupt(&agent.interruption));
            assert_eq!(verdict, (content, interrupts), "{tag}: {text}");
        }
    }

    #[test]
    fn thanks_and_assent_do_not_stop_what_the_agent_is_about_to_do() {
        let table = [
            ("en", "Okay, thank you very much.", false),
            ("en", "Great, that would be perfect, thanks.", false),
            ("en", "Yes, please. I'll wait.", false),
            ("en", "No problem.", false),
            ("en", "No, thank you.", true),
            ("en", "Thanks, but not to him.", true),
            ("en", "Thank you. Wait!", true),
            ("de", "Ja, gerne, vielen herzlichen Dank.", false),
            ("de", "Danke, aber nicht jetzt.", true),
            ("es", "Sí, por favor, muchas gracias.", false),
            ("fr", "D\u{2019}accord, je vous remercie.", false),
            ("hi", "जी, बहुत बहुत धन्यवाद।", false),
            ("it", "Va benissimo, la ringrazio.", false),
            ("ja", "はい、どうもありがとうございます。", false),
            ("ja", "いいえ、待ってください。", true),
            ("nl", "Ja graag, heel erg bedankt.", false),
            ("pt", "Está ótimo, muito obrigada.", false),
        ];
        for (tag, text, interrupts) in table {
            let mut agent = AgentConfig::new("Book tables.");
            tag.clone_into(&mut agent.language);
            agent.localise();
            let words = Words { language: Language::of(tag), courtesies: true, ..said(text, true) };
            assert_eq!(words.interrupt(&agent.interruption), interrupts, "{tag}: {text}");
        }
    }

    #[test]
    fn the_beginning_of_a_courtesy_is_one_until_its_words_are_known() {
        let settings = Interruption::default();
        for (text, settled, interrupts) in
            [("Okay, that would", false, false), ("Okay, that would", true, true), ("that would be wrong", false, true)]
        {
            let words = Words { courtesies: true, ..said(text, settled) };
            assert_eq!(words.interrupt(&settings), interrupts, "{text}");
        }
    }
}
