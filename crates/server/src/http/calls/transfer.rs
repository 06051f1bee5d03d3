//! `POST /v1/calls/{id}/transfer`.

use serde::Deserialize;
use switchhook_core::agent::FieldError;
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use utoipa::ToSchema;

use super::CallResource;
use super::command::{self, CommandBody, CommandResponse};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ErrorBody;
use crate::http::extract::{PathId, UnreadBody};
use crate::http::response::WithWarnings;
use crate::store::calls::commands::CallCommand;

/// The transfer target.
#[derive(Deserialize, ToSchema)]
pub(super) struct Transfer {
    /// E.164 number or `sip:` URI.
    #[schema(value_type = String, max_length = 255, pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$")]
    to: PhoneNumber,
}

impl CommandBody for Transfer {
    fn command(self) -> Result<CallCommand, FieldError> {
        Ok(CallCommand::Transfer { to: self.to.reveal().to_owned() })
    }

    fn dials(&self) -> Option<&PhoneNumber> {
        Some(&self.to)
    }
}

/// Transfer a call.
///
/// Transfers the caller without an announcement (cold transfer). The agent stops speaking and the carrier transfers the call. Once the number
/// answers, the call ends as `completed` with `end_reason` `transferred`. Otherwise the agent takes the caller back.
#[utoipa::path(
    post, path = "/calls/{id}/transfer", operation_id = "transfer_call", tag = "Calls", request_body = Transfer,
    params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The call; it will be transferred", body = WithWarnings<CallResource>),
        (status = 409, description = "The call is not in progress", body = ErrorBody),
    )
)]
pub(super) async fn transfer(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    body: UnreadBody,
) -> CommandResponse {
    command::submit::<Transfer>(state, tenant, id, body).await
}
