//! The tools of a server, in a form that every language model accepts; cached for a while.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use switchhook_core::id::{AgentId, ConnectionId};
use switchhook_providers::json_schema::{CompileError, Schema};
use switchhook_providers::model_schema::for_model;
use tokio::time::Instant;

/// How long a cached list is valid.
pub(super) const LIST_VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// How long a server that did not respond is not contacted again.
pub(super) const AVOIDED_FOR: Duration = Duration::from_secs(60);
/// The maximum number of cached lists; seldom do more agents have calls while their lists are valid.
const MOST_LISTS: usize = 1_000;
/// The maximum number of tools of one server. With more, models choose badly, and some refuse them.
pub(super) const MOST_TOOLS: usize = 64;
/// The maximum number of tools of one server that are examined, including unusable ones.
pub(super) const MOST_LOOKED_AT: usize = 256;
/// The longest description in characters; some models accept no longer one.
const MOST_WORDS: usize = 1_024;
/// The maximum size of all schemas of one server, in bytes of JSON: models cannot read more with every request.
pub(super) const MOST_SCHEMAS: usize = 256 * 1024;
/// The maximum size of all cached lists, as an estimate in bytes of memory.
const MOST_BYTES: usize = 256 * 1024 * 1024;
/// The estimated memory of one JSON value in bytes, for any length: its node in the tree, in the schema and in the compiled schema.
const VALUE: usize = 1_024;

/// Keywords that only schemas of objects have, and those that combine schemas: arguments are always an object.
const OF_OBJECTS: [&str; 8] =
    ["$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties", "properties", "required"];
/// Keywords whose value is an object of schemas.
const OBJECTS_OF_SCHEMAS: [&str; 4] = ["$defs", "definitions", "patternProperties", "properties"];
/// Keywords whose value is data, not a schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords that allow every type.
const OF_ALL: [&str; 8] = ["$comment", "$defs", "$id", "$schema", "definitions", "description", "examples", "title"];

/// A tool as its server lists it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// Its name on the server.
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON Schema of its arguments, adapted to models.
    pub(crate) parameters: Value,
    /// JSON Schema of its arguments as the server sent it, for validation.
    pub(crate) schema: Schema,
}

impl Listed {
    /// Converts a tool to a form that every model accepts.
    ///
    /// # Errors
    /// The reason why it is unusable, as a sentence part.
    pub(super) async fn new(name: &str, description: &str, schema: &Map<String, Value>) -> Result<Self, String> {
        let mut parameters = schema.clone();
        // Some servers write an absent keyword as null.
        parameters.retain(|_, value| !value.is_null());
        repair_lists(&mut parameters);
        let takes_object = match parameters.get("type") {
            None => describes_object(&parameters),
            Some(Value::Array(types)) => types.contains(&json!("object")),
            Some(one) => one == "object",
        };
        if !takes_object {
            return Err("its arguments are no object".to_owned());
        }
        parameters.insert("type".to_owned(), json!("object"));
        // The draft of JSON Schema, which no model needs and some refuse.
        parameters.remove("$schema");
        parameters.entry("properties").or_insert(json!({}));
        let parameters = Value::Object(parameters);
        let for_model = for_model(&parameters);
        let compiled = Schema::compile(vec![parameters]).await;
        let mut compiled = compiled.map_err(|error| match error {
            CompileError::Unusable { reason, .. } => format!("its schema {reason}"),
            CompileError::Late => "its schema was not compiled in time".to_owned(),
        })?;
        let schema = compiled.pop().ok_or("its schema was lost")?;
        let description = description.chars().take(MOST_WORDS).collect();
        Ok(Self { name: name.to_owned(), description, parameters: for_model, schema })
    }

    /// Returns an estimate of its memory in bytes.
    fn weight(&self) -> usize {
        self.bytes() + VALUE * (values(&self.parameters) + values(self.schema.source()))
    }

    /// Returns its size for a model, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.to_string().len()
    }
}

/// Replaces empty lists where a schema has an object: PHP writes `[]` for `{}`.
fn repair_lists(schema: &mut Map<String, Value>) {
    for (keyword, value) in schema.iter_mut().filter(|(keyword, _)| !DATA.contains(&keyword.as_str())) {
        if !OBJECTS_OF_SCHEMAS.contains(&keyword.as_str()) {
            repair_lists_within(value);
            continue;
        }
        if *value == json!([]) {
            *value = json!({});
        }
        for schema in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if *schema == json!([]) {
                *schema = json!({});
            }
            repair_lists_within(schema);
        }
    }
}

/// Does the same in a schema, or in each schema of a list.
fn repair_lists_within(value: &mut Value) {
    match value {
        Value::Object(schema) => repair_lists(schema),
        Value::Array(schemas) => schemas.iter_mut().for_each(repair_lists_within),
        _ => {}
    }
}

/// Returns whether a schema without a type is one of objects.
fn describes_object(schema: &Map<String, Value>) -> bool {
    let has = |keywords: &[&str], keyword: &String| keywords.contains(&keyword.as_str());
    schema.keys().any(|keyword| has(&OF_OBJECTS, keyword)) || schema.keys().all(|keyword| has(&OF_ALL, keyword))
}

fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}

/// The key of a cached list. The tools may depend on the credentials. No `Debug`: it would print credentials.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Whose {
    pub(super) agent: AgentId,
    pub(super) version: i64,
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    /// The connection whose secrets are sent, and its version.
    pub(super) secrets: Option<(ConnectionId, i64)>,
    pub(super) chosen: Vec<String>,
}

/// The cached tools of a server.
struct List {
    good_until: Instant,
    tools: Arc<Vec<Listed>>,
    weight: usize,
}

/// The lists of recently used servers.
#[derive(Default)]
pub struct Lists(Mutex<HashMap<Whose, List>>);

impl Lists {
    pub(super) fn get(&self, whose: &Whose, now: Instant) -> Option<Arc<Vec<Listed>>> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(whose).filter(|list| now < list.good_until).map(|list| list.tools.clone())
    }

    pub(super) fn keep(&self, whose: Whose, tools: Arc<Vec<Listed>>, good_for: Duration, now: Instant) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|_, list| now < list.good_until);
        let weight = tools.iter().map(Listed::weight).sum();
        lists.insert(whose, List { good_until: now + good_for, tools, weight });
        while lists.len() > MOST_LISTS || lists.values().map(|list| list.weight).sum::<usize>() > MOST_BYTES {
            let Some(first) = first_to_go(&lists) else { return };
            lists.remove(&first);
        }
    }
}

/// Returns the oldest list of the agent that uses the most memory, so that no agent evicts the lists of others.
fn first_to_go(lists: &HashMap<Whose, List>) -> Option<Whose> {
    let mut agents: HashMap<AgentId, usize> = HashMap::new();
    for (whose, list) in lists {
        *agents.entry(whose.agent).or_default() += list.weight + VALUE;
    }
    let (heaviest, _) = agents.into_iter().max_by_key(|(_, weight)| *weight)?;
    let its = lists.iter().filter(|(whose, _)| whose.agent == heaviest);
    its.min_by_key(|(_, list)| list.good_until).map(|(whose, _)| whose.clone())
}

/// Returns the name of a tool for the model: letters, digits, `_` and `-`, at most 64, and not one of `taken`.
pub(crate) fn called(name: &str, prefix: &str, taken: &HashSet<String>) -> String {
    let plain = fitting(name);
    if !taken.contains(&plain) {
        return plain;
    }
    let prefixed = fitting(&format!("{prefix}_{name}"));
    let numbered = (2..).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", &prefixed[..prefixed.len().min(64 - end.len())])
    });
    let mut free = std::iter::once(prefixed.clone()).chain(numbered).filter(|name| !taken.contains(name));
    free.next().expect("there are more numbers than names")
}

