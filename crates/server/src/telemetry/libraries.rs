//! Limits the log output of libraries: they may log untrusted input line by line, which must not fill the disk. Our own lines are never
//! dropped.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_log::NormalizeEvent as _;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The time for which lines are counted.
const COUNTING_WINDOW: Duration = Duration::from_secs(60);
/// The log output of a library per period.
const SHARE: Share = Share { lines: 60, bytes: 64 << 10 };
/// Its output at the levels debug and trace, which an operator has to enable.
const VERBOSE_SHARE: Share = Share { lines: 6_000, bytes: 6 << 20 };
/// The number of libraries to distinguish. All others count as one.
const MANY: usize = 256;
/// The name of all others.
const OTHERS: &str = "others";

/// A number of lines, and of bytes of text in them.
#[derive(Clone, Copy, Debug)]
struct Share {
    lines: u32,
    bytes: usize,
}

/// The output of each library. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Libraries(Arc<Mutex<HashMap<String, Log>>>);

/// The output of one library.
#[derive(Debug)]
struct Log {
    since: Instant,
    left: Share,
    verbose_left: Share,
    /// Lines dropped since then.
    dropped: u64,
    /// Lines dropped before, which the log has not said.
    unsaid: u64,
    /// Lines dropped ever.
    total: u64,
}

impl Libraries {
    /// Returns whether a library may log this event.
    fn admits(&self, library: &str, level: Level, event: &Event<'_>, now: Instant) -> bool {
        let mut logs = self.logs();
        let library = if logs.len() < MANY || logs.contains_key(library) { library } else { OTHERS };
        if !logs.contains_key(library) {
            logs.insert(library.to_owned(), Log::new(now));
        }
        logs.get_mut(library).is_none_or(|log| log.admits(level, event, now))
    }

    /// Says in the log what was dropped in windows that have ended, or in all.
    pub(super) fn report(&self, now: Instant, all: bool) {
        let unsaid: Vec<_> = {
            let mut logs = self.logs();
            logs.iter_mut().map(|(library, log)| (library.clone(), log.take_unsaid(now, all))).collect()
        };
        for (library, dropped) in unsaid.into_iter().filter(|(_, dropped)| *dropped > 0) {
            tracing::warn!(library, dropped, "a library logs too much: lines of it were dropped");
        }
    }

    /// Returns how many lines were dropped ever, of each library that has had some dropped.
    pub(super) fn dropped(&self) -> Vec<(String, u64)> {
        let logs = self.logs();
        let dropped = logs.iter().filter(|(_, log)| log.total > 0);
        dropped.map(|(library, log)| (library.clone(), log.total)).collect()
    }

    fn logs(&self) -> MutexGuard<'_, HashMap<String, Log>> {
        // Whole at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for Libraries {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let of_log_crate = event.normalized_metadata();
        let metadata = of_log_crate.as_ref().unwrap_or_else(|| event.metadata());
        let library = metadata.target().split("::").next().unwrap_or_default();
        is_ours(library) || self.admits(library, *metadata.level(), event, Instant::now())
    }
}

fn is_ours(library: &str) -> bool {
    library.strip_prefix("switchhook").is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

impl Log {
    fn new(now: Instant) -> Self {
        Self { since: now, left: SHARE, verbose_left: VERBOSE_SHARE, dropped: 0, unsaid: 0, total: 0 }
    }

    fn admits(&mut self, level: Level, event: &Event<'_>, now: Instant) -> bool {
        self.roll(now);
        let left = if level > Level::INFO { &mut self.verbose_left } else { &mut self.left };
        let admitted = left.take(event);
        if !admitted {
            self.dropped += 1;
            self.total += 1;
        }
        admitted
    }

    /// Begins another window if this one has ended.
    fn roll(&mut self, now: Instant) {
        if now.saturating_duration_since(self.since) >= COUNTING_WINDOW {
            let (unsaid, total) = (self.unsaid + self.dropped, self.total);
            *self = Self { unsaid, total, ..Self::new(now) };
        }
    }

    fn take_unsaid(&mut self, now: Instant, all: bool) -> u64 {
        self.roll(now);
        let current = if all { std::mem::take(&mut self.dropped) } else { 0 };
        std::mem::take(&mut self.unsaid) + current
    }
}

impl Share {
    /// Takes a line from it if the line fits. If no lines are left, the event is not even formatted.
    fn take(&mut self, event: &Event<'_>) -> bool {
        if self.lines == 0 {
            return false;
        }
        let mut room = Room(Some(self.bytes));
        event.record(&mut room);
        let Some(bytes) = room.0 else { return false };
        (self.lines, self.bytes) = (self.lines - 1, bytes);
        true
    }
}

/// The bytes that an event leaves over; nothing once it does not fit.
struct Room(Option<usize>);

impl fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.and_then(|left| left.checked_sub(text.len()));
        self.0.map(drop).ok_or(fmt::Error)
    }
}

