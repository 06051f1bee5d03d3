//! The master keys in use, and the keys derived from them.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use switchhook_core::private::Private;
use zeroize::Zeroizing;

use super::{Purpose, VaultError};

/// The version of records sealed with the master key itself: still opened, no longer written.
const UNDERIVED: u8 = 1;
/// The version of records sealed with a derived key.
const DERIVED: u8 = 2;
const KEY_ID: usize = 4;
const NONCE: usize = 24;
const HEADER: usize = 1 + KEY_ID;

/// The derivation context of the record key (RFC 5869, `info`).
const RECORDS: &str = "switchhook records v2";

/// One or more keys: the first one seals, all open.
pub(super) struct Keyring(Vec<MasterKey>);

/// 32 random bytes that seal nothing themselves: each purpose has its own key, derived with HKDF-SHA256.
struct MasterKey {
    bytes: Zeroizing<[u8; 32]>,
    id: [u8; KEY_ID],
    records: XChaCha20Poly1305,
}

/// The key that sealed a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedBy {
    /// The current key.
    FirstKey,
    /// The first master key itself, from before keys were derived.
    FirstKeyUnderived,
    /// An old key.
    OldKey,
    /// An unknown key.
    UnknownKey,
}

impl Keyring {
    /// Parses base64 keys, separated by commas or whitespace.
    pub(super) fn parse(text: &Private<String>) -> anyhow::Result<Self> {
        let words = text.reveal().split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
        let keys = words.map(MasterKey::parse).collect::<Option<Vec<_>>>().filter(|keys| !keys.is_empty());
        // The decoder's own error would quote a character of the key.
        keys.map(Self).context("the master key must be base64 of 32 bytes: `openssl rand -base64 32`")
    }

    pub(super) fn of(keys: &[[u8; 32]]) -> Self {
        Self(keys.iter().map(MasterKey::new).collect())
    }

    /// Adds a key before all others.
    pub(super) fn with_first(&self, key: [u8; 32]) -> Self {
        let old = self.0.iter().map(|key| *key.bytes);
        Self::of(&std::iter::once(key).chain(old).collect::<Vec<_>>())
    }

    /// Returns only the first key.
    pub(super) fn first_only(&self) -> Self {
        Self::of(&[*self.first().bytes])
    }

    pub(super) fn has_old_keys(&self) -> bool {
        self.0.len() > 1
    }

    /// Formats the keys for [`Keyring::parse`], one per line.
    pub(super) fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(self.0.iter().map(|key| format!("{}\n", STANDARD.encode(*key.bytes))).collect())
    }

    fn first(&self) -> &MasterKey {
        self.0.first().expect("a keyring always has a key")
    }

    pub(super) fn seal(&self, context: &str, plain: &[u8], nonce: [u8; NONCE]) -> Vec<u8> {
        let mut record = vec![DERIVED];
        record.extend_from_slice(&self.first().id);
        let aad = [&record, context.as_bytes()].concat();
        let sealed = self.first().records.encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &aad });
        record.extend_from_slice(&nonce);
        record.extend(sealed.expect("the cipher refuses only what is longer than 256 GiB"));
        record
    }

    pub(super) fn open(&self, context: &str, record: &[u8]) -> Result<Private<Vec<u8>>, VaultError> {
        let (header, rest) = record.split_at_checked(HEADER).ok_or(VaultError::Malformed)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or(VaultError::Malformed)?;
        let nonce = <[u8; NONCE]>::try_from(nonce).map_err(|_| VaultError::Malformed)?;
        let (version, id) = (header[0], &header[1..]);
        if ![UNDERIVED, DERIVED].contains(&version) {
            return Err(VaultError::Malformed);
        }
        let key = self.0.iter().find(|key| key.id == id).ok_or(VaultError::OtherKey)?;
        let cipher = if version == UNDERIVED { &key.underived() } else { &key.records };
        let aad = [header, context.as_bytes()].concat();
        let opened = cipher.decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: &aad });
        opened.map(Private::new).map_err(|_| VaultError::Tampered)
    }

    pub(super) fn sealed_by(&self, record: &[u8]) -> SealedBy {
        let id = record.get(1..HEADER).unwrap_or_default();
        match (record.first(), self.0.iter().position(|key| key.id == id)) {
            (Some(&DERIVED), Some(0)) => SealedBy::FirstKey,
            (Some(&UNDERIVED), Some(0)) => SealedBy::FirstKeyUnderived,
            (_, Some(_)) => SealedBy::OldKey,
            (_, None) => SealedBy::UnknownKey,
        }
    }

    pub(super) fn code(&self, purpose: Purpose, message: &[u8]) -> [u8; 32] {
        self.first().mac(purpose, message).finalize().into_bytes().into()
    }

    /// Returns whether any key produces this code, or did before keys were derived. Constant time per key, so that no code
    /// can be found byte by byte.
    pub(super) fn verify(&self, purpose: Purpose, message: &[u8], code: &[u8]) -> bool {
        let is_of = |mac: Hmac<Sha256>| mac.verify_truncated_left(code).is_ok();
        let of_key = |key: &MasterKey| is_of(key.mac(purpose, message)) || is_of(key.underived_mac(purpose, message));
        self.0.iter().any(of_key)
    }
}

impl MasterKey {
    fn parse(word: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(word).ok()?);
        <&[u8; 32]>::try_from(bytes.as_slice()).ok().map(Self::new)
    }

    fn new(bytes: &[u8; 32]) -> Self {
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&Sha256::digest(bytes)[..KEY_ID]);
        let mut key = Self { bytes: Zeroizing::new(*bytes), id, records: XChaCha20Poly1305::new(bytes.into()) };
        key.records = XChaCha20Poly1305::new((&*key.derived(RECORDS)).into());
        key
    }

    fn derived(&self, context: &str) -> Zeroizing<[u8; 32]> {
        let mut derived = Zeroizing::new([0; 32]);
        let expanded = Hkdf::<Sha256>::new(None, &*self.bytes).expand(context.as_bytes(), &mut *derived);
        expanded.expect("HKDF-SHA256 yields up to 8160 bytes");
        derived
    }

    fn underived(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }

    fn mac(&self, purpose: Purpose, message: &[u8]) -> Hmac<Sha256> {
        mac(&*self.derived(purpose.context()), message)
    }

    fn underived_mac(&self, purpose: Purpose, message: &[u8]) -> Hmac<Sha256> {
        let name = purpose.name_before_derivation().as_bytes();
        let key: Zeroizing<[u8; 32]> = Zeroizing::new(mac(&*self.bytes, name).finalize().into_bytes().into());
        mac(&*key, message)
    }
}

fn mac(key: &[u8], message: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac
}
