//! The service's output to stderr: log lines, notes and panics.
//!
//! A log must never stop the service. Lines go through a bounded queue to a dedicated thread, so that no task waits for a reader that has
//! stopped reading. Lines that do not fit, or that cannot be written because the reader is gone or the disk is full, are counted and
//! dropped.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Bytes that may wait for the reader.
const ROOM: usize = 4 * 1024 * 1024;
/// How long the end of the process waits for the reader.
const READER_TIMEOUT: Duration = Duration::from_secs(2);

/// Lines that could not be written.
static LOST: AtomicU64 = AtomicU64::new(0);
/// Present once the service has started its log.
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Lines on their way to stderr.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// A line has been taken and is not yet written.
    writing: bool,
}

/// Returns how many lines were lost.
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Prints a line of text. Never fails, and never waits once [`start`] has been called.
pub(crate) fn line(text: &str) {
    let line = format!("{text}\n").into_bytes();
    match QUEUE.get() {
        Some(queue) => queue.push(line),
        None => write(&mut io::stderr(), &line),
    }
}

/// Starts the thread that writes, and sends the messages of panics through it.
pub(crate) fn start() {
    if QUEUE.set(Queue::default()).is_err() {
        return; // Repeated calls, as in tests, have no effect.
    }
    // Without a thread the lines would only pile up: they are lost, and the service runs.
    let _ = std::thread::Builder::new().name("stderr".to_owned()).spawn(|| {
        if let Some(queue) = QUEUE.get() {
            queue.write_all_to(&mut io::stderr());
        }
    });
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let backtrace = std::backtrace::Backtrace::capture();
        let name = thread.name().unwrap_or("<unnamed>");
        match backtrace.status() {
            std::backtrace::BacktraceStatus::Captured => line(&format!("thread '{name}' {panic}\n{backtrace}")),
            _ => line(&format!("thread '{name}' {panic}")),
        }
    }));
}

/// Waits until everything is written, or the reader has had its time. Held until the process ends.
#[derive(Debug)]
pub(crate) struct Flush;

impl Drop for Flush {
    fn drop(&mut self) {
        if let Some(queue) = QUEUE.get() {
            queue.wait_until_written(READER_TIMEOUT);
        }
    }
}

/// The writer for `tracing`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log;

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for Log {
    /// Takes one whole event, which is how the formatter writes.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        match QUEUE.get() {
            Some(queue) => queue.push(event.to_vec()),
            None => write(&mut io::stderr(), event),
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(to: &mut impl Write, line: &[u8]) {
    if to.write_all(line).is_err() {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        // The state is consistent at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: Vec<u8>) {
        let mut state = self.state();
        if state.bytes + line.len() > ROOM {
            LOST.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        drop(state);
        self.changed.notify_all();
    }

    fn write_all_to(&self, to: &mut impl Write) {
        loop {
            let mut state = self.state();
            state.writing = false;
            self.changed.notify_all();
            let idle = |state: &mut QueueState| state.lines.is_empty();
            let mut state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            let Some(line) = state.lines.pop_front() else { continue };
            state.bytes -= line.len();
            state.writing = true;
            drop(state);
            write(to, &line);
        }
    }

    fn wait_until_written(&self, patience: Duration) {
        let unwritten = |state: &mut QueueState| state.writing || !state.lines.is_empty();
        // Lines that are left then have no reader.
        drop(self.changed.wait_timeout_while(self.state(), patience, unwritten));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses everything, like a pipe whose reader has gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_cannot_be_written_is_counted() {
        let before = lost();
        write(&mut Closed, b"a line\n");
        assert!(lost() > before);
    }

    #[test]
    fn full_queue_drops_and_counts_lines() {
        let queue = Queue::default();
        let line = vec![b'.'; ROOM / 4];
        for _ in 0..4 {
            queue.push(line.clone());
        }
        let before = lost();
        queue.push(line);
        assert_eq!(queue.state().lines.len(), 4);
        assert!(lost() > before);
    }
}
