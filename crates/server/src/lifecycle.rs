//! Start-up and shutdown of the process, and work that must not end before it.

use std::future::poll_fn;
use std::io::IsTerminal as _;
use std::task::Poll;
use std::time::Duration;

use switchhook_runtime::panics::caught;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The pause before work that panicked begins again.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Runs `work` until it returns, and restarts it when it panics: its state is in the database.
pub async fn persistent<Work: Future<Output = ()>>(name: &'static str, work: impl Fn() -> Work) {
    while caught(work()).await.is_err() {
        tracing::error!("{name} stopped unexpectedly; restarting it");
        tokio::time::sleep(RESTART_DELAY).await;
    }
}

/// The signals that ask a process to stop, from the creation on: one that arrives between two waits is not lost. Process 1 of a container
/// gets none of them without a handler.
pub struct StopSignals(Vec<(SignalKind, Signal)>);

impl StopSignals {
    /// Listens to SIGTERM, SIGINT and SIGQUIT, and on a terminal to SIGHUP, which says that it was closed.
    #[must_use]
    pub fn listen() -> Self {
        let hangup = has_terminal().then(SignalKind::hangup);
        Self::of([SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()].into_iter().chain(hangup))
    }

    /// Listens to SIGTERM only.
    #[must_use]
    pub fn terminate() -> Self {
        Self::of([SignalKind::terminate()])
    }

    fn of(kinds: impl IntoIterator<Item = SignalKind>) -> Self {
        Self(kinds.into_iter().filter_map(|kind| Some((kind, signal(kind).ok()?))).collect())
    }

    /// Waits for one of them; returns which one.
    pub async fn next(&mut self) -> SignalKind {
        poll_fn(|context| {
            // All are polled, so that any of them wakes this up.
            let received =
                self.0.iter_mut().filter_map(|(kind, signal)| signal.poll_recv(context).is_ready().then_some(*kind));
            received.fold(Poll::Pending, |first, kind| if first.is_pending() { Poll::Ready(kind) } else { first })
        })
        .await
    }
}

/// Returns whether the output of this process goes to a terminal.
#[must_use]
pub fn has_terminal() -> bool {
    std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
}

/// Keeps signals that do not ask a service to stop from ending it. SIGHUP, SIGUSR1 and SIGUSR2 come from log rotation and from reloads, and are
/// logged. After SIGXFSZ a write fails like one on a full disk.
pub fn outlive_other_signals() {
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    let hangup = (!has_terminal()).then(|| ("SIGHUP", SignalKind::hangup()));
    let others = [("SIGUSR1", SignalKind::user_defined1()), ("SIGUSR2", SignalKind::user_defined2())];
    for (name, kind) in others.into_iter().chain(hangup) {
        let Ok(mut signal) = signal(kind) else { continue };
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                tracing::info!("{name} has no effect: there is nothing to reload. SIGTERM stops the service.");
            }
        });
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
