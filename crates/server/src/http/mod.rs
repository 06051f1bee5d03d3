//! The HTTP API: one file per endpoint or small resource.
//!
//! Layers, from the outside in: request id, panic handler, metrics, timeout; below `/v1` also audit log, authentication, rate limit and
//! routing. Errors are therefore checked in this order: 401, 403, 429, 404 or 405, 413 or 422. Every other path is the dashboard's.

pub(crate) mod accept;
pub mod agents;
pub mod api_keys;
mod attention;
mod audit;
pub mod auth;
mod base_path;
pub(crate) mod bounds;
pub mod calls;
mod carrier;
mod client_network;
pub mod connections;
mod dashboard;
pub mod error;
mod event_tokens;
mod events;
pub mod extract;
mod fallback;
mod guest_rate;
pub mod health;
pub(crate) mod listening;
mod llms;
pub mod merge_patch;
mod metrics;
pub mod numbers;
mod openapi;
pub mod people;
mod rate_limit;
pub mod request_id;
pub mod response;
pub(crate) mod sign_in;
mod state;
mod statistics;
mod string_enum;
pub mod tenant;
#[cfg(test)]
mod tests;
pub mod throttle;
mod token_bucket;
mod turns;
pub(crate) mod unknown_query;
mod web_media;
pub mod webhooks;

pub use openapi::{openapi, openapi_3_0};
pub use state::{Draining, HttpState};

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;

use self::unknown_query::KnownParameters;
use crate::telemetry;

/// Maximum body size, in bytes.
const BODY_LIMIT: usize = 1 << 20;
/// Time limit until the response starts.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How often data collected in memory is written to the database.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(2);

/// Builds the router of all HTTP endpoints.
pub fn router(state: HttpState) -> Router {
    let limited = from_fn_with_state(state.clone(), rate_limit::enforce);
    let authenticated = from_fn_with_state(state.clone(), auth::require);
    let (v1, document) = v1().split_for_parts();
    let parameters = KnownParameters::of(&document, "/v1");
    let v1 = v1
        .layer(from_fn_with_state(parameters, unknown_query::refuse))
        .fallback(fallback::not_found)
        .method_not_allowed_fallback(fallback::method_not_allowed)
        .layer(from_fn(fallback::do_not_store))
        .layer(limited.clone())
        .layer(authenticated.clone())
        .layer(from_fn(audit::record_changes));
    let routes = Router::new()
        .nest("/v1", v1)
        .route("/v1/", any(fallback::not_found).layer(limited).layer(authenticated))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::show))
        .merge(carrier::routes())
        .merge(web_media::routes())
        .merge(listening::routes())
        .merge(openapi::routes())
        .merge(llms::routes())
        .merge(sign_in::routes(&state))
        .fallback(dashboard::serve)
        .method_not_allowed_fallback(fallback::method_not_allowed);
    let base = base_path::BasePath::of(state.addresses.public_url());
    let routes = if base.is_empty() { routes } else { routes.layer(from_fn_with_state(base, base_path::add)) };
    around(routes, &state, TIME_LIMIT).with_state(state)
}

/// Adds the layers of every request.
fn around(routes: Router<HttpState>, state: &HttpState, time_limit: Duration) -> Router<HttpState> {
    routes
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(from_fn_with_state(state.store.clone(), health::note_symptoms))
        .layer(from_fn_with_state(time_limit, fallback::limit_time))
        .layer(from_fn(metrics::measure))
        .layer(CatchPanicLayer::custom(fallback::panicked))
        .layer(from_fn_with_state(state.clock.clone(), request_id::assign))
}

/// The resources below `/v1`.
fn v1() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .merge(api_keys::routes())
        .merge(tenant::routes())
        .merge(connections::routes())
        .merge(agents::routes())
        .merge(numbers::routes())
        .merge(calls::routes())
        .merge(webhooks::routes())
        .merge(people::routes())
        .merge(statistics::routes())
        .merge(events::routes())
        .merge(event_tokens::routes())
        .merge(attention::routes())
}

/// Runs background work until `stop`: writes key usage, maintains metrics, drops unused carriers, logs what the log left out.
pub async fn keep_house(state: HttpState, stop: CancellationToken) {
    let mut rounds = tokio::time::interval(HOUSEKEEPING_INTERVAL);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let stopped = tokio::select! {
            _ = rounds.tick() => false,
            () = stop.cancelled() => true,
        };
        state.metrics.run_upkeep();
        telemetry::report_dropped(stopped);
        if let Some(setup) = state.made_setup() {
            setup.forget_unused();
        }
        if let Err(error) = state.last_used.flush(&state.store).await {
            tracing::warn!(%error, "could not write key usage; retrying");
        }
        if stopped {
            return;
        }
    }
}
