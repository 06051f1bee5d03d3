//! A local webhook receiver for `demo`, `webhook listen` and tests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::Value;
use switchhook_core::webhook::{DEFAULT_TOLERANCE, SigningSecret, verify};
use switchhook_runtime::clock::Clock;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{DELIVERY, EVENT, SIGNATURE};
use crate::listener::{self, Bounds};

/// Accepts deliveries at any path, verifies and forwards them. Dropping it stops it.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<ReceiverState>,
    received: UnboundedReceiver<Received>,
    _stop: DropGuard,
}

/// A received POST.
#[derive(Clone, Serialize)]
pub struct Received {
    /// `X-Voice-Event`.
    pub event: String,
    /// `X-Voice-Delivery`.
    pub id: String,
    /// The number of this POST among those of its delivery.
    pub attempt: u32,
    /// Whether the signature is valid for the body, the secret and the time.
    pub verified: bool,
    /// Why it is invalid; absent if it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The body; `null` if it is not JSON.
    pub body: Value,
    /// All headers.
    #[serde(skip)]
    pub headers: HeaderMap,
}

#[derive(Debug)]
struct ReceiverState {
    state: Mutex<Settings>,
    received: UnboundedSender<Received>,
}

#[derive(Debug, Default)]
struct Settings {
    secret: Option<SigningSecret>,
    answer: StatusCode,
    seen: HashMap<String, u32>,
}

impl Receiver {
    /// Listens on `address`; port 0 selects a free one.
    ///
    /// # Errors
    /// If the address is not available.
    pub async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        Self::start_within(address, Bounds::default()).await
    }

    /// Like [`Receiver::start`], with these limits.
    ///
    /// # Errors
    /// If the address is not available.
    pub async fn start_within(address: SocketAddr, bounds: Bounds) -> anyhow::Result<Self> {
        let socket = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let address = socket.local_addr().context("the address of the receiver is unknown")?;
        let (sender, received) = mpsc::unbounded_channel();
        let shared = Arc::new(ReceiverState { state: Mutex::default(), received: sender });
        let stop = CancellationToken::new();
        let router = Router::new().fallback(take).with_state(shared.clone());
        tokio::spawn(listener::serve(socket, router, bounds, stop.clone()));
        Ok(Self { address, shared, received, _stop: stop.drop_guard() })
    }

    /// Returns the URL for deliveries.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// From now on accepts only deliveries signed with `secret`.
    pub fn set_secret(&self, secret: SigningSecret) {
        self.shared.settings().secret = Some(secret);
    }

    /// Sets the status for accepted deliveries, 200 by default.
    pub fn answer_with(&self, status: StatusCode) {
        self.shared.settings().answer = status;
    }

    /// Returns the next delivery, in order of arrival.
    pub async fn next(&mut self) -> Received {
        self.received.recv().await.expect("this receiver holds the sender")
    }
}

impl ReceiverState {
    fn settings(&self) -> std::sync::MutexGuard<'_, Settings> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn take(State(shared): State<Arc<ReceiverState>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (event, id, signature) = (named(EVENT), named(DELIVERY), named(SIGNATURE));
    let mut settings = shared.settings();
    let seen = settings.seen.entry(id.clone()).or_default();
    *seen += 1;
    let attempt = *seen;
    let judged = settings.secret.as_ref().map(|secret| {
        verify(&signature, &body, secret, Clock::system().now(), DEFAULT_TOLERANCE).map_err(|error| error.to_string())
    });
    let (verified, refusal, status) = match judged {
        None => (false, None, settings.answer),
        Some(Ok(())) => (true, None, settings.answer),
        Some(Err(refusal)) => (false, Some(refusal), StatusCode::UNAUTHORIZED),
    };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    // Sent under the lock, so that deliveries keep the order of their numbers.
    let _no_receiver = shared.received.send(Received { event, id, attempt, verified, refusal, body, headers });
    status
}

#[cfg(test)]
mod tests {
    use switchhook_core::Timestamp;

    use super::*;

    #[tokio::test]
    async fn only_what_is_signed_with_its_secret_is_accepted_and_everything_is_handed_on() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut receiver = Receiver::start(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
        let (ours, foreign) = (SigningSecret::generate([1; 32]), SigningSecret::generate([2; 32]));
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let url = receiver.url();
        let send = async |secret: &SigningSecret, at: Timestamp| {
            let signature = SigningSecret::header(std::slice::from_ref(secret), at, b"{}");
            let request = client.post(&url).header(DELIVERY, "d").header(EVENT, "call.failed");
            request.header(SIGNATURE, signature).body("{}").send().await.expect("an answer").status()
        };
        let now = Clock::system().now();
        assert_eq!(send(&foreign, now).await, 200, "no secret is set");
        receiver.set_secret(ours.clone());
        assert_eq!(send(&ours, now).await, 200);
        assert_eq!(send(&foreign, now).await, 401);
        assert_eq!(send(&ours, now - DEFAULT_TOLERANCE - DEFAULT_TOLERANCE).await, 401, "a replay");
        receiver.answer_with(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(send(&ours, now).await, 503);
        for (attempt, verified) in [(1, false), (2, true), (3, false), (4, false), (5, true)] {
            let received = receiver.next().await;
            assert_eq!(
                (received.attempt, received.verified, received.event.as_str()),
                (attempt, verified, "call.failed")
            );
        }
        drop(receiver);
    }
}
