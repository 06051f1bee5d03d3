//! Panics as outcomes. A bug in one part of a call ends that part as failed; the rest of the call goes on or ends with all that is
//! known of it, and nobody waits for a task that is gone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;

/// The work panicked. The reason is on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it stopped unexpectedly")]
pub struct Panicked;

/// Runs `work` to its end or its panic. What it shares with others must be usable afterwards.
///
/// # Errors
/// When it panics.
pub async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_| Panicked)
}

/// The same for work that does not wait.
///
/// # Errors
/// When it panics.
pub fn caught_now<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}