impl Visit for Room {
    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        // It fails once the share is used up, which is the result wanted here.
        let _ = write!(self, "{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing_log::log;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// The captured log.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("whole").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Has something log, and returns what was logged.
    fn logged(libraries: &Libraries, logging: impl FnOnce()) -> String {
        let written = Written::default();
        let writer = written.clone();
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(libraries.clone()).with(lines), logging);
        String::from_utf8(written.0.lock().expect("whole").clone()).expect("text")
    }

    fn lines_with(logged: &str, words: &str) -> usize {
        logged.lines().filter(|line| line.contains(words)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_library_that_logs_without_end_writes_a_few_lines_and_one_that_says_how_many_are_missing() {
        let libraries = Libraries::default();
        let first = logged(&libraries, || {
            for number in 0..5_000 {
                tracing::warn!(target: "str0m::dtls", number, "a strange packet");
                tracing::warn!(target: "switchhook_webrtc::session", number, "ours");
                tracing::info!(target: "switchhook::calls", number, "ours");
            }
            tracing::warn!(target: "hyper::proto", "another library");
            libraries.report(Instant::now(), false);
        });
        assert_eq!(lines_with(&first, "a strange packet"), 60);
        assert_eq!(lines_with(&first, "ours"), 10_000, "none of our own is dropped");
        assert_eq!(lines_with(&first, "another library"), 1, "another library has its own share");
        assert_eq!(lines_with(&first, "were dropped"), 0, "once a minute is enough");
        assert_eq!(libraries.dropped(), [("str0m".to_owned(), 4_940)]);

        tokio::time::advance(COUNTING_WINDOW).await;
        let later = logged(&libraries, || {
            tracing::warn!(target: "str0m::dtls", "a strange packet");
            libraries.report(Instant::now(), false);
            libraries.report(Instant::now(), true);
        });
        assert_eq!(lines_with(&later, "a strange packet"), 1);
        assert_eq!(lines_with(&later, "lines of it were dropped"), 1, "{later}");
        assert!(later.contains("library=\"str0m\" dropped=4940"), "{later}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_library_that_logs_through_the_log_crate_is_bounded_under_its_own_name() {
        let libraries = Libraries::default();
        let logged = logged(&libraries, || {
            for _ in 0..1_000 {
                let mut record = log::Record::builder();
                record.target("dimpl::dtls12::engine").level(log::Level::Warn);
                tracing_log::format_trace(&record.args(format_args!("a strange record")).build()).expect("logged");
            }
            libraries.report(Instant::now(), true);
        });
        assert_eq!(lines_with(&logged, "a strange record"), 60);
        assert!(logged.contains("library=\"dimpl\" dropped=940"), "{logged}");
    }

    #[tokio::test(start_paused = true)]
    async fn long_lines_of_a_library_are_bounded_in_bytes() {
        let libraries = Libraries::default();
        let queue = vec![200_u8; 10_000];
        let first = logged(&libraries, || {
            for _ in 0..10 {
                tracing::warn!(target: "dimpl", "the queue is full: {queue:?}");
            }
            tracing::warn!(target: "dimpl", "a short line");
        });
        assert_eq!((lines_with(&first, "the queue is full"), lines_with(&first, "a short line")), (1, 1));
        let endless = vec![200_u8; 100_000];
        let second = logged(&libraries, || tracing::warn!(target: "another", "the queue is full: {endless:?}"));
        assert_eq!((second.as_str(), libraries.dropped().len()), ("", 2));
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_operator_turns_on_to_look_for_a_fault_has_a_share_of_its_own() {
        let libraries = Libraries::default();
        let logged = logged(&libraries, || {
            for _ in 0..10_000 {
                tracing::debug!(target: "h2::frame", "a frame");
            }
            tracing::warn!(target: "h2", "a warning");
        });
        assert_eq!((lines_with(&logged, "a frame"), lines_with(&logged, "a warning")), (6_000, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn libraries_beyond_some_are_one() {
        let libraries = Libraries::default();
        let logged = logged(&libraries, || {
            for number in 0..1_000 {
                let (mut record, target) = (log::Record::builder(), format!("library{number}"));
                record.target(&target).level(log::Level::Warn);
                tracing_log::format_trace(&record.args(format_args!("a line")).build()).expect("logged");
            }
        });
        assert_eq!((lines_with(&logged, "a line"), libraries.logs().len()), (MANY + 60, MANY + 1));
    }

    #[test]
    fn only_our_crates_are_ours() {
        for ours in ["switchhook", "switchhook_webrtc"] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in ["str0m", "log", "", "switchhooks", "not_switchhook"] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
