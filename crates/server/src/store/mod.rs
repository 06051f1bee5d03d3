//! The database: one file per table, one query text for both engines.
//!
//! A query is written once in the SQL that SQLite (3.35 and later) and PostgreSQL share, and run through [`on!`], which
//! expands it for either driver. Reads take a [`Conn`]; writes take a [`Tx`], which derefs to a `Conn`:
//!
//! ```text
//! let mut tx = store.begin().await?;
//! calls::lock(&mut tx, tenant, id).await?;
//! calls::request_hangup(&mut tx, tenant, id, now).await?;
//! tx.commit().await?;
//! ```
//!
//! Every function for customers takes a tenant; functions for workers say so in their names.

pub mod agents;
pub mod api_keys;
mod away;
pub mod bounds;
mod budget;
pub mod calls;
mod columns;
pub mod connections;
mod copy;
pub mod deactivation;
pub mod deliveries;
pub mod dial_policy;
mod erasure;
pub mod events;
pub mod group_commit;
pub mod idempotency;
pub mod inspect;
pub mod invitations;
pub mod lease_time;
pub mod memberships;
pub mod numbers;
pub mod page;
pub mod people;
mod pooling;
mod postgres;
pub mod rate;
pub mod refusals;
pub mod retention;
pub mod sealed;
pub mod sessions;
mod sqlite;
pub mod statistics;
mod symptoms;
pub mod tenants;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod untrusted;
pub mod webhooks;

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
pub use away::{is_unavailable, why_unwritable};
pub use budget::{Budget, TooFew, USUAL as USUAL_CONNECTIONS};
pub(crate) use columns::columns;
pub use copy::{PostgresTools, check_copy};
pub use pooling::{Pooling, UnusablePooler};
pub use postgres::{ReadOnly, WrongEncoding};
use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPool;
use sqlx::{Database, Encode, PgConnection, Postgres, QueryBuilder, Sqlite, SqliteConnection, SqlitePool, Type};
pub use symptoms::Symptom;
use symptoms::Symptoms;
pub use untrusted::ForeignPrograms;
use uuid::Uuid;

/// Runs an expression with `$c` bound to the connection of the current engine.
macro_rules! on {
    ($conn:expr, |$c:ident| $body:expr) => {
        match $conn.engine() {
            $crate::store::Engine::Sqlite($c) => $body,
            $crate::store::Engine::Postgres($c) => $body,
        }
    };
}
pub(crate) use on;

/// Runs a query of sqlx with the parameters bound: `run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())`.
macro_rules! run {
    ($conn:expr, $query:ident.$fetch:ident, $sql:expr $(; $($bind:expr),+)?) => {
        $crate::store::on!($conn, |c| sqlx::$query($sql)$($(.bind($bind))+)?.$fetch(c).await)
    };
}
pub(crate) use run;

/// Adds a locking clause to a query of PostgreSQL. SQLite serialises transactions.
macro_rules! locking {
    ($tx:expr, $sql:expr, $clause:literal) => {
        if $tx.dialect() == $crate::store::Dialect::Postgres { concat!($sql, $clause) } else { $sql }
    };
}
pub(crate) use locking;

/// Executes a statement with the parameters bound and returns how many rows it changed.
macro_rules! execute {
    ($conn:expr, $sql:expr $(; $($bind:expr),+)?) => {
        $crate::store::on!($conn, |c| sqlx::query($sql)$($(.bind($bind))+)?.execute(c).await.map(|done| done.rows_affected()))
    };
}
pub(crate) use execute;

/// Database timeout of workers, shorter than a lease. See [`in_time`].
const WORKER_TIMEOUT: Duration = Duration::from_secs(10);

/// The database. Clones share connections.
#[derive(Clone, Debug)]
pub struct Store(Backend);

#[derive(Clone, Debug)]
enum Backend {
    Sqlite { readers: SqlitePool, writer: sqlite::Writer, file: sqlite::DatabaseFile },
    Postgres { pool: PgPool, budget: Budget, pooling: Pooling, symptoms: Symptoms },
}

/// The database engine, for the few statements that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.35 or later.
    Sqlite,
    /// PostgreSQL 13 or later.
    Postgres,
}

