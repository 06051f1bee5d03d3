//! SQLite: many readers, one writer, group commit.
//!
//! A commit that survives a power cut waits for the disk (`synchronous=FULL`), which takes milliseconds; a statement takes
//! microseconds. So transactions take turns on the one writing connection, each in its own savepoint, inside one open SQLite
//! transaction. A finished transaction goes to the end of the queue; the first one to come up again commits for all that have
//! finished. Alone, a transaction commits at once; under load, one wait for the disk serves all that arrived during the last one.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use super::untrusted;
use crate::files;

/// Concurrent read connections.
const READERS: u32 = 8;
/// How long a transaction waits for its turn, and a statement for a lock of another program. A request that queued behind another batch
/// of its tenant waits twice.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);
/// Size of the write-ahead log after a checkpoint, in bytes.
const LOG_SIZE_LIMIT: &str = "16777216";
/// Maximum pages of an existing database that is rebuilt so that it can return space; takes less than a second. New databases are
/// included.
const REBUILT: i64 = 16_384;
/// Free pages returned per transaction, and pages to keep for reuse.
const PAGES_PER_STEP: i64 = 256;
/// Where SQLite keeps what is temporary: in files for work on the whole database, else in memory.
const TEMPORARY_FILES: &str = "PRAGMA temp_store = FILE";
const TEMPORARY_MEMORY: &str = "PRAGMA temp_store = MEMORY";
/// `PRAGMA auto_vacuum` value for incremental vacuum.
const INCREMENTAL: i64 = 2;

pub(super) async fn open(path: &Path) -> anyhow::Result<(SqlitePool, Writer, DatabaseFile)> {
    let named = || format!("could not open the database file {}", path.display());
    if let Some(folder) = path.parent() {
        files::private_folder(folder).with_context(named)?;
    }
    make_private(path).with_context(named)?;
    let options = untrusted::options(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(LOCK_TIMEOUT)
        .pragma("journal_size_limit", LOG_SIZE_LIMIT)
        // Overwrites deleted data, so that words do not stay in free pages.
        .pragma("secure_delete", "ON")
        // What a transaction can take back would otherwise be in a file in /var/tmp or /tmp, which a container may not have.
        .pragma("temp_store", "MEMORY");
    let mut connection = options.connect().await.with_context(named)?;
    if let Err(error) = untrusted::check(&mut connection, path).await {
        let _ = connection.close().await; // The file stays as it is in either case.
        return Err(error);
    }
    let writer = Writer::new(connection, options.clone());
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(LOCK_TIMEOUT)
        .connect_with(options.read_only(true).create_if_missing(false))
        .await
        .with_context(named)?;
    let file = DatabaseFile::at(path).with_context(named)?;
    Ok((readers, writer, file))
}

/// The file that is open. Its path may lead to another one later, or to none: then what is written is lost with the process.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl DatabaseFile {
    fn at(path: &Path) -> std::io::Result<Self> {
        let metadata = path.metadata()?;
        Ok(Self { path: path.to_owned(), id: (metadata.dev(), metadata.ino()) })
    }

    /// Checks that the path leads to the open file.
    ///
    /// # Errors
    /// If it was moved, replaced or deleted.
    pub(super) fn check_in_place(&self) -> Result<(), sqlx::Error> {
        let in_place = Self::at(&self.path).is_ok_and(|now| now.id == self.id);
        if in_place { Ok(()) } else { Err(sqlx::Error::Io(std::io::Error::other(Displaced))) }
    }
}

/// The error of a database whose file is elsewhere by now.
#[derive(Debug, thiserror::Error)]
#[error("the database file was moved, replaced or deleted while it was open")]
pub(super) struct Displaced;

/// The writing connection.
#[derive(Clone, Debug)]
pub(super) struct Writer(Arc<Mutex<WriterState>>);

#[derive(Debug)]
struct WriterState {
    /// `None` once closed, or if the connection broke and could not be reopened.
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    /// Whether an outer transaction is open.
    open: bool,
    /// A savepoint whose owner was dropped; must be rolled back first.
    abandoned: bool,
    /// Finished transactions that wait for the commit.
    finished: Vec<oneshot::Sender<Result<(), Arc<sqlx::Error>>>>,
}

/// One transaction's turn on the writing connection.
#[derive(Debug)]
pub(super) struct WriteTurn {
    state: Option<OwnedMutexGuard<WriterState>>,
    writer: Writer,
}

