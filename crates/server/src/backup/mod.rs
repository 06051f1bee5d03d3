//! Copies of what a service keeps: a consistent copy of the database and, on request, of the recordings and the key file, with a manifest
//! that a restore verifies. A backup runs while the service does.

pub(crate) mod manifest;
mod postgres;
mod progress;
mod restore;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use switchhook_runtime::clock::Clock;
use switchhook_vault::Vault;

pub use self::manifest::{BackedUpDatabase, Manifest};
pub use self::progress::Progress;
pub use self::restore::{RestoreOptions, Restored, restore};

use self::manifest::{Entry, FORMAT, copy};
use self::progress::{Unfinished, on_files, watched};
use crate::config::Config;
use crate::files;
use crate::recordings::{Recordings, split_name};
use crate::store::{Dialect, Store, check_copy, inspect};

/// Names of the files in a backup.
const DATABASE: &str = "switchhook.db";
const DUMP: &str = "switchhook.dump";
const KEY: &str = "master.key";

/// The parts of a service that are backed up.
#[derive(Clone, Copy, Debug)]
pub struct BackupOptions {
    /// The database.
    pub database: bool,
    /// The recordings.
    pub recordings: bool,
    /// The key file.
    pub key: bool,
}

/// A finished backup.
#[derive(Debug, Serialize)]
pub struct Backup {
    /// The path of the backup.
    pub path: PathBuf,
    /// The kind of database in it.
    pub database: BackedUpDatabase,
    /// The version of the database's schema.
    pub schema: i64,
    /// Recordings in it.
    pub recordings: usize,
    /// Whether it contains the key file.
    pub key_file: bool,
    /// Whether the key is in the settings, and so not in the backup.
    pub key_in_settings: bool,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Backs the service up into an empty or missing folder. After an error, or when it is dropped, nothing of it is left.
///
/// # Errors
/// If the folder is not empty, or something cannot be read or written.
pub async fn make(
    config: &Config,
    folder: &Path,
    options: BackupOptions,
    progress: &Arc<Progress>,
) -> anyhow::Result<Backup> {
    must_be_empty(folder)?;
    if let Some(path) = config.database_file() {
        ensure!(path.try_exists()?, "there is no database {}: pass the --data-dir of the service", path.display());
    }
    let data_dir = config.data_dir.clone();
    ensure!(data_dir.is_dir(), "there is no folder {}: pass the --data-dir of the service", data_dir.display());
    let unfinished = Unfinished::new(folder)?;
    let mut entries = Vec::new();
    // The database first: every recording that it names is on the disk by then.
    let (database, schema) = back_up_database(config, folder, options.database, progress, &mut entries).await?;
    let (target, key_in_settings) = (folder.to_owned(), config.master_key.is_some());
    let options = BackupOptions { key: options.key && !key_in_settings, ..options };
    entries.extend(on_files(progress, move |progress| back_up_files(&data_dir, &target, options, progress)).await?);
    let key_file = entries.iter().any(|entry| entry.path == KEY);
    let recordings = entries.iter().filter(|entry| split_name(&entry.path).is_some()).count();
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let created_at = Clock::system().now();
    Manifest { format: FORMAT, version, created_at, database, schema, files: entries }.write(folder)?;
    unfinished.finish();
    Ok(Backup { path: folder.to_owned(), database, schema, recordings, key_file, key_in_settings, bytes })
}

fn must_be_empty(folder: &Path) -> anyhow::Result<()> {
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            ensure!(entries.next().is_none(), "{} is not empty: name a new or an empty folder", folder.display());
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => bail!("could not read {}: {error}", folder.display()),
    }
}

async fn back_up_database(
    config: &Config,
    folder: &Path,
    wanted: bool,
    progress: &Arc<Progress>,
    entries: &mut Vec<Entry>,
) -> anyhow::Result<(BackedUpDatabase, i64)> {
    let url = config.database_url();
    let store = Store::connect(&url).await?;
    let schema = inspect::schema(&mut store.read().await?).await?.version;
    let (kind, name) = match store.dialect() {
        _ if !wanted => {
            store.close().await;
            return Ok((BackedUpDatabase::None, schema));
        }
        Dialect::Sqlite => (BackedUpDatabase::Sqlite, DATABASE),
        Dialect::Postgres => (BackedUpDatabase::Postgres, DUMP),
    };
    let copy = folder.join(name);
    let copied = match kind {
        BackedUpDatabase::Postgres => postgres::dump(&store, &url, &copy, progress).await,
        _ => copy_sqlite(&store, &copy, progress).await,
    };
    store.close().await;
    copied?;
    entries.push(on_files(progress, move |progress| Entry::of(name, &copy, progress)).await?);
    Ok((kind, schema))
}

async fn copy_sqlite(store: &Store, copy: &Path, progress: &Arc<Progress>) -> anyhow::Result<()> {
    files::new_private_file(copy)?; // SQLite fills an empty file, and would make one that others can read.
    progress.begin("database", store.size_of_copy().await?);
    watched(store.copy_to(copy), copy, progress).await.context("could not copy the database")?;
    progress.begin("verifying", 0);
    check_copy(copy).await
}

/// Copies the key file and the recordings.
fn back_up_files(
    data_dir: &Path,
    target: &Path,
    options: BackupOptions,
    progress: &Progress,
) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let key = Vault::key_file(data_dir);
    if options.key && key.try_exists()? {
        entries.extend(copy(&key, &target.join(KEY), KEY, u64::MAX, progress)?);
    }
    let recordings = if options.recordings { Recordings::below(data_dir).to_back_up()? } else { Vec::new() };
    progress.begin("recordings", recordings.iter().filter_map(|found| Some(found.path().metadata().ok()?.len())).sum());
    for recording in recordings {
        let to = target.join(recording.name());
        files::private_folder(to.parent().unwrap_or(target))?;
        // One that is gone by now belonged to a call whose words were deleted.
        entries.extend(copy(recording.path(), &to, recording.name(), u64::MAX, progress)?);
    }
    Ok(entries)
}
