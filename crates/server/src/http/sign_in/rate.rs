//! How many requests an address may make below `/auth`, and how many of them to sign in, by node. Requests below `/v1` are not affected.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use switchhook_core::api_key::KeyHash;
use tokio::time::Instant;

use super::cookies;
use super::page::Answer;
use crate::http::HttpState;
use crate::http::client_network::ClientNetwork;
use crate::http::error::ApiError;
use crate::http::token_bucket::TokenBuckets;
use crate::listener::network;
use crate::sign_in::attempt::{hash, is_random_text};

/// Sign-in requests in a minute, in the long run and at once: everybody arrives at nine. A sign-in makes two, and behind a proxy everybody
/// has one address.
const SIGN_INS: u32 = 120;
/// All requests in a minute, in the long run and at once, without those of people who are signed in.
const REQUESTS: u32 = 600;

/// The buckets of all addresses. Clones share them.
#[derive(Clone, Debug)]
pub(in crate::http) struct SignInRate {
    sign_ins: TokenBuckets<IpAddr>,
    requests: TokenBuckets<IpAddr>,
}

impl Default for SignInRate {
    fn default() -> Self {
        let buckets = |per_minute: u32| TokenBuckets::new(Duration::from_secs(60) / per_minute, per_minute);
        Self { sign_ins: buckets(SIGN_INS), requests: buckets(REQUESTS) }
    }
}

impl SignInRate {
    /// Takes a place for a request to sign in from the address.
    ///
    /// # Errors
    /// How long it takes until there is one.
    pub(in crate::http) fn admit(&self, from: IpAddr, now: Instant) -> Result<(), Duration> {
        self.sign_ins.take(network(from), now)
    }

    /// Takes a place for any request below `/auth` from the address.
    ///
    /// # Errors
    /// How long it takes until there is one.
    pub(in crate::http) fn admit_any(&self, from: IpAddr, now: Instant) -> Result<(), Duration> {
        self.requests.take(network(from), now)
    }
}

/// Middleware: counts a request below `/auth` of a client that is not signed in, or rejects it with 429.
pub(super) async fn limit(
    state: HttpState,
    ClientNetwork(from): ClientNetwork,
    request: Request,
    next: Next,
) -> Result<Response, Answer> {
    // A person with a session has limits of their own, and shares the address with strangers.
    if let Some(from) = from.filter(|_| !is_signed_in(&state, request.headers())) {
        let admitted = state.sign_in_rate.admit_any(from, Instant::now());
        admitted.map_err(|wait| Answer::new(request.headers(), refusal("requests", REQUESTS, wait)))?;
    }
    Ok(next.run(request).await)
}

/// Returns whether the cookie is that of a session which was open when it was last looked up.
fn is_signed_in(state: &HttpState, headers: &HeaderMap) -> bool {
    let cookie = cookies::session(headers).filter(|cookie| is_random_text(cookie));
    cookie.is_some_and(|cookie| state.throttle.remembers(KeyHash::from_bytes(hash(&cookie))))
}

/// Counts a request for a sign-in.
///
/// # Errors
/// 429 if the address makes too many.
pub(super) fn admit(state: &HttpState, from: SocketAddr) -> Result<(), ApiError> {
    let admitted = state.sign_in_rate.admit(from.ip(), Instant::now());
    admitted.map_err(|wait| refusal("sign-ins", SIGN_INS, wait))
}

fn refusal(what: &str, per_minute: u32, wait: Duration) -> ApiError {
    let seconds = wait.as_secs() + 1;
    let detail = format!(
        "Too many {what} from your network address: {per_minute} requests in a minute are allowed. Try again in {seconds} s."
    );
    ApiError::too_many("sign_in_rate_limit", detail, seconds)
}
