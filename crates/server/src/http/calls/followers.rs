//! Limits event streams: each holds a connection and polls the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchhook_core::id::TenantId;

use crate::http::error::ApiError;

/// Maximum streams per tenant and node.
pub(super) const MAX_STREAMS: usize = 32;

/// Streams per tenant on this node. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Followers(Arc<Mutex<HashMap<TenantId, usize>>>);

/// A stream's slot, released when dropped.
#[derive(Debug)]
pub(super) struct Place {
    followers: Followers,
    tenant: TenantId,
}

impl Followers {
    /// Takes a slot.
    ///
    /// # Errors
    /// 429 if the tenant already has [`MAX_STREAMS`].
    pub(super) fn join(&self, tenant: TenantId) -> Result<Place, ApiError> {
        let mut counts = self.counts();
        let count = counts.entry(tenant).or_default();
        if *count >= MAX_STREAMS {
            let detail = format!(
                "Concurrent stream limit reached: {MAX_STREAMS} of {MAX_STREAMS} in use. Close one of them first."
            );
            return Err(ApiError::too_many("too_many_streams", detail, 1));
        }
        *count += 1;
        Ok(Place { followers: self.clone(), tenant })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<TenantId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
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
