//! Copies of what a service keeps: a consistent copy of the database, the recordings and the key file, with a manifest that a restore
//! verifies. A backup runs while the service does.

pub(crate) mod manifest;
mod restore;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use switchhook_runtime::clock::Clock;
use switchhook_vault::Vault;

pub use self::manifest::{BackedUpDatabase, Manifest};
pub use self::restore::{RestoreOptions, Restored, restore};

use self::manifest::{Entry, FORMAT, copy};
use crate::config::Config;
use crate::files;
use crate::retention::RECORDINGS;
use crate::store::{Dialect, Store, inspect};

/// Names of the files in a backup.
const DATABASE: &str = "switchhook.db";
const KEY: &str = "master.key";

/// A finished backup.
#[derive(Debug, Serialize)]
pub struct Backup {
    /// The path of the backup.
    pub path: PathBuf,
    /// The kind of database.
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

/// Backs the service up into an empty or missing folder.
///
/// # Errors
/// If the folder is not empty, or something cannot be read or written.
pub async fn make(config: &Config, folder: &Path, with_key: bool) -> anyhow::Result<Backup> {
    must_be_empty(folder)?;
    if let Some(path) = database_file(config) {
        ensure!(path.try_exists()?, "there is no database {}: pass the --data-dir of the service", path.display());
    }
    let data_dir = config.data_dir.clone();
    ensure!(data_dir.is_dir(), "there is no folder {}: pass the --data-dir of the service", data_dir.display());
    files::private_folder(folder).with_context(|| format!("could not create {}", folder.display()))?;
    let mut entries = Vec::new();
    // The database first: every recording that it names is on the disk by then.
    let (database, schema) = back_up_database(config, folder, &mut entries).await?;
    let (target, key_in_settings) = (folder.to_owned(), config.master_key.is_some());
    let with_key = with_key && !key_in_settings;
    let work = move || back_up_files(&data_dir, &target, with_key);
    entries.extend(tokio::task::spawn_blocking(work).await??);
    let key_file = entries.iter().any(|entry| entry.path == KEY);
    let recordings = entries.iter().filter(|entry| entry.path.starts_with(RECORDINGS)).count();
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let created_at = Clock::system().now();
    Manifest { format: FORMAT, version, created_at, database, schema, files: entries }.write(folder)?;
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

/// The file of an SQLite database.
fn database_file(config: &Config) -> Option<PathBuf> {
    config.database_url().strip_prefix("sqlite://").map(PathBuf::from)
}

async fn back_up_database(
    config: &Config,
    folder: &Path,
    entries: &mut Vec<Entry>,
) -> anyhow::Result<(BackedUpDatabase, i64)> {
    let store = Store::connect(&config.database_url()).await?;
    let schema = inspect::schema(&mut store.read().await?).await?.version;
    if store.dialect() == Dialect::Postgres {
        store.close().await;
        return Ok((BackedUpDatabase::None, schema));
    }
    let copy = folder.join(DATABASE);
    files::new_private_file(&copy)?; // SQLite fills an empty file, and would make one that others can read.
    let copied = store.copy_to(&copy).await.context("could not copy the database");
    store.close().await;
    copied?;
    let entry = tokio::task::spawn_blocking(move || Entry::of(DATABASE, &copy)).await??;
    entries.push(entry);
    Ok((BackedUpDatabase::Sqlite, schema))
}

/// Copies the key file and the recordings.
fn back_up_files(data_dir: &Path, target: &Path, with_key: bool) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let key = Vault::key_file(data_dir);
    if with_key && key.try_exists()? {
        entries.extend(copy(&key, &target.join(KEY), KEY, u64::MAX)?);
    }
    for tenant in subfolders(&data_dir.join(RECORDINGS))? {
        for recording in listed(&tenant)? {
            let (Some(owner), Some(name)) = (name(&tenant), name(&recording)) else { continue };
            if recording.is_file() {
                files::private_folder(&target.join(RECORDINGS).join(&owner))?;
                let path = format!("{RECORDINGS}/{owner}/{name}");
                // One that is gone by now belonged to a call whose words were deleted.
                entries.extend(copy(&recording, &target.join(&path), &path, u64::MAX)?);
            }
        }
    }
    Ok(entries)
}

fn subfolders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(listed(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

/// Lists a folder; empty if it is missing.
fn listed(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("could not read {}", folder.display()))?,
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort_unstable();
    Ok(paths)
}

fn name(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}
