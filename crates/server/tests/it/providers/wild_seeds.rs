//! Runs a story over seeds. `WILD_SEEDS=500` tries more of them, `WILD_SEED=7` one.

use std::ops::Range;

/// Tries every `step`th seed below `count` from `first` on; `fault_of` returns what is wrong with one.
pub(super) async fn try_seeds(count: u64, first: u64, step: u64, fault_of: impl AsyncFn(u64) -> Option<String>) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let count = number("WILD_SEEDS").unwrap_or(count);
    let seeds: Range<u64> = number("WILD_SEED").map_or(0..count, |seed| seed..seed + 1);
    let mut wrong = Vec::new();
    for seed in seeds.filter(|seed| seed % step == first) {
        wrong.extend(fault_of(seed).await);
    }
    assert!(wrong.is_empty(), "{} seeds fail:\n{}", wrong.len(), wrong.join("\n"));
}
