//! The first files of an agent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::Kind;
use super::{export, files, yaml};
use crate::language_models::{HOSTED, LOCAL};

/// The agents of `templates/`, by id, as files for `apply`. Their first line has a title and a description.
const TEMPLATES: [(&str, &str); 10] = [
    ("reception", include_str!("../../../../templates/reception.yaml")),
    ("appointments", include_str!("../../../../templates/appointments.yaml")),
    ("restaurant", include_str!("../../../../templates/restaurant.yaml")),
    ("support", include_str!("../../../../templates/support.yaml")),
    ("after-hours", include_str!("../../../../templates/after-hours.yaml")),
    ("reminder", include_str!("../../../../templates/reminder.yaml")),
    ("delivery", include_str!("../../../../templates/delivery.yaml")),
    ("survey", include_str!("../../../../templates/survey.yaml")),
    ("leads", include_str!("../../../../templates/leads.yaml")),
    ("invoice", include_str!("../../../../templates/invoice.yaml")),
];

/// Returns the ids of all templates, each with its title and description.
pub fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEMPLATES.into_iter().map(|(id, text)| (id, text.lines().next().unwrap_or_default().trim_start_matches("# ")))
}

/// Returns the agent of a template.
#[must_use]
pub fn template(id: &str) -> Option<Value> {
    let (_, text) = TEMPLATES.into_iter().find(|(known, _)| *known == id)?;
    yaml::parse(text).ok()?.pointer("/agents/0").cloned()
}

/// The language model of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterModel {
    /// The name of its connection.
    pub name: &'static str,
    /// The adapter.
    pub provider: &'static str,
    /// The variable that holds the key, if it requires one.
    pub variable: Option<&'static str>,
    /// Its server, if it is not the adapter's own.
    pub base_url: Option<&'static str>,
    /// The connection's model, if it is not the adapter's default.
    default: Option<&'static str>,
    /// The agent's model.
    pub model: Option<String>,
}

impl StarterModel {
    /// Reads `openai`, `openai/gpt-5-mini` or `ollama/qwen2.5:7b`; `None` if there is no such provider or server.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, model) = text.split_once('/').map_or((text, None), |(name, model)| (name, Some(model.trim())));
        if model == Some("") {
            return None;
        }
        let model = model.map(str::to_owned);
        if let Some(hosted) = HOSTED.iter().find(|hosted| hosted.name == name) {
            let (base_url, default) = hosted.server.unzip();
            let (name, provider, variable) = (hosted.name, hosted.provider, Some(hosted.variable));
            return Some(Self { name, provider, variable, base_url, default, model });
        }
        let local = LOCAL.iter().find(|local| local.name == name)?;
        let (name, base_url) = (local.name, Some(local.url));
        Some(Self { name, provider: "openai", variable: None, base_url, default: None, model })
    }

    /// Returns whether a connection in a file is to this provider or server.
    fn is_connected_by(&self, connection: &Value) -> bool {
        connection["provider"] == self.provider && connection["settings"]["base_url"].as_str() == self.base_url
    }

    /// Returns its connection. A server other than the adapter's need not have OpenAI's other APIs.
    fn connection(&self, name: &str) -> Value {
        let mut connection = json!({ "name": name, "provider": self.provider });
        if let Some(url) = self.base_url {
            connection["settings"] = json!({ "base_url": url, "kinds": ["llm"] });
        }
        if let Some(model) = self.default {
            connection["settings"]["model"] = model.into();
        }
        if let Some(variable) = self.variable {
            connection["credentials"] = json!({ "api_key": format!("${{{variable}}}") });
        }
        connection
    }
}

/// A file to write.
#[derive(Debug, PartialEq, Eq)]
pub struct StarterFile {
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

/// Documents that a folder has.
#[derive(Debug, Default)]
pub struct Folder {
    path: PathBuf,
    agents: Vec<(PathBuf, Value)>,
    connections: Vec<Value>,
}

impl Folder {
    /// Reads the folder, which may be missing.
    ///
    /// # Errors
    /// A message naming the file that cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut folder = Self { path: path.to_owned(), ..Self::default() };
        if !path.try_exists().map_err(|error| format!("{} cannot be read: {error}", path.display()))? {
            return Ok(folder);
        }
        let found = files::inside(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        for file in found {
            let mut content = files::read(&file).map_err(|problem| problem.to_string())?.content;
            // `apply` refuses a file that is not an object.
            let mut entries = |kind: Kind| match content.get_mut(kind.list()).map(Value::take) {
                Some(Value::Array(entries)) => entries,
                _ => Vec::new(),
            };
            folder.connections.extend(entries(Kind::Connection));
            folder.agents.extend(entries(Kind::Agent).into_iter().map(|agent| (file.clone(), agent)));
        }
        Ok(folder)
    }

