//! Puts a backup in the place of a data directory: first beside what is there, verified, then in its place.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use switchhook_runtime::clock::{self, Clock};
use switchhook_vault::Vault;

use super::manifest::{Entry, copy};
use super::progress::{Progress, on_files};
use super::{BackedUpDatabase, DATABASE, DUMP, KEY, Manifest, postgres};
use crate::config::Config;
use crate::files;
use crate::recordings::{Recordings, split_name};
use crate::store::{Store, calls, inspect, tenants};

/// How a backup is restored.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestoreOptions {
    /// Move what is there aside.
    pub force: bool,
    /// Leave queued calls queued, although they may have been dialled since the backup.
    pub keep_queued: bool,
}

/// The result of a restore.
#[derive(Debug, Serialize)]
pub struct Restored {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The kind of database in the backup.
    pub database: BackedUpDatabase,
    /// Files restored.
    pub files: usize,
    /// Calls that had not ended and will not be dialled.
    pub canceled_calls: u64,
    /// The paths to which existing files were moved.
    pub moved_aside: Vec<PathBuf>,
    /// Whether the key for the stored credentials is missing, both in the settings and as a file.
    pub key_missing: bool,
}

/// Restores a backup into the configured data directory and database. After an error, or when it is dropped, both are as they were.
///
/// # Errors
/// If the backup is damaged or newer than this program, a service holds the data directory, or something is there already.
pub async fn restore(
    config: &Config,
    folder: &Path,
    options: RestoreOptions,
    progress: &Arc<Progress>,
) -> anyhow::Result<Restored> {
    let manifest = Manifest::read(folder)?;
    must_fit(config, &manifest)?;
    files::data_directory(&config.data_dir)?;
    let _lock = files::ServiceLock::alone(&config.data_dir)?;
    // A service with another data directory may use the database.
    let _database = config.database_file().as_deref().map(files::DatabaseLock::take).transpose()?;
    let mut places = Places::of(config, &manifest);
    places.must_be_free(options.force)?;
    let mut canceled_calls = places.stage(folder, &manifest, options, progress).await?;
    if manifest.database == BackedUpDatabase::Postgres {
        let url = config.database_url();
        postgres::restore(&url, &folder.join(DUMP), progress).await?;
        canceled_calls = prepare_database(&url, options.keep_queued).await.context(
            "the database is restored, but the calls in it are not canceled: drop it and restore into a new one, or queued calls are dialled",
        )?;
    }
    let moved_aside = places.fill()?;
    Ok(Restored {
        data_dir: config.data_dir.clone(),
        database: manifest.database,
        files: manifest.files.len(),
        canceled_calls,
        moved_aside,
        key_missing: config.master_key.is_none() && !Vault::key_file(&config.data_dir).exists(),
    })
}

/// Checks that this program and these settings can hold the backup.
fn must_fit(config: &Config, manifest: &Manifest) -> anyhow::Result<()> {
    let (newest, named) = (inspect::newest_sqlite(), config.database_file());
    ensure!(
        manifest.database == BackedUpDatabase::None || manifest.schema <= newest,
        "the backup has the schema {} and this version knows {newest}: restore it with Switchhook {} or later",
        manifest.schema,
        manifest.version
    );
    match (manifest.database, named) {
        (BackedUpDatabase::Sqlite, None) => {
            bail!(
                "the backup holds an SQLite database, and the settings name PostgreSQL: pass --database-url sqlite://PATH"
            )
        }
        (BackedUpDatabase::Postgres, Some(_)) => {
            bail!(
                "the backup holds a PostgreSQL database, and the settings name SQLite: pass --database-url postgres://…"
            )
        }
        _ => Ok(()),
    }
}

/// Brings a restored database up to date and marks the calls in it. Returns the number of those that will not be dialled.
async fn prepare_database(url: &str, keep_queued: bool) -> anyhow::Result<u64> {
    let store = Store::open(url).await?;
    let canceled = if keep_queued { Ok(0) } else { cancel_calls(&store).await };
    store.close().await;
    canceled
}

