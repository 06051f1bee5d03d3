//! Things refer to each other by name in files, and by id elsewhere.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};
use switchhook_core::agent::AgentConfig;
use uuid::Uuid;

use super::problem::{Place, Problem};
use crate::http::unknown_query::alike;

/// Ids by name.
pub(super) struct Names {
    /// The kind of resource that they name.
    pub(super) word: &'static str,
    pub(super) ids: BTreeMap<String, Uuid>,
}

/// A field with an id, and the one with a name that stands for it in files.
struct Reference {
    id: &'static str,
    name: &'static str,
}

const CONNECTION: Reference = Reference { id: "connection_id", name: "connection" };
const AGENT: Reference = Reference { id: "inbound_agent_id", name: "agent" };

impl Names {
    /// Puts the id in the place of the name in `fields`; a nil one if there is no such name, for later checks to pass over.
    fn resolve(&self, fields: &mut Map<String, Value>, field: &Reference, place: &Place, problems: &mut Vec<Problem>) {
        if fields.remove(field.id).is_some() {
            let words = format!("is not for files: write {} and the name of the {}", field.name, self.word);
            problems.push(place.below(field.id).problem(words));
        }
        let id = match fields.remove(field.name) {
            None | Some(Value::Null) => return,
            Some(Value::String(name)) => self.find(&name),
            Some(_) => Err(format!("must be the name of a {}, in quotes", self.word)),
        };
        let id = id.unwrap_or_else(|words| {
            problems.push(place.below(field.name).problem(words));
            Uuid::nil()
        });
        fields.insert(field.id.to_owned(), id.to_string().into());
    }

    fn find(&self, name: &str) -> Result<Uuid, String> {
        let missing = || match alike(name, self.ids.keys().map(String::as_str)) {
            Some(near) => format!("there is no {} {name:?}; did you mean {near:?}?", self.word),
            None => format!("there is no {} {name:?}", self.word),
        };
        self.ids.get(name).copied().ok_or_else(missing)
    }
}

/// Puts ids in the place of the names in an agent.
pub(super) fn resolve_agent(
    fields: &mut Map<String, Value>,
    connections: &Names,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    each_choice(fields, &mut |path, choice| connections.resolve(choice, &CONNECTION, &place.below(path), problems));
}

/// Puts ids in the place of the names in a number.
pub(super) fn resolve_number(
    fields: &mut Map<String, Value>,
    connections: &Names,
    agents: &Names,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    connections.resolve(fields, &CONNECTION, place, problems);
    agents.resolve(fields, &AGENT, place, problems);
}

/// An agent's fields. Its numbers are those that people have written: 0.7, and not the nearest of a wider type.
pub(super) fn as_json(config: &AgentConfig) -> Map<String, Value> {
    let json = serde_json::to_vec(config).and_then(|json| serde_json::from_slice(&json));
    json.expect("an agent is a JSON object")
}

/// Puts names in the place of the ids in an agent.
pub(super) fn name_connections(fields: &mut Map<String, Value>, names: &HashMap<Uuid, String>) {
    each_choice(fields, &mut |_, choice| {
        let Some(id) = choice.remove(CONNECTION.id) else { return };
        let name = id.as_str().and_then(|id| names.get(&id.parse().ok()?));
        choice.insert(CONNECTION.name.to_owned(), name.map_or(id.clone(), |name| name.as_str().into()));
    });
}

/// Calls `each` with everything in an agent that can have a connection.
fn each_choice(agent: &mut Map<String, Value>, each: &mut dyn FnMut(&str, &mut Map<String, Value>)) {
    for part in ["stt", "llm", "tts", "realtime"] {
        let Some(Value::Object(choice)) = agent.get_mut(part) else { continue };
        each(part, choice);
        each_of(choice.get_mut("fallbacks"), &format!("{part}.fallbacks"), each);
    }
    each_of(agent.get_mut("tools"), "tools", each);
}

fn each_of(list: Option<&mut Value>, path: &str, each: &mut dyn FnMut(&str, &mut Map<String, Value>)) {
    for (at, item) in list.and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        if let Value::Object(item) = item {
            each(&format!("{path}.{at}"), item);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> Names {
        let ids = [("OpenAI", 1), ("Deepgram", 2)];
        Names { word: "connection", ids: ids.map(|(name, id)| (name.to_owned(), Uuid::from_u128(id))).into() }
    }

    fn agent() -> Map<String, Value> {
        let agent = json!({
            "instructions": "x", "llm": { "connection": "OpenAI", "fallbacks": [{ "connection": "OpenAI" }] },
            "stt": { "connection": "Deepgram" }, "tts": { "connection": null }, "realtime": { "connection": "OpenAI" },
            "tools": [{ "type": "end_call" }, { "type": "mcp", "url": "https://example.com", "connection": "Deepgram" }],
        });
        agent.as_object().expect("an object").clone()
    }

    #[test]
    fn names_become_ids_and_names_again() {
        let mut fields = agent();
        let mut problems = Vec::new();
        resolve_agent(&mut fields, &names(), &Place::file("a.yaml"), &mut problems);
        assert_eq!(problems, []);
        let config: AgentConfig = serde_json::from_value(fields.clone().into()).expect("an agent");
        let ids: Vec<u128> = config.connections().iter().map(|(_, id)| id.uuid().as_u128()).collect();
        assert_eq!(ids, [2, 1, 1, 1, 2]);
        let by_id = names().ids.into_iter().map(|(name, id)| (id, name)).collect();
        name_connections(&mut fields, &by_id);
        let mut expected = agent();
        expected["tts"] = json!({});
        assert_eq!(fields, expected);
    }

    #[test]
    fn a_name_that_does_not_exist_is_told_with_the_nearest() {
        let mut fields = agent();
        fields["llm"] = json!({ "connection": "OpenAi", "fallbacks": [{ "connection": 7 }, { "connection_id": "x" }] });
        fields["stt"] = json!({ "connection": "Whisper" });
        let mut problems = Vec::new();
        resolve_agent(&mut fields, &names(), &Place::file("a.yaml"), &mut problems);
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "a.yaml: stt.connection: there is no connection \"Whisper\"",
            "a.yaml: llm.connection: there is no connection \"OpenAi\"; did you mean \"OpenAI\"?",
            "a.yaml: llm.fallbacks.0.connection: must be the name of a connection, in quotes",
            "a.yaml: llm.fallbacks.1.connection_id: is not for files: write connection and the name of the connection",
        ];
        assert_eq!(texts, expected);
        assert_eq!(fields["stt"]["connection_id"], Uuid::nil().to_string());
    }
}
