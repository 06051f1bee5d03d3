//! A connection whose reads and writes have deadlines.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Timeouts;
use super::places::Place;

/// Where a connection is between requests and answers, which decides how long we wait for its client.
#[derive(Debug)]
pub(super) struct Exchange {
    timeouts: Timeouts,
    state: Mutex<State>,
    /// The connection's task, which must look at the deadline again when there is a new one.
    reader: Mutex<Option<Waker>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing of the next request has come.
    Idle { until: Instant },
    /// A header is coming.
    Header { until: Instant },
    /// A request is being answered. Its body has a deadline of its own.
    Answering,
    /// It is no longer HTTP.
    Upgraded,
}

impl Exchange {
    pub(super) fn new(timeouts: Timeouts) -> Self {
        let first = State::Header { until: Instant::now() + timeouts.header };
        Self { timeouts, state: Mutex::new(first), reader: Mutex::default() }
    }

    /// A request's header is complete.
    pub(super) fn begin(&self) {
        *self.state() = State::Answering;
    }

    /// The answer has been written.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if *state != State::Upgraded {
            *state = State::Idle { until: Instant::now() + self.timeouts.idle };
        }
        drop(state);
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        reader.into_iter().for_each(Waker::wake);
    }

    /// The connection becomes a websocket.
    pub(super) fn upgrade(&self) {
        *self.state() = State::Upgraded;
    }

    /// Something has come.
    fn received(&self) {
        let mut state = self.state();
        if matches!(*state, State::Idle { .. }) {
            *state = State::Header { until: Instant::now() + self.timeouts.header };
        }
    }

    fn deadline(&self, reader: &Waker) -> Option<Instant> {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader.clone());
        match *self.state() {
            State::Idle { until } | State::Header { until } => Some(until),
            State::Answering | State::Upgraded => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is whole at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A deadline that may move.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready once it is `at`; never when there is no deadline.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, at: Option<Instant>) -> Poll<()> {
        let Some(at) = at else { return Poll::Pending };
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }
}

/// A client's connection. Dropped, it gives its place back.
#[derive(Debug)]
pub(super) struct Guarded {
    stream: TcpStream,
    timeouts: Timeouts,
    exchange: Arc<Exchange>,
    reading: Alarm,
    writing: Alarm,
    /// Since when the client has taken nothing of what waits for it.
    stalled: Option<Instant>,
    _place: Place,
}

impl Guarded {
    pub(super) fn new(stream: TcpStream, timeouts: Timeouts, exchange: Arc<Exchange>, place: Place) -> Self {
        let (reading, writing) = (Alarm::default(), Alarm::default());
        Self { stream, timeouts, exchange, reading, writing, stalled: None, _place: place }
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let since = *self.stalled.get_or_insert_with(Instant::now);
        ready!(self.writing.poll(cx, Some(since + self.timeouts.write)));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not take its answer")))
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
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
