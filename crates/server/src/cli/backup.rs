//! `switchhook backup` and `switchhook restore`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::{CliError, output};
use crate::backup::{self, BackedUpDatabase, Backup, BackupOptions, Progress, RestoreOptions, Restored};
use crate::config::Config;

/// How often the progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// Arguments of `switchhook backup`.
#[derive(clap::Args, Debug)]
pub(super) struct BackupArgs {
    /// Folder to write to; it must be missing or empty.
    dir: PathBuf,
    /// Copy the recordings too.
    #[arg(long)]
    recordings: bool,
    /// Copy the key file too. Database and key together open every stored credential.
    #[arg(long)]
    key: bool,
    /// Leave the database out, for one that is backed up otherwise.
    #[arg(long)]
    without_database: bool,
    /// Has no effect: the key is left out unless --key is given.
    #[arg(long, hide = true, conflicts_with = "key")]
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
    let options = BackupOptions { database: !args.without_database, recordings: args.recordings, key: args.key };
    if args.without_database && !args.recordings && !args.key {
        return Err(CliError::Usage("--without-database leaves nothing: add --recordings or --key.".to_owned()));
    }
    if args.key && options.database {
        output::note(
            "Warning: this backup opens every stored credential, because it holds the key beside the database.",
        );
    }
    let progress = Arc::new(Progress::default());
    let backup = shown(&progress, backup::make(config, &args.dir, options, &progress)).await?;
    output::show(json, &backup, |backup| print_backup(backup, args))?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the progress of work on a terminal: bytes, and their share where the total is known.
async fn shown<T>(progress: &Progress, work: impl Future<Output = T>) -> T {
    let style = |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let share = style("{msg} {wide_bar} {bytes} of {total_bytes}, {percent} %");
    let bytes = style("{msg} {bytes}");
    let bar = ProgressBar::new(0);
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(TICK) => {
                let (part, done, total) = progress.now();
                bar.set_style(if total > 0 { share.clone() } else { bytes.clone() });
                bar.set_length(total.max(done));
                bar.set_message(part);
                bar.set_position(done);
            }
        }
    };
    bar.finish_and_clear();
    done
}

fn print_backup(backup: &Backup, args: &BackupArgs) {
    let size = format!("{:.1} MB", megabytes(backup.bytes));
    let database = match backup.database {
        BackedUpDatabase::None => "no database",
        BackedUpDatabase::Sqlite | BackedUpDatabase::Postgres => "the database, verified",
    };
    output::line(&format!("{} holds {database}, and {} recordings: {size}.", backup.path.display(), backup.recordings));
    if !args.recordings {
        output::line("Recordings are left out: add --recordings.");
    }
    output::line(match (backup.key_file, backup.key_in_settings, args.key) {
        (true, ..) => "It holds the master key too: keep it where only you can read it.",
        (_, true, _) => "It does not hold the master key, which is in the settings: keep a copy of it.",
        (.., true) => "It does not hold a master key: the data directory has none.",
        (.., false) => {
            "It does not hold the master key, without which stored credentials cannot be opened: keep a copy of the key file \
            elsewhere, or add --key."
        }
    });
}

#[expect(clippy::cast_precision_loss, reason = "shown in megabytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

pub(super) async fn restore(args: &RestoreArgs, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let options = RestoreOptions { force: args.force, keep_queued: args.keep_queued };
    let progress = Arc::new(Progress::default());
    let restored = shown(&progress, backup::restore(config, &args.dir, options, &progress)).await?;
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
        output::line("The backup holds no database: restore it from where it was backed up.");
    }
    if restored.key_missing {
        output::line(
            "The data directory has no master key. If the service had one, put its copy there before the first start.",
        );
    }
}
