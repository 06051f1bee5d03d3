//! The number of webhook deliveries that a node makes in a second: each claimed, signed, posted and recorded durably.
//!
//! First a node with the role `api` only accepts calls, whose `call.queued` events wait; then a node with the role `webhooks` only
//! delivers them to receivers in this process that respond at once. Both processes, and PostgreSQL, share the machine.
//!
//! ```text
//! cargo build --release && cargo run --release -p switchhook --example bench-webhooks
//! ci/with-postgres.sh --durable cargo run --release -p switchhook --example bench-webhooks
//! ```
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod support;

use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::ProgressBar;
use serde_json::json;
use support::receiver::Receiver;
use support::{Connection, Place, request};

#[derive(Parser)]
struct Args {
    /// Calls, each with one event.
    #[arg(long, default_value_t = 1_500)]
    calls: usize,
    /// Endpoints of the tenant that all want every event.
    #[arg(long, default_value_t = 20)]
    endpoints: usize,
    /// Print one JSON object instead of sentences.
    #[arg(long)]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let place = Place::new()?;
    let disk = support::durable_writes_per_second(place.path())?;
    let receiver = Receiver::start().await?;

    let api = place.serve("api")?;
    let key = place.tenant("bench")?;
    let mut connection = Connection::open(&api.address).await?;
    let agent = connection.scripted_agent(&key).await?;
    for _ in 0..args.endpoints {
        connection.json("POST", "/v1/webhooks", &key, &json!({ "url": receiver.url })).await?;
    }
    accept(&api.address, &key, &agent, args.calls).await?;
    drop(api);

    let wanted = (args.calls * args.endpoints) as u64;
    let bar = ProgressBar::new(wanted);
    let node = place.serve("webhooks")?;
    let deadline = Instant::now() + Duration::from_secs(300);
    // The first tenth warms up: connections, prepared statements.
    let (mut start, mut cpu, mut warm) = (Instant::now(), 0.0, 0);
    while receiver.received() < wanted && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let now = receiver.received();
        if warm == 0 && now > wanted / 10 {
            (start, cpu, warm) = (Instant::now(), node.cpu_seconds(), now);
        }
        bar.set_position(now);
    }
    bar.finish_and_clear();
    let delivered = receiver.received();
    anyhow::ensure!(delivered >= wanted, "only {delivered} of {wanted} were delivered");
    let measured = (delivered - warm) as f64;
    let per_second = measured / start.elapsed().as_secs_f64();
    let cpu = (node.cpu_seconds() - cpu) * 1e6 / measured;
    let database = place.database_name();
    if args.json {
        let result = json!({
            "database": database, "endpoints": args.endpoints, "deliveries": wanted, "deliveries_per_second": per_second,
            "node_cpu_microseconds_per_delivery": cpu, "durable_writes_per_second": disk, "resident_mb": node.resident_mb(),
        });
        println!("{result:#}");
    } else {
        println!("{database}, {} endpoints, {wanted} deliveries", args.endpoints);
        println!("Delivered:       {per_second:.0} a second");
        println!("The node's CPU:  {cpu:.0} µs a delivery; {:.0} MB resident", node.resident_mb());
        println!("Limits here:     {disk:.0} durable writes a second");
    }
    Ok(())
}

/// Places calls over a few connections.
async fn accept(address: &str, key: &str, agent: &str, calls: usize) -> anyhow::Result<()> {
    let body = json!({ "agent_id": agent, "to": "+12025550111" }).to_string();
    let request = request("POST", "/v1/calls", key, "", &body);
    let some = (0..16).map(|index| {
        let request = &request;
        async move {
            let mut connection = Connection::open(address).await?;
            for _ in (index..calls).step_by(16) {
                let status = connection.send(request).await?;
                anyhow::ensure!(status == 201, "{}", String::from_utf8_lossy(connection.body()));
            }
            Ok(())
        }
    });
    futures_util::future::try_join_all(some).await.map(drop)
}
