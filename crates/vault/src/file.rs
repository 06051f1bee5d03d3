//! The key file in the data directory, used without a configured master key: one key per line, the first one seals.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchhook_core::private::Private;
use switchhook_runtime::clock;
use zeroize::Zeroizing;

use super::keyring::Keyring;

const NAME: &str = "master.key";

/// Identifies a version of the file without reading it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> std::io::Result<Self> {
        let data = fs::metadata(path)?;
        Ok(Self { inode: data.ino(), size: data.size(), changed: (data.ctime(), data.ctime_nsec()) })
    }
}

pub(super) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(NAME)
}

pub(super) fn read_or_make(data_dir: &Path) -> anyhow::Result<Keyring> {
    let path = path(data_dir);
    if !path.try_exists().with_context(|| named(&path))? {
        make(data_dir, &path).with_context(|| named(&path))?;
    }
    read(&path)
}

pub(super) fn read(path: &Path) -> anyhow::Result<Keyring> {
    let mode = fs::metadata(path).with_context(|| named(path))?.permissions().mode();
    if mode & 0o077 != 0 {
        bail!("the key file {0} is readable by other users: run `chmod 600 {0}`", path.display());
    }
    let text = fs::read_to_string(path).map(Private::new).with_context(|| named(path))?;
    Keyring::parse(&text).with_context(|| named(path))
}

fn named(path: &Path) -> String {
    format!("the key file {}", path.display())
}

/// Creates the key under another name and links it into place, which fails if another process was faster: a key in use is never
/// replaced, and a half-written one never seen.
fn make(data_dir: &Path, path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir)?;
    let draft = data_dir.join(format!("{NAME}.{:032x}", u128::from_ne_bytes(clock::random())));
    let key = Zeroizing::new(format!("{}\n", STANDARD.encode(clock::random::<32>())));
    let linked = write_draft(&draft, &key).and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    File::open(data_dir)?.sync_all()?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn write_draft(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())
}

/// An exclusive lock to change the file. It ends with the process.
pub struct KeyFileLock {
    path: PathBuf,
    _lock: File,
}

impl KeyFileLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// If another command holds it, or there is no key file.
    pub fn take(data_dir: &Path) -> anyhow::Result<Self> {
        let path = path(data_dir);
        if !path.try_exists().with_context(|| named(&path))? {
            bail!(
                "{} does not exist: pass the data directory of the service, which creates the key at its first start",
                named(&path)
            );
        }
        let lock = File::open(data_dir).with_context(|| named(&path))?;
        if lock.try_lock().is_err() {
            bail!("another command is changing {}", named(&path));
        }
        Ok(Self { path, _lock: lock })
    }

    /// Returns when the file was changed.
    pub fn changed(&self) -> std::io::Result<SystemTime> {
        fs::metadata(&self.path)?.modified()
    }

    /// Replaces the keys in the file atomically and durably.
    pub(super) fn replace(&self, keys: &Keyring) -> anyhow::Result<()> {
        self.try_replace(keys).with_context(|| named(&self.path))
    }

    fn try_replace(&self, keys: &Keyring) -> std::io::Result<()> {
        // A fixed name: the next command overwrites what a killed one left.
        let draft = self.path.with_extension("key.new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        write_draft(&draft, &keys.to_text())?;
        // An administrator may run the command, but the service must still be able to read the file.
        let owner = fs::metadata(&self.path)?;
        chown(&draft, Some(owner.uid()), Some(owner.gid()))?;
        fs::rename(&draft, &self.path)?;
        self.path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}
