//! The first files of an agent.

use std::path::Path;

use serde_json::{Value, json};

use super::document::Kind;
use super::{export, files, yaml};

/// Hosted language models, by provider, with the variable that holds the key.
pub const HOSTED: [(&str, &str); 3] =
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY")];

/// A language model of a hosted provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedModel {
    /// The provider, which is also the name of its connection.
    pub provider: &'static str,
    /// The variable that holds the key.
    pub variable: &'static str,
    /// The provider's model name; its usual one if absent.
    pub model: Option<String>,
}

impl HostedModel {
    /// Reads `openai` or `openai/gpt-5-mini`; `None` if there is no such provider.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.split_once('/').map_or((text, None), |(provider, model)| (provider, Some(model)));
        let (provider, variable) = HOSTED.into_iter().find(|(name, _)| *name == provider)?;
        let model = model.map(str::trim);
        (model != Some("")).then(|| Self { provider, variable, model: model.map(str::to_owned) })
    }

    /// Returns the file of its connection: the name and the text.
    #[must_use]
    pub fn connection(&self) -> (String, String) {
        let connection = json!({
            "name": self.provider,
            "provider": self.provider,
            "credentials": { "api_key": format!("${{{}}}", self.variable) },
        });
        let text = yaml::write(&json!({ Kind::Connection.list(): [connection] }));
        (format!("connection-{}.yaml", self.provider), text)
    }

    /// Whether a document in this folder describes its connection.
    #[must_use]
    pub fn is_described(&self, folder: &Path) -> bool {
        let found = files::find(&[folder.to_owned()]).unwrap_or_default();
        let documents = found.iter().filter_map(|path| files::read(path).ok());
        let lists = documents.map(|document| document.content[Kind::Connection.list()].clone());
        lists.flat_map(|list| list.as_array().cloned().unwrap_or_default()).any(|entry| entry["name"] == self.provider)
    }
}

/// Returns the file of an agent: the name and the text.
#[must_use]
pub fn agent(name: &str, instructions: &str, model: Option<&HostedModel>) -> (String, String) {
    let mut agent = json!({ "name": name, "instructions": instructions });
    if let Some(model) = model {
        agent["llm"] = json!({ "connection": model.provider });
        if let Some(model) = &model.model {
            agent["llm"]["model"] = Value::from(model.as_str());
        }
    }
    let stem = export::file_name(name);
    let stem = if stem.is_empty() { "agent".to_owned() } else { stem };
    (format!("{stem}.yaml"), yaml::write(&json!({ Kind::Agent.list(): [agent] })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_provider_and_model() {
        let model = |text: &str| HostedModel::parse(text).map(|model| (model.provider, model.variable, model.model));
        assert_eq!(model("openai"), Some(("openai", "OPENAI_API_KEY", None)));
        assert_eq!(model("gemini/a/b"), Some(("gemini", "GEMINI_API_KEY", Some("a/b".to_owned()))));
        assert_eq!((model("opnai"), model("openai/"), model("")), (None, None, None));
    }

    #[test]
    fn an_agent_is_written_as_it_is_read() {
        let instructions = "You say: \"no\" to #1 & #2.\nAnd: ${HOME}";
        let (file, text) = agent("Zahnarzt Müller", instructions, HostedModel::parse("openai/gpt-5-mini").as_ref());
        assert_eq!(file, "zahnarzt-müller.yaml");
        let read = yaml::parse(&text).expect("YAML");
        let llm = json!({ "connection": "openai", "model": "gpt-5-mini" });
        let expected = json!({ "name": "Zahnarzt Müller", "instructions": instructions, "llm": llm });
        assert_eq!(read, json!({ "agents": [expected] }));
        assert_eq!(agent("…", "x", None).0, "agent.yaml");
    }
}
