//! Drives parsers of untrusted input with damaged valid messages.
//!
//! Each parser describes how to drive it in a constant [`Target`] next to it; each crate lists its targets in a test. The ordinary run is short and
//! deterministic; `just fuzz` runs for the given time, differently each time. See docs/testing.md.

mod json;
mod mutate;
mod sources;

use std::cell::Cell;
use std::panic;
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

pub use self::sources::Sources;

/// The time is set by `just fuzz`; without it each target is driven with `CASES` cases.
const SECONDS: &str = "SWITCHHOOK_FUZZ_SECONDS";
const CASES: u32 = 400;
/// Cases in a row for one target, if the time is limited.
const ROUND: u32 = 500;
/// The maximum time to read one case, in a build without optimisation on a busy machine, and the additional time for each of its messages: an offer
/// generates keys.
const TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT_PER_MESSAGE: Duration = Duration::from_millis(500);
/// The maximum output of a parser per byte of input, plus a constant allowance.
const GROWTH: usize = 64;
const ALLOWANCE: usize = 256 * 1024;

/// Messages in sequence, as bytes.
pub type Dialogue = Vec<Vec<u8>>;

/// A parser with valid messages to start from.
pub struct Target {
    /// The file it is in: `file!()`.
    pub file: &'static str,
    /// Returns valid dialogues. Each dialogue is read by a fresh parser.
    pub seeds: fn() -> Vec<Dialogue>,
    /// Reads a dialogue.
    pub read: fn(&[Vec<u8>]) -> Read,
}

/// The result of reading a dialogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The number of accepted messages.
    pub taken: usize,
    /// The output, in bytes or in items of any size.
    pub given: usize,
}

impl Read {
    /// Counts one more message, with the size of its output or its refusal.
    pub fn count<E>(&mut self, given: Result<usize, E>) {
        if let Ok(given) = given {
            self.taken += 1;
            self.given = self.given.saturating_add(given);
        }
    }

    /// Reads each message on its own.
    pub fn each<E>(messages: &[Vec<u8>], mut read: impl FnMut(&[u8]) -> Result<usize, E>) -> Self {
        let mut counted = Self::default();
        for message in messages {
            counted.count(read(message));
        }
        counted
    }

    /// Reads each message on its own, as text.
    pub fn each_text<E>(messages: &[Vec<u8>], mut read: impl FnMut(&str) -> Result<usize, E>) -> Self {
        Self::each(messages, |message| read(&String::from_utf8_lossy(message)))
    }
}

/// Returns dialogues of texts.
pub fn texts(dialogues: &[&[&str]]) -> Vec<Dialogue> {
    let dialogue = |texts: &&[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    dialogues.iter().map(dialogue).collect()
}

/// Returns one dialogue for each text.
pub fn each_alone(texts: &[&str]) -> Vec<Dialogue> {
    texts.iter().map(|text| vec![text.as_bytes().to_vec()]).collect()
}

/// Drives a target. Returns what is wrong with it, with the smallest dialogue that shows it.
fn drive(target: &Target, cases: u32, rng: TestRng) -> Result<(), String> {
    let seeds = (target.seeds)();
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let outcome = TestRunner::new_with_rng(config, rng).run(&mutate::plan(), |plan| {
        let messages = plan.apply(&seeds);
        let sent: usize = messages.iter().map(Vec::len).sum();
        let limit = u32::try_from(messages.len()).map_or(Duration::MAX, |count| TIMEOUT + TIMEOUT_PER_MESSAGE * count);
        let started = Instant::now();
        let read = (target.read)(&messages);
        if started.elapsed() > limit {
            return Err(TestCaseError::fail(format!("it took {:?}", started.elapsed())));
        }
        if read.given > sent * GROWTH + ALLOWANCE {
            return Err(TestCaseError::fail(format!("it made {} out of {sent} bytes", read.given)));
        }
        Ok(())
    });
    outcome.map_err(|error| {
        let (reason, case) = match error {
            TestError::Fail(reason, plan) => (reason, plan.apply(&seeds)),
            TestError::Abort(reason) => (reason, Vec::new()),
        };
        let case: Vec<String> = case.iter().map(|message| shown(message)).collect();
        let place = PLACE.with(Cell::take);
        format!("{}: {reason} {place}\n{}", target.file, case.join("\n"))
    })
}

thread_local! {
    /// The location of this thread's last panic.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Runs `work` with a panic hook that records the location of a panic instead of printing it.
fn with_panics_noted<T>(work: impl FnOnce() -> T) -> T {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|panic| {
        PLACE.with(|place| place.set(panic.location().map(|at| format!("at {at}")).unwrap_or_default()));
    }));
    let done = work();
    panic::set_hook(usual);
    done
}

/// Formats a message so that it can be copied into a test.
fn shown(message: &[u8]) -> String {
    const MOST: usize = 2_000;
    let shown = message[..message.len().min(MOST)].escape_ascii();
    if message.len() > MOST {
        format!("b\"{shown}\" and {} bytes more", message.len() - MOST)
    } else {
        format!("b\"{shown}\"")
    }
}

/// Drives each target once, always with the same cases.
fn drive_all(targets: &[&Target]) -> Vec<String> {
    let drive = |target: &&Target| drive(target, CASES, TestRng::deterministic_rng(RngAlgorithm::ChaCha)).err();
    targets.iter().filter_map(drive).collect()
}

/// Drives all targets in turn until the time is over or a failure is found.
fn drive_until(targets: &[&Target], end: Instant) -> Vec<String> {
    while Instant::now() < end {
        let drive = |target: &&Target| {
            drive(target, ROUND, TestRng::from_seed(RngAlgorithm::ChaCha, &rand::random::<[u8; 32]>())).err()
        };
        let found: Vec<_> = targets.iter().filter_map(drive).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Asserts that each target accepts all its seed dialogues.
///
/// # Panics
/// If one does not.
pub fn assert_seeds_are_taken(targets: &[&Target]) {
    let mut refused = Vec::new();
    for target in targets {
        let dialogues = (target.seeds)().into_iter().enumerate();
        let wrong = dialogues.filter(|(_, dialogue)| (target.read)(dialogue).taken == 0);
        refused.extend(wrong.map(|(number, _)| format!("{}, dialogue {number}", target.file)));
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Asserts that each target reads or refuses any input, without panics, hangs or unbounded growth.
///
/// # Panics
/// If one does not, with the smallest dialogue that shows it.
pub fn assert_all_is_read_or_refused(targets: &[&Target]) {
    let seconds = std::env::var(SECONDS).ok().map(|seconds| seconds.parse().expect("a number of seconds"));
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let halves = targets.split_at(targets.len() / 2);
    let drive = |targets: &[&Target]| end.map_or_else(|| drive_all(targets), |end| drive_until(targets, end));
    let both = || {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drive(halves.1));
            let mut found = drive(halves.0);
            found.extend(other.join().expect("what panics is caught"));
            found
        })
    };
    let found = with_panics_noted(both);
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[cfg(test)]
mod tests;