/// The connection behind a [`Conn`], as [`on!`] sees it.
pub enum Engine<'c> {
    /// A connection to SQLite.
    Sqlite(&'c mut SqliteConnection),
    /// A connection to PostgreSQL.
    Postgres(&'c mut PgConnection),
}

/// A connection for reads.
#[derive(Debug)]
pub struct Conn(Inner);

#[derive(Debug)]
enum Inner {
    SqliteReader(PoolConnection<Sqlite>),
    SqliteWriter(sqlite::WriteTurn),
    PostgresReader(PoolConnection<Postgres>),
    PostgresWriter(sqlx::Transaction<'static, Postgres>),
}

/// A transaction. Dropping it without [`Tx::commit`] rolls it back.
#[derive(Debug)]
pub struct Tx(Conn);

/// Checks a schema that must not be migrated over its address.
fn up_to_date(schema: inspect::Schema) -> anyhow::Result<()> {
    let inspect::Schema { version, newest } = schema;
    anyhow::ensure!(
        version >= newest,
        "the pooler at this address works in transaction mode, and the lock of a migration needs a session of its own: run \
         `switchhook migrate --database-url ADDRESS` with the address of PostgreSQL itself, and start again"
    );
    anyhow::ensure!(
        version == newest,
        "the database has the schema {version}, and this version of Switchhook has {newest}: install the version of the other nodes"
    );
    Ok(())
}

impl Store {
    /// Opens the database at `url` (`sqlite://path`, `sqlite::memory:` is not supported, or `postgres://…`) and migrates its schema.
    ///
    /// # Errors
    /// If the URL is invalid, the database cannot be reached, or its schema is newer than this program.
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        Self::open_within(url, USUAL_CONNECTIONS).await
    }

    /// The same for a node that may open up to `most` connections to PostgreSQL.
    ///
    /// # Errors
    /// Like [`Store::open`], or if PostgreSQL has too few connections.
    pub async fn open_within(url: &str, most: u32) -> anyhow::Result<Self> {
        let store = Self::connect_within(url, most).await?;
        store.migrate().await.context("could not migrate the database schema")?;
        Ok(store)
    }

    /// Opens the database of a service that this program may not migrate: the service may be of an earlier version and running.
    ///
    /// # Errors
    /// Like [`Store::open`], or if its schema is not that of this program.
    pub async fn open_migrated(url: &str) -> anyhow::Result<Self> {
        let store = Self::connect_existing(url).await?;
        let schema =
            inspect::schema(&mut store.read().await?).await.context("could not read the version of the schema")?;
        anyhow::ensure!(
            schema.version > 0,
            "there is nothing in the database: create a tenant with `switchhook tenant create NAME`, or start a service"
        );
        anyhow::ensure!(
            schema.version == schema.newest,
            "the database has the schema {}, and this version of Switchhook has {}: use the version of the service, or start a service of \
             this one (`switchhook migrate` does what its start does)",
            schema.version,
            schema.newest
        );
        Ok(store)
    }

    /// Opens the database at `url` without creating or migrating it.
    async fn connect_existing(url: &str) -> anyhow::Result<Self> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            let exists = Path::new(path).try_exists();
            anyhow::ensure!(
                exists.with_context(|| format!("could not open the database file {path}"))?,
                "there is no database {path}: pass the --data-dir of the service, or create a tenant with `switchhook tenant create NAME`"
            );
        }
        Self::connect(url).await
    }

    /// Opens the database at `url` without migrating its schema.
    ///
    /// # Errors
    /// Like [`Store::open`].
    pub async fn connect(url: &str) -> anyhow::Result<Self> {
        Self::connect_within(url, USUAL_CONNECTIONS).await
    }

    /// The same for a node that may open up to `most` connections to PostgreSQL.
    ///
    /// # Errors
    /// Like [`Store::open_within`].
    pub async fn connect_within(url: &str, most: u32) -> anyhow::Result<Self> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            let (readers, writer, file) = sqlite::open(Path::new(path)).await?;
            Ok(Self(Backend::Sqlite { readers, writer, file }))
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let symptoms = Symptoms::default();
            let (pool, budget, pooling) = postgres::open(url, most, symptoms.clone()).await?;
            Ok(Self(Backend::Postgres { pool, budget, pooling, symptoms }))
        } else {
            anyhow::bail!("the database URL must start with sqlite:// or postgres://")
        }
    }

    /// Returns how many connections each kind of work may have.
    #[must_use]
    pub fn budget(&self) -> Budget {
        match &self.0 {
            Backend::Sqlite { .. } => Budget::of(USUAL_CONNECTIONS),
            Backend::Postgres { budget, .. } => *budget,
        }
    }

    /// The same database over its own connection pool, so that workers, such as lease renewal, do not queue behind requests. On
    /// SQLite all transactions share one connection anyway, in short turns.
    #[must_use]
    pub fn apart(&self, connections: u32) -> Self {
        Self(match &self.0 {
            Backend::Sqlite { .. } => self.0.clone(),
            Backend::Postgres { pool, budget, pooling, symptoms } => Backend::Postgres {
                pool: postgres::apart(pool, connections),
                budget: *budget,
                pooling: *pooling,
                symptoms: symptoms.clone(),
            },
        })
    }

    /// Returns whether its connections keep their session, as the lock of a migration needs.
    #[must_use]
    pub fn can_migrate(&self) -> bool {
        !matches!(self.0, Backend::Postgres { pooling: Pooling::Transaction, .. })
    }

    async fn migrate(&self) -> anyhow::Result<()> {
        let schema = inspect::schema(&mut self.read().await?).await?;
        if !self.can_migrate() {
            return up_to_date(schema);
        }
        if (1..schema.newest).contains(&schema.version) {
            let inspect::Schema { version, newest } = schema;
            tracing::info!(
                "updating the database from version {version} to {newest}; a million calls take half a minute"
            );
        }
        self.migrate_to(schema.newest).await
    }

    /// Prepares SQLite for bulk writes by using more memory. Does nothing on PostgreSQL.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn prepare_for_much(&self) -> Result<(), sqlx::Error> {
        match &self.0 {
            Backend::Sqlite { writer, .. } => writer.prepare_for_much(true).await,
            Backend::Postgres { .. } => Ok(()),
        }
    }

    /// Ends bulk writes: returns SQLite's memory, and vacuums PostgreSQL.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn settle_after_index(&self) -> Result<(), sqlx::Error> {
        const VACUUM: &str = "VACUUM (ANALYZE) call_search_pending, call_search_segments, call_search_postings";
        match &self.0 {
            Backend::Sqlite { writer, .. } => writer.prepare_for_much(false).await,
            Backend::Postgres { pool, .. } => sqlx::query(VACUUM).execute(pool).await.map(drop),
        }
    }

    /// Migrates the schema to `version`.
    async fn migrate_to(&self, version: i64) -> anyhow::Result<()> {
        let up_to = |migrator: Migrator| {
            let migrations = migrator.iter().filter(|migration| migration.version <= version);
            Migrator::with_migrations(migrations.cloned().collect())
        };
        match &self.0 {
            Backend::Sqlite { writer, .. } => {
                writer.enable_incremental_vacuum(false).await?;
                writer.prepare_for_much(true).await?;
                writer.migrate(&up_to(sqlx_macros::migrate!("migrations/sqlite"))).await?;
                Ok(writer.prepare_for_much(false).await?)
            }
            Backend::Postgres { pool, .. } => {
                postgres::migrate(pool, &up_to(sqlx_macros::migrate!("migrations/postgres"))).await
            }
        }
    }

    /// Rebuilds an SQLite database so that it returns the space of deleted rows. Needs as much free space as the database and
    /// exclusive access. New databases do not need this, nor does PostgreSQL.
    ///
    /// # Errors
    /// If the database fails or is in use.
    pub async fn compact(&self) -> anyhow::Result<()> {
        match &self.0 {
            Backend::Sqlite { writer, .. } => Ok(writer.enable_incremental_vacuum(true).await?),
            Backend::Postgres { .. } => Ok(()),
        }
    }

    /// Returns the engine.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match &self.0 {
            Backend::Sqlite { .. } => Dialect::Sqlite,
            Backend::Postgres { .. } => Dialect::Postgres,
        }
    }

    /// Returns a connection for reads of committed data.
    ///
    /// # Errors
    /// If the database cannot be reached or every connection stays busy.
    pub async fn read(&self) -> Result<Conn, sqlx::Error> {
        Ok(Conn(match &self.0 {
            Backend::Sqlite { readers, .. } => Inner::SqliteReader(readers.acquire().await?),
            Backend::Postgres { pool, .. } => Inner::PostgresReader(pool.acquire().await?),
        }))
    }

    /// Starts a transaction. SQLite has one writer at a time: do nothing slow before [`Tx::commit`].
    ///
    /// # Errors
    /// If the database cannot be reached or every connection stays busy.
    pub async fn begin(&self) -> Result<Tx, sqlx::Error> {
        Ok(Tx(Conn(match &self.0 {
            Backend::Sqlite { writer, .. } => Inner::SqliteWriter(writer.begin().await?),
            Backend::Postgres { pool, .. } => Inner::PostgresWriter(pool.begin().await?),
        })))
    }

    /// Writes something without meaning to SQLite, whose disk may be full, or whose file may be elsewhere by now, while it can still be read. To
    /// PostgreSQL it does so only after a write was refused for its full disk; see [`Store::note`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn probe_write(&self) -> Result<(), sqlx::Error> {
        let file = match &self.0 {
            Backend::Sqlite { file, .. } => file,
            Backend::Postgres { pool, symptoms, .. } => return symptoms.check_disk(pool).await,
        };
        file.check_in_place()?;
        let mut tx = self.begin().await?;
        execute!(tx, "PRAGMA user_version = 0")?;
        tx.commit().await
    }

    /// Remembers what an error said about later work. Does nothing on SQLite, which is probed by each [`Store::probe_write`].
    pub fn note(&self, symptom: Option<Symptom>) {
        if let (Backend::Postgres { symptoms, .. }, Some(symptom)) = (&self.0, symptom) {
            symptoms.note(symptom);
        }
    }

    /// Returns whether no process can write this database, for a reason that may pass: its file is on a full disk. PostgreSQL may have other
    /// clients that can: on its full disk, a row changes where its page has room.
    #[must_use]
    pub fn is_unwritable(&self, error: &sqlx::Error) -> bool {
        self.dialect() == Dialect::Sqlite && why_unwritable(error).is_some()
    }

    /// Closes every connection after work in flight.
    pub async fn close(&self) {
        match &self.0 {
            Backend::Sqlite { readers, writer, .. } => {
                readers.close().await;
                writer.close().await;
            }
            Backend::Postgres { pool, .. } => pool.close().await,
        }
    }
}

