//! `POST /v1/connections/{id}/test`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use switchhook_core::id::ConnectionId;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::catalogue::{Kind, Provider};
use super::missing;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::providers::check::{Check, DEADLINE};
use crate::store::connections;

/// Connections tried at once: the models of this machine take much memory each time.
const AT_ONCE: usize = 2;

/// How many connections are tried now.
pub struct Trials {
    places: Semaphore,
}

impl Default for Trials {
    fn default() -> Self {
        Self { places: Semaphore::new(AT_ONCE) }
    }
}

/// How a test of a connection went.
#[derive(Serialize, ToSchema)]
pub(super) struct ConnectionTest {
    /// Whether everything worked.
    ok: bool,
    /// What was tried, one by one.
    checks: Vec<Check>,
}

/// Tries a connection for real, without ringing anybody.
///
/// A carrier is asked whether it accepts the credentials; a language model answers a word, a recogniser hears one, a voice speaks
/// one. That may cost a fraction of a cent. A failed check is no error of this request. It takes at most 15 seconds. A node
/// tries two connections at once; others wait, and get a 503 when their 15 seconds are over.
#[utoipa::path(
    post, path = "/connections/{id}/test", operation_id = "test_connection", tag = "Connections",
    params(("id" = uuid::Uuid, Path, description = "The connection")),
    responses(
        (status = 200, description = "What was tried and how it went", body = ConnectionTest),
        NotFound,
        CommonErrors,
    )
)]
pub(super) async fn test(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
) -> Result<Json<ConnectionTest>, ApiError> {
    let found = connections::get(&mut state.store.read().await?, tenant.id, id).await?;
    let row = found.ok_or_else(missing)?;
    let carries = Provider::named(&row.provider).is_some_and(|provider| provider.offers(Kind::Carrier));
    let began = Instant::now();
    let place = tokio::time::timeout(DEADLINE, state.trials.places.acquire()).await;
    let _place = place.map_err(|_| busy())?.map_err(anyhow::Error::from)?;
    let checks = state.setup()?.check(&row, carries, DEADLINE.saturating_sub(began.elapsed())).await;
    Ok(Json(ConnectionTest { ok: checks.iter().all(|check| check.ok), checks }))
}

fn busy() -> ApiError {
    let detail = "Other connections are being tested. Test this one again in a moment.";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(1)
}
