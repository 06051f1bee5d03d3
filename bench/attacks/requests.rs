//! Requests for too much data, and unsigned requests.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use crate::Target;
use crate::flood::Flood;
use crate::other::Other;
use crate::support::{Connection, request};
use crate::watch::{Row, Watch};

/// How long schemas and lists are sent.
const SHORT: Duration = Duration::from_secs(5);
/// How long callbacks are sent.
const CALLBACKS: Duration = Duration::from_secs(10);

/// Tools with parameters that name each definition twice in the one before.
pub(crate) async fn schemas(target: &Target) -> anyhow::Result<Row> {
    let (_, key) = target.tenant("schemas").await?;
    let agents = [18, 24].map(|levels| {
        let tool = json!({ "type": "http", "name": "t", "url": "https://example.com", "parameters": doubling(levels) });
        let agent = json!({ "name": "Ava", "instructions": "Book a table.", "tools": [tool] });
        request("POST", "/v1/agents", &key, "", &agent.to_string())
    });
    let watch = Watch::begin(&target.node)?;
    let flood = Flood { address: &target.node.address, senders: 4, addresses: 1, lasts: SHORT, at_most: usize::MAX };
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
    let flood = Flood { address: &target.node.address, senders: 50, addresses: 1, lasts: SHORT, at_most: usize::MAX };
    let answers = flood.run(&[list]).await;
    watch.end(answers.to_string()).await
}

pub(crate) async fn callbacks(target: &Target) -> anyhow::Result<Row> {
    let (mut api, key) = target.tenant("attacked").await?;
    let other = Other::join(target).await?;
    let path = callback_path(&mut api, &key).await?;
    let callback = request("POST", &path, "none", "", "CallSid=CA0");
    let watch = Watch::begin(&target.node)?;
    let flood =
        Flood { address: &target.node.address, senders: 4, addresses: 1, lasts: CALLBACKS, at_most: usize::MAX };
    let (answers, latencies) = other.during(flood.run(&[callback])).await?;
    watch.end(format!("{answers}; {latencies}")).await
}

/// Returns the path to which the carrier of a number would send its requests.
async fn callback_path(api: &mut Connection, key: &str) -> anyhow::Result<String> {
    let credentials = json!({ "account_sid": format!("AC{}", "1".repeat(32)), "auth_token": "a".repeat(32) });
    let carrier = json!({ "name": "carrier", "provider": "twilio", "credentials": credentials });
    let carrier = api.json("POST", "/v1/connections", key, &carrier).await?;
    let number = json!({ "number": "+12025550188", "connection_id": carrier["id"] });
    let number = api.json("POST", "/v1/numbers", key, &number).await?;
    let url = number["inbound_url"].as_str().context("the number has an address for carriers")?;
    Ok(url[url.find("/carrier/").context("a path")?..].to_owned())
}
