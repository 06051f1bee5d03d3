//! `GET /v1/calls/{id}/transcript`: what was said so far, or with `Accept: text/event-stream` as it is said.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use switchhook_core::call::Status;
use switchhook_core::id::CallId;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::followers::{self, FollowerPlace};
use crate::http::HttpState;
use crate::http::accept::prefers_stream;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, TranscriptEntry, turn};

/// How often a stream polls for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// The transcript of a call.
#[derive(Serialize, ToSchema)]
pub(super) struct Transcript {
    /// Lines, in the order they were completed.
    pub data: Vec<TranscriptEntry>,
    /// Tool calls, in the order they ended.
    pub tool_calls: Vec<ToolCallEntry>,
}

/// The `data` of what the stream sends, by its event: `line`, `tool_call`, `end`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum TranscriptItem {
    Line(TranscriptEntry),
    ToolCall(ToolCallEntry),
    End(TranscriptEnd),
}

/// The end of a call.
#[derive(Serialize, ToSchema)]
struct TranscriptEnd {
    /// The call's status.
    #[schema(value_type = Status)]
    status: String,
}

impl TranscriptItem {
    /// The name of its event.
    fn event(&self) -> &'static str {
        match self {
            Self::Line(_) => "line",
            Self::ToolCall(_) => "tool_call",
            Self::End(_) => "end",
        }
    }
}

/// Get a transcript.
///
/// Returns what was said, up to now for a live call. Agent lines contain only what the caller heard. `Accept: text/event-stream` streams, as
/// `/stream` does.
#[utoipa::path(
    get, path = "/calls/{id}/transcript", operation_id = "show_transcript", tag = "Calls", security(("api_key" = []), ("event_token" = [])), params(
        ("id" = uuid::Uuid, Path, description = "The call"),
        ("Last-Event-ID" = Option<String>, Header, description = "For streams: last `id` seen", example = "3.1", nullable = false),
    ),
    responses(
        (status = 200, description = "The transcript", content((Transcript = "application/json"), (TranscriptItem = "text/event-stream"))),
        (status = 204, description = "Stream resumed after its end"),
        NotFound,
        CommonErrors,
    )
)]
pub(super) async fn transcript(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if prefers_stream(&headers) {
        return stream_transcript(state, tenant, PathId(id), headers).await;
    }
    let mut conn = state.store.read().await?;
    calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    let mut data = calls::transcript(&mut conn, tenant.id, id, 0).await?;
    turn::explain(&mut conn, tenant.id, id, &mut data).await?;
    let tool_calls = tool_calls::list(&mut conn, tenant.id, id, 0).await?;
    Ok(Json(Transcript { data, tool_calls }).into_response())
}

/// Stream a transcript.
///
/// Sends lines and tool calls as they are written, then `end` with the call's status. Also ends when the key or session stops working or the
/// service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
#[utoipa::path(
    get, path = "/calls/{id}/transcript/stream", operation_id = "stream_transcript", tag = "Calls",
    security(("api_key" = []), ("event_token" = [])), params(
        ("id" = uuid::Uuid, Path, description = "The call"),
        ("Last-Event-ID" = Option<String>, Header, description = "Last `id` seen", example = "3.1", nullable = false),
    ),
    responses(
        (status = 200, description = "Server-sent events `line`, `tool_call` and `end`, each with its item in `data`",
            body = TranscriptItem, content_type = "text/event-stream"),
        (status = 204, description = "Stream resumed after its end"),
        NotFound,
        CommonErrors,
    )
)]
pub(super) async fn stream_transcript(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut conn = state.store.read().await?;
    calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    drop(conn);
    let seen = Seen::resumed(followers::last_event_id(&headers));
    if seen.ended {
        // This status stops an EventSource from reconnecting.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let place = state.followers.join(tenant.id, tenant.actor)?;
    let reader =
        Reader { state, tenant, call: id, seen, pending: VecDeque::new(), checked: Instant::now(), _place: place };
    Ok(followers::stream(follow(reader)))
}

/// The lines that a reader has been sent.
#[derive(Clone, Copy, Default)]
struct Seen {
    lines: i64,
    tools: i64,
    ended: bool,
}

impl Seen {
    fn resumed(id: Option<&str>) -> Self {
        let Some(id) = id else { return Self::default() };
        if id == "end" {
            return Self { ended: true, ..Self::default() };
        }
        let number = |text: &str| text.parse().ok().filter(|number: &i64| *number >= 0);
        let both = id.split_once('.').and_then(|(lines, tools)| Some((number(lines)?, number(tools)?)));
        let (lines, tools) = both.unwrap_or_default();
        Self { lines, tools, ended: false }
    }

    fn id(self) -> String {
        if self.ended { "end".to_owned() } else { format!("{}.{}", self.lines, self.tools) }
    }
}

/// A stream of a call's transcript.
struct Reader {
    state: HttpState,
    tenant: Tenant,
    call: CallId,
    seen: Seen,
    pending: VecDeque<sse::Event>,
    /// When the key or session was last checked.
    checked: Instant,
    _place: FollowerPlace,
}

/// Reads the database, so any node can serve any call.
fn follow(reader: Reader) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(reader, async move |mut reader| Some((Ok(reader.next().await?), reader)))
}

impl Reader {
    /// Waits for the next message; `None` at the end of the stream.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            // Lines that wait for a slow reader must not be sent either once it has lost access.
            if !followers::still_allowed(&self.state, self.tenant, &mut self.checked).await {
                return None;
            }
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.seen.ended || self.state.draining.started() {
                return None;
            }
            self.look().await?;
            if self.pending.is_empty() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// Reads what is new; `None` if the database fails.
    async fn look(&mut self) -> Option<()> {
        let mut conn = self.state.store.read().await.ok()?;
        // The status first: what was said is written before the call ends.
        let call = calls::get(&mut conn, self.tenant.id, self.call).await.ok()??;
        let mut lines = calls::transcript(&mut conn, self.tenant.id, self.call, self.seen.lines).await.ok()?;
        turn::explain(&mut conn, self.tenant.id, self.call, &mut lines).await.ok()?;
        let tools = tool_calls::list(&mut conn, self.tenant.id, self.call, self.seen.tools).await.ok()?;
        drop(conn);
        for line in lines {
            self.seen.lines += 1;
            self.push(&TranscriptItem::Line(line))?;
        }
        for tool in tools {
            self.seen.tools += 1;
            self.push(&TranscriptItem::ToolCall(tool))?;
        }
        if call.status().ok()?.is_terminal() {
            self.seen.ended = true;
            self.push(&TranscriptItem::End(TranscriptEnd { status: call.status.clone() }))?;
        }
        Some(())
    }

    fn push(&mut self, item: &TranscriptItem) -> Option<()> {
        let message = sse::Event::default().id(self.seen.id()).event(item.event()).json_data(item).ok()?;
        self.pending.push_back(message);
        Some(())
    }
}
