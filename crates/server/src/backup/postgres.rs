//! The database on PostgreSQL, copied and restored by PostgreSQL's own programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use tokio::process::Command;

use super::progress::{Progress, watched};
use crate::files;
use crate::store::{PostgresTools, Store, inspect};

/// The folders of versions that are installed beside each other: Debian's and Red Hat's.
const INSTALLED: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];
/// What both programs leave out: owners and rights of this server, which another one may not have.
const PORTABLE: [&str; 4] = ["--no-owner", "--no-privileges", "--no-comments", "--no-password"];

/// Writes a dump of the database, and reads all of it again.
pub(super) async fn dump(store: &Store, url: &str, copy: &Path, progress: &Arc<Progress>) -> anyhow::Result<()> {
    ensure_direct(store)?;
    let tools = Tools::of(store, url).await?;
    let (dump, restore) = (tools.program("pg_dump").await?, tools.program("pg_restore").await?);
    files::new_private_file(copy)?; // The program fills an empty file, and would make one that others can read.
    progress.begin("database", 0);
    let file = copy.as_os_str();
    let arguments = ["--format=custom", "--file"].map(AsRef::as_ref).into_iter().chain([file]);
    let dumping = tools.run(&dump, arguments.chain(PORTABLE.map(AsRef::as_ref)));
    watched(dumping, copy, progress).await.context("could not copy the database")?;
    progress.begin("verifying", 0);
    let read = ["--file=/dev/null"].map(AsRef::as_ref).into_iter().chain([file]);
    tools.run(&restore, read).await.context("the copy of the database is damaged")
}

/// Restores a dump into an empty database, all or nothing.
pub(super) async fn restore(url: &str, dump: &Path, progress: &Arc<Progress>) -> anyhow::Result<()> {
    let store = Store::connect(url).await?;
    let prepared = prepare(&store, url).await;
    store.close().await;
    let tools = prepared?;
    let program = tools.program("pg_restore").await?;
    progress.begin("database", 0);
    let database = format!("--dbname={}", tools.tools.database);
    let arguments = ["--single-transaction", "--exit-on-error", &database].map(AsRef::as_ref);
    let arguments = arguments.into_iter().chain(PORTABLE.map(AsRef::as_ref)).chain([dump.as_os_str()]);
    tools.run(&program, arguments).await.context("could not restore the database, which is still empty")
}

async fn prepare(store: &Store, url: &str) -> anyhow::Result<Tools> {
    ensure_direct(store)?;
    let schema = inspect::schema(&mut store.read().await?).await?;
    ensure!(
        schema.version == 0,
        "the database is in use or was: create an empty one (`createdb NAME`) and pass its address as --database-url. Nothing is overwritten"
    );
    Tools::of(store, url).await
}

fn ensure_direct(store: &Store) -> anyhow::Result<()> {
    ensure!(
        store.can_migrate(),
        "the address leads to a pooler in transaction mode, over which the database cannot be copied: pass PostgreSQL's own address as \
         --database-url"
    );
    Ok(())
}

/// PostgreSQL's programs for one server.
struct Tools {
    tools: PostgresTools,
    /// The server's version.
    server: u32,
}

impl Tools {
    async fn of(store: &Store, url: &str) -> anyhow::Result<Self> {
        let server = inspect::postgres_version(&mut store.read().await?).await?;
        Ok(Self { tools: PostgresTools::of(url)?, server })
    }

    /// Finds an installed program whose version fits the server.
    async fn program(&self, name: &str) -> anyhow::Result<PathBuf> {
        let mut found = Vec::new();
        for path in candidates(name) {
            found.extend(version(&path).await.map(|version| (version, path)));
        }
        fitting(name, self.server, found)
    }

    /// Runs a program until it exits; it is killed with the caller.
    async fn run<'a>(
        &self,
        program: &Path,
        arguments: impl IntoIterator<Item = &'a std::ffi::OsStr>,
    ) -> anyhow::Result<()> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        for (name, value) in &self.tools.environment {
            command.env(name, value.reveal());
        }
        let output = command.output().await.with_context(|| format!("could not start {}", program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", program.display(), output.status, said.trim())
    }
}

/// Lists where a program may be.
fn candidates(name: &str) -> Vec<PathBuf> {
    let versions = INSTALLED.iter().flat_map(|(folder, prefix)| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter(move |entry| {
            let name = entry.file_name();
            name.to_str().and_then(|name| name.strip_prefix(prefix)).is_some_and(|rest| rest.parse::<u32>().is_ok())
        });
        named.map(|entry| entry.path().join("bin"))
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = versions.chain(std::env::split_paths(&path)).collect();
    folders.into_iter().map(|folder| folder.join(name)).filter(|path| path.is_file()).collect()
}

/// Asks a program for its version.
async fn version(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().await.ok()?;
    parse_version(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `pg_dump (PostgreSQL) 15.8 (Debian 15.8-1)`.
fn parse_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(") ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the program of the server's version, or of the next later one: it reads older servers, but not newer ones.
fn fitting(name: &str, server: u32, found: Vec<(u32, PathBuf)>) -> anyhow::Result<PathBuf> {
    let newest = found.iter().map(|(version, _)| *version).max();
    let fits = found.into_iter().filter(|(version, _)| *version >= server).min_by_key(|(version, _)| *version);
    let install = format!(
        "install PostgreSQL's client {server} or later (Debian, Ubuntu: `apt install postgresql-client-{server}`)"
    );
    let instead = "or pass --without-database to `switchhook backup` and copy the database with your provider's tools";
    match (fits, newest) {
        (Some((_, program)), _) => Ok(program),
        (None, Some(newest)) => bail!("{name} {newest} is too old for PostgreSQL {server}: {install}, {instead}"),
        (None, None) => bail!("{name} is not installed: {install}, {instead}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_the_servers_version_is_taken_or_the_next_later_one() {
        let of = |versions: &[u32]| versions.iter().map(|version| (*version, version.to_string().into())).collect();
        for (installed, chosen) in [(&[14, 15, 17][..], "15"), (&[17, 16], "16"), (&[14, 18], "18")] {
            assert_eq!(fitting("pg_dump", 15, of(installed)).expect("one fits"), Path::new(chosen), "{installed:?}");
        }
        let old = fitting("pg_dump", 15, of(&[13, 14])).expect_err("too old").to_string();
        assert!(
            old.contains("pg_dump 14 is too old for PostgreSQL 15") && old.contains("postgresql-client-15"),
            "{old}"
        );
        let none = fitting("pg_restore", 16, of(&[])).expect_err("missing").to_string();
        assert!(none.contains("pg_restore is not installed") && none.contains("postgresql-client-16"), "{none}");
    }

    #[test]
    fn versions_are_read_as_distributions_print_them() {
        for (text, version) in [
            ("pg_dump (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)\n", Some(15)),
            ("pg_restore (PostgreSQL) 17.0\n", Some(17)),
            ("pg_dump (PostgreSQL) 18beta1\n", Some(18)),
            ("no such thing", None),
        ] {
            assert_eq!(parse_version(text), version, "{text}");
        }
    }
}
