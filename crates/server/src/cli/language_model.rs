//! The language model that `switchhook dev` connects, so that the first agent of one's own follows its instructions: a named server, a key
//! of the environment, a server on this machine, or what the operator types.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::Value;
use switchhook_core::private::Private;
use url::Url;

use super::{CliError, output};
use crate::language_models::{HOSTED, Hosted, LOCAL, Local};
use crate::operator::LanguageModel;

/// How long a server that may be on this machine has to list its models.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The same for a server that the user named, which may be far away.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
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
                key_in(environment, name)
                    .ok_or_else(|| CliError::Usage(format!("the environment variable {name} is not set")))?,
            ),
            None => None,
        };
        let model = match &args.llm_model {
            Some(model) => Some(model.clone()),
            None => first_listed(url, key.as_ref(), LIST_TIMEOUT).await,
        };
        return Ok(Some(server("llm", url, model, key)));
    }
    if let Some(found) = by_key(environment).await? {
        return Ok(Some(found));
    }
    if let Some(found) = on_this_machine(&LOCAL, PROBE_TIMEOUT).await {
        return Ok(Some(found));
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
            let model = first_listed(&url, None, LIST_TIMEOUT).await;
            Some(server("llm", &url, model, None))
        }
    })
}

/// Returns the model of the first provider whose key `environment` has.
async fn by_key(environment: impl Fn(&str) -> Option<String>) -> Result<Option<LanguageModel>, CliError> {
    for hosted in &HOSTED {
        let Some(key) = key_in(&environment, hosted.variable) else { continue };
        if hosted.name == "openai"
            && let Some(url) = other_server(environment(OPENAI_BASE_URL).as_deref())?
        {
            let model = first_listed(&url, Some(&key), LIST_TIMEOUT).await;
            return Ok(Some(server("llm", &url, model, Some(key))));
        }
        return Ok(Some(with_key(hosted, key, hosted.variable)));
    }
    Ok(None)
}

/// Returns the first of these servers that has a model; without one, the first that responds, so that `dev` says what it lacks.
async fn on_this_machine(servers: &[Local], timeout: Duration) -> Option<LanguageModel> {
    let mut without_model = None;
    for local in servers {
        let Some(models) = models(local.url, None, timeout).await else { continue };
        let found = server(local.name, local.url, models.into_iter().next(), None);
        if found.model.is_some() {
            return Some(found);
        }
        without_model.get_or_insert(found);
    }
    without_model
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
    first_listed(url, None, PROBE_TIMEOUT).await
}

async fn first_listed(url: &str, key: Option<&Private<String>>, timeout: Duration) -> Option<String> {
    models(url, key, timeout).await?.into_iter().next()
}

