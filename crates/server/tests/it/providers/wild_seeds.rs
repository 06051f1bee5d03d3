//! Runs a story over seeds, for as long as other random tests: `SWITCHHOOK_RANDOM_SECONDS`. `WILD_SEEDS=500` tries so many instead,
//! `WILD_SEED=7` one.

use std::time::{Duration, Instant};

/// How many seconds a test tries seeds.
const SECONDS: u64 = 2;

/// Tries every `step`th seed below `most` from `first` on; `fault_of` returns what is wrong with one. Prints how many were tried.
pub(super) async fn try_seeds(most: u64, first: u64, step: u64, fault_of: impl AsyncFn(u64) -> Option<String>) {
    try_seeds_within(SECONDS, most, first, step, fault_of).await;
}

/// The same for as many seconds, unless the environment says otherwise.
#[expect(clippy::print_stdout, reason = "how many seeds a budget allowed belongs into the log of a run")]
pub(crate) async fn try_seeds_within(
    seconds: u64,
    most: u64,
    first: u64,
    step: u64,
    fault_of: impl AsyncFn(u64) -> Option<String>,
) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let (count, only) = (number("WILD_SEEDS"), number("WILD_SEED"));
    let seeds = only.map_or(0..count.unwrap_or(most), |seed| seed..seed + 1);
    let unlimited = count.or(only).is_some();
    let budget = Duration::from_secs(number("SWITCHHOOK_RANDOM_SECONDS").unwrap_or(seconds));
    let began = Instant::now();
    let (mut tried, mut wrong) = (0, Vec::new());
    for seed in seeds.filter(|seed| seed % step == first) {
        if !unlimited && tried > 0 && began.elapsed() > budget {
            break;
        }
        wrong.extend(fault_of(seed).await);
        tried += 1;
    }
    println!("{tried} seeds");
    assert!(wrong.is_empty(), "{} seeds fail:\n{}", wrong.len(), wrong.join("\n"));
}
