//! `switchhook serve` and `switchhook dev`.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;

use super::{CliError, admin, models, output};
use crate::app::Service;
use crate::config::{Config, NodeRole};
use crate::{lifecycle, operator, telemetry};

/// Arguments of `switchhook serve`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Address to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
}

pub(super) async fn serve(_args: &Args, config: Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    telemetry::start(&config);
    let service = start(&config, json).await?;
    until_stopped(service, &config).await;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn dev(_args: &Args, config: Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    let config = Arc::new(config.for_development());
    telemetry::start(&config);
    if let Err(error) = models::pull_all(&ModelStore::new(&config.data_dir)).await? {
        output::note(&format!(
            "Speech models are not available: {error}. Only agents with their own STT and TTS can take calls."
        ));
    }
    let service = start(&config, json).await?;
    if !operator::is_seeded(service.store()).await? {
        let seeded = operator::seed(service.store(), &config).await?;
        if json {
            output::json_line(&seeded)?;
        } else {
            admin::print_seeded(&seeded, &service.address().to_string());
        }
    } else if !json {
        output::line("Using the tenant, agent and number of the first start; `switchhook seed` creates a new key.");
    }
    if !json {
        output::line(&format!("Dashboard  http://{}/", service.address()));
    }
    until_stopped(service, &config).await;
    Ok(ExitCode::SUCCESS)
}

async fn start(config: &Arc<Config>, json: bool) -> anyhow::Result<Service> {
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

async fn until_stopped(service: Service, config: &Config) {
    lifecycle::asked_to_stop().await;
    output::note("Stopping: waiting for live calls to end. Signal again to end them now.");
    let drain_timeout = config.drain_timeout;
    let end_now = service.end_now();
    tokio::spawn(async move {
        lifecycle::asked_to_stop().await;
        end_now.cancel();
    });
    service.stop(drain_timeout).await;
}
