//! The person at the far end: hears the agent as it is played out, and speaks recorded sentences.

use std::collections::VecDeque;

use switchhook_caller_audio::{self, Recording};
use switchhook_media::dtmf::Detector;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::Law;
use switchhook_media::level::VOICED_DBFS;

use super::script::FarEnd;

/// Frames that the agent must have spoken to have said something: 200 ms.
const SAID: u32 = 10;
/// Frames of quiet before the far end speaks: 700 ms.
const REACTION: u32 = 35;
/// Frames between two keys.
const BETWEEN_KEYS: u32 = 15;
/// A frame of silence, µ-law.
const SILENCE: [u8; 160] = [0xff; 160];

/// Action of the far end in the next 20 ms.
pub(crate) enum Does {
    Sounds([u8; 160]),
    Presses(char),
    HangsUp,
}

/// A person at the far end.
pub(crate) struct Person {
    character: FarEnd,
    lines: VecDeque<&'static str>,
    speaking: Option<(Recording, usize)>,
    keys: VecDeque<char>,
    until_next_key: u32,
    spoken: u32,
    quiet: u32,
    detector: Detector,
}

impl Person {
    pub(crate) fn new(character: FarEnd) -> Self {
        let lines =
            if matches!(character, FarEnd::Diner) { &["name", "day", "time", "people", "yes"][..] } else { &[] };
        let keys = if let FarEnd::Presses(keys) = character { keys } else { "" };
        Self {
            character,
            lines: lines.iter().copied().collect(),
            speaking: None,
            keys: keys.chars().collect(),
            until_next_key: 0,
            spoken: 0,
            quiet: 0,
            detector: Detector::default(),
        }
    }

    /// Hears 20 ms of what is played out; the key whose tone that was, if any.
    pub(crate) fn hear(&mut self, played: Option<&[u8]>) -> Option<char> {
        let frame = played
            .and_then(|bytes| Law::Mu.decode_frame(bytes).ok())
            .unwrap_or(Frame::silence(AudioFormat::Narrowband));
        if frame.rms_dbfs() > VOICED_DBFS {
            (self.spoken, self.quiet) = (self.spoken + 1, 0);
        } else {
            self.quiet += 1;
        }
        self.detector.push(&frame)
    }

    /// The next 20 ms.
    pub(crate) fn act(&mut self) -> Does {
        if let FarEnd::HangsUpAfter(spoken) = self.character
            && u128::from(self.spoken) * 20 >= spoken.as_millis()
        {
            return Does::HangsUp;
        }
        if let Some((line, position)) = &mut self.speaking {
            *position += 1;
            match line.frame(*position) {
                Some(frame) => return Does::Sounds(whole(frame)),
                None => self.speaking = None,
            }
        }
        self.until_next_key = self.until_next_key.saturating_sub(1);
        if self.spoken >= SAID && self.quiet >= REACTION {
            if let Some(line) = self.lines.pop_front().and_then(switchhook_caller_audio::recording) {
                (self.spoken, self.speaking) = (0, Some((line, 0)));
                return Does::Sounds(line.frame(0).map_or(SILENCE, whole));
            }
            if self.until_next_key == 0
                && let Some(key) = self.keys.pop_front()
            {
                self.until_next_key = BETWEEN_KEYS;
                return Does::Presses(key);
            }
        }
        Does::Sounds(SILENCE)
    }
}

fn whole(frame: &[u8]) -> [u8; 160] {
    frame.try_into().unwrap_or(SILENCE)
}
