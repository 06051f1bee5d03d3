//! The cost of history: a node with 20 ended calls in its database, then one with a million, with their events and deliveries.
//!
//! The database is filled in the schema of an older version, so that the start of the node migrates it, which is timed too. The service is
//! the release binary in a separate process, on SQLite or PostgreSQL; all share the machine.
//!
//! ```text
//! cargo build --release && cargo run --release -p switchhook --example bench-history
//! ci/with-postgres.sh --durable cargo run --release -p switchhook --example bench-history
//! … -- --calls 20000                  # smaller
//! … -- --prune                        # also place calls while 100,000 old rows are deleted
//! … -- --fill DIR                     # only fill a data directory of SQLite; `--filled DIR` measures a copy of it
//! ```
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod fill;
mod load;
mod lookups;
mod prune;
mod size;
#[path = "../support/mod.rs"]
mod support;
mod table;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::json;
use switchhook_core::Timestamp;

use self::load::Load;
use self::lookups::{Middle, Took};
use self::support::receiver::Receiver;
use self::support::{Connection, Node, Place};

/// Calls in the database that the large one is compared with.
const FEW: u64 = 20;
/// Longer than the past: nothing is deleted while it is measured.
const KEEP_DAYS: &str = "3650";

#[derive(Parser)]
struct Args {
    /// Ended calls in the large database.
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,
    /// How long the idle node is watched, in seconds.
    #[arg(long, default_value_t = 20)]
    idle_seconds: u64,
    /// Calls that are placed, 20 a second.
    #[arg(long, default_value_t = 300)]
    posts: u32,
    /// Also delete old rows while calls are placed.
    #[arg(long)]
    prune: bool,
    /// Only fill a data directory of SQLite, and say how to use it.
    #[arg(long, value_name = "DIR")]
    fill: Option<PathBuf>,
    /// Measure a copy of this data directory, filled before with as many `--calls`.
    #[arg(long, value_name = "DIR")]
    filled: Option<PathBuf>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// The measurements with one database.
pub(crate) struct Figures {
    /// From the start of the process until it was ready.
    start: Duration,
    /// Of one core, in percent, PostgreSQL's included.
    idle_percent: f64,
    lookups: Vec<Took>,
    load: Load,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(folder) = &args.fill {
        return fill_only(folder, args.calls).await;
    }
    let (few, _) = past("history_few", FEW, None).await?;
    let before = measure(&few, &args).await?;
    drop(few);
    let (mut many, filled_in) = past("history_many", args.calls, args.filled.as_deref()).await?;
    let unmigrated = size::bytes(&many).await?;
    let after = measure(&many, &args).await?;
    let size = size::look(&many).await?;
    let pruned = if args.prune { Some(prune::measure(&mut many, &args).await?) } else { None };
    let report = table::Report { args: &args, place: &many, filled_in, unmigrated, before, after, size, pruned };
    if args.json {
        println!("{:#}", report.json());
    } else {
        report.print();
    }
    Ok(())
}

async fn fill_only(folder: &Path, calls: u64) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let url = format!("sqlite://{}", folder.join("switchhook.db").display());
    let begun = Instant::now();
    fill::fill(folder, &url, calls).await?;
    println!(
        "{calls} calls in {} after {:.0} s; key {}",
        folder.display(),
        begun.elapsed().as_secs_f64(),
        fill::key().reveal()
    );
    Ok(())
}

/// A database with so many calls, and how long it took to fill.
async fn past(name: &str, calls: u64, filled: Option<&Path>) -> anyhow::Result<(Place, Duration)> {
    let mut place = Place::with_database(name).await?;
    place.set("SWITCHHOOK_LOG", "error");
    place.set("SWITCHHOOK_DELIVERY_RETENTION_DAYS", KEEP_DAYS);
    let begun = Instant::now();
    match filled {
        Some(folder) => fill::copy(folder, place.path())?,
        None => fill::fill(place.path(), &place.database_url(), calls).await?,
    }
    Ok((place, begun.elapsed()))
}

async fn measure(place: &Place, args: &Args) -> anyhow::Result<Figures> {
    let begun = Instant::now();
    let node = place.serve("api,calls,webhooks")?;
    node.ready().await?;
    let start = begun.elapsed();
    let _receiver = take_deliveries(&node).await?;
    let idle_percent = load::idle_percent(place, &node, Duration::from_secs(args.idle_seconds)).await?;
    let lookups = lookups::all(&node.address, fill::key().reveal(), &middle()?).await?;
    let load = load::place_calls(&node, args.posts, Duration::from_secs(60)).await?;
    // Their ends are written and delivered.
    tokio::time::sleep(Duration::from_secs(5)).await;
    Ok(Figures { start, idle_percent, lookups, load })
}

/// Has the tenant's endpoints send to this process.
pub(crate) async fn take_deliveries(node: &Node) -> anyhow::Result<Receiver> {
    let receiver = Receiver::start().await?;
    let mut api = Connection::open(&node.address).await?;
    for webhook in [fill::PROGRESS_WEBHOOK, fill::END_WEBHOOK] {
        let path = format!("/v1/webhooks/{webhook}");
        api.json("PATCH", &path, fill::key().reveal(), &json!({ "url": receiver.url })).await?;
    }
    Ok(receiver)
}

fn middle() -> anyhow::Result<Middle> {
    let micros = fill::start() + fill::YEAR / 2;
    let id = uuid::Builder::from_unix_timestamp_millis(u64::try_from(micros / 1_000)?, &[0; 10]).into_uuid();
    let time = |micros| Timestamp::from_micros(micros).to_string();
    Ok(Middle { time: time(micros), next_day: time(micros + fill::DAY), id: id.to_string() })
}
