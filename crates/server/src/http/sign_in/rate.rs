//! How often an address may begin and finish sign-ins, by node. Sessions are not affected.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::HttpState;
use crate::http::error::ApiError;
use crate::http::token_bucket::TokenBuckets;
use crate::listener::network;

/// Requests in a minute, in the long run. A sign-in makes two, and behind a proxy everybody has one address.
const PER_MINUTE: u32 = 120;
/// Requests at once: everybody arrives at nine.
const BURST: u32 = 120;

/// The buckets of all addresses. Clones share them.
#[derive(Clone, Debug)]
pub(in crate::http) struct SignInRate(TokenBuckets<IpAddr>);

impl Default for SignInRate {
    fn default() -> Self {
        Self(TokenBuckets::new(Duration::from_secs(60) / PER_MINUTE, BURST))
    }
}

impl SignInRate {
    /// Takes a place for a request from the address.
    ///
    /// # Errors
    /// How long it takes until there is one.
    pub(in crate::http) fn admit(&self, from: IpAddr, now: Instant) -> Result<(), Duration> {
        self.0.take(network(from), now)
    }
}

/// Counts a request for a sign-in.
///
/// # Errors
/// 429 if the address makes too many.
pub(super) fn admit(state: &HttpState, from: SocketAddr) -> Result<(), ApiError> {
    state.sign_in_rate.admit(from.ip(), Instant::now()).map_err(|wait| {
        let seconds = wait.as_secs() + 1;
        let detail = format!(
            "Too many sign-ins from your network address: {PER_MINUTE} requests in a minute are allowed. Try again in {seconds} s."
        );
        ApiError::too_many("sign_in_rate_limit", detail, seconds)
    })
}