/// Checks the address of a server, and returns it without a slash at its end.
fn server_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    match url {
        Some(_) => Ok(text.trim_end_matches('/').to_owned()),
        None => Err(format!("must be an http or https address, such as http://127.0.0.1:11434/v1, not {text}")),
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn key_in(environment: impl Fn(&str) -> Option<String>, name: &str) -> Option<Private<String>> {
    environment(name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).map(Private::new)
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
async fn models(url: &str, key: Option<&Private<String>>, timeout: Duration) -> Option<Vec<String>> {
    let http = reqwest::Client::builder().timeout(timeout).no_proxy().build().ok()?;
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
    use std::collections::BTreeMap;

    use axum::Router;
    use axum::http::header::AUTHORIZATION;
    use axum::http::{HeaderMap, StatusCode};
    use axum::routing::get;
    use tokio::net::TcpListener;

    use super::*;

    /// Enough for a busy machine.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// The list of models of a server.
    const LISTED: &str = r#"{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen2.5:7b"},{"id":"llama3"}]}"#;
    /// The key that [`server_with_a_key`] requires.
    const KEY: &str = "sk-gateway";

    fn in_environment(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        let variables: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        move |name| variables.get(name).cloned()
    }

    async fn serve(router: Router) -> String {
        switchhook_net::install_tls();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/v1")
    }

    /// Starts a server that answers `GET /v1/models` with this, and returns its address.
    async fn server_that_lists(status: StatusCode, body: &'static str) -> String {
        serve(Router::new().route("/v1/models", get(move || async move { (status, body) }))).await
    }

    async fn server_with_a_key() -> String {
        let list = |headers: HeaderMap| async move {
            let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            if sent == Some("Bearer sk-gateway") { (StatusCode::OK, LISTED) } else { (StatusCode::UNAUTHORIZED, "{}") }
        };
        serve(Router::new().route("/v1/models", get(list))).await
    }

    /// Looks at these servers, and returns the name and model of the one that was chosen.
    async fn chosen(urls: &[(&'static str, &String)]) -> Option<(String, Option<String>)> {
        let local = |&(name, url): &(&'static str, &String)| Local { name, title: name, url: url.clone().leak() };
        let servers: Vec<Local> = urls.iter().map(local).collect();
        on_this_machine(&servers, PATIENCE).await.map(|found| (found.name, found.model))
    }

    #[tokio::test]
    async fn each_key_finds_its_provider() {
        let table = [
            ("OPENAI_API_KEY", "openai", "openai", None),
            ("ANTHROPIC_API_KEY", "anthropic", "anthropic", None),
            ("GEMINI_API_KEY", "gemini", "gemini", None),
            ("GROQ_API_KEY", "groq", "openai", Some("https://api.groq.com/openai/v1")),
            ("OPENROUTER_API_KEY", "openrouter", "openai", Some("https://openrouter.ai/api/v1")),
        ];
        for (variable, name, provider, base_url) in table {
            let found = by_key(in_environment(&[(variable, " the-key\n")])).await.expect("usable").expect("found");
            assert_eq!((found.name.as_str(), found.provider, found.base_url.as_deref()), (name, provider, base_url));
            assert_eq!(
                found.model.is_some(),
                base_url.is_some(),
                "{name}: a server that is not the adapter's own needs a model"
            );
            assert_eq!((found.found.as_str(), found.key.expect("a key").reveal().as_str()), (variable, "the-key"));
        }
        assert_eq!(table.map(|(variable, ..)| variable), HOSTED.map(|hosted| hosted.variable));
    }

    #[tokio::test]
    async fn the_first_of_several_keys_is_taken() {
        let mut keys = HOSTED.map(|hosted| (hosted.variable, "the-key"));
        for (at, hosted) in HOSTED.iter().enumerate() {
            let found = by_key(in_environment(&keys)).await.expect("usable").expect("found");
            assert_eq!(found.name, hosted.name);
            keys[at].1 = " ";
        }
        assert!(by_key(in_environment(&keys)).await.expect("usable").is_none(), "an empty variable is no key");
    }

    #[tokio::test]
    async fn a_gateway_lists_its_models_to_the_key_of_openai() {
        let url = server_with_a_key().await;
        let with_slash = format!("{url}/");
        let variables = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", with_slash.as_str())];
        let found = by_key(in_environment(&variables)).await.expect("usable").expect("found");
        assert_eq!((found.name.as_str(), found.base_url.as_ref(), &found.found), ("llm", Some(&url), &url));
        assert_eq!(found.model.as_deref(), Some("qwen2.5:7b"));
        assert_eq!(found.key.expect("a key").reveal(), KEY);

        let others = [("OPENAI_BASE_URL", url.as_str()), ("GROQ_API_KEY", "gsk_x")];
        let found = by_key(in_environment(&others)).await.expect("usable").expect("found");
        assert_eq!(found.name, "groq", "the address is for OpenAI's key only");
        let wrong = by_key(in_environment(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "gateway")])).await;
        assert!(matches!(wrong, Err(CliError::Usage(_))));
    }

    #[test]
    fn servers_on_this_machine_have_their_usual_ports() {
        let usual = [("ollama", 11434), ("llama.cpp", 8080), ("lm-studio", 1234), ("vllm", 8000)];
        assert_eq!(
            LOCAL.map(|local| (local.name, local.url.to_owned())),
            usual.map(|(name, port)| (name, format!("http://127.0.0.1:{port}/v1")))
        );
    }

    #[tokio::test]
    async fn the_first_server_on_this_machine_with_a_model_is_chosen() {
        let closed = TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("bound");
        let closed = format!("http://{closed}/v1");
        let lists = server_that_lists(StatusCode::OK, LISTED).await;
        let other = server_that_lists(StatusCode::OK, r#"{"data":[{"id":"other"}]}"#).await;
        let found = |name: &str, model: &str| Some((name.to_owned(), Some(model.to_owned())));
        assert_eq!(chosen(&[("a", &closed), ("b", &lists), ("c", &other)]).await, found("b", "qwen2.5:7b"));
        assert_eq!(chosen(&[("a", &closed), ("b", &other), ("c", &lists)]).await, found("b", "other"));
        assert_eq!(chosen(&[("a", &closed)]).await, None);

        for (status, body) in [
            (StatusCode::NOT_FOUND, LISTED),
            (StatusCode::UNAUTHORIZED, LISTED),
            (StatusCode::OK, "<html>"),
            (StatusCode::OK, r#"{"models":[]}"#),
            (StatusCode::OK, r#"{"data":null}"#),
        ] {
            let another = server_that_lists(status, body).await;
            assert_eq!(chosen(&[("a", &another)]).await, None, "{status} {body}");
            assert_eq!(chosen(&[("a", &another), ("b", &lists)]).await, found("b", "qwen2.5:7b"), "{status} {body}");
        }
    }

    #[tokio::test]
    async fn a_server_without_a_model_is_the_last_choice() {
        let lists = server_that_lists(StatusCode::OK, LISTED).await;
        for body in [r#"{"data":[]}"#, r#"{"data":[{"id":"nomic-embed-text"}]}"#] {
            let empty = server_that_lists(StatusCode::OK, body).await;
            let found = chosen(&[("empty", &empty), ("full", &lists)]).await;
            assert_eq!(found, Some(("full".to_owned(), Some("qwen2.5:7b".to_owned()))), "{body}");
            assert_eq!(chosen(&[("empty", &empty)]).await, Some(("empty".to_owned(), None)), "{body}");
        }
    }

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
