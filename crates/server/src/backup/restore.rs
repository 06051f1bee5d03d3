//! Puts a backup in the place of a data directory: first beside what is there, verified, then in its place.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use switchhook_runtime::clock::{self, Clock};
use switchhook_vault::Vault;

use super::manifest::copy;
use super::{BackedUpDatabase, DATABASE, KEY, Manifest, database_file};
use crate::config::Config;
use crate::files;
use crate::retention::RECORDINGS;
use crate::store::{Store, calls, inspect, tenants};

/// How a backup is restored.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestoreOptions {
    /// Move what is there aside.
    pub force: bool,
    /// Leave queued calls queued, although they may have been dialled since the backup.
    pub keep_queued: bool,
}

/// What was restored.
#[derive(Debug, Serialize)]
pub struct Restored {
    /// The data directory.
    pub data_dir: PathBuf,
    /// What the backup holds of the database.
    pub database: BackedUpDatabase,
    /// Files restored.
    pub files: usize,
    /// Calls that had not ended and will not be dialled.
    pub canceled_calls: u64,
    /// Where that is which was there before.
    pub moved_aside: Vec<PathBuf>,
}

/// A file or folder on its way to its place.
struct Move {
    staged: PathBuf,
    place: PathBuf,
}

/// Restores a backup into the configured data directory and database.
///
/// # Errors
/// If the backup is damaged or newer than this program, a service holds the data directory, or something is there already.
pub async fn restore(config: &Config, folder: &Path, options: RestoreOptions) -> anyhow::Result<Restored> {
    let manifest = Manifest::read(folder)?;
    let newest = inspect::newest_sqlite();
    if manifest.database == BackedUpDatabase::Sqlite {
        ensure!(
            manifest.schema <= newest,
            "the backup has the schema {} and this version knows {newest}: restore it with Switchhook {} or later",
            manifest.schema,
            manifest.version
        );
        ensure!(
            database_file(config).is_some(),
            "the backup holds an SQLite database, and the settings name PostgreSQL: pass --database-url sqlite://PATH"
        );
    }
    files::data_directory(&config.data_dir)?;
    let _lock = files::ServiceLock::alone(&config.data_dir)?;
    let (from, places) = (folder.to_owned(), Places::of(config, &manifest));
    let (canceled_calls, database, count) = (0, manifest.database, manifest.files.len());
    let work = move || places.fill(&from, &manifest, options.force);
    let moved_aside = tokio::task::spawn_blocking(work).await??;
    let mut restored =
        Restored { data_dir: config.data_dir.clone(), database, files: count, canceled_calls, moved_aside };
    if database == BackedUpDatabase::Sqlite {
        let store = Store::open(&config.database_url()).await?;
        if !options.keep_queued {
            restored.canceled_calls = cancel_calls(&store).await?;
        }
        store.close().await;
    }
    Ok(restored)
}

/// Marks every call that has not ended to be ended: it may have been dialled since the backup, and nobody is rung twice.
async fn cancel_calls(store: &Store) -> anyhow::Result<u64> {
    let now = Clock::system().now();
    let tenants = tenants::list_for_operator(&mut store.read().await?).await?;
    let mut tx = store.begin().await?;
    let mut canceled = 0;
    for tenant in tenants {
        canceled += calls::request_hangup_of_all(&mut tx, tenant.tenant(), now).await?;
    }
    tx.commit().await?;
    Ok(canceled)
}

/// Where the parts of a backup go.
struct Places {
    database: Option<PathBuf>,
    key: Option<PathBuf>,
    recordings: PathBuf,
    /// Ends the names of files on their way, and of what was there before.
    mark: String,
}

impl Places {
    fn of(config: &Config, manifest: &Manifest) -> Self {
        let holds = |name: &str| manifest.files.iter().any(|entry| entry.path == name);
        Self {
            database: database_file(config).filter(|_| holds(DATABASE)),
            key: holds(KEY).then(|| Vault::key_file(&config.data_dir)),
            recordings: config.data_dir.join(RECORDINGS),
            mark: format!("{:08x}", u32::from_be_bytes(clock::random())),
        }
    }

    /// Copies the backup beside its places, verified, and then into them. Returns what was moved aside.
    fn fill(&self, from: &Path, manifest: &Manifest, force: bool) -> anyhow::Result<Vec<PathBuf>> {
        let there = self.there();
        if let Some(first) = there.first().filter(|_| !force) {
            bail!("{} exists: restore into an empty folder, or pass --force to move it aside", first.display());
        }
        let staged = self.stage(from, manifest);
        let moves = match staged {
            Ok(moves) => moves,
            Err(error) => {
                self.clear();
                return Err(error);
            }
        };
        let mut aside = Vec::new();
        for path in there {
            let old = with_ending(&path, &format!(".before-{}", self.mark));
            fs::rename(&path, &old).with_context(|| format!("could not move {} aside", path.display()))?;
            aside.push(old);
        }
        for Move { staged, place } in moves {
            fs::rename(&staged, &place).with_context(|| format!("could not move the copy to {}", place.display()))?;
        }
        Ok(aside)
    }

    /// What stands where the backup goes.
    fn there(&self) -> Vec<PathBuf> {
        let companions = |path: &PathBuf| ["", "-wal", "-shm"].map(|ending| with_ending(path, ending));
        let database = self.database.iter().flat_map(companions);
        let parts = database.chain(self.key.clone()).chain([self.recordings.clone()]);
        parts.filter(|path| path.exists()).collect()
    }

    fn staged(&self, place: &Path) -> PathBuf {
        with_ending(place, &format!(".restoring-{}", self.mark))
    }

    fn stage(&self, from: &Path, manifest: &Manifest) -> anyhow::Result<Vec<Move>> {
        let recordings = self.staged(&self.recordings);
        let mut moves = Vec::new();
        for entry in &manifest.files {
            let place = match (entry.path.as_str(), &self.database, &self.key) {
                (DATABASE, Some(database), _) => Some(database),
                (KEY, _, Some(key)) => Some(key),
                _ => None,
            };
            let to = match (place, entry.path.strip_prefix(RECORDINGS).and_then(|rest| rest.strip_prefix('/'))) {
                (Some(place), _) => {
                    moves.push(Move { staged: self.staged(place), place: place.clone() });
                    self.staged(place)
                }
                (None, Some(name)) => recordings.join(name),
                (None, None) => bail!("the backup holds {}, which this version does not know", entry.path),
            };
            if let Some(folder) = to.parent() {
                files::private_folder(folder)?;
            }
            let copied = copy(&from.join(&entry.path), &to, &entry.path)?;
            let copied = copied.with_context(|| format!("the backup is damaged: {} is missing", entry.path))?;
            ensure!(copied == *entry, "the backup is damaged: {} is not what was backed up", entry.path);
        }
        if recordings.exists() {
            moves.push(Move { staged: recordings, place: self.recordings.clone() });
        }
        Ok(moves)
    }

    /// Deletes what was copied.
    fn clear(&self) {
        for place in self.database.iter().chain(&self.key) {
            let _ = fs::remove_file(self.staged(place)); // It may not have been copied yet.
        }
        let _ = fs::remove_dir_all(self.staged(&self.recordings));
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}
