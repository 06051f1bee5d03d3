//! `POST /v1/connections/{id}/test`.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use switchhook_core::id::{ConnectionId, TenantId};
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

/// Connections tried at once on a node, over all tenants.
const AT_ONCE: usize = 8;
/// Those of them that use the models of this machine, which take much memory each time.
const LOCAL_AT_ONCE: usize = 2;

/// Which connections are tried now: one of a tenant at a time, so that a tenant whose servers do not answer keeps no other one waiting.
pub struct Trials {
    places: Semaphore,
    local: Semaphore,
    tenants: Mutex<HashSet<TenantId>>,
}

impl Default for Trials {
    fn default() -> Self {
        Self { places: Semaphore::new(AT_ONCE), local: Semaphore::new(LOCAL_AT_ONCE), tenants: Mutex::default() }
    }
}

impl Trials {
    /// The tenant's turn.
    fn turn(&self, tenant: TenantId) -> Result<Turn<'_>, ApiError> {
        if self.tenants().insert(tenant) { Ok(Turn { trials: self, tenant }) } else { Err(one_at_a_time()) }
    }

    fn tenants(&self) -> MutexGuard<'_, HashSet<TenantId>> {
        // It is whole at every step.
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tenant's turn to try a connection, over when dropped.
struct Turn<'t> {
    trials: &'t Trials,
    tenant: TenantId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.trials.tenants().remove(&self.tenant);
    }
}

/// When to come again; many tests are done by then.
const RETRY_SECONDS: u64 = 2;

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
/// one. That may cost a fraction of a cent. A failed check is no error of this request. It takes at most 15 seconds. A tenant
/// tests one connection at a time on a node, and gets 429 beyond that. A node tests eight at once, two of them with models of its own;
/// others wait, and get a 503 when their 15 seconds are over.
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
    let _turn = state.trials.turn(tenant.id)?;
    let began = Instant::now();
    let places = if row.provider == "local" { &state.trials.local } else { &state.trials.places };
    let place = tokio::time::timeout(DEADLINE, places.acquire()).await;
    let _place = place.map_err(|_| busy())?.map_err(anyhow::Error::from)?;
    let checks = state.setup()?.check(&row, carries, DEADLINE.saturating_sub(began.elapsed())).await;
    Ok(Json(ConnectionTest { ok: checks.iter().all(|check| check.ok), checks }))
}

fn one_at_a_time() -> ApiError {
    let detail = "Concurrent connection test limit reached: 1 of 1 in use. Try again when that test has ended.";
    ApiError::too_many("test_in_progress", detail, RETRY_SECONDS)
}

fn busy() -> ApiError {
    let detail = "Other connections are being tested. Test this one again in a moment.";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(1)
}