impl Conn {
    /// Returns the connection, for [`on!`].
    pub fn engine(&mut self) -> Engine<'_> {
        match &mut self.0 {
            Inner::SqliteReader(c) => Engine::Sqlite(c),
            Inner::SqliteWriter(turn) => Engine::Sqlite(turn.connection()),
            Inner::PostgresReader(c) => Engine::Postgres(c),
            Inner::PostgresWriter(c) => Engine::Postgres(c),
        }
    }

    /// Returns the engine.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match &self.0 {
            Inner::SqliteReader(_) | Inner::SqliteWriter(_) => Dialect::Sqlite,
            Inner::PostgresReader(_) | Inner::PostgresWriter(_) => Dialect::Postgres,
        }
    }
}

impl Tx {
    /// Returns the space of some deleted rows to the file system, and whether there is more. PostgreSQL does so itself.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn give_space_back(&mut self) -> Result<bool, sqlx::Error> {
        match self.engine() {
            Engine::Sqlite(connection) => sqlite::give_space_back(connection).await,
            Engine::Postgres(_) => Ok(false),
        }
    }

    /// Commits the transaction durably.
    ///
    /// # Errors
    /// If the commit failed. Then nothing was written, unless the connection was lost in between.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self.0.0 {
            Inner::SqliteWriter(turn) => turn.commit().await,
            Inner::PostgresWriter(transaction) => transaction.commit().await,
            Inner::SqliteReader(_) | Inner::PostgresReader(_) => unreachable!("begin returns only writers"),
        }
    }
}

