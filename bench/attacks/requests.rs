//! Requests that ask for more than they should, or that nobody signed.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use tokio::time::MissedTickBehavior;

use crate::Target;
use crate::flood::Flood;
use crate::support::{Connection, percentile, request};
use crate::watch::{Row, Watch};

/// How long schemas and lists are sent.
const SHORT: Duration = Duration::from_secs(5);
/// How long callbacks are sent.
const CALLBACKS: Duration = Duration::from_secs(10);
/// How often the tenant that shares the node with an attacker sends a request.
const PACE: Duration = Duration::from_millis(20);

/// Tools with parameters that name each definition twice in the one before.
pub(crate) async fn schemas(target: &Target) -> anyhow::Result<Row> {
    let (_, key) = target.tenant("schemas").await?;
    let agents = [18, 24].map(|levels| {
        let tool = json!({ "type": "http", "name": "t", "url": "https://example.com", "parameters": doubling(levels) });
        let agent = json!({ "name": "Ava", "instructions": "Book a table.", "tools": [tool] });
        request("POST", "/v1/agents", &key, "", &agent.to_string())
    });
    let watch = Watch::begin(&target.node)?;
    let flood = Flood { address: &target.node.address, senders: 4, lasts: SHORT, at_most: usize::MAX };
    let answers = flood.run(&agents).await;
    watch.end(answers.to_string()).await
}

fn doubling(levels: usize) -> Value {
    let definition = |level: usize| {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        (format!("d{level}"), json!({ "allOf": [next, next] }))
    };
    let mut definitions: Map<String, Value> = (0..levels).map(definition).collect();
    definitions.insert(format!("d{levels}"), json!({ "type": "string" }));
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions })
}

pub(crate) async fn deep_lists(target: &Target) -> anyhow::Result<Row> {
    let (_, key) = target.tenant("lists").await?;
    let filters: Vec<_> = (0..2_000).map(|number| format!("metadata[k{number}]=v")).collect();
    let list = request("GET", &format!("/v1/calls?{}", filters.join("&")), &key, "", "");
    let watch = Watch::begin(&target.node)?;
    let flood = Flood { address: &target.node.address, senders: 50, lasts: SHORT, at_most: usize::MAX };
    let answers = flood.run(&[list]).await;
    watch.end(answers.to_string()).await
}

/// Meanwhile another tenant uses the service a little.
pub(crate) async fn callbacks(target: &Target) -> anyhow::Result<Row> {
    let (mut api, key) = target.tenant("attacked").await?;
    let (mut other, other_key) = target.tenant("other").await?;
    let path = callback_path(&mut api, &key).await?;
    let callback = request("POST", &path, "none", "", "CallSid=CA0");
    let before = latencies(&mut other, &other_key, SHORT).await?;
    let watch = Watch::begin(&target.node)?;
    let flood = Flood { address: &target.node.address, senders: 4, lasts: CALLBACKS, at_most: usize::MAX };
    let requests = [callback];
    let (answers, during) = tokio::join!(flood.run(&requests), latencies(&mut other, &other_key, CALLBACKS));
    let p99 = |latencies: &[Duration]| percentile(latencies, 99).as_secs_f64() * 1_000.0;
    let answered = format!("{answers}; another tenant's p99 {:.1} ms, {:.1} ms before", p99(&during?), p99(&before));
    watch.end(answered).await
}

/// Where the carrier of a number would send its requests.
async fn callback_path(api: &mut Connection, key: &str) -> anyhow::Result<String> {
    let credentials = json!({ "account_sid": format!("AC{}", "1".repeat(32)), "auth_token": "a".repeat(32) });
    let carrier = json!({ "name": "carrier", "provider": "twilio", "credentials": credentials });
    let carrier = api.json("POST", "/v1/connections", key, &carrier).await?;
    let number = json!({ "number": "+12025550188", "connection_id": carrier["id"] });
    let number = api.json("POST", "/v1/numbers", key, &number).await?;
    let url = number["inbound_url"].as_str().context("the number has an address for carriers")?;
    Ok(url[url.find("/carrier/").context("a path")?..].to_owned())
}

/// How long `GET /v1/tenant` takes, in order.
async fn latencies(api: &mut Connection, key: &str, lasts: Duration) -> anyhow::Result<Vec<Duration>> {
    let (tenant, end) = (request("GET", "/v1/tenant", key, "", ""), Instant::now() + lasts);
    let (mut pace, mut latencies) = (tokio::time::interval(PACE), Vec::new());
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while Instant::now() < end {
        pace.tick().await;
        let sent = Instant::now();
        let status = api.send(&tenant).await?;
        anyhow::ensure!(status == 200, "{status} {}", String::from_utf8_lossy(api.body()));
        latencies.push(sent.elapsed());
    }
    latencies.sort_unstable();
    Ok(latencies)
}
