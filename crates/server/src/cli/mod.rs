//! The command line.

mod admin;
mod agent;
mod api;
mod apply;
mod backup;
mod browser;
mod call;
mod demo;
mod doctor;
mod init;
mod key;
mod language_model;
mod models;
mod output;
mod replay;
mod rotate;
mod screen;
mod serve;
mod tenant;
mod webhook;
mod wrap;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config::{Config, ConfigError, Flags};
use crate::lifecycle::StopSignals;
use crate::stderr;

/// Places and answers phone calls with AI agents.
#[derive(Debug, Parser)]
#[command(name = "switchhook", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: CliCommand,
}

/// Options of every command.
#[derive(Args, Debug)]
struct Common {
    /// TOML file of settings; see config.default.toml.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the database, recordings, key file and speech models [default: ./switchhook-data].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Database URL, sqlite://path or postgres://… [default: a file in the data directory].
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Hold a spoken phone call on this machine, without an account or configuration.
    Demo(demo::Args),
    /// Place a call through the API of a running service and follow it live.
    Call(call::Args),
    /// Run the service.
    Serve(serve::Args),
    /// Run the service for development; the first start creates a tenant, an agent and a number.
    Dev(serve::DevArgs),
    /// Create a tenant, a key, connections, an agent and a number for development.
    Seed,
    /// Create and manage tenants.
    #[command(subcommand)]
    Tenant(tenant::TenantCommand),
    /// Create and revoke API keys, also for a tenant that has lost its last one.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Write the first files of an agent for `apply`; asks for its name, job and language model.
    Init(init::Args),
    /// Choose which versions of an agent new calls get: pin, split and roll back.
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Create and change a tenant's connections, agents, numbers and webhooks as files describe, also while the service runs.
    Apply(apply::ApplyArgs),
    /// Write a tenant's connections, agents, numbers and webhooks as files for `apply`, without secrets.
    Export(apply::ExportArgs),
    /// List, download and verify the local speech models.
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Verify webhook signatures, or listen for deliveries.
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Run ended calls again: why did the agent speak when it did, and what would other settings have changed?
    Replay(replay::Args),
    /// Check the configuration, database, credentials, models and public address, and print how to fix problems.
    Doctor,
    /// Migrate the database schema.
    Migrate {
        /// Rebuild an SQLite database of an earlier version so that it returns the space of deleted rows. Stop the service first.
        /// Needs as much free disk space as the database uses.
        #[arg(long)]
        compact: bool,
    },
    /// Back up the database, and recordings and key file on request, into a folder, also while the service runs.
    Backup(backup::BackupArgs),
    /// Restore a backup into the data directory of a stopped service.
    Restore(backup::RestoreArgs),
    /// Create a new master key and reseal every stored secret, also while the service runs. If interrupted, run it again to
    /// continue.
    RotateMasterKey(rotate::Args),
    /// Print the OpenAPI document.
    Openapi(admin::OpenapiArgs),
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Bad usage or configuration: exit code 2.
    Usage(String),
    /// Anything else: exit code 1.
    Failed(anyhow::Error),
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl<E: Into<anyhow::Error>> From<E> for CliError
where
    E: NotConfig,
{
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Errors other than configuration errors.
pub(crate) trait NotConfig {}
impl NotConfig for anyhow::Error {}
impl NotConfig for sqlx::Error {}
impl NotConfig for std::io::Error {}

/// Settings as arguments: their names in [`Common`], and as they are typed.
const CONFIG: (&str, &str) = ("config", "config");
const DATA_DIR: (&str, &str) = ("data_dir", "data-dir");
const DATABASE_URL: (&str, &str) = ("database_url", "database-url");

/// The settings that commands do not need. They are accepted, as everywhere, and not listed in the help.
const UNUSED: [(&str, &[(&str, &str)]); 6] = [
    ("call", &[CONFIG, DATA_DIR, DATABASE_URL]),
    ("init", &[CONFIG, DATA_DIR, DATABASE_URL]),
    ("webhook", &[CONFIG, DATA_DIR, DATABASE_URL]),
    ("openapi", &[CONFIG, DATA_DIR, DATABASE_URL]),
    ("demo", &[DATABASE_URL]),
    ("models", &[DATABASE_URL]),
];

/// The command line with a help that lists only options with an effect.
fn command_line() -> clap::Command {
    let hidden = |command: clap::Command, (name, typed): &(&'static str, &'static str)| {
        let option = clap::Arg::new(*name).long(*typed).global(true).hide(true);
        let path = *name != DATABASE_URL.0;
        command.arg(if path { option.value_parser(clap::value_parser!(PathBuf)) } else { option })
    };
    UNUSED.iter().fold(Cli::command(), |line, (command, unused)| {
        line.mut_subcommand(command, |command| unused.iter().fold(command, hidden))
    })
}

/// Runs the command line and returns its exit code.
#[must_use]
pub fn run() -> ExitCode {
    let _flush = stderr::Flush;
    let cli = match Cli::from_arg_matches(&command_line().get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output::failed(&format!("could not start the runtime: {error}"), 1),
    };
    let done = runtime.block_on(cli.execute_unless_stopped());
    // A question at the terminal, for example, has no answer any more.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(CliError::Usage(words)) => output::failed(&words, 2),
        Err(CliError::Failed(error)) => output::failed(&format!("{error:#}"), 1),
    }
}

impl Cli {
    /// Runs the command. SIGTERM and SIGINT end those that do not stop in order, as process 1 of a container too.
    async fn execute_unless_stopped(self) -> Result<ExitCode, CliError> {
        use CliCommand::{Call, Dev, Serve, Webhook};
        let mut signals = match &self.command {
            Serve(_) | Dev(_) | Webhook(webhook::WebhookCommand::Listen { .. }) => return self.execute().await,
            // The other one hangs up.
            Call(_) => StopSignals::terminate(),
            _ => StopSignals::listen(),
        };
        tokio::select! {
            done = self.execute() => done,
            // What a shell says of a process that a signal ended.
            signal = signals.next() => Ok(ExitCode::from(u8::try_from(128 + signal.as_raw_value()).unwrap_or(1))),
        }
    }

