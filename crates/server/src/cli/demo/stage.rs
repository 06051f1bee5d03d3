//! Creates the demo's connections, agent, number and webhook through the API.

use anyhow::Context as _;
use serde_json::{Value, json};
use switchhook_core::webhook::SigningSecret;

use super::Speech;
use crate::cli::api::Api;
use crate::operator;
use crate::webhooks::receiver::Receiver;

/// The caller's number.
const NUMBER: &str = "+12025550199";

pub(super) struct Stage<'a> {
    pub(super) api: &'a Api,
    pub(super) speech: Speech,
    pub(super) llm_url: Option<&'a str>,
    pub(super) llm_model: Option<&'a str>,
    pub(super) llm_key: Option<String>,
}

impl Stage<'_> {
    /// Creates everything and returns the agent's id.
    pub(super) async fn set(&self, receiver: &Receiver) -> anyhow::Result<String> {
        let webhook = self.api.create("/v1/webhooks", json!({ "url": receiver.url() })).await?;
        let secret = webhook["secret"].as_str().context("a new webhook contains its secret")?;
        receiver.set_secret(SigningSecret::parse(secret).context("the webhook's secret cannot be read")?);
        let carrier = json!({ "name": "Simulated phone", "provider": "simulator" });
        let carrier = self.api.create_id("/v1/connections", carrier).await?;
        let agent = self.agent().await?;
        let agent = self.api.create_id("/v1/agents", agent).await?;
        self.api.create("/v1/numbers", json!({ "number": NUMBER, "connection_id": carrier })).await?;
        Ok(agent)
    }

    async fn agent(&self) -> anyhow::Result<Value> {
        let mut agent = serde_json::to_value(operator::table_booker())?;
        agent["name"] = json!("Ava");
        let scripted = json!({ "name": "Demo script", "provider": "scripted" });
        let scripted = self.api.create_id("/v1/connections", scripted).await?;
        agent["llm"] = json!({ "connection_id": scripted });
        if self.speech == Speech::Simulated {
            for part in ["stt", "tts"] {
                agent[part] = json!({ "connection_id": scripted });
            }
        }
        if let Some(url) = self.llm_url {
            let mut server = json!({ "name": "Language model", "provider": "openai", "settings": { "base_url": url } });
            if let Some(key) = &self.llm_key {
                server["credentials"] = json!({ "api_key": key });
            }
            let server = self.api.create_id("/v1/connections", server).await?;
            agent["llm"] = json!({ "connection_id": server });
            if let Some(model) = self.llm_model {
                agent["llm"]["model"] = json!(model);
            }
        }
        Ok(agent)
    }
}

/// A transcript line for `--json`.
pub(super) fn spoken(line: &Value) -> Value {
    json!({ "role": line["role"], "text": line["text"], "start_ms": line["start_ms"], "end_ms": line["end_ms"] })
}
