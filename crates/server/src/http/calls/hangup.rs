//! `POST /v1/calls/{id}/hangup`.

use axum::Json;
use switchhook_core::id::CallId;

use super::CallResource;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::PathId;
use crate::http::response::JsonResponse;
use crate::store::calls;

/// Hang up a call.
///
/// A queued call ends at once, a live one when the carrier hangs up. No effect on an ended call.
#[utoipa::path(
    post, path = "/calls/{id}/hangup", operation_id = "hang_up_call", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses((status = 200, description = "The call", body = CallResource))
)]
pub(super) async fn hangup(state: HttpState, tenant: Tenant, PathId(id): PathId<CallId>) -> JsonResponse<CallResource> {
    let now = state.clock.now();
    let mut tx = state.store.begin().await?;
    let mut row = calls::lock(&mut tx, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    if row.status()?.is_terminal() {
        return Ok(Json(row.into()));
    }
    if row.status()? == switchhook_core::call::Status::Queued {
        row = calls::cancel_queued(&mut tx, row, now).await?;
    } else {
        calls::request_hangup(&mut tx, tenant.id, id, now).await?;
    }
    tx.commit().await?;
    state.wakeups.calls.notify_one();
    state.wakeups.webhooks.notify_one();
    Ok(Json(row.into()))
}
