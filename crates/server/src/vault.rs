//! Secrets at rest: XChaCha20-Poly1305 under a master key that is not in the database.
//!
//! A record is `version (1) · key id (4) · nonce (24) · ciphertext and tag`. Everything before the nonce and the
//! *context*, which names the row that the secret belongs to, is authenticated too: a record copied to another row does
//! not open. The key id is the start of the key's SHA-256, so that a record says which key it needs.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use switchhook_core::api_key::Environment;
use switchhook_core::private::Private;

use crate::clock;
use crate::config::Config;
use crate::files;

const VERSION: u8 = 1;
const KEY_ID: usize = 4;
const NONCE: usize = 24;
const HEADER: usize = 1 + KEY_ID;
/// The file in the data directory that holds the master key when the configuration does not.
const KEY_FILE: &str = "master.key";

/// Seals and opens secrets. Clones share one key.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    cipher: XChaCha20Poly1305,
    key_id: [u8; KEY_ID],
    /// From which keys for other purposes are derived.
    root: [u8; 32],
}

/// Why a secret cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The record is not one of ours.
    #[error("the stored secret is not in a form that this version knows")]
    Malformed,
    /// It was sealed with another key.
    #[error("the stored secret was sealed with another master key; start the service with the key it had before")]
    OtherKey,
    /// It was changed, or belongs to another row.
    #[error("the stored secret was tampered with, or copied from another row")]
    Tampered,
}

impl Vault {
    /// With the configured master key, or with the one in the data directory, made there on the first start.
    ///
    /// # Errors
    /// When the key is malformed, unreadable, readable by others, or missing in production.
    pub fn from_config(config: &Config) -> anyhow::Result<Self> {
        let text = match &config.master_key {
            Some(key) => key.clone(),
            None if config.env == Environment::Prod => bail!(
                "SWITCHHOOK_MASTER_KEY is required when SWITCHHOOK_ENV=prod. Make one with `openssl rand -base64 32`, keep \
                 a copy in a safe place, and give the same one to every node."
            ),
            None => read_or_make_key_file(&config.data_dir)?,
        };
        Self::from_base64(&text)
    }

    /// Where the key is when the configuration does not hold it.
    #[must_use]
    pub fn key_file(data_dir: &Path) -> PathBuf {
        data_dir.join(KEY_FILE)
    }

    fn from_base64(text: &Private<String>) -> anyhow::Result<Self> {
        // The decoder's own words would quote a character of the key.
        let bytes = STANDARD.decode(text.reveal().trim()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(|key| Self::new(&key)).context("the master key must be base64 of 32 bytes: `openssl rand -base64 32`")
    }

    fn new(key: &[u8; 32]) -> Self {
        let mut key_id = [0; KEY_ID];
        key_id.copy_from_slice(&Sha256::digest(key)[..KEY_ID]);
        Self(Arc::new(Inner { cipher: XChaCha20Poly1305::new(key.into()), key_id, root: *key }))
    }

    /// With this key.
    #[cfg(test)]
    #[must_use]
    pub fn for_tests(key: [u8; 32]) -> Self {
        Self::new(&key)
    }

    /// A key for another purpose, the same on every node with the same master key: HMAC-SHA256 of the purpose's name.
    #[must_use]
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0.root).expect("HMAC takes keys of any length");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Seals `plain` so that it opens under the same `context` only, such as `connection/<tenant>/<id>`.
    #[must_use]
    pub fn seal(&self, context: &str, plain: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE] = clock::random();
        let mut record = vec![VERSION];
        record.extend_from_slice(&self.0.key_id);
        let aad = [&record, context.as_bytes()].concat();
        let sealed = self.0.cipher.encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &aad });
        record.extend_from_slice(&nonce);
        record.extend(sealed.expect("the cipher refuses only what is longer than 256 GiB"));
        record
    }

    /// Opens what was sealed under the same `context`.
    ///
    /// # Errors
    /// When it was sealed with another key, for another context, or changed since.
    pub fn open(&self, context: &str, record: &[u8]) -> Result<Private<Vec<u8>>, VaultError> {
        let (header, rest) = record.split_at_checked(HEADER).ok_or(VaultError::Malformed)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or(VaultError::Malformed)?;
        let nonce = <[u8; NONCE]>::try_from(nonce).map_err(|_| VaultError::Malformed)?;
        if header[0] != VERSION {
            return Err(VaultError::Malformed);
        }
        if header[1..] != self.0.key_id {
            return Err(VaultError::OtherKey);
        }
        let aad = [header, context.as_bytes()].concat();
        let opened = self.0.cipher.decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: &aad });
        opened.map(Private::new).map_err(|_| VaultError::Tampered)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault([private])")
    }
}

