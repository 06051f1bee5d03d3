//! `switchhook rotate-master-key`.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use switchhook_runtime::clock::Clock;
use switchhook_vault::Vault;

use super::{CliError, output};
use crate::config::Config;
use crate::rotation::{self, Rotated};
use crate::store::Store;

/// Arguments of `rotate-master-key`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Delete the old keys from the key file, if nothing needs them any more.
    #[arg(long)]
    forget_old: bool,
}

pub(super) async fn run(args: &Args, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open_migrated(&config.database_url()).await?;
    let bar = ProgressBar::new(0).with_style(progress_style());
    let mut report = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let rotated = if args.forget_old {
        rotation::forget_old_keys(&store, config, &Clock::system(), &mut report).await
    } else {
        rotation::rotate(&store, config, &mut report).await
    };
    bar.finish_and_clear();
    store.close().await;
    let rotated = rotated?;
    output::show(json, &rotated, |rotated| print_result(rotated, config))?;
    if rotated.unreadable.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let words = "no available key opens some secrets; set new ones for these connections and webhooks:";
    Ok(output::failed(&format!("{words} {}", rotated.unreadable.join(", ")), 1))
}

fn progress_style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} secrets, {eta} left");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn print_result(rotated: &Rotated, config: &Config) {
    let Rotated { new_key, resealed, old_keys, .. } = rotated;
    let key = if *new_key { "a new master key" } else { "the first master key" };
    output::line(&format!("Resealed {resealed} secrets; all are sealed with {key}."));
    match (old_keys, &config.master_key) {
        (false, _) => output::line("There are no old keys."),
        (true, Some(_)) => output::line(
            "Remove the old key from SWITCHHOOK_MASTER_KEY on every node when `switchhook doctor` lists no number whose carrier has \
             an old address.",
        ),
        (true, None) => output::line(&format!(
            "{} keeps the old key for addresses that carriers hold. When `switchhook doctor` lists no number with an old address, \
             run `switchhook rotate-master-key --forget-old`.",
            Vault::key_file(&config.data_dir).display()
        )),
    }
}
