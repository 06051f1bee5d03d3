//! `switchhook call`: places a call through the API and follows it live.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use reqwest::{Response, StatusCode};
use serde_json::{Map, Value, json};
use switchhook_providers::sse::EventStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior};

use super::api::{Api, Refused};
use super::screen::{LinesInOrder, Screen, text};
use super::{CliError, output};

/// Default URL of the service.
const HERE: &str = "http://127.0.0.1:8080";
/// Poll interval of the transcript; uses half of the default rate limit.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A live stream sends at least a comment in this time.
const STREAM_SILENCE: Duration = Duration::from_secs(45);
/// How long to reconnect to an unavailable service before giving up.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Arguments of `switchhook call`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Number to call, such as +12025550100, or a sip: URI.
    to: String,
    /// Name or id of the agent.
    #[arg(long)]
    agent: String,
    /// Your number to call from; required if you have several.
    #[arg(long, value_name = "NUMBER")]
    from: Option<String>,
    /// Value for {{NAME}} in the agent's texts. Repeatable.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// URL of the service [default: SWITCHHOOK_URL, else http://127.0.0.1:8080].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// API key; on a shared machine, set SWITCHHOOK_API_KEY instead.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) async fn run(args: Args, json: bool) -> Result<ExitCode, CliError> {
    let from_environment = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
    let url = args.url.clone().or_else(|| from_environment("SWITCHHOOK_URL")).unwrap_or_else(|| HERE.to_owned());
    let no_key = "an API key is required: set --key or SWITCHHOOK_API_KEY. `switchhook seed` creates one for \
                  development, `switchhook key create` another one for a tenant.";
    let key = args.key.clone().or_else(|| from_environment("SWITCHHOOK_API_KEY"));
    let key = key.ok_or_else(|| CliError::Usage(no_key.to_owned()))?;
    let api = Api::new(&url, key.trim()).map_err(|error| CliError::Usage(format!("--url: {error:#}")))?;
    let agent = agent_id(&api, &args.agent).await?;
    let placed = api.create_once("/v1/calls", request(&args, &agent)).await.map_err(usage_if_invalid)?;
    let id = placed["id"].as_str().context("the call has no id")?.to_owned();
    let screen = Screen::new(json);
    let interrupts = signal(SignalKind::interrupt())?;
    let order = LinesInOrder::default();
    let mut follower =
        CallWatcher { api: &api, id: &id, screen: &screen, order, seen: 0, interrupts, hanging_up: false };
    let followed = follower.follow().await;
    screen.stop_clock();
    if let Outcome::Left = followed? {
        let words =
            format!("stopped following call {id}, which may still be live; end it with `POST /v1/calls/{id}/hangup`");
        return Ok(output::failed(&words, 1));
    }
    tokio::select! {
        done = report(&api, &id, &screen, json) => done,
        _ = follower.interrupts.recv() => Ok(output::failed(&unread(&id), 1)),
    }
}

fn request(args: &Args, agent: &str) -> Value {
    let mut request = json!({ "agent_id": agent, "to": args.to });
    if let Some(from) = &args.from {
        request["from"] = json!(from);
    }
    let variables: Map<_, _> = args.variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    if !variables.is_empty() {
        request["variables"] = Value::Object(variables);
    }
    request
}

/// Reports a number or variable that the service rejects as bad usage.
fn usage_if_invalid(error: anyhow::Error) -> CliError {
    match error.downcast_ref::<Refused>() {
        Some(refused) if refused.status == StatusCode::UNPROCESSABLE_ENTITY => CliError::Usage(refused.to_string()),
        _ => CliError::Failed(error),
    }
}

async fn agent_id(api: &Api, wanted: &str) -> Result<String, CliError> {
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = api.get(&format!("/v1/agents?limit=100{cursor}")).await?;
        for agent in page["data"].as_array().into_iter().flatten() {
            if agent["name"] == wanted || agent["id"] == wanted {
                return Ok(text(&agent["id"]));
            }
            names.push(text(&agent["name"]));
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let others = match names.as_slice() {
        [] => "There are none yet: create one with `POST /v1/agents`, or with `switchhook seed` for development."
            .to_owned(),
        names => format!("Available: {}.", names.join(", ")),
    };
    Err(CliError::Usage(format!("no agent is named {wanted:?}. {others}")))
}

/// Why following a call ended.
enum Outcome {
    /// The call has ended.
    Ended,
    /// The user stopped waiting.
    Left,
}

/// Follows one call.
struct CallWatcher<'a> {
    api: &'a Api,
    id: &'a str,
    screen: &'a Screen,
    order: LinesInOrder,
    /// The last event shown.
    seen: i64,
    /// Ctrl-C: the first one hangs up, the second one stops following.
    interrupts: Signal,
    hanging_up: bool,
}

