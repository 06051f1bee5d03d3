//! HTTP/1.1 on a public port, with limits on connections and timeouts.
//!
//! Every wait for a client has a timeout: for a request's header, its body, the next request, and for the client to read a
//! response. A connection upgraded to a WebSocket keeps only the last one: its user decides how long silence may last.

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
use self::places::{ConnectionPlace, Places};

/// Maximum bytes of a request line (64 KiB at most) and headers; more is a 431.
const HEADER_SIZE: usize = 96 * 1024;
/// Maximum headers of a request; more is a 431.
const HEADERS: usize = 100;
/// Idle time before the first TCP keepalive probe.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
/// Interval of TCP keepalive probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long sent data may stay unacknowledged, or the peer's window closed.
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes that may wait here beyond what is under way to the peer. More would only be later: audio, above all, is better left out.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 64 * 1024;
/// Pause after a failed accept, for example without file descriptors.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Limits of the listener.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Open connections.
    pub connections: u32,
    /// Open connections of one address: an IPv4 address, or the /64 network of an IPv6 address.
    pub connections_per_address: u32,
    /// The timeouts of each.
    pub timeouts: Timeouts,
}

/// Timeouts for a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a request's header, from its first byte; for the first request, from the start of the connection.
    pub header: Duration,
    /// For a request's body, from the end of the header.
    pub body: Duration,
    /// For the next request on a connection.
    pub idle: Duration,
    /// For the client to continue reading a response.
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
        Self { header: seconds(10), body: seconds(20), idle: seconds(620), write: seconds(30) }
    }
}

/// Serves `router` until `stop`, then finishes requests in flight.
pub async fn serve(listener: TcpListener, router: axum::Router, bounds: Bounds, stop: CancellationToken) {
    let places = Places::new(bounds);
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            // Dropping a connection without a slot closes it.
            Ok((stream, peer)) => {
                if let Some(place) = places.take(peer.ip()) {
                    let handler = Handler::new(router.clone(), peer, bounds.timeouts);
                    tasks.spawn(serve_connection(stream, place, handler, stop.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn serve_connection(stream: TcpStream, place: ConnectionPlace, handler: Handler, stop: CancellationToken) {
    if let Err(error) = prepare(&stream) {
        tracing::debug!(%error, "could not set the options of a connection");
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

/// Enables TCP keepalive, which closes connections to dead peers, and bounds what waits for slow ones.
fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_INTERVAL))?;
    #[cfg(target_os = "linux")]
    {
        socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT))?;
        socket.set_tcp_notsent_lowat(UNSENT)?;
    }
    Ok(())
}

/// Serves the requests of one connection.
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
        let mut request = request.map(|body| TimedBody::new(body, limit, exchange.clone()));
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
