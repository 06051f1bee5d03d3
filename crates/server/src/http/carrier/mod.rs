//! `/carrier/…`: requests from carriers. They have no API keys: the address contains a token that cannot be guessed, and the carrier's
//! signature is checked on every request before anything else is read.

mod calls;
mod connections;
mod media;
mod rate;

pub(in crate::http) use self::rate::CarrierRate;

use std::sync::Arc;

use super::HttpState;
use super::client_network::ClientNetwork;
use super::error::ApiError;
use crate::calls::Context;
use crate::calls::setup::{Setup, SetupError};
use crate::store::calls::CallRow;
use crate::store::{Store, calls as calls_store};
use crate::telemetry::Seldom;
use axum::Router;
use axum::extract::{FromRequestParts, Path};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::routing::any;
use serde::Deserialize;
use switchhook_carriers::Carrier;
use switchhook_carriers::callback::{CallbackError, CallbackRequest, Webhooks};
use switchhook_core::id::ConnectionId;
use switchhook_runtime::clock::Clock;
use tokio::time::Instant;

/// Log lines about requests that are not a carrier's. Any client that knows the address can cause many of them.
static UNCHECKED: Seldom = Seldom::new();

/// Outside `/v1`: carriers come here, customers do not.
pub(super) fn routes() -> Router<HttpState> {
    Router::new()
        .route("/carrier/{provider}/calls/{token}/media", any(media::open))
        .route("/carrier/{provider}/calls/{token}/{topic}", any(calls::callback))
        .route("/carrier/{provider}/connections/{token}/{topic}", any(connections::callback))
}

/// The path of a request.
#[derive(Deserialize)]
struct CarrierPath {
    provider: String,
    token: String,
    topic: String,
}

/// A request as it came, and this node's calls.
struct CarrierRequest {
    /// Absent on a node without calls.
    calls: Option<Arc<Context>>,
    setup: Arc<Setup>,
    store: Store,
    clock: Clock,
    method: Method,
    /// As given to the carrier.
    url: String,
    headers: HeaderMap,
    /// The call whose address was used; nothing where it is a connection's.
    call: Option<CallRow>,
}

/// The parameters of every path.
#[derive(Deserialize)]
struct CarrierTarget {
    provider: String,
    token: String,
}

impl FromRequestParts<HttpState> for CarrierRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &HttpState) -> Result<Self, ApiError> {
        let named = Path::<CarrierTarget>::from_request_parts(parts, state).await.map_err(|_| nothing_here())?;
        let setup = state.setup()?;
        let call = call_of(&setup, &state.store, &named).await?;
        let connection = match &call {
            Some(row) => ConnectionId::from_uuid(row.connection_id),
            None => setup.addresses().connection_of(&named.token).ok_or_else(nothing_here)?,
        };
        state.carrier_rate.admit(connection, ClientNetwork::of(parts), Instant::now()).map_err(|wait| {
            let detail = "Rate limit exceeded: the carrier sends too many requests for this connection.";
            ApiError::too_many("carrier_rate_limit", detail, wait.as_secs() + 1)
        })?;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            calls: state.calls.clone(),
            setup,
            store: state.store.clone(),
            clock: state.clock.clone(),
            method: parts.method.clone(),
            url: format!("{}{path}", state.addresses.public_url()),
            headers: parts.headers.clone(),
            call,
        })
    }
}

/// The call whose token this is, if it is a call's.
async fn call_of(setup: &Setup, store: &Store, named: &CarrierTarget) -> Result<Option<CallRow>, ApiError> {
    let Some(id) = setup.addresses().call_of(&named.token) else { return Ok(None) };
    let row = calls_store::get_for_carrier(&mut store.read().await?, id).await?;
    row.filter(|row| row.provider == named.provider).ok_or_else(nothing_here).map(Some)
}

impl CarrierRequest {
    fn as_callback<'a>(&'a self, topic: &'a str, body: &'a [u8]) -> CallbackRequest<'a> {
        let now = self.clock.now().as_micros() / 1_000_000;
        CallbackRequest { method: &self.method, url: &self.url, headers: &self.headers, body, topic, now }
    }

    /// Returns the context that calls run in.
    fn calls(&self) -> Result<&Arc<Context>, ApiError> {
        let detail = "This node has not the role calls. Send carriers' requests to one that has.";
        self.calls.as_ref().ok_or_else(|| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no_calls_here", detail))
    }

    /// The call whose address was used.
    fn call(&self) -> Result<CallRow, ApiError> {
        self.call.clone().ok_or_else(nothing_here)
    }
}

fn nothing_here() -> ApiError {
    ApiError::not_found("carrier address")
}

impl From<CallbackError> for ApiError {
    fn from(error: CallbackError) -> Self {
        match error {
            CallbackError::Signature(detail) => {
                if let Some(left_out) = UNCHECKED.line(Instant::now()) {
                    tracing::warn!(detail, left_out, "a carrier's request failed its check");
                }
                Self::new(StatusCode::FORBIDDEN, "bad_signature", detail)
            }
            CallbackError::Malformed(detail) => Self::invalid(detail),
            CallbackError::NotFound => nothing_here(),
        }
    }
}

/// The webhooks of a carrier that sends any.
fn webhooks_of(carrier: &Carrier) -> Result<&dyn Webhooks, ApiError> {
    carrier.webhooks.as_deref().ok_or_else(nothing_here)
}

/// The carrier of a call or connection that can be reached under `provider`.
fn of_provider(carrier: Result<Arc<Carrier>, SetupError>) -> Result<Arc<Carrier>, ApiError> {
    SetupError::apart(carrier)?.map_err(|words| {
        // Without its credentials no signature can be checked.
        if let Some(left_out) = UNCHECKED.line(Instant::now()) {
            tracing::warn!(words, left_out, "a carrier's request cannot be checked");
        }
        let detail = "The carrier connection cannot be used, so the request cannot be checked.";
        ApiError::new(StatusCode::FORBIDDEN, "bad_signature", detail)
    })
}
