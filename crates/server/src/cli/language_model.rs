//! The language model that `switchhook dev` connects, so that the first agent of one's own follows its instructions: a named server, a key
//! of the environment, a server on this machine, or what the operator types.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::Value;
use switchhook_core::private::Private;
use url::Url;

use super::{CliError, output};
use crate::language_models::{HOSTED, Hosted, LOCAL};
use crate::operator::LanguageModel;

/// How long a server on this machine has to list its models.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The variable by which programs name another server for `OPENAI_API_KEY`.
const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";

/// Where the language model comes from without options, for the help of `switchhook dev`.
pub(super) const HELP: &str = "\
Without --llm-url, dev connects the first language model that it finds: a key in OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY,
GROQ_API_KEY or OPENROUTER_API_KEY, or Ollama, llama.cpp, LM Studio or vLLM at its usual port on this machine. OPENAI_BASE_URL names
another server for OPENAI_API_KEY.";

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
        let url = &server_url(url).map_err(|wrong| CliError::Usage(format!("--llm-url {wrong}")))?;
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
    for hosted in &HOSTED {
        let Some(key) = variable(hosted.variable) else { continue };
        if hosted.name == "openai"
            && let Some(url) = other_server(std::env::var(OPENAI_BASE_URL).ok().as_deref())?
        {
            let model = models(&url, Some(&key)).await.and_then(|models| models.into_iter().next());
            return Ok(Some(server("llm", &url, model, Some(key))));
        }
        return Ok(Some(with_key(hosted, key, hosted.variable)));
    }
    for local in &LOCAL {
        if let Some(models) = models(local.url, None).await {
            return Ok(Some(server(local.name, local.url, models.into_iter().next(), None)));
        }
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !(may_ask && terminal) {
        return Ok(None);
    }
    let typed = tokio::task::spawn_blocking(ask).await.map_err(anyhow::Error::from)?;
    Ok(match typed.as_deref().map(|typed| typed.trim()) {
        None | Some("") => None,
        Some(key) if !key.contains("://") => Some(with_key(provider_of(key), Private::new(key.to_owned()), "your key")),
        Some(url) => {
            let url = server_url(url).map_err(|wrong| CliError::Usage(format!("the URL {wrong}")))?;
            let model = models(&url, None).await.and_then(|models| models.into_iter().next());
            Some(server("llm", &url, model, None))
        }
    })
}

/// Says what `dev` found nothing of, and the shortest way to a model.
pub(super) fn nothing_found() -> String {
    let variables = HOSTED.map(|hosted| hosted.variable).join(", ");
    format!(
        "No language model is connected, and agents of your own need one. The shortest way: start Ollama on this machine, or set one \
         of {variables}, and start `dev` again."
    )
}

/// Returns the model of a provider by its key.
fn with_key(hosted: &Hosted, key: Private<String>, found: &str) -> LanguageModel {
    let (base_url, model) = hosted.server.unzip();
    LanguageModel {
        name: hosted.name.to_owned(),
        provider: hosted.provider,
        base_url: base_url.map(str::to_owned),
        model: model.map(str::to_owned),
        key: Some(key),
        found: found.to_owned(),
    }
}

/// Returns the server that `OPENAI_BASE_URL` names, unless it is OpenAI's own.
fn other_server(text: Option<&str>) -> Result<Option<String>, CliError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let url = server_url(text).map_err(|wrong| CliError::Usage(format!("{OPENAI_BASE_URL} {wrong}")))?;
    Ok(Some(url).filter(|url| url != "https://api.openai.com/v1"))
}

/// Returns a model that a server on this machine lists, for `init`.
pub(super) async fn first_model(url: &str) -> Option<String> {
    models(url, None).await?.into_iter().next()
}

/// Checks the address of a server, and returns it without a slash at its end.
fn server_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    match url {
        Some(_) => Ok(text.trim_end_matches('/').to_owned()),
        None => Err(format!("must be an http or https address, such as http://127.0.0.1:11434/v1, not {text}")),
    }
}

fn variable(name: &str) -> Option<Private<String>> {
    std::env::var(name).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).map(Private::new)
}

fn server(name: &str, url: &str, model: Option<String>, key: Option<Private<String>>) -> LanguageModel {
    let url = url.to_owned();
    LanguageModel { name: name.to_owned(), provider: "openai", found: url.clone(), base_url: Some(url), model, key }
}

/// The provider whose keys look like this one.
fn provider_of(key: &str) -> &'static Hosted {
    let fitting = HOSTED.iter().filter(|hosted| key.starts_with(hosted.prefix));
    fitting.max_by_key(|hosted| hosted.prefix.len()).unwrap_or(&HOSTED[0])
}

/// Asks at the terminal, without showing what is typed.
fn ask() -> Option<String> {
    let (servers, variables) =
        (LOCAL.map(|local| local.title).join(", "), HOSTED.map(|hosted| hosted.variable).join(", "));
    output::line(&format!(
        "\nNo language model was found: no server on this machine ({servers}), and none of {variables}.\n\
         The demo agent needs none; agents of your own do.\n\
         Paste an API key, or the URL of an OpenAI-compatible server, and press Enter (it is not shown). Only Enter skips."
    ));
    console::Term::stdout().read_secure_line().ok()
}

/// The models that an OpenAI-compatible server lists, without those that only make embeddings; `None` if there is no such server.
async fn models(url: &str, key: Option<&Private<String>>) -> Option<Vec<String>> {
    let http = reqwest::Client::builder().timeout(PROBE_TIMEOUT).no_proxy().build().ok()?;
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
        for (key, name) in [
            ("sk-ant-api03-x", "anthropic"),
            ("AIzaSy", "gemini"),
            ("gsk_x", "groq"),
            ("sk-or-v1-x", "openrouter"),
            ("sk-proj-x", "openai"),
            ("x", "openai"),
        ] {
            assert_eq!(provider_of(key).name, name, "{key}");
        }
        let groq = with_key(provider_of("gsk_x"), Private::new("gsk_x".to_owned()), "your key");
        assert_eq!(groq.base_url.as_deref(), Some("https://api.groq.com/openai/v1"));
    }

    #[test]
    fn a_gateway_takes_the_key_of_openai() {
        let other = |text| other_server(text).map_err(|error| format!("{error:?}"));
        assert_eq!(other(Some(" http://127.0.0.1:4000/v1/ ")), Ok(Some("http://127.0.0.1:4000/v1".to_owned())));
        for own in [None, Some(""), Some("https://api.openai.com/v1/")] {
            assert_eq!(other(own), Ok(None), "{own:?}");
        }
        let refused = other(Some("127.0.0.1:4000")).expect_err("no address");
        assert!(refused.contains("OPENAI_BASE_URL must be an http or https address"), "{refused}");
    }

    #[test]
    fn a_server_has_an_address_without_a_slash_at_its_end() {
        assert_eq!(server_url("http://127.0.0.1:1/v1/").as_deref(), Ok("http://127.0.0.1:1/v1"));
        for wrong in ["nonsense", "127.0.0.1:11434", "ftp://127.0.0.1", "http://"] {
            let refused = server_url(wrong).expect_err(wrong);
            assert!(refused.contains("http://127.0.0.1:11434/v1") && refused.contains(wrong), "{refused}");
        }
    }
}
