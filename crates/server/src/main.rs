//! The binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchhook::lifecycle::install_tls();
    switchhook::cli::run()
}