    /// Returns the files of an agent and, unless the folder has a connection to its model's server, of that connection.
    ///
    /// # Errors
    /// A message if the folder describes an agent with this name in another file.
    pub fn files_of(&self, mut agent: Value, model: Option<&StarterModel>) -> Result<Vec<StarterFile>, String> {
        let name = agent["name"].as_str().unwrap_or_default();
        let file = self.path.join(file_name(name));
        if let Some((other, _)) = self.agents.iter().find(|(path, known)| known["name"] == name && *path != file) {
            return Err(format!("{} already describes an agent named {name:?}", other.display()));
        }
        let mut connection = None;
        if let Some(model) = model {
            let used = self.connections.iter().find(|entry| model.is_connected_by(entry));
            let used = used.and_then(|entry| entry["name"].as_str());
            let used = used.map_or_else(|| self.add_connection(model, &mut connection), str::to_owned);
            agent["llm"] = json!({ "connection": used });
            if let Some(model) = &model.model {
                agent["llm"]["model"] = Value::from(model.as_str());
            }
        }
        let text = yaml::write(&json!({ Kind::Agent.list(): [agent] }));
        Ok([StarterFile { path: file, text }].into_iter().chain(connection).collect())
    }

    /// Puts the file of a new connection to a model into `file`; returns the connection's name.
    fn add_connection(&self, model: &StarterModel, file: &mut Option<StarterFile>) -> String {
        let mut taken: BTreeSet<_> =
            self.connections.iter().filter_map(|entry| entry["name"].as_str()).map(str::to_owned).collect();
        let name = export::unused(model.name, "-", &mut taken);
        let connection = model.connection(&name);
        let path = self.path.join(format!("connection-{name}.yaml"));
        *file = Some(StarterFile { path, text: yaml::write(&json!({ Kind::Connection.list(): [connection] })) });
        name
    }
}

/// Returns the name of an agent's file, which is never that of a connection's.
fn file_name(agent: &str) -> String {
    match export::file_name(agent).as_str() {
        "" => "agent.yaml".to_owned(),
        name if name.starts_with("connection-") => format!("agent-{name}.yaml"),
        name => format!("{name}.yaml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(documents: &[(&str, &str)]) -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in documents {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let read = Folder::read(folder.path()).expect("readable");
        (folder, read)
    }

    /// The names of the files, and the connection that the agent uses.
    fn written(folder: &Folder, name: &str, model: &str) -> (Vec<String>, Value) {
        let agent = json!({ "name": name, "instructions": "x" });
        let files = folder.files_of(agent, StarterModel::parse(model).as_ref()).expect("no such agent");
        let agent = yaml::parse(&files[0].text).expect("YAML");
        let name = |file: StarterFile| file.path.file_name().expect("a name").to_string_lossy().into_owned();
        (files.into_iter().map(name).collect(), agent["agents"][0]["llm"]["connection"].clone())
    }

    #[test]
    fn a_file_that_is_no_object_does_not_stop_a_new_agent() {
        for text in ["- a: 1\n", "text\n", "7\n"] {
            let (_place, folder) = folder(&[("other.yaml", text)]);
            assert_eq!(written(&folder, "Ava", "openai").0[0], "ava.yaml", "{text}");
        }
    }

    #[test]
    fn every_template_has_a_title_and_an_agent() {
        for (id, about) in templates() {
            let agent = template(id).unwrap_or_else(|| panic!("{id} has no agent"));
            assert!(about.contains(": ") && agent["instructions"].is_string(), "{id}: {about}");
        }
        assert_eq!(template("nonsense"), None);
    }

    #[test]
    fn models_are_named_by_provider_and_model() {
        let model = |text: &str| StarterModel::parse(text).map(|model| (model.provider, model.variable, model.model));
        assert_eq!(model("openai"), Some(("openai", Some("OPENAI_API_KEY"), None)));
        assert_eq!(model("gemini/a/b"), Some(("gemini", Some("GEMINI_API_KEY"), Some("a/b".to_owned()))));
        assert_eq!(model("ollama/qwen2.5:7b"), Some(("openai", None, Some("qwen2.5:7b".to_owned()))));
        assert_eq!((model("opnai"), model("openai/"), model("")), (None, None, None));
    }

    #[test]
    fn everything_that_dev_connects_can_be_written() {
        for name in HOSTED.iter().map(|hosted| hosted.name).chain(LOCAL.iter().map(|local| local.name)) {
            let (files, connection) = written(&Folder::default(), "Ava", name);
            assert_eq!((files[1].clone(), connection), (format!("connection-{name}.yaml"), json!(name)));
        }
        let files = |name: &str| {
            let files = Folder::default().files_of(json!({ "name": "Ava" }), StarterModel::parse(name).as_ref());
            yaml::parse(&files.expect("a new agent")[1].text).expect("YAML")["connections"][0].clone()
        };
        assert_eq!(
            files("groq"),
            json!({
                "name": "groq", "provider": "openai", "credentials": { "api_key": "${GROQ_API_KEY}" },
                "settings": { "base_url": "https://api.groq.com/openai/v1", "kinds": ["llm"], "model": "openai/gpt-oss-120b" },
            })
        );
        let settings = json!({ "base_url": "http://127.0.0.1:1234/v1", "kinds": ["llm"] });
        assert_eq!(files("lm-studio"), json!({ "name": "lm-studio", "provider": "openai", "settings": settings }));
    }

    #[test]
    fn a_connection_of_the_same_adapter_to_another_server_is_not_shared() {
        let (_kept, folder) = folder(&[("a.yaml", "connections:\n  - name: OpenAI\n    provider: openai\n")]);
        assert_eq!(written(&folder, "Ava", "groq").1, json!("groq"));
    }

    #[test]
    fn an_agent_is_read_as_it_was_written() {
        let instructions = "You say: \"no\" to #1 & #2.\nAnd: ${HOME}";
        let model = StarterModel::parse("openai/gpt-5-mini");
        let agent = json!({ "name": "Zahnarzt Müller", "instructions": instructions });
        let files = Folder::default().files_of(agent, model.as_ref()).expect("a new agent");
        assert_eq!(files[0].path, Path::new("zahnarzt-müller.yaml"));
        let llm = json!({ "connection": "openai", "model": "gpt-5-mini" });
        let expected = json!({ "name": "Zahnarzt Müller", "instructions": instructions, "llm": llm });
        assert_eq!(yaml::parse(&files[0].text), Ok(json!({ "agents": [expected] })));
        assert_eq!(files[1].path, Path::new("connection-openai.yaml"));
    }

    #[test]
    fn a_connection_to_the_same_provider_is_shared_whatever_its_name() {
        let (_kept, folder) = folder(&[("all.toml", "[[connections]]\nname = \"Our model\"\nprovider = \"openai\"\n")]);
        assert_eq!(written(&folder, "Ava", "openai"), (vec!["ava.yaml".to_owned()], json!("Our model")));
    }

    #[test]
    fn a_connection_gets_an_unused_name() {
        let (_kept, folder) = folder(&[("a.yaml", "connections:\n  - name: openai\n    provider: deepgram\n")]);
        let files = ["ava.yaml", "connection-openai-2.yaml"].map(str::to_owned).to_vec();
        assert_eq!(written(&folder, "Ava", "openai"), (files, json!("openai-2")));
    }

    #[test]
    fn files_of_an_agent_and_its_connection_differ() {
        for (agent, file) in [("Connection OpenAI", "agent-connection-openai.yaml"), ("…", "agent.yaml")] {
            let expected = vec![file.to_owned(), "connection-openai.yaml".to_owned()];
            assert_eq!(written(&Folder::default(), agent, "openai").0, expected);
        }
    }

    #[test]
    fn an_agent_of_another_file_is_not_described_twice() {
        let (_kept, folder) = folder(&[("all.yaml", "agents:\n  - name: Ava\n    instructions: x\n")]);
        let error = folder.files_of(json!({ "name": "Ava" }), None).expect_err("it exists");
        assert!(error.ends_with("all.yaml already describes an agent named \"Ava\""), "{error}");
    }

    #[test]
    fn a_document_that_cannot_be_read_is_named() {
        let kept = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(kept.path().join("odd.yaml"), "agents: [").expect("written");
        let error = Folder::read(kept.path()).expect_err("no YAML");
        assert!(error.contains("odd.yaml"), "{error}");
    }
}
