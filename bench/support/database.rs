//! The database behind a node, looked at from outside.

use std::collections::BTreeMap;

use anyhow::Context as _;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection};

use super::{Place, cpu_seconds};

/// A connection of the bench's own.
pub(crate) enum Database {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// A new database on a server of PostgreSQL; its address.
pub(super) async fn create_postgres(server: &str, name: &str) -> anyhow::Result<String> {
    let mut connection = PgConnection::connect(server).await?;
    for statement in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    let mut url: url::Url = server.parse().context("SWITCHHOOK_TEST_POSTGRES is a URL")?;
    url.set_path(name);
    Ok(url.into())
}

impl Database {
    pub(crate) async fn open(url: &str) -> anyhow::Result<Self> {
        Ok(match url.strip_prefix("sqlite://") {
            Some(file) => {
                Self::Sqlite(SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await?)
            }
            None => Self::Postgres(PgConnection::connect(url).await?),
        })
    }

    /// Runs statements, one after another.
    pub(crate) async fn run(&mut self, sql: String) -> anyhow::Result<()> {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Sqlite(connection) => sql.execute(connection).await.map(drop)?,
            Self::Postgres(connection) => sql.execute(connection).await.map(drop)?,
        }
        Ok(())
    }

    /// A number.
    pub(crate) async fn number(&mut self, sql: String) -> anyhow::Result<i64> {
        let sql = AssertSqlSafe(sql);
        Ok(match self {
            Self::Sqlite(connection) => sqlx::query_scalar(sql).fetch_one(connection).await?,
            Self::Postgres(connection) => sqlx::query_scalar(sql).fetch_one(connection).await?,
        })
    }

    /// Names with a number each.
    pub(crate) async fn numbers(&mut self, sql: String) -> anyhow::Result<Vec<(String, i64)>> {
        let sql = AssertSqlSafe(sql);
        Ok(match self {
            Self::Sqlite(connection) => sqlx::query_as(sql).fetch_all(connection).await?,
            Self::Postgres(connection) => sqlx::query_as(sql).fetch_all(connection).await?,
        })
    }

    /// Bytes of the database, and of what is not yet in it but in its write-ahead log.
    pub(crate) async fn bytes(&mut self, place: &Place) -> anyhow::Result<(u64, u64)> {
        if matches!(self, Self::Postgres(_)) {
            let database = self.number("SELECT pg_database_size(current_database())".to_owned()).await?;
            let log = self.number("SELECT CAST(SUM(size) AS BIGINT) FROM pg_ls_waldir()".to_owned()).await?;
            return Ok((database.unsigned_abs(), log.unsigned_abs()));
        }
        let of = |name: &str| std::fs::metadata(place.path().join(name)).map_or(0, |file| file.len());
        Ok((of("switchhook.db"), of("switchhook.db-wal")))
    }

    /// Seconds of processor time used so far by each process of PostgreSQL; none on SQLite, which is part of the node.
    pub(crate) async fn backends(&mut self) -> anyhow::Result<BTreeMap<i64, f64>> {
        let Self::Postgres(connection) = self else { return Ok(BTreeMap::new()) };
        let processes: Vec<i64> =
            sqlx::query_scalar("SELECT CAST(pid AS BIGINT) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
                .fetch_all(connection)
                .await?;
        Ok(processes.into_iter().map(|process| (process, cpu_seconds(&format!("/proc/{process}/stat")))).collect())
    }
}

/// Returns the difference between two results of [`Database::backends`].
pub(crate) fn used(before: &BTreeMap<i64, f64>, after: &BTreeMap<i64, f64>) -> f64 {
    after.iter().map(|(process, seconds)| seconds - before.get(process).copied().unwrap_or(0.0)).sum()
}
