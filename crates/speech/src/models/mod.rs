//! Models of local speech: list, download, verify.
//!
//! `manifest` pins every byte. A pull downloads a wheel with `pip` (or takes a given file), checks its SHA-256, extracts the named
//! files, checks them again, converts what is not ONNX, and moves the finished folder into place in one step, so that readers
//! see a complete model or none. Afterwards no network is needed.
//!
//! All calls block; from async code use `spawn_blocking`.

pub mod convert;
mod error;
mod fetch;
mod manifest;
mod progress;
mod scratch;
mod unpack;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use error::ModelError;
pub use manifest::{HIBARI, MOONSHINE};
pub use progress::{NoProgress, Progress, Stage};

use manifest::{MODELS, Model};
use scratch::{ScratchDir, private_folder};

/// Attempts to move a finished folder into place while other processes do the same.
const INSTALL_ATTEMPTS: u32 = 5;

/// The models in one data directory.
#[derive(Clone, Debug)]
pub struct ModelStore {
    root: PathBuf,
}

/// A model for output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelStatus {
    /// For example `stt/moonshine-base-en`.
    pub id: &'static str,
    /// Its purpose.
    pub purpose: &'static str,
    /// The version of its package.
    pub version: &'static str,
    /// SPDX expression.
    pub license: &'static str,
    /// Attribution.
    pub attribution: &'static str,
    /// Bytes to download.
    pub download_bytes: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Whether every file exists with its size.
    pub installed: bool,
    /// Whether all hashes match; `null` if not verified.
    pub verified: Option<bool>,
    /// Its folder.
    pub path: PathBuf,
    /// SHA-256 of the package.
    pub sha256: &'static str,
    /// The package's file name, for `--from`.
    pub file: &'static str,
}

