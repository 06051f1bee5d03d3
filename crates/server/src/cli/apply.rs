//! `switchhook apply` and `switchhook export`: agents as files.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::json;
use switchhook_core::api_key::Environment;
use switchhook_core::id::TenantId;

use super::{CliError, output};
use crate::apply::{self, ApplyError, Described, Export, Problem};
use crate::config::Config;
use crate::operator;
use crate::store::Store;
use crate::telemetry;

/// Arguments of `switchhook apply`.
#[derive(clap::Args, Debug)]
pub(super) struct ApplyArgs {
    /// A file, or a folder with files, that end in .yaml, .yml or .toml. Repeatable.
    #[arg(short = 'f', long = "file", value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Id of the tenant; may be left out if exactly one is active.
    #[arg(long, value_name = "ID")]
    tenant: Option<TenantId>,
    /// Print what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Arguments of `switchhook export`.
#[derive(clap::Args, Debug)]
pub(super) struct ExportArgs {
    /// Id of the tenant; may be left out if exactly one is active.
    #[arg(long, value_name = "ID")]
    tenant: Option<TenantId>,
    /// File to write to, if it ends in .yaml or .yml, else a folder [default: standard output].
    #[arg(short = 'o', long, value_name = "DIR|FILE")]
    output: Option<PathBuf>,
    /// Overwrite files of the same names.
    #[arg(long, requires = "output")]
    force: bool,
}

pub(super) async fn apply(args: &ApplyArgs, config: &Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    log_errors(config);
    let described = Described::read(&args.paths, &|name| std::env::var(name).ok()).map_err(refused)?;
    let store = Store::open_migrated(&config.database_url()).await?;
    let applied = async {
        let tenant = the_tenant(&store, args.tenant).await?;
        // `dev` runs on such a database, and takes addresses of this machine.
        let for_development = config.env != Environment::Prod && operator::is_seeded(&store).await?;
        let config = if for_development { Arc::new(config.for_development()) } else { config.clone() };
        apply::apply(&store, config, tenant, described, args.dry_run).await.map_err(refused)
    };
    let applied = Box::pin(applied).await;
    store.close().await;
    let report = applied?;
    report.notes().iter().for_each(|note| output::note(&output::plain(note)));
    output::show(json, &report, |report| report.lines().iter().for_each(|line| output::line(line)))?;
    Ok(ExitCode::SUCCESS)
}

/// Says why in the log what the API would say in its log.
fn log_errors(config: &Config) {
    telemetry::start(&Config { log: "error".to_owned(), ..config.clone() });
}

fn refused(error: ApplyError) -> CliError {
    match error {
        ApplyError::NoFiles(words) => CliError::Usage(words),
        ApplyError::Failed(error) => CliError::Failed(error),
        ApplyError::Wrong(problems) => CliError::Failed(anyhow::anyhow!("{}", listed(&problems))),
    }
}

fn listed(problems: &[Problem]) -> String {
    let count = match problems.len() {
        1 => "an error".to_owned(),
        many => format!("{many} errors"),
    };
    let lines: String = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    format!("nothing was applied, because of {count}:{lines}")
}

async fn the_tenant(store: &Store, id: Option<TenantId>) -> Result<TenantId, CliError> {
    operator::tenant_or_only(store, id).await?.map_err(CliError::Usage)
}

pub(super) async fn export(args: &ExportArgs, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open_migrated(&config.database_url()).await?;
    let exported = async {
        let tenant = the_tenant(&store, args.tenant).await?;
        Ok::<_, CliError>(apply::export(&store, tenant).await?)
    };
    let exported = exported.await;
    store.close().await;
    let export = exported?;
    export.notes().iter().for_each(|note| output::note(&output::plain(note)));
    match &args.output {
        None if json => output::json(&export.document())?,
        None => output::text(&export.yaml()),
        Some(path) => {
            let written = write(path, &export, args.force)?;
            let print = |written: &Vec<PathBuf>| {
                written.iter().for_each(|path| output::line(&format!("wrote {}", path.display())));
            };
            if json { output::json(&json!({ "files": written }))? } else { print(&written) }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a file, or a folder of files; returns what was written.
fn write(path: &Path, export: &Export, force: bool) -> Result<Vec<PathBuf>, CliError> {
    let is_file = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") && !path.is_dir();
    let files: Vec<(PathBuf, String)> = if is_file {
        vec![(path.to_owned(), export.yaml())]
    } else {
        std::fs::create_dir_all(path).with_context(|| format!("could not create {}", path.display()))?;
        export.files().into_iter().map(|(name, text)| (path.join(name), text)).collect()
    };
    // Before anything is written.
    if let Some((taken, _)) = files.iter().find(|(path, _)| !force && path.exists()) {
        return Err(CliError::Usage(format!(
            "{} exists: name another place, or overwrite it with --force",
            taken.display()
        )));
    }
    for (path, text) in &files {
        let failed =
            |error: io::Error| anyhow::Error::from(error).context(format!("could not write {}", path.display()));
        std::fs::write(path, text).map_err(failed)?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}
