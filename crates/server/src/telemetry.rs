//! Logs: `SWITCHHOOK_LOG` filters them (default `info`), `SWITCHHOOK_LOG_FORMAT` is `text` or `json`.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts logging to stderr: readable on a terminal, JSON lines elsewhere unless told otherwise.
pub fn start() {
    let filter = EnvFilter::try_from_env("SWITCHHOOK_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let format = std::env::var("SWITCHHOOK_LOG_FORMAT").unwrap_or_default();
    let json = format == "json" || (format != "text" && !std::io::stderr().is_terminal());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start, as in tests, changes nothing.
    let _ = if json { builder.json().try_init() } else { builder.try_init() };
}
