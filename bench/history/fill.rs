//! A database with a past, in the schema that it had then: the service migrates it when it starts.

use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use sqlx::migrate::Migrator;
use switchhook::config::Config;
use switchhook_core::api_key::{ApiKey, Environment};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock::Clock;

use crate::support::database::Database;

/// The version of the schema that is filled.
const SCHEMA: i64 = 5;
/// Calls written in one transaction.
const BATCH: u64 = 10_000;
pub(crate) const DAY: i64 = 24 * 3600 * 1_000_000;
/// Over how long the calls are spread.
pub(crate) const YEAR: i64 = 365 * DAY;
/// How long idempotency records are kept.
const KEYS_KEPT: i64 = 3 * DAY;

pub(crate) const TENANT: &str = "01900000-0000-7000-8000-000000000001";
const API_KEY: &str = "01900000-0000-7000-8000-000000000002";
const CARRIER: &str = "01900000-0000-7000-8000-000000000003";
const SCRIPTED: &str = "01900000-0000-7000-8000-000000000004";
/// Wants every event of a call but the last two.
pub(crate) const PROGRESS_WEBHOOK: &str = "01900000-0000-7000-8000-000000000005";
/// Wants `carrier.hangup`, `call.completed` and `call.failed`.
pub(crate) const END_WEBHOOK: &str = "01900000-0000-7000-8000-000000000006";
/// The prefix of agents' ids; twelve digits follow.
pub(crate) const AGENTS: &str = "01900000-0001-7000-8000-";
/// As [`AGENTS`]: agent N only talks over number N.
pub(crate) const NUMBERS: &str = "01900000-0002-7000-8000-";
const NODES: &str = "01900000-0003-7000-8000-";
/// The number at the other end of one call in twenty.
pub(crate) const OFTEN_CALLED: &str = "+13035550000";

/// The functions of SQLite that PostgreSQL lacks, as far as the statements use them.
const SHIMS: &str = "CREATE FUNCTION printf(format text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \
    $$ SELECT lpad(to_hex(n), CAST(substr(format, 2, length(format) - 2) AS int), '0') $$; \
    CREATE FUNCTION unhex(digits text, ignored text) RETURNS uuid LANGUAGE sql IMMUTABLE AS \
    $$ SELECT CAST(digits AS uuid) $$; \
    SET session_replication_role = replica; SET synchronous_commit = off";
const WITHOUT_SHIMS: &str = "DROP FUNCTION printf; DROP FUNCTION unhex";

/// The tenant's key, the same one in every filled database.
pub(crate) fn key() -> ApiKey {
    let mut bytes = 0..=u8::MAX;
    ApiKey::generate(Environment::Dev, move || bytes.next().unwrap_or_default())
}

/// Returns when the first call was placed in a database that is filled now.
pub(crate) fn start() -> i64 {
    // No call of the past ends in the future.
    Clock::system().now().as_micros() - YEAR - 600_000_000
}

/// Makes a database at `url` with so many ended calls of one tenant. The folder gets the master key that its secrets are sealed with.
pub(crate) async fn fill(folder: &Path, url: &str, calls: u64) -> anyhow::Result<()> {
    anyhow::ensure!(calls > 0, "a past has at least one call");
    let mut database = Database::open(url).await?;
    migrate(&mut database).await?;
    let prepare = match &database {
        Database::Sqlite(_) => {
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; \
             PRAGMA cache_size = -500000"
        }
        Database::Postgres(_) => SHIMS,
    };
    database.run(prepare.to_owned()).await?;
    let words = Words::new(&database, folder, calls)?;
    database.run(words.put_into(include_str!("seed.sql"))).await?;
    let bar =
        ProgressBar::new(calls).with_style(ProgressStyle::with_template("{bar:40} {pos} of {len} calls, {eta} left")?);
    let batch = words.put_into(include_str!("batch.sql"));
    let mut from = 0;
    while from < calls {
        let to = (from + BATCH).min(calls);
        let batch = batch.replace("{from}", &from.to_string()).replace("{to}", &to.to_string());
        database.run(format!("BEGIN; {batch} COMMIT")).await?;
        bar.set_position(to);
        from = to;
    }
    bar.finish_and_clear();
    settle(&mut database, url).await
}