impl ModelStore {
    /// Creates a handle to the models in `data_dir/models`, without reading them.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { root: data_dir.join("models") }
    }

    /// Lists every model and whether it is installed. Checks only names and sizes; [`ModelStore::verify`] checks hashes.
    #[must_use]
    pub fn status(&self) -> Vec<ModelStatus> {
        MODELS.iter().map(|model| self.status_of(model, None)).collect()
    }

    /// Verifies the hashes of every installed model.
    #[must_use]
    pub fn verify(&self) -> Vec<ModelStatus> {
        let verify = |model| self.status_of(model, Some(is_intact(model, &self.folder(model))));
        MODELS.iter().map(verify).collect()
    }

    /// Returns the ids of models that are not installed.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let missing = MODELS.iter().filter(|model| !is_complete(model, &self.folder(model)));
        missing.map(|model| model.id).collect()
    }

    /// Returns the folder of model `id`, if it is installed.
    #[must_use]
    pub fn path(&self, id: &str) -> Option<PathBuf> {
        let model = Model::find(id)?;
        let folder = self.folder(model);
        is_complete(model, &folder).then_some(folder)
    }

    /// Downloads the models `ids` (all if empty) unless they are installed and intact.
    ///
    /// Concurrent pulls are safe: each works in its own folder, and the last step is a rename.
    ///
    /// # Errors
    /// A sentence that says what to do next. Installed models stay unchanged.
    pub fn pull(&self, ids: &[&str], progress: &dyn Progress) -> Result<Vec<ModelStatus>, ModelError> {
        let find = |id: &&str| Model::find(id).ok_or_else(|| ModelError::Unknown { id: (*id).to_owned() });
        let wanted: Vec<&'static Model> = match ids {
            [] => MODELS.iter().collect(),
            ids => ids.iter().map(find).collect::<Result<_, _>>()?,
        };
        let pull = |model: &'static Model| {
            if !is_intact(model, &self.folder(model)) {
                let scratch = ScratchDir::new(&self.root)?;
                let wheel = fetch::fetch(model, &scratch, progress)?;
                self.install(model, &wheel, &scratch, progress)?;
            }
            progress.report(model.id, Stage::Done, model.installed_bytes(), model.installed_bytes());
            Ok(self.status_of(model, Some(true)))
        };
        wanted.into_iter().map(pull).collect()
    }

    /// Installs a model from a wheel file, identified by its hash.
    ///
    /// # Errors
    /// Like [`ModelStore::pull`], and if the file is unknown.
    pub fn pull_from_file(&self, wheel: &Path, progress: &dyn Progress) -> Result<ModelStatus, ModelError> {
        let sha256 = unpack::sha256_of(wheel).map_err(ModelError::io(wheel))?;
        let model = MODELS.iter().find(|model| model.wheel_sha256 == sha256).ok_or_else(|| ModelError::WrongWheel {
            path: wheel.to_owned(),
            sha256,
            wanted: MODELS.iter().map(|model| model.wheel).collect::<Vec<_>>().join(", "),
        })?;
        let scratch = ScratchDir::new(&self.root)?;
        self.install(model, wheel, &scratch, progress)?;
        progress.report(model.id, Stage::Done, model.installed_bytes(), model.installed_bytes());
        Ok(self.status_of(model, Some(true)))
    }

    /// Unpacks a wheel and moves the finished folder into place.
    fn install(
        &self,
        model: &'static Model,
        wheel: &Path,
        scratch: &ScratchDir,
        progress: &dyn Progress,
    ) -> Result<(), ModelError> {
        let sha256 = unpack::sha256_of(wheel).map_err(ModelError::io(wheel))?;
        if sha256 != model.wheel_sha256 {
            return Err(ModelError::WrongWheel { path: wheel.to_owned(), sha256, wanted: model.wheel.to_owned() });
        }
        let fresh = scratch.path().join("model");
        fs::create_dir(&fresh).map_err(ModelError::io(&fresh))?;
        unpack::unpack(model, wheel, &fresh, progress)?;
        put_in_place(model, &fresh, &self.folder(model), scratch)
    }

    fn folder(&self, model: &Model) -> PathBuf {
        self.root.join(model.id).join(model.version)
    }

    fn status_of(&self, model: &'static Model, verified: Option<bool>) -> ModelStatus {
        let path = self.folder(model);
        ModelStatus {
            id: model.id,
            purpose: model.purpose,
            version: model.version,
            license: model.license,
            attribution: model.attribution,
            download_bytes: model.wheel_bytes,
            bytes: model.installed_bytes(),
            installed: is_complete(model, &path),
            verified,
            path,
            sha256: model.wheel_sha256,
            file: model.wheel,
        }
    }
}

/// Moves `fresh` to `place`. Keeps the result of a faster process; moves a damaged one away.
fn put_in_place(model: &Model, fresh: &Path, place: &Path, scratch: &ScratchDir) -> Result<(), ModelError> {
    let parent = place.parent().unwrap_or(place);
    private_folder(parent).map_err(ModelError::io(parent))?;
    let mut attempt = 0;
    loop {
        attempt += 1;
        match fs::rename(fresh, place) {
            Ok(()) => return Ok(()),
            Err(_) if is_intact(model, place) => return Ok(()),
            Err(source) if attempt == INSTALL_ATTEMPTS => {
                return Err(ModelError::Io { path: place.to_owned(), source });
            }
            // Another process may be doing the same; the next rename shows whether this worked.
            Err(_) => drop(fs::rename(place, scratch.path().join(format!("old-{attempt}")))),
        }
    }
}

/// Returns whether every file exists with its size.
fn is_complete(model: &Model, folder: &Path) -> bool {
    let has = |file: &manifest::File| fs::metadata(folder.join(file.name)).is_ok_and(|data| data.len() == file.bytes);
    model.files.iter().all(has)
}

/// Returns whether all hashes match.
fn is_intact(model: &Model, folder: &Path) -> bool {
    let right =
        |file: &manifest::File| unpack::sha256_of(&folder.join(file.name)).is_ok_and(|hash| hash == file.sha256);
    is_complete(model, folder) && model.files.iter().all(right)
}

#[cfg(test)]
mod tests;
