//! The binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchhook_net::install_tls();
    switchhook::cli::run()
}
