//! The far end of a call: detects the agent's speech as it is played, and speaks recorded sentences.

use std::collections::VecDeque;

use switchhook_caller_audio::{self, Recording};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::Law;
use switchhook_media::level::VOICED_DBFS;

/// Frames of speech after which the agent has said something: 200 ms.
const SAID: u32 = 10;
/// Frames of silence before the far end answers: 700 ms.
const REACTION: u32 = 35;
/// Frames between two keys: 300 ms.
const BETWEEN_KEYS: u32 = 15;

/// The behaviour of the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// Says everything that is needed to book a table.
    Diner,
    /// Says nothing.
    Listener,
    /// Presses these keys when the agent has spoken.
    Presses(&'static str),
    /// Hangs up while the agent speaks.
    HangsUp,
    /// Their media stream cannot be opened.
    WithoutStream,
    /// Their media stream breaks off while the agent speaks.
    StreamBreaks,
    /// A machine, whose greeting ends with a beep.
    Machine,
}

/// The far end's action in the next 20 ms.
pub(super) enum Does {
    Sounds(Frame),
    Presses(char),
    HangsUp,
    BreaksStream,
}

/// The person at the far end.
pub(super) struct Person {
    character: FarEnd,
    lines: VecDeque<&'static str>,
    keys: VecDeque<char>,
    until_next_key: u32,
    speaking: Option<(Recording, usize)>,
    spoken: u32,
    quiet: u32,
}

impl Person {
    pub(super) fn new(character: FarEnd) -> Self {
        let lines = if character == FarEnd::Diner { &["name", "day", "time", "people", "yes"][..] } else { &[] };
        let keys = if let FarEnd::Presses(keys) = character { keys } else { "" };
        Self {
            character,
            lines: lines.iter().copied().collect(),
            keys: keys.chars().collect(),
            until_next_key: 0,
            speaking: None,
            spoken: 0,
            quiet: 0,
        }
    }

    /// Receives 20 ms. Returns whether the agent spoke.
    pub(super) fn hear(&mut self, frame: &Frame) -> bool {
        let voiced = frame.rms_dbfs() > VOICED_DBFS;
        if voiced {
            (self.spoken, self.quiet) = (self.spoken + 1, 0);
        } else {
            self.quiet += 1;
        }
        voiced
    }

    /// Returns the action for 20 ms.
    pub(super) fn act(&mut self) -> Does {
        match self.character {
            FarEnd::HangsUp if self.spoken >= SAID => return Does::HangsUp,
            FarEnd::StreamBreaks if self.spoken >= SAID => return Does::BreaksStream,
            _ => {}
        }
        if let Some((line, position)) = &mut self.speaking {
            *position += 1;
            match line.frame(*position) {
                Some(frame) => return Does::Sounds(decoded(frame)),
                None => self.speaking = None,
            }
        }
        self.until_next_key = self.until_next_key.saturating_sub(1);
        if self.spoken >= SAID && self.quiet >= REACTION {
            if let Some(line) = self.lines.pop_front().and_then(switchhook_caller_audio::recording) {
                (self.spoken, self.speaking) = (0, Some((line, 0)));
                return Does::Sounds(line.frame(0).map_or(Frame::silence(AudioFormat::Narrowband), decoded));
            }
            if self.until_next_key == 0
                && let Some(key) = self.keys.pop_front()
            {
                self.until_next_key = BETWEEN_KEYS;
                return Does::Presses(key);
            }
        }
        Does::Sounds(Frame::silence(AudioFormat::Narrowband))
    }
}

fn decoded(frame: &[u8]) -> Frame {
    Law::Mu.decode_frame(frame).unwrap_or(Frame::silence(AudioFormat::Narrowband))
}
