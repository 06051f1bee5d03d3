//! The command line.

mod admin;
mod api;
mod call;
mod demo;
mod doctor;
mod key;
mod models;
mod output;
mod rotate;
mod screen;
mod serve;
mod tenant;
mod webhook;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};

use crate::config::{Config, ConfigError, Flags};

/// Places and answers phone calls, and lets configured agents hold the conversation.
#[derive(Debug, Parser)]
#[command(name = "switchhook", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
struct Common {
    /// A TOML file of settings; see config.default.toml.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database, recordings, key file, speech models [default: ./switchhook-data].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// sqlite://path or postgres://… [default: a file in the data directory].
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Hold a spoken phone call on this machine, without any account or configuration.
    Demo(demo::Args),
    /// Place a call through the API of a running service and follow it live.
    Call(call::Args),
    /// Run the service.
    Serve(serve::Args),
    /// Run the service for development: on the first start with a tenant, an agent and a number.
    Dev(serve::Args),
    /// Make a tenant, a key, connections, an agent and a number for development.
    Seed,
    /// Make and manage tenants.
    #[command(subcommand)]
    Tenant(tenant::Command),
    /// Make and revoke API keys, also for a tenant that lost its last one.
    #[command(subcommand)]
    Key(key::Command),
    /// List, download and verify the local speech models.
    #[command(subcommand)]
    Models(models::Command),
    /// Verify webhook signatures, or listen for deliveries.
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Check the configuration, the database, credentials, models and the public address, and say how to mend what is wrong.
    Doctor,
    /// Bring the database's schema up to date.
    Migrate {
        /// Rebuild an SQLite database of an earlier version so that it gives the space of deleted rows back. Stop the service first; as
        /// much free disk space as the database has is needed.
        #[arg(long)]
        compact: bool,
    },
    /// Make a new master key and seal every stored secret anew with it, also while the service runs. Broken off, it goes on when it is
    /// run again.
    RotateMasterKey(rotate::Args),
    /// Print the OpenAPI document.
    Openapi,
}

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage or configuration: exit code 2.
    Usage(String),
    /// Anything else: exit code 1.
    Failed(anyhow::Error),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure
where
    E: NotConfig,
{
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Errors that are not the configuration's.
pub(crate) trait NotConfig {}
impl NotConfig for anyhow::Error {}
impl NotConfig for sqlx::Error {}
impl NotConfig for std::io::Error {}

/// Reads the command line, does what it says, and tells how that went.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output::failed(&format!("the runtime could not be started: {error}"), 1),
    };
    match runtime.block_on(cli.execute()) {
        Ok(code) => code,
        Err(Failure::Usage(words)) => output::failed(&words, 2),
        Err(Failure::Failed(error)) => output::failed(&format!("{error:#}"), 1),
    }
}

impl Cli {
    async fn execute(self) -> Result<ExitCode, Failure> {
        let Self { common, command } = self;
        let json = common.json;
        match command {
            // These need no configuration.
            Command::Openapi => admin::openapi(),
            Command::Webhook(command) => webhook::run(command, json).await,
            Command::Call(args) => call::run(args, json).await,
            Command::Doctor => doctor::run(common.load(None), json).await,
            Command::Demo(args) => demo::run(args, &common, json).await,
            Command::Serve(args) => serve::serve(&args, common.load(Some(&args))?, json).await,
            Command::Dev(args) => serve::dev(&args, common.load(Some(&args))?, json).await,
            Command::Seed => admin::seed(&*common.load(None)?, json).await,
            Command::Tenant(command) => tenant::run(command, &*common.load(None)?, json).await,
            Command::Key(command) => key::run(command, &*common.load(None)?, json).await,
            Command::Models(command) => models::run(command, &*common.load(None)?, json).await,
            Command::RotateMasterKey(args) => rotate::run(&args, &*common.load(None)?, json).await,
            Command::Migrate { compact } => admin::migrate(&*common.load(None)?, compact, json).await,
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
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
