//! Where and how long a model runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rten::{RunOptions, ThreadPool};

/// The place of one model run: threads to run on, and a flag that ends it early.
///
/// Several runs share a machine best with one thread each: work does not wait for other cores, and calls do not wait for
/// each other.
#[derive(Clone)]
pub struct Job {
    threads: Arc<ThreadPool>,
    cancelled: Arc<AtomicBool>,
}

impl Job {
    /// A job on `threads`.
    #[must_use]
    pub fn new(threads: Arc<ThreadPool>) -> Self {
        Self { threads, cancelled: Arc::default() }
    }

    /// A job on one thread of its own.
    #[must_use]
    pub fn single() -> Self {
        Self::new(Arc::new(ThreadPool::with_num_threads(1)))
    }

    /// Set it to end the job at its next step with [`super::SpeechError::Cancelled`].
    #[must_use]
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(super) fn options(&self) -> Option<RunOptions> {
        Some(RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads))))
    }
}
