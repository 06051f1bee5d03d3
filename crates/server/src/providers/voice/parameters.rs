//! `settings.tts_parameters`: more for the provider, in its own words.

use serde_json::{Map, Value};

use crate::providers::connect::Connect;

/// What says which words are spoken and how their sound comes is not for settings to say.
const OWN: [&str; 11] = [
    "container",
    "context_id",
    "continue",
    "encoding",
    "input",
    "output_format",
    "response_format",
    "sample_rate",
    "stream_format",
    "text",
    "transcript",
];

/// The parameters of a connection. `null` takes away what would be sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters(Map<String, Value>);

impl Parameters {
    /// Reads them.
    ///
    /// # Errors
    /// A sentence when they are no object or say what is not for them to say.
    pub(crate) fn read(connect: &Connect<'_>) -> Result<Self, String> {
        let parameters = match connect.settings.get("tts_parameters") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(parameters)) => parameters.clone(),
            Some(_) => {
                return Err("settings.tts_parameters must be an object of the provider's own parameters.".to_owned());
            }
        };
        match OWN.iter().find(|own| parameters.contains_key(**own)) {
            Some(own) => Err(format!("settings.tts_parameters must not contain {own}.")),
            None => Ok(Self(parameters)),
        }
    }

    /// A query with those that fit into one: texts, numbers and truths.
    pub(crate) fn in_query<'a>(&'a self, mut query: Vec<(&'a str, String)>) -> Vec<(&'a str, String)> {
        for (name, value) in &self.0 {
            query.retain(|(other, _)| other != name);
            match value {
                Value::Null | Value::Object(_) | Value::Array(_) => {}
                Value::String(text) => query.push((name, text.clone())),
                plain => query.push((name, plain.to_string())),
            }
        }
        query
    }

    /// Those that do not.
    pub(crate) fn structures(&self) -> Self {
        let structures = self.0.iter().filter(|(_, value)| value.is_object() || value.is_array());
        Self(structures.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// `body` with all of them.
    pub(crate) fn in_body(&self, mut body: Value) -> Value {
        if let Value::Object(fields) = &mut body {
            for (name, value) in &self.0 {
                match value {
                    Value::Null => drop(fields.remove(name)),
                    value => drop(fields.insert(name.clone(), value.clone())),
                }
            }
        }
        body
    }
}
