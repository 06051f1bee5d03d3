//! Start-up and shutdown of the process, and work that must not end before it.

use std::time::Duration;

use switchhook_runtime::panics::caught;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The pause before work that panicked begins again.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs `work` until it returns, and restarts it when it panics: its state is in the database.
pub async fn persistent<Work: Future<Output = ()>>(name: &'static str, work: impl Fn() -> Work) {
    while caught(work()).await.is_err() {
        tracing::error!("{name} stopped unexpectedly and begins again");
        tokio::time::sleep(PAUSE).await;
    }
}

/// SIGTERM and SIGINT, from the creation on: one that arrives between two waits is not lost. Process 1 of a container gets neither without
/// a handler.
pub struct StopSignals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
}

impl StopSignals {
    /// Begins to listen.
    #[must_use]
    pub fn listen() -> Self {
        Self { interrupt: signal(SignalKind::interrupt()).ok(), ..Self::terminate() }
    }

    /// Listens to SIGTERM only.
    #[must_use]
    pub fn terminate() -> Self {
        Self { terminate: signal(SignalKind::terminate()).ok(), interrupt: None }
    }

    /// Waits for one of them; returns which one.
    pub async fn next(&mut self) -> SignalKind {
        tokio::select! {
            () = received(&mut self.terminate) => SignalKind::terminate(),
            () = received(&mut self.interrupt) => SignalKind::interrupt(),
        }
    }
}

/// Waits for a signal. Without a handler it ends the process.
async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_panics_begins_again() {
        let begun = AtomicU32::new(0);
        persistent("the work", || async {
            assert!(begun.fetch_add(1, Ordering::Relaxed) >= 2, "it panics twice");
        })
        .await;
        assert_eq!(begun.into_inner(), 3);
    }
}
