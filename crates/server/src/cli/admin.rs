//! `seed`, `migrate`, `openapi`.

use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{CliError, output};
use crate::config::Config;
use crate::housekeeping;
use crate::operator::{self, Seeded};
use crate::store::{Dialect, Store};

pub(super) async fn seed(config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open(&config.database_url()).await?;
    let seeded = operator::seed(&store, config).await?;
    store.close().await;
    output::show(json, &seeded, |seeded| print_seeded(seeded, &config.listen.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the seeded resources and a command that places a call.
pub(super) fn print_seeded(seeded: &Seeded, address: &str) {
    output::line(&format!("Tenant   {}  {}", seeded.tenant.id, seeded.tenant.name));
    output::line(&format!("Agent    {}  Ava, a demo agent: it books restaurant tables by a script", seeded.agent_id));
    output::line(&format!("Number   {}", seeded.number));
    output::line(&format!("API key  {}", seeded.api_key.key));
    output::line("\nThe key is shown only this once. Place a call with:\n");
    output::line(&format!(
        "  curl -s http://{address}/v1/calls -H 'Authorization: Bearer {}' \\\n    -H 'Content-Type: application/json' \
         -d '{{\"agent_id\":\"{}\",\"to\":\"+12025550100\"}}'\n",
        seeded.api_key.key, seeded.agent_id
    ));
}

fn progress_style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} calls indexed, {eta} left");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

pub(super) async fn migrate(config: &Config, compact: bool, json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open(&config.database_url()).await?;
    let bar = ProgressBar::new(0).with_style(progress_style());
    housekeeping::index_all(&store, |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })
    .await?;
    bar.finish_and_clear();
    if compact {
        store.compact().await?;
    }
    let dialect = store.dialect();
    store.close().await;
    if json {
        let engine = match dialect {
            Dialect::Sqlite => "sqlite",
            Dialect::Postgres => "postgres",
        };
        output::json(&json!({ "database": engine, "up_to_date": true }))?;
    } else {
        output::line("The database schema is up to date.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Options of `openapi`.
#[derive(Args, Debug)]
pub(super) struct OpenapiArgs {
    /// Version of OpenAPI: 3.1, or 3.0 for tools that read no other. Webhooks are described in 3.1 only.
    #[arg(long = "version", value_name = "VERSION", default_value = "3.1", value_parser = ["3.0", "3.1"])]
    openapi_version: String,
}

pub(super) fn openapi(args: &OpenapiArgs) -> Result<ExitCode, CliError> {
    let document = if args.openapi_version == "3.0" { crate::http::openapi_3_0() } else { crate::http::openapi() };
    output::json(&document)?;
    Ok(ExitCode::SUCCESS)
}
