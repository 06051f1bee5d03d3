//! A tenant with as many webhook endpoints, and calls with as much metadata, as it may have.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::Target;
use crate::disk::Disk;
use crate::flood::Flood;
use crate::support::receiver::Receiver;
use crate::support::request;
use crate::watch::{Row, Watch};

const ENDPOINTS: usize = 20;
const CALLS: usize = 500;
const SENDERS: usize = 5;
/// Answers and ends normally at once.
const ENDS: &str = "+12025550111";
/// With the name of its key just below 16 KiB.
const METADATA: usize = 16_300;
/// For calls and for lists; deliveries have what is left of the whole.
const CALLS_TIME: Duration = Duration::from_secs(12);
const LISTS_TIME: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(20);

pub(crate) async fn many_endpoints(target: &Target) -> anyhow::Result<Row> {
    let (mut api, key) = target.tenant("fan-out").await?;
    let agent = api.scripted_agent(&key).await?;
    let receiver = Receiver::start().await?;
    for _ in 0..ENDPOINTS {
        api.json("POST", "/v1/webhooks", &key, &json!({ "url": receiver.url })).await?;
    }
    let call = json!({ "agent_id": agent, "to": ENDS, "metadata": { "words": "x".repeat(METADATA) } });
    let call = request("POST", "/v1/calls", &key, "", &call.to_string());
    let list = request("GET", "/v1/calls?limit=100", &key, "", "");
    let flood = Flood {
        address: &target.node.address,
        senders: SENDERS,
        addresses: 1,
        lasts: CALLS_TIME,
        at_most: CALLS / SENDERS,
    };
    let mut disk = Disk::begin(&target.place).await?;
    let (watch, end) = (Watch::begin(&target.node)?, Instant::now() + WHOLE);
    let placed = flood.run(&[call]).await;
    let listed = Flood { lasts: LISTS_TIME, at_most: usize::MAX, ..flood }.run(&[list]).await;
    let deliveries = wait_for_deliveries(&receiver, end).await;
    let per_call = disk.grown().await? / placed.of(201).max(1) as u64;
    let answered =
        format!("calls {placed}; lists {listed}; {deliveries} deliveries; {per_call} bytes of database a call");
    watch.end(answered).await
}

/// Until none came for a second; how many came.
async fn wait_for_deliveries(receiver: &Receiver, end: Instant) -> u64 {
    let mut before = 0;
    while receiver.received() > before && Instant::now() < end {
        before = receiver.received();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    receiver.received()
}
