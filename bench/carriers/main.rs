//! The cost of a call over a real carrier's protocol: N calls at once over Twilio's Media Streams, with STT, LLM and TTS behind real
//! sockets.
//!
//! The service is the release binary in a separate process, pinned to one core. The carrier, the callers and the providers are this process
//! on another core and are not counted. The bench measures the service: µ-law over websockets, voice activity, streaming STT, LLM and TTS,
//! pacing, events and the database. Each caller hears what a carrier's buffer plays, and notices when it runs empty within an
//! answer.
//!
//! `cargo build --release && cargo run --release -p switchhook --example bench-carriers -- --calls 200`
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::print_stderr, reason = "a call that failed is told at once")]

mod caller;
mod carrier;
mod playout;
mod providers;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::caller::Noticed;
use self::carrier::Carrier;
use self::support::{Connection, Node, Place};

/// The time that the synthetic LLM and TTS take; the service takes the rest of a turn.
const MODEL_TAKES: Duration = Duration::from_millis(150);
const VOICE_TAKES: Duration = Duration::from_millis(80);
/// Calls are placed so many in a second.
const RAMP: u32 = 20;

#[derive(Parser)]
struct Args {
    /// Calls at the same time.
    #[arg(long, default_value_t = 200)]
    calls: u32,
    /// Turns of each caller.
    #[arg(long, default_value_t = 6)]
    turns: u32,
    /// Print one JSON object instead of sentences.
    #[arg(long)]
    json: bool,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    switchhook_net::install_tls();
    let place = Place::new()?;
    let node = place.serve("api,calls,webhooks")?;
    let pinned = support::pin(std::process::id(), 1) && node.pin(0);
    let key = place.tenant("bench")?;
    let mut api = Connection::open(&node.address).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let world = format!("http://{}", listener.local_addr()?);
    let carrier = Arc::new(Carrier::new(args.turns));
    let router = carrier::router(carrier.clone()).merge(providers::router());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let agent = set_up(&mut api, &key, &world).await?;

    let (idle_cpu, idle_mb, started) = (node.cpu_seconds(), node.resident_mb(), Instant::now());
    let mut calls = Vec::new();
    let mut pace = tokio::time::interval(Duration::from_secs(1) / RAMP);
    for n in 0..args.calls {
        pace.tick().await;
        let wish = json!({ "agent_id": agent, "to": format!("+1202555{:04}", 1_000 + n) });
        let placed = api.json("POST", "/v1/calls", &key, &wish).await?;
        calls.push(placed["id"].as_str().context("an id")?.to_owned());
    }
    let peak_mb = follow(&mut api, &key, &node, &calls).await?;
    let (cpu, wall) = (node.cpu_seconds() - idle_cpu, started.elapsed());
    let mut ended = Vec::new();
    for call in &calls {
        ended.push(api.json("GET", &format!("/v1/calls/{call}"), &key, &json!({})).await?);
    }
    let frames = frames(&mut api).await?;
    let result =
        figures(&args, &Measured { ended, cpu, idle_mb, peak_mb, wall, frames, noticed: carrier.noticed(), pinned })?;
    if args.json {
        println!("{result:#}");
    } else {
        print_figures(&result);
    }
    anyhow::ensure!(result["completed"] == args.calls, "not every call completed");
    Ok(())
}

/// Frames that were due so far, and those of them that left late.
async fn frames(api: &mut Connection) -> anyhow::Result<(f64, f64)> {
    api.send(&support::request("GET", "/metrics", "", "", "")).await?;
    let metrics = String::from_utf8_lossy(api.body()).into_owned();
    let of = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let frames = of("switchhook_frames_total").context("frames are counted")?;
    Ok((frames, of("switchhook_frames_late_total").unwrap_or(0.0)))
}

/// The measurements to add up.
struct Measured {
    ended: Vec<Value>,
    cpu: f64,
    idle_mb: f64,
    peak_mb: f64,
    wall: Duration,
    frames: (f64, f64),
    noticed: Noticed,
    pinned: bool,
}

fn figures(args: &Args, measured: &Measured) -> anyhow::Result<Value> {
    let minutes = measured.ended.iter().filter_map(|call| call["duration_seconds"].as_f64()).sum::<f64>() / 60.0;
    let completed = measured.ended.iter().filter(|call| call["status"] == "completed").count();
    let turns: u64 = measured.ended.iter().filter_map(|call| call["turns"].as_u64()).sum();
    let after_turn = measured.ended.iter().filter_map(|call| call["latency"]["after_turn_ms"]["p95"].as_u64());
    let theirs = u64::try_from((MODEL_TAKES + VOICE_TAKES).as_millis())?;
    let added = percentile(after_turn.map(|ms| ms.saturating_sub(theirs)).collect(), 95);
    let (frames, late) = measured.frames;
    let Noticed { responses, heard, late: bench_late } = &measured.noticed;
    Ok(json!({
        "calls": args.calls, "completed": completed, "turns": turns, "call_minutes": minutes,
        "wall_seconds": measured.wall.as_secs_f64(), "pinned": measured.pinned,
        "cpu_seconds": measured.cpu, "cpu_seconds_per_call_minute": measured.cpu / minutes,
        "calls_per_core": 60.0 * minutes / measured.cpu,
        "memory_kib_per_call": (measured.peak_mb - measured.idle_mb) * 1024.0 / f64::from(args.calls),
        "idle_resident_mb": measured.idle_mb,
        "added_to_a_turn_ms_p95": added,
        "response_ms_p50": percentile(responses.clone(), 50),
        "response_ms_p95": percentile(responses.clone(), 95),
        "answers": heard.answers, "answers_with_gaps": heard.answers_with_gaps, "gaps": heard.gaps,
        "underruns": heard.underruns.len(), "longest_underrun_ms": heard.underruns.iter().max().unwrap_or(&0),
        "bench_late_ms": u64::try_from(bench_late.as_millis())?,
        "frames": frames, "frames_late": late, "frames_late_share": late / frames,
    }))
}

