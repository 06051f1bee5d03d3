//! A consistent copy of an SQLite database, made while it is in use.

use std::path::Path;

use anyhow::Context as _;

use super::{Backend, Store};

impl Store {
    /// Writes a copy of the committed data into a new file. Writers are not blocked.
    ///
    /// # Errors
    /// If the database is not SQLite or the file cannot be written.
    pub async fn copy_to(&self, path: &Path) -> anyhow::Result<()> {
        let Backend::Sqlite { readers, .. } = &self.0 else {
            anyhow::bail!("only an SQLite database is copied as a file")
        };
        let path = path.to_str().context("the path must be UTF-8")?;
        let mut reader = readers.acquire().await?;
        sqlx::query("VACUUM INTO $1").bind(path).execute(&mut *reader).await?;
        Ok(())
    }
}