async fn migrate(database: &mut Database) -> anyhow::Result<()> {
    let upto = |migrator: Migrator| {
        let known = migrator.iter().filter(|migration| migration.version <= SCHEMA).cloned();
        Migrator::with_migrations(known.collect())
    };
    match database {
        Database::Sqlite(connection) => upto(sqlx_macros::migrate!("migrations/sqlite")).run(connection).await?,
        Database::Postgres(connection) => upto(sqlx_macros::migrate!("migrations/postgres")).run(connection).await?,
    }
    Ok(())
}

/// Leaves the database as one in use is: on the disk, and on PostgreSQL vacuumed and analysed.
async fn settle(database: &mut Database, url: &str) -> anyhow::Result<()> {
    if let Some(file) = url.strip_prefix("sqlite://") {
        return Ok(std::fs::File::open(file)?.sync_all()?);
    }
    database.run(WITHOUT_SHIMS.to_owned()).await?;
    database.run("VACUUM (ANALYZE)".to_owned()).await?;
    database.run("CHECKPOINT".to_owned()).await
}

/// The values for the names in braces in the statements.
struct Words(Vec<(&'static str, String)>);

impl Words {
    fn new(database: &Database, folder: &Path, calls: u64) -> anyhow::Result<Self> {
        let (is_sqlite, start) = (matches!(database, Database::Sqlite(_)), start());
        let bytes = |bytes: &[u8]| {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            if is_sqlite { format!("X'{digits}'") } else { format!("'\\x{digits}'") }
        };
        let vault = Config::for_tests(folder).open_vault()?;
        let secret = SigningSecret::generate([9; 32]);
        let sealed = |webhook| bytes(&vault.seal(&format!("webhook/{TENANT}/{webhook}"), secret.reveal().as_bytes()));
        let (key, calls) = (key(), i64::try_from(calls)?);
        Ok(Self(vec![
            ("{tenant}", TENANT.to_owned()),
            ("{api_key}", API_KEY.to_owned()),
            ("{carrier}", CARRIER.to_owned()),
            ("{scripted}", SCRIPTED.to_owned()),
            ("{progress_webhook}", PROGRESS_WEBHOOK.to_owned()),
            ("{end_webhook}", END_WEBHOOK.to_owned()),
            ("{agents}", AGENTS.to_owned()),
            ("{numbers}", NUMBERS.to_owned()),
            ("{nodes}", NODES.to_owned()),
            ("{often_called}", OFTEN_CALLED.to_owned()),
            ("{key_prefix}", key.prefix().to_owned()),
            ("{key_hash}", bytes(key.hash().as_bytes())),
            ("{progress_secret}", sealed(PROGRESS_WEBHOOK)),
            ("{end_secret}", sealed(END_WEBHOOK)),
            ("{start}", start.to_string()),
            ("{step}", (YEAR / calls).to_string()),
            ("{half}", (calls / 2).to_string()),
            ("{keys_since}", (start + YEAR - KEYS_KEPT).to_string()),
            ("{JSON}", if is_sqlite { "TEXT" } else { "JSONB" }.to_owned()),
            ("{BYTES}", if is_sqlite { "BLOB" } else { "BYTEA" }.to_owned()),
        ]))
    }

    fn put_into(&self, sql: &str) -> String {
        self.0.iter().fold(sql.to_owned(), |sql, (name, value)| sql.replace(name, value))
    }
}

/// Copies a data directory that was filled before; on SQLite that is the whole past.
pub(crate) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for file in ["switchhook.db", "master.key"] {
        let from = from.join(file);
        std::fs::copy(&from, to.join(file)).with_context(|| format!("{} could not be copied", from.display()))?;
    }
    Ok(std::fs::File::open(to.join("switchhook.db"))?.sync_all()?)
}
