//! The simulated caller: what they say depends only on how loud the agent is.
//!
//! They wait until the agent has spoken and has been quiet for a while, then say their next line; they ask "Hello?" when
//! the line is silent, start over when the agent keeps asking after the last line, and hang up when the agent stays silent.

use std::collections::VecDeque;

use switchhook_caller_audio::{self as recordings, Recording};
use switchhook_media::format::AudioFormat;

/// A frame at least this loud is the agent speaking.
const VOICED_DBFS: f32 = -45.0;
/// The agent must have spoken this long to have said something.
const MIN_SPEECH_MS: u32 = 200;
/// The caller answers this long after the agent has stopped.
const REACTION_MS: u32 = 700;
/// Silence of both sides after which the caller asks whether the agent is there.
const HELLO_MS: u32 = 6_000;
/// How often they ask before they hang up.
const HELLOS: u32 = 2;
/// How long the caller waits for the goodbye after the last line of the last round.
const GOODBYE_MS: u32 = 8_000;
/// How often the caller goes through their lines when the agent keeps asking.
const ROUNDS: u32 = 3;
/// The time between two keys.
const KEY_MS: u32 = 240;
/// The length of a frame.
const FRAME_MS: u32 = 20;

/// The caller's action in the next 20 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Plays this frame of a line.
    Speak(&'static [i16]),
    /// Presses a key.
    Press(char),
    /// Listens.
    Listen,
    /// Hangs up.
    HangUp,
}

/// One simulated caller. Time is counted in frames.
#[derive(Debug)]
pub(super) struct Caller {
    format: AudioFormat,
    lines: &'static [&'static str],
    /// Entries to press instead of saying lines.
    presses: VecDeque<String>,
    /// The remaining keys of the current entry, and the time until the next one.
    pressing: (VecDeque<char>, u32),
    next: usize,
    round: u32,
    hellos: u32,
    speaking: Option<(Recording, usize)>,
    agent_spoke_ms: u32,
    quiet_ms: u32,
}

impl Caller {
    /// Creates a caller who asked for a table and is called back.
    pub(super) fn diner(format: AudioFormat) -> Self {
        Self {
            format,
            lines: &["name", "day", "time", "people", "yes"],
            presses: VecDeque::new(),
            pressing: (VecDeque::new(), 0),
            next: 0,
            round: 1,
            hellos: 0,
            speaking: None,
            agent_spoke_ms: 0,
            quiet_ms: 0,
        }
    }

    /// Creates a caller who only sends DTMF, one entry each time the agent has spoken.
    pub(super) fn dtmf_only(format: AudioFormat, presses: &[String]) -> Self {
        Self { lines: &[], presses: presses.to_vec().into(), ..Self::diner(format) }
    }

    /// Returns the action for the next 20 ms. `agent_dbfs` is the agent's level in the last 20 ms.
    pub(super) fn tick(&mut self, agent_dbfs: Option<f32>) -> Action {
        self.track_agent(agent_dbfs.is_some_and(|level| level >= VOICED_DBFS));
        if let Some(action) = self.press() {
            return action;
        }
        if self.speaking.is_none() {
            match self.decide() {
                Some(id) => self.speaking = recordings::recording(id).map(|line| (line, 0)),
                None if self.has_had_enough() => return Action::HangUp,
                None => {}
            }
        }
        self.speak()
    }

    /// Continues the current keys, or starts the next entry when the agent has spoken.
    fn press(&mut self) -> Option<Action> {
        let (keys, wait) = &mut self.pressing;
        if keys.is_empty() {
            if self.agent_spoke_ms < MIN_SPEECH_MS || self.quiet_ms < REACTION_MS {
                return None;
            }
            *keys = self.presses.pop_front()?.chars().collect();
            self.agent_spoke_ms = 0;
        }
        self.quiet_ms = 0;
        *wait = wait.saturating_sub(FRAME_MS);
        if *wait > 0 {
            return Some(Action::Listen);
        }
        *wait = KEY_MS;
        keys.pop_front().map(Action::Press)
    }

