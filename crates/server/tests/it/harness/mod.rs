//! The whole service in a struct, and a client that uses it as customers do.

pub(crate) mod database;
pub(crate) mod postgres;
pub(crate) mod process;

use std::net::{IpAddr, SocketAddr};
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
use switchhook::store::calls::{self, tool_calls};
use switchhook::store::tenants::OwnLimits;
use switchhook::webhooks::receiver::{Received, Receiver};
use switchhook_core::private::Private;
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;
use tempfile::TempDir;
use tokio::net::TcpSocket;

/// Longer than any working test takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A service for one test, with its own database and port.
pub(crate) struct TestService {
    service: Service,
    pub(crate) client: Client,
    /// Deleted with the service.
    folder: TempDir,
    database_url: String,
}

impl TestService {
    /// Starts a service with a tenant and nothing else.
    pub(crate) async fn start() -> Self {
        Self::start_with(Clock::system()).await
    }

    /// The same with this clock.
    pub(crate) async fn start_with(clock: Clock) -> Self {
        Self::start_as(clock, |_| {}).await
    }

    /// Starts a service that may also reach carriers and providers at these addresses.
    pub(crate) async fn start_allowing(addresses: &str) -> Self {
        let allowed = addresses.parse().expect("valid");
        Self::start_as(Clock::system(), |config| config.outbound_allow = allowed).await
    }

    /// The same with another configuration.
    pub(crate) async fn start_as(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        switchhook_net::install_tls();
        let folder = private_folder();
        let database = database::create_migrated().await;
        let mut config = test_config(folder.path(), database);
        change(&mut config);
        let (config, database_url) = (Arc::new(config.clone()), config.database_url());
        let service = Service::start(config.clone(), ModelStore::new(&config.data_dir), clock).await.expect("starts");
        // Tests poll their calls far more often than customers do.
        let limits = OwnLimits { rate_per_minute: Some(100_000), ..OwnLimits::default() };
        let tenant = operator::create_tenant(service.store(), &config, "test", limits).await.expect("a tenant");
        let key = tenant.api_key.key;
        let client = Client::new(format!("http://{}", service.address()), key);
        Self { service, client, folder, database_url }
    }

    /// Starts a service with a scripted agent, a simulated carrier and a number, ready to call.
    pub(crate) async fn ready() -> (Self, Agent) {
        let service = Self::start().await;
        let agent = service.client.scripted_agent(json!({})).await;
        (service, agent)
    }

    /// Makes a call's runner abandon the call without any cleanup.
    pub(crate) fn abandon(&self, call: &str) {
        self.service.live().signal(call.parse().expect("an id"), RunnerSignal::Abandon);
    }

    /// Waits until so many tools of the call have requested something of the carrier or a service, and that is stored.
    pub(crate) async fn wait_for_tool_requests(&self, call: &str, count: usize) {
        let id = call.parse().expect("an id");
        let is_stored = async || {
            let mut conn = self.service.store().read().await.expect("a connection");
            let row = calls::get_for_carrier(&mut conn, id).await.expect("read").expect("a call");
            tool_calls::requested(&mut conn, row.tenant(), id).await.expect("read").len() >= count
        };
        let stored = async {
            while !is_stored().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, stored).await.expect("the requests of tools are stored");
    }

    /// Returns the sign-in of people.
    pub(crate) fn sign_in(&self) -> &SignIn {
        self.service.sign_in()
    }

    /// Returns a client of another tenant.
    pub(crate) async fn another_tenant(&self) -> Client {
        let config = test_config(self.folder.path(), None);
        let limits = OwnLimits { rate_per_minute: Some(100_000), ..OwnLimits::default() };
        let tenant = operator::create_tenant(self.service.store(), &config, "another", limits).await.expect("a tenant");
        Client::new(self.client.base.clone(), tenant.api_key.key)
    }

    /// Returns the directory of recordings and keys.
    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a command that runs the binary on this service's data.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchhook"));
        command.env("SWITCHHOOK_DATA_DIR", self.folder.path()).env("SWITCHHOOK_DATABASE_URL", &self.database_url);
        command
    }

    /// Returns the URL of its database.
    pub(crate) fn database_url(&self) -> &str {
        &self.database_url
    }

    /// Returns its database, for steps that would take too long over the API.
    pub(crate) fn store(&self) -> &Store {
        self.service.store()
    }

    /// Stops the service as an operator would.
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

/// Creates a temporary folder that other users cannot read, as required of a data directory.
pub(crate) fn private_folder() -> TempDir {
    let private = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().expect("a temporary folder")
}

/// The result of [`Client::scripted_agent`].
pub(crate) struct Agent {
    pub(crate) id: String,
}

/// An HTTP client with one key.
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

    /// Creates a client whose requests a connection balancer distributes among the nodes.
    pub(crate) fn with_a_connection_for_each_request(base: String, key: String) -> Self {
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        Self { http, base, key }
    }

    /// Creates a client that connects from this address of the machine.
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

    /// Creates an agent without any model, a simulator with short ring times, and a number.
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

    /// Polls `path` until `done` holds. Returns the response.
    pub(crate) async fn look_until(&self, path: &str, done: impl Fn(&Value) -> bool) -> Value {
        Self::ask_until(path, || self.get(path), done).await
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
                // Polls a service that runs in real time.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("{path} comes so far within a minute"))
    }

    /// Waits until `done` holds for the call. Returns the call.
    pub(crate) async fn wait_for(&self, call: &str, done: impl Fn(&Value) -> bool) -> Value {
        self.look_until(&format!("/v1/calls/{call}"), done).await
    }

    /// Waits until the transcript contains an entry.
    pub(crate) async fn wait_for_words(&self, call: &str) {
        self.look_until(&format!("/v1/calls/{call}/transcript"), |said| said["data"] != json!([])).await;
    }

    pub(crate) async fn wait_for_end(&self, call: &str) -> Value {
        self.wait_for(call, |call| matches!(call["status"].as_str(), Some("completed" | "failed"))).await
    }

    /// Hangs up once this many lines of the caller were transcribed. Returns the final call.
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

    /// Creates a receiver for all events.
    pub(crate) async fn receiver(&self) -> Receiver {
        let receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let webhook = self.create("/v1/webhooks", json!({ "url": receiver.url() })).await;
        receiver.set_secret(SigningSecret::parse(&text(&webhook["secret"])).expect("a signing secret"));
        receiver
    }
}

/// Returns the deliveries of a call up to its terminal one.
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

/// Returns a port of this machine that no other test gets, without a listener, for as long as the socket lasts.
pub(crate) fn closed_port() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = socket.local_addr().expect("bound");
    (socket, address)
}
