//! `switchhook backup` and `switchhook restore`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, output};
use crate::backup::{self, BackedUpDatabase, Backup, RestoreOptions, Restored};
use crate::config::Config;

/// Arguments of `switchhook backup`.
#[derive(clap::Args, Debug)]
pub(super) struct BackupArgs {
    /// Folder to write to; it must be missing or empty.
    dir: PathBuf,
    /// Leave the key file out, to be kept elsewhere. Without it stored credentials cannot be opened.
    #[arg(long)]
    without_key: bool,
}

/// Arguments of `switchhook restore`.
#[derive(clap::Args, Debug)]
pub(super) struct RestoreArgs {
    /// Folder of the backup.
    dir: PathBuf,
    /// Move the database, recordings and key file that are there aside.
    #[arg(long)]
    force: bool,
    /// Dial the calls that were queued. Without this they are canceled: they may have been dialled since the backup.
    #[arg(long)]
    keep_queued: bool,
}

pub(super) async fn back_up(args: &BackupArgs, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let backup = backup::make(config, &args.dir, !args.without_key).await?;
    output::show(json, &backup, |backup| print_backup(backup, args.without_key))?;
    Ok(ExitCode::SUCCESS)
}

fn print_backup(backup: &Backup, without_key: bool) {
    let size = format!("{:.1} MB", megabytes(backup.bytes));
    let (path, recordings) = (backup.path.display(), backup.recordings);
    match backup.database {
        BackedUpDatabase::Sqlite => {
            output::line(&format!("{path} holds the database and {recordings} recordings, {size}."));
        }
        BackedUpDatabase::None => {
            output::line(&format!("{path} holds {recordings} recordings, {size}, and no database."));
            output::line("The database is on PostgreSQL: back it up with `pg_dump --format=custom`.");
        }
    }
    output::line(match (backup.key_file, backup.key_in_settings, without_key) {
        (true, ..) => "It holds the master key too: keep it where only you can read it.",
        (_, true, _) => "It does not hold the master key, which is in the settings: keep a copy of it.",
        (.., true) => "It does not hold the master key: keep a copy of the key file elsewhere.",
        (.., false) => "It does not hold a master key: the data directory has none.",
    });
}

#[expect(clippy::cast_precision_loss, reason = "shown in megabytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

pub(super) async fn restore(args: &RestoreArgs, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let options = RestoreOptions { force: args.force, keep_queued: args.keep_queued };
    let restored = backup::restore(config, &args.dir, options).await?;
    output::show(json, &restored, print_restored)?;
    Ok(ExitCode::SUCCESS)
}

fn print_restored(restored: &Restored) {
    output::line(&format!("Restored {} files into {}.", restored.files, restored.data_dir.display()));
    for path in &restored.moved_aside {
        output::line(&format!("What was there is now {}.", path.display()));
    }
    if restored.canceled_calls > 0 {
        output::line(&format!(
            "{} calls had not ended; they end with the next start, and none of them is dialled.",
            restored.canceled_calls
        ));
    }
    if restored.database == BackedUpDatabase::None {
        output::line("The backup holds no database: restore that of PostgreSQL with `pg_restore`.");
    }
    if restored.key_missing {
        output::line(
            "The data directory has no master key. If the service had one, put its copy there before the first start.",
        );
    }
}