impl Writer {
    fn new(connection: SqliteConnection, options: SqliteConnectOptions) -> Self {
        let connection = Some(connection);
        let state = WriterState { connection, options, open: false, abandoned: false, finished: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) async fn migrate(&self, migrator: &Migrator) -> anyhow::Result<()> {
        let mut state = self.0.lock().await;
        let connection = state.connection.as_mut().context("the database is closed")?;
        // One statement may change every row, and memory may not hold all of a large database.
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *connection).await?;
        let temporary = if pages > REBUILT { TEMPORARY_FILES } else { TEMPORARY_MEMORY };
        sqlx::raw_sql(temporary).execute(&mut *connection).await?;
        let migrated = migrator.run(&mut *connection).await;
        sqlx::raw_sql(TEMPORARY_MEMORY).execute(connection).await?;
        Ok(migrated?)
    }

    /// Enables incremental vacuum if the database is new or small, or `always`.
    pub(super) async fn enable_incremental_vacuum(&self, always: bool) -> Result<(), sqlx::Error> {
        let mut state = self.0.lock().await;
        let connection = state.connection.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum").fetch_one(&mut *connection).await?;
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *connection).await?;
        if mode != INCREMENTAL && (always || pages <= REBUILT) {
            sqlx::query("PRAGMA auto_vacuum = INCREMENTAL").execute(&mut *connection).await?;
            // All of it is written there first, which may be more than memory holds.
            let temporary = if always { TEMPORARY_FILES } else { TEMPORARY_MEMORY };
            sqlx::raw_sql(temporary).execute(&mut *connection).await?;
            let rebuilt = sqlx::query("VACUUM").execute(&mut *connection).await;
            sqlx::raw_sql(TEMPORARY_MEMORY).execute(connection).await?;
            rebuilt?;
        }
        Ok(())
    }

    /// Enables or disables more memory and sort threads for bulk writes.
    pub(super) async fn prepare_for_much(&self, much: bool) -> Result<(), sqlx::Error> {
        const MUCH: &str = "PRAGMA cache_size = -262144; PRAGMA threads = 2";
        const USUAL: &str = "PRAGMA cache_size = -2000; PRAGMA threads = 0; PRAGMA shrink_memory";
        let mut state = self.0.lock().await;
        let connection = state.connection.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        sqlx::raw_sql(if much { MUCH } else { USUAL }).execute(connection).await.map(drop)
    }

    /// Starts a transaction. Turns that wait behind one that waits for another program's lock do not add up their waiting.
    pub(super) async fn begin(&self) -> Result<WriteTurn, sqlx::Error> {
        tokio::time::timeout(LOCK_TIMEOUT, self.turn()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn turn(&self) -> Result<WriteTurn, sqlx::Error> {
        let state = self.0.clone().lock_owned().await;
        let mut turn = WriteTurn { state: Some(state), writer: self.clone() };
        uncancelled(async move { turn.prepare().await.map(|()| turn) }).await
    }

    pub(super) async fn close(&self) {
        let mut state = self.0.lock().await;
        state.commit_finished().await;
        if let Some(connection) = state.connection.take() {
            // If closing fails, the next open recovers from the log.
            let _ = connection.close().await;
        }
    }
}

impl WriterState {
    async fn execute(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        let connection = self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        sqlx::query(sql).execute(connection).await.map(drop)
    }

    /// Rolls back an abandoned savepoint and opens a new one, in an outer transaction that is started if needed.
    async fn prepare(&mut self) -> Result<(), sqlx::Error> {
        if self.undo_abandoned().await.is_err() {
            // A write that failed has rolled back everything, savepoints too, for example because the disk is full.
            self.start_over().await;
        }
        let prepared = self.open_savepoint().await;
        if prepared.is_err() {
            self.start_over().await;
        }
        prepared
    }

    async fn open_savepoint(&mut self) -> Result<(), sqlx::Error> {
        if !self.open {
            self.open = true;
            self.execute("BEGIN IMMEDIATE").await?;
        }
        self.abandoned = true; // Until its owner finishes it.
        self.execute("SAVEPOINT turn").await
    }

    async fn undo_abandoned(&mut self) -> Result<(), sqlx::Error> {
        if std::mem::take(&mut self.abandoned) {
            self.execute("ROLLBACK TO turn").await?;
            self.execute("RELEASE turn").await?;
        }
        Ok(())
    }

    /// Commits for all finished transactions and notifies them.
    async fn commit_finished(&mut self) {
        let mut result = self.undo_abandoned().await;
        if result.is_ok() && self.open {
            result = self.execute(if self.finished.is_empty() { "ROLLBACK" } else { "COMMIT" }).await;
        }
        match result {
            Ok(()) => {
                self.open = false;
                self.tell_finished(&Ok(()));
            }
            Err(error) => {
                self.tell_finished(&Err(Arc::new(error)));
                self.start_over().await;
            }
        }
    }

    fn tell_finished(&mut self, result: &Result<(), Arc<sqlx::Error>>) {
        for waiting in self.finished.drain(..) {
            // A dropped waiter finds out from the rows.
            let _ = waiting.send(result.clone());
        }
    }

    /// Rolls everything back after an error, because the connection's state is unknown.
    async fn start_over(&mut self) {
        if let Some(broken) = self.connection.take() {
            let _ = broken.close().await;
        }
        self.open = false;
        self.abandoned = false;
        self.tell_finished(&Err(Arc::new(sqlx::Error::WorkerCrashed)));
        self.connection = self.options.connect().await.ok();
    }
}

impl WriteTurn {
    /// Returns the connection, inside this transaction's savepoint.
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        self.state
            .as_mut()
            .and_then(|state| state.connection.as_mut())
            .expect("a turn holds the state until it is committed or dropped, and the state a connection since begin")
    }

    async fn prepare(&mut self) -> Result<(), sqlx::Error> {
        self.state.as_mut().expect("a new turn holds the state").prepare().await
    }

    pub(super) async fn commit(mut self) -> Result<(), sqlx::Error> {
        let state = self.state.take().expect("only commit takes the state, and it takes the turn with it");
        let writer = self.writer.clone();
        uncancelled(finish(state, writer)).await
    }
}

