//! The service under test: a node in a separate process, the providers around it, and workers with one call at a time each.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::carrier::{self, Carrier};
use super::corpus::{Clip, Corpus};
use super::outcome::{self, Outcome};
use super::support::{Connection, Place};
use super::world::{Delays, Desk, OVERLAPPED_SPEECH, World};
use super::{SttChoice, caller};

/// From the request to the dial.
const DIAL_LIMIT: Duration = Duration::from_secs(15);
/// From the dial to the answer.
const RINGS: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(50);
/// A call that breaks is tried again so many times.
const ATTEMPTS: u32 = 2;

pub(crate) struct Settings<'a> {
    pub(crate) data_dir: &'a Path,
    pub(crate) calls: usize,
    pub(crate) delays: Delays,
    pub(crate) stt: SttChoice,
    /// Merged into the agent.
    pub(crate) agent: Value,
}

/// The state shared by the workers.
struct Shared {
    queue: Mutex<VecDeque<(usize, Arc<Clip>)>>,
    outcomes: Mutex<Vec<Outcome>>,
    failures: Mutex<Vec<String>>,
    carrier: Arc<Carrier>,
    room: Arc<Vec<u8>>,
    http: reqwest::Client,
    address: String,
    key: String,
    bar: ProgressBar,
}

/// Plays every clip to the service.
pub(crate) async fn run(clips: Vec<Clip>, corpus: &Corpus, settings: &Settings<'_>) -> anyhow::Result<Vec<Outcome>> {
    let mut place = Place::new()?;
    place.set("SWITCHHOOK_LOG", "warn");
    // The models stay where they are; everything else is new.
    let models = settings.data_dir.canonicalize()?.join("models");
    std::os::unix::fs::symlink(models, place.path().join("models"))?;
    let node = place.serve("api,calls,webhooks")?;
    node.ready().await?;
    let key = place.tenant("bench")?;
    let desks: Vec<Arc<Desk>> = (0..settings.calls).map(|_| Arc::default()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let carrier = Arc::new(Carrier::default());
    let world = Arc::new(World { delays: settings.delays, desks: desks.clone() });
    let router = carrier::router(Arc::clone(&carrier)).merge(super::world::router(world));
    tokio::spawn(async move { axum::serve(listener, router).await });

    let mut api = Connection::open(&node.address).await?;
    let agents = set_up(&mut api, &key, &address, settings).await?;
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed}/{duration} {msg}")?;
    let shared = Arc::new(Shared {
        bar: ProgressBar::new(clips.len() as u64).with_style(style),
        queue: Mutex::new(clips.into_iter().map(Arc::new).enumerate().collect()),
        outcomes: Mutex::default(),
        failures: Mutex::default(),
        carrier,
        room: Arc::new(corpus.room.clone()),
        http: reqwest::Client::new(),
        address: node.address.clone(),
        key,
    });
    let workers =
        agents.into_iter().zip(desks).map(|(agent, desk)| tokio::spawn(work(Arc::clone(&shared), agent, desk)));
    for worker in workers.collect::<Vec<_>>() {
        worker.await??;
    }
    shared.bar.finish_and_clear();
    let failures = std::mem::take(&mut *lock(&shared.failures));
    anyhow::ensure!(failures.is_empty(), "calls failed: {}", failures.join("; "));
    let mut outcomes = std::mem::take(&mut *lock(&shared.outcomes));
    outcomes.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(outcomes)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn work(shared: Arc<Shared>, agent: String, desk: Arc<Desk>) -> anyhow::Result<()> {
    let mut api = Connection::open(&shared.address).await?;
    loop {
        let Some((number, clip)) = lock(&shared.queue).pop_front() else { return Ok(()) };
        let mut attempt = 1;
        let outcome = loop {
            match call(&shared, &mut api, &agent, &desk, number, &clip).await {
                Err(error) if attempt < ATTEMPTS => {
                    shared.bar.println(format!("{} is tried again: {error:#}", clip.item.id));
                    attempt += 1;
                    api = Connection::open(&shared.address).await?;
                }
                outcome => break outcome,
            }
        };
        match outcome {
            Ok(outcome) => lock(&shared.outcomes).push(outcome),
            Err(error) => lock(&shared.failures).push(format!("{}: {error:#}", clip.item.id)),
        }
        shared.bar.inc(1);
    }
}

/// Plays one item in a separate call, independent of the one before.
async fn call(
    shared: &Shared,
    api: &mut Connection,
    agent: &str,
    desk: &Desk,
    number: usize,
    clip: &Arc<Clip>,
) -> anyhow::Result<Outcome> {
    let to = format!("+1202555{:04}", 1_000 + number);
    let question = if clip.item.class.is_overlap() { OVERLAPPED_SPEECH } else { &clip.item.asked };
    desk.begin(clip, question);
    let leg = shared.carrier.expect(&to);
    let wish = json!({ "agent_id": agent, "to": to, "overrides": { "greeting": question } });
    let placed = api.json("POST", "/v1/calls", &shared.key, &wish).await?;
    let path = format!("/v1/calls/{}", placed["id"].as_str().context("an id")?);
    let leg = tokio::time::timeout(DIAL_LIMIT, leg).await.context("nobody was dialled")??;
    tokio::time::sleep(RINGS).await;
    leg.report(&shared.http, "in-progress").await?;
    let noticed = caller::talk(&leg, Arc::clone(clip), Arc::clone(&shared.room), desk).await;
    leg.report(&shared.http, "completed").await?;
    let noticed = noticed?;
    while api.json("GET", &path, &shared.key, &json!({})).await?["ended_at"].is_null() {
        tokio::time::sleep(POLL).await;
    }
    let transcript = api.json("GET", &format!("{path}/transcript"), &shared.key, &json!({})).await?;
    let lines = transcript["data"].as_array().context("a transcript")?;
    let said = lines.iter().filter(|line| line["role"] == "caller").filter_map(|line| line["text"].as_str());
    let said: Vec<String> = said.map(str::to_owned).collect();
    let stages = lines.iter().filter(|line| line["role"] == "agent").map(|line| line["stages"].clone());
    let stages = stages.filter(|stages| !stages.is_null()).collect();
    Ok(Outcome { stages, ..outcome::judge(&clip.item, &noticed, said, desk.requests()) })
}

/// Creates an agent with separate providers for each worker.
async fn set_up(api: &mut Connection, key: &str, world: &str, settings: &Settings<'_>) -> anyhow::Result<Vec<String>> {
    let carrier = json!({ "name": "carrier", "provider": "twilio", "settings": { "base_url": world },
        "credentials": { "account_sid": carrier::ACCOUNT, "auth_token": carrier::AUTH_TOKEN } });
    let carrier = api.json("POST", "/v1/connections", key, &carrier).await?;
    let number = json!({ "number": "+12025550199", "connection_id": carrier["id"] });
    api.json("POST", "/v1/numbers", key, &number).await?;
    let local = api.json("POST", "/v1/connections", key, &json!({ "name": "local", "provider": "local" })).await?;
    let mut agents = Vec::new();
    for desk in 0..settings.calls {
        let speech = json!({ "name": format!("speech {desk}"), "provider": "deepgram",
            "settings": { "base_url": format!("{world}/{desk}") }, "credentials": { "api_key": "bench" } });
        let speech = api.json("POST", "/v1/connections", key, &speech).await?;
        let model = json!({ "name": format!("model {desk}"), "provider": "openai",
            "settings": { "base_url": format!("{world}/{desk}/v1") }, "credentials": { "api_key": "bench" } });
        let model = api.json("POST", "/v1/connections", key, &model).await?;
        let stt = if settings.stt == SttChoice::Local { &local } else { &speech };
        let mut agent = json!({
            "name": format!("agent {desk}"), "instructions": "Help the caller.", "greeting": { "text": "Hello." },
            "stt": { "connection_id": stt["id"] }, "tts": { "connection_id": speech["id"] },
            "llm": { "connection_id": model["id"], "model": "synthetic" },
            "analysis": { "summary": false }, "recording": { "enabled": false },
        });
        if let (Some(agent), Some(more)) = (agent.as_object_mut(), settings.agent.as_object()) {
            agent.extend(more.clone());
        }
        let agent = api.json("POST", "/v1/agents", key, &agent).await?;
        agents.push(agent["id"].as_str().context("an id")?.to_owned());
    }
    Ok(agents)
}