/// Requests the end of every call that has not ended: it may have been dialled since the backup and must not be dialled again.
async fn cancel_calls(store: &Store) -> anyhow::Result<u64> {
    let now = Clock::system().now();
    let tenants = tenants::list_for_operator(&mut store.read().await?).await?;
    let mut tx = store.begin().await?;
    let mut canceled = 0;
    for tenant in tenants {
        loop {
            let batch = calls::request_hangup_of_all(&mut tx, tenant.tenant(), now).await?;
            canceled += batch;
            if batch == 0 {
                break;
            }
        }
    }
    tx.commit().await?;
    Ok(canceled)
}

/// The destinations of the parts of a backup. What a backup does not hold stays where it is.
struct Places {
    database: Option<PathBuf>,
    key: Option<PathBuf>,
    /// The folder of recordings, which may be a link or a mount, so it stays and each tenant's folder in it is replaced.
    recordings: PathBuf,
    /// The tenants' folders in it.
    tenants: Vec<PathBuf>,
    /// Whether the folder of recordings was created.
    made_folder: bool,
    /// Ends the names of files on their way, and of what was there before.
    mark: String,
    /// Whether the copies are in place, or there are none.
    filled: bool,
}

impl Drop for Places {
    fn drop(&mut self) {
        if !self.filled {
            self.clear();
        }
    }
}

impl Places {
    fn of(config: &Config, manifest: &Manifest) -> Self {
        let recordings = Recordings::below(&config.data_dir).folder().to_owned();
        // Beside what a link leads to, a rename stays on one file system.
        let recordings = recordings.canonicalize().unwrap_or(recordings);
        Self {
            database: config.database_file().filter(|_| manifest.holds(DATABASE)),
            key: manifest.holds(KEY).then(|| Vault::key_file(&config.data_dir)),
            tenants: tenants_of(manifest).map(|tenant| recordings.join(tenant)).collect(),
            recordings,
            made_folder: false,
            mark: format!("{:08x}", u32::from_be_bytes(clock::random())),
            filled: false,
        }
    }

    /// The files and folders of a restored service, each as a path and what it ends in: SQLite keeps files beside a database, under its
    /// name.
    fn parts(&self) -> impl Iterator<Item = (&PathBuf, &'static str)> {
        let database = self.database.iter().flat_map(|place| ["", "-wal", "-shm"].map(|ending| (place, ending)));
        database.chain(self.key.iter().chain(&self.tenants).map(|place| (place, "")))
    }

    fn must_be_free(&self, force: bool) -> anyhow::Result<()> {
        let mut there = self.parts().map(|(place, ending)| with_ending(place, ending));
        let taken = there.find(|path| path.exists() && !force);
        taken.map_or(Ok(()), |first| {
            bail!("{} exists: restore into an empty folder, or pass --force to move it aside", first.display())
        })
    }

    /// Copies the backup beside its places, verified and ready for the next start. Returns the number of calls that will not be
    /// dialled.
    async fn stage(
        &mut self,
        from: &Path,
        manifest: &Manifest,
        options: RestoreOptions,
        progress: &Arc<Progress>,
    ) -> anyhow::Result<u64> {
        self.make_folder()?;
        let (dumps, files): (Vec<_>, Vec<_>) = manifest.files.iter().cloned().partition(|entry| entry.path == DUMP);
        let copies: Vec<(PathBuf, PathBuf, Entry)> = files
            .into_iter()
            .map(|entry| Ok((from.join(&entry.path), self.staged_file(&entry.path)?, entry)))
            .collect::<anyhow::Result<_>>()?;
        progress.begin("files", manifest.files.iter().map(|entry| entry.bytes).sum());
        let folder = from.to_owned();
        on_files(progress, move |progress| {
            dumps.iter().try_for_each(|entry| verify(&folder.join(&entry.path), entry, progress))?;
            copies.iter().try_for_each(|copy| copy_verified(copy, progress))
        })
        .await?;
        let database = self.database.as_deref().map(|place| self.staged(place));
        let canceled = match &database {
            Some(copy) => {
                let path = copy.to_str().context("the path of the database must be UTF-8")?;
                prepare_database(&format!("sqlite://{path}"), options.keep_queued).await?
            }
            None => 0,
        };
        for (place, ending) in self.parts() {
            files::give_to_owner_of(place.parent().unwrap_or(place), &with_ending(&self.staged(place), ending))?;
        }
        Ok(canceled)
    }

