//! API keys: `vk_<env>_<prefix>_<secret>`.
//!
//! The prefix is 12 random characters of `[a-z0-9]`; it is public and finds the key's row. The secret is 32 random
//! characters of `[0-9A-Za-z]` and six more that are the CRC-32 of everything before them. The checksum rejects mistyped and
//! invented keys without a query and lets secret scanners recognise real ones. Only the SHA-256 of the whole key is stored:
//! with 190 random bits there is nothing to guess, so a slow hash would add no security.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::wire::wire_words;

const PREFIX_LENGTH: usize = 12;
const RANDOM_LENGTH: usize = 32;
const CHECKSUM_LENGTH: usize = 6;

/// The digits of base 62, in order of their value.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The alphabet of a prefix: case-insensitive, so that it survives reading aloud and case-insensitive sorting.
const BASE36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

wire_words! {
    /// The environment of a key, visible at a glance.
    pub enum Environment {
        /// Development.
        Dev = "dev",
        /// Production.
        Prod = "prod",
    }
}

/// A new key. It is shown to its owner once and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    text: String,
}

impl ApiKey {
    /// Creates a key. `random` yields cryptographically random bytes, slightly more than one per character.
    #[must_use]
    pub fn generate(environment: Environment, mut random: impl FnMut() -> u8) -> Self {
        let mut text = format!("vk_{environment}_");
        text.extend((0..PREFIX_LENGTH).map(|_| random_digit(BASE36, &mut random)));
        text.push('_');
        text.extend((0..RANDOM_LENGTH).map(|_| random_digit(BASE62, &mut random)));
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Self { text }
    }

    /// Returns the whole key, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Returns the public part, for listings and look-ups.
    #[must_use]
    pub fn prefix(&self) -> &str {
        prefix_of(&self.text)
    }

    /// Returns the hash to store.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.text)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", self.prefix())
    }
}

/// A key from a request with a valid shape and checksum. Only the database knows whether it exists.
#[derive(Clone)]
pub struct PresentedKey<'a> {
    text: &'a str,
}

impl<'a> PresentedKey<'a> {
    /// Parses a key and checks its checksum.
    ///
    /// # Errors
    /// Fails if `text` cannot be a key of this service.
    pub fn parse(text: &'a str) -> Result<Self, MalformedKey> {
        let rest = text.strip_prefix("vk_").ok_or(MalformedKey)?;
        let (environment, rest) = rest.split_once('_').ok_or(MalformedKey)?;
        let (prefix, secret) = rest.split_once('_').ok_or(MalformedKey)?;
        let shaped = environment.parse::<Environment>().is_ok()
            && is_made_of(prefix, PREFIX_LENGTH, BASE36)
            && is_made_of(secret, RANDOM_LENGTH + CHECKSUM_LENGTH, BASE62);
        if !shaped {
            return Err(MalformedKey);
        }
        let (body, given) = text.split_at(text.len() - CHECKSUM_LENGTH);
        if checksum(body) == given { Ok(Self { text }) } else { Err(MalformedKey) }
    }

    /// Returns the public part, which finds the key's row.
    #[must_use]
    pub fn prefix(&self) -> &'a str {
        prefix_of(self.text)
    }

    /// Returns the hash to compare with the stored one.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(self.text)
    }
}

impl fmt::Debug for PresentedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PresentedKey({}…)", self.prefix())
    }
}

/// The text does not have the form of a key, or its checksum is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The API key is malformed. Send it complete, as `Authorization: Bearer vk_<env>_<prefix>_<secret>`.")]
pub struct MalformedKey;

/// The SHA-256 of a whole key. Compared in constant time.
#[derive(Clone, Copy)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Creates a hash from its row.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyHash {}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash([private])")
    }
}

fn prefix_of(key: &str) -> &str {
    key.split('_').nth(2).unwrap_or_default()
}

fn is_made_of(text: &str, length: usize, alphabet: &[u8]) -> bool {
    text.len() == length && text.bytes().all(|byte| alphabet.contains(&byte))
}

/// Draws one uniform digit: rejects bytes beyond the largest multiple of the base.
fn random_digit(alphabet: &[u8], random: &mut impl FnMut() -> u8) -> char {
    let base = alphabet.len();
    let fair = 256 - 256 % base;
    loop {
        let byte = usize::from(random());
        if byte < fair {
            return char::from(alphabet[byte % base]);
        }
    }
}

/// Returns the CRC-32 (as in zlib) of `text` in six digits of base 62, most significant first.
fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes()) as usize;
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[rest % 62];
        rest /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes that look random enough and cover all values.
    fn bytes() -> impl FnMut() -> u8 {
        let mut state = 1_u32;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }
    }

    #[test]
    fn a_new_key_has_its_shape_and_is_recognised() {
        let key = ApiKey::generate(Environment::Prod, bytes());
        let parts: Vec<&str> = key.reveal().split('_').collect();
        assert_eq!(parts[..2], ["vk", "prod"]);
        assert_eq!((parts[2].len(), parts[3].len(), parts.len()), (12, 38, 4));

        let presented = PresentedKey::parse(key.reveal()).expect("our own key");
        assert_eq!(presented.prefix(), key.prefix());
        assert_eq!(presented.hash(), key.hash());
        assert_ne!(presented.hash(), ApiKey::generate(Environment::Dev, bytes()).hash());
    }

    #[test]
    fn a_slip_in_any_character_is_noticed_without_a_database() {
        let key = ApiKey::generate(Environment::Dev, bytes());
        for position in 0..key.reveal().len() {
            let mut wrong = key.reveal().as_bytes().to_vec();
            wrong[position] = if wrong[position] == b'x' { b'y' } else { b'x' };
            let wrong = String::from_utf8(wrong).expect("ASCII");
            assert_eq!(PresentedKey::parse(&wrong).err(), Some(MalformedKey), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        let key = ApiKey::generate(Environment::Dev, bytes());
        let longer = format!("{}0", key.reveal());
        let spaced = format!(" {}", key.reveal());
        for bad in ["", "vk_", "vk_dev", "vk_dev_abc", "vk_test_abcdefghijkl_x", "vk_dev_äöü_secret", &longer, &spaced]
        {
            assert!(PresentedKey::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_digit_is_equally_likely() {
        // Each byte once, the largest first: 256 - 256 % 62 = 248 of them are used, so each digit comes four times.
        let mut next = 248_u16..;
        let mut all_bytes = || next.next().expect("endless") as u8;
        let mut counts = [0; 128];
        for _ in 0..248 {
            counts[random_digit(BASE62, &mut all_bytes) as usize] += 1;
        }
        assert!(BASE62.iter().all(|&digit| counts[usize::from(digit)] == 4));
    }

    #[test]
    fn the_checksum_is_the_crc_32_of_the_world() {
        // CRC-32 of "123456789" is 0xCBF43926 = 3421780262, the check value of the algorithm.
        assert_eq!(checksum("123456789"), "3jZRME");
    }

    #[test]
    fn a_key_does_not_print_its_secret() {
        let key = ApiKey::generate(Environment::Dev, bytes());
        let secret = key.reveal().rsplit('_').next().expect("a secret").to_owned();
        let presented = PresentedKey::parse(key.reveal()).expect("our own key");
        let printed = format!("{key:?} {presented:?} {:?}", key.hash());
        assert!(!printed.contains(&secret[..8]), "{printed}");
        assert!(printed.contains(key.prefix()));
    }
}
