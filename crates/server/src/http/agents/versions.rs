//! `/v1/agents/{id}/versions`: what an agent was, what changed, and back to it.

use axum::Json;
use serde::Serialize;
use serde_json::Value;
use switchhook_core::Timestamp;
use switchhook_core::id::AgentId;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{AgentResource, WantedAgent, agent_not_found, change, check_schemas, size};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::bounds;
use crate::http::error::{ApiError, Conflict};
use crate::http::extract::{PathId, PathIds};
use crate::http::response::{JsonResponse, List, WithWarnings};
use crate::store::Conn;
use crate::store::agents::{self, AgentRow, VersionRow};
use crate::store::page::PageRequest;

/// A version of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentVersion {
    /// Number.
    #[schema(minimum = 1, example = 12)]
    version: i64,
    /// The agent's name in it.
    #[schema(example = "Reception")]
    name: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Fields that differ from the previous version; a list counts as one.
    #[schema(example = json!(["greeting.text", "tools"]))]
    changed: Vec<String>,
}

/// List an agent's versions.
///
/// Lists the latest 100 and those in `traffic` or calls, newest first.
#[utoipa::path(
    get, path = "/agents/{id}/versions", operation_id = "list_agent_versions", tag = "Agents",
    params(("id" = Uuid, Path, description = "The agent"), PageRequest),
    responses((status = 200, description = "A page of versions", body = List<AgentVersion>))
)]
pub(super) async fn list(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<AgentId>,
    page: Result<PageRequest, ApiError>,
) -> JsonResponse<List<AgentVersion>> {
    let mut conn = state.store.read().await?;
    let agent = agents::get(&mut conn, tenant.id, id).await?.ok_or_else(agent_not_found)?;
    let page = page?;
    let before = page.cursor.map_or(i64::MAX, number);
    let found = agents::versions(&mut conn, tenant.id, id, before, page.limit).await?;
    drop(conn);
    let next_cursor = found.before.as_ref().and_then(|_| found.rows.last()).map(|row| cursor(row.version));
    let whole: Vec<(VersionRow, Value)> =
        found.rows.into_iter().chain(found.before).map(|row| whole(row, &agent)).collect::<Result<_, _>>()?;
    let shown = if next_cursor.is_some() { whole.len() - 1 } else { whole.len() };
    let data = whole.iter().take(shown).enumerate().map(|(at, (row, now))| AgentVersion {
        version: row.version,
        name: now["name"].as_str().unwrap_or_default().to_owned(),
        created_at: Timestamp::from_micros(row.created_at),
        changed: whole.get(at + 1).map(|(_, before)| changed(before, now)).unwrap_or_default(),
    });
    Ok(Json(List { data: data.collect(), has_more: next_cursor.is_some(), next_cursor }))
}

/// Cursors are ids everywhere.
fn cursor(version: i64) -> Uuid {
    Uuid::from_u128(u128::try_from(version).unwrap_or(0))
}

fn number(cursor: Uuid) -> i64 {
    i64::try_from(cursor.as_u128()).unwrap_or(i64::MAX)
}

/// A version with all of its fields, the name among them.
fn whole(row: VersionRow, agent: &AgentRow) -> Result<(VersionRow, Value), ApiError> {
    let mut fields = serde_json::to_value(&row.config.0).map_err(anyhow::Error::from)?;
    fields["name"] = row.name.as_ref().unwrap_or(&agent.name).as_str().into();
    Ok((row, fields))
}

/// Returns the paths of fields that differ.
fn changed(before: &Value, now: &Value) -> Vec<String> {
    fn compare(path: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
        match (before, now) {
            (Value::Object(old), Value::Object(new)) => {
                let gone = old.keys().filter(|name| !new.contains_key(*name));
                for name in new.keys().chain(gone) {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let of = |fields: &serde_json::Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                    compare(&path, &of(old), &of(new), found);
                }
            }
            _ if before != now => found.push(path.to_owned()),
            _ => {}
        }
    }
    let mut found = Vec::new();
    compare("", before, now, &mut found);
    found.sort_unstable();
    found
}

/// Get an agent's version.
///
/// Returns the agent as of this version, with its current `traffic`.
#[utoipa::path(
    get, path = "/agents/{id}/versions/{version}", operation_id = "show_agent_version", tag = "Agents",
    params(("id" = Uuid, Path, description = "The agent"), ("version" = i64, Path, description = "The version", minimum = 1)),
    responses((status = 200, description = "The agent as it was", body = AgentResource))
)]
pub(super) async fn show(
    state: HttpState,
    tenant: Tenant,
    PathIds(id, version): PathIds<AgentId, i64>,
) -> JsonResponse<AgentResource> {
    let mut conn = state.store.read().await?;
    let (agent, then) = find(&mut conn, tenant, id, version).await?;
    let row = AgentRow { version, config: then.config, updated_at: then.created_at, ..agent.clone() };
    Ok(Json(AgentRow { name: then.name.unwrap_or(agent.name), ..row }.into()))
}

/// An agent and one of its versions.
async fn find(conn: &mut Conn, tenant: Tenant, id: AgentId, version: i64) -> Result<(AgentRow, VersionRow), ApiError> {
    let agent = agents::get(conn, tenant.id, id).await?.ok_or_else(agent_not_found)?;
    let then = agents::named_version(conn, tenant.id, id, version).await?;
    Ok((agent, then.ok_or_else(|| ApiError::not_found("version"))?))
}

/// Restore an agent's version.
///
/// Its name and configuration become a new version; `traffic` and existing calls keep their versions.
#[utoipa::path(
    post, path = "/agents/{id}/versions/{version}/restore", operation_id = "restore_agent_version", tag = "Agents",
    params(("id" = Uuid, Path, description = "The agent"), ("version" = i64, Path, description = "The version", minimum = 1)),
    responses(
        (status = 200, description = "The agent, in its new version", body = WithWarnings<AgentResource>),
        Conflict,
    )
)]
pub(super) async fn restore(
    state: HttpState,
    tenant: Tenant,
    PathIds(id, version): PathIds<AgentId, i64>,
) -> JsonResponse<WithWarnings<AgentResource>> {
    let (_, then) = find(&mut state.store.read().await?, tenant, id, version).await?;
    let config = then.config.0;
    // Rules may have become stricter since.
    let errors = config.validate();
    if !errors.is_empty() {
        return Err(ApiError::invalid_fields(errors));
    }
    size::check(&config)?;
    check_schemas(&config).await?;
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant.id).await?;
    let row = agents::get(&mut tx, tenant.id, id).await?.ok_or_else(agent_not_found)?;
    let name = then.name.unwrap_or_else(|| row.name.clone());
    let wanted = WantedAgent { name, traffic: row.traffic().cloned(), config };
    let (row, warnings) = change(&state, &mut tx, &owner, row, wanted).await?;
    tx.commit().await?;
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_changed_is_named_by_field_and_lists_as_a_whole() {
        let before = json!({ "name": "Ava", "greeting": { "text": "Hi", "mode": "speak" }, "tools": [1], "realtime": null,
            "variables": { "city": 1 } });
        let now = json!({ "name": "Eve", "greeting": { "text": "Hello", "mode": "speak" }, "tools": [1, 2],
            "realtime": { "voice": "ash" }, "variables": {} });
        assert_eq!(changed(&before, &now), ["greeting.text", "name", "realtime", "tools", "variables.city"]);
        assert_eq!(changed(&now, &now), Vec::<String>::new());
    }
}
