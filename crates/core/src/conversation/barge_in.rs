//! When a caller who speaks over the agent means to interrupt.
//!
//! The agent falls silent at once, which costs nothing: it can go on from the very sample. Whether it was an interruption is
//! judged afterwards, by how long the voice lasted and by what was said.

use super::endpointing::words;
use super::timings::Timings;
use crate::Timestamp;
use crate::agent::Interruption;

/// One of these is enough, however few words are said.
const COMMANDS: &[&str] = &["stop", "wait", "no"];
/// Sounds that recognisers write down and that are not words.
const HESITATIONS: &[&str] = &["uh", "um", "uhm", "er", "erm", "ah", "oh"];

/// The agent holds its breath.
#[derive(Clone, Copy)]
pub(super) struct Overlap {
    /// When the voice began.
    pub(super) onset: Timestamp,
    /// When it was reported to have stopped.
    pub(super) stopped: Option<Timestamp>,
}

/// What an overlap turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is too early to say.
    Wait,
    /// The caller wants to speak.
    Interrupt,
    /// It was nothing, or no more than "mm-hmm".
    GoOn,
}

/// What was said over the agent.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    /// The words so far.
    pub(super) text: &'a str,
    /// Whether the recogniser has said all it has to say.
    pub(super) settled: bool,
    /// Whether nothing of what the agent is saying was heard yet: then nothing is lost by listening.
    pub(super) nothing_heard: bool,
}

impl Words<'_> {
    /// Whether the words alone show that the caller wants to speak.
    pub(super) fn interrupt(&self, settings: &Interruption) -> bool {
        let content = content_words(self.text, &settings.backchannels);
        let needed = if self.nothing_heard { 1 } else { usize::try_from(settings.min_words).unwrap_or(usize::MAX) };
        let command = words(self.text).iter().any(|word| COMMANDS.contains(&word.as_str()));
        needed > 0 && content > 0 && (content >= needed || command)
    }

    /// Whether there is nothing in them that would want an answer.
    pub(super) fn are_backchannel(&self, settings: &Interruption) -> bool {
        content_words(self.text, &settings.backchannels) == 0
    }
}

impl Overlap {
    pub(super) fn judge(&self, said: Words<'_>, settings: &Interruption, timings: &Timings, now: Timestamp) -> Verdict {
        if said.interrupt(settings) {
            return Verdict::Interrupt;
        }
        let enough = self.speech_needed(said, settings, timings);
        match self.stopped {
            Some(stopped) if (stopped - timings.vad_hangover).since(self.onset) >= enough => Verdict::Interrupt,
            Some(_) if said.settled => Verdict::GoOn,
            _ if now < self.verdict_at(said, settings, timings) => Verdict::Wait,
            Some(_) => Verdict::GoOn,
            None => Verdict::Interrupt,
        }
    }

    /// When time alone brings a verdict.
    pub(super) fn verdict_at(&self, said: Words<'_>, settings: &Interruption, timings: &Timings) -> Timestamp {
        match self.stopped {
            // A stop is reported late: until then, voice that has ended still looks as if it went on.
            None => self.onset + self.speech_needed(said, settings, timings) + timings.vad_hangover,
            Some(stopped) => stopped + timings.false_interruption,
        }
    }

    fn speech_needed(&self, said: Words<'_>, settings: &Interruption, timings: &Timings) -> std::time::Duration {
        let needed = std::time::Duration::from_millis(settings.min_speech_ms.into());
        let only_backchannels = !said.text.is_empty() && said.are_backchannel(settings);
        if only_backchannels { needed.max(timings.long_backchannel) } else { needed }
    }
}

/// How many words are left when backchannels and hesitations are taken out.
fn content_words(text: &str, backchannels: &[String]) -> usize {
    let phrases: Vec<Vec<String>> = backchannels.iter().map(|phrase| words(phrase)).collect();
    let spoken = words(text);
    let mut rest = spoken.as_slice();
    let mut content = 0;
    while let Some((first, after)) = rest.split_first() {
        let phrase = phrases.iter().filter(|phrase| !phrase.is_empty() && rest.starts_with(phrase)).map(Vec::len).max();
        match phrase {
            Some(length) => rest = &rest[length..],
            None => {
                content += usize::from(!HESITATIONS.contains(&first.as_str()));
                rest = after;
            }
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, settled: bool) -> Words<'_> {
        Words { text, settled, nothing_heard: false }
    }

    #[test]
    fn backchannels_are_no_words() {
        let list = Interruption::default().backchannels;
        for (text, content) in
            [("Mm-hmm.", 0), ("okay, right, I see", 0), ("uh yeah", 0), ("yes but Sunday", 2), ("I want", 2), ("", 0)]
        {
            assert_eq!(content_words(text, &list), content, "{text}");
        }
    }

    #[test]
    fn voice_or_words_interrupt_and_noise_does_not() {
        let (settings, timings) = (Interruption::default(), Timings::default()); // 500 ms or two words.
        let at = Timestamp::from_millis;
        let going_on = Overlap { onset: at(0), stopped: None };
        // A stop is told 200 ms after the voice: at 600 the voice lasted 400 ms.
        let short = Overlap { onset: at(0), stopped: Some(at(600)) };
        let long = Overlap { onset: at(0), stopped: Some(at(700)) };
        let table = [
            (going_on, said("", false), 699, Verdict::Wait), // 500 + 200
            (going_on, said("", false), 700, Verdict::Interrupt),
            (going_on, said("I want", false), 300, Verdict::Interrupt),
            (going_on, said("I", false), 300, Verdict::Wait),
            (going_on, said("wait", false), 300, Verdict::Interrupt),
            (going_on, said("yeah okay", false), 1_699, Verdict::Wait), // 1500 + 200
            (going_on, said("yeah okay", false), 1_700, Verdict::Interrupt),
            (short, said("", false), 600, Verdict::Wait),
            (short, said("", true), 600, Verdict::GoOn),
            (short, said("", false), 1_600, Verdict::GoOn), // 600 + 1000
            (short, said("sure", true), 600, Verdict::GoOn),
            (long, said("", true), 700, Verdict::Interrupt),
            (long, said("okay right", true), 700, Verdict::GoOn),
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
}
