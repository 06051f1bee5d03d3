//! Writes what a tenant has as files that say the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};
use switchhook_core::agent::AgentConfig;
use switchhook_core::id::TenantId;
use uuid::Uuid;

use super::document::Kind;
use super::existing::Existing;
use super::names;
use super::yaml;
use crate::store::agents::AgentRow;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::NumberRow;
use crate::store::webhooks::WebhookRow;
use crate::store::{Store, tenants};

/// Fields of an agent within which nothing has a default.
const WHOLE: [&str; 2] = ["parameters", "schema"];

/// The resources of a tenant, as documents.
pub struct Export {
    lists: BTreeMap<&'static str, Vec<Value>>,
    /// The variables that stand for secrets.
    variables: Vec<String>,
    /// URLs that several webhooks have, of which one is written.
    repeated: Vec<String>,
}

/// Reads what a tenant has at one moment.
///
/// # Errors
/// When the database fails.
pub async fn export(store: &Store, tenant: TenantId) -> Result<Export, sqlx::Error> {
    let mut tx = store.begin().await?;
    tenants::lock(&mut tx, tenant).await?;
    Ok(Export::of(Existing::load(&mut tx, tenant).await?))
}

impl Export {
    /// Describes these rows.
    pub(super) fn of(mut existing: Existing) -> Self {
        existing.connections.sort_by(|one, other| one.name.cmp(&other.name));
        existing.agents.sort_by(|one, other| one.name.cmp(&other.name));
        existing.webhooks.sort_by(|one, other| (&one.url, one.id).cmp(&(&other.url, other.id)));
        let connections: HashMap<Uuid, String> =
            existing.connections.iter().map(|row| (row.id, row.name.clone())).collect();
        let agents: HashMap<Uuid, String> = existing.agents.iter().map(|row| (row.id, row.name.clone())).collect();
        let mut variables = Variables::default();
        let of_connections = existing.connections.iter().map(|row| connection(row, &mut variables)).collect();
        let of_agents = existing.agents.iter().map(|row| agent(row, &connections)).collect();
        let mut seen = BTreeSet::new();
        let (first, again): (Vec<_>, Vec<_>) = existing.webhooks.iter().partition(|row| seen.insert(row.url.clone()));
        let lists = [
            (Kind::Connection, of_connections),
            (Kind::Agent, of_agents),
            (Kind::Number, numbers(&existing.numbers, &connections, &agents)),
            (Kind::Webhook, first.into_iter().map(webhook).collect()),
        ];
        Self {
            lists: lists.into_iter().map(|(kind, list): (Kind, Vec<Value>)| (kind.list(), list)).collect(),
            variables: variables.names,
            repeated: again.into_iter().map(|row| row.url.clone()).collect(),
        }
    }

    /// Returns one document with everything.
    #[must_use]
    pub fn document(&self) -> Value {
        let lists = self.lists.iter().filter(|(_, list)| !list.is_empty());
        lists.map(|(name, list)| ((*name).to_owned(), Value::from(list.clone()))).collect::<Map<_, _>>().into()
    }

    /// Returns that document as YAML.
    #[must_use]
    pub fn yaml(&self) -> String {
        let mut text = self.heading();
        for kind in Kind::ALL {
            text.push_str(&self.list(kind.list()));
        }
        text
    }

