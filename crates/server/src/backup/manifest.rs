//! The manifest of a backup: its files with their sizes and hashes. It is written last, so a backup without one is incomplete.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchhook_core::Timestamp;

use super::progress::Progress;
use super::{DATABASE, DUMP};
use crate::files;

const NAME: &str = "manifest.json";
/// The form of backups that this version writes and reads.
pub(super) const FORMAT: u32 = 1;
/// Bound on the length of a manifest in bytes: that of a million recordings has 200 MB.
const MAX_BYTES: u64 = 1 << 30;
/// Bytes copied at once.
const BLOCK: usize = 1 << 20;

/// The kind of database in a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackedUpDatabase {
    /// A copy of the SQLite database.
    Sqlite,
    /// A dump of the database on PostgreSQL.
    Postgres,
    /// Nothing: it was left out.
    None,
}

/// The contents of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of the backup.
    pub format: u32,
    /// The version of the program that made it.
    pub version: String,
    /// When the backup was completed.
    pub created_at: Timestamp,
    /// The kind of database.
    pub database: BackedUpDatabase,
    /// The version of the database's schema.
    pub schema: i64,
    /// Its files.
    pub files: Vec<Entry>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path in the backup.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let mut file = files::new_private_file(&folder.join(NAME))?;
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())?;
        file.sync_all()?;
        Ok(File::open(folder)?.sync_all()?)
    }

    /// Reads the manifest of a backup.
    ///
    /// # Errors
    /// If it is missing or malformed.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = match File::open(folder.join(NAME)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                anyhow::bail!("{} has no {NAME}: it is no backup, or one that was interrupted", folder.display())
            }
            file => file.with_context(|| format!("could not read {NAME}"))?,
        };
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).with_context(|| format!("could not read {NAME}"))?;
        ensure!(text.len() as u64 <= MAX_BYTES, "{NAME} is damaged: it is longer than {MAX_BYTES} bytes");
        Self::parse(&text)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let manifest: Self = serde_json::from_str(text).with_context(|| format!("{NAME} is damaged"))?;
        ensure!(
            manifest.format == FORMAT,
            "this backup has the form {}, and this version reads {FORMAT}",
            manifest.format
        );
        ensure!(!manifest.version.contains(char::is_control), "{NAME} is damaged: its version is no version");
        let mut named = HashSet::new();
        for Entry { path, .. } in &manifest.files {
            // Checked as text: a `Path` collapses repeated separators.
            let plain =
                path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains(char::is_control);
            ensure!(plain && named.insert(path), "{NAME} is damaged: it names the file {path:?}");
        }
        let database = (manifest.holds(DATABASE), manifest.holds(DUMP));
        ensure!(
            database
                == (manifest.database == BackedUpDatabase::Sqlite, manifest.database == BackedUpDatabase::Postgres),
            "{NAME} is damaged: what it says of the database does not fit its files"
        );
        Ok(manifest)
    }

    /// Returns whether the backup contains this file.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.files.iter().any(|entry| entry.path == path)
    }
}

impl Entry {
    /// Describes a file that was written elsewhere, once it is on the disk.
    pub(super) fn of(path: &str, file: &Path, progress: &Progress) -> anyhow::Result<Self> {
        let named = || format!("could not read {}", file.display());
        let mut source = File::open(file).with_context(named)?;
        let (bytes, sha256) = pour(&mut source, None, progress).with_context(named)?;
        source.sync_all().with_context(named)?;
        Ok(Self { path: path.to_owned(), bytes, sha256 })
    }
}

/// Copies a file, readable by its owner only, onto the disk; `None` if it no longer exists. Of one that is longer than `most` bytes, a
/// byte more is copied.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    path: &str,
    most: u64,
    progress: &Progress,
) -> anyhow::Result<Option<Entry>> {
    let source = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        source => source.with_context(|| format!("could not read {}", from.display()))?,
    };
    let copying = || format!("could not copy {} to {}", from.display(), to.display());
    let mut target = files::new_private_file(to).with_context(copying)?;
    let (bytes, sha256) =
        pour(&mut source.take(most.saturating_add(1)), Some(&mut target), progress).with_context(copying)?;
    target.sync_all().with_context(copying)?;
    Ok(Some(Entry { path: path.to_owned(), bytes, sha256 }))
}

