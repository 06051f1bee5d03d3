//! The whole service in a struct, and a client that speaks to it as customers do.

pub(crate) mod database;
pub(crate) mod postgres;
pub(crate) mod process;

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::app::Service;
use switchhook::calls::RunnerSignal;
use switchhook::config::Config;
use switchhook::operator;
use switchhook::sign_in::SignIn;
use switchhook::store::Store;
use switchhook::store::tenants::OwnLimits;
use switchhook::webhooks::receiver::{Received, Receiver};
use switchhook_core::private::Private;
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;
use tempfile::TempDir;

/// Longer than anything here takes when it works.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A service of its own for one test: its own database, its own port.
pub(crate) struct TestService {
    service: Service,
    pub(crate) client: Client,
    /// Deleted with the service.
    folder: TempDir,
    database_url: String,
}

impl TestService {
    /// A service with a tenant and nothing else.
    pub(crate) async fn start() -> Self {
        Self::start_with(Clock::system()).await
    }

    /// The same, by this clock.
    pub(crate) async fn start_with(clock: Clock) -> Self {
        Self::start_as(clock, |_| {}).await
    }

    /// A service that reaches carriers and providers at these addresses too.
    pub(crate) async fn start_allowing(addresses: &str) -> Self {
        let allowed = addresses.parse().expect("valid");
        Self::start_as(Clock::system(), |config| config.outbound_allow = allowed).await
    }

    /// The same, with another configuration.
    pub(crate) async fn start_as(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        switchhook_net::install_tls();
        let folder = private_folder();
        let database = database::create().await;
        let mut config = test_config(folder.path(), database);
        change(&mut config);
        let (config, database_url) = (Arc::new(config.clone()), config.database_url());
        let service = Service::start(config.clone(), ModelStore::new(&config.data_dir), clock).await.expect("starts");
        // Tests look at their calls far more often than customers do.
        let limits = OwnLimits { rate_per_minute: Some(100_000), ..OwnLimits::default() };
        let tenant = operator::create_tenant(service.store(), &config, "test", limits).await.expect("a tenant");
        let key = tenant.api_key.key;
        let client = Client::new(format!("http://{}", service.address()), key);
        Self { service, client, folder, database_url }
    }

    /// A service with a scripted agent, a simulated carrier and a number, ready to call.
    pub(crate) async fn ready() -> (Self, Agent) {
        let service = Self::start().await;
        let agent = service.client.scripted_agent(json!({})).await;
        (service, agent)
    }

    /// Has a call's runner let go of it without another word.
    pub(crate) fn abandon(&self, call: &str) {
        self.service.live().signal(call.parse().expect("an id"), RunnerSignal::Abandon);
    }

    /// How people sign in.
    pub(crate) fn sign_in(&self) -> &SignIn {
        self.service.sign_in()
    }

    /// A client of another tenant.
    pub(crate) async fn another_tenant(&self) -> Client {
        let config = test_config(self.folder.path(), None);
        let limits = OwnLimits { rate_per_minute: Some(100_000), ..OwnLimits::default() };
        let tenant = operator::create_tenant(self.service.store(), &config, "another", limits).await.expect("a tenant");
        Client::new(self.client.base.clone(), tenant.api_key.key)
    }

    /// Where recordings and keys are.
    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// The binary on this service's data.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchhook"));
        command.env("SWITCHHOOK_DATA_DIR", self.folder.path()).env("SWITCHHOOK_DATABASE_URL", &self.database_url);
        command
    }

    /// The address of its database.
    pub(crate) fn database_url(&self) -> &str {
        &self.database_url
    }

    /// Its database, for what would take the API too long.
    pub(crate) fn store(&self) -> &Store {
        self.service.store()
    }

    /// Ends it as an operator would.
    pub(crate) async fn stop(self) {
        self.service.stop(Duration::from_secs(5), Duration::ZERO).await;
    }
}

fn test_config(folder: &Path, database: Option<String>) -> Config {
    let mut config = Config::for_tests(folder);
    config.webhook_allow = "127.0.0.0/8,::1/128,http".parse().expect("valid");
    config.database_url = database.map(Private::new);
    config
}

/// A temporary folder into which nobody else may look, as a data directory must be.
pub(crate) fn private_folder() -> TempDir {
    let private = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().expect("a temporary folder")
}

/// What [`Client::scripted_agent`] made.
pub(crate) struct Agent {
    pub(crate) id: String,
}

/// Speaks HTTP with one key.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) key: String,
}

impl Client {
    pub(crate) fn new(base: String, key: String) -> Self {
        Self { http: reqwest::Client::builder().no_proxy().build().expect("a client"), base, key }
    }

    /// Whose requests a balancer of connections gives to one node after another.
    pub(crate) fn with_a_connection_for_each_request(base: String, key: String) -> Self {
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        Self { http, base, key }
    }

