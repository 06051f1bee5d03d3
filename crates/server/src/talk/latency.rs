//! How long the caller waited, measured at the media edge on one monotonic clock.

use std::time::Duration;

use serde::Serialize;
use switchhook_core::histogram::Histogram;
use utoipa::ToSchema;

/// Frames of 20 ms that were due.
const FRAMES: &str = "switchhook_frames_total";
/// The number of those that were sent more than [`PUNCTUAL_DELAY`] late.
const FRAMES_LATE: &str = "switchhook_frames_late_total";
/// The largest delay of a punctual frame.
const PUNCTUAL_DELAY: Duration = Duration::from_millis(5);

/// Counts punctual and late frames for the metrics of the node.
#[derive(Clone)]
pub(super) struct Punctuality {
    frames: metrics::Counter,
    late: metrics::Counter,
}

impl Default for Punctuality {
    fn default() -> Self {
        Self { frames: metrics::counter!(FRAMES), late: metrics::counter!(FRAMES_LATE) }
    }
}

impl Punctuality {
    /// Records that a frame was sent this much after it was due.
    pub(super) fn tick(&self, late: Duration) {
        self.frames.increment(1);
        if late > PUNCTUAL_DELAY {
            self.late.increment(1);
        }
    }
}

/// The waits of one call.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    responses: Vec<Duration>,
    after_turn: Vec<Duration>,
    greeting: Option<Duration>,
}

/// How long the caller waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallLatency)]
pub struct Summary {
    /// From the end of the caller's speech to the first audio of the answer.
    pub response_ms: Percentiles,
    /// From the end-of-turn decision to the first audio of the answer.
    pub after_turn_ms: Percentiles,
    /// From the start of media to the first audio of the greeting.
    pub greeting_ms: Option<u64>,
}

/// Percentiles by the nearest-rank method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LatencyPercentiles)]
pub struct Percentiles {
    /// Median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// Maximum.
    pub max: Option<u64>,
    /// Number measured.
    pub n: usize,
}

impl Latencies {
    /// Records after which time the caller heard a response.
    pub fn response(&mut self, waited: Duration) {
        self.responses.push(waited);
    }

    /// Records how long after the detected end of turn a response was heard.
    pub fn after_turn(&mut self, waited: Duration) {
        self.after_turn.push(waited);
    }

    /// Records after which time the caller heard the greeting.
    pub fn greeting(&mut self, waited: Duration) {
        self.greeting.get_or_insert(waited);
    }

    /// Returns the distribution of the waits for responses.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        self.responses.iter().for_each(|waited| histogram.count(millis(*waited)));
        histogram
    }

    /// Returns a summary of all waits.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            response_ms: percentiles(&self.responses),
            after_turn_ms: percentiles(&self.after_turn),
            greeting_ms: self.greeting.map(millis),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns percentiles of any set of durations.
#[must_use]
pub fn percentiles(durations: &[Duration]) -> Percentiles {
    let mut sorted: Vec<u64> = durations.iter().copied().map(millis).collect();
    sorted.sort_unstable();
    let rank = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    Percentiles { p50: rank(50), p95: rank(95), max: sorted.last().copied(), n: sorted.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_happened() {
        let waits: Vec<_> = (1..=20).map(|n| Duration::from_millis(n * 10)).collect();
        assert_eq!(percentiles(&waits), Percentiles { p50: Some(100), p95: Some(190), max: Some(200), n: 20 });
        assert_eq!(percentiles(&waits[..1]), Percentiles { p50: Some(10), p95: Some(10), max: Some(10), n: 1 });
        assert_eq!(percentiles(&[]), Percentiles::default());
    }
}