    /// Returns files with everything: the names and the texts. Each agent has its own.
    #[must_use]
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Agent) {
            let heading = if kind == Kind::Connection { self.heading() } else { String::new() };
            let text = self.list(kind.list());
            if !text.is_empty() {
                files.push((format!("{}.yaml", kind.list()), heading + &text));
            }
        }
        let mut taken = BTreeSet::new();
        for agent in self.lists.get(Kind::Agent.list()).into_iter().flatten() {
            let name = file_name(agent["name"].as_str().unwrap_or_default());
            let name = unused(&format!("agent-{name}"), "-", &mut taken);
            files.push((format!("{name}.yaml"), yaml::write(&json!({ Kind::Agent.list(): [agent] }))));
        }
        files
    }

    fn list(&self, name: &str) -> String {
        match self.lists.get(name) {
            Some(list) if !list.is_empty() => yaml::write(&json!({ name: list })),
            _ => String::new(),
        }
    }

    fn heading(&self) -> String {
        if self.variables.is_empty() {
            return String::new();
        }
        let variables: String = self.variables.iter().map(|name| format!("#   {name}\n")).collect();
        format!(
            "# Secrets come from the environment. One that is not set keeps the secret that is stored.\n{variables}"
        )
    }

    /// Returns what is not in the documents, in sentences.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let note = |url: &String| {
            format!("Another webhook with the URL {url} was left out: files tell webhooks apart by their URLs.")
        };
        self.repeated.iter().map(note).collect()
    }
}

fn connection(row: &ConnectionRow, variables: &mut Variables) -> Value {
    let credentials: Map<String, Value> = row
        .hints
        .keys()
        .map(|field| (field.clone(), format!("${{{}}}", variables.name(&row.name, field)).into()))
        .collect();
    without_nulls(json!({
        "name": row.name,
        "provider": row.provider,
        "settings": (!row.settings.is_empty()).then_some(&row.settings.0),
        "credentials": (!credentials.is_empty()).then_some(credentials),
        "limits": row.max_concurrent.map(|most| json!({ "max_concurrent": most })),
    }))
}

fn numbers(rows: &[NumberRow], connections: &HashMap<Uuid, String>, agents: &HashMap<Uuid, String>) -> Vec<Value> {
    let number = |row: &NumberRow| {
        let connection = connections.get(&row.connection_id);
        let agent = row.inbound_agent_id.and_then(|id| agents.get(&id));
        without_nulls(json!({ "number": row.number, "connection": connection, "label": row.label, "agent": agent }))
    };
    let mut numbers: Vec<Value> = rows.iter().map(number).collect();
    numbers.sort_by_key(|fields| (fields["number"].to_string(), fields["connection"].to_string()));
    numbers
}

fn webhook(row: &WebhookRow) -> Value {
    let events = (!row.events.0.kinds().is_empty()).then_some(&row.events.0);
    without_nulls(json!({ "url": row.url, "events": events, "enabled": (!row.enabled).then_some(false) }))
}

/// Removes fields that are `null`, but none within them.
fn without_nulls(fields: Value) -> Value {
    let Value::Object(fields) = fields else { return fields };
    Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

fn agent(row: &AgentRow, connections: &HashMap<Uuid, String>) -> Value {
    let mut fields = without_defaults(&row.config.0);
    names::name_connections(&mut fields, connections);
    fields.insert("name".to_owned(), row.name.as_str().into());
    if let Some(traffic) = row.traffic() {
        fields.insert("traffic".to_owned(), json!(traffic));
    }
    Value::Object(fields)
}

/// An agent's fields but those without which it is the same.
fn without_defaults(config: &AgentConfig) -> Map<String, Value> {
    let mut fields = Value::Object(names::as_json(config));
    let mut paths = Vec::new();
    list_fields(&fields, "", &mut paths);
    for (above, name) in paths {
        let mut fewer = fields.clone();
        let removed = fewer.pointer_mut(&above).and_then(Value::as_object_mut).and_then(|fields| fields.remove(&name));
        let same = removed.is_some()
            && serde_json::from_value::<AgentConfig>(fewer.clone()).is_ok_and(|fewer| fewer == *config);
        if same {
            fields = fewer;
        }
    }
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Lists the fields of an agent, outer ones first: the pointer to what they are in, and their names.
fn list_fields(value: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
    let below = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push((pointer.to_owned(), name.clone()));
                if !WHOLE.contains(&name.as_str()) {
                    list_fields(value, &below(name), found);
                }
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| list_fields(item, &below(&at.to_string()), found));
        }
        _ => {}
    }
}

