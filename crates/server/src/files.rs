//! Files and folders that only the owner can read: the database, recordings and keys.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError, read_dir, set_permissions};
use std::io::{ErrorKind, Read as _, Result, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Modes of a folder and of a file.
const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
/// Name of the file that services and restores lock.
const LOCK: &str = "service.lock";
/// Permission bits of group and others.
const OTHERS: u32 = 0o077;

/// Creates a folder and missing parents. An existing one stays unchanged.
///
/// # Errors
/// If it cannot be created.
pub fn private_folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Creates an empty file, replacing an existing one.
///
/// # Errors
/// If it cannot be created.
pub fn private_file(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

/// Creates an empty file where there is nothing, not even a link.
///
/// # Errors
/// If something is there, or the file cannot be created.
pub fn new_private_file(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE).open(path)
}

/// Creates a file if it is missing, and makes it private.
///
/// # Errors
/// If it belongs to another user or cannot be created.
pub fn make_private(path: &Path) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).mode(FILE).open(path)?;
    if file.metadata()?.permissions().mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(())
}

/// Like [`make_private`], for a file that may be missing.
///
/// # Errors
/// If it belongs to another user.
pub fn make_private_if_there(path: &Path) -> Result<()> {
    match set_permissions(path, Permissions::from_mode(FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Gives a file, or a folder with everything in it, to the owner of `folder`: an administrator may have created it for a service that runs
/// as a dedicated user. Does nothing if it is missing or belongs to that user, whichever group it has.
///
/// # Errors
/// If the owner is another one and cannot be changed.
pub fn give_to_owner_of(folder: &Path, path: &Path) -> Result<()> {
    let owner = folder.metadata()?;
    let current = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if current.is_dir() {
        for entry in read_dir(path)? {
            give_to_owner_of(folder, &entry?.path())?;
        }
    }
    if current.uid() == owner.uid() {
        return Ok(());
    }
    lchown(path, Some(owner.uid()), Some(owner.gid()))
}

/// Creates the data directory if it is missing.
///
/// # Errors
/// If it cannot be created, or other users can read it.
pub fn data_directory(path: &Path) -> anyhow::Result<()> {
    let named = || format!("the data directory {}", path.display());
    private_folder(path).with_context(named)?;
    let mode = path.metadata().with_context(named)?.permissions().mode();
    anyhow::ensure!(
        mode & OTHERS == 0,
        "the data directory is readable by other users (mode {:o}): run `chmod 700 {}`",
        mode & 0o777,
        path.display()
    );
    Ok(())
}

/// Held by services on their data directory, so that a restore replaces nothing that is in use.
#[derive(Debug)]
pub struct ServiceLock(#[expect(dead_code, reason = "held until it is dropped")] Option<File>);

impl ServiceLock {
    /// Takes part in the use of a data directory. Where the file system has no locks, nothing is held.
    ///
    /// # Errors
    /// While a restore is under way.
    pub fn share(data_dir: &Path) -> anyhow::Result<Self> {
        let file = lock_file(data_dir)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => anyhow::bail!("a backup is being restored into {}", data_dir.display()),
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the data directory cannot be locked: stop the service before you restore a backup");
                Ok(Self(None))
            }
        }
    }

    /// Has the data directory alone.
    ///
    /// # Errors
    /// While a service uses it.
    pub fn alone(data_dir: &Path) -> anyhow::Result<Self> {
        let file = lock_file(data_dir)?;
        // The service opens it next.
        give_to_owner_of(data_dir, &data_dir.join(LOCK)).context("could not change the owner of the lock file")?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => {
                anyhow::bail!("a service uses {}: stop it first", data_dir.display())
            }
            Err(TryLockError::Error(error)) => Err(error).context("could not lock the data directory"),
        }
    }
}

/// Held by a service on its SQLite database, which is for one node. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct DatabaseLock(#[expect(dead_code, reason = "held until it is dropped")] Option<File>);

impl DatabaseLock {
    /// Takes the lock, in a file beside the database that names this process. Where the file system has no locks, nothing is held.
    ///
    /// # Errors
    /// While another service has it.
    pub fn take(database: &Path) -> anyhow::Result<Self> {
        let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        private_folder(folder).with_context(|| format!("could not create {}", folder.display()))?;
        let path = Self::path(database);
        let mut file = open_lock(&path)?;
        // An administrator may have started the service once.
        give_to_owner_of(folder, &path).context("could not change the owner of the lock file")?;
        match file.try_lock() {
            Ok(()) => {
                // Only another service reads it, for its error.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                Ok(Self(Some(file)))
            }
            Err(TryLockError::WouldBlock) => anyhow::bail!(
                "another service ({}) uses the database {}: stop it, or use another --data-dir. Several nodes need PostgreSQL",
                holder(&file),
                database.display()
            ),
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the database cannot be locked: make sure that no other service uses it");
                Ok(Self(None))
            }
        }
    }

    fn path(database: &Path) -> PathBuf {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        PathBuf::from(path)
    }
}

/// Names the process that holds a lock, as it wrote itself into the file.
fn holder(file: &File) -> String {
    let mut text = String::new();
    let read = file.take(20).read_to_string(&mut text);
    let id = read.ok().and_then(|_| text.trim().parse::<u32>().ok());
    id.map_or_else(|| "its process is unknown".to_owned(), |id| format!("process {id}"))
}

fn lock_file(data_dir: &Path) -> anyhow::Result<File> {
    open_lock(&data_dir.join(LOCK))
}

fn open_lock(path: &Path) -> anyhow::Result<File> {
    let opened = OpenOptions::new().read(true).append(true).create(true).mode(FILE).open(path);
    opened.with_context(|| format!("could not open {}", path.display()))
}
