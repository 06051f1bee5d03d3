//! Logs to stderr, configured by `log` and `log_format`.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};
use crate::stderr;

/// Starts logging.
pub fn start(config: &Config) {
    let filter = EnvFilter::try_new(&config.log).expect("the configuration has validated the filter");
    // Messages between a call and its tools are private; `talk::tools` logs what matters.
    let filter = filter.add_directive("rmcp=off".parse().expect("a directive"));
    let guess = if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    stderr::start();
    // The subscriber reports a failed write with `eprintln!`, which would panic in whichever task logged.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr::Log).log_internal_errors(false);
    // Repeated calls, as in tests, have no effect.
    let _ = match config.log_format.unwrap_or(guess) {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.try_init(),
    };
    for source in &config.without_effect {
        tracing::warn!(setting = source, "this setting has no effect in this version");
    }
}