    /// Creates the folder of recordings if there are some in the backup.
    fn make_folder(&mut self) -> anyhow::Result<()> {
        if self.tenants.is_empty() || self.recordings.exists() {
            return Ok(());
        }
        files::private_folder(&self.recordings)?;
        self.made_folder = true;
        Ok(files::give_to_owner_of(self.recordings.parent().unwrap_or(&self.recordings), &self.recordings)?)
    }

    /// Returns where a file of the backup is copied to.
    fn staged_file(&self, path: &str) -> anyhow::Result<PathBuf> {
        match (path, &self.database, &self.key) {
            (DATABASE, Some(database), _) => Ok(self.staged(database)),
            (KEY, _, Some(key)) => Ok(self.staged(key)),
            _ => match split_name(path) {
                Some((tenant, name)) => Ok(self.staged(&self.recordings.join(tenant)).join(name)),
                None => bail!("the backup holds {path}, which this version does not know"),
            },
        }
    }

    fn staged(&self, place: &Path) -> PathBuf {
        with_ending(place, &format!(".restoring-{}", self.mark))
    }

    /// Moves what is there aside and the copies into place, all or nothing. Returns what was moved aside.
    fn fill(&mut self) -> anyhow::Result<Vec<PathBuf>> {
        let old = |place: &Path| with_ending(place, &format!(".before-{}", self.mark));
        let mut renames = Vec::new();
        for (place, ending) in self.parts() {
            renames.push((with_ending(place, ending), with_ending(&old(place), ending)));
        }
        renames.retain(|(from, _)| from.exists());
        let aside: Vec<PathBuf> = renames.iter().map(|(_, to)| to.clone()).collect();
        for (place, ending) in self.parts() {
            renames.push((with_ending(&self.staged(place), ending), with_ending(place, ending)));
        }
        renames.retain(|(from, _)| from.exists());
        for (done, (from, to)) in renames.iter().enumerate() {
            if let Err(error) = fs::rename(from, to) {
                for (from, to) in renames[..done].iter().rev() {
                    fs::rename(to, from).with_context(|| format!("could not move {} back", to.display()))?;
                }
                return Err(error).with_context(|| format!("could not move {} to {}", from.display(), to.display()));
            }
        }
        self.filled = true;
        Ok(aside)
    }

    /// Deletes what was copied.
    fn clear(&self) {
        for (place, ending) in self.parts() {
            let _ = fs::remove_file(with_ending(&self.staged(place), ending)); // It may not have been copied yet.
        }
        for tenant in &self.tenants {
            let _ = fs::remove_dir_all(self.staged(tenant));
        }
        if self.made_folder {
            let _ = fs::remove_dir(&self.recordings);
        }
    }
}

/// Returns the names of the tenants' folders in a backup.
fn tenants_of(manifest: &Manifest) -> impl Iterator<Item = &str> {
    manifest.files.iter().filter_map(|entry| Some(split_name(&entry.path)?.0)).collect::<BTreeSet<_>>().into_iter()
}

/// Copies a file of the backup, which must be what its entry says.
fn copy_verified((from, to, entry): &(PathBuf, PathBuf, Entry), progress: &Progress) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        files::private_folder(folder)?;
    }
    ensure!(is_plain(from, &entry.path), missing(entry));
    let copied = copy(from, to, &entry.path, entry.bytes, progress)?.with_context(|| missing(entry))?;
    must_be(entry, &copied)
}

