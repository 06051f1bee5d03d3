//! A new master key for what is sealed already, while services run.
//!
//! The new key comes first in the key file, on the disk, before anything is sealed with it. From then on everybody seals with it, and
//! the old ones open what is left. Each record is replaced only where it is still the one that was read, so that nothing that a
//! service writes meanwhile is undone. A rotation that was broken off leaves records of both keys, all of which open; the next one
//! goes on with the same key.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use serde::Serialize;
use switchhook_core::Timestamp;
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::Config;
use crate::store::sealed::{COLUMNS, Column, Record};
use crate::store::{Store, calls, sealed};
use crate::vault::{KeyFileLock, SealedBy, Vault};

/// Rows that are read, and replaced in one transaction.
const BATCH: i64 = 100;
/// How often all is looked through for what a service sealed with the old key in the meantime.
const PASSES: usize = 10;
/// How old a key has to be before those before it are forgotten: a request that sealed with one may still have to commit.
const SETTLED: Duration = Duration::from_secs(60);

/// What a rotation did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rotated {
    /// Whether it made a key, or went on with the one that is first.
    pub new_key: bool,
    /// Records that were sealed anew.
    pub resealed: u64,
    /// Records that none of the keys opens, as `table.column of id`.
    pub unreadable: Vec<String>,
    /// Whether keys are left that only open.
    pub old_keys: bool,
}

/// How far a rotation is: records done, and records in all.
pub type Report<'a> = dyn FnMut(u64, u64) + Send + 'a;

/// What a look through all records found.
#[derive(Default)]
struct Found {
    by_first_key: u64,
    by_old_keys: u64,
    resealed: u64,
    unreadable: Vec<String>,
}

/// Makes a new master key, unless the last rotation is not done, and seals everything anew with it.
///
/// # Errors
/// When the key file or the database fails, or when the keys are in the settings and there is no new one yet.
pub async fn rotate(store: &Store, config: &Config, report: &mut Report<'_>) -> anyhow::Result<Rotated> {
    let lock = lock(config)?;
    let vault = Vault::from_config(config)?;
    let found = look(store, &vault, false, &mut |_, _| {}).await?;
    if found.by_first_key + found.by_old_keys == 0 && !found.unreadable.is_empty() {
        bail!(
            "none of the {} stored secrets opens with the master key that was found: run this with the settings and the \
             data directory of the service",
            found.unreadable.len()
        );
    }
    let unfinished = found.by_old_keys > 0;
    match &lock {
        Some(lock) if !unfinished => vault.add_key(lock)?,
        None if !vault.has_old_keys() => bail!(
            "the master key is in the settings, so the new one has to be put there: make it with `openssl rand -base64 32`; set \
             SWITCHHOOK_MASTER_KEY to OLD,NEW on every node and restart each, then to NEW,OLD and restart each (all keys open, the \
             first one seals); then run this command with the same setting"
        ),
        _ => {}
    }
    let done = reseal(store, &vault, report).await?;
    Ok(Rotated { new_key: lock.is_some() && !unfinished, old_keys: vault.has_old_keys(), ..done })
}

