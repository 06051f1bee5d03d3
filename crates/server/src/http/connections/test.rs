//! `POST /v1/connections/{id}/test`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use switchhook_core::id::ConnectionId;
use utoipa::ToSchema;

use super::catalogue::{Kind, Provider};
use super::missing;
use crate::calls::setup::Setup;
use crate::carrier::simulator::Simulator;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::models::Models;
use crate::providers::check::Check;
use crate::providers::registry::Registry;
use crate::store::connections;

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
/// one. That may cost a fraction of a cent. A failed check is no error of this request. It takes at most 15 seconds.
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
    let checks = setup(&state)?.check(&row, carries).await;
    Ok(Json(ConnectionTest { ok: checks.iter().all(|check| check.ok), checks }))
}

/// What calls are made with; a node without calls makes it for this once.
fn setup(state: &HttpState) -> Result<Arc<Setup>, ApiError> {
    if let Some(calls) = &state.calls {
        return Ok(calls.setup.clone());
    }
    let providers = Registry::new(&state.config, Models::new(&state.config.data_dir))?;
    Ok(Arc::new(Setup::new(state.config.clone(), state.vault.clone(), providers, Simulator::new())))
}
