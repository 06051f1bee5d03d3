//! Rows that a tenant makes as large as they may be: small changes to a large agent, each of which stores all of it again, and connections
//! with settings that mean nothing.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use crate::Target;
use crate::disk::Disk;
use crate::flood::{Answers, Flood};
use crate::other::Other;
use crate::support::request;
use crate::watch::{Row, Watch};

const LASTS: Duration = Duration::from_secs(10);
const SENDERS: usize = 4;
/// Of the agent as it is sent. With defaults it is just below 256 KiB.
const BYTES: usize = 259_000;
/// As long as they may be.
const INSTRUCTIONS: usize = 100_000;
/// Tools, and properties of the parameters of each: their schemas are compiled for every change.
const TOOLS: usize = 3;
const PROPERTIES: usize = 800;
/// Of a connection's settings, as many as they may have.
const SETTINGS: usize = 16 * 1024;
/// More than a tenant may have.
const CONNECTIONS: usize = 400;
/// A carrier without a driver, whose settings are not known and kept, and a provider whose unknown settings are dropped.
const PROVIDERS: [&str; 2] = ["plivo", "scripted"];
/// Each differs from the one before, so that it makes a version.
const CHANGES: [&str; 4] = [r#"{"name":"a"}"#, r#"{"language":"de"}"#, r#"{"name":"b"}"#, r#"{"language":"en"}"#];

pub(crate) async fn small_changes(target: &Target) -> anyhow::Result<Row> {
    let (mut api, key) = target.tenant("patches").await?;
    let made = api.json("POST", "/v1/agents", &key, &large_agent()).await?;
    let path = format!("/v1/agents/{}", made["id"].as_str().context("an id")?);
    let patches = CHANGES.map(|change| request("PATCH", &path, &key, "", change));
    let (watch, answers, effects) = flood(target, &patches).await?;
    let agent = api.json("GET", &path, &key, &Value::Null).await?;
    let (version, bytes) = (&agent["version"], agent.to_string().len());
    watch.end(format!("{answers}; version {version} of {bytes} bytes; {effects}")).await
}

pub(crate) async fn unknown_settings(target: &Target) -> anyhow::Result<Row> {
    let (_, key) = target.tenant("settings").await?;
    let connections: Vec<_> = (0..CONNECTIONS)
        .zip(PROVIDERS.into_iter().cycle())
        .map(|(number, provider)| request("POST", "/v1/connections", &key, "", &connection(number, provider)))
        .collect();
    let (watch, answers, effects) = flood(target, &connections).await?;
    watch.end(format!("{answers}; {effects}")).await
}

/// With one setting that fills what there is.
fn connection(number: usize, provider: &str) -> String {
    let settings = |filling: usize| json!({ "unknown": "x".repeat(filling) });
    let settings = settings(SETTINGS.saturating_sub(settings(0).to_string().len()));
    json!({ "name": format!("c{number}"), "provider": provider, "settings": settings }).to_string()
}

/// Sends these while another tenant uses the service. Returns the answers, and what happened to the disk and to the other tenant.
async fn flood<'a>(target: &'a Target, requests: &[Vec<u8>]) -> anyhow::Result<(Watch<'a>, Answers, String)> {
    let other = Other::join(target).await?;
    let disk = Disk::begin(&target.place).await?;
    let watch = Watch::begin(&target.node)?;
    let flood =
        Flood { address: &target.node.address, senders: SENDERS, addresses: 1, lasts: LASTS, at_most: usize::MAX };
    let (answers, latencies) = other.during(flood.run(requests)).await?;
    let disk = disk.compare().await?;
    Ok((watch, answers, format!("{disk}; {latencies}")))
}

/// With descriptions that fill what is left.
fn large_agent() -> Value {
    let agent = |description: usize| {
        let tool = |number: usize| {
            json!({
                "type": "http", "name": format!("t{number}"), "url": "https://example.com", "parameters": parameters(),
                "description": "x".repeat(description),
            })
        };
        let tools: Vec<_> = (0..TOOLS).map(tool).collect();
        json!({ "name": "large", "instructions": "x".repeat(INSTRUCTIONS), "tools": tools })
    };
    agent(BYTES.saturating_sub(agent(0).to_string().len()) / TOOLS)
}

fn parameters() -> Value {
    let property = |number: usize| (format!("p{number}"), json!({ "type": "string", "maxLength": 100 }));
    let properties: Map<String, Value> = (0..PROPERTIES).map(property).collect();
    json!({ "type": "object", "properties": properties })
}
