//! `switchhook serve` and `switchhook dev`.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;

use super::{CliError, admin, language_model, models, output};
use crate::app::Service;
use crate::config::{Config, NodeRole};
use crate::{files, lifecycle, open_files, operator, telemetry};

/// Arguments of `switchhook serve`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Address to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
}

/// Arguments of `switchhook dev`.
#[derive(clap::Args, Debug)]
pub(super) struct DevArgs {
    #[command(flatten)]
    pub(super) serve: Args,
    #[command(flatten)]
    model: language_model::Args,
}

pub(super) async fn serve(_args: &Args, config: Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    telemetry::start(&config);
    let service = start(&config, json).await?;
    until_stopped(service, &config).await;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn dev(args: &DevArgs, config: Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    let local_webhooks = config.webhook_allow != config.for_development().webhook_allow;
    let config = Arc::new(config.for_development());
    telemetry::start(&config);
    files::data_directory(&config.data_dir)?;
    if let Err(error) = models::pull_all(&ModelStore::new(&config.data_dir)).await? {
        output::note(&format!(
            "Speech models are not available: {error}. Only agents with their own STT and TTS can take calls."
        ));
    }
    let service = start(&config, json).await?;
    let first = !operator::is_seeded(service.store()).await?;
    let mut key = None;
    if first {
        let seeded = operator::seed(service.store(), &config).await?;
        if json {
            output::json_line(&seeded)?;
        } else {
            admin::print_seeded(&seeded, &service.address().to_string());
        }
        key = Some(seeded.api_key.key);
    } else if !json {
        output::line("Using the tenant, agent and number of the first start; `switchhook seed` creates a new key.");
    }
    if !json {
        output::line(&format!("Dashboard  http://{}/", service.address()));
        if local_webhooks {
            output::line(
                "Webhooks   may be on this machine, as http://127.0.0.1:9000: SWITCHHOOK_WEBHOOK_ALLOW is not set",
            );
        }
    }
    if first || args.model.llm_url.is_some() {
        connect_model(args, &service, &config, key.as_deref(), json).await?;
    }
    until_stopped(service, &config).await;
    Ok(ExitCode::SUCCESS)
}

/// Connects a language model, if one is found, and says how an agent uses it.
async fn connect_model(
    args: &DevArgs,
    service: &Service,
    config: &Config,
    key: Option<&str>,
    json: bool,
) -> Result<(), CliError> {
    let Some(tenant) = operator::seeded_tenant(service.store()).await? else { return Ok(()) };
    let Some(model) = language_model::find(&args.model, !json).await? else {
        if !json {
            output::line("No language model is connected: agents of your own need one, see `switchhook dev --help`.");
        }
        return Ok(());
    };
    let id = operator::connect_language_model(service.store(), config, tenant.tenant(), &model).await?;
    if json {
        output::json_line(
            &json!({ "language_model": { "connection_id": id, "provider": model.provider, "model": model.model } }),
        )?;
        return Ok(());
    }
    let named = model.model.as_ref().map(|name| format!(", model {name}")).unwrap_or_default();
    output::line(&format!(
        "\nLanguage model  {}{named}: connection {id}. Create an agent of your own with:\n",
        model.found
    ));
    let (address, key) = (service.address(), key.unwrap_or("$KEY"));
    output::line(&format!(
        "  curl -s http://{address}/v1/agents -H 'Authorization: Bearer {key}' \\\n    -H 'Content-Type: application/json' \
         -d '{{\"name\":\"Reception\",\"instructions\":\"You answer the phone of a dentist.\",\"llm\":{{\"connection_id\":\"{id}\"}}}}'\n"
    ));
    Ok(())
}

async fn start(config: &Arc<Config>, json: bool) -> anyhow::Result<Service> {
    open_files::raise();
    let models = ModelStore::new(&config.data_dir);
    if config.has_role(NodeRole::Calls) && !models.missing().is_empty() {
        tracing::warn!(
            "local speech models are not installed: agents that use local STT or TTS cannot take calls; run \
             `switchhook models pull`"
        );
    }
    let service = Service::start(config.clone(), models, Clock::system()).await?;
    let address = service.address();
    if json {
        output::json_line(&json!({
            "listening": format!("http://{address}"), "docs": format!("http://{address}/docs"),
            "dashboard": format!("http://{address}/"),
        }))?;
    } else {
        output::line(&format!("Switchhook listens on http://{address} (API documentation at /docs)"));
    }
    Ok(service)
}

/// Long enough for load balancers that poll every few seconds. A terminal has none in front of it.
fn usual_shutdown_delay() -> Duration {
    if std::io::stderr().is_terminal() { Duration::ZERO } else { Duration::from_secs(5) }
}

async fn until_stopped(service: Service, config: &Config) {
    lifecycle::asked_to_stop().await;
    output::note("Stopping: waiting for live calls to end. Signal again to end them now.");
    let open_for = config.shutdown_delay.unwrap_or_else(usual_shutdown_delay);
    let drain_timeout = config.drain_timeout;
    let end_now = service.end_now();
    tokio::spawn(async move {
        lifecycle::asked_to_stop().await;
        end_now.cancel();
    });
    service.stop(drain_timeout, open_for).await;
}