/// Reads all of a file, into another one if there is one; returns its size and hash.
fn pour(source: &mut impl Read, mut target: Option<&mut File>, progress: &Progress) -> std::io::Result<(u64, String)> {
    let (mut hash, mut bytes, mut block) = (Sha256::new(), 0, vec![0; BLOCK]);
    loop {
        let read = match source.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&block[..read]);
        bytes += read as u64;
        progress.passed(read as u64)?;
        if let Some(target) = &mut target {
            target.write_all(&block[..read])?;
        }
    }
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    Ok((bytes, hex))
}

/// Manifests of backups: every file of one that is taken lies within the backup.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r#"{"format":1,"version":"0.1.0","created_at":"2026-11-01T10:00:00Z","database":"sqlite","schema":17,"files":[
                {"path":"switchhook.db","bytes":4096,"sha256":"00"},{"path":"recordings/a/b.wav","bytes":44,"sha256":"ff"}]}"#,
            r#"{"format":1,"version":"0.1.0","created_at":"2026-11-01T10:00:00Z","database":"none","schema":17,"files":[]}"#,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each_text(messages, |text| {
            let manifest = Manifest::parse(text)?;
            let within = |entry: &Entry| {
                Path::new(&entry.path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
            };
            assert!(manifest.files.iter().all(within), "a file outside");
            anyhow::Ok(manifest.files.iter().map(|entry| entry.path.len() + entry.sha256.len()).sum())
        })
    },
};

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn manifest(path: &str) -> Manifest {
        let entry = Entry { path: path.to_owned(), bytes: 1, sha256: String::new() };
        Manifest {
            format: FORMAT,
            version: "1".to_owned(),
            created_at: Timestamp::from_micros(0),
            database: BackedUpDatabase::None,
            schema: 1,
            files: vec![entry],
        }
    }

    #[test]
    fn a_manifest_leads_nowhere_outside_the_backup() {
        let read = |manifest: &Manifest| {
            let folder = tempfile::tempdir().expect("a folder");
            manifest.write(folder.path()).expect("written");
            Manifest::read(folder.path())
        };
        for (path, good) in [
            ("recordings/a/b.wav", true),
            ("../x", false),
            ("/etc/passwd", false),
            ("recordings//etc/passwd", false),
            ("recordings/./x", false),
            ("a/../../x", false),
            ("", false),
            ("recordings/\u{1b}[2J/b.wav", false),
            ("switchhook.db", false),
        ] {
            assert_eq!(read(&manifest(path)).is_ok(), good, "{path}");
        }
        assert!(read(&Manifest { format: FORMAT + 1, ..manifest("a") }).is_err());
        assert!(read(&Manifest { version: "1\u{1b}[2J".to_owned(), ..manifest("a") }).is_err());
    }

    #[test]
    fn a_copy_has_the_hash_of_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        let progress = Progress::default();
        fs::write(&from, "abc").expect("written");
        let copied = copy(&from, &to, "a", 3, &progress).expect("copied").expect("it is there");
        assert_eq!(copied.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((copied.bytes, fs::read(&to).expect("a file")), (3, b"abc".to_vec()));
        assert_eq!(copied, Entry::of("a", &to, &progress).expect("read"));
        assert_eq!(copy(&folder.path().join("gone"), &to, "gone", 3, &progress).expect("no error"), None);
        assert!(copy(&from, &to, "a", 3, &progress).is_err(), "something is there");
        let short = copy(&from, &folder.path().join("c"), "a", 1, &progress).expect("copied").expect("it is there");
        assert_eq!(short.bytes, 2, "no more is read than shows that it is longer");
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let [from, to, elsewhere] = ["a", "b", "c"].map(|name| folder.path().join(name));
        for path in [&from, &elsewhere] {
            fs::write(path, "abc").expect("written");
        }
        std::os::unix::fs::symlink(&elsewhere, &to).expect("a link");
        fs::write(&from, "secret").expect("written");
        assert!(copy(&from, &to, "a", u64::MAX, &Progress::default()).is_err());
        assert_eq!(fs::read(&elsewhere).expect("a file"), b"abc");
    }
}
