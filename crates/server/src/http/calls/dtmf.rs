//! `POST /v1/calls/{id}/dtmf`.

use serde::Deserialize;
use switchhook_core::agent::FieldError;
use switchhook_core::id::CallId;
use switchhook_media::dtmf::is_key;
use utoipa::ToSchema;

use super::CallResource;
use super::command::{self, CommandBody, CommandResponse};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ErrorBody;
use crate::http::extract::{PathId, UnreadBody};
use crate::http::response::WithWarnings;
use crate::store::calls::commands::CallCommand;

const MAX_DIGITS: usize = 64;

/// DTMF digits to send.
#[derive(Deserialize, ToSchema)]
pub(super) struct SendDtmf {
    /// Keys to send; `w` pauses for half a second.
    #[schema(min_length = 1, max_length = 64, pattern = "^[0-9*#A-Dw]+$")]
    digits: String,
}

impl CommandBody for SendDtmf {
    fn command(self) -> Result<CallCommand, FieldError> {
        let wrong = |message: &str| Err(FieldError::new("digits", message));
        match self.digits {
            digits if digits.is_empty() => wrong("must not be empty"),
            digits if digits.chars().any(|key| key != 'w' && !is_key(key)) => {
                wrong("may contain only 0 to 9, *, #, A to D and w (a pause of half a second)")
            }
            digits if digits.len() > MAX_DIGITS => wrong("must be at most 64 characters"),
            digits => Ok(CallCommand::Dtmf { digits }),
        }
    }
}

/// Send DTMF.
///
/// Presses keys on a live call, for example in a phone menu. The agent's speech pauses while the tones are sent.
#[utoipa::path(
    post, path = "/calls/{id}/dtmf", operation_id = "send_dtmf", tag = "Calls", request_body = SendDtmf,
    params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The call; the digits will be sent", body = WithWarnings<CallResource>),
        (status = 409, description = "The call is not in progress", body = ErrorBody),
    )
)]
pub(super) async fn dtmf(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    body: UnreadBody,
) -> CommandResponse {
    command::submit::<SendDtmf>(state, tenant, id, body).await
}
