//! Holes in the agent's speech while callers speak over it, in virtual time.

use super::*;

const ANSWER: &str =
    "We have a table at seven and another one at nine tonight, and on Friday there is music from eight on.";
/// A backchannel may silence the agent until so long after its end.
const RESUMES_WITHIN_MS: u64 = 300;

/// What callers say over the agent without taking the turn: text and length.
const LISTENING: &[(&str, u64)] = &[
    ("Uh-huh.", 250),
    ("Right.", 300),
    ("Mm-hmm.", 380),
    ("Yeah.", 220),
    ("Okay, I see.", 650),
    ("Yeah, okay, right.", 900),
    ("Sure.", 340),
    ("Oh.", 200),
    ("", 120),
    ("", 250),
    ("", 380),
    ("", 700),
];

/// Words that take the turn, with the time after which they are known.
const INTERRUPTING: &[(&str, u64)] = &[
    ("Hold on.", 350),
    ("Wait.", 300),
    ("No.", 250),
    ("What time?", 400),
    ("Not Friday.", 450),
    ("Sorry, can you repeat that?", 600),
    ("I said eight, not nine.", 500),
];

impl Talk {
    /// Advances the time to `ms` and returns for how many milliseconds of it no audio was heard.
    fn hole_until(&mut self, ms: u64) -> u64 {
        let mut hole = 0;
        while self.now < ms {
            let next = (self.now / 20 + 1) * 20;
            self.until(next.min(ms));
            hole += if self.line.held && !self.line.queue.is_empty() { 20 } else { 0 };
        }
        hole
    }
}

/// Returns the hole that a text over the agent makes, how long after the end of the voice the agent is heard again, and whether it was cut.
fn spoken_over(text: &str, ms: u64) -> (u64, u64, bool) {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    let (begins, ends) = (4_000, 4_000 + ms);
    let mut hole = talk.hole_until(begins + 64);
    talk.tell(Input::SpeechStarted);
    hole += talk.hole_until(ends + HANGOVER_MS);
    talk.tell(Input::SpeechStopped { segment: 1 });
    hole += talk.hole_until(ends + 300);
    talk.tell(Input::from(CascadeInput::TranscriptFinal { segment: 1, text: text.to_owned() }));
    hole += talk.hole_until(8_000);
    let resumed =
        talk.times(|effect| *effect == Effect::ResumePlayback).first().map_or(0, |at| at.saturating_sub(ends));
    (hole, resumed, talk.times(|effect| *effect == Effect::ClearPlayback).is_empty())
}

#[test]
fn the_agent_is_heard_again_within_300_ms_of_a_backchannel_or_a_noise() {
    for (text, ms) in LISTENING {
        let (hole, resumed, continues) = spoken_over(text, *ms);
        assert!(continues, "{text} {ms}");
        assert!(resumed <= RESUMES_WITHIN_MS, "{text} {ms}: heard again after {resumed} ms");
        assert!(hole <= ms + RESUMES_WITHIN_MS, "{text} {ms}: a hole of {hole} ms");
    }
}

#[test]
fn a_backchannel_that_is_known_by_its_words_does_not_hold_the_agent_while_it_lasts() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts().until(4_350).partial("Yeah okay");
    assert_eq!(talk.hole_until(5_200), 0);
    talk.caller_stops("Yeah, okay, I see.");
    assert_eq!(talk.hole_until(8_000), 0);
}

#[test]
fn the_agent_that_has_resumed_pauses_again_when_the_voice_does() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts().until(4_200);
    talk.until(4_300).tell(Input::SpeechStopped { segment: 1 }).until(4_500);
    assert!(!talk.line.held);
    talk.caller_starts();
    assert!(talk.line.held);
}

#[test]
fn words_that_take_the_turn_stop_the_agent_when_they_are_known() {
    for (text, known) in INTERRUPTING {
        let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
        talk.until(4_000).caller_starts().until(4_000 + known).partial(text);
        assert_eq!(talk.times(|effect| *effect == Effect::ClearPlayback), [4_000 + known], "{text}");
        let (.., continues) = spoken_over(text, *known);
        assert!(!continues, "{text}, known only at its end");
    }
}

#[test]
fn voice_silences_the_agent_before_its_words_are_known() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts();
    assert!(talk.line.held);
}
