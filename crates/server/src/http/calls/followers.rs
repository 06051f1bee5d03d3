//! Limits streams, and listeners to calls: each holds a connection and looks into the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use switchhook_core::id::TenantId;
use tokio::time::Instant;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;

/// Maximum streams per tenant and node.
const MAX_STREAMS: usize = 32;
/// How often a stream's API key or session is checked.
pub(in crate::http) const RECHECK: Duration = Duration::from_secs(2);

/// Whether the client asks for a stream.
pub(in crate::http) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepts.contains("text/event-stream")
}

/// The last event that a resuming client has seen.
pub(in crate::http) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    sent.map(str::trim).filter(|id| !id.is_empty())
}

/// Whether a stream may go on: its key or session still works. `checked` is when that was last looked up.
pub(in crate::http) async fn still_allowed(state: &HttpState, tenant: Tenant, checked: &mut Instant) -> bool {
    if checked.elapsed() < RECHECK {
        return true;
    }
    let Ok(mut conn) = state.store.read().await else { return false };
    *checked = Instant::now();
    tenant.is_still_admitted(state, &mut conn).await.unwrap_or(false)
}

/// Streams per tenant on this node. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Followers(Arc<Mutex<HashMap<TenantId, usize>>>);

/// A stream's slot, released when dropped.
#[derive(Debug)]
pub(in crate::http) struct FollowerPlace {
    followers: Followers,
    tenant: TenantId,
}

impl Followers {
    /// Takes a slot.
    ///
    /// # Errors
    /// 429 if the tenant already has [`MAX_STREAMS`].
    pub(in crate::http) fn join(&self, tenant: TenantId) -> Result<FollowerPlace, ApiError> {
        let mut counts = self.counts();
        let count = counts.entry(tenant).or_default();
        if *count >= MAX_STREAMS {
            let detail = format!(
                "Concurrent stream limit reached: {MAX_STREAMS} of {MAX_STREAMS} in use. Close one of them first."
            );
            return Err(ApiError::too_many("too_many_streams", detail, 1));
        }
        *count += 1;
        Ok(FollowerPlace { followers: self.clone(), tenant })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<TenantId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FollowerPlace {
    fn drop(&mut self) {
        let mut counts = self.followers.counts();
        if let Some(count) = counts.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.tenant);
            }
        }
    }
}
