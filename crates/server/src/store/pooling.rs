//! Poolers between this service and PostgreSQL, such as PgBouncer.

use anyhow::Context as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};

/// What an operator can do about a pooler that cannot be used.
pub(crate) const POOLER_FIX: &str = "set pool_mode = session for this database in PgBouncer (from 1.21 on, pool_mode = transaction with \
    max_prepared_statements = 200 works, too), or use the address of PostgreSQL itself";

/// Who owns the session behind a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The connection has it as long as it lives: there is no pooler, or one in session mode.
    Session,
    /// A pooler lends one for each transaction, with the connection's prepared statements.
    Transaction,
}

/// A pooler that lends sessions and does not keep prepared statements or transactions.
#[derive(Debug, thiserror::Error)]
#[error("the database address leads to a pooler in {mode} mode, which this service cannot use: {POOLER_FIX}")]
pub struct UnusablePooler {
    mode: &'static str,
}

impl Pooling {
    /// Connects twice and looks at which sessions the connections have.
    ///
    /// A pooler that hands its sessions out in turns, with several at rest, can look like none. Nothing else uses it at a start.
    ///
    /// # Errors
    /// [`UnusablePooler`]; if PostgreSQL cannot be reached.
    pub(super) async fn of(options: &PgConnectOptions) -> anyhow::Result<Self> {
        let mut first = options.connect().await.context("could not connect to PostgreSQL")?;
        let mut second = options.connect().await.context("could not connect to PostgreSQL")?;
        let pooling = Self::between(&mut first, &mut second).await?;
        first.close().await.ok();
        second.close().await.ok();
        Ok(pooling)
    }

    async fn between(first: &mut PgConnection, second: &mut PgConnection) -> anyhow::Result<Self> {
        let own = session(first).await?;
        if session(second).await? != own && session(first).await? == own {
            return Ok(Self::Session);
        }
        if is_refused(first.execute(sqlx::raw_sql("BEGIN")).await)? {
            return Err(UnusablePooler { mode: "statement" }.into());
        }
        first.execute(sqlx::raw_sql("ROLLBACK")).await?;
        if is_refused(both_prepare(first, second).await)? {
            return Err(UnusablePooler { mode: "transaction" }.into());
        }
        Ok(Self::Transaction)
    }
}

/// Returns the process that serves a connection. The simple protocol prepares nothing.
async fn session(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    connection.fetch_one(sqlx::raw_sql("SELECT pg_backend_pid()")).await?.try_get(0)
}

/// Prepares statements of the same name on two connections, and executes the first again.
async fn both_prepare(first: &mut PgConnection, second: &mut PgConnection) -> Result<(), sqlx::Error> {
    let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut *first).await?;
    let two: i32 = sqlx::query_scalar("SELECT 2").fetch_one(&mut *second).await?;
    let again: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut *first).await?;
    if (one, two, again) == (1, 2, 1) {
        return Ok(());
    }
    Err(sqlx::Error::Protocol("a statement of another connection was executed".to_owned()))
}

/// Returns whether the pooler refuses. A cut connection says nothing of its mode.
fn is_refused<T>(result: Result<T, sqlx::Error>) -> Result<bool, sqlx::Error> {
    match result {
        Ok(_) => Ok(false),
        Err(sqlx::Error::Database(_) | sqlx::Error::Protocol(_)) => Ok(true),
        Err(error) => Err(error),
    }
}
