//! The recordings of calls: where they are, and how they are created, completed, read and removed.
//!
//! They are files below the data directory, in one folder for each tenant. The row of a call and the manifest of a backup hold a
//! recording's name, which is also its path below the data directory.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use switchhook_core::Timestamp;
use switchhook_media::format::AudioFormat;
use switchhook_media::wav::{self, StereoWriter};
use uuid::Uuid;

use crate::files;

/// The folder of all recordings, with which their names begin.
const FOLDER: &str = "recordings";

/// Writes a recording.
pub type RecordingWriter = StereoWriter<BufWriter<File>>;

/// The recordings on this node's disk.
#[derive(Clone, Debug)]
pub struct Recordings {
    folder: PathBuf,
}

/// The recording of a call, whether it exists or not.
#[derive(Clone, Debug)]
pub struct Recording {
    name: String,
    path: PathBuf,
}

/// A recording that is on the disk.
#[derive(Debug)]
pub struct StoredRecording {
    /// The recording.
    pub recording: Recording,
    /// Its call.
    pub call: Uuid,
    /// When it was last modified.
    pub modified: Timestamp,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Recordings {
    /// Returns the recordings below `data_dir`.
    #[must_use]
    pub fn below(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER) }
    }

    /// Returns the folder of all recordings, which contains one for each tenant.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the recording of a call.
    #[must_use]
    pub fn of(&self, tenant: Uuid, call: Uuid) -> Recording {
        self.file(&tenant.to_string(), &format!("{call}.wav"))
    }

    /// Scans the disk for recordings. Skips what cannot be read.
    pub async fn stored(&self) -> Vec<StoredRecording> {
        let recordings = self.clone();
        tokio::task::spawn_blocking(move || recordings.scan()).await.unwrap_or_default()
    }

    /// Lists the files in the tenants' folders, in order.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn to_back_up(&self) -> anyhow::Result<Vec<Recording>> {
        let mut found = Vec::new();
        for folder in listed(&self.folder)? {
            let Some(tenant) = name(&folder).filter(|name| folder.is_dir() && is_of_a_tenant(name)) else { continue };
            let files = listed(&folder)?.into_iter().filter(|path| path.is_file());
            found.extend(files.filter_map(|path| Some(self.file(tenant, name(&path)?))));
        }
        Ok(found)
    }

    fn scan(&self) -> Vec<StoredRecording> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found = Vec::new();
        for tenant in entries(&self.folder) {
            found.extend(entries(&tenant.path()).filter_map(|entry| self.found(&tenant, &entry)));
        }
        found
    }

    fn found(&self, tenant: &DirEntry, entry: &DirEntry) -> Option<StoredRecording> {
        let call = entry.path().file_stem()?.to_str()?.parse().ok()?;
        let recording = self.file(tenant.file_name().to_str()?, entry.file_name().to_str()?);
        let data = entry.metadata().ok()?;
        let modified = data.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let modified = Timestamp::from_micros(i64::try_from(modified.as_micros()).ok()?);
        Some(StoredRecording { recording, call, modified, bytes: data.len() })
    }

    fn file(&self, tenant: &str, file: &str) -> Recording {
        Recording { name: format!("{FOLDER}/{tenant}/{file}"), path: self.folder.join(tenant).join(file) }
    }
}

impl Recording {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates it, replacing an existing one. Creates the folder if it is missing.
    ///
    /// # Errors
    /// If the folder or the file cannot be created.
    pub fn create(&self, format: AudioFormat) -> std::io::Result<RecordingWriter> {
        if let Some(folder) = self.path.parent() {
            files::private_folder(folder)?;
        }
        StereoWriter::new(BufWriter::new(files::private_file(&self.path)?), format)
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// If it does not exist, or is on another node's disk.
    pub async fn open(&self) -> std::io::Result<tokio::fs::File> {
        tokio::fs::File::open(&self.path).await
    }

    /// Completes a recording whose writer died or was abandoned. Returns its name, or `None` if it does not exist on this node.
    pub async fn repaired(self) -> Option<String> {
        let repairing = tokio::task::spawn_blocking(move || repair(&self.path).map(|()| self.name));
        repairing.await.ok()?.ok()
    }
}

/// Removes recordings. Logs those that it could not remove; the next scan of the disk finds them.
pub async fn remove(recordings: Vec<Recording>) {
    let removing = tokio::task::spawn_blocking(move || {
        for recording in recordings {
            match fs::remove_file(&recording.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    tracing::error!(%error, "could not delete a recording; retrying within a day");
                }
                _ => {}
            }
        }
    });
    if removing.await.is_err() {
        tracing::error!("could not delete recordings; retrying within a day");
    }
}

/// Splits the name of a recording into its tenant's folder and its file; `None` if it names something else.
#[must_use]
pub fn split_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(FOLDER)?.strip_prefix('/')?.split_once('/')
}

fn repair(path: &Path) -> std::io::Result<()> {
    wav::repair(&mut OpenOptions::new().read(true).write(true).open(path)?)
}

/// Returns whether a folder beside recordings is a tenant's: not `lost+found`, those of storage systems, or what a restore moved aside.
fn is_of_a_tenant(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
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

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn recording_is_found_by_its_name_until_it_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recordings = Recordings::below(folder.path());
        let (tenant, call) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let recording = recordings.of(tenant, call);
        assert_eq!(recording.name(), format!("recordings/{tenant}/{call}.wav"));
        assert_eq!(recording.path(), folder.path().join(recording.name()));
        assert_eq!(recording.clone().repaired().await, None, "it does not exist yet");
        drop(recording.create(AudioFormat::Narrowband).expect("created"));
        recording.open().await.expect("opened");
        assert_eq!(recording.clone().repaired().await.as_deref(), Some(recording.name()));
        let stored = recordings.stored().await;
        assert_eq!(stored.iter().map(|stored| stored.call).collect::<Vec<_>>(), [call]);
        assert!(stored[0].bytes > 0, "its header");
        remove(vec![recording.clone(), recording.clone()]).await;
        assert!(recording.open().await.is_err(), "it was removed");
        assert!(recordings.stored().await.is_empty());
    }

    #[test]
    fn only_files_of_tenants_are_backed_up() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recordings = Recordings::below(folder.path());
        assert!(recordings.to_back_up().expect("listed").is_empty(), "there is no folder yet");
        for tenant in ["a", "lost+found", "a.before-x"] {
            recordings.file(tenant, "b.wav").create(AudioFormat::Narrowband).expect("created");
        }
        fs::create_dir(recordings.folder().join("a").join("folder")).expect("a folder");
        let names: Vec<_> = recordings.to_back_up().expect("listed").into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["recordings/a/b.wav"]);
    }

    #[test]
    fn a_name_has_a_tenant_and_a_file() {
        for (name, expected) in [
            ("recordings/a/b.wav", Some(("a", "b.wav"))),
            ("recordings/a", None),
            ("recordingsa/b", None),
            ("switchhook.db", None),
        ] {
            assert_eq!(split_name(name), expected, "{name}");
        }
    }
}
