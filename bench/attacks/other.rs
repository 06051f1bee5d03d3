//! Another tenant, who uses the service a little before and during an attack.

use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::Target;
use crate::support::{Connection, percentile, request};

/// Before the attack.
const BEFORE: Duration = Duration::from_secs(5);
const PACE: Duration = Duration::from_millis(20);

pub(crate) struct Other {
    api: Connection,
    key: String,
    before: Latencies,
}

/// Of `GET /v1/tenant`, in order.
struct Latencies(Vec<Duration>);

impl Other {
    /// Uses the service before the attack.
    pub(crate) async fn join(target: &Target) -> anyhow::Result<Self> {
        let (mut api, key) = target.tenant("other").await?;
        let begin = Instant::now();
        let before = Latencies::measure(&mut api, &key, || begin.elapsed() < BEFORE).await?;
        Ok(Self { api, key, before })
    }

    /// Uses the service until the attack is over. Returns what the attack returns, and the latencies in words.
    pub(crate) async fn during<T>(mut self, attack: impl Future<Output = T>) -> anyhow::Result<(T, String)> {
        let running = Cell::new(true);
        let attack = async {
            let outcome = attack.await;
            running.set(false);
            outcome
        };
        // A request that waits when the attack ends is awaited, and counts.
        let (outcome, during) = tokio::join!(attack, Latencies::measure(&mut self.api, &self.key, || running.get()));
        Ok((outcome, format!("another tenant's {}, {} before", during?, self.before)))
    }
}

impl Latencies {
    async fn measure(api: &mut Connection, key: &str, is_running: impl Fn() -> bool) -> anyhow::Result<Self> {
        let tenant = request("GET", "/v1/tenant", key, "", "");
        let (mut pace, mut latencies) = (tokio::time::interval(PACE), Vec::new());
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while is_running() {
            pace.tick().await;
            let sent = Instant::now();
            let status = api.send(&tenant).await?;
            anyhow::ensure!(status == 200, "{status} {}", String::from_utf8_lossy(api.body()));
            latencies.push(sent.elapsed());
        }
        latencies.sort_unstable();
        Ok(Self(latencies))
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p99, slowest] = [99, 100].map(|percent| percentile(&self.0, percent).as_secs_f64() * 1_000.0);
        write!(f, "p99 {p99:.1} ms and slowest {slowest:.1} ms")
    }
}
