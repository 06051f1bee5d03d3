//! Outcomes as figures: shares and percentiles with intervals from resampling, per class.

use serde::Serialize;

use super::corpus::Class;
use super::outcome::Outcome;

const RESAMPLES: usize = 1_000;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Items and how many of them there are.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Turns {
    pub(crate) items: usize,
    /// Percent.
    pub(crate) cut_off: Option<Figure>,
    pub(crate) split: Option<Figure>,
    pub(crate) answered: Option<Figure>,
    /// Milliseconds, of turns that were not cut off.
    pub(crate) latency_p50: Option<Figure>,
    pub(crate) latency_p95: Option<Figure>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Overlaps {
    pub(crate) items: usize,
    /// Percent.
    pub(crate) silenced: Option<Figure>,
    pub(crate) ended_sentence: Option<Figure>,
    pub(crate) understood: Option<Figure>,
    pub(crate) answered: Option<Figure>,
    /// Milliseconds.
    pub(crate) silenced_p50: Option<Figure>,
    pub(crate) silenced_p95: Option<Figure>,
}

pub(crate) fn turns<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Turns {
    let outcomes: Vec<&Outcome> = outcomes.collect();
    let latencies: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.latency_ms).map(|ms| ms as f64).collect();
    Turns {
        items: outcomes.len(),
        cut_off: share(&outcomes, |outcome| outcome.cut_off),
        split: share(&outcomes, |outcome| outcome.split),
        answered: share(&outcomes, |outcome| outcome.answered),
        latency_p50: interval(&latencies, |sorted| percentile(sorted, 50)),
        latency_p95: interval(&latencies, |sorted| percentile(sorted, 95)),
    }
}

pub(crate) fn overlaps<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Overlaps {
    let outcomes: Vec<&Outcome> = outcomes.collect();
    let silenced: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.silenced_ms).map(|ms| ms as f64).collect();
    Overlaps {
        items: outcomes.len(),
        silenced: share(&outcomes, |outcome| outcome.silenced_ms.is_some()),
        ended_sentence: share(&outcomes, |outcome| outcome.ended_sentence),
        understood: share(&outcomes, |outcome| outcome.understood),
        answered: share(&outcomes, |outcome| outcome.answered),
        silenced_p50: interval(&silenced, |sorted| percentile(sorted, 50)),
        silenced_p95: interval(&silenced, |sorted| percentile(sorted, 95)),
    }
}

/// Those of a class, of a kind or of all, and of a pause or of all.
pub(crate) fn of<'a>(
    outcomes: &'a [Outcome],
    class: Class,
    kind: Option<&'a str>,
    pause_ms: Option<u32>,
) -> impl Iterator<Item = &'a Outcome> {
    outcomes.iter().filter(move |outcome| {
        outcome.class == class
            && kind.is_none_or(|kind| outcome.kind == kind)
            && pause_ms.is_none_or(|pause_ms| outcome.pause_ms == pause_ms)
    })
}

fn share(outcomes: &[&Outcome], is: impl Fn(&Outcome) -> bool) -> Option<Figure> {
    let values: Vec<f64> = outcomes.iter().map(|outcome| if is(outcome) { 100.0 } else { 0.0 }).collect();
    interval(&values, |sorted| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

/// By the nearest-rank method.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied().unwrap_or_default()
}

/// A statistic of sorted values, with the middle 95 % of what it is when as many items are drawn again and again (bootstrap).
fn interval(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<Figure> {
    if values.is_empty() {
        return None;
    }
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        statistic(&values)
    };
    let mut state = 1_u64;
    let mut draw = || {
        // Knuth's MMIX; the same numbers every time.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values[usize::try_from(state >> 33).unwrap_or_default() % values.len()]
    };
    let mut drawn: Vec<f64> = (0..RESAMPLES).map(|_| sorted((0..values.len()).map(|_| draw()).collect())).collect();
    drawn.sort_by(f64::total_cmp);
    let at = |share: usize| drawn[RESAMPLES * share / 1_000];
    Some(Figure { value: sorted(values.to_vec()), low: at(25), high: at(974) })
}
