//! `GET /v1/calls/{id}/decisions`: why the agent spoke when it did.

use axum::Json;
use serde::Serialize;
use switchhook_core::id::CallId;
use utoipa::ToSchema;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::store::calls;
use crate::store::calls::decisions::{self, DecisionEntry};

/// The decisions of a call.
#[derive(Serialize, ToSchema)]
pub(super) struct Decisions {
    /// In the order they were made.
    pub data: Vec<DecisionEntry>,
}

/// List turn-taking decisions.
///
/// Lists those of an ended call; there are none for live calls and speech-to-speech models.
#[utoipa::path(
    get, path = "/calls/{id}/decisions", operation_id = "list_decisions", tag = "Calls",
    params(("id" = uuid::Uuid, Path, description = "The call")),
    responses((status = 200, description = "The decisions", body = Decisions), NotFound, CommonErrors)
)]
pub(super) async fn decisions(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
) -> Result<Json<Decisions>, ApiError> {
    let mut conn = state.store.read().await?;
    calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    Ok(Json(Decisions { data: decisions::list(&mut conn, tenant.id, id).await? }))
}
