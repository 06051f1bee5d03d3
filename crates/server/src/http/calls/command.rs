//! Commands to a live call. Any node stores them; the node that owns the call executes them.

use axum::Json;
use serde::de::DeserializeOwned;
use switchhook_core::agent::FieldError;
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;

use super::CallResource;
use crate::calls::dial_permission::{self, CalledNumber};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::{Body, UnreadBody};
use crate::http::response::{JsonResponse, WithWarnings};
use crate::store::calls;
use crate::store::calls::commands::{self, CallCommand};

/// The body of a command.
pub(super) trait CommandBody: DeserializeOwned {
    /// Validates the body and returns the command.
    fn command(self) -> Result<CallCommand, FieldError>;

    /// The number it would call.
    fn dials(&self) -> Option<&PhoneNumber> {
        None
    }
}

/// The response to a command.
pub(super) type CommandResponse = JsonResponse<WithWarnings<CallResource>>;

/// Stores a command for the node that owns the call. Errors are checked in the order 404, 413 or 422, 409.
pub(super) async fn submit<B: CommandBody>(
    state: HttpState,
    tenant: Tenant,
    id: CallId,
    body: UnreadBody,
) -> CommandResponse {
    let missing = || ApiError::not_found("call");
    let row = calls::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(missing)?;
    let Body { value, warnings } = body.read::<B>().await?;
    if let Some(to) = value.dials() {
        let now = state.clock.now();
        let called = CalledNumber::over(&row.provider, to.clone());
        let conn = &mut state.store.read().await?;
        let allowed = dial_permission::check(conn, tenant.id, called.attempt(now), now).await?;
        allowed.map_err(|refused| ApiError::invalid_fields(vec![dial_permission::field_error(&refused)]))?;
    }
    let command = value.command().map_err(|error| ApiError::invalid_fields(vec![error]))?;

    let mut tx = state.store.begin().await?;
    let row = calls::lock(&mut tx, tenant.id, id).await?.ok_or_else(missing)?;
    if !row.in_conversation() {
        return Err(not_in_progress(&row.status));
    }
    // Read under the lock, so that commands run in the order they were stored in.
    commands::insert(&mut tx, tenant.id, id, &command, state.clock.now()).await?;
    tx.commit().await?;
    state.wakeups.calls.notify_one();
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

fn not_in_progress(status: &str) -> ApiError {
    let detail = match status {
        "in_progress" => "The call is ending.".to_owned(),
        status => format!("The call is {status}; this needs a call that is in progress."),
    };
    ApiError::conflict("call_not_in_progress", detail)
}
