//! `POST /v1/calls/{id}/hangup`.

use axum::Json;
use axum::extract::State;
use switchhook_core::call::{Call, CallEffect, CallInput, Timing};
use switchhook_core::id::CallId;

use super::CallResource;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::store::calls;

/// Ends a call.
///
/// A queued call ends at once; a live one as soon as its carrier has been told. Ending a call that has ended is fine.
#[utoipa::path(
    post, path = "/calls/{id}/hangup", operation_id = "hang_up_call", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The call as it is now", body = CallResource),
        NotFound,
        CommonErrors,
    )
)]
pub(super) async fn hangup(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
) -> Result<Json<CallResource>, ApiError> {
    let now = state.clock.now();
    let mut tx = state.store.begin().await?;
    let mut row = calls::lock(&mut tx, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    if row.status()?.is_terminal() {
        return Ok(Json(row.into()));
    }
    if row.status()? == switchhook_core::call::Status::Queued {
        // Nobody has dialled yet, and once this is committed nobody will: the token of whoever claimed it is void.
        row.lease_token = calls::take_over(&mut tx, tenant.id, id).await?;
        let mut call = Call::restore(row.snapshot()?, Timing::default());
        for effect in call.handle(now, CallInput::HangUpRequested) {
            if let CallEffect::Commit(change) = effect {
                let written = calls::apply_for_runner(&mut tx, &row, &change, None, now).await?;
                row = written.ok_or_else(ApiError::internal)?;
            }
        }
    } else {
        calls::request_hangup(&mut tx, tenant.id, id, now).await?;
    }
    tx.commit().await?;
    state.hints.calls.notify_one();
    state.hints.webhooks.notify_one();
    Ok(Json(row.into()))
}
