//! Deletes the words of calls that have been kept as long as their agents said.
//!
//! The rows go first, in small transactions, then the recording. A process that dies in between, and another node on whose
//! disk a recording lies, are no matter: every node looks from time to time whether its disk holds recordings of calls
//! that have been erased. Any number of nodes may do this at once.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use switchhook_core::Timestamp;
use uuid::Uuid;

use crate::store::{Store, retention};

/// Below the data directory: `recordings/<tenant>/<call>.wav`.
pub const RECORDINGS: &str = "recordings";
/// Recordings looked up at once.
const BATCH: usize = 200;

/// Erases every call whose time has come by now; how many there were.
///
/// # Errors
/// When the database fails. What was erased until then stays so.
pub async fn erase_expired(store: &Store, data_dir: &Path, now: Timestamp) -> Result<usize, sqlx::Error> {
    let mut calls = 0;
    loop {
        let mut tx = store.begin().await?;
        let erased = retention::erase_calls_for_housekeeping(&mut tx, now).await?;
        tx.commit().await?;
        if erased.is_empty() {
            break;
        }
        calls += erased.len();
        let folder = data_dir.join(RECORDINGS);
        let files = erased.iter().map(|call| folder.join(call.tenant_id.to_string()).join(format!("{}.wav", call.id)));
        remove(files.collect()).await;
    }
    loop {
        let mut tx = store.begin().await?;
        let erased = retention::erase_deliveries_for_housekeeping(&mut tx).await?;
        tx.commit().await?;
        if erased == 0 {
            return Ok(calls);
        }
    }
}

/// Removes recordings on this node's disk whose calls have been erased, here or elsewhere.
///
/// # Errors
/// When the database fails.
pub async fn sweep_disk(store: &Store, data_dir: &Path) -> Result<(), sqlx::Error> {
    let folder = data_dir.join(RECORDINGS);
    let recordings = tokio::task::spawn_blocking(move || recordings(&folder)).await.unwrap_or_default();
    for batch in recordings.chunks(BATCH) {
        let ids: Vec<_> = batch.iter().map(|(id, _)| *id).collect();
        let erased = retention::erased_for_housekeeping(&mut store.read().await?, &ids).await?;
        remove(batch.iter().filter(|(id, _)| erased.contains(id)).map(|(_, path)| path.clone()).collect()).await;
    }
    Ok(())
}

/// Every recording in the folder of recordings, by its call.
fn recordings(folder: &Path) -> Vec<(Uuid, PathBuf)> {
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let call = |path: &Path| path.file_stem()?.to_str()?.parse().ok();
    files(folder).flat_map(|tenant| files(&tenant)).filter_map(|path| Some((call(&path)?, path))).collect()
}

async fn remove(files: Vec<PathBuf>) {
    let removing = tokio::task::spawn_blocking(move || {
        for file in files {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    tracing::error!(%error, "a recording could not be deleted; trying again within the hour");
                }
                _ => {}
            }
        }
    });
    if removing.await.is_err() {
        tracing::error!("recordings could not be deleted; trying again within the hour");
    }
}
