//! How long a caller pauses within turns: one who hesitates once will do so again.

use std::time::Duration;

/// Shorter silences are gaps between words.
const SHORTEST: Duration = Duration::from_millis(200);

/// A running average of one caller's pauses, weighted towards recent ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    mean_ms: Option<u32>,
}

impl Pauses {
    /// Records that the caller continued after this much silence.
    pub(super) fn add(&mut self, pause: Duration) {
        if pause < SHORTEST {
            return;
        }
        let pause = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX).min(5_000);
        self.mean_ms = Some(self.mean_ms.map_or(pause, |mean| (mean * 7 + pause * 3) / 10));
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
