//! `GET /v1/calls/{id}/events`: the events so far, or with `Accept: text/event-stream` as they happen.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use switchhook_core::id::{CallId, TenantId};
use utoipa::ToSchema;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, CommonErrors, NotFound};
use crate::http::extract::PathId;
use crate::store::events::EventRow;
use crate::store::{calls, events};

/// How often a follower looks for new events.
const LOOK: Duration = Duration::from_millis(200);
/// More events than a call ever has.
const ALL: i64 = 1_000;

/// What happened to a call.
#[derive(Serialize, ToSchema)]
pub(super) struct Events {
    /// In their order.
    pub data: Vec<EventRow>,
}

/// Shows what happened to a call. With `Accept: text/event-stream` it follows until the call has ended.
#[utoipa::path(
    get, path = "/calls/{id}/events", tag = "Calls", params(("id" = uuid::Uuid, Path, description = "The call")),
    responses(
        (status = 200, description = "The events", content((Events = "application/json"), (String = "text/event-stream"))),
        (status = 204, description = "A follower came again after the last event"),
        NotFound,
        CommonErrors,
    )
)]
pub(super) async fn events(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut conn = state.store.read().await?;
    let row = calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/event-stream") {
        drop(conn);
        let seen = last_event_id(&headers);
        if row.status()?.is_terminal() && seen >= row.event_count {
            // The answer that ends an EventSource's attempts to connect again.
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        return Ok(Sse::new(follow(state, tenant.id, id, seen)).keep_alive(KeepAlive::default()).into_response());
    }
    Ok(Json(Events { data: events::list(&mut conn, tenant.id, id, 0, ALL).await? }).into_response())
}

/// The last event that a follower who comes again has seen.
fn last_event_id(headers: &HeaderMap) -> i64 {
    let sent = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    sent.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Events after `seen` as they are committed, until the last one or until the service stops; whoever comes again with
/// `Last-Event-ID` misses nothing. The rows are looked at, so it does not matter which node the call is on.
fn follow(
    state: HttpState,
    tenant: TenantId,
    id: CallId,
    seen: i64,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let start = (state, seen, false);
    stream::unfold(start, move |(state, seen, ended)| async move {
        if ended {
            return None;
        }
        loop {
            let mut conn = state.store.read().await.ok()?;
            let next = events::list(&mut conn, tenant, id, seen, 1).await.ok()?.pop();
            drop(conn);
            if let Some(event) = next {
                let (sequence, ended) = (event.sequence, event.is_terminal());
                let message = sse::Event::default().id(sequence.to_string()).event(event.event.clone());
                let message = message.json_data(&event).ok()?;
                return Some((Ok(message), (state, sequence, ended)));
            }
            if state.draining.started() {
                return None;
            }
            tokio::time::sleep(LOOK).await;
        }
    })
}
