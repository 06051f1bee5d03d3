//! Entries of documents: one for each resource.

use std::path::Path;

use serde_json::{Map, Value};

use super::files::{Document, read_instructions};
use super::problem::{Place, Problem};
use crate::http::unknown_query::alike;

/// How variables of the service begin.
const OF_SERVICE: &str = "SWITCHHOOK_";

/// The kind of resource that an entry describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A connection.
    Connection,
    /// An agent.
    Agent,
    /// A phone number.
    Number,
    /// A webhook endpoint.
    Webhook,
}

impl Kind {
    /// All, in an order in which each refers to earlier ones only.
    pub const ALL: [Self; 4] = [Self::Connection, Self::Agent, Self::Number, Self::Webhook];

    /// Its name in sentences.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Agent => "agent",
            Self::Number => "number",
            Self::Webhook => "webhook",
        }
    }

    /// Its list in a document.
    #[must_use]
    pub const fn list(self) -> &'static str {
        match self {
            Self::Connection => "connections",
            Self::Agent => "agents",
            Self::Number => "numbers",
            Self::Webhook => "webhooks",
        }
    }
}

/// A thing that a document describes.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) kind: Kind,
    /// Its fields, with the values of variables and the instructions of files.
    pub(super) fields: Map<String, Value>,
    /// Credentials whose variables are not set; they are not in `fields`.
    pub(super) unset: Vec<Unset>,
}

/// A credential whose variable is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unset {
    pub(super) credential: String,
    pub(super) variable: String,
}

impl Entry {
    /// A field that is text.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}

/// The content of documents.
#[derive(Default)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    pub(super) problems: Vec<Problem>,
    /// Secrets that stand in files.
    pub(super) warnings: Vec<Problem>,
}

/// Reads variables of the environment.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Found {
    /// Adds what a document describes.
    pub(super) fn add(&mut self, document: Document, environment: Environment<'_>) {
        let Document { place, folder, content } = document;
        let lists = match content {
            Value::Null => return,
            Value::Object(lists) => lists,
            _ => {
                return self
                    .problems
                    .push(place.problem("must be an object with connections, agents, numbers or webhooks"));
            }
        };
        for (name, list) in lists {
            let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.list() == name) else {
                let near = alike(&name, Kind::ALL.iter().map(|kind| kind.list()));
                self.problems.push(place.below(&name).problem(unknown(near)));
                continue;
            };
            let entries = match list {
                Value::Null => continue,
                Value::Array(entries) => entries,
                _ => {
                    self.problems.push(place.below(&name).problem("must be a list"));
                    continue;
                }
            };
            for (at, value) in entries.into_iter().enumerate() {
                let place = place.below(&format!("{name}[{at}]"));
                let entry = self.entry(place, kind, value, &folder, environment);
                self.entries.extend(entry);
            }
        }
    }

    fn entry(
        &mut self,
        place: Place,
        kind: Kind,
        value: Value,
        folder: &Path,
        environment: Environment<'_>,
    ) -> Option<Entry> {
        if has_nul(&value) {
            self.problems.push(place.problem("must not contain the character U+0000"));
            return None;
        }
        let Value::Object(fields) = value else {
            self.problems.push(place.problem("must be an object"));
            return None;
        };
        self.warn_of_variables(&place, &fields);
        let mut entry = Entry { place, kind, fields, unset: Vec::new() };
        match kind {
            Kind::Connection => self.read_credentials(&mut entry, environment),
            Kind::Agent => self.read_instructions(&mut entry, folder),
            Kind::Number | Kind::Webhook => {}
        }
        Some(entry)
    }

    /// Warns of variables where none is read: a tool's server would be sent `Bearer ${TOKEN}`.
    fn warn_of_variables(&mut self, place: &Place, fields: &Map<String, Value>) {
        let mut found = Vec::new();
        for (name, value) in fields.iter().filter(|(name, _)| *name != "credentials") {
            list_variables(value, name, &mut found);
        }
        let warning = |(path, variable): (String, String)| {
            place.below(&path).problem(format!(
                "has ${{{variable}}}, which stays as it is: variables are read only in credentials of connections"
            ))
        };
        self.warnings.extend(found.into_iter().map(warning));
    }

    fn read_instructions(&mut self, entry: &mut Entry, folder: &Path) {
        let Some(named) = entry.fields.remove("instructions_file").filter(|named| !named.is_null()) else { return };
        let place = entry.place.below("instructions_file");
        // In the place of what cannot be read, so that it is not missed, too.
        let mut instructions = "?".to_owned();
        if entry.fields.get("instructions").is_some_and(|text| !text.is_null()) {
            self.problems.push(place.problem("must not be there beside instructions"));
        } else if let Value::String(name) = named {
            match read_instructions(folder, &name) {
                Ok(text) if text.contains('\0') => {
                    self.problems.push(place.problem("must not contain the character U+0000"));
                }
                Ok(text) => instructions = text,
                Err(words) => self.problems.push(place.problem(words)),
            }
        } else {
            self.problems.push(place.problem("must be the path of a file, relative to this one"));
        }
        entry.fields.insert("instructions".to_owned(), instructions.into());
    }

    fn read_credentials(&mut self, entry: &mut Entry, environment: Environment<'_>) {
        let Some(Value::Object(credentials)) = entry.fields.get_mut("credentials") else { return };
        let mut unset = Vec::new();
        for (name, value) in credentials.iter_mut() {
            let Value::String(text) = value else { continue };
            let place = entry.place.below(&format!("credentials.{name}"));
            match placeholder(text) {
                Written::Variable(variable) => match environment(variable) {
                    Some(secret) => *text = secret,
                    None => unset.push(Unset { credential: name.clone(), variable: variable.to_owned() }),
                },
                Written::Setting => {
                    self.problems.push(place.problem("must not be a setting of the service: choose another variable"));
                }
                Written::Mixed => {
                    self.problems.push(place.problem("must be a variable, such as ${API_KEY}, and nothing else"));
                }
                Written::Literal if text.is_empty() => {}
                Written::Literal => {
                    let words =
                        "is a secret in a file: put it into an environment variable, and write ${NAME} with its name";
                    self.warnings.push(place.problem(words));
                }
            }
        }
        unset.iter().for_each(|unset| drop(credentials.remove(&unset.credential)));
        entry.unset = unset;
    }
}

