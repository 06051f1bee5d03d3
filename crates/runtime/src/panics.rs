//! Converts panics to errors. A bug in one part of a call fails that part; the rest of the call continues or ends with everything known so far, and
//! no task waits for a dead one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;

/// The work panicked. The reason is on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it stopped unexpectedly")]
pub struct Panicked;

/// Runs `work` and catches panics. State that it shares must stay usable after a panic.
///
/// # Errors
/// If it panics.
pub fn caught<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, Panicked>> {
    // Not an `async fn`, which would have room for `work` twice.
    AssertUnwindSafe(work).catch_unwind().map(|outcome| outcome.map_err(|_| Panicked))
}

/// Runs synchronous work and catches panics; see [`caught`].
///
/// # Errors
/// If it panics.
pub fn caught_now<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}
