//! A histogram of durations. Its bins widen with the duration, eight in a doubling, so that a percentile of any sum of histograms is within 5 % of
//! the true one, and a sum of any number of them stays small.

use std::collections::BTreeMap;

/// Bins in a doubling.
const PER_DOUBLING: f64 = 8.0;
/// The last bin: 2^20 ms, a quarter of an hour, and longer.
const LAST: u32 = 160;

/// Counts of durations, by bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u32, u64>);

impl Histogram {
    /// Counts a duration in milliseconds.
    pub fn count(&mut self, ms: u64) {
        self.add(bin(ms), 1);
    }

    /// Adds durations that were already counted elsewhere.
    pub fn add(&mut self, bin: u32, count: u64) {
        let sum = self.0.entry(bin.min(LAST)).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Returns the bins and their counts.
    pub fn bins(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().map(|(bin, count)| (*bin, *count))
    }

    /// Returns how many durations were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns a percentile in milliseconds by the nearest-rank method; `None` if nothing was counted.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = self.total().saturating_mul(percent).div_ceil(100).max(1);
        let mut below = 0_u64;
        let found = self.bins().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= rank
        });
        found.map(|(bin, _)| middle(bin))
    }
}

fn bin(ms: u64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a logarithm of at least 1 is small and not negative"
    )]
    let bin = ((ms.max(1) as f64).log2() * PER_DOUBLING).floor() as u32;
    bin.min(LAST)
}

/// Returns the geometric middle of a bin.
fn middle(bin: u32) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^21")]
    let middle = ((f64::from(bin.min(LAST)) + 0.5) / PER_DOUBLING).exp2().round() as u64;
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        durations.into_iter().for_each(|ms| histogram.count(ms));
        histogram
    }

    #[test]
    fn percentiles_are_within_five_percent_of_what_happened() {
        for ms in [20, 55, 120, 461, 812, 1_500, 9_999, 300_000] {
            let found = of([ms]).percentile(50).expect("one");
            assert!(found.abs_diff(ms) * 100 <= ms * 5, "{ms} is shown as {found}");
        }
        let hundred = of((1..=100).map(|n| n * 10));
        for (percent, true_value) in [(50, 500), (95, 950), (100, 1_000)] {
            let found = hundred.percentile(percent).expect("some");
            assert!(found.abs_diff(true_value) * 100 <= true_value * 5, "p{percent} is shown as {found}");
        }
        assert_eq!(of([]).percentile(50), None);
    }

    #[test]
    fn a_sum_of_histograms_is_the_histogram_of_all() {
        let (first, second) = (of([100, 200, 4_000]), of([100, 90_000_000, 0]));
        let mut sum = first;
        second.bins().for_each(|(bin, count)| sum.add(bin, count));
        assert_eq!(sum, of([100, 200, 4_000, 100, 90_000_000, 0]));
        assert_eq!(sum.total(), 6);
    }
}
