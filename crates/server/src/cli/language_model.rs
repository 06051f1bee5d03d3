//! The language model that `switchhook dev` connects, so that the first agent of one's own follows its instructions: a named server, a key
//! of the environment, a server on this machine, or what somebody types.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::Value;
use switchhook_core::private::Private;

use super::{CliError, output};
use crate::operator::LanguageModel;

/// How long a server on this machine has to list its models.
const PROBE: Duration = Duration::from_millis(500);
/// Providers by the variable that holds their key.
const KEYS: [(&str, &str); 3] =
    [("OPENAI_API_KEY", "openai"), ("ANTHROPIC_API_KEY", "anthropic"), ("GEMINI_API_KEY", "gemini")];
/// Servers on this machine.
const LOCAL: [(&str, &str); 2] = [("Ollama", "http://127.0.0.1:11434/v1"), ("llama.cpp", "http://127.0.0.1:8080/v1")];

/// Options of `switchhook dev`.
#[derive(clap::Args, Debug)]
#[group(id = "language_model")]
pub(super) struct Args {
    /// Connect this OpenAI-compatible server as language model, for example http://127.0.0.1:11434/v1.
    #[arg(long, value_name = "URL")]
    pub(super) llm_url: Option<String>,
    /// Its model [default: the first one that it lists].
    #[arg(long, value_name = "NAME", requires = "llm_url")]
    llm_model: Option<String>,
    /// Environment variable with its API key, if it requires one.
    #[arg(long, value_name = "VARIABLE", requires = "llm_url")]
    llm_key_env: Option<String>,
}

/// Finds a language model; asks for one if `may_ask` and somebody sits at a terminal. Never waits for anybody else.
pub(super) async fn find(args: &Args, may_ask: bool) -> Result<Option<LanguageModel>, CliError> {
    if let Some(url) = &args.llm_url {
        let key = match &args.llm_key_env {
            Some(name) => Some(
                variable(name).ok_or_else(|| CliError::Usage(format!("the environment variable {name} is not set")))?,
            ),
            None => None,
        };
        let model = match &args.llm_model {
            Some(model) => Some(model.clone()),
            None => models(url, key.as_ref()).await.and_then(|models| models.into_iter().next()),
        };
        return Ok(Some(server("llm", url, model, key)));
    }
    for (name, provider) in KEYS {
        if let Some(key) = variable(name) {
            return Ok(Some(hosted(provider, key, name)));
        }
    }
    for (name, url) in LOCAL {
        if let Some(models) = models(url, None).await {
            let model = models.into_iter().next();
            return Ok(Some(LanguageModel {
                name: name.to_owned(),
                found: url.to_owned(),
                ..server(name, url, model, None)
            }));
        }
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !(may_ask && terminal) {
        return Ok(None);
    }
    let typed = tokio::task::spawn_blocking(ask).await.map_err(anyhow::Error::from)?;
    Ok(match typed.as_deref().map(|typed| typed.trim()) {
        None | Some("") => None,
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            let model = models(url, None).await.and_then(|models| models.into_iter().next());
            Some(server("llm", url, model, None))
        }
        Some(key) => Some(hosted(provider_of(key), Private::new(key.to_owned()), "your key")),
    })
}

fn variable(name: &str) -> Option<Private<String>> {
    std::env::var(name).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).map(Private::new)
}

fn server(name: &str, url: &str, model: Option<String>, key: Option<Private<String>>) -> LanguageModel {
    let url = url.trim_end_matches('/').to_owned();
    LanguageModel { name: name.to_owned(), provider: "openai", found: url.clone(), base_url: Some(url), model, key }
}

fn hosted(provider: &'static str, key: Private<String>, found: &str) -> LanguageModel {
    let name = provider.to_owned();
    LanguageModel { name, provider, base_url: None, model: None, key: Some(key), found: found.to_owned() }
}

/// The provider whose keys look like this one.
fn provider_of(key: &str) -> &'static str {
    match key {
        key if key.starts_with("sk-ant-") => "anthropic",
        key if key.starts_with("AIza") => "gemini",
        _ => "openai",
    }
}

/// Asks at the terminal, without showing what is typed.
fn ask() -> Option<String> {
    output::line(
        "\nNo language model was found: no Ollama or llama.cpp on this machine, and no OPENAI_API_KEY, ANTHROPIC_API_KEY or\n\
         GEMINI_API_KEY. The demo agent needs none; agents of your own do.\n\
         Paste an API key, or the URL of an OpenAI-compatible server, and press Enter (it is not shown). Only Enter skips.",
    );
    console::Term::stdout().read_secure_line().ok()
}

/// The models that an OpenAI-compatible server lists, without those that only make embeddings; `None` if there is no such server.
async fn models(url: &str, key: Option<&Private<String>>) -> Option<Vec<String>> {
    let http = reqwest::Client::builder().timeout(PROBE).no_proxy().build().ok()?;
    let mut request = http.get(format!("{}/models", url.trim_end_matches('/')));
    if let Some(key) = key {
        request = request.bearer_auth(key.reveal());
    }
    let response = request.send().await.ok().filter(|response| response.status().is_success())?;
    let listed: Value = response.json().await.ok()?;
    let ids = listed["data"].as_array()?.iter().filter_map(|model| model["id"].as_str());
    Some(ids.filter(|id| !id.contains("embed")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_their_provider() {
        for (key, provider) in
            [("sk-ant-api03-x", "anthropic"), ("AIzaSy", "gemini"), ("sk-proj-x", "openai"), ("x", "openai")]
        {
            assert_eq!(provider_of(key), provider, "{key}");
        }
    }

    #[test]
    fn a_server_is_named_without_a_slash_at_its_end() {
        let model = server("x", "http://127.0.0.1:1/v1/", None, None);
        assert_eq!(model.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
    }
}
