//! Logs to stderr: what is logged and how it looks is configured (`log`, `log_format`).

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Starts logging.
pub fn start(config: &Config) {
    let filter = EnvFilter::try_new(&config.log).expect("the filter was read once when the configuration was");
    // What goes to and fro between a call and its tools is private; what matters of it is told by `talk::tools`.
    let filter = filter.add_directive("rmcp=off".parse().expect("a directive"));
    let guess = if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start, as in tests, changes nothing.
    let _ = match config.log_format.unwrap_or(guess) {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.try_init(),
    };
    for source in &config.without_effect {
        tracing::warn!(setting = source, "this setting has no effect in this version");
    }
}
