//! Collects the keys that the caller presses into inputs.

use std::time::Duration;

use crate::Timestamp;
use crate::agent::Dtmf;
use crate::privacy::KEYS_MARK;

/// Keys beyond this many are dropped until the inputs are taken.
const MOST: usize = 256;

/// The inputs of one turn. There is more than one if the caller continues while the agent cannot be interrupted.
#[derive(Default)]
pub(super) struct DtmfCollector {
    complete: Vec<String>,
    current: String,
    length: usize,
    pressed_at: Option<Timestamp>,
    /// When the last input was ended by its length. The finish key may still follow it.
    filled_at: Option<Timestamp>,
}

impl DtmfCollector {
    /// Adds a key. Returns whether it counts: the finish key of an input that its length has ended already does not.
    pub(super) fn press(&mut self, key: char, settings: &Dtmf, now: Timestamp) -> bool {
        let finishes = settings.finish_key() == Some(key);
        let follows = self.filled_at.take().is_some_and(|filled| now.since(filled) <= timeout(settings));
        if finishes && follows {
            return false;
        }
        self.pressed_at = Some(now);
        self.length += 1;
        if self.length > MOST {
            return true;
        }
        // The finish key on its own is an input.
        if !finishes || self.current.is_empty() {
            self.current.push(key);
        }
        let most = usize::try_from(settings.max_digits).unwrap_or(usize::MAX);
        if finishes || self.current.len() >= most {
            self.complete.push(std::mem::take(&mut self.current));
            // In a menu each key is an input, the finish key too.
            self.filled_at = (!finishes && most > 1).then_some(now);
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns whether the input is complete without waiting for more keys.
    pub(super) fn is_complete(&self) -> bool {
        !self.complete.is_empty() && self.current.is_empty()
    }

    /// Returns when the last key was pressed.
    pub(super) fn pressed_at(&self) -> Option<Timestamp> {
        self.pressed_at
    }

    /// Returns when the input is over unless another key is pressed; `None` without any input.
    pub(super) fn over_at(&self, settings: &Dtmf) -> Option<Timestamp> {
        let pressed = self.pressed_at?;
        Some(if self.is_complete() { pressed } else { pressed + timeout(settings) })
    }

    /// Returns the inputs as the model sees them, marked as keys; empty if there are none.
    pub(super) fn text(&self) -> String {
        let all = self.complete.iter().chain([&self.current]).filter(|input| !input.is_empty());
        let inputs = all.map(String::as_str).collect::<Vec<_>>().join(" ");
        if inputs.is_empty() { inputs } else { format!("{KEYS_MARK} {inputs}") }
    }

    /// Takes the collected inputs.
    pub(super) fn take(&mut self) -> Self {
        let filled_at = self.filled_at;
        std::mem::replace(self, Self { filled_at, ..Self::default() })
    }
}

/// Returns how long a pause between two keys of an input may be.
fn timeout(settings: &Dtmf) -> Duration {
    Duration::from_millis(settings.digit_timeout_ms.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_over_with_its_finish_key_or_after_a_pause() {
        let (settings, at) = (Dtmf::default(), Timestamp::from_millis);
        let mut keys = DtmfCollector::default();
        assert_eq!((keys.text().as_str(), keys.over_at(&settings)), ("", None));
        keys.press('4', &settings, at(0));
        assert_eq!(keys.over_at(&settings), Some(at(i64::from(settings.digit_timeout_ms))));
        keys.press('#', &settings, at(100));
        assert_eq!((keys.text().as_str(), keys.over_at(&settings)), ("[keys] 4", Some(at(100))));
        assert!(!keys.take().is_empty() && keys.is_empty());
    }

    #[test]
    fn the_finish_key_behind_a_full_input_belongs_to_it() {
        let at = Timestamp::from_millis;
        // The most digits, when the finish key follows and how often, and what is left of it.
        for (max_digits, pressed, left) in [
            (2, vec![2_100], ""),
            (2, vec![2_101], "[keys] #"),
            (2, vec![500, 600], "[keys] #"),
            (1, vec![500], "[keys] #"),
        ] {
            let settings = Dtmf { max_digits, ..Dtmf::default() };
            let mut keys = DtmfCollector::default();
            assert!(keys.press('4', &settings, at(0)) && keys.press('7', &settings, at(100)) && keys.is_complete());
            keys.take();
            for ms in &pressed {
                keys.press('#', &settings, at(*ms));
            }
            assert_eq!((keys.text().as_str(), keys.is_empty()), (left, left.is_empty()), "{max_digits} {pressed:?}");
        }
    }
}