/// Returns the message about a field that does not exist.
pub(super) fn unknown(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("is unknown; did you mean {near}?"),
        None => "is unknown".to_owned(),
    }
}

enum Written<'t> {
    Variable(&'t str),
    /// A variable of the service, such as its master key.
    Setting,
    /// A variable within a text.
    Mixed,
    Literal,
}

fn placeholder(text: &str) -> Written<'_> {
    match at_variable(text) {
        Some(("", name, "")) if name.starts_with(OF_SERVICE) => Written::Setting,
        Some(("", name, "")) => Written::Variable(name),
        Some(_) => Written::Mixed,
        None => Written::Literal,
    }
}

/// Splits a text at its first `${`: the text before it, the name of the variable, and the text behind it.
fn at_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    is_name.then_some((before, name, after))
}

/// Lists the texts in a value that name a variable: their paths, and the names.
fn list_variables(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => {
            found.extend(at_variable(text).map(|(_, name, _)| (path.to_owned(), name.to_owned())));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| list_variables(item, &format!("{path}[{at}]"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| list_variables(value, &format!("{path}.{name}"), found));
        }
        _ => {}
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(content: Value) -> Found {
        let environment = |name: &str| (name == "SET").then(|| "the secret".to_owned());
        let mut found = Found::default();
        found.add(Document { place: Place::file("a.yaml"), folder: "/nowhere".into(), content }, &environment);
        found
    }

    fn texts(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_in_no_list_is_refused_with_what_was_meant() {
        for (content, words) in [
            (json!({ "agent": [] }), "a.yaml: agent: is unknown; did you mean agents?"),
            (json!({ "colour": 1 }), "a.yaml: colour: is unknown"),
            (json!({ "agents": { "name": "x" } }), "a.yaml: agents: must be a list"),
            (json!({ "numbers": ["+12025550100"] }), "a.yaml: numbers[0]: must be an object"),
            (json!(["x"]), "a.yaml: must be an object with connections, agents, numbers or webhooks"),
            (json!({ "agents": [{ "name": "a\0" }] }), "a.yaml: agents[0]: must not contain the character U+0000"),
        ] {
            assert_eq!(texts(&found(content).problems), [words]);
        }
        assert!(found(json!({ "agents": null })).entries.is_empty());
        assert!(found(Value::Null).problems.is_empty());
    }

    #[test]
    fn credentials_come_from_the_environment() {
        let credentials = json!({ "a": "${SET}", "b": "${NOT_SET}", "c": "literal", "d": "Bearer ${SET}", "e": "${", "f": "${1}", "g": "${SWITCHHOOK_MASTER_KEY}" });
        let found = found(json!({ "connections": [{ "name": "x", "credentials": credentials }] }));
        let entry = &found.entries[0];
        assert_eq!(entry.fields["credentials"]["a"], "the secret");
        assert!(entry.fields["credentials"].get("b").is_none());
        assert_eq!(entry.unset, [Unset { credential: "b".to_owned(), variable: "NOT_SET".to_owned() }]);
        let mixed = "a.yaml: connections[0].credentials.d: must be a variable, such as ${API_KEY}, and nothing else";
        let setting =
            "a.yaml: connections[0].credentials.g: must not be a setting of the service: choose another variable";
        assert_eq!(texts(&found.problems), [mixed, setting]);
        let warned = texts(&found.warnings);
        assert_eq!(warned.len(), 3, "{warned:?}");
        assert!(warned.iter().all(|words| !words.contains("literal") && words.contains("environment")), "{warned:?}");
    }

    #[test]
    fn variables_that_are_not_read_are_named() {
        let tools =
            json!([{ "type": "http", "headers": { "Authorization": "Bearer ${CRM_TOKEN}", "X": "$5 {x} ${1}" } }]);
        let found = found(json!({
            "connections": [{ "settings": { "model": "${MODEL}" }, "credentials": { "api_key": "${SET}" } }],
            "agents": [{ "tools": tools }],
        }));
        let words = "which stays as it is: variables are read only in credentials of connections";
        let expected = [
            format!("a.yaml: agents[0].tools[0].headers.Authorization: has ${{CRM_TOKEN}}, {words}"),
            format!("a.yaml: connections[0].settings.model: has ${{MODEL}}, {words}"),
        ];
        let mut warned = texts(&found.warnings);
        warned.sort();
        assert_eq!(warned, expected);
        assert!(found.problems.is_empty() && found.entries.len() == 2);
    }

    #[test]
    fn instructions_are_in_the_document_or_in_a_file() {
        for (agent, words) in [
            (json!({ "instructions": "x", "instructions_file": "y.md" }), "must not be there beside instructions"),
            (json!({ "instructions_file": 7 }), "must be the path of a file, relative to this one"),
            (json!({ "instructions_file": "missing.md" }), "\"missing.md\" cannot be read"),
        ] {
            let problems = texts(&found(json!({ "agents": [agent] })).problems);
            assert!(problems[0].starts_with("a.yaml: agents[0].instructions_file: "), "{problems:?}");
            assert!(problems.len() == 1 && problems[0].contains(words), "{problems:?}");
        }
    }
}
