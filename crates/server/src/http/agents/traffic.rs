//! Which versions of an agent new calls get.

use switchhook_core::Timestamp;
use switchhook_core::agent::{FieldError, Traffic};

use crate::http::error::ApiError;
use crate::http::merge_patch;
use crate::store::agents::{self, AgentRow, pruning};
use crate::store::{Conn, Tx};

/// Checks that the versions of an agent's traffic exist. That of `row` is one, also before it is written.
///
/// # Errors
/// 422 naming those that do not; when the database fails.
pub(super) async fn check(conn: &mut Conn, row: &AgentRow) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    for (at, part) in row.traffic().map(Traffic::parts).unwrap_or_default().iter().enumerate() {
        let exists = part.version == row.version
            || part.version < row.version && pruning::exists(conn, row.tenant(), row.agent(), part.version).await?;
        if !exists {
            let message = format!("there is no version {} of this agent; its newest is {}", part.version, row.version);
            errors.push(FieldError::new(format!("traffic.{at}.version"), message));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_fields(errors)) }
}

/// Splits an agent's new calls, without a new version. The tenant is locked.
///
/// # Errors
/// Like [`check`].
pub(crate) async fn route(
    tx: &mut Tx,
    row: AgentRow,
    traffic: Option<Traffic>,
    now: Timestamp,
) -> Result<AgentRow, ApiError> {
    if traffic.as_ref() == row.traffic() {
        return Ok(row);
    }
    let updated_at = merge_patch::newer(row.updated_at, now);
    let row = AgentRow { traffic: traffic.map(Into::into), updated_at, ..row };
    check(tx, &row).await?;
    agents::route(tx, &row).await?;
    Ok(row)
}

/// A warning if no call gets the version that was just written.
pub(super) fn without_calls(row: &AgentRow) -> Option<String> {
    let traffic = row.traffic().filter(|traffic| !traffic.names(row.version))?;
    let versions: Vec<_> = traffic.parts().iter().map(|part| part.version.to_string()).collect();
    let word = if versions.len() == 1 { "version" } else { "versions" };
    Some(format!(
        "traffic: calls get {word} {}, and none gets version {} until traffic names it or is null.",
        versions.join(", "),
        row.version
    ))
}
