//! Deletes the words of calls at the end of their retention, and recordings of deleted calls.
//!
//! Rows are erased first, in small transactions, then recordings. Crashes in between and recordings on other nodes' disks are
//! handled by polling: every node looks up recently erased calls, and from time to time checks its whole disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use uuid::Uuid;

use crate::store::{Store, retention};

/// The folder of all recordings below the data directory.
pub const RECORDINGS: &str = "recordings";
/// Returns the path of a call's recording below the data directory.
#[must_use]
pub fn recording_name(tenant: Uuid, call: Uuid) -> String {
    format!("{RECORDINGS}/{tenant}/{call}.wav")
}

/// Recordings per query.
const BATCH: usize = 200;

/// The recordings on this node's disk and the rows of their calls.
pub struct Recordings {
    store: Store,
    folder: PathBuf,
}

/// A recording on the disk.
struct RecordingFile {
    call: Uuid,
    path: PathBuf,
    /// When it was last modified.
    modified: Timestamp,
}

impl Recordings {
    /// Creates a handle to the recordings below `data_dir`.
    #[must_use]
    pub fn new(store: Store, data_dir: &Path) -> Self {
        Self { store, folder: data_dir.join(RECORDINGS) }
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
            remove(erased.iter().map(|call| self.path(call.tenant_id, call.id)).collect()).await;
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
        remove(erased.iter().map(|(tenant, call)| self.path(*tenant, *call)).collect()).await;
        Ok(())
    }

    /// Removes the recordings of some calls of a tenant.
    pub async fn remove(&self, tenant: TenantId, calls: &[Uuid]) {
        remove(calls.iter().map(|call| self.path(tenant.uuid(), *call)).collect()).await;
    }

    /// Scans the disk and removes recordings whose calls have been erased, and, if `deleted_before` is set, older ones whose calls
    /// no longer exist. Keeps other recordings without a call, because the database may be another one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sweep(&self, deleted_before: Option<Timestamp>) -> Result<(), sqlx::Error> {
        let folder = self.folder.clone();
        let recordings = tokio::task::spawn_blocking(move || recordings(&folder)).await.unwrap_or_default();
        for batch in recordings.chunks(BATCH) {
            let ids: Vec<_> = batch.iter().map(|recording| recording.call).collect();
            let known = retention::known_for_housekeeping(&mut self.store.read().await?, &ids).await?;
            let gone = |recording: &&RecordingFile| match known.iter().find(|call| call.id == recording.call) {
                Some(call) => call.erased,
                None => deleted_before.is_some_and(|before| recording.modified < before),
            };
            remove(batch.iter().filter(gone).map(|recording| recording.path.clone()).collect()).await;
        }
        Ok(())
    }

    fn path(&self, tenant: Uuid, call: Uuid) -> PathBuf {
        self.folder.join(tenant.to_string()).join(format!("{call}.wav"))
    }
}

/// Lists every recording on the disk.
fn recordings(folder: &Path) -> Vec<RecordingFile> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let recording = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let call = path.file_stem()?.to_str()?.parse().ok()?;
        let modified = entry.metadata().ok()?.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let modified = Timestamp::from_micros(i64::try_from(modified.as_micros()).ok()?);
        Some(RecordingFile { call, path, modified })
    };
    entries(folder).flat_map(|tenant| entries(&tenant.path())).filter_map(recording).collect()
}

async fn remove(files: Vec<PathBuf>) {
    let removing = tokio::task::spawn_blocking(move || {
        for file in files {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    tracing::error!(%error, "could not delete a recording; retrying within a day");
                }
                _ => {}
            }
        }
    });
    if removing.await.is_err() {
        tracing::error!("could not delete recordings; retrying within a day");
    }
}
