//! Poolers between this service and PostgreSQL, such as PgBouncer.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use switchhook_runtime::clock;

/// What an operator can do about a pooler that cannot be used.
const FIX: &str = "set pool_mode = session for this database in PgBouncer (from 1.21 on, pool_mode = transaction with \
    max_prepared_statements = 200 works, too), or use the address of PostgreSQL itself";
/// How often the mark of a session is read. A pooler that lends its sessions in turns is found if it has fewer at rest.
const READINGS: usize = 40;
/// How long it is read at most: a distant database costs each command this time.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

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
#[error("the database address leads to a pooler in {mode} mode, which this service cannot use: {FIX}")]
pub struct UnusablePooler {
    mode: &'static str,
}

impl Pooling {
    /// Finds out whether two connections keep their sessions: one marks its own.
    ///
    /// # Errors
    /// [`UnusablePooler`]; if the database is unavailable.
    pub(super) async fn between(first: &mut PgConnection, second: &mut PgConnection) -> anyhow::Result<Self> {
        if keeps_session(first, second).await? {
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

/// Returns whether the mark of the first connection's session is always there, and never on the second. The simple protocol prepares
/// nothing.
async fn keeps_session(first: &mut PgConnection, second: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let mark = format!("{:032x}", u128::from_be_bytes(clock::random()));
    let set = sqlx::AssertSqlSafe(format!("SELECT set_config('switchhook.session', '{mark}', false)"));
    first.execute(sqlx::raw_sql(set)).await?;
    let since = Instant::now();
    for _ in 0..READINGS {
        if mark_of(first).await? != mark {
            return Ok(false);
        }
        if since.elapsed() > READ_TIMEOUT {
            break;
        }
    }
    Ok(mark_of(second).await? != mark)
}

async fn mark_of(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    let row = connection.fetch_one(sqlx::raw_sql("SELECT coalesce(current_setting('switchhook.session', true), '')"));
    row.await?.try_get(0)
}

/// Prepares statements of the same name on two connections, and executes the first again.
async fn both_prepare(first: &mut PgConnection, second: &mut PgConnection) -> Result<(), sqlx::Error> {
    let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut *first).await?;
    let two: i32 = sqlx::query_scalar("SELECT 2").fetch_one(&mut *second).await?;
    let again: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut *first).await?;
    if (one, two, again) == (1, 2, 1) {
        Ok(())
    } else {
        Err(sqlx::Error::ColumnDecode {
            index: "0".to_owned(),
            source: "a statement of another connection was executed".into(),
        })
    }
}

/// Returns whether the pooler refuses. That it has no server, for example, says nothing of its mode.
fn is_refused<T>(result: Result<T, sqlx::Error>) -> Result<bool, sqlx::Error> {
    /// PgBouncer's words for a transaction in statement mode; its code is that of any broken rule.
    const NO_TRANSACTIONS: &str = "statement pooling";
    /// `duplicate_prepared_statement`, `invalid_sql_statement_name`.
    const STATES: [&str; 2] = ["42P05", "26000"];
    let error = match result {
        Ok(_) => return Ok(false),
        Err(error) => error,
    };
    let of_mode = match &error {
        sqlx::Error::Database(database) => {
            database.message().contains(NO_TRANSACTIONS)
                || database.code().is_some_and(|state| STATES.contains(&state.as_ref()))
        }
        sqlx::Error::ColumnDecode { .. } => true,
        _ => false,
    };
    if of_mode { Ok(true) } else { Err(error) }
}
