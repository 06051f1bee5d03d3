//! What clients may ask of a running conversation. Any node takes it down; the call's own node does it.

use axum::Json;
use serde::de::DeserializeOwned;
use switchhook_core::agent::FieldError;
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;

use super::CallResource;
use super::create::{check_dial_policy, is_counted};
use crate::calls::tariff::numbering_plan;
use crate::http::HttpState;
use crate::http::answer::WithWarnings;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::{Body, UnreadBody};
use crate::store::calls;
use crate::store::calls::commands::{self, Command};

/// A body that asks for something.
pub(super) trait Asks: DeserializeOwned {
    /// What is asked for, or which field is wrong.
    fn command(self) -> Result<Command, FieldError>;

    /// Whom it would have called.
    fn dials(&self) -> Option<&PhoneNumber> {
        None
    }
}

/// What a handler of a command answers.
pub(super) type Answer = Result<Json<WithWarnings<CallResource>>, ApiError>;

/// Takes a command down for the node that runs the call. What is wrong is found in the order 404, 413 or 422, 409.
pub(super) async fn give<B: Asks>(state: HttpState, tenant: Tenant, id: CallId, body: UnreadBody) -> Answer {
    let missing = || ApiError::not_found("call");
    let row = calls::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(missing)?;
    let Body { value, warnings } = body.read::<B>().await?;
    if let Some(to) = value.dials() {
        let counted = is_counted(&row.provider);
        let plan = numbering_plan(to);
        check_dial_policy(&mut state.store.read().await?, tenant.id, to, plan, counted, state.clock.now()).await?;
    }
    let command = value.command().map_err(|error| ApiError::invalid_fields(vec![error]))?;

    let mut tx = state.store.begin().await?;
    let row = calls::lock(&mut tx, tenant.id, id).await?.ok_or_else(missing)?;
    if !row.in_conversation() {
        return Err(not_in_progress(&row.status));
    }
    // The time is asked under the lock, so that commands are done in the order in which they were taken down.
    commands::give(&mut tx, tenant.id, id, &command, state.clock.now()).await?;
    tx.commit().await?;
    state.wakeups.calls.notify_one();
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

fn not_in_progress(status: &str) -> ApiError {
    let detail = match status {
        "in_progress" => "The call is just ending.".to_owned(),
        status => format!("The call is {status}; this can be asked of a call in progress only."),
    };
    ApiError::conflict("call_not_in_progress", detail)
}