impl CallWatcher<'_> {
    async fn follow(&mut self) -> anyhow::Result<Outcome> {
        let mut give_up = Instant::now() + RECONNECT_TIMEOUT;
        loop {
            let error = match self.api.follow(&format!("/v1/calls/{}/events", self.id), self.seen).await {
                Ok(stream) if stream.status() == StatusCode::NO_CONTENT => return Ok(Outcome::Ended),
                Ok(stream) => {
                    if let Some(outcome) = self.watch(stream).await {
                        return Ok(outcome);
                    }
                    give_up = Instant::now() + RECONNECT_TIMEOUT;
                    None
                }
                Err(error) => Some(error),
            };
            if let Some(error) = error.filter(|_| Instant::now() > give_up) {
                return Err(error.context(format!("call {} could not be followed to its end", self.id)));
            }
            // The service stopped or rate-limits: resume after the last event shown.
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                _ = self.interrupts.recv() => return Ok(Outcome::Left),
            }
        }
    }

    /// Shows the events of a stream. `None` if it broke off.
    async fn watch(&mut self, stream: Response) -> Option<Outcome> {
        let mut pieces = stream.bytes_stream();
        let mut events = EventStream::default();
        let mut looks = tokio::time::interval(POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                piece = tokio::time::timeout(STREAM_SILENCE, pieces.next()) => {
                    let Ok(Some(Ok(piece))) = piece else { return None };
                    for data in events.push(&piece).ok()? {
                        let Ok(event) = serde_json::from_str::<Value>(&data) else { continue };
                        if self.happened(&event).await {
                            return Some(Outcome::Ended);
                        }
                    }
                }
                _ = looks.tick() => {
                    let wait = self.show_lines(false).await;
                    looks.reset_after(wait.unwrap_or(POLL_INTERVAL));
                }
                _ = self.interrupts.recv() => {
                    if std::mem::replace(&mut self.hanging_up, true) {
                        return Some(Outcome::Left);
                    }
                    output::note("Hanging up. Press Ctrl-C again to stop following.");
                    self.hang_up();
                }
            }
        }
    }

    /// Shows an event. Returns whether it was the last.
    async fn happened(&mut self, event: &Value) -> bool {
        let last = matches!(event["event"].as_str(), Some("call.completed" | "call.failed"));
        if last || event["event"] == "carrier.hangup" {
            self.show_lines(true).await; // Speech precedes the end.
        }
        self.seen = event["sequence"].as_i64().unwrap_or(self.seen);
        self.screen.event(event, &event["data"]);
        last
    }

    /// Shows new transcript lines. Returns the service's `Retry-After`, if any.
    async fn show_lines(&mut self, end: bool) -> Option<Duration> {
        match self.api.list(&format!("/v1/calls/{}/transcript", self.id)).await {
            Ok(said) => {
                self.order.due(&said, end).into_iter().for_each(|line| self.screen.line(line));
                None
            }
            Err(error) => error.downcast_ref::<Refused>().and_then(|refused| refused.retry_after),
        }
    }

    /// Hangs up in a separate task, so that the next Ctrl-C is noticed.
    fn hang_up(&self) {
        let (api, path) = (self.api.clone(), format!("/v1/calls/{}/hangup", self.id));
        tokio::spawn(async move {
            if let Err(error) = api.create(&path, json!({})).await {
                output::note(&format!("Could not hang up: {error:#}."));
            }
        });
    }
}

fn unread(id: &str) -> String {
    format!("call {id} has ended, but its result was not read: get it with `GET /v1/calls/{id}`")
}

/// Reads from the service, also from one that restarts or limits requests: nodes that drain stop with their last call.
async fn patiently<T>(read: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let give_up = Instant::now() + RECONNECT_TIMEOUT;
    loop {
        let error = match read().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let left = give_up.saturating_duration_since(Instant::now());
        match delay_after(&error).filter(|delay| *delay < left) {
            Some(delay) => tokio::time::sleep(delay).await,
            None => return Err(error),
        }
    }
}

/// Returns the delay before a failed request is repeated; `None` if it would fail again.
fn delay_after(error: &anyhow::Error) -> Option<Duration> {
    let Some(refused) = error.downcast_ref::<Refused>() else { return Some(POLL_INTERVAL) };
    let passes = refused.status == StatusCode::TOO_MANY_REQUESTS || refused.status.is_server_error();
    // Some proxies send `Retry-After: 0`.
    passes.then(|| refused.retry_after.unwrap_or(POLL_INTERVAL).max(POLL_INTERVAL))
}

/// Reads what a call brought, and shows it.
async fn report(api: &Api, id: &str, screen: &Screen, json: bool) -> Result<ExitCode, CliError> {
    let call = patiently(async || api.get(&format!("/v1/calls/{id}")).await).await;
    let mut call = call.with_context(|| unread(id))?;
    let completed = call["status"] == "completed";
    if json {
        let said = patiently(async || api.list(&format!("/v1/calls/{id}/transcript")).await).await;
        call["transcript"] = said.with_context(|| unread(id))?.into();
        output::json(&call)?;
    } else {
        screen.line_of("");
        let length = format!("{}, {} s, {} turns", text(&call["status"]), call["duration_seconds"], call["turns"]);
        screen.field("Call", &format!("{length}  {}", screen.dim(&text(&call["id"]))));
        if !call["summary"].is_null() {
            screen.field("Summary", &text(&call["summary"]));
        }
        if !call["outcome"].is_null() {
            screen.field("Outcome", &text(&call["outcome"]));
        }
        if let Some(recording) = call["recording_url"].as_str() {
            screen.field("Recording", recording);
        }
    }
    Ok(if completed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