/// Reads a file of the backup that is used where it is.
fn verify(file: &Path, entry: &Entry, progress: &Progress) -> anyhow::Result<()> {
    ensure!(is_plain(file, &entry.path), missing(entry));
    must_be(entry, &Entry::of(&entry.path, file, progress)?)
}

fn missing(entry: &Entry) -> String {
    format!("the backup is damaged: {} is missing, or is no plain file", entry.path)
}

fn must_be(entry: &Entry, found: &Entry) -> anyhow::Result<()> {
    ensure!(found == entry, "the backup is damaged: {} is not what was backed up", entry.path);
    Ok(())
}

/// Returns whether a file of the backup is a regular file inside it: no link, no device and no pipe.
fn is_plain(from: &Path, path: &str) -> bool {
    let is_plain = |(at, place): (usize, &Path)| {
        let kind = place.symlink_metadata().map(|metadata| metadata.file_type());
        kind.is_ok_and(|kind| if at == 0 { kind.is_file() } else { kind.is_dir() })
    };
    from.ancestors().take(path.split('/').count()).enumerate().all(is_plain)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_the_backup_are_restored() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("recordings/t")).expect("a folder");
        fs::write(path("recordings/t/a.wav"), "abc").expect("written");
        std::os::unix::fs::symlink("/dev/zero", path("recordings/t/zero.wav")).expect("a link");
        std::os::unix::fs::symlink(path("recordings/t"), path("recordings/link")).expect("a link");
        let entry = |name: &str| Entry { path: name.to_owned(), bytes: 3, sha256: String::new() };
        let progress = Progress::default();
        for name in ["recordings/t/zero.wav", "recordings/link/a.wav", "recordings/t/gone.wav", "recordings/t"] {
            let error = copy_verified(&(path(name), path("to"), entry(name)), &progress).expect_err("it is none");
            assert!(error.to_string().contains("no plain file"), "{name}: {error:#}");
        }
        let real = Entry::of("recordings/t/a.wav", &path("recordings/t/a.wav"), &progress).expect("read");
        copy_verified(&(path("recordings/t/a.wav"), path("to"), real), &progress).expect("copied");
    }

    #[test]
    fn a_restore_that_cannot_be_finished_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["recordings/t", "recordings/t.before-x", "recordings/t.restoring-x", "recordings/other"] {
            fs::create_dir_all(path(name)).expect("a folder");
            fs::write(path(name).join("a.wav"), name).expect("written");
        }
        for name in ["a.db", "a.db-wal", "a.db.restoring-x"] {
            fs::write(path(name), name).expect("written");
        }
        let mut places = Places {
            database: Some(path("a.db")),
            key: None,
            recordings: path("recordings"),
            tenants: vec![path("recordings/t")],
            made_folder: false,
            mark: "x".to_owned(),
            filled: false,
        };
        let error = places.fill().expect_err("the name for the old recordings is taken");
        assert!(error.to_string().contains("recordings/t.before-x"), "{error:#}");
        for name in ["a.db", "a.db-wal", "a.db.restoring-x"] {
            assert_eq!(fs::read(path(name)).expect("a file"), name.as_bytes());
        }

        fs::remove_dir_all(path("recordings/t.before-x")).expect("it was there");
        let aside = ["a.db.before-x", "a.db.before-x-wal", "recordings/t.before-x"].map(path);
        assert_eq!(places.fill().expect("moved"), aside);
        assert_eq!(fs::read(path("a.db")).expect("a file"), b"a.db.restoring-x");
        assert_eq!(fs::read(path("a.db.before-x-wal")).expect("a file"), b"a.db-wal");
        assert_eq!(fs::read(path("recordings/t/a.wav")).expect("a file"), b"recordings/t.restoring-x");
        assert!(path("recordings/other/a.wav").exists(), "it is not in the backup");
    }
}
