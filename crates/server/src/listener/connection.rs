//! A connection whose reads and writes have deadlines.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Timeouts;
use super::places::ConnectionPlace;

/// Maximum bytes of a body that nothing reads, before the connection is reset.
const DISCARDED: usize = 16 * 1024 * 1024;

/// The state of a connection between requests and responses. It selects the timeout.
#[derive(Debug)]
pub(super) struct Exchange {
    timeouts: Timeouts,
    state: Mutex<ConnectionState>,
    /// The connection's task, woken when the deadline changes.
    reader: Mutex<Option<Waker>>,
    /// Whether the client may still be sending a body that nothing reads.
    unread: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// Waiting for the next request.
    Idle { until: Instant },
    /// Receiving a header.
    Header { until: Instant },
    /// Handling a request. Its body has its own deadline.
    Answering,
    /// Upgraded; no longer HTTP.
    Upgraded,
}

impl Exchange {
    pub(super) fn new(timeouts: Timeouts) -> Self {
        let first = ConnectionState::Header { until: Instant::now() + timeouts.header };
        Self { timeouts, state: Mutex::new(first), reader: Mutex::default(), unread: AtomicBool::default() }
    }

    /// Records that a request's header is complete.
    pub(super) fn begin(&self) {
        self.unread.store(false, Ordering::Relaxed);
        *self.state() = ConnectionState::Answering;
    }

    /// Records that nothing reads the rest of the request's body.
    pub(super) fn leave_body(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// Records that the response has been written.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if *state != ConnectionState::Upgraded {
            *state = ConnectionState::Idle { until: Instant::now() + self.timeouts.idle };
        }
        drop(state);
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        reader.into_iter().for_each(Waker::wake);
    }

    /// Returns until when the rest of a body is discarded: counted from the end of the response, which may have been long ago.
    fn discards_until(&self) -> Instant {
        match *self.state() {
            ConnectionState::Idle { until } => until + self.timeouts.header - self.timeouts.idle,
            ConnectionState::Header { until } => until,
            ConnectionState::Answering | ConnectionState::Upgraded => Instant::now() + self.timeouts.header,
        }
    }

    /// Records the upgrade to a WebSocket.
    pub(super) fn upgrade(&self) {
        *self.state() = ConnectionState::Upgraded;
    }

    /// Records received data.
    fn received(&self) {
        let mut state = self.state();
        if matches!(*state, ConnectionState::Idle { .. }) {
            *state = ConnectionState::Header { until: Instant::now() + self.timeouts.header };
        }
    }

    fn deadline(&self, reader: &Waker) -> Option<Instant> {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader.clone());
        match *self.state() {
            ConnectionState::Idle { until } | ConnectionState::Header { until } => Some(until),
            ConnectionState::Answering | ConnectionState::Upgraded => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        // The state is consistent at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A deadline that can move.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready at `at`; never without a deadline.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, at: Option<Instant>) -> Poll<()> {
        let Some(at) = at else { return Poll::Pending };
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }
}

/// A client's connection. Dropping it releases its slot.
#[derive(Debug)]
pub(super) struct Guarded {
    stream: TcpStream,
    timeouts: Timeouts,
    exchange: Arc<Exchange>,
    reading: Alarm,
    writing: Alarm,
    /// Since when the client has read nothing of the pending data.
    stalled: Option<Instant>,
    /// Until when an unread body is discarded, after the response.
    discarding: Option<Instant>,
    discarded: usize,
    _place: ConnectionPlace,
}

impl Guarded {
    pub(super) fn new(stream: TcpStream, timeouts: Timeouts, exchange: Arc<Exchange>, place: ConnectionPlace) -> Self {
        let (reading, writing) = (Alarm::default(), Alarm::default());
        let (stalled, discarding) = (None, None);
        Self { stream, timeouts, exchange, reading, writing, stalled, discarding, discarded: 0, _place: place }
    }

    /// Reads the rest of a body after the response. The kernel would otherwise reset the connection, and a proxy that is still sending would answer
    /// 502 in place of the response.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let exchange = &self.exchange;
        let until = *self.discarding.get_or_insert_with(|| exchange.discards_until());
        let mut bytes = [0; 8 * 1024];
        while self.discarded < DISCARDED {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => self.discarded += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.reading.poll(cx, Some(until)),
            }
        }
        Poll::Ready(())
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let since = *self.stalled.get_or_insert_with(Instant::now);
        ready!(self.writing.poll(cx, Some(since + self.timeouts.write)));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read the response")))
    }
}

impl AsyncRead for Guarded {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if read.is_pending() {
            ready!(this.reading.poll(cx, this.exchange.deadline(cx.waker())));
            return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not send a request")));
        }
        if buffer.filled().len() > before {
            this.exchange.received();
        }
        read
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.written(cx, written)
    }

    fn poll_write_vectored(self: Pin<&mut Self>, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.discarding.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        if this.exchange.unread.load(Ordering::Relaxed) {
            ready!(this.poll_discard(cx));
        }
        Poll::Ready(Ok(()))
    }
}
