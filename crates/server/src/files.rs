//! Files and folders that only the owner can read: the database, recordings and keys.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, set_permissions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::Context as _;

/// Modes of a folder and of a file.
const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
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