    /// One that connects from this address of the machine.
    pub(crate) fn at_address(&self, address: [u8; 4]) -> Self {
        let http = reqwest::Client::builder().no_proxy().local_address(IpAddr::from(address)).build();
        Self { http: http.expect("a client"), ..self.clone() }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key)
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        answer(self.request(Method::POST, path).json(&body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> (StatusCode, Value) {
        answer(self.request(Method::PATCH, path).json(&body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.request(Method::GET, path)).await
    }

    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        let (status, created) = self.post(path, body).await;
        assert_eq!(status, StatusCode::CREATED, "{path}: {created}");
        created
    }

    /// An agent that hears, thinks and speaks without any model, a simulator that rings fast, and a number.
    pub(crate) async fn scripted_agent(&self, changes: Value) -> Agent {
        let scripted = self.create("/v1/connections", json!({ "name": "scripted", "provider": "scripted" })).await;
        let simulator = json!({ "name": "simulator", "provider": "simulator", "settings": { "time_scale": 0.05 } });
        let carrier = self.create("/v1/connections", simulator).await;
        let by = json!({ "connection_id": scripted["id"] });
        let mut agent = json!({
            "name": "Ava", "instructions": "Book a table.", "stt": by, "llm": by, "tts": by,
            "greeting": { "text": "Hello, this is Ava from Harbor Table. You asked us for a table. May I have your name, please?" },
        });
        for (field, value) in changes.as_object().expect("an object") {
            agent[field] = value.clone();
        }
        let agent = self.create("/v1/agents", agent).await;
        self.create("/v1/numbers", json!({ "number": "+12025550199", "connection_id": carrier["id"] })).await;
        Agent { id: text(&agent["id"]) }
    }

    pub(crate) async fn place(&self, agent: &Agent, to: &str) -> String {
        text(&self.create("/v1/calls", json!({ "agent_id": agent.id, "to": to })).await["id"])
    }

    /// Looks at `path` until it is as `done` says, and shows it.
    pub(crate) async fn look_until(&self, path: &str, done: impl Fn(&Value) -> bool) -> Value {
        Self::ask_until(path, || self.get(path), done).await
    }

    /// Posts an empty body to `path` until the response is as `done` says, and shows it.
    pub(crate) async fn post_until(&self, path: &str, done: impl Fn(&Value) -> bool) -> Value {
        Self::ask_until(path, || self.post(path, json!({})), done).await
    }

    async fn ask_until<Asked: Future<Output = (StatusCode, Value)>>(
        path: &str,
        ask: impl Fn() -> Asked,
        done: impl Fn(&Value) -> bool,
    ) -> Value {
        let looking = async {
            loop {
                let (_, shown) = ask().await;
                if done(&shown) {
                    return shown;
                }
                // Between two looks at a service that runs in real time.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("{path} comes so far within a minute"))
    }

    /// Waits until the call is as `done` says, and shows it.
    pub(crate) async fn wait_for(&self, call: &str, done: impl Fn(&Value) -> bool) -> Value {
        self.look_until(&format!("/v1/calls/{call}"), done).await
    }

    /// Waits until somebody has said something.
    pub(crate) async fn wait_for_words(&self, call: &str) {
        self.look_until(&format!("/v1/calls/{call}/transcript"), |said| said["data"] != json!([])).await;
    }

    pub(crate) async fn wait_for_end(&self, call: &str) -> Value {
        self.wait_for(call, |call| matches!(call["status"].as_str(), Some("completed" | "failed"))).await
    }

    /// Hangs up once so many lines of the caller were understood; the call as it is at last.
    pub(crate) async fn hang_up_after(&self, call: &str, lines: usize) -> Value {
        let is_callers = |line: &&Value| line["role"] == "caller";
        let understood =
            |shown: &Value| shown["data"].as_array().is_some_and(|all| all.iter().filter(is_callers).count() >= lines);
        self.look_until(&format!("/v1/calls/{call}/transcript"), understood).await;
        let (status, response) = self.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        assert!(status.is_success(), "{response}");
        let ended = self.wait_for_end(call).await;
        assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
        ended
    }

    pub(crate) async fn event_names(&self, call: &str) -> Vec<String> {
        let (_, events) = self.get(&format!("/v1/calls/{call}/events")).await;
        events["data"].as_array().expect("a list").iter().map(|event| text(&event["event"])).collect()
    }

    /// A receiver that is registered for every event.
    pub(crate) async fn receiver(&self) -> Receiver {
        let receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let webhook = self.create("/v1/webhooks", json!({ "url": receiver.url() })).await;
        receiver.set_secret(SigningSecret::parse(&text(&webhook["secret"])).expect("a signing secret"));
        receiver
    }
}

/// The deliveries of a call until its terminal one.
pub(crate) async fn deliveries_of(receiver: &mut Receiver, call: &str) -> Vec<Received> {
    let mut received = Vec::new();
    loop {
        let delivery = tokio::time::timeout(TIMEOUT, receiver.next()).await.expect("a delivery within a minute");
        if delivery.body["data"]["call_id"] != call {
            continue;
        }
        let terminal = matches!(delivery.event.as_str(), "call.completed" | "call.failed");
        received.push(delivery);
        if terminal {
            return received;
        }
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.expect("the service answers");
    let status = response.status();
    let bytes = response.bytes().await.expect("a whole body");
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).expect("JSON") };
    (status, body)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a string, not {value}")).to_owned()
}
