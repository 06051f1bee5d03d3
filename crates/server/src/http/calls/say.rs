//! `POST /v1/calls/{id}/say`.

use serde::Deserialize;
use switchhook_core::agent::FieldError;
use switchhook_core::id::CallId;
use utoipa::ToSchema;

use super::CallResource;
use super::command::{self, CommandBody, CommandResponse};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ErrorBody;
use crate::http::extract::{PathId, UnreadBody};
use crate::http::response::WithWarnings;
use crate::store::calls::commands::CallCommand;

const MAX_TEXT: usize = 2_000;

/// Text for the agent to say.
#[derive(Deserialize, ToSchema)]
pub(super) struct Say {
    /// Text to say; at least one word.
    #[schema(min_length = 1, max_length = 2000)]
    text: String,
    /// Drop the agent's current response and speak at once, instead of after it. The agent never talks over the caller.
    #[serde(default)]
    interrupt: bool,
}

impl CommandBody for Say {
    fn command(self) -> Result<CallCommand, FieldError> {
        let text = self.text.trim();
        let wrong = |message: &str| Err(FieldError::new("text", message));
        match text {
            text if !text.contains(char::is_alphanumeric) => wrong("must contain words"),
            text if text.chars().count() > MAX_TEXT => wrong("must be at most 2000 characters"),
            text => Ok(CallCommand::Say { text: text.to_owned(), interrupt: self.interrupt }),
        }
    }
}

/// Speak in a call.
///
/// The agent says the text on a live call: the language model sees it, the transcript includes what was heard. No effect while the agent says
/// goodbye.
#[utoipa::path(
    post, path = "/calls/{id}/say", operation_id = "say_in_call", tag = "Calls", request_body = Say,
    params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The call; the agent will say it", body = WithWarnings<CallResource>),
        (status = 409, description = "The call is not in progress", body = ErrorBody),
    )
)]
pub(super) async fn say(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    body: UnreadBody,
) -> CommandResponse {
    command::submit::<Say>(state, tenant, id, body).await
}
