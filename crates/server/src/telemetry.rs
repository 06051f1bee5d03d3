//! Logs to stderr, configured by `log` and `log_format`.

mod libraries;
mod seldom;

pub(crate) use self::seldom::Seldom;

use std::io::IsTerminal as _;
use std::sync::LazyLock;

use tokio::time::Instant;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::libraries::Libraries;
use crate::config::{Config, LogFormat};
use crate::stderr;

/// Lines of libraries that were dropped, by library.
pub(crate) const LINES_DROPPED: &str = "switchhook_log_lines_dropped_total";

/// The libraries of this process.
static LIBRARIES: LazyLock<Libraries> = LazyLock::new(Libraries::default);

/// Starts logging.
pub fn start(config: &Config) {
    let filter = EnvFilter::try_new(&config.log).expect("the configuration has validated the filter");
    // Messages between a call and its tools are private; `talk::tools` logs what matters.
    let filter = filter.add_directive("rmcp=off".parse().expect("a directive"));
    let guess = if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    stderr::start();
    let bounded = tracing_subscriber::registry().with(filter).with(LIBRARIES.clone());
    // The subscriber reports a failed write with `eprintln!`, which would panic in whichever task logged.
    // Repeated calls, as in tests, have no effect.
    let _ = match config.log_format.unwrap_or(guess) {
        LogFormat::Json => bounded.with(layer().json().with_writer(stderr::Log).log_internal_errors(false)).try_init(),
        LogFormat::Text => bounded.with(layer().with_writer(stderr::Log).log_internal_errors(false)).try_init(),
    };
    for source in &config.without_effect {
        tracing::warn!(setting = source, "this setting has no effect in this version");
    }
}

/// Says in the log which libraries have had lines dropped: once a minute for each, or `now`, before the process ends.
pub(crate) fn report_dropped(now: bool) {
    LIBRARIES.report(Instant::now(), now);
}

/// Counts dropped lines in the metrics.
pub(crate) fn count_dropped() {
    for (library, dropped) in LIBRARIES.dropped() {
        metrics::counter!(LINES_DROPPED, "library" => library).absolute(dropped);
    }
}
