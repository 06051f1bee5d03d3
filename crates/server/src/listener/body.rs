//! Request bodies with a deadline, and response bodies whose end is observed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::connection::{Alarm, Exchange};

/// The request body did not arrive in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request body did not arrive in time")]
pub struct TooSlow;

impl TooSlow {
    /// Returns whether this error caused the failure to read a body.
    #[must_use]
    pub fn caused(error: &(dyn std::error::Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<Self>())
    }
}

/// A request's body with a deadline. The connection learns if it is not read completely.
#[derive(Debug)]
pub(super) struct TimedBody {
    body: Incoming,
    by: Instant,
    alarm: Alarm,
    exchange: Arc<Exchange>,
    /// Whether the end was read.
    ended: bool,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, limit: Duration, exchange: Arc<Exchange>) -> Self {
        Self { body, by: Instant::now() + limit, alarm: Alarm::default(), exchange, ended: false }
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        if !self.ended && !self.body.is_end_stream() {
            self.exchange.leave_body();
        }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Pending => {
                ready!(this.alarm.poll(cx, Some(this.by)));
                Poll::Ready(Some(Err(TooSlow.into())))
            }
            Poll::Ready(frame) => {
                this.ended |= frame.is_none();
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response body. Once it is written, the connection waits for the next request.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    exchange: Arc<Exchange>,
}

impl Answer {
    pub(super) fn new(body: Body, exchange: Arc<Exchange>) -> Self {
        Self { body, exchange }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.exchange.end();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
