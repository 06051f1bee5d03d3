//! The cost of a call: N simulated calls at once with synthetic providers, in one process.
//!
//! The whole path runs: API, database, dispatcher, simulated phone network, G.711, voice activity, turn engine, pacing, events.
//! Only STT, LLM and TTS are synthetic (provider `scripted`), so the bench measures our own code.
//!
//! `cargo run --release -p switchhook --example bench-calls -- --calls 200`
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use switchhook::app::Service;
use switchhook::config::Config;
use switchhook::operator;
use switchhook::store::tenants::OwnLimits;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;

#[derive(Parser)]
struct Args {
    /// Calls at the same time.
    #[arg(long, default_value_t = 100)]
    calls: u32,
    /// Print one JSON object instead of sentences.
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    switchhook_net::install_tls();
    // One thread for the service: what is claimed is claimed for one core.
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(run(&args))
}

async fn run(args: &Args) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let config = Arc::new(Config::for_tests(folder.path().join("data")));
    let service = Service::start(config.clone(), ModelStore::new(&config.data_dir), Clock::system()).await?;
    let limits =
        OwnLimits { rate_per_minute: Some(1_000_000), concurrent_calls: Some(args.calls), monthly_calls: None };
    let key = operator::create_tenant(service.store(), &config, "bench", limits).await?.api_key.key;
    let api = Api {
        http: reqwest::Client::builder().no_proxy().build()?,
        base: format!("http://{}", service.address()),
        key,
    };
    let agent = api.scripted_agent().await?;

    let idle = Usage::now()?;
    let started = Instant::now();
    let mut calls = Vec::new();
    for _ in 0..args.calls {
        let placed = api.post("/v1/calls", json!({ "agent_id": agent, "to": "+12025550100" })).await?;
        calls.push(placed["id"].as_str().context("an id")?.to_owned());
    }
    let (peak, ended) = follow(&api, &service, &calls).await?;
    let busy = Usage::now()?;

    let seconds = |name: &str| ended.iter().filter_map(|call| call[name].as_f64()).sum::<f64>();
    let minutes = seconds("duration_seconds") / 60.0;
    let completed = ended.iter().filter(|call| call["status"] == "completed").count();
    let mut after_turn: Vec<u64> =
        ended.iter().filter_map(|call| call["latency"]["after_turn_ms"]["p95"].as_u64()).collect();
    after_turn.sort_unstable();
    let p95 = after_turn.get((after_turn.len() * 95).div_ceil(100).saturating_sub(1)).copied();
    let cpu = busy.cpu_seconds - idle.cpu_seconds;
    let result = json!({
        "calls": args.calls,
        "completed": completed,
        "call_minutes": minutes,
        "wall_seconds": started.elapsed().as_secs_f64(),
        "cpu_seconds": cpu,
        "cpu_seconds_per_call_minute": cpu / minutes,
        "calls_per_core": 60.0 * minutes / cpu,
        "memory_kib_per_call": (peak.saturating_sub(idle.resident_kib)) as f64 / f64::from(args.calls),
        "idle_resident_kib": idle.resident_kib,
        "added_to_a_turn_ms_p95": p95,
    });
    service.stop(Duration::from_secs(5), Duration::ZERO).await;
    if args.json {
        println!("{result:#}");
    } else {
        println!("{completed} of {} calls completed, {minutes:.1} call-minutes", args.calls);
        println!(
            "CPU:     {:.3} s per call-minute, so one core carries {:.0} calls",
            cpu / minutes,
            60.0 * minutes / cpu
        );
        println!("Memory:  {:.0} KiB per call at the peak", result["memory_kib_per_call"].as_f64().unwrap_or(0.0));
        println!("Latency: {} ms added to a turn by us (p95 over calls of each call's p95)", p95.unwrap_or(0));
    }
    anyhow::ensure!(completed == calls.len(), "not every call completed");
    Ok(())
}

/// Waits for the calls with a progress bar; gives the highest resident memory seen and the calls as they ended.
async fn follow(api: &Api, service: &Service, calls: &[String]) -> anyhow::Result<(u64, Vec<Value>)> {
    let bar = ProgressBar::new(calls.len() as u64);
    let mut peak = 0;
    let mut was_live = false;
    let deadline = Instant::now() + Duration::from_secs(300);
    while Instant::now() < deadline && !(was_live && service.live().count() == 0) {
        was_live |= service.live().count() > 0;
        bar.set_position((calls.len().saturating_sub(service.live().count())) as u64);
        peak = peak.max(Usage::now()?.resident_kib);
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    bar.finish_and_clear();
    let mut ended = Vec::new();
    for call in calls {
        ended.push(api.get(&format!("/v1/calls/{call}")).await?);
    }
    Ok((peak, ended))
}

struct Api {
    http: reqwest::Client,
    base: String,
    key: String,
}

impl Api {
    async fn post(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        let request = self.http.post(format!("{}{path}", self.base)).bearer_auth(&self.key).json(&body);
        let response = request.send().await?;
        let status = response.status();
        let answer: Value = response.json().await?;
        anyhow::ensure!(status.is_success(), "{path}: {answer}");
        Ok(answer)
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.http.get(format!("{}{path}", self.base)).bearer_auth(&self.key).send().await?.json().await?)
    }

    async fn scripted_agent(&self) -> anyhow::Result<Value> {
        let scripted = self.post("/v1/connections", json!({ "name": "scripted", "provider": "scripted" })).await?;
        let carrier = self.post("/v1/connections", json!({ "name": "simulator", "provider": "simulator" })).await?;
        let by = json!({ "connection_id": scripted["id"] });
        let agent = json!({ "name": "Ava", "instructions": "Book a table.", "stt": by, "llm": by, "tts": by });
        let agent = self.post("/v1/agents", agent).await?;
        self.post("/v1/numbers", json!({ "number": "+12025550199", "connection_id": carrier["id"] })).await?;
        Ok(agent["id"].clone())
    }
}

/// The resources that this process has used so far, as counted by the kernel.
struct Usage {
    cpu_seconds: f64,
    resident_kib: u64,
}

impl Usage {
    fn now() -> anyhow::Result<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let fields: Vec<&str> = stat.rsplit(") ").next().context("a stat line")?.split(' ').collect();
        let ticks = |at: usize| -> anyhow::Result<f64> { Ok(fields.get(at).context("a field")?.parse()?) };
        let status = std::fs::read_to_string("/proc/self/status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
        // Linux counts in hundredths of a second on every platform we build for.
        let cpu_seconds = (ticks(11)? + ticks(12)?) / 100.0;
        Ok(Self { cpu_seconds, resident_kib: resident.trim().trim_end_matches("kB").trim().parse()? })
    }
}
