//! `GET /healthz` and `GET /readyz`, for supervisors and load balancers. They need no key.

use std::sync::LazyLock;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};
use switchhook_runtime::clock;
use uuid::Uuid;

use super::HttpState;
use super::error::ApiError;
use super::response::JsonResponse;
use crate::store::{self, Store, why_unwritable};

/// Timeout for the database.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Identifies this process, so that `doctor` can tell whether another address reaches it.
static INSTANCE: LazyLock<Uuid> = LazyLock::new(|| Uuid::from_bytes(clock::random()));

/// Reports that the process runs.
pub async fn alive() -> Json<Value> {
    Json(json!({"status": "ok", "instance": *INSTANCE}))
}

/// Reports whether a call that is placed now is dialled and its webhooks leave: the database responds, the service is not stopping,
/// and this node's work goes round.
///
/// # Errors
/// 503 with the reason.
pub async fn ready(state: HttpState) -> JsonResponse<Value> {
    if state.draining.started() {
        return Err(not_ready("draining", "The service is stopping."));
    }
    match tokio::time::timeout(DATABASE_TIMEOUT, probe(&state.store)).await {
        Ok(Ok(())) if state.heartbeats.calls_stalled() => {
            Err(not_ready("calls_stalled", "This node cannot claim or keep calls; its log says why."))
        }
        Ok(Ok(())) if state.heartbeats.deliveries.stalled() => {
            Err(not_ready("deliveries_stalled", "This node cannot claim webhook deliveries; its log says why."))
        }
        Ok(Ok(())) => Ok(Json(json!({"status": "ready"}))),
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready: database error");
            let detail = match why_unwritable(&error) {
                Some(why) => format!("The database cannot be written: {why}."),
                None => "The database cannot be reached.".to_owned(),
            };
            Err(not_ready("database_unavailable", &detail))
        }
        Err(_) => Err(not_ready("database_unavailable", "The database does not respond.")),
    }
}

fn not_ready(code: &'static str, detail: &str) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(1)
}

/// Whether the database can be read and written.
async fn probe(store: &Store) -> Result<(), sqlx::Error> {
    store::ping(&mut store.read().await?).await?;
    store.probe_write().await
}
