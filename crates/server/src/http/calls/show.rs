//! `GET /v1/calls/{id}` and its transcript.

use axum::Json;
use serde::Serialize;
use switchhook_core::id::CallId;
use utoipa::ToSchema;

use super::CallResource;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::PathId;
use crate::http::response::JsonResponse;
use crate::store::calls::{self, TranscriptEntry};

/// Returns a call.
#[utoipa::path(
    get, path = "/calls/{id}", operation_id = "show_call", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses((status = 200, description = "The call", body = CallResource))
)]
pub(super) async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<CallId>) -> JsonResponse<CallResource> {
    let mut conn = state.store.read().await?;
    let row = calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    Ok(Json(row.into()))
}

/// The transcript of a call.
#[derive(Serialize, ToSchema)]
pub(super) struct Transcript {
    /// Lines in the order in which they were completed.
    pub data: Vec<TranscriptEntry>,
}

/// Returns the transcript, up to now for a live call. The agent's lines contain only what the caller heard.
#[utoipa::path(
    get, path = "/calls/{id}/transcript", operation_id = "show_transcript", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses((status = 200, description = "The transcript", body = Transcript))
)]
pub(super) async fn transcript(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
) -> JsonResponse<Transcript> {
    let mut conn = state.store.read().await?;
    calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    Ok(Json(Transcript { data: calls::transcript(&mut conn, tenant.id, id).await? }))
}
