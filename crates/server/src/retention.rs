//! Deletes the words of calls at the end of their retention, and recordings of deleted calls.
//!
//! Rows are erased first, in small transactions, then recordings. Crashes in between and recordings on other nodes' disks are
//! handled by polling: every node looks up recently erased calls, and from time to time checks its whole disk.

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use uuid::Uuid;

use crate::recordings::{self, Recordings, StoredRecording};
use crate::store::{Store, retention};

/// Recordings per query.
const BATCH: usize = 200;

/// The retention of calls: their rows, and their recordings on this node's disk.
pub struct Retention {
    store: Store,
    recordings: Recordings,
}

impl Retention {
    /// Creates the retention of the calls in `store`.
    #[must_use]
    pub fn new(store: Store, recordings: Recordings) -> Self {
        Self { store, recordings }
    }

    /// Erases the words of every call past its retention; returns their number.
    ///
    /// # Errors
    /// When the database fails. Earlier batches stay erased.
    pub async fn erase_expired(&self, now: Timestamp) -> Result<usize, sqlx::Error> {
        let mut calls = 0;
        loop {
            let mut tx = self.store.begin().await?;
            let erased = retention::erase_calls_for_housekeeping(&mut tx, now).await?;
            tx.commit().await?;
            if erased.is_empty() {
                break;
            }
            calls += erased.len();
            recordings::remove(erased.iter().map(|call| self.recordings.of(call.tenant_id, call.id)).collect()).await;
        }
        loop {
            let mut tx = self.store.begin().await?;
            let erased = retention::erase_deliveries_for_housekeeping(&mut tx).await?;
            tx.commit().await?;
            if erased == 0 {
                return Ok(calls);
            }
        }
    }

    /// Removes the recordings of calls that any node erased after `since`.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn remove_erased(&self, since: Timestamp) -> Result<(), sqlx::Error> {
        let erased = retention::erased_since_for_housekeeping(&mut self.store.read().await?, since).await?;
        recordings::remove(erased.iter().map(|(tenant, call)| self.recordings.of(*tenant, *call)).collect()).await;
        Ok(())
    }

    /// Removes the recordings of some calls of a tenant.
    pub async fn remove_recordings(&self, tenant: TenantId, calls: &[Uuid]) {
        recordings::remove(calls.iter().map(|call| self.recordings.of(tenant.uuid(), *call)).collect()).await;
    }

    /// Scans the disk and removes recordings whose calls have been erased, and, if `deleted_before` is set, older ones whose calls
    /// no longer exist. Keeps other recordings without a call, because the database may be another one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sweep(&self, deleted_before: Option<Timestamp>) -> Result<(), sqlx::Error> {
        let stored = self.recordings.stored().await;
        for batch in stored.chunks(BATCH) {
            let ids: Vec<_> = batch.iter().map(|stored| stored.call).collect();
            let known = retention::known_for_housekeeping(&mut self.store.read().await?, &ids).await?;
            let gone = |stored: &&StoredRecording| match known.iter().find(|call| call.id == stored.call) {
                Some(call) => call.erased,
                None => deleted_before.is_some_and(|before| stored.modified < before),
            };
            recordings::remove(batch.iter().filter(gone).map(|stored| stored.recording.clone()).collect()).await;
        }
        Ok(())
    }
}
