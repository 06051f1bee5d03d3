//! `POST /v1/calls/{id}/listen`.

use axum::Json;
use serde::Serialize;
use switchhook_core::Timestamp;
use switchhook_core::id::CallId;
use utoipa::ToSchema;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::PathId;
use crate::http::listening::{self, Ticket};
use crate::http::response::JsonResponse;
use crate::store::calls;

/// Where to listen to a live call.
#[derive(Serialize, ToSchema)]
pub(super) struct ListenAddress {
    /// WebSocket URL for one connection. Anyone who has it can listen.
    #[schema(example = "wss://voice.example.com/media/listen/AQIDBA")]
    url: String,
    /// Connect before this time.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Listen to a call.
///
/// Streams both sides of a live call. The WebSocket sends `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20
/// ms of 16-bit PCM at a time, caller left, agent right. It closes when the call ends, the key or session stops working, or the person becomes
/// a viewer. Connect to the node that runs the call. Slow listeners miss audio.
#[utoipa::path(
    post, path = "/calls/{id}/listen", operation_id = "listen_to_call", tag = "Calls",
    params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The address of the socket", body = ListenAddress),
        (status = 409, description = "The call is not in progress, or five people listen already", body = ErrorBody),
    )
)]
pub(super) async fn listen(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
) -> JsonResponse<ListenAddress> {
    let row = calls::get(&mut state.store.read().await?, tenant.id, id).await?;
    let row = row.ok_or_else(|| ApiError::not_found("call"))?;
    if !row.in_conversation() {
        return Err(listening::not_in_progress(&row.status));
    }
    if listening::is_full(&state, id) {
        return Err(listening::too_many_listeners());
    }
    let ticket = Ticket::new(tenant, id, state.clock.now());
    let url = ticket.url(state.addresses.public_url(), &state.vault);
    Ok(Json(ListenAddress { url, expires_at: ticket.expires_at() }))
}
