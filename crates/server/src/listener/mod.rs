//! HTTP/1.1 on a port that strangers can reach: how many connections there may be, and how long each may keep us waiting.
//!
//! Every wait for a client has an end: for a request's header, for its body, for the next request, and for the client to take an
//! answer. What has been upgraded to a websocket keeps only the last one: whoever speaks over it knows how long silence may last.

mod body;
mod connection;
mod places;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

pub use self::body::TooSlow;
use self::body::{Answer, TimedBody};
use self::connection::{Exchange, Guarded};
pub(crate) use self::places::network;
use self::places::{Place, Places};

/// The most bytes of a request's line, which alone may have 64 KiB, and headers; more is a 431.
const HEADER_SIZE: usize = 96 * 1024;
/// The most headers of a request; more is a 431.
const HEADERS: usize = 100;
/// How long a connection may be silent before TCP asks whether the other end is still there.
const SILENCE: Duration = Duration::from_secs(60);
/// How often it asks.
const PROBES: Duration = Duration::from_secs(15);
/// How long what was sent may stay unacknowledged, or the other end's window closed.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);
/// After the system could not give a connection, for want of file descriptors for example.
const PAUSE: Duration = Duration::from_millis(500);

/// What clients may take of the listener.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at the same time.
    pub connections: u32,
    /// Those of one address: an IPv4 address, or the /64 network of an IPv6 address.
    pub connections_per_address: u32,
    /// How long each may keep us waiting.
    pub timeouts: Timeouts,
}

/// How long a client may keep us waiting.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a request's header: from its first byte to its last one, and for the first one on a connection from the beginning.
    pub header: Duration,
    /// For a request's body, from the end of the header.
    pub body: Duration,
    /// For the next request on a connection.
    pub idle: Duration,
    /// For it to take any more of an answer.
    pub write: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: 10_000, connections_per_address: 1_000, timeouts: Timeouts::default() }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { header: seconds(10), body: seconds(20), idle: seconds(60), write: seconds(30) }
    }
}

/// Serves `router` until `stop`, and then until what is under way has been answered.
pub async fn serve(listener: TcpListener, router: axum::Router, bounds: Bounds, stop: CancellationToken) {
    let places = Places::new(bounds);
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            // Dropped without a place, a connection is closed.
            Ok((stream, peer)) => {
                if let Some(place) = places.take(peer.ip()) {
                    let handler = Handler::new(router.clone(), peer, bounds.timeouts);
                    tasks.spawn(serve_connection(stream, place, handler, stop.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn serve_connection(stream: TcpStream, place: Place, handler: Handler, stop: CancellationToken) {
    if let Err(error) = notice_the_dead(&stream) {
        tracing::debug!(%error, "could not enable TCP keepalive for a connection");
    }
    let io = TokioIo::new(Guarded::new(stream, handler.timeouts, handler.exchange.clone(), place));
    let mut http = http1::Builder::new();
    http.max_headers(HEADERS).max_header_size(HEADER_SIZE);
    let mut connection = pin!(http.serve_connection(io, handler).with_upgrades());
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed");
    }
}

/// Has the system close a connection whose other end is gone without a word.
fn notice_the_dead(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENCE).with_interval(PROBES))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}

/// Answers the requests of one connection.
struct Handler {
    router: axum::Router,
    peer: SocketAddr,
    timeouts: Timeouts,
    exchange: Arc<Exchange>,
}

impl Handler {
    fn new(router: axum::Router, peer: SocketAddr, timeouts: Timeouts) -> Self {
        Self { router, peer, timeouts, exchange: Arc::new(Exchange::new(timeouts)) }
    }
}

impl hyper::service::Service<Request<Incoming>> for Handler {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.exchange.begin();
        let (router, exchange, limit) = (self.router.clone(), self.exchange.clone(), self.timeouts.body);
        let mut request = request.map(|body| TimedBody::new(body, limit));
        request.extensions_mut().insert(ConnectInfo(self.peer));
        Box::pin(async move {
            let response = router.oneshot(request).await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                exchange.upgrade();
            }
            Ok(response.map(|body| Answer::new(body, exchange)))
        })
    }
}
