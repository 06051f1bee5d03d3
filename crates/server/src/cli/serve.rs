//! `switchhook serve` and `switchhook dev`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchhook_core::api_key::Environment;
use switchhook_providers::check::Check;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;
use url::Url;

use super::{CliError, admin, browser, language_model, models, output};
use crate::app::Service;
use crate::config::{Config, NodeRole, is_confidential};
use crate::lifecycle::{StopSignals, has_terminal, outlive_other_signals};
use crate::sign_in::SignIn;
use crate::sign_in::link::SignInLink;
use crate::{files, open_files, operator, telemetry};

/// Shortest time between two sign-in links in the terminal, over all clients.
const LINK_INTERVAL: Duration = Duration::from_secs(2);

/// Arguments of `switchhook serve`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Address to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
}

/// Arguments of `switchhook dev`.
#[derive(clap::Args, Debug)]
#[command(after_help = language_model::HELP)]
pub(super) struct DevArgs {
    #[command(flatten)]
    pub(super) serve: Args,
    #[command(flatten)]
    model: language_model::Args,
    /// Do not open the dashboard in a browser.
    #[arg(long)]
    no_open: bool,
}

pub(super) async fn serve(_args: &Args, config: Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    telemetry::start(&config);
    let mut signals = StopSignals::listen();
    outlive_other_signals();
    let starting = start(&config, json);
    let Some(service) = unless_stopped(&mut signals, starting).await? else { return Ok(ExitCode::SUCCESS) };
    until_stopped(service, &config, signals).await;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn dev(args: &DevArgs, config: Arc<Config>, json: bool) -> Result<ExitCode, CliError> {
    let configured = config;
    let config = Arc::new(configured.for_development());
    telemetry::start(&config);
    files::data_directory(&config.data_dir)?;
    let models = ModelStore::new(&config.data_dir);
    let mut signals = StopSignals::listen();
    outlive_other_signals();
    let pulling = models::pull_all(&models);
    let Some(pulled) = unless_stopped(&mut signals, pulling).await? else { return Ok(ExitCode::SUCCESS) };
    if let Err(error) = pulled {
        output::note(&format!(
            "Speech models are not available: {error}. Only agents with their own STT and TTS can take calls."
        ));
    }
    let starting = start(&config, json);
    let Some(service) = unless_stopped(&mut signals, starting).await? else { return Ok(ExitCode::SUCCESS) };
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
        output::line(&match service.sign_in() {
            SignIn::Local(_) => format!("Dashboard  {} (this link signs you in, once)", dashboard(&service, &config)),
            SignIn::Oidc(_) => format!("Dashboard  {}", dashboard(&service, &config)),
            SignIn::Off => "Dashboard  off: set SWITCHHOOK_OIDC_ISSUER (docs/dashboard.md). Signing in without one needs a loopback \
                address, to listen on and as SWITCHHOOK_PUBLIC_URL, and not SWITCHHOOK_ENV=prod"
                .to_owned(),
        });
        let local = [
            ("Webhooks   may", "SWITCHHOOK_WEBHOOK_ALLOW", configured.webhook_allow != config.webhook_allow),
            (
                "Tools      and models may",
                "SWITCHHOOK_OUTBOUND_ALLOW",
                configured.outbound_allow != config.outbound_allow,
            ),
        ];
        for (what, setting, _) in local.iter().filter(|(.., is_changed)| *is_changed) {
            output::line(&format!("{what} be on this machine, as http://127.0.0.1:9000: {setting} is not set"));
        }
    }
    if let SignIn::Local(link) = service.sign_in() {
        tokio::spawn(show_links(link.clone(), config.reached_at(service.address()), json));
    }
    // It may ask for a key, and Ctrl-C is an answer.
    let asked = tokio::select! {
        connected = connect_model(args, &service, &config, key.as_deref(), json) => connected.map(|()| true),
        _ = signals.next() => Ok(false),
    };
    if !asked? {
        stop(service, &config, signals).await;
        return Ok(ExitCode::SUCCESS);
    }
    if !json && !args.no_open && matches!(service.sign_in(), SignIn::Local(_)) {
        open_dashboard(&service, &config);
    }
    until_stopped(service, &config, signals).await;
    Ok(ExitCode::SUCCESS)
}

/// Opens the dashboard, signed in, in the browser of a desktop.
fn open_dashboard(service: &Service, config: &Config) {
    match browser::open_sign_in(&config.data_dir, &dashboard(service, config)) {
        Ok(true) => output::line("Opening the dashboard in your browser; `--no-open` leaves that to you."),
        Ok(false) => {}
        Err(error) => output::note(&format!("No browser could be opened: {error}. Open the link above.")),
    }
}

/// Shows the sign-in link whenever a browser asks for it.
async fn show_links(link: Arc<SignInLink>, service: String, json: bool) {
    loop {
        link.asked().await;
        let url = format!("{service}{}", link.path());
        output::line(&if json { json!({ "dashboard": url }).to_string() } else { format!("Sign in    {url}") });
        tokio::time::sleep(LINK_INTERVAL).await;
    }
}

