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

/// Where a live call is heard.
#[derive(Serialize, ToSchema)]
pub(super) struct ListenAddress {
    /// The address of a websocket, good for one connection. Whoever has it can listen.
    #[schema(example = "wss://voice.example.com/media/listen/AQIDBA")]
    url: String,
    /// Until when it can be opened.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Lets somebody listen to a live call, both sides.
///
/// The socket brings `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20 ms of 16 bit PCM at a time, caller
/// left, agent right, until the call ends or the key or session that asked stops working, as it does for a person who becomes a viewer. It must
/// reach the node that runs the call. A listener who is too slow misses audio; the call never waits.
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
