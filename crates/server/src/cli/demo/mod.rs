//! `switchhook demo`: one spoken call on embedded defaults, through the public API, shown live.

mod show;
mod stage;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};
use switchhook_runtime::clock::{self, Clock};
use switchhook_speech::models::{ModelError, ModelStore};
use tokio::time::Instant;

use self::stage::Stage;
use super::api::Api;
use super::screen::{LinesInOrder, Screen};
use super::{CliError, Common, models};
use crate::app::Service;
use crate::config::Config;
use crate::operator;
use crate::store::tenants::OwnLimits;
use crate::webhooks::receiver::{Received, Receiver};

/// The simulated number whose caller talks.
const CALLEE: &str = "+12025550100";
/// Time limit of the call, enough for the slowest models.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);
/// Time limit of the last deliveries after the call.
const DELIVERIES_TIMEOUT: Duration = Duration::from_secs(15);
/// Poll interval of the call.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time limit to stop the service.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Arguments of `switchhook demo`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Use this OpenAI-compatible server instead of the script, for example http://127.0.0.1:11434/v1.
    #[arg(long, value_name = "URL")]
    llm_url: Option<String>,
    /// Its model.
    #[arg(long, value_name = "NAME", requires = "llm_url")]
    llm_model: Option<String>,
    /// Environment variable with its API key, if it requires one.
    #[arg(long, value_name = "VARIABLE", requires = "llm_url")]
    llm_key_env: Option<String>,
}

/// The speech providers of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    /// The local models.
    Models,
    /// Simulated speech: STT that knows the recordings, TTS that plays tones.
    Simulated,
}

/// The output of `--json`; the contract fixes its fields.
#[derive(Serialize)]
struct Printed {
    call: Value,
    transcript: Value,
    recording: Option<PathBuf>,
    deliveries: Vec<Value>,
    latency_ms: Value,
    speech: Value,
}

pub(super) async fn run(args: Args, common: &Common, json: bool) -> Result<ExitCode, CliError> {
    let key = match &args.llm_key_env {
        Some(name) => Some(
            std::env::var(name).map_err(|_| CliError::Usage(format!("the environment variable {name} is not set")))?,
        ),
        None => None,
    };
    let settings = common.load(None)?;
    // The terminal shows the conversation, so only warnings are logged by default.
    let log = std::env::var("SWITCHHOOK_LOG").map_or_else(|_| "error".to_owned(), |_| settings.log.clone());
    crate::telemetry::start(&Config { log, ..(*settings).clone() });
    let screen = Screen::new(json);
    screen.title();
    let models = ModelStore::new(&settings.data_dir);
    let speech = have_models(&models, &screen).await?;
    let played = play(&args, key, models, speech, &screen).await?;
    let missing = played.missing();
    if json {
        super::output::json(&played.printed)?;
    }
    if missing.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(super::output::failed(&format!("the demo did not succeed: {}", missing.join("; ")), 1))
}

/// Downloads missing speech models, or reports why it cannot.
async fn have_models(models: &ModelStore, screen: &Screen) -> anyhow::Result<Speech> {
    match models::pull_all(models).await? {
        Ok(()) => Ok(Speech::Models),
        Err(error) => {
            screen.without_models(&why(&error));
            Ok(Speech::Simulated)
        }
    }
}

fn why(error: &ModelError) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

/// A finished call and its data.
struct Played {
    printed: Printed,
    call_events: usize,
    verified: usize,
}

async fn play(
    args: &Args,
    key: Option<String>,
    models: ModelStore,
    speech: Speech,
    screen: &Screen,
) -> anyhow::Result<Played> {
    let folder = std::env::temp_dir().join(format!("switchhook-demo-{:08x}", u32::from_be_bytes(clock::random())));
    let config = Arc::new(config(&folder)?);
    let service = Service::start(config.clone(), models, Clock::system()).await?;
    if speech == Speech::Models {
        let bar = loading_bar();
        service.load_speech(|loaded| bar.set_position(loaded)).await?;
        bar.finish_and_clear();
    }
    // The demo polls the call many times per second.
    let limits = OwnLimits { rate_per_minute: Some(10_000), ..OwnLimits::default() };
    let tenant = operator::create_tenant(service.store(), &config, "demo", limits).await?;
    let mut receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await?;
    let api = Api::new(&format!("http://{}", service.address()), &tenant.api_key.key)?;
    let stage = Stage {
        api: &api,
        speech,
        llm_url: args.llm_url.as_deref(),
        llm_model: args.llm_model.as_deref(),
        llm_key: key,
    };
    let agent = stage.set(&receiver).await?;
    screen.ready(&service.address().to_string(), &tenant.tenant.name);
    let (call, deliveries) = follow(&api, &agent, &mut receiver, screen).await?;
    let played = summarize(&api, call, deliveries, &folder, args, speech, screen).await?;
    service.stop(STOP_TIMEOUT, Duration::ZERO).await;
    Ok(played)
}

/// Configures everything on the loopback interface, in its own folder. Only the operator can choose addresses here.
fn config(folder: &Path) -> anyhow::Result<Config> {
    let here = "127.0.0.0/8,::1/128,http";
    let anywhere = "0.0.0.0/0,::/0,http";
    Ok(Config { webhook_allow: here.parse()?, outbound_allow: anywhere.parse()?, ..Config::for_tests(folder) })
}

