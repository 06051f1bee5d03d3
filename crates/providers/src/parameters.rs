//! `settings.stt_parameters` and `settings.tts_parameters`: additional parameters, passed to the provider as they are.

use serde_json::{Map, Value};

use super::adapter_config::AdapterConfig;

/// STT parameters that settings must not override: the audio encoding.
const OF_RECOGNISERS: [&str; 4] = ["audio_format", "encoding", "file", "sample_rate"];
/// TTS parameters that settings must not override: the audio encoding and the text to speak.
const OF_VOICES: [&str; 11] = [
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

/// The parameters of a connection. `null` removes a parameter that would be sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters(Map<String, Value>);

impl Parameters {
    /// Reads the STT parameters.
    ///
    /// # Errors
    /// A sentence when they are not an object, or override what they must not.
    pub(crate) fn of_recogniser(config: &AdapterConfig<'_>) -> Result<Self, String> {
        Self::read(config, "stt_parameters", &OF_RECOGNISERS)
    }

    /// Reads the TTS parameters.
    ///
    /// # Errors
    /// As [`Parameters::of_recogniser`].
    pub(crate) fn of_voices(config: &AdapterConfig<'_>) -> Result<Self, String> {
        Self::read(config, "tts_parameters", &OF_VOICES)
    }

    fn read(config: &AdapterConfig<'_>, name: &str, ours: &[&str]) -> Result<Self, String> {
        let parameters = match config.settings.get(name) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(parameters)) => parameters.clone(),
            Some(_) => return Err(format!("settings.{name} must be an object of the provider's own parameters.")),
        };
        match ours.iter().find(|ours| parameters.contains_key(**ours)) {
            Some(ours) => Err(format!("settings.{name} must not contain {ours}.")),
            None => Ok(Self(parameters)),
        }
    }

    /// Returns the parameter with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Adds them to a query or a form: a list adds several values, an object is written as JSON.
    pub(crate) fn in_query<'a>(&'a self, mut query: Vec<(&'a str, String)>) -> Vec<(&'a str, String)> {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        for (name, value) in &self.0 {
            query.retain(|(other, _)| other != name);
            match value {
                Value::Null => {}
                Value::Array(values) => query.extend(values.iter().map(|value| (name.as_str(), plain(value)))),
                value => query.push((name, plain(value))),
            }
        }
        query
    }

    /// Adds them to `body`.
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

    /// Splits them into those for a query and those for a body, where a provider uses both: objects and lists go into the body.
    pub(crate) fn apart(&self) -> (Self, Self) {
        let (structures, plain) =
            self.0.clone().into_iter().partition(|(_, value)| value.is_object() || value.is_array());
        (Self(plain), Self(structures))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_replace_add_and_take_away() {
        let parameters = json!({ "model": "b", "tag": ["x", 2], "language": null, "extra": { "a": 1 } });
        let parameters = Parameters(parameters.as_object().cloned().unwrap_or_default());
        let ours = || vec![("model", "a".to_owned()), ("language", "en".to_owned()), ("punctuate", "true".to_owned())];
        let mut query = parameters.in_query(ours());
        query.sort();
        let sent = [("extra", "{\"a\":1}"), ("model", "b"), ("punctuate", "true"), ("tag", "2"), ("tag", "x")];
        assert_eq!(query, sent.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(
            parameters.in_body(json!({ "model": "a", "language": "en", "n": 1 })),
            json!({ "model": "b", "n": 1, "tag": ["x", 2], "extra": { "a": 1 } })
        );
        let (plain, structures) = parameters.apart();
        assert_eq!(plain.in_query(Vec::new()), [("model", "b".to_owned())]);
        assert_eq!(structures.in_body(json!({})), json!({ "tag": ["x", 2], "extra": { "a": 1 } }));
    }
}
