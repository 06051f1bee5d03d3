//! The effect of hours of calls on a node: memory and processor time, minute by minute, which should be stable after the first minutes.
//!
//! Calls over the simulated phone network, most of which end at once and some of which talk, with synthetic providers and two webhook
//! endpoints. The service is the release binary in a separate process, on SQLite or PostgreSQL; all share the machine.
//!
//! ```text
//! cargo build --release && cargo run --release -p switchhook --example bench-soak -- --minutes 480
//! ci/with-postgres.sh --durable cargo run --release -p switchhook --example bench-soak -- --minutes 480
//! ```
//!
//! Every minute is a line here and in `soak.csv`; `soak.svg` is drawn at the end. Both lie beside the release binaries unless `--out` says
//! otherwise.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod minute;
mod plot;
#[path = "../support/mod.rs"]
mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use self::minute::{Minute, Watch};
use self::support::receiver::Receiver;
use self::support::{Connection, Node, Place, request};

/// The numbers of calls that end at once, and of calls with a conversation.
const SHORT: &str = "+12025550111";
const TALKS: &str = "+12025550100";
/// Rings are this much shorter than in life.
const TIME_SCALE: f64 = 0.1;

#[derive(Parser)]
struct Args {
    /// How long.
    #[arg(long, default_value_t = 480)]
    minutes: u32,
    /// Calls placed in a second.
    #[arg(long, default_value_t = 1.0)]
    calls_per_second: f64,
    /// How many of a hundred calls talk.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    talking: u32,
    /// The folder for `soak.csv` and `soak.svg`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object in place of lines.
    #[arg(long)]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut place = Place::with_database("soak").await?;
    place.set("SWITCHHOOK_LOG", "error");
    let node = place.serve("api,calls,webhooks")?;
    node.ready().await?;
    let key = place.tenant("soak")?;
    let (all, ends) = (Receiver::start().await?, Receiver::start().await?);
    let agent = set_up(&node, &key, &all, &ends).await?;
    let out = args.out.clone().map_or_else(support::target, Ok)?;
    std::fs::create_dir_all(&out)?;
    let mut csv = std::fs::File::create(out.join("soak.csv"))?;
    writeln!(csv, "{}", Minute::HEADER)?;
    if !args.json {
        println!("{}\n{}", place.database_name(), Minute::HEADER);
    }
    let mut placing =
        tokio::spawn(place_calls(node.address.clone(), requests(&key, &agent), args.calls_per_second, args.talking));
    let mut watch = Watch::begin(&place, &node, &ends).await?;
    let mut minutes = Vec::new();
    for _ in 0..args.minutes {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(60)) => {}
            stopped = &mut placing => stopped??,
        }
        let minute = watch.look(&place, &node, &ends).await?;
        writeln!(csv, "{minute}")?;
        if !args.json {
            println!("{minute}");
        }
        minutes.push(minute);
    }
    plot::draw(&minutes, &out.join("soak.svg"))?;
    report(&args, &place, &minutes, &out);
    Ok(())
}

/// A scripted agent at a phone network that rings shortly, and two endpoints: one for all events, one for those that end calls.
async fn set_up(node: &Node, key: &str, all: &Receiver, ends: &Receiver) -> anyhow::Result<String> {
    let mut api = Connection::open(&node.address).await?;
    let agent = api.scripted_agent(key).await?;
    let connections = api.json("GET", "/v1/connections", key, &json!({})).await?;
    for connection in connections["data"].as_array().into_iter().flatten().filter(|one| one["provider"] == "simulator")
    {
        let path = format!("/v1/connections/{}", connection["id"].as_str().unwrap_or_default());
        api.json("PATCH", &path, key, &json!({ "settings": { "time_scale": TIME_SCALE } })).await?;
    }
    api.json("POST", "/v1/webhooks", key, &json!({ "url": all.url })).await?;
    let terminal = json!({ "url": ends.url, "events": ["call.completed", "call.failed"] });
    api.json("POST", "/v1/webhooks", key, &terminal).await?;
    Ok(agent)
}

/// A short call and one that talks.
fn requests(key: &str, agent: &str) -> [Vec<u8>; 2] {
    [SHORT, TALKS].map(|to| {
        let body = json!({ "agent_id": agent, "to": to, "metadata": { "soak": true } });
        request("POST", "/v1/calls", key, "", &body.to_string())
    })
}

/// Places calls at an even pace until the process ends, or one is refused.
async fn place_calls(
    address: String,
    [short, talks]: [Vec<u8>; 2],
    per_second: f64,
    talking: u32,
) -> anyhow::Result<()> {
    let mut api = Connection::open(&address).await?;
    let mut pace = tokio::time::interval(Duration::from_secs_f64(1.0 / per_second));
    for number in 0_u32.. {
        pace.tick().await;
        // Spread evenly, also when few talk.
        let talks_now = u64::from(number + 1) * u64::from(talking) / 100 > u64::from(number) * u64::from(talking) / 100;
        let status = api.send(if talks_now { &talks } else { &short }).await?;
        anyhow::ensure!(status == 201, "{status} {}", String::from_utf8_lossy(api.body()));
    }
    Ok(())
}

/// Compares the last quarter with the second; the first is for warming up.
fn report(args: &Args, place: &Place, minutes: &[Minute], out: &Path) {
    let quarter = minutes.len().div_ceil(4);
    let mean = |minutes: &[Minute], of: fn(&Minute) -> f64| {
        minutes.iter().map(of).sum::<f64>() / (minutes.len().max(1)) as f64
    };
    let compared = |of: fn(&Minute) -> f64| {
        let (second, last) = (minutes.iter().skip(quarter).take(quarter), minutes.len().saturating_sub(quarter));
        let second: Vec<Minute> = second.cloned().collect();
        (mean(&second, of), mean(&minutes[last..], of))
    };
    let (memory, cpu, database) =
        (compared(|m| m.resident_mb), compared(|m| m.cpu_per_call), compared(|m| m.database_percent));
    if args.json {
        let rows: Vec<Value> = minutes.iter().map(Minute::json).collect();
        let pair = |(second, last): (f64, f64)| json!({ "second_quarter": second, "last_quarter": last });
        let result = json!({
            "database": place.database_name(), "minutes": rows, "resident_mb": pair(memory),
            "cpu_seconds_per_call": pair(cpu), "database_percent_of_cpu": pair(database),
        });
        println!("{result:#}");
        return;
    }
    println!("\n{} calls, minutes in {}", minutes.iter().map(|m| m.ended).sum::<u64>(), out.display());
    println!("                  second quarter  last quarter");
    println!("Resident          {:>11.1} MB  {:>9.1} MB", memory.0, memory.1);
    println!("CPU per call      {:>11.1} ms  {:>9.1} ms", cpu.0 * 1_000.0, cpu.1 * 1_000.0);
    println!("Database's share  {:>12.1} %  {:>10.1} %", database.0, database.1);
}
