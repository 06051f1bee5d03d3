//! Consistent copies of a database that is in use: SQLite's are made here, PostgreSQL's by its own programs.

use std::path::Path;

use anyhow::{Context as _, ensure};
use sqlx::{ConnectOptions as _, Connection as _};
use switchhook_core::private::Private;

use super::{Backend, Store, postgres, untrusted};

impl Store {
    /// Writes a copy of the committed data into a new file. Writers are not blocked.
    ///
    /// # Errors
    /// If the database is not SQLite or the file cannot be written.
    pub async fn copy_to(&self, path: &Path) -> anyhow::Result<()> {
        let path = path.to_str().context("the path must be UTF-8")?;
        let mut reader = self.sqlite_reader().await?;
        sqlx::query("VACUUM INTO $1").bind(path).execute(&mut *reader).await?;
        Ok(())
    }

    /// Estimates the size of a copy in bytes.
    ///
    /// # Errors
    /// If the database is not SQLite or fails.
    pub async fn size_of_copy(&self) -> anyhow::Result<u64> {
        const SQL: &str = "SELECT (page_count - freelist_count) * page_size \
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let mut reader = self.sqlite_reader().await?;
        let bytes: i64 = sqlx::query_scalar(SQL).fetch_one(&mut *reader).await?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    async fn sqlite_reader(&self) -> anyhow::Result<sqlx::pool::PoolConnection<sqlx::Sqlite>> {
        let Backend::Sqlite { readers, .. } = &self.0 else {
            anyhow::bail!("only an SQLite database is copied as a file")
        };
        Ok(readers.acquire().await?)
    }
}

/// Reads all of a copy of an SQLite database, which nothing else uses.
///
/// # Errors
/// If it is damaged.
pub async fn check_copy(path: &Path) -> anyhow::Result<()> {
    let options = untrusted::options(path).read_only(true).immutable(true);
    let mut connection = options.connect().await.context("could not open the copy of the database")?;
    let found: Result<String, _> = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await;
    connection.close().await?;
    let found = found.context("the copy of the database is damaged")?;
    ensure!(found == "ok", "the copy of the database is damaged: {found}");
    Ok(())
}

/// How PostgreSQL's programs reach the database at an address.
#[derive(Debug)]
pub struct PostgresTools {
    /// Variables of libpq. Arguments would show the password to other users of the machine.
    pub environment: Vec<(&'static str, Private<String>)>,
    /// The name of the database.
    pub database: String,
}

impl PostgresTools {
    /// Reads an address as the service does.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn of(url: &str) -> anyhow::Result<Self> {
        let (database, variables) = postgres::variables(url)?;
        let environment = variables.into_iter().map(|(name, value)| (name, Private::new(value))).collect();
        Ok(Self { environment, database })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_damaged_copy_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("a.db"), folder.path().join("copy.db"));
        let store = Store::open(&format!("sqlite://{}", path.display())).await.expect("a new database");
        store.copy_to(&copy).await.expect("copied");
        let size = std::fs::metadata(&copy).expect("a file").len();
        assert!(store.size_of_copy().await.expect("a number") >= size, "nothing is smaller than its copy");
        check_copy(&copy).await.expect("it is whole");
        let mut bytes = std::fs::read(&copy).expect("a file");
        for byte in bytes.iter_mut().skip(4096).step_by(7) {
            *byte ^= 0xff;
        }
        std::fs::write(&copy, bytes).expect("written");
        let error = check_copy(&copy).await.expect_err("it is damaged");
        assert!(error.to_string().contains("is damaged"), "{error:#}");
        assert_eq!(
            std::fs::read_dir(folder.path())
                .expect("a folder")
                .filter(|entry| {
                    entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("copy"))
                })
                .count(),
            1,
            "a check leaves nothing beside the copy"
        );
    }

    #[test]
    fn the_password_is_passed_in_the_environment_and_not_printed() {
        let url = "postgres://user:pa%40ss@db.example.com:6432/calls?sslmode=verify-full&sslrootcert=/ca.pem&options[geqo]=off";
        let tools = PostgresTools::of(url).expect("valid");
        let variables: Vec<(&str, &str)> =
            tools.environment.iter().map(|(name, value)| (*name, value.reveal().as_str())).collect();
        for expected in [
            ("PGHOST", "db.example.com"),
            ("PGPORT", "6432"),
            ("PGUSER", "user"),
            ("PGPASSWORD", "pa@ss"),
            ("PGDATABASE", "calls"),
            ("PGSSLMODE", "verify-full"),
            ("PGSSLROOTCERT", "/ca.pem"),
            ("PGOPTIONS", "-c geqo=off"),
        ] {
            assert!(variables.contains(&expected), "{expected:?}");
        }
        assert_eq!(tools.database, "calls");
        assert!(!format!("{tools:?}").contains("pa@ss"), "secrets do not print");
        let socket = PostgresTools::of("postgres://user@/calls?host=/run/postgresql").expect("valid");
        assert!(
            socket.environment.iter().any(|(name, value)| *name == "PGHOST" && value.reveal() == "/run/postgresql")
        );
    }
}
