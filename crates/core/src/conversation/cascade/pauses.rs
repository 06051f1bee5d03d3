//! How long a caller pauses within turns, and how long the agent waits: one who hesitates once will do so again.

use std::time::Duration;

/// Shorter silences are gaps between words.
const MIN_PAUSE: Duration = Duration::from_millis(200);

/// The usual patience, and the most that cut turns can make of it, in percent.
const USUAL: u32 = 100;
const MOST: u32 = 400;

/// A running average of one caller's pauses, weighted towards recent ones, and the patience with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    mean_ms: Option<u32>,
    patience_percent: u32,
    /// Whether the turn that is open was cut.
    was_cut: bool,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { mean_ms: None, patience_percent: USUAL, was_cut: false }
    }
}

impl Pauses {
    /// Records that the caller continued after this much silence.
    pub(super) fn add(&mut self, pause: Duration) {
        if pause < MIN_PAUSE {
            return;
        }
        let pause = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX).min(5_000);
        self.mean_ms = Some(self.mean_ms.map_or(pause, |mean| (mean * 7 + pause * 3) / 10));
    }

    /// Doubles the patience, since the agent has spoken into a pause.
    pub(super) fn cut(&mut self) {
        self.patience_percent = (self.patience_percent * 2).min(MOST);
        self.was_cut = true;
    }

    /// Records that a turn was taken. One that was not cut halves what cut turns have added.
    pub(super) fn turn_taken(&mut self) {
        if !std::mem::take(&mut self.was_cut) {
            self.patience_percent = USUAL + (self.patience_percent - USUAL) / 2;
        }
    }

    /// Returns how much silence ends this caller's turn if `usual` ends that of others.
    pub(super) fn silence_needed(self, usual: Duration) -> Duration {
        usual * self.patience_percent / USUAL
    }

    /// Returns the average length in milliseconds; `None` before the first.
    pub(super) fn mean_ms(self) -> Option<u32> {
        self.mean_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_turn_doubles_the_patience_and_turns_without_one_bring_it_back() {
        let mut pauses = Pauses::default();
        let needed = |pauses: Pauses| pauses.silence_needed(Duration::from_millis(400)).as_millis();
        pauses.turn_taken();
        assert_eq!(needed(pauses), 400);
        let after = [true, true, true, false, false, false].map(|cut| {
            if cut {
                pauses.cut();
            }
            pauses.turn_taken();
            needed(pauses)
        });
        assert_eq!(after, [800, 1_600, 1_600, 1_000, 700, 548]);
    }

    #[test]
    fn recent_pauses_count_most_and_gaps_between_words_do_not() {
        let mut pauses = Pauses::default();
        pauses.add(Duration::from_millis(150));
        assert_eq!(pauses.mean_ms(), None);
        for pause in [1_000, 1_000, 400] {
            pauses.add(Duration::from_millis(pause));
        }
        assert_eq!(pauses.mean_ms(), Some(820));
    }
}
