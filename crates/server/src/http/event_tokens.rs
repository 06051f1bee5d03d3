//! `POST /v1/event-tokens`: lets a browser's `EventSource`, which cannot send a key, open event streams.

use axum::Json;
use serde::Serialize;
use switchhook_core::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::HttpState;
use super::auth::{EventGrant, Tenant};
use super::error::CommonErrors;
use super::response::JsonResponse;

/// The routes below `/v1`.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(create))
}

/// What opens event streams.
#[derive(Serialize, ToSchema)]
struct EventToken {
    /// The token, to be sent as `?token=`. It gives access to the tenant's events and transcripts.
    #[schema(example = "AQIDBA")]
    token: String,
    /// Until when a stream can be opened with it. An open stream continues after that.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Creates a token for event streams, good for ten minutes.
///
/// It opens `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and `/v1/calls/{id}/transcript?token=`, each also with
/// `/stream` before the `?`, and nothing else, also from pages of other origins. It stops working with the key or session that
/// asked, and when the person becomes a viewer.
#[utoipa::path(
    post, path = "/event-tokens", operation_id = "create_event_token", tag = "Calls",
    responses((status = 200, description = "The token", body = EventToken), CommonErrors)
)]
async fn create(state: HttpState, tenant: Tenant) -> JsonResponse<EventToken> {
    let grant = EventGrant::new(&tenant, state.clock.now());
    Ok(Json(EventToken { token: grant.token(&state.vault), expires_at: grant.expires_at() }))
}