fn fitting(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let first = name.chars().next().filter(|c| c.is_ascii_alphabetic() || fit(*c) == '_');
    let underscore = if first.is_none() { "_" } else { "" };
    underscore.chars().chain(name.chars().map(fit)).take(64).collect()
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"name":"book table!","description":"Books.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"people":{"type":"integer","minimum":1},"day":{"type":"string","pattern":"^[A-Z]"}},"required":["people"]}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |message| {
            let tool: rmcp::model::Tool = serde_json::from_slice(message).map_err(|error| error.to_string())?;
            let words = tool.description.as_deref().unwrap_or_default();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .map_err(|error| error.to_string())?;
            let listed = runtime.block_on(Listed::new(&tool.name, words, &tool.input_schema))?;
            let problems = listed.schema.problems_at_once(&json!({ "people": "four" })).len();
            let called = called(&tool.name, words, &HashSet::from([called(&tool.name, "", &HashSet::new())]));
            assert!(called.len() <= 64, "{called}");
            Ok::<_, String>(called.len() + listed.description.len() + listed.parameters.to_string().len() + problems)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_model_and_no_two_are_the_same() {
        let mut taken = HashSet::from(["tables".to_owned()]);
        let long = "x".repeat(80);
        let mut names = Vec::new();
        for name in ["hours", "tables", "tables", "tables", "crm/find.all", "2nd", "", long.as_str(), long.as_str()] {
            let name = called(name, "mcp", &taken);
            assert!(name.len() <= 64 && taken.insert(name.clone()), "{name}");
            names.push(name);
        }
        assert_eq!(names[..7], ["hours", "mcp_tables", "mcp_tables_2", "mcp_tables_3", "crm_find_all", "_2nd", "_"]);
    }

    async fn read(schema: Value) -> Result<Listed, String> {
        Listed::new("a", "b", schema.as_object().expect("an object")).await
    }

    #[tokio::test(start_paused = true)]
    async fn schemas_are_made_to_fit_or_left_alone() {
        let fine = read(json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object" })).await;
        assert_eq!(fine.expect("fine").parameters, json!({ "type": "object", "properties": {} }));
        let day = json!({ "day": { "type": "string" } });
        for schema in [
            json!({ "properties": day, "required": ["day"] }),
            json!({ "type": null, "properties": day, "required": ["day"], "additionalProperties": null }),
            json!({ "type": ["object", "null"], "properties": day, "required": ["day"] }),
            json!({ "allOf": [{ "properties": day, "required": ["day"] }] }),
        ] {
            let untyped = read(schema.clone()).await.unwrap_or_else(|reason| panic!("{reason}: {schema}"));
            assert_eq!(untyped.parameters["type"], "object", "{schema}");
            assert_eq!(untyped.parameters["properties"]["day"], day["day"], "{schema}");
            assert!(!untyped.schema.problems_at_once(&json!({})).is_empty(), "{schema} is checked");
        }
        let titled = read(json!({ "title": "No arguments", "required": null })).await.expect("no type is needed");
        assert_eq!(titled.parameters["properties"], json!({}));
        let lists = json!({
            "type": "object", "properties": [], "required": [], "$defs": [], "definitions": [], "patternProperties": [],
        });
        let lists = read(lists).await.expect("lists for objects");
        assert_eq!(lists.parameters["properties"], json!({}));
        let party = json!({ "type": "object", "properties": [], "required": [], "default": { "properties": [] } });
        let inner = json!({ "party": party, "wishes": { "type": "array", "items": party }, "any": [] });
        let inner = read(json!({ "type": "object", "properties": inner })).await.expect("lists for objects inside");
        let checked = inner.schema.source();
        for schema in ["/properties/party", "/properties/wishes/items"] {
            let properties = checked.pointer(&format!("{schema}/properties"));
            let default = checked.pointer(&format!("{schema}/default/properties"));
            assert_eq!((properties, default), (Some(&json!({})), Some(&json!([]))), "{schema}");
        }
        assert_eq!(checked["properties"]["any"], json!({}));
        for (schema, words) in [
            (json!({ "type": "string" }), "no object"),
            (json!({ "type": ["string", "null"] }), "no object"),
            (json!({ "enum": ["Friday"] }), "no object"),
            (json!({ "day": { "type": "string" } }), "no object"),
            (json!({ "type": "object", "properties": { "a": { "$ref": "https://127.0.0.1/x" } } }), "parts of itself"),
            (json!({ "type": "object", "description": "x".repeat(70_000) }), "at most 65536 bytes"),
            (json!({ "type": "object", "required": 7 }), "not a usable JSON Schema"),
        ] {
            let refused = read(schema).await.expect_err("of no use");
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn lists_are_good_for_a_while_and_for_one_version_of_one_agent() {
        let whose = |version| {
            let agent = AgentId::from_uuid(uuid::Uuid::nil());
            Whose { agent, version, url: String::new(), headers: BTreeMap::new(), secrets: None, chosen: Vec::new() }
        };
        let (lists, now) = (Lists::default(), Instant::now());
        lists.keep(whose(1), Arc::new(Vec::new()), LIST_VALID_FOR, now);
        lists.keep(whose(0), Arc::new(Vec::new()), AVOIDED_FOR, now);
        assert!(
            lists.get(&whose(0), now + AVOIDED_FOR / 2).is_some() && lists.get(&whose(0), now + AVOIDED_FOR).is_none()
        );
        assert!(lists.get(&whose(1), now + LIST_VALID_FOR / 2).is_some() && lists.get(&whose(2), now).is_none());
        assert!(lists.get(&whose(1), now + LIST_VALID_FOR).is_none());
        for version in 2..2_000 {
            lists.keep(
                whose(version),
                Arc::new(Vec::new()),
                LIST_VALID_FOR,
                now + Duration::from_millis(version.unsigned_abs()),
            );
        }
        let kept = lists.0.lock().expect("whole").len();
        assert!(kept <= MOST_LISTS && lists.get(&whose(1_999), now + LIST_VALID_FOR / 2).is_some(), "{kept}");
    }

    #[tokio::test(start_paused = true)]
    async fn lists_are_kept_as_long_as_they_fit_together() {
        let items = vec![json!({ "": 0 }); 400];
        let large = read(json!({ "type": "object", "default": items })).await.expect("a tool");
        let large = Arc::new(vec![large; 64]);
        let (lists, now) = (Lists::default(), Instant::now());
        let whose = |agent, version| {
            let agent = AgentId::from_uuid(uuid::Uuid::from_u128(agent));
            Whose { agent, version, url: String::new(), headers: BTreeMap::new(), secrets: None, chosen: Vec::new() }
        };
        lists.keep(whose(1, 0), large.clone(), LIST_VALID_FOR, now);
        for version in 0..100 {
            lists.keep(
                whose(2, version),
                large.clone(),
                LIST_VALID_FOR,
                now + Duration::from_millis(version.unsigned_abs()),
            );
        }
        let weight: usize = lists.0.lock().expect("whole").values().map(|list| list.weight).sum();
        assert!(weight <= MOST_BYTES && lists.get(&whose(2, 99), now).is_some());
        assert!(lists.get(&whose(2, 0), now).is_none(), "the oldest of the agent with many");
        assert!(lists.get(&whose(1, 0), now).is_some(), "another agent's");
    }
}
