//! The resources of an idle node, and the time that it takes to accept calls.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;

use crate::fill::{self, AGENTS};
use crate::support::database::{Database, used};
use crate::support::{Connection, Node, Place, percentile, request};

/// Calls placed in a second.
const RATE: u32 = 20;

/// The durations of `POST /v1/calls`, in order.
pub(crate) struct Load(Vec<Duration>);

impl Load {
    pub(crate) fn millis(&self, percent: usize) -> f64 {
        percentile(&self.0, percent).as_secs_f64() * 1_000.0
    }
}

/// The share of a core that a node uses for nothing, in percent, and PostgreSQL for it.
pub(crate) async fn idle_percent(place: &Place, node: &Node, watched: Duration) -> anyhow::Result<f64> {
    let mut database = Database::open(&place.database_url()).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (backends, cpu, begun) = (database.backends().await?, node.cpu_seconds(), Instant::now());
    let bar = ProgressBar::new(watched.as_secs());
    while begun.elapsed() < watched {
        tokio::time::sleep(Duration::from_millis(500)).await;
        bar.set_position(begun.elapsed().as_secs());
    }
    bar.finish_and_clear();
    let cpu = node.cpu_seconds() - cpu + used(&backends, &database.backends().await?);
    Ok(cpu / begun.elapsed().as_secs_f64() * 100.0)
}

/// Places calls that end at once, one after another, [`RATE`] a second: so many, or for as long.
pub(crate) async fn place_calls(node: &Node, calls: u32, longest: Duration) -> anyhow::Result<Load> {
    let bar = ProgressBar::new(u64::from(calls));
    let (begun, mut times) = (Instant::now(), Vec::new());
    let mut placing = Placing::new(node).await?;
    for _ in 0..calls {
        if begun.elapsed() > longest {
            break;
        }
        times.push(placing.one().await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Load::of(times))
}

impl Load {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }
}

/// Places calls at an even pace.
pub(crate) struct Placing {
    api: Connection,
    request: Vec<u8>,
    pace: tokio::time::Interval,
}

impl Placing {
    pub(crate) async fn new(node: &Node) -> anyhow::Result<Self> {
        let body = json!({
            "agent_id": format!("{AGENTS}000000000007"), "from": "+12025560007", "to": "+12025550111",
            "metadata": { "campaign": "today", "order": "new" },
        });
        let mut pace = tokio::time::interval(Duration::from_secs(1) / RATE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let api = Connection::open(&node.address).await?;
        let request = request("POST", "/v1/calls", fill::key().reveal(), "", &body.to_string());
        let mut placing = Self { api, request, pace };
        // The first warms up.
        placing.one().await?;
        Ok(placing)
    }

    /// Waits for the pace, and places one; how long the answer took.
    pub(crate) async fn one(&mut self) -> anyhow::Result<Duration> {
        self.pace.tick().await;
        let sent = Instant::now();
        let status = self.api.send(&self.request).await?;
        anyhow::ensure!(status == 201, "{status} {}", String::from_utf8_lossy(self.api.body()));
        Ok(sent.elapsed())
    }
}
