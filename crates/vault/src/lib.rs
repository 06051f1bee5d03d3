//! Secrets at rest: XChaCha20-Poly1305 under a key derived from the master key, which is not in the database.
//!
//! A record is `version (1) · key id (4) · nonce (24) · ciphertext and tag`. Everything before the nonce and the *context*, which
//! names the row of the secret, is authenticated: a record copied to another row does not open. The key id is the start of the
//! master key's SHA-256, so that a record names its key.
//!
//! There can be several master keys: the first one seals, all open. Services keep running during a
//! rotation: each use checks whether the key file has changed.

mod file;
mod keyring;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use switchhook_core::private::Private;
use switchhook_runtime::clock;

pub use self::file::KeyFileLock;
use self::file::Stamp;
use self::keyring::Keyring;
pub use self::keyring::SealedBy;

/// Seals and opens secrets. Clones share their keys.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    keys: RwLock<Arc<Keyring>>,
    /// The key file, if the configuration contains no keys.
    file: Option<KeyFile>,
}

struct KeyFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

struct Seen {
    /// The version of the file whose keys are in use.
    stamp: Option<Stamp>,
    /// Whether a read error was logged.
    complained: bool,
}

/// The purpose of authentication codes. Each has its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tokens in carrier addresses.
    CarrierAddresses,
}

impl Purpose {
    fn context(self) -> &'static str {
        match self {
            Self::CarrierAddresses => "switchhook codes v2: carrier addresses",
        }
    }

    fn name_before_derivation(self) -> &'static str {
        match self {
            Self::CarrierAddresses => "carrier addresses",
        }
    }
}

/// Why a secret could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The format is unknown.
    #[error("this version does not support the format of the stored secret")]
    Malformed,
    /// It was sealed with another key.
    #[error("the stored secret was sealed with another master key; start the service with the previous key")]
    OtherKey,
    /// It was changed, or belongs to another row.
    #[error("the stored secret was tampered with, or copied from another row")]
    Tampered,
}

impl Vault {
    /// Creates a vault with these master keys: base64 of 32 bytes each, separated by commas.
    ///
    /// # Errors
    /// If one is malformed.
    pub fn with_keys(text: &Private<String>) -> anyhow::Result<Self> {
        Ok(Self::with(Keyring::parse(text)?, None))
    }

    /// Creates a vault with the key file of this folder, which is made if there is none.
    ///
    /// # Errors
    /// If the file is malformed, unreadable, or readable by other users.
    pub fn with_file(data_dir: &Path) -> anyhow::Result<Self> {
        let path = Self::key_file(data_dir);
        // Checked before reading, so that a change in between is noticed later.
        let stamp = Stamp::of(&path).ok();
        let keys = file::read_or_make(data_dir)?;
        Ok(Self::with(keys, Some(KeyFile { path, seen: Mutex::new(Seen { stamp, complained: false }) })))
    }

    /// Returns the path of the key file, which is used if the configuration contains no keys.
    #[must_use]
    pub fn key_file(data_dir: &Path) -> PathBuf {
        file::path(data_dir)
    }

    fn with(keys: Keyring, file: Option<KeyFile>) -> Self {
        Self(Arc::new(Inner { keys: RwLock::new(Arc::new(keys)), file }))
    }

    /// Creates a vault with this key, for tests.
    #[must_use]
    pub fn for_tests(key: [u8; 32]) -> Self {
        Self::with(Keyring::of(&[key]), None)
    }

    /// Returns the current keys of the file, or the previous ones if it cannot be read.
    fn keys(&self) -> Arc<Keyring> {
        if let Some(file) = &self.0.file {
            let mut seen = file.seen.lock().unwrap_or_else(PoisonError::into_inner);
            match self.read_again(&file.path, &mut seen.stamp) {
                Ok(()) => seen.complained = false,
                Err(_) if seen.complained => {}
                Err(error) => {
                    tracing::error!(error = format!("{error:#}"), "could not reload the master keys");
                    seen.complained = true;
                }
            }
        }
        self.0.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads the file if it has changed.
    fn read_again(&self, path: &Path, known: &mut Option<Stamp>) -> anyhow::Result<()> {
        let stamp = Stamp::of(path)?;
        if *known != Some(stamp) {
            *self.0.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(file::read(path)?);
            *known = Some(stamp);
        }
        Ok(())
    }

    /// Returns an authentication code for a message, the same on every node with the same keys.
    #[must_use]
    pub fn code(&self, purpose: Purpose, message: &[u8]) -> [u8; 32] {
        self.keys().code(purpose, message)
    }

    /// Returns whether `code` is a prefix of the message's code under any key, or was before keys were derived.
    ///
    /// Checks both for every message, not only for old ones: anyone who can make either code has the master key, and carriers keep
    /// old codes for as long as a number exists.
    #[must_use]
    pub fn verify(&self, purpose: Purpose, message: &[u8], code: &[u8]) -> bool {
        self.keys().verify(purpose, message, code)
    }

    /// Seals `plain`. It opens only under the same `context`, such as `connection/<tenant>/<id>`.
    #[must_use]
    pub fn seal(&self, context: &str, plain: &[u8]) -> Vec<u8> {
        self.keys().seal(context, plain, clock::random())
    }

    /// Opens a record sealed under the same `context`.
    ///
    /// # Errors
    /// If it was sealed with another key or context, or was changed.
    pub fn open(&self, context: &str, record: &[u8]) -> Result<Private<Vec<u8>>, VaultError> {
        self.keys().open(context, record)
    }

    /// Returns the key that sealed a record.
    #[must_use]
    pub fn sealed_by(&self, record: &[u8]) -> SealedBy {
        self.keys().sealed_by(record)
    }

    /// Returns whether there are old keys.
    #[must_use]
    pub fn has_old_keys(&self) -> bool {
        self.keys().has_old_keys()
    }

    /// Adds a new key at the start of the file. From then on all services seal with it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add_key(&self, lock: &KeyFileLock) -> anyhow::Result<()> {
        self.put(lock, |keys| keys.with_first(clock::random()))
    }

    /// Removes all keys but the first from the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn forget_old_keys(&self, lock: &KeyFileLock) -> anyhow::Result<()> {
        self.put(lock, Keyring::first_only)
    }

    fn put(&self, lock: &KeyFileLock, change: impl FnOnce(&Keyring) -> Keyring) -> anyhow::Result<()> {
        lock.replace(&change(&self.keys()))
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault([private])")
    }
}

#[cfg(test)]
mod tests;
