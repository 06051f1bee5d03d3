//! `POST /v1/connections/{id}/test`.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use serde::Serialize;
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_providers::check::{CHECKS_TIMEOUT, Check};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::connection_not_found;
use crate::catalogue::{CatalogueEntry, ConnectionKind};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::PathId;
use crate::http::response::JsonResponse;
use crate::store::{connections, refusals};

/// Concurrent connection tests per node, over all tenants.
const MAX_TESTS: usize = 8;
/// Of these, tests of local models, which use much memory.
const MAX_LOCAL_TESTS: usize = 2;

/// Limits connection tests: one per tenant, so that a tenant with unresponsive servers does not block others.
pub struct Trials {
    places: Semaphore,
    local: Semaphore,
    tenants: Mutex<HashSet<TenantId>>,
}

impl Default for Trials {
    fn default() -> Self {
        Self { places: Semaphore::new(MAX_TESTS), local: Semaphore::new(MAX_LOCAL_TESTS), tenants: Mutex::default() }
    }
}

impl Trials {
    /// Takes the tenant's slot, and a place on this node, which it waits for. `local` means the models of this machine.
    ///
    /// # Errors
    /// 429 if the tenant has a test under way, 503 if the node has too many.
    pub(super) async fn begin(&self, tenant: TenantId, local: bool) -> Result<Trial<'_>, ApiError> {
        let turn = self.turn(tenant)?;
        let began = Instant::now();
        let places = if local { &self.local } else { &self.places };
        let place = tokio::time::timeout(CHECKS_TIMEOUT, places.acquire()).await;
        let place = place.map_err(|_| busy())?.map_err(anyhow::Error::from)?;
        Ok(Trial { began, _turn: turn, _place: place })
    }

    fn turn(&self, tenant: TenantId) -> Result<TestSlot<'_>, ApiError> {
        if self.tenants().insert(tenant) { Ok(TestSlot { trials: self, tenant }) } else { Err(one_at_a_time()) }
    }

    fn tenants(&self) -> MutexGuard<'_, HashSet<TenantId>> {
        // The state is consistent at every step.
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A test under way.
pub(super) struct Trial<'t> {
    began: Instant,
    _turn: TestSlot<'t>,
    _place: SemaphorePermit<'t>,
}

impl Trial<'_> {
    /// The rest of its time.
    pub(super) fn left(&self) -> Duration {
        CHECKS_TIMEOUT.saturating_sub(self.began.elapsed())
    }
}

/// A tenant's test slot, released when dropped.
struct TestSlot<'t> {
    trials: &'t Trials,
    tenant: TenantId,
}

impl Drop for TestSlot<'_> {
    fn drop(&mut self) {
        self.trials.tenants().remove(&self.tenant);
    }
}

/// `Retry-After` in seconds; most tests are done by then.
const RETRY_SECONDS: u64 = 2;

/// Result of a connection test.
#[derive(Serialize, ToSchema)]
pub(super) struct ConnectionTest {
    /// Whether every check passed.
    ok: bool,
    /// The individual checks.
    checks: Vec<Check>,
}

/// Test a connection.
///
/// Tests it against the provider, without placing a call. Checks a carrier's credentials; has a language model, speech-to-text or
/// text-to-speech process one word, which can cost a fraction of a cent. Takes up to 15 seconds. A failed check still returns 200. Limits: one
/// test at a time per tenant and node (429); eight per node, others wait up to 15 seconds (503).
#[utoipa::path(
    post, path = "/connections/{id}/test", operation_id = "test_connection", tag = "Connections",
    params(("id" = uuid::Uuid, Path, description = "The connection")),
    responses((status = 200, description = "The checks and their results", body = ConnectionTest))
)]
pub(super) async fn test(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
) -> JsonResponse<ConnectionTest> {
    let found = connections::get(&mut state.store.read().await?, tenant.id, id).await?;
    let row = found.ok_or_else(connection_not_found)?;
    let carries = CatalogueEntry::named(&row.provider).is_some_and(|provider| provider.offers(ConnectionKind::Carrier));
    let trial = state.trials.begin(tenant.id, row.provider == "local").await?;
    let checks = state.setup()?.check(&state.store, &row, carries, trial.left()).await?;
    let ok = checks.iter().all(|check| check.ok);
    if ok {
        let mut tx = state.store.begin().await?;
        refusals::forget(&mut tx, tenant.id, id).await?;
        tx.commit().await?;
    }
    Ok(Json(ConnectionTest { ok, checks }))
}

fn one_at_a_time() -> ApiError {
    let detail = "Concurrent connection test limit reached: 1 of 1 in use. Try again when that test has ended.";
    ApiError::too_many("test_in_progress", detail, RETRY_SECONDS)
}

fn busy() -> ApiError {
    let detail = "Too many connection tests are running. Retry in a moment.";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(1)
}