    async fn execute(self) -> Result<ExitCode, CliError> {
        let Self { common, command } = self;
        let json = common.json;
        match command {
            // These need no configuration.
            CliCommand::Openapi(args) => admin::openapi(&args),
            CliCommand::Webhook(command) => webhook::run(command, json).await,
            CliCommand::Init(args) => init::run(args, json).await,
            CliCommand::Call(args) => call::run(args, json).await,
            CliCommand::Doctor => doctor::run(common.load(None), json).await,
            CliCommand::Demo(args) => demo::run(args, &common, json).await,
            CliCommand::Serve(args) => serve::serve(&args, common.load(Some(&args))?, json).await,
            CliCommand::Dev(args) => serve::dev(&args, common.load(Some(&args.serve))?, json).await,
            CliCommand::Seed => admin::seed(&*common.load(None)?, json).await,
            CliCommand::Tenant(command) => tenant::run(command, &*common.load(None)?, json).await,
            CliCommand::Key(command) => key::run(command, &*common.load(None)?, json).await,
            CliCommand::Agent(command) => agent::run(command, &*common.load(None)?, json).await,
            CliCommand::Apply(args) => apply::apply(&args, &common.load(None)?, json).await,
            CliCommand::Export(args) => apply::export(&args, &*common.load(None)?, json).await,
            CliCommand::Models(command) => models::run(command, &*common.load(None)?, json).await,
            CliCommand::Replay(args) => replay::run(args, &*common.load(None)?, json).await,
            CliCommand::Backup(args) => backup::back_up(&args, &*common.load(None)?, json).await,
            CliCommand::Restore(args) => backup::restore(&args, &*common.load(None)?, json).await,
            CliCommand::RotateMasterKey(args) => rotate::run(&args, &*common.load(None)?, json).await,
            CliCommand::Migrate { compact } => admin::migrate(&*common.load(None)?, compact, json).await,
        }
    }
}

impl Common {
    fn load(&self, serve: Option<&serve::Args>) -> Result<Arc<Config>, ConfigError> {
        let flags = Flags {
            listen: serve.and_then(|args| args.listen.clone()),
            database_url: self.database_url.clone(),
            data_dir: self.data_dir.clone(),
        };
        Config::load(self.config.as_deref(), &flags).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn a_command_lists_only_options_with_an_effect_and_takes_the_others() {
        let help = |command: &str| {
            let shown = command_line().try_get_matches_from(["switchhook", command, "--help"]).expect_err("help");
            shown.to_string()
        };
        assert!(!help("call").contains("--data-dir") && !help("call").contains("--config"), "{}", help("call"));
        assert!(help("serve").contains("--data-dir") && help("demo").contains("--data-dir"));
        let settings = |arguments: &[&str]| {
            let matches = command_line().try_get_matches_from(arguments).expect("valid");
            Cli::from_arg_matches(&matches).expect("valid").common.data_dir
        };
        for arguments in [["switchhook", "--data-dir", "x", "openapi"], ["switchhook", "openapi", "--data-dir", "x"]] {
            assert_eq!(settings(&arguments), Some(PathBuf::from("x")), "{arguments:?}");
        }
    }
}
