//! The binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Two providers of cryptography are compiled into some dependencies; ours is ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    switchhook::cli::run()
}