/// Releases the savepoint, goes to the end of the queue, and commits for all finished transactions unless another one has.
async fn finish(mut state: OwnedMutexGuard<WriterState>, writer: Writer) -> Result<(), sqlx::Error> {
    if state.execute("RELEASE turn").await.is_err() {
        // As above: nothing of this transaction is left.
        state.start_over().await;
        return Err(sqlx::Error::WorkerCrashed);
    }
    state.abandoned = false;
    let (finished, mut committed) = oneshot::channel();
    state.finished.push(finished);
    drop(state);

    let answer = tokio::select! {
        biased;
        answer = &mut committed => answer,
        mut state = writer.0.lock() => {
            state.commit_finished().await;
            committed.await
        }
    };
    match answer {
        Ok(result) => result.map_err(|error| sqlx::Error::Io(std::io::Error::other(error))),
        Err(_) => Err(sqlx::Error::WorkerCrashed),
    }
}

/// Runs `work` to completion even if the caller is dropped, for example when a client disconnects: a partial step would
/// leave the shared connection in an unknown state.
async fn uncancelled<T: Send + 'static>(
    work: impl Future<Output = Result<T, sqlx::Error>> + Send + 'static,
) -> Result<T, sqlx::Error> {
    tokio::spawn(work).await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        // `abandoned` is still set, so the next turn rolls this one back. If no other waits, start one.
        if self.state.take().is_some() {
            let writer = self.writer.clone();
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { writer.0.lock().await.commit_finished().await });
            }
        }
    }
}

/// Makes the database private. SQLite creates its companions with the file's mode; an earlier version may have left others.
fn make_private(path: &Path) -> std::io::Result<()> {
    files::make_private(path)?;
    for suffix in ["-wal", "-shm"] {
        let mut companion = path.as_os_str().to_owned();
        companion.push(suffix);
        files::make_private_if_there(&PathBuf::from(companion))?;
    }
    Ok(())
}

/// Returns the space of some deleted rows to the file system, and whether there is more.
pub(super) async fn give_space_back(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum").fetch_one(&mut *connection).await?;
    let free: i64 = sqlx::query_scalar("PRAGMA freelist_count").fetch_one(&mut *connection).await?;
    if mode != INCREMENTAL || free <= 2 * PAGES_PER_STEP {
        return Ok(false);
    }
    let sql = sqlx::AssertSqlSafe(format!("PRAGMA incremental_vacuum({PAGES_PER_STEP})"));
    sqlx::query(sql).fetch_all(connection).await?;
    Ok(true)
}