impl std::ops::Deref for Tx {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

/// Adds a timeout to database work. A host that disappears sends nothing, and TCP may wait indefinitely; work that blocks other work
/// must not. Timed-out work may have been committed; callers find out from the rows.
///
/// # Errors
/// Those of `work`, and [`sqlx::Error::PoolTimedOut`] on timeout.
pub async fn in_time<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    tokio::time::timeout(WORKER_TIMEOUT, work).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// Splits rows for bulk statements into chunks of 64, 16, 4 or 1, so that the same few statements serve every number of rows and
/// stay prepared.
pub(crate) fn chunks<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = [64, 16, 4, 1].into_iter().find(|size| *size <= rows.len())?;
        let (chunk, rest) = rows.split_at(size);
        rows = rest;
        Some(chunk)
    })
}

/// Appends a list of ids, padded with nil ids to a power of two, so that a few statements serve every number of ids and stay
/// prepared.
pub(crate) fn push_ids<DB: Database>(query: &mut QueryBuilder<DB>, ids: impl ExactSizeIterator<Item = Uuid>)
where
    Uuid: for<'q> Encode<'q, DB> + Type<DB>,
{
    let missing = ids.len().next_power_of_two() - ids.len();
    let mut list = query.separated(", ");
    for id in ids.chain(std::iter::repeat_n(Uuid::nil(), missing)) {
        list.push_bind(id);
    }
}

/// Pings the database.
///
/// # Errors
/// If it does not respond.
pub async fn ping(conn: &mut Conn) -> Result<(), sqlx::Error> {
    execute!(conn, "SELECT 1").map(drop)
}

/// Returns whether `error` is a unique violation.
#[must_use]
pub fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// Returns whether `error` is a foreign key violation.
#[must_use]
pub fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
}
