//! `GET /v1/calls/{id}/events`: the events so far, or with `Accept: text/event-stream` as they happen.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use switchhook_core::id::CallId;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::followers::{self, FollowerPlace};
use crate::http::HttpState;
use crate::http::accept::prefers_stream;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::PathId;
use crate::store::events::EventRow;
use crate::store::{calls, events};

/// Poll interval for new events without a wakeup, as for calls on other nodes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two polls, however many wakeups arrive.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// More events than a call ever has.
const ALL: i64 = 1_000;

/// Events of a call.
#[derive(Serialize, ToSchema)]
pub(super) struct Events {
    /// The events, in order.
    pub data: Vec<EventRow>,
}

/// List a call's events.
///
/// `Accept: text/event-stream` streams, as `/stream` does.
#[utoipa::path(
    get, path = "/calls/{id}/events", operation_id = "list_call_events", tag = "Calls", security(("api_key" = []), ("event_token" = [])), params(
        ("id" = uuid::Uuid, Path, description = "The call"),
        ("Last-Event-ID" = Option<String>, Header, description = "For streams: last `id` seen", example = "3", nullable = false),
    ),
    responses(
        (status = 200, description = "The events", content((Events = "application/json"), (EventRow = "text/event-stream"))),
        (status = 204, description = "Stream resumed after its last event"),
    )
)]
pub(super) async fn events(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if prefers_stream(&headers) {
        return stream_events(state, tenant, PathId(id), headers).await;
    }
    let mut conn = state.store.read().await?;
    calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    Ok(Json(Events { data: events::list(&mut conn, tenant.id, id, 0, ALL).await? }).into_response())
}

/// Stream a call's events.
///
/// Ends with the call, or when the key stops working or the service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
#[utoipa::path(
    get, path = "/calls/{id}/events/stream", operation_id = "stream_call_events", tag = "Calls",
    security(("api_key" = []), ("event_token" = [])), params(
        ("id" = uuid::Uuid, Path, description = "The call"),
        ("Last-Event-ID" = Option<String>, Header, description = "Last `id` seen", example = "3", nullable = false),
    ),
    responses(
        (status = 200, description = "Server-sent events, each with one event in `data`", body = EventRow, content_type = "text/event-stream"),
        (status = 204, description = "Stream resumed after its last event"),
    )
)]
pub(super) async fn stream_events(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut conn = state.store.read().await?;
    let row = calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    drop(conn);
    let seen = followers::last_event_id(&headers).and_then(|id| id.parse().ok()).unwrap_or(0);
    if row.status()?.is_terminal() && seen >= row.event_count {
        // This status stops an EventSource from reconnecting.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let place = state.followers.join(tenant.id, tenant.actor)?;
    let checked = Instant::now();
    let follower = CallFollower { state, tenant, call: id, seen, ended: false, checked, _place: place };
    Ok(followers::stream(follow(follower)))
}

/// An event stream of a call.
struct CallFollower {
    state: HttpState,
    tenant: Tenant,
    call: CallId,
    /// The sequence of the last event sent.
    seen: i64,
    ended: bool,
    /// When the key or session was last checked.
    checked: Instant,
    _place: FollowerPlace,
}

/// Streams events after `seen` as they are committed, until the last one, until the key stops working, or until the service
/// stops; a client that resumes with `Last-Event-ID` misses nothing. Reads the database, so any node can serve any call;
/// wakeups only reduce the delay.
fn follow(follower: CallFollower) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(follower, async move |mut follower| {
        let event = follower.next().await?;
        let message = sse::Event::default().id(event.sequence.to_string()).event(event.event.clone());
        let message = message.json_data(&event).ok()?;
        Some((Ok(message), follower))
    })
}

impl CallFollower {
    /// Waits for the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<EventRow> {
        let wakeups = self.state.wakeups.webhooks.clone();
        while !self.ended && !self.state.draining.started() {
            let wakeup = wakeups.followed(); // Registered before the query, so that no event is missed in between.
            if !followers::still_allowed(&self.state, self.tenant, &mut self.checked).await {
                return None;
            }
            let mut conn = self.state.store.read().await.ok()?;
            let found = events::list(&mut conn, self.tenant.id, self.call, self.seen, 1).await.ok()?.pop();
            drop(conn);
            if let Some(event) = found {
                (self.seen, self.ended) = (event.sequence, event.is_terminal());
                return Some(event);
            }
            tokio::time::sleep(MIN_POLL_INTERVAL).await;
            let _ = tokio::time::timeout(POLL_INTERVAL - MIN_POLL_INTERVAL, wakeup).await; // A timeout also means: poll.
        }
        None
    }
}
