//! Connections to untrusted hosts: the guarded client for URLs that customers choose, queues bounded in bytes for their responses, and
//! decoders of their text and JSON.

pub mod lenient_json;
pub mod outbound;
pub mod queues;
pub mod text;

/// Installs the TLS crypto provider, before the first connection. Repeated calls have no effect.
pub fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
