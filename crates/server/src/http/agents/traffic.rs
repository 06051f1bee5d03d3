//! Which versions of an agent new calls get.

use switchhook_core::Timestamp;
use switchhook_core::agent::{FieldError, Traffic};

use super::connection_errors;
use crate::http::error::ApiError;
use crate::http::merge_patch;
use crate::store::agents::{self, AgentRow};
use crate::store::{Conn, Tx};

/// Checks the versions that `traffic` names and the present traffic of `row` does not: they and their connections must exist. `row` is
/// the newest version. A version that the same request creates cannot be named, because a concurrent change could take its number.
///
/// # Errors
/// 422 naming those that calls cannot get; when the database fails.
pub(super) async fn check(conn: &mut Conn, row: &AgentRow, traffic: Option<&Traffic>) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    for (at, part) in traffic.map(Traffic::parts).unwrap_or_default().iter().enumerate() {
        if row.traffic().is_some_and(|present| present.names(part.version)) {
            continue;
        }
        if let Some(message) = unusable(conn, row, part.version).await? {
            errors.push(FieldError::new(format!("traffic.{at}.version"), message));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_fields(errors)) }
}

/// Returns why calls cannot get a version.
async fn unusable(conn: &mut Conn, row: &AgentRow, version: i64) -> Result<Option<String>, ApiError> {
    let Some(config) = agents::version(conn, row.tenant(), row.agent(), version).await? else {
        return Ok(Some(format!("there is no version {version} of this agent; its newest is {}", row.version)));
    };
    let mut errors = config.validate();
    errors.extend(connection_errors(conn, row.tenant(), &config).await?);
    let first = errors.first();
    Ok(first.map(|error| format!("version {version} no longer works: {} {}", error.path, error.message)))
}

/// Checks the traffic of an agent that does not exist yet.
///
/// # Errors
/// 422 if it names another version than the first.
pub(super) fn check_of_new(row: &AgentRow) -> Result<(), ApiError> {
    match row.traffic() {
        Some(traffic) if traffic.parts().iter().any(|part| part.version != row.version) => {
            Err(ApiError::invalid_field("traffic", "a new agent has only version 1: leave traffic out"))
        }
        _ => Ok(()),
    }
}

/// Splits an agent's new calls, without a new version. The tenant is locked.
///
/// # Errors
/// Like [`check`].
pub(crate) async fn set_traffic(
    tx: &mut Tx,
    row: AgentRow,
    traffic: Option<Traffic>,
    now: Timestamp,
) -> Result<AgentRow, ApiError> {
    if traffic.as_ref() == row.traffic() {
        return Ok(row);
    }
    check(tx, &row, traffic.as_ref()).await?;
    let updated_at = merge_patch::newer(row.updated_at, now);
    let row = AgentRow { traffic: traffic.map(Into::into), updated_at, ..row };
    agents::set_traffic(tx, &row).await?;
    Ok(row)
}

/// Returns a warning if no call gets the newest version.
pub(super) fn without_calls(row: &AgentRow) -> Option<String> {
    let traffic = row.traffic().filter(|traffic| !traffic.names(row.version))?;
    let versions: Vec<_> = traffic.parts().iter().map(|part| part.version.to_string()).collect();
    let noun = if versions.len() == 1 { "version" } else { "versions" };
    Some(format!(
        "traffic: new calls get {noun} {}; no call gets version {}, the newest, until traffic names it or is null.",
        versions.join(", "),
        row.version
    ))
}