/// Takes the keys that only open out of the key file, when nothing needs them any more.
///
/// # Errors
/// When something may still need them, the keys are in the settings, or the key file or the database fails.
pub async fn forget_old_keys(
    store: &Store,
    config: &Config,
    clock: &Clock,
    report: &mut Report<'_>,
) -> anyhow::Result<Rotated> {
    let Some(lock) = lock(config)? else {
        bail!(
            "the master keys are in the settings: when `switchhook rotate-master-key` has sealed everything with the first one, \
             take the others out of SWITCHHOOK_MASTER_KEY on every node"
        );
    };
    let vault = Vault::from_config(config)?;
    if !vault.has_old_keys() {
        return Ok(Rotated::default());
    }
    let changed = lock.changed()?.duration_since(UNIX_EPOCH).context("the key file is older than 1970")?;
    let changed = Timestamp::from_micros(i64::try_from(changed.as_micros())?);
    if clock.now() < changed + SETTLED {
        bail!(
            "the new key is younger than a minute: what is being written may still need the old one. Run this again later"
        );
    }
    let calls = calls::count_live_since_before_for_operator(&mut store.read().await?, changed).await?;
    if calls > 0 {
        bail!(
            "the carriers of {calls} live calls report to addresses that were made with the old key. Run this again when \
             the calls have ended"
        );
    }
    let done = reseal(store, &vault, report).await?;
    if !done.unreadable.is_empty() {
        bail!("the old keys are kept, since some secrets do not open: {}", done.unreadable.join(", "));
    }
    vault.forget_old_keys(&lock)?;
    Ok(done)
}

/// The right to change the key file; nothing when the keys are in the settings.
fn lock(config: &Config) -> anyhow::Result<Option<KeyFileLock>> {
    config.master_key.is_none().then(|| KeyFileLock::take(&config.data_dir)).transpose()
}

/// Looks through all records until all that open are sealed with the first key.
async fn reseal(store: &Store, vault: &Vault, report: &mut Report<'_>) -> anyhow::Result<Rotated> {
    let mut resealed = 0;
    for _ in 0..PASSES {
        let found = look(store, vault, true, report).await?;
        resealed += found.resealed;
        if found.by_old_keys == 0 {
            return Ok(Rotated { resealed, unreadable: found.unreadable, ..Rotated::default() });
        }
    }
    bail!("services go on sealing with an old key: check that all of them read the same key file, and run this again")
}

async fn look(store: &Store, vault: &Vault, act: bool, report: &mut Report<'_>) -> anyhow::Result<Found> {
    let mut total = 0;
    for column in COLUMNS {
        total += sealed::count_for_operator(&mut store.read().await?, column).await?;
    }
    let total = u64::try_from(total)?;
    let mut found = Found::default();
    let mut looked_at = 0;
    for column in COLUMNS {
        let mut after = Uuid::nil();
        loop {
            let page = sealed::page_for_operator(&mut store.read().await?, column, after, BATCH).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            looked_at += page.len() as u64;
            let anew = page.iter().filter_map(|record| found.judge(vault, column, record)).collect::<Vec<_>>();
            if act {
                found.resealed += replace(store, column, anew).await?;
            }
            report(looked_at, total.max(looked_at));
        }
    }
    Ok(found)
}

impl Found {
    /// Counts a record; what is to take its place, when it is not sealed as it should be.
    fn judge<'r>(&mut self, vault: &Vault, column: Column, record: &'r Record) -> Option<(&'r Record, Vec<u8>)> {
        let context = column.context(record.tenant_id, record.id);
        let Ok(plain) = vault.open(&context, &record.sealed) else {
            self.unreadable.push(format!("{}.{} of {}", column.table, column.name, record.id));
            return None;
        };
        match vault.sealed_by(&record.sealed) {
            SealedBy::FirstKey => {
                self.by_first_key += 1;
                return None;
            }
            SealedBy::FirstKeyUnderived => self.by_first_key += 1,
            SealedBy::OldKey | SealedBy::UnknownKey => self.by_old_keys += 1,
        }
        Some((record, vault.seal(&context, plain.reveal())))
    }
}

/// Puts new records in the places of those that are still there; how many were.
async fn replace(store: &Store, column: Column, anew: Vec<(&Record, Vec<u8>)>) -> Result<u64, sqlx::Error> {
    if anew.is_empty() {
        return Ok(0);
    }
    let mut replaced = 0;
    let mut tx = store.begin().await?;
    for (record, sealed) in anew {
        replaced += u64::from(sealed::replace_for_operator(&mut tx, column, record, &sealed).await?);
    }
    tx.commit().await?;
    Ok(replaced)
}
