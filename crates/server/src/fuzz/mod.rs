//! Every parser of what strangers send, driven with valid messages that are damaged.
//!
//! A parser says how it is driven in a constant [`Target`] beside it. The ordinary run is short and the same each time;
//! `just fuzz` runs for the given time, and differently each time. See docs/testing.md.

mod api;
mod json;
mod library;
mod mutate;
pub(crate) mod through;

use std::cell::Cell;
use std::panic;
use std::time::Duration;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::time::Instant;

/// Minutes are given by `just fuzz`; without them each target is driven with so many cases.
const SECONDS: &str = "SWITCHHOOK_FUZZ_SECONDS";
const CASES: u32 = 400;
/// Cases of a target in a row, when the time decides.
const ROUND: u32 = 500;
/// How long reading one case may take, in a build without optimisation on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How much a parser may make out of so many bytes, and in any case.
const GROWTH: usize = 64;
const ALLOWANCE: usize = 256 * 1024;

/// Messages that come one after the other, as bytes.
pub(crate) type Dialogue = Vec<Vec<u8>>;

/// A parser, and valid messages to begin with.
pub(crate) struct Target {
    /// The file it is in: `file!()`.
    pub(crate) file: &'static str,
    /// What is sent when all is well. Each dialogue is read by a fresh parser.
    pub(crate) seeds: fn() -> Vec<Dialogue>,
    /// Reads a dialogue.
    pub(crate) read: fn(&[Vec<u8>]) -> Read,
}

/// What a parser made of a dialogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    /// Messages that it took.
    pub(crate) taken: usize,
    /// Bytes that it gave, or so many things of any size.
    pub(crate) given: usize,
}

impl Read {
    /// One message more, which was refused or gave so much.
    pub(crate) fn count<E>(&mut self, given: Result<usize, E>) {
        if let Ok(given) = given {
            self.taken += 1;
            self.given = self.given.saturating_add(given);
        }
    }

    /// Of a parser that takes each message by itself.
    pub(crate) fn each<E>(messages: &[Vec<u8>], mut read: impl FnMut(&[u8]) -> Result<usize, E>) -> Self {
        let mut counted = Self::default();
        for message in messages {
            counted.count(read(message));
        }
        counted
    }

    /// The same of one that takes text.
    pub(crate) fn each_text<E>(messages: &[Vec<u8>], mut read: impl FnMut(&str) -> Result<usize, E>) -> Self {
        Self::each(messages, |message| read(&String::from_utf8_lossy(message)))
    }
}

/// Dialogues of texts.
pub(crate) fn texts(dialogues: &[&[&str]]) -> Vec<Dialogue> {
    let dialogue = |texts: &&[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    dialogues.iter().map(dialogue).collect()
}

/// A dialogue for each text.
pub(crate) fn each_alone(texts: &[&str]) -> Vec<Dialogue> {
    texts.iter().map(|text| vec![text.as_bytes().to_vec()]).collect()
}

/// Drives a target; what is wrong with it, with the smallest dialogue that shows it.
fn drive(target: &Target, cases: u32, rng: TestRng) -> Result<(), String> {
    let seeds = (target.seeds)();
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let outcome = TestRunner::new_with_rng(config, rng).run(&mutate::plan(), |plan| {
        let messages = plan.apply(&seeds);
        let sent: usize = messages.iter().map(Vec::len).sum();
        let started = Instant::now();
        let read = (target.read)(&messages);
        if started.elapsed() > TIMEOUT {
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
    /// Where this thread panicked last.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Does work in which panics are caught: instead of being printed, their place is noted.
fn with_panics_noted<T>(work: impl FnOnce() -> T) -> T {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|panic| {
        PLACE.with(|place| place.set(panic.location().map(|at| format!("at {at}")).unwrap_or_default()));
    }));
    let done = work();
    panic::set_hook(usual);
    done
}

/// A message as it can be written into a test.
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

/// Drives all targets in turn until the time is over or something is found.
fn drive_until(targets: &[&Target], end: Instant) -> Vec<String> {
    while Instant::now() < end {
        let drive = |target: &&Target| {
            drive(target, ROUND, TestRng::from_seed(RngAlgorithm::ChaCha, &crate::clock::random::<32>())).err()
        };
        let found: Vec<_> = targets.iter().filter_map(drive).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
