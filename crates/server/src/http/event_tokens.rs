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

/// A token for event streams.
#[derive(Serialize, ToSchema)]
struct EventToken {
    /// Send it as `?token=`. Gives access to the tenant's events and transcripts.
    #[schema(example = "AQIDBA")]
    token: String,
    /// Open streams before this time; they continue after it.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Create an event token.
///
/// The token is valid for ten minutes. It opens only `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and
/// `/v1/calls/{id}/transcript?token=`, also with `/stream` before the `?`, from any origin. It ends with the key or session that created it,
/// and when the person becomes a viewer.
#[utoipa::path(
    post, path = "/event-tokens", operation_id = "create_event_token", tag = "Calls",
    responses((status = 200, description = "The token", body = EventToken), CommonErrors)
)]
async fn create(state: HttpState, tenant: Tenant) -> JsonResponse<EventToken> {
    let grant = EventGrant::new(&tenant, state.clock.now());
    Ok(Json(EventToken { token: grant.token(&state.vault), expires_at: grant.expires_at() }))
}
