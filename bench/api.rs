//! How many calls a node accepts in a second: `POST /v1/calls` with an `Idempotency-Key`, durable, over HTTP.
//!
//! The service is a separate process, the generator is this one; both, and PostgreSQL, share the machine. The node has the role `api`
//! only, so accepted calls stay queued: the bench measures accepting, not dialling. The same run measures two limits: how many durable
//! writes a second this disk does, and how many requests to `/healthz` a second the same generator can make.
//!
//! ```text
//! cargo build --release && cargo run --release -p switchhook --example bench-api
//! ci/with-postgres.sh --durable cargo run --release -p switchhook --example bench-api
//! ```
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use support::{Connection, Node, Place, percentile, request};

#[derive(Parser)]
struct Args {
    /// Connections, each with one request at a time.
    #[arg(long, default_value_t = 128)]
    connections: usize,
    /// Tenants that share the connections.
    #[arg(long, default_value_t = 1)]
    tenants: usize,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Webhook endpoints of each tenant: every accepted call adds a delivery to each.
    #[arg(long, default_value_t = 1)]
    endpoints: usize,
    /// Print one JSON object instead of sentences.
    #[arg(long)]
    json: bool,
}

struct Load {
    per_second: f64,
    latencies: Vec<Duration>,
    cpu_seconds: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let place = Place::new()?;
    let disk = support::durable_writes_per_second(place.path())?;
    let node = place.serve("api")?;
    let mut tenants = Vec::new();
    for number in 0..args.tenants {
        let key = place.tenant(&format!("bench {number}"))?;
        let mut connection = Connection::open(&node.address).await?;
        let agent = connection.scripted_agent(&key).await?;
        for _ in 0..args.endpoints {
            connection.json("POST", "/v1/webhooks", &key, &json!({ "url": "http://127.0.0.1:9/" })).await?;
        }
        tenants.push((key, agent));
    }
    let tenants = Arc::new(tenants);
    let health = run(&node, &args, 2, |_, _| request("GET", "/healthz", "none", "", "")).await?;
    let asked = |connection: usize, number: u64| {
        let (key, agent) = &tenants[connection % tenants.len()];
        let once = format!("Idempotency-Key: bench-{connection}-{number}\r\n");
        let body = json!({ "agent_id": agent, "to": "+12025550111", "metadata": { "order": number } });
        request("POST", "/v1/calls", key, &once, &body.to_string())
    };
    run(&node, &args, 1, |connection, number| asked(connection, number + (1 << 32))).await?; // Warm.
    let calls = run(&node, &args, args.seconds, asked).await?;
    report(&args, &place, &node, disk, &health, &calls);
    Ok(())
}

/// Sends what `asked` makes over every connection for `seconds`; every answer must be a success.
async fn run(node: &Node, args: &Args, seconds: u64, asked: impl Fn(usize, u64) -> Vec<u8>) -> anyhow::Result<Load> {
    let bar = ProgressBar::new(seconds);
    let (start, cpu) = (Instant::now(), node.cpu_seconds());
    let end = start + Duration::from_secs(seconds);
    let loops = (0..args.connections).map(|index| {
        let (asked, bar) = (&asked, &bar);
        async move {
            let mut connection = Connection::open(&node.address).await?;
            let mut latencies = Vec::new();
            while Instant::now() < end {
                let request = asked(index, latencies.len() as u64);
                let sent = Instant::now();
                let status = connection.send(&request).await?;
                anyhow::ensure!((200..300).contains(&status), "{}", String::from_utf8_lossy(connection.body()));
                latencies.push(sent.elapsed());
                bar.set_position(start.elapsed().as_secs());
            }
            Ok(latencies)
        }
    });
    let mut latencies: Vec<_> = futures_util::future::try_join_all(loops).await?.into_iter().flatten().collect();
    let per_second = latencies.len() as f64 / start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    bar.finish_and_clear();
    Ok(Load { per_second, latencies, cpu_seconds: node.cpu_seconds() - cpu })
}

fn report(args: &Args, place: &Place, node: &Node, disk: f64, health: &Load, calls: &Load) {
    let millis = |percent| percentile(&calls.latencies, percent).as_secs_f64() * 1_000.0;
    let accepted = calls.latencies.len() as f64;
    if args.json {
        let result: Value = json!({
            "database": place.database_name(), "connections": args.connections, "tenants": args.tenants,
            "calls_per_second": calls.per_second, "p50_ms": millis(50), "p99_ms": millis(99),
            "node_cpu_microseconds_per_call": calls.cpu_seconds * 1e6 / accepted,
            "healthz_per_second": health.per_second, "durable_writes_per_second": disk, "resident_mb": node.resident_mb(),
        });
        println!("{result:#}");
        return;
    }
    println!("{}, {} connections, {} tenant(s)", place.database_name(), args.connections, args.tenants);
    println!("Calls accepted:  {:.0} a second; p50 {:.1} ms, p99 {:.1} ms", calls.per_second, millis(50), millis(99));
    println!(
        "The node's CPU:  {:.0} µs a call; {:.0} MB resident",
        calls.cpu_seconds * 1e6 / accepted,
        node.resident_mb()
    );
    println!("Limits here:     {:.0} /healthz a second, {disk:.0} durable writes a second", health.per_second);
}
