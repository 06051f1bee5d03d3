//! Temporary folders.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::ModelError;

/// Creates a folder that only its owner can read, and missing parents. An existing one stays unchanged.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A new folder, removed with its contents when dropped.
pub(super) struct ScratchDir(PathBuf);

impl ScratchDir {
    /// Creates a unique folder in `parent`.
    pub(super) fn new(parent: &Path) -> Result<Self, ModelError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        private_folder(parent).map_err(ModelError::io(parent))?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!(".incoming-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left behind by a killed process with the same id.
                Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(ModelError::Io { path, source }),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the bytes in the folder, recursively. Ignores files that vanish meanwhile.
    pub(super) fn size(&self) -> u64 {
        fn size(path: &Path) -> u64 {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let sizes = entries.map(|entry| match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => size(&entry.path()),
                Ok(metadata) => metadata.len(),
                Err(_) => 0,
            });
            sizes.sum()
        }
        size(&self.0)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "could not remove a temporary folder");
        }
    }
}
