//! Connections to untrusted hosts: the guarded client for URLs that customers choose, and queues bounded in bytes for their responses.

pub mod outbound;
pub mod queues;
pub mod text;

/// Installs the TLS crypto provider, before the first connection. Repeated calls have no effect.
pub fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
