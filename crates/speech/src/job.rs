//! Where and how long a model runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rten::{RunOptions, ThreadPool};

use super::SpeechError;

/// The place of one model run: threads to run on, and a way to end it early.
///
/// Several runs share a machine best with one thread each: work does not wait for other cores, and calls do not wait for
/// each other.
pub struct Job {
    threads: Arc<ThreadPool>,
    cancel: Cancel,
}

/// Ends jobs. Clones are one and the same.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Job {
    /// A job on `threads`.
    #[must_use]
    pub fn new(threads: Arc<ThreadPool>) -> Self {
        Self { threads, cancel: Cancel::default() }
    }

    /// A job on one thread of its own.
    #[must_use]
    pub fn single() -> Self {
        Self::new(Arc::new(ThreadPool::with_num_threads(1)))
    }

    /// The same, ended by `cancel`.
    #[must_use]
    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Whether the job goes on.
    ///
    /// # Errors
    /// When it was cancelled.
    pub fn go_on(&self) -> Result<(), SpeechError> {
        if self.cancel.is_cancelled() { Err(SpeechError::Cancelled) } else { Ok(()) }
    }

    pub(super) fn options(&self) -> Option<RunOptions> {
        Some(RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads))))
    }
}

impl Cancel {
    /// Ends the job at its next step, or before it starts, with [`SpeechError::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Cancels when dropped.
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
