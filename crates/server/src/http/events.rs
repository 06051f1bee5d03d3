//! `GET /v1/events`: the events of all calls of a tenant, as a list or as they happen.

mod feed;

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::HeaderMap;
use axum::response::sse;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use switchhook_core::Timestamp;
use tokio::sync::broadcast;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

pub(super) use self::feed::Feeds;
use super::HttpState;
use super::accept::prefers_stream;
use super::auth::Tenant;
use super::calls::followers::{self, FollowerPlace};
use super::error::{ApiError, CommonErrors};
use super::response::List;
use crate::store::events::{self, EventRow};
use crate::store::page::PageRequest;

/// How far back a stream can be resumed.
const RESUMABLE_FOR: Duration = Duration::from_secs(24 * 3600);
/// How often a stream checks whether it may continue.
const ACCESS_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Events read at once.
const BATCH: i64 = 500;

/// The routes below `/v1`.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(stream_events))
}

/// List events.
///
/// Lists those of all calls, newest first. `Accept: text/event-stream` streams, as `/stream` does.
#[utoipa::path(
    get, path = "/events", operation_id = "list_events", tag = "Calls", security(("api_key" = []), ("event_token" = [])), params(
        PageRequest,
        ("Last-Event-ID" = Option<String>, Header, description = "For streams: last `id` seen", nullable = false),
    ),
    responses(
        (status = 200, description = "A page of events", content((List<EventRow> = "application/json"), (EventRow = "text/event-stream"))),
        CommonErrors,
    )
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest, headers: HeaderMap) -> Result<Response, ApiError> {
    if prefers_stream(&headers) {
        return stream_events(state, tenant, headers).await;
    }
    let mut conn = state.store.read().await?;
    let page = events::before(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, |event| event)).into_response())
}

/// Stream events.
///
/// Sends those of all calls as they happen. Starts now, or after a `Last-Event-ID` up to a day old. Ignore known `id`s: events can repeat
/// around a reconnect and in the first seconds. Ends when the key or session stops working, the service stops, or the client reads too slowly.
/// Limits per node: 32 streams per tenant, 24 of them for sessions and event tokens, 8 per person or token; more get 429.
#[utoipa::path(
    get, path = "/events/stream", operation_id = "stream_events", tag = "Calls", security(("api_key" = []), ("event_token" = [])), params(
        ("Last-Event-ID" = Option<String>, Header, description = "Last `id` seen", nullable = false),
    ),
    responses(
        (status = 200, description = "Server-sent events, each with one event in `data`", body = EventRow, content_type = "text/event-stream"),
        CommonErrors,
    )
)]
async fn stream_events(state: HttpState, tenant: Tenant, headers: HeaderMap) -> Result<Response, ApiError> {
    let now = state.clock.now();
    let start = start(followers::last_event_id(&headers), now)?;
    let place = state.followers.join(tenant.id, tenant.actor)?;
    let feed = state.feeds.subscribe(&state, tenant.id);
    let follower = TenantFollower {
        state,
        tenant,
        feed,
        behind: Some(start),
        known: HashSet::new(),
        pending: VecDeque::new(),
        checked: Instant::now(),
        _place: place,
    };
    Ok(followers::stream(follow(follower)))
}

/// The id after which a stream starts.
fn start(last: Option<&str>, now: Timestamp) -> Result<Uuid, ApiError> {
    let Some(last) = last else { return Ok(feed::overlapping(now)) };
    let wrong = |message: &str| ApiError::invalid_field("Last-Event-ID", message);
    let id: Uuid = last.parse().map_err(|_| wrong("must be the id of an event"))?;
    let at = feed::time_of(id).ok_or_else(|| wrong("must be the id of an event"))?;
    if at + RESUMABLE_FOR < now {
        return Err(wrong("must be at most a day old: read the list of calls instead"));
    }
    Ok(feed::overlapping(at.min(now)))
}

/// A stream of a tenant's events.
struct TenantFollower {
    state: HttpState,
    tenant: Tenant,
    feed: broadcast::Receiver<Arc<EventRow>>,
    /// The id after which events are still to be read, before the feed is listened to.
    behind: Option<Uuid>,
    /// Events that were read and that the feed may bring too.
    known: HashSet<Uuid>,
    pending: VecDeque<Arc<EventRow>>,
    /// When the key or session was last checked.
    checked: Instant,
    _place: FollowerPlace,
}

fn follow(follower: TenantFollower) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(follower, async move |mut follower| {
        let event = follower.next().await?;
        let message = sse::Event::default().id(event.id.to_string()).event(event.event.clone());
        Some((Ok(message.json_data(&*event).ok()?), follower))
    })
}

impl TenantFollower {
    /// Waits for the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Arc<EventRow>> {
        loop {
            // Events that wait for a slow reader must not be sent either once it has lost access.
            if !followers::still_allowed(&self.state, self.tenant, &mut self.checked).await {
                return None;
            }
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.state.draining.started() {
                return None;
            }
            if let Some(after) = self.behind {
                let mut conn = self.state.store.read().await.ok()?;
                let rows = events::after(&mut conn, self.tenant.id, after, BATCH).await.ok()?;
                let full = rows.len() >= usize::try_from(BATCH).unwrap_or(usize::MAX);
                self.behind = rows.last().map(|event| event.id).filter(|_| full);
                self.known.extend(rows.iter().map(|event| event.id));
                self.pending.extend(feed::in_order(rows).into_iter().map(Arc::new));
                continue;
            }
            match tokio::time::timeout(ACCESS_CHECK_INTERVAL, self.feed.recv()).await {
                Ok(Ok(event)) if self.known.remove(&event.id) => {}
                Ok(Ok(event)) => return Some(event),
                // It reads too slowly, or the feed has lost the database: the client comes back with the last id.
                Ok(Err(_)) => return None,
                Err(_) => {}
            }
        }
    }
}
