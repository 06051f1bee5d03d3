//! `GET /v1/calls/{id}`.

use axum::Json;
use switchhook_core::id::CallId;

use super::CallResource;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::PathId;
use crate::http::response::JsonResponse;
use crate::store::calls;

/// Get a call.
///
/// Returns its present status, or its result once it has ended.
#[utoipa::path(
    get, path = "/calls/{id}", operation_id = "show_call", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses((status = 200, description = "The call", body = CallResource))
)]
pub(super) async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<CallId>) -> JsonResponse<CallResource> {
    let mut conn = state.store.read().await?;
    let row = calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    Ok(Json(row.into()))
}
