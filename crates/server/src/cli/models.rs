//! `switchhook models …`: the local speech models.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use switchhook_speech::models::{ModelError, ModelStatus, ModelStore, Progress, Stage};

use super::{CliError, output};
use crate::config::Config;

/// Subcommands of `switchhook models`.
#[derive(Debug, Subcommand)]
pub(super) enum ModelsCommand {
    /// List the models: sizes, licences, hashes.
    List,
    /// Download missing models with pip, or with uvx where there is no pip.
    Pull {
        /// Models to download; all by default.
        ids: Vec<String>,
        /// Install from this wheel instead of downloading.
        #[arg(long, value_name = "FILE.whl", conflicts_with = "ids")]
        from: Option<PathBuf>,
    },
    /// Verify the hashes of every model.
    Verify,
}

pub(super) async fn run(command: ModelsCommand, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let models = ModelStore::new(&config.data_dir);
    let work = move || match command {
        ModelsCommand::List => Ok((models.status(), true)),
        ModelsCommand::Verify => {
            let verified = models.verify();
            let good = verified.iter().all(|model| model.verified == Some(true));
            Ok((verified, good))
        }
        ModelsCommand::Pull { from: Some(wheel), .. } => {
            models.pull_from_file(&wheel, &Bar::new()).map(|model| (vec![model], true)).map_err(anyhow::Error::from)
        }
        ModelsCommand::Pull { ids, from: None } => {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            models.pull(&ids, &Bar::new()).map(|models| (models, true)).map_err(anyhow::Error::from)
        }
    };
    let (models, good) = tokio::task::spawn_blocking(work).await.map_err(anyhow::Error::from)??;
    output::show(json, &models, |models| print(models))?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Downloads missing models, with a progress bar.
pub(super) async fn pull_all(models: &ModelStore) -> anyhow::Result<Result<(), ModelError>> {
    let models = models.clone();
    Ok(tokio::task::spawn_blocking(move || models.pull(&[], &Bar::new()).map(drop)).await?)
}

fn print(models: &[ModelStatus]) {
    let row = |model: &ModelStatus| {
        let state = match (model.installed, model.verified) {
            (false, _) => "missing",
            (true, Some(false)) => "damaged",
            (true, Some(true)) => "verified",
            (true, None) => "installed",
        };
        vec![
            model.id.to_owned(),
            model.version.to_owned(),
            state.to_owned(),
            format!("{:.0} MB", bytes(model.download_bytes)),
            format!("{:.0} MB", bytes(model.bytes)),
            model.license.to_owned(),
            model.sha256.chars().take(12).collect(),
        ]
    };
    let heading = ["MODEL", "VERSION", "STATE", "DOWNLOAD", "ON DISK", "LICENCE", "SHA-256"];
    output::table(&heading, &models.iter().map(row).collect::<Vec<_>>());
    for model in models {
        output::line(&format!("\n{}: {}. {}", model.id, model.purpose, model.attribution));
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown in megabytes")]
fn bytes(count: u64) -> f64 {
    count as f64 / 1e6
}

/// Shows a progress bar on a terminal, otherwise one line per stage.
struct Bar {
    bar: ProgressBar,
    shown: Mutex<Option<(String, Stage)>>,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{msg:40} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, shown: Mutex::new(None) }
    }
}

impl Progress for Bar {
    fn report(&self, id: &str, stage: Stage, done: u64, total: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let words = match stage {
            Stage::Download if self.bar.is_hidden() && total > 0 => {
                format!("Downloading {id} ({:.0} MB)", bytes(total))
            }
            Stage::Download => format!("Downloading {id}"),
            Stage::Unpack => format!("Checking and converting {id}"),
            Stage::Done => format!("{id} is ready"),
        };
        if shown.as_ref().is_none_or(|(last, at)| last != id || *at != stage) {
            if self.bar.is_hidden() {
                output::note(&words);
            }
            *shown = Some((id.to_owned(), stage));
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.set_message(words);
        if stage == Stage::Done {
            self.bar.finish_and_clear();
            self.bar.reset();
        }
    }
}
