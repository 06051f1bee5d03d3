//! Rotates the master key while services run.
//!
//! The new key is written to the start of the key file, durably, before it seals anything. From then on all services seal with it,
//! and the old keys open existing records. A record is replaced only if it is still the one that was read, so concurrent writes
//! are never undone. An interrupted rotation leaves records of both keys, which all open; the next run continues with the same
//! new key.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use serde::Serialize;
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;
use switchhook_vault::{KeyFileLock, SealedBy, Vault};
use uuid::Uuid;

use crate::config::Config;
use crate::store::sealed::{COLUMNS, Column, Record};
use crate::store::{Store, calls, sealed};

/// Rows per transaction.
const BATCH: i64 = 100;
/// Maximum passes over all records, for those that services sealed with the old key meanwhile.
const PASSES: usize = 10;
/// Minimum age of a key before old keys are forgotten: a request that sealed with one may not have committed yet.
const MIN_KEY_AGE: Duration = Duration::from_secs(60);

/// The result of a rotation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rotated {
    /// Whether it created a key, or continued with the first one.
    pub new_key: bool,
    /// Resealed records.
    pub resealed: u64,
    /// Records that no key opens, as `table.column of id`.
    pub unreadable: Vec<String>,
    /// Whether old keys remain.
    pub old_keys: bool,
}

/// Progress of a rotation: records done, and total records.
pub type OnProgress<'a> = dyn FnMut(u64, u64) + Send + 'a;

/// The result of a pass over all records.
#[derive(Default)]
struct PassResult {
    by_first_key: u64,
    by_old_keys: u64,
    resealed: u64,
    unreadable: Vec<String>,
}

/// Creates a new master key, unless the last rotation is incomplete, and reseals everything with it.
///
/// # Errors
/// If the key file or the database fails, or if the keys are in the settings without a new one.
pub async fn rotate(store: &Store, config: &Config, report: &mut OnProgress<'_>) -> anyhow::Result<Rotated> {
    let lock = lock(config)?;
    let vault = config.open_vault()?;
    let found = run_pass(store, &vault, false, &mut |_, _| {}).await?;
    if found.by_first_key + found.by_old_keys == 0 && !found.unreadable.is_empty() {
        bail!(
            "none of the {} stored secrets opens with the configured master key: run this with the settings and the \
             data directory of the service",
            found.unreadable.len()
        );
    }
    let unfinished = found.by_old_keys > 0;
    match &lock {
        Some(lock) if !unfinished => vault.add_key(lock)?,
        None if !vault.has_old_keys() => bail!(
            "the master key is in the settings, so set the new one there: create it with `openssl rand -base64 32`; set \
             SWITCHHOOK_MASTER_KEY to OLD,NEW on every node and restart each, then to NEW,OLD and restart each (all keys open, the \
             first one seals); then run this command with the same setting"
        ),
        _ => {}
    }
    let done = reseal(store, &vault, report).await?;
    Ok(Rotated { new_key: lock.is_some() && !unfinished, old_keys: vault.has_old_keys(), ..done })
}

/// Removes the old keys from the key file if nothing needs them any longer.
///
/// # Errors
/// If something may still need them, the keys are in the settings, or the key file or the database fails.
pub async fn forget_old_keys(
    store: &Store,
    config: &Config,
    clock: &Clock,
    report: &mut OnProgress<'_>,
) -> anyhow::Result<Rotated> {
    let Some(lock) = lock(config)? else {
        bail!(
            "the master keys are in the settings: when `switchhook rotate-master-key` has sealed everything with the first one, \
             take the others out of SWITCHHOOK_MASTER_KEY on every node"
        );
    };
    let vault = config.open_vault()?;
    if !vault.has_old_keys() {
        return Ok(Rotated::default());
    }
    let changed = lock.changed()?.duration_since(UNIX_EPOCH).context("the key file is older than 1970")?;
    let changed = Timestamp::from_micros(i64::try_from(changed.as_micros())?);
    if clock.now() < changed + MIN_KEY_AGE {
        bail!(
            "the new key is less than a minute old: writes in flight may still need the old one. Run this again later"
        );
    }
    let calls = calls::count_live_since_before_for_operator(&mut store.read().await?, changed).await?;
    if calls > 0 {
        bail!(
            "{calls} live calls use carrier addresses made with the old key. Run this again when \
             the calls have ended"
        );
    }
    let done = reseal(store, &vault, report).await?;
    if !done.unreadable.is_empty() {
        bail!("the old keys are kept because some secrets do not open: {}", done.unreadable.join(", "));
    }
    vault.forget_old_keys(&lock)?;
    Ok(done)
}

/// Locks the key file; `None` if the keys are in the settings.
fn lock(config: &Config) -> anyhow::Result<Option<KeyFileLock>> {
    config.master_key.is_none().then(|| KeyFileLock::take(&config.data_dir)).transpose()
}

/// Repeats passes until every readable record is sealed with the first key.
async fn reseal(store: &Store, vault: &Vault, report: &mut OnProgress<'_>) -> anyhow::Result<Rotated> {
    let mut resealed = 0;
    for _ in 0..PASSES {
        let found = run_pass(store, vault, true, report).await?;
        resealed += found.resealed;
        if found.by_old_keys == 0 {
            return Ok(Rotated { resealed, unreadable: found.unreadable, ..Rotated::default() });
        }
    }
    bail!("services still seal with an old key: check that all of them read the same key file, and run this again")
}

async fn run_pass(store: &Store, vault: &Vault, act: bool, report: &mut OnProgress<'_>) -> anyhow::Result<PassResult> {
    let mut total = 0;
    for column in COLUMNS {
        total += sealed::count_for_operator(&mut store.read().await?, column).await?;
    }
    let total = u64::try_from(total)?;
    let mut found = PassResult::default();
    let mut looked_at = 0;
    for column in COLUMNS {
        let mut after = Uuid::nil();
        loop {
            let page = sealed::page_for_operator(&mut store.read().await?, column, after, BATCH).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            looked_at += page.len() as u64;
            let resealed = page.iter().filter_map(|record| found.judge(vault, column, record)).collect::<Vec<_>>();
            if act {
                found.resealed += replace(store, column, resealed).await?;
            }
            report(looked_at, total.max(looked_at));
        }
    }
    Ok(found)
}

impl PassResult {
    /// Counts a record; returns its replacement if it needs resealing.
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

/// Replaces records that are unchanged; returns their number.
async fn replace(store: &Store, column: Column, resealed: Vec<(&Record, Vec<u8>)>) -> Result<u64, sqlx::Error> {
    if resealed.is_empty() {
        return Ok(0);
    }
    let mut replaced = 0;
    let mut tx = store.begin().await?;
    for (record, sealed) in resealed {
        replaced += u64::from(sealed::replace_for_operator(&mut tx, column, record, &sealed).await?);
    }
    tx.commit().await?;
    Ok(replaced)
}