fn loading_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:40} [{bar:30}] {pos}/{len} {spinner}");
    let bar = ProgressBar::new(2).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message("Loading speech models");
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Places the call and shows it until it has ended and all its events are delivered.
async fn follow(
    api: &Api,
    agent: &str,
    receiver: &mut Receiver,
    screen: &Screen,
) -> anyhow::Result<(Value, Vec<Received>)> {
    let placed = api.create("/v1/calls", json!({ "agent_id": agent, "to": CALLEE })).await?;
    let id = placed["id"].as_str().context("the call has an id")?.to_owned();
    let give_up = Instant::now() + CALL_TIMEOUT;
    let (mut events_shown, mut order) = (0, LinesInOrder::default());
    let ended = loop {
        let call = api.get(&format!("/v1/calls/{id}")).await?;
        let events = api.list(&format!("/v1/calls/{id}/events")).await?;
        let lines = api.list(&format!("/v1/calls/{id}/transcript")).await?;
        let ended = matches!(call["status"].as_str(), Some("completed" | "failed"));
        let over = events.iter().any(ends_talk);
        let (before, after): (Vec<_>, Vec<_>) = events.iter().partition(|event| !ends_talk(event));
        let happened = before.len();
        for event in before.into_iter().skip(events_shown) {
            screen.event(event, &call);
        }
        order.due(&lines, over || ended).into_iter().for_each(|line| screen.line(line));
        if ended {
            after.into_iter().for_each(|event| screen.event(event, &call));
        }
        events_shown = happened;
        if ended {
            break call;
        }
        ensure!(Instant::now() < give_up, "the call did not end within {} s", CALL_TIMEOUT.as_secs());
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    let wanted: BTreeSet<String> = api
        .list(&format!("/v1/calls/{id}/events"))
        .await?
        .iter()
        .filter_map(|event| event["event"].as_str().map(str::to_owned))
        .collect();
    let deliveries = receive(receiver, &wanted).await;
    Ok((ended, deliveries))
}

/// Whether everything was said before this event.
fn ends_talk(event: &Value) -> bool {
    matches!(event["event"].as_str(), Some("carrier.hangup" | "call.completed" | "call.failed"))
}

/// Waits until all of the call's events are delivered, or until the time limit.
async fn receive(receiver: &mut Receiver, wanted: &BTreeSet<String>) -> Vec<Received> {
    let mut deliveries: Vec<Received> = Vec::new();
    let _ = tokio::time::timeout(DELIVERIES_TIMEOUT, async {
        while !wanted.iter().all(|event| deliveries.iter().any(|delivery| delivery.event == *event)) {
            let delivery = receiver.next().await;
            // A retry is the same delivery.
            deliveries.retain(|known| known.id != delivery.id);
            deliveries.push(delivery);
        }
    })
    .await;
    deliveries
}

async fn summarize(
    api: &Api,
    call: Value,
    deliveries: Vec<Received>,
    folder: &Path,
    args: &Args,
    speech: Speech,
    screen: &Screen,
) -> anyhow::Result<Played> {
    let id = call["id"].as_str().context("the call has an id")?;
    let transcript = api.list(&format!("/v1/calls/{id}/transcript")).await?;
    let call_events = api.list(&format!("/v1/calls/{id}/events")).await?.len();
    let recording = fetch_recording(api, &call, folder).await?;
    let shown =
        |delivery: &Received| json!({ "event": delivery.event, "id": delivery.id, "verified": delivery.verified });
    let (stt, tts) = match speech {
        Speech::Models => ("moonshine-base-en", "hibari"),
        Speech::Simulated => ("simulated", "simulated"),
    };
    let llm = match (&args.llm_url, &args.llm_model) {
        (Some(_), Some(model)) => model.as_str(),
        (Some(_), None) => "openai-compatible",
        _ => "scripted",
    };
    let printed = Printed {
        transcript: transcript.iter().map(stage::spoken).collect(),
        recording,
        deliveries: deliveries.iter().map(shown).collect(),
        latency_ms: json!({ "p50": call["latency"]["response_ms"]["p50"], "p95": call["latency"]["response_ms"]["p95"] }),
        speech: json!({ "stt": stt, "llm": llm, "tts": tts }),
        call,
    };
    screen.summary(&printed, &deliveries)?;
    let verified = deliveries.iter().filter(|delivery| delivery.verified).count();
    Ok(Played { printed, call_events, verified })
}

/// Downloads the recording through the API and saves it beside the demo's database.
async fn fetch_recording(api: &Api, call: &Value, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let (Some(id), Some(_)) = (call["id"].as_str(), call["recording_url"].as_str()) else { return Ok(None) };
    let path = folder.join("call.wav");
    let audio = api.bytes(&format!("/v1/calls/{id}/recording")).await?;
    tokio::fs::write(&path, audio).await.with_context(|| format!("could not write {}", path.display()))?;
    Ok(Some(path))
}

impl Played {
    /// Returns the reasons why the demo did not succeed.
    fn missing(&self) -> Vec<String> {
        let Printed { call, deliveries, .. } = &self.printed;
        let mut missing = Vec::new();
        if call["status"] != "completed" {
            missing.push(format!("the call is {} ({})", call["status"], call["error"]));
        }
        for fact in ["name", "day", "people"] {
            if call["outcome"][fact].is_null() {
                missing.push(format!("the caller's {fact} was not understood"));
            }
        }
        if deliveries.len() < self.call_events || self.verified < deliveries.len() {
            missing.push(format!("{} of {} webhook deliveries were verified", self.verified, self.call_events));
        }
        missing
    }
}
