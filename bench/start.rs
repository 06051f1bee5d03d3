//! The cost of a node before it does anything: the size of the binary, the time from its start until it is ready, and its memory
//! when idle.
//!
//! ```text
//! cargo build --release && cargo run --release -p switchhook --example bench-start
//! ci/with-postgres.sh --durable cargo run --release -p switchhook --example bench-start
//! ```
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod support;

use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::json;
use support::{Place, percentile};

#[derive(Parser)]
struct Args {
    /// Starts that are timed, after the first, which makes the database.
    #[arg(long, default_value_t = 10)]
    starts: usize,
    /// Print one JSON object instead of sentences.
    #[arg(long)]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let place = Place::new()?;
    let binary = std::fs::metadata(place.command()?.get_program())?.len();
    let (first, _) = start(&place).await?;
    let (mut times, mut resident) = (Vec::new(), 0.0_f64);
    for _ in 0..args.starts {
        let (took, memory) = start(&place).await?;
        times.push(took);
        resident = resident.max(memory);
    }
    times.sort_unstable();
    let (first, median) = (first.as_millis(), percentile(&times, 50).as_millis());
    let (megabytes, database) = (binary / 1_000_000, place.database_name());
    if args.json {
        let result = json!({
            "database": database, "binary_mb": megabytes, "first_start_ms": first, "start_ms_p50": median,
            "idle_resident_mb": resident,
        });
        println!("{result:#}");
    } else {
        println!("{database}");
        println!("Binary:          {megabytes} MB");
        println!("Start to ready:  {median} ms (p50 of {}); the very first {first} ms", args.starts);
        println!("Idle:            {resident:.0} MB resident, all roles, two seconds after it was ready");
    }
    Ok(())
}

/// From the start of the process until `/readyz` says 200, and its memory soon after.
async fn start(place: &Place) -> anyhow::Result<(Duration, f64)> {
    let begun = Instant::now();
    let node = place.serve("api,calls,webhooks")?;
    node.ready().await?;
    let took = begun.elapsed();
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok((took, node.resident_mb()))
}