/// The address of the dashboard; with the local sign-in, the link that signs in.
fn dashboard(service: &Service, config: &Config) -> String {
    let address = config.reached_at(service.address());
    match service.sign_in() {
        SignIn::Local(link) => format!("{address}{}", link.path()),
        SignIn::Oidc(_) | SignIn::Off => format!("{address}/"),
    }
}

/// Connects a language model to the tenant of the first start, if one is found and responds, and says how an agent uses it.
async fn connect_model(
    args: &DevArgs,
    service: &Service,
    config: &Config,
    key: Option<&str>,
    json: bool,
) -> Result<(), CliError> {
    let Some(tenant) = operator::seeded_tenant(service.store()).await? else { return Ok(()) };
    let tenant = tenant.tenant();
    // Only a node with calls uses one, and can test it.
    if !config.has_role(NodeRole::Calls) {
        return Ok(());
    }
    if args.model.llm_url.is_none() && operator::has_language_model(service.store(), tenant).await? {
        return Ok(());
    }
    // Only the first start asks.
    let Some(model) = language_model::find(&args.model, key.is_some() && !json).await? else {
        if !json {
            output::line(&language_model::nothing_found());
        }
        return Ok(());
    };
    let (row, is_new) = operator::connect_language_model(service.store(), config, tenant, &model).await?;
    let checks = service.check_language_model(&row).await?;
    let failed = checks.iter().find(|check| !check.ok);
    if failed.is_some() && is_new {
        operator::disconnect(service.store(), &row).await?;
    }
    let kept = failed.is_none() || !is_new;
    if json {
        output::json_line(&json!({ "language_model": {
            "connection_id": kept.then_some(row.id), "provider": model.provider, "model": model.model,
            "ok": failed.is_none(), "detail": failed.or(checks.first()).map(|check| &check.detail),
        } }))?;
        return Ok(());
    }
    let named = model.model.as_ref().map(|name| format!(", model {name}")).unwrap_or_default();
    if let Some(Check { detail, .. }) = failed {
        let then = if kept { "Its connection has these settings now." } else { "It is not connected." };
        output::note(&format!(
            "The language model {}{named} cannot be used: {detail} {then} Correct that and start `dev` again, or name another one \
             with --llm-url and --llm-model.",
            model.found
        ));
        return Ok(());
    }
    let time = checks.first().map_or(0, |check| check.duration_ms);
    let (id, address, key) = (row.id, service.address(), key.unwrap_or("$KEY"));
    output::line(&format!(
        "\nLanguage model  {}{named}: it responded in {time} ms. Change it on the dashboard's page Connections, or with --llm-url and \
         --llm-model.\nCreate an agent of your own with:\n",
        model.found
    ));
    output::line(&format!(
        "  curl -s http://{address}/v1/agents -H 'Authorization: Bearer {key}' \\\n    -H 'Content-Type: application/json' \
         -d '{{\"name\":\"Reception\",\"instructions\":\"You answer the phone of a dentist.\",\"llm\":{{\"connection_id\":\"{id}\"}}}}'\n"
    ));
    Ok(())
}

/// Returns the result of `work`, or `None` if the process is asked to stop first: nothing is live yet.
async fn unless_stopped<T>(
    signals: &mut StopSignals,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    tokio::select! {
        done = work => done.map(Some),
        _ = signals.next() => Ok(None),
    }
}

async fn start(config: &Arc<Config>, json: bool) -> anyhow::Result<Service> {
    open_files::raise();
    open_files::check(open_files::limit())?;
    let models = ModelStore::new(&config.data_dir);
    if config.has_role(NodeRole::Calls) && !models.missing().is_empty() {
        tracing::warn!(
            "local speech models are not installed: agents that use local STT or TTS cannot take calls; run \
             `switchhook models pull`"
        );
    }
    let service = Service::start(config.clone(), models, Clock::system()).await?;
    let address = service.address();
    let public = Url::parse(&config.reached_at(address));
    if config.env == Environment::Prod && !public.is_ok_and(|url| is_confidential(&url)) {
        tracing::warn!(
            "SWITCHHOOK_PUBLIC_URL is no https:// address: the tokens and audio of calls can be read on their way"
        );
    }
    if json {
        output::json_line(&json!({
            "listening": format!("http://{address}"), "docs": format!("http://{address}/docs"),
            "dashboard": dashboard(&service, config),
        }))?;
    } else {
        output::line(&format!("Switchhook listens on http://{address} (API documentation at /docs)"));
    }
    Ok(service)
}

/// Long enough for load balancers that poll every few seconds. A terminal has none in front of it.
fn usual_shutdown_delay() -> Duration {
    if has_terminal() { Duration::ZERO } else { Duration::from_secs(5) }
}

async fn until_stopped(service: Service, config: &Config, mut signals: StopSignals) {
    signals.next().await;
    stop(service, config, signals).await;
}

/// Stops the service, at once if there is another signal.
async fn stop(service: Service, config: &Config, mut signals: StopSignals) {
    output::note("Stopping: waiting for live calls to end. Signal again to end them now.");
    let open_for = config.shutdown_delay.unwrap_or_else(usual_shutdown_delay);
    let drain_timeout = config.drain_timeout;
    let end_now = service.end_now();
    tokio::spawn(async move {
        signals.next().await;
        end_now.cancel();
    });
    service.stop(drain_timeout, open_for).await;
}
