//! `GET /v1/calls/{id}/recording`.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use switchhook_core::id::CallId;
use tower::ServiceExt as _;
use tower_http::services::ServeFile;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::store::calls;

/// Fetches the recording: a stereo WAV, 8 kHz, the caller left, the agent right. Range requests are answered.
#[utoipa::path(
    get, path = "/calls/{id}/recording", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The recording", body = Vec<u8>, content_type = "audio/wav"),
        (status = 206, description = "The part asked for", body = Vec<u8>, content_type = "audio/wav"),
        NotFound,
        CommonErrors,
    )
)]
pub(super) async fn recording(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    request: Request,
) -> Result<Response, ApiError> {
    let row = {
        let mut conn = state.store.read().await?;
        calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?
    };
    let file = row.recording.ok_or_else(|| ApiError::not_found("recording"))?;
    let served = ServeFile::new(state.config.data_dir.join(file)).oneshot(request).await;
    let response = served.unwrap_or_else(|never| match never {});
    if response.status() == StatusCode::NOT_FOUND {
        let detail = "The recording of this call is not on this node, or has been deleted. Recordings are files of the node that held \
                      the call, unless the operator has put them on storage that all nodes share.";
        return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", detail));
    }
    Ok(response.map(Body::new).into_response())
}
