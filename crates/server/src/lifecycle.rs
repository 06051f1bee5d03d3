//! Start-up and shutdown of the process, and work that must not end before it.

use std::time::Duration;

use switchhook_runtime::panics::caught;
use tokio::signal::unix::{SignalKind, signal};

/// The pause before work that panicked begins again.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs `work` until it returns, and restarts it when it panics: its state is in the database.
pub async fn persistent<Work: Future<Output = ()>>(name: &'static str, work: impl Fn() -> Work) {
    while caught(work()).await.is_err() {
        tracing::error!("{name} stopped unexpectedly and begins again");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for SIGTERM or SIGINT; returns which one. Process 1 of a container gets neither without a handler.
pub async fn asked_to_stop() -> SignalKind {
    let kinds = (SignalKind::terminate(), SignalKind::interrupt());
    match (signal(kinds.0), signal(kinds.1)) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => kinds.0,
                _ = interrupt.recv() => kinds.1,
            }
        }
        // Without handlers the signals end the process.
        _ => std::future::pending().await,
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