/// By the nearest-rank method.
fn percentile(mut values: Vec<u64>, percent: usize) -> Option<u64> {
    values.sort_unstable();
    values.get((values.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

fn print_figures(result: &Value) {
    let of = |name: &str| result[name].as_f64().unwrap_or(0.0);
    println!(
        "{} of {} calls completed, {} turns, {:.1} call-minutes",
        result["completed"],
        result["calls"],
        result["turns"],
        of("call_minutes")
    );
    println!(
        "CPU:     {:.3} s per call-minute, so one core carries {:.0} calls",
        of("cpu_seconds_per_call_minute"),
        of("calls_per_core")
    );
    println!("Memory:  {:.0} KiB per call at the peak", of("memory_kib_per_call"));
    println!(
        "Latency: {:.0} ms added to a turn by us (p95 over calls of each call's p95)",
        of("added_to_a_turn_ms_p95")
    );
    println!(
        "         callers heard an answer after {:.0} ms (p50), {:.0} ms (p95)",
        of("response_ms_p50"),
        of("response_ms_p95")
    );
    println!("Frames:  {:.3} % of {:.0} left more than 5 ms late", 100.0 * of("frames_late_share"), of("frames"));
    println!(
        "Phone:   {} of {} answers had a gap of more than 40 ms ({} gaps), {} underruns in all, the longest {} ms",
        result["answers_with_gaps"],
        result["answers"],
        result["gaps"],
        result["underruns"],
        result["longest_underrun_ms"]
    );
    println!(
        "         the bench itself was late by up to {} ms, which counts as the service's",
        result["bench_late_ms"]
    );
    if result["pinned"] == false {
        println!("The processes could not be pinned to cores: the figures are of whatever ran where.");
    }
}

/// Connections to this world, an agent, and a number.
async fn set_up(api: &mut Connection, key: &str, world: &str) -> anyhow::Result<Value> {
    let carrier = json!({ "name": "carrier", "provider": "twilio", "settings": { "base_url": world },
        "credentials": { "account_sid": caller::ACCOUNT, "auth_token": carrier::AUTH_TOKEN } });
    let speech = json!({ "name": "speech", "provider": "deepgram", "settings": { "base_url": world },
        "credentials": { "api_key": "bench" } });
    let model = json!({ "name": "model", "provider": "openai", "settings": { "base_url": format!("{world}/v1") },
        "credentials": { "api_key": "bench" } });
    let carrier = api.json("POST", "/v1/connections", key, &carrier).await?;
    let speech = api.json("POST", "/v1/connections", key, &speech).await?;
    let model = api.json("POST", "/v1/connections", key, &model).await?;
    let agent = json!({
        "name": "Ava", "instructions": "Book a table.", "greeting": { "text": "Hello, this is Ava. How can I help you?" },
        "stt": { "connection_id": speech["id"] }, "tts": { "connection_id": speech["id"] },
        "llm": { "connection_id": model["id"], "model": "synthetic" },
        "analysis": { "summary": false }, "recording": { "enabled": false },
    });
    let agent = api.json("POST", "/v1/agents", key, &agent).await?;
    let number = json!({ "number": "+12025550199", "connection_id": carrier["id"] });
    api.json("POST", "/v1/numbers", key, &number).await?;
    Ok(agent["id"].clone())
}

/// Waits for the calls with a progress bar; gives the most resident memory seen, in megabytes.
async fn follow(api: &mut Connection, key: &str, node: &Node, calls: &[String]) -> anyhow::Result<f64> {
    let bar = ProgressBar::new(calls.len() as u64);
    let mut peak = 0.0_f64;
    let deadline = Instant::now() + Duration::from_secs(600);
    loop {
        peak = peak.max(node.resident_mb());
        let tenant = api.json("GET", "/v1/tenant", key, &json!({})).await?;
        let in_use = tenant["concurrent_calls"]["in_use"].as_u64().context("a count")?;
        bar.set_position((calls.len() as u64).saturating_sub(in_use));
        if in_use == 0 || Instant::now() > deadline {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    bar.finish_and_clear();
    Ok(peak)
}
