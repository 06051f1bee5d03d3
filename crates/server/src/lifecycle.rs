//! How a process begins and when it stops.

use tokio::signal::unix::{SignalKind, signal};

/// Chooses the cryptography of TLS connections; before the first one. A second time changes nothing.
pub fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Waits for SIGTERM or SIGINT.
pub async fn asked_to_stop() {
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        // Without handlers the signals end the process by themselves.
        _ => std::future::pending().await,
    }
}