    fn track_agent(&mut self, agent_speaks: bool) {
        if agent_speaks {
            self.agent_spoke_ms += FRAME_MS;
            self.quiet_ms = 0;
        } else {
            self.quiet_ms += FRAME_MS;
        }
    }

    fn decide(&mut self) -> Option<&'static str> {
        if self.agent_spoke_ms >= MIN_SPEECH_MS && self.quiet_ms >= REACTION_MS {
            self.agent_spoke_ms = 0;
            return self.next_line();
        }
        if self.quiet_ms >= HELLO_MS && self.hellos < HELLOS && self.next < self.lines.len() {
            self.hellos += 1;
            self.quiet_ms = 0;
            return Some("hello");
        }
        None
    }

    /// Returns the next line. After the last one the agent says goodbye, or asks again for something it has missed.
    fn next_line(&mut self) -> Option<&'static str> {
        if self.next >= self.lines.len() {
            // The agent's first sentence after the last line may be the goodbye: wait for it to end the call.
            self.next += 1;
            if self.next <= self.lines.len() + 1 || self.round >= ROUNDS {
                return None;
            }
            self.next = 0;
            self.round += 1;
        }
        let line = self.lines.get(self.next).copied();
        self.next += 1;
        line
    }

    fn has_had_enough(&self) -> bool {
        let done = self.next >= self.lines.len();
        self.quiet_ms >= if done { GOODBYE_MS } else { HELLO_MS + REACTION_MS }
    }

    fn speak(&mut self) -> Action {
        let Some((line, position)) = &mut self.speaking else { return Action::Listen };
        let Some(frame) = line.frame_in(self.format, *position) else {
            self.speaking = None;
            self.quiet_ms = 0;
            return Action::Listen;
        };
        *position += 1;
        // Do not wait for the agent's speech during the caller's.
        self.quiet_ms = 0;
        Action::Speak(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: Option<f32> = Some(-20.0);

    /// Lets the agent speak for a second, then listens until the caller has said something and stopped.
    fn exchange(caller: &mut Caller) -> usize {
        for _ in 0..50 {
            assert_eq!(caller.tick(LOUD), Action::Listen, "the caller does not interrupt");
        }
        let mut spoken = 0;
        for _ in 0..500 {
            match caller.tick(None) {
                Action::Speak(frame) => spoken += frame.len(),
                Action::Listen if spoken > 0 => return spoken,
                Action::Listen => {}
                Action::HangUp | Action::Press(_) => return spoken,
            }
        }
        spoken
    }

    #[test]
    fn the_caller_says_each_line_after_the_agent_and_waits_for_the_goodbye() {
        let mut caller = Caller::diner(AudioFormat::Narrowband);
        for id in ["name", "day", "time", "people", "yes"] {
            let line = recordings::recording(id).expect("shipped");
            assert_eq!(exchange(&mut caller), line.bytes().len(), "{id}");
        }
        assert_eq!(exchange(&mut caller), 0, "after the goodbye the caller says nothing and hangs up");
    }

    #[test]
    fn a_dtmf_only_caller_presses_one_entry_each_time_the_agent_has_spoken() {
        let mut caller = Caller::dtmf_only(AudioFormat::Narrowband, &["12#".to_owned(), "3".to_owned()]);
        let mut pressed = String::new();
        for expected in ["12#", "12#3", "12#3"] {
            for _ in 0..50 {
                assert_eq!(caller.tick(LOUD), Action::Listen);
            }
            for _ in 0..150 {
                match caller.tick(None) {
                    Action::Press(key) => pressed.push(key),
                    other => assert_eq!(other, Action::Listen),
                }
            }
            assert_eq!(pressed, expected);
        }
    }

    #[test]
    fn caller_hangs_up_on_silence_after_two_hellos() {
        let mut caller = Caller::diner(AudioFormat::Narrowband);
        let mut hellos = 0;
        let mut last = Action::Listen;
        let ended = (0..3_000).find(|_| {
            let action = caller.tick(None);
            hellos += u32::from(matches!(action, Action::Speak(_)) && last == Action::Listen);
            last = action;
            action == Action::HangUp
        });
        assert!(ended.is_some());
        assert_eq!(hellos, HELLOS);
    }
}
