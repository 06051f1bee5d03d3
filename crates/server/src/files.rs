//! Files and folders that nobody else on the machine may look into: the database, recordings and keys are nobody else's business.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, set_permissions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::Context as _;

/// Of a folder, and of a file.
const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
/// What others than the owner may do.
const OTHERS: u32 = 0o077;

/// Makes a folder, and those above it that are missing. One that is there stays as it is.
///
/// # Errors
/// When it cannot be made.
pub fn private_folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes an empty file, in place of one that is there.
///
/// # Errors
/// When it cannot be made.
pub fn private_file(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

/// Makes a file if it is missing, and private if it is not.
///
/// # Errors
/// When it is somebody else's or cannot be made.
pub fn make_private(path: &Path) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).mode(FILE).open(path)?;
    if file.metadata()?.permissions().mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(())
}

/// As [`make_private`], of a file that may be missing.
///
/// # Errors
/// When it is somebody else's.
pub fn make_private_if_there(path: &Path) -> Result<()> {
    match set_permissions(path, Permissions::from_mode(FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Makes the data directory if it is missing.
///
/// # Errors
/// When it cannot be made, or others may look into it.
pub fn data_directory(path: &Path) -> anyhow::Result<()> {
    let named = || format!("the data directory {}", path.display());
    private_folder(path).with_context(named)?;
    let mode = path.metadata().with_context(named)?.permissions().mode();
    anyhow::ensure!(
        mode & OTHERS == 0,
        "others can look into the data directory (mode {:o}): run `chmod 700 {}`",
        mode & 0o777,
        path.display()
    );
    Ok(())
}
