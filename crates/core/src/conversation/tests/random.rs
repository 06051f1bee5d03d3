//! Random cases within a time budget, so that a slow machine tries fewer rather than failing.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// How many seconds a test tries cases.
const SECONDS: &str = "SWITCHHOOK_RANDOM_SECONDS";
const DEFAULT_SECONDS: u64 = 2;
/// The seed of the only case to try.
const SEED: &str = "SWITCHHOOK_RANDOM_SEED";
/// How many smaller cases are tried in place of one that fails.
const SHRINKS: u32 = 10_000;

/// Checks values of `strategy`. Prints how many, and panics with the smallest failing value and its seed.
#[expect(clippy::print_stdout, reason = "how many cases a budget allowed belongs into the log of a run")]
pub(super) fn check<S: Strategy>(strategy: &S, check: impl Fn(S::Value) -> Result<(), TestCaseError>)
where
    S::Value: Debug,
{
    if let Some(seed) = number(SEED) {
        return check_one(strategy, seed, &check);
    }
    let budget = Duration::from_secs(number(SECONDS).unwrap_or(DEFAULT_SECONDS));
    let (began, first) = (Instant::now(), TestRunner::default().rng().next_u64());
    let mut cases = 0;
    while cases == 0 || began.elapsed() < budget {
        check_one(strategy, first.wrapping_add(cases), &check);
        cases += 1;
    }
    println!("{cases} cases, from seed {first} on");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

fn check_one<S: Strategy>(strategy: &S, seed: u64, check: impl Fn(S::Value) -> Result<(), TestCaseError>)
where
    S::Value: Debug,
{
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { max_shrink_iters: SHRINKS, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let case = strategy.new_tree(&mut runner).expect("a strategy that rejects nothing");
    if let Err(TestError::Fail(reason, smallest)) = runner.run_one(case, check) {
        panic!("{reason}\n{smallest:#?}\nTo repeat it, set {SEED}={seed}. Keep what was wrong as a test of its own.");
    }
}

#[test]
fn a_case_that_fails_is_shrunk_and_its_seed_repeats_it() {
    let is_small = |n: u32| {
        prop_assert!(n < 1_000);
        Ok(())
    };
    let failed = |seed| {
        let tried = std::panic::catch_unwind(|| check_one(&(0_u32..1_000_000), seed, is_small));
        *tried.expect_err("almost all fail").downcast::<String>().expect("a message")
    };
    let message = failed(7);
    assert!(message.contains("\n1000\n") && message.contains("SWITCHHOOK_RANDOM_SEED=7"), "{message}");
    assert_eq!(message, failed(7));
}