fn read_or_make_key_file(data_dir: &Path) -> anyhow::Result<Private<String>> {
    let path = Vault::key_file(data_dir);
    let named = || format!("the key file {}", path.display());
    if !path.try_exists().with_context(named)? {
        make_key_file(data_dir, &path).with_context(named)?;
    }
    let mode = fs::metadata(&path).with_context(named)?.permissions().mode();
    if mode & 0o077 != 0 {
        bail!("the key file {0} can be read by others: run `chmod 600 {0}`", path.display());
    }
    fs::read_to_string(&path).map(Private::new).with_context(named)
}

/// Makes the key under another name and links it into place, which fails when somebody else was faster: a key that has
/// been used is never replaced, and a half-written one never seen.
fn make_key_file(data_dir: &Path, path: &Path) -> std::io::Result<()> {
    files::private_folder(data_dir)?;
    let draft = data_dir.join(format!("{KEY_FILE}.{:032x}", u128::from_ne_bytes(clock::random())));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = writeln!(file, "{}", STANDARD.encode(clock::random::<32>())).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    fs::File::open(data_dir)?.sync_all()?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_for_its_own_row_and_key_only() {
        let vault = Vault::new(&[7; 32]);
        let record = vault.seal("connection/a/1", b"hunter2");
        assert_eq!(vault.open("connection/a/1", &record).expect("ours").reveal(), b"hunter2");
        assert_ne!(vault.seal("connection/a/1", b"hunter2"), record, "a nonce is never used twice");
        assert_eq!(vault.open("connection/b/1", &record).expect_err("another tenant's row"), VaultError::Tampered);
        assert_eq!(Vault::new(&[8; 32]).open("connection/a/1", &record).err(), Some(VaultError::OtherKey));
        for position in 0..record.len() {
            let mut changed = record.clone();
            changed[position] ^= 1;
            assert!(vault.open("connection/a/1", &changed).is_err(), "byte {position}");
        }
        assert_eq!(vault.open("x", &record[..10]).err(), Some(VaultError::Malformed));
    }

    #[test]
    fn the_key_file_is_made_once_however_many_start_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = folder.path().join("data");
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let data_dir = data_dir.clone();
                std::thread::spawn(move || read_or_make_key_file(&data_dir).expect("a key").into_inner())
            })
            .collect();
        let mut keys: Vec<_> = starts.into_iter().map(|start| start.join().expect("no panic")).collect();
        keys.dedup();
        assert_eq!(keys.len(), 1);
        let files: Vec<_> = fs::read_dir(&data_dir).expect("the folder").collect();
        assert_eq!(files.len(), 1, "no drafts are left");

        let path = data_dir.join(KEY_FILE);
        assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("our own file");
        let refusal =
            Vault::from_config(&Config::for_tests(&data_dir)).expect_err("the group could read it").to_string();
        assert!(refusal.contains("chmod 600"), "{refusal}");
    }

    #[test]
    fn production_needs_a_key_and_no_error_shows_it() {
        let mut config = Config::for_tests("/nonexistent");
        config.env = Environment::Prod;
        let refusal = Vault::from_config(&config).expect_err("no key").to_string();
        assert!(refusal.contains("SWITCHHOOK_MASTER_KEY"), "{refusal}");
        config.master_key = Some("c2VjcmV0IQ==".to_owned().into());
        let refusal = format!("{:?}", Vault::from_config(&config).expect_err("too short"));
        assert!(!refusal.contains("c2VjcmV0"), "{refusal}");
        config.master_key = Some(STANDARD.encode([1; 32]).into());
        assert!(Vault::from_config(&config).is_ok());
    }
}