/// Names of variables, each for one secret.
#[derive(Default)]
struct Variables {
    names: Vec<String>,
    taken: BTreeSet<String>,
}

impl Variables {
    fn name(&mut self, connection: &str, field: &str) -> String {
        let word = |text: &str| {
            text.split(|letter: char| !letter.is_ascii_alphanumeric())
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join("_")
                .to_ascii_uppercase()
        };
        let mut name =
            [word(connection), word(field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
        // Those of the service are its settings, and names of variables do not begin with digits.
        if name.starts_with("SWITCHHOOK_") || !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            name = format!("CONNECTION_{name}");
        }
        let name = unused(&name, "_", &mut self.taken);
        self.names.push(name.clone());
        name
    }
}

/// The name, or with the first number behind it that is free.
pub(super) fn unused(name: &str, between: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}{between}{number}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.expect("numbers do not end");
    taken.insert(free.clone());
    free
}

/// A name for a file: letters, digits and dashes.
pub(super) fn file_name(name: &str) -> String {
    let parts: Vec<_> = name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    // File systems allow 255 bytes.
    parts.join("-").to_lowercase().chars().take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_after_connection_and_field_each_for_one_secret() {
        let mut variables = Variables::default();
        for (connection, field, expected) in [
            ("OpenAI", "api_key", "OPENAI_API_KEY"),
            ("Open AI", "api_key", "OPEN_AI_API_KEY"),
            ("open-ai", "api_key", "OPEN_AI_API_KEY_2"),
            ("CRM (test)", "X-Api-Key", "CRM_TEST_X_API_KEY"),
            ("電話", "auth_token", "AUTH_TOKEN"),
            ("3CX", "secret", "CONNECTION_3CX_SECRET"),
            ("Switchhook", "master_key", "CONNECTION_SWITCHHOOK_MASTER_KEY"),
            ("…", "…", "CONNECTION_"),
        ] {
            assert_eq!(variables.name(connection, field), expected);
        }
    }

    #[test]
    fn an_agent_without_its_defaults_is_the_same() {
        let agent = json!({
            "instructions": "Book a table.", "language": "de", "greeting": { "mode": "generate" },
            "stt": { "connection_id": null, "keyterms": ["Müller"] },
            "llm": { "connection_id": "0198c6a0-0000-7000-8000-000000000000", "temperature": 0.7, "hedge": true },
            "silence": { "hangup_after_seconds": null }, "dtmf": { "finish_on_key": null },
            "tools": [{ "type": "http", "name": "tables", "url": "https://example.com", "parameters": { "type": "object", "default": null } }],
            "analysis": { "schema": { "type": "object", "properties": { "a/b": { "enum": [null] } } } },
            "variables": { "city": {}, "name": { "required": true } }, "interruption": { "backchannels": [] },
        });
        let config: AgentConfig = serde_json::from_value(agent.clone()).expect("an agent");
        let mut expected = agent;
        expected["stt"].as_object_mut().expect("an object").remove("connection_id");
        assert_eq!(Value::Object(without_defaults(&config)), expected);
    }

    #[test]
    fn files_are_named_after_agents_without_what_file_systems_do_not_take() {
        let names = ["Reception", "reception", "a/../b", "…", "Zahnärzte Müller"];
        let agents = names.map(|name| json!({ "name": name })).to_vec();
        let export =
            Export { lists: [(Kind::Agent.list(), agents)].into(), variables: Vec::new(), repeated: Vec::new() };
        let files: Vec<_> = export.files().into_iter().map(|(name, _)| name).collect();
        let expected = [
            "agent-reception.yaml",
            "agent-reception-2.yaml",
            "agent-a-b.yaml",
            "agent-.yaml",
            "agent-zahnärzte-müller.yaml",
        ];
        assert_eq!(files, expected);
    }
}
