//! Jobs: the threads of a model run, and its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rten::{RunOptions, ThreadPool};

use super::SpeechError;

/// The threads for one model run, and a way to cancel it.
///
/// Concurrent runs use a machine best with one thread each: no run waits for other cores, and calls do not wait for each other.
pub struct Job {
    threads: Arc<ThreadPool>,
    cancel: Cancel,
}

/// Cancels jobs. Clones share one flag.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Job {
    /// Creates a job on `threads`.
    #[must_use]
    pub fn new(threads: Arc<ThreadPool>) -> Self {
        Self { threads, cancel: Cancel::default() }
    }

    /// Creates a job on one thread of its own.
    #[must_use]
    pub fn single() -> Self {
        Self::new(Arc::new(ThreadPool::with_num_threads(1)))
    }

    /// Returns the job with `cancel` as its flag.
    #[must_use]
    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Checks that the job was not cancelled.
    ///
    /// # Errors
    /// Fails if it was.
    pub fn check_cancelled(&self) -> Result<(), SpeechError> {
        if self.cancel.is_cancelled() { Err(SpeechError::Cancelled) } else { Ok(()) }
    }

    pub(super) fn options(&self) -> Option<RunOptions> {
        Some(RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads))))
    }
}

impl Cancel {
    /// Cancels the job at its next step, or before it starts, with [`SpeechError::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a guard that cancels when dropped.
    #[must_use]
    pub fn on_drop(self) -> CancelOnDrop {
        CancelOnDrop(self)
    }
}

/// Cancels its job when dropped.
pub struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
