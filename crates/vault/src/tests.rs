use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use super::*;

#[test]
fn a_secret_opens_for_its_own_row_and_key_only() {
    let vault = Vault::for_tests([7; 32]);
    let record = vault.seal("connection/a/1", b"hunter2");
    assert_eq!(vault.open("connection/a/1", &record).expect("ours").reveal(), b"hunter2");
    assert_ne!(vault.seal("connection/a/1", b"hunter2"), record, "a nonce is never used twice");
    assert_eq!(vault.open("connection/b/1", &record).expect_err("another tenant's row"), VaultError::Tampered);
    assert_eq!(Vault::for_tests([8; 32]).open("connection/a/1", &record).err(), Some(VaultError::OtherKey));
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
            std::thread::spawn(move || file::read_or_make(&data_dir).expect("a key").to_text().to_string())
        })
        .collect();
    let mut keys: Vec<_> = starts.into_iter().map(|start| start.join().expect("no panic")).collect();
    keys.dedup();
    assert_eq!(keys.len(), 1);
    let files: Vec<_> = fs::read_dir(&data_dir).expect("the folder").collect();
    assert_eq!(files.len(), 1, "no drafts are left");

    let path = Vault::key_file(&data_dir);
    assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("our own file");
    let refusal = Vault::with_file(&data_dir).expect_err("the group could read it").to_string();
    assert!(refusal.contains("chmod 600"), "{refusal}");
}

#[test]
fn no_error_shows_a_key() {
    let refusal = format!("{:?}", Vault::with_keys(&"c2VjcmV0IQ==".to_owned().into()).expect_err("too short"));
    assert!(!refusal.contains("c2VjcmV0"), "{refusal}");
    assert!(Vault::with_keys(&STANDARD.encode([1; 32]).into()).is_ok());
}

/// Seals a record as it was done before keys were derived.
fn sealed_with_the_master_key_itself(key: [u8; 32], context: &str, plain: &[u8]) -> Vec<u8> {
    let header = [&[1], &Sha256::digest(key)[..4]].concat();
    let nonce = [9; 24];
    let aad = [&header, context.as_bytes()].concat();
    let sealed = XChaCha20Poly1305::new((&key).into()).encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &aad });
    [header.as_slice(), &nonce, &sealed.expect("sealed")].concat()
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[test]
fn what_was_made_with_the_master_key_itself_still_counts_and_is_made_no_more() {
    let vault = Vault::for_tests([7; 32]);
    let old = sealed_with_the_master_key_itself([7; 32], "webhook/a/1", b"whsec");
    assert_eq!(vault.open("webhook/a/1", &old).expect("ours").reveal(), b"whsec");
    assert_eq!(vault.open("webhook/b/1", &old).err(), Some(VaultError::Tampered));
    let new = vault.seal("webhook/a/1", b"whsec");
    assert_eq!([&old, &new].map(|record| vault.sealed_by(record)), [SealedBy::FirstKeyUnderived, SealedBy::FirstKey]);
    let relabelled = [&[1], &new[1..]].concat();
    assert_eq!(vault.open("webhook/a/1", &relabelled).err(), Some(VaultError::Tampered), "it is under another key");

    let old = hmac(&hmac(&[7; 32], b"carrier addresses"), b"call 7");
    let new = vault.code(Purpose::CarrierAddresses, b"call 7");
    assert_ne!(old, new);
    for code in [old, new] {
        assert!(vault.verify(Purpose::CarrierAddresses, b"call 7", &code[..16]));
        assert!(!vault.verify(Purpose::CarrierAddresses, b"call 8", &code[..16]));
        assert!(!Vault::for_tests([8; 32]).verify(Purpose::CarrierAddresses, b"call 7", &code[..16]));
    }
    assert!(!vault.verify(Purpose::CarrierAddresses, b"call 7", &[]), "nothing is no code");
}

#[test]
fn a_service_that_runs_learns_a_new_key_from_the_file_and_forgets_an_old_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let [writer, reader, command] = [(); 3].map(|()| Vault::with_file(folder.path()).expect("a key file"));
    let record = writer.seal("connection/a/1", b"hunter2");
    let code = writer.code(Purpose::CarrierAddresses, b"call 7");

    let lock = KeyFileLock::take(folder.path()).expect("nobody else has it");
    assert!(KeyFileLock::take(folder.path()).is_err(), "one command at a time");
    command.add_key(&lock).expect("written");
    let resealed = writer.seal("connection/a/1", b"hunter2");
    assert_eq!([&record, &resealed].map(|record| command.sealed_by(record)), [SealedBy::OldKey, SealedBy::FirstKey]);
    for record in [&record, &resealed] {
        assert_eq!(reader.open("connection/a/1", record).expect("either key").reveal(), b"hunter2");
    }
    let recoded = writer.code(Purpose::CarrierAddresses, b"call 7");
    assert_ne!(code, recoded);
    assert!([code, recoded].iter().all(|code| reader.verify(Purpose::CarrierAddresses, b"call 7", code)));

    command.forget_old_keys(&lock).expect("written");
    assert!(Vault::with_file(folder.path()).expect("one key").open("connection/a/1", &record).is_err());
    let mode = fs::metadata(Vault::key_file(folder.path())).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "no drafts are left");
}

#[test]
fn several_keys_in_the_settings_all_open_and_the_first_one_seals() {
    let [old, new] = [[1; 32], [2; 32]];
    let with = |keys: &[[u8; 32]]| {
        let keys = keys.iter().map(|key| STANDARD.encode(key)).collect::<Vec<_>>().join(",");
        Vault::with_keys(&keys.into()).expect("valid")
    };
    let record = with(&[old, new]).seal("x", b"plain");
    assert_eq!(with(&[new, old]).open("x", &record).expect("an old key opens").reveal(), b"plain");
    assert_eq!(with(&[new]).open("x", &record).err(), Some(VaultError::OtherKey));
    assert_eq!(with(&[old]).open("x", &record).expect("the first key seals").reveal(), b"plain");
}
