//! Opens and limits streams, and limits listeners to calls: each holds a connection and looks into the database.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::Stream;
use switchhook_core::id::TenantId;
use tokio::time::Instant;

use crate::http::HttpState;
use crate::http::auth::{Actor, Tenant};
use crate::http::error::ApiError;

/// Maximum streams per tenant and node.
const MAX_STREAMS: usize = 32;
/// Of these, streams of people and of pages with event tokens together: programs keep the rest.
const MAX_STREAMS_OF_GUESTS: usize = 24;
/// The number of those per person or token: as many pages as a person looks at.
const MAX_STREAMS_OF_GUEST: usize = 8;
/// How often a stream's API key or session is checked. Streams check up to a second later, and end within three.
pub(in crate::http) const ACCESS_CHECK_INTERVAL: Duration = Duration::from_millis(1_500);

/// With `no`, nginx and proxies like it forward a response as it arrives, whatever they are configured to buffer.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Returns the response that streams these events.
pub(in crate::http) fn stream(events: impl Stream<Item = Result<sse::Event, Infallible>> + Send + 'static) -> Response {
    ([(BUFFERING, "no")], Sse::new(events).keep_alive(KeepAlive::default())).into_response()
}

/// The last event that a resuming client has seen.
pub(in crate::http) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    sent.map(str::trim).filter(|id| !id.is_empty())
}

/// Returns whether a stream may continue: its key or session is still valid. `checked` is when that was last checked.
pub(in crate::http) async fn still_allowed(state: &HttpState, tenant: Tenant, checked: &mut Instant) -> bool {
    if checked.elapsed() < ACCESS_CHECK_INTERVAL {
        return true;
    }
    let Ok(mut conn) = state.store.read().await else { return false };
    *checked = Instant::now();
    tenant.is_still_admitted(state, &mut conn).await.unwrap_or(false)
}

/// Streams per tenant on this node. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Followers(Arc<Mutex<HashMap<TenantId, Streams>>>);

/// The streams of a tenant, by caller.
#[derive(Debug, Default)]
struct Streams(HashMap<Actor, usize>);

/// A stream's slot, released when dropped.
#[derive(Debug)]
pub(in crate::http) struct FollowerPlace {
    followers: Followers,
    tenant: TenantId,
    actor: Actor,
}

impl Followers {
    /// Takes a slot.
    ///
    /// # Errors
    /// 429 if the tenant, its people and pages together, or the person or page have as many as they may.
    pub(in crate::http) fn join(&self, tenant: TenantId, actor: Actor) -> Result<FollowerPlace, ApiError> {
        let mut tenants = self.tenants();
        let streams = tenants.entry(tenant).or_default();
        streams.check(actor)?;
        *streams.0.entry(actor).or_default() += 1;
        Ok(FollowerPlace { followers: self.clone(), tenant, actor })
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, Streams>> {
        // Whole at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    fn of(&self, actor: Actor) -> usize {
        self.0.get(&actor).copied().unwrap_or_default()
    }

    fn check(&self, actor: Actor) -> Result<(), ApiError> {
        let all: usize = self.0.values().sum();
        if all >= MAX_STREAMS {
            return Err(too_many(MAX_STREAMS, "of this tenant"));
        }
        if actor == Actor::Program {
            return Ok(());
        }
        if all - self.of(Actor::Program) >= MAX_STREAMS_OF_GUESTS {
            return Err(too_many(MAX_STREAMS_OF_GUESTS, "of sessions and event tokens"));
        }
        if self.of(actor) >= MAX_STREAMS_OF_GUEST {
            return Err(too_many(MAX_STREAMS_OF_GUEST, "of one person or event token"));
        }
        Ok(())
    }
}

fn too_many(limit: usize, whose: &str) -> ApiError {
    let detail =
        format!("Concurrent stream limit reached: {limit} of {limit} streams {whose} in use. Close one of them first.");
    ApiError::too_many("too_many_streams", detail, 1)
}

impl Drop for FollowerPlace {
    fn drop(&mut self) {
        let mut tenants = self.followers.tenants();
        let Some(streams) = tenants.get_mut(&self.tenant) else { return };
        if let Some(own) = streams.0.get_mut(&self.actor) {
            *own -= 1;
        }
        streams.0.retain(|_, own| *own > 0);
        if streams.0.is_empty() {
            tenants.remove(&self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use switchhook_core::Timestamp;
    use switchhook_core::id::PersonId;

    use super::*;

    fn person(number: u8) -> Actor {
        Actor::Person(PersonId::new(Timestamp::from_micros(0), [number; 10]))
    }

    fn tenant(number: u8) -> TenantId {
        TenantId::new(Timestamp::from_micros(0), [number; 10])
    }

    /// The slots that are given before one is refused.
    fn fill(followers: &Followers, tenant: TenantId, actor: Actor) -> Vec<FollowerPlace> {
        std::iter::from_fn(|| followers.join(tenant, actor).ok()).collect()
    }

    #[test]
    fn neither_people_nor_pages_take_the_streams_of_programs() {
        let followers = Followers::default();
        let guests = [person(1), Actor::Page([1; 32]), person(2), Actor::Page([2; 32]), person(3)];
        let guests = guests.map(|guest| fill(&followers, tenant(1), guest));
        assert_eq!(guests.each_ref().map(Vec::len), [8, 8, 8, 0, 0]);
        let programs = fill(&followers, tenant(1), Actor::Program);
        assert_eq!(programs.len(), 8, "kept for them");
        assert_eq!(fill(&followers, tenant(2), person(9)).len(), 8, "of another tenant");
        drop((guests, programs));
        assert!(followers.tenants().is_empty(), "nothing is left of those who have gone");
        assert_eq!(fill(&followers, tenant(1), Actor::Program).len(), 32, "without guests all are theirs");
    }
}
