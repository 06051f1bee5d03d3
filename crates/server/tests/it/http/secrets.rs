//! Secrets and personal data are in no log; secrets are not in the database in the clear.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use switchhook::webhooks::receiver::Receiver;
use switchhook_core::api_key::{ApiKey, Environment};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock;

use crate::harness::process::{Node, json_of};
use crate::harness::{Client, deliveries_of, text};

const CREDENTIAL: &str = "sk-a-credential-that-nobody-may-see";

/// A service that logs everything there is.
struct Chatty {
    child: Child,
    base: String,
    log: PathBuf,
}

impl Chatty {
    fn start(node: &Node, folder: &Path) -> Self {
        let log = folder.join("log");
        let mut child = node
            .command()
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .env("SWITCHHOOK_LOG", "trace")
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a file"))
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it listens");
        let started: Value = serde_json::from_str(&line).expect("one line of JSON");
        Self { child, base: text(&started["listening"]), log }
    }

    fn end(mut self) -> String {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
        std::fs::read_to_string(&self.log).expect("text")
    }
}

#[tokio::test]
async fn no_secret_number_or_word_is_logged_and_no_secret_is_stored_in_the_clear() {
    switchhook_net::install_tls();
    let (node, folder) = (Node::new().await, tempfile::tempdir().expect("a folder"));
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "100000", "--json"]));
    let key = text(&tenant["api_key"]["key"]);
    let service = Chatty::start(&node, folder.path());
    let client = Client::new(service.base.clone(), key.clone());

    let another = text(&client.create("/v1/api-keys", json!({})).await["key"]);
    let provider = json!({ "name": "provider", "provider": "openai", "credentials": { "api_key": CREDENTIAL } });
    client.create("/v1/connections", provider).await;
    let misspelt = json!({ "name": 7, "provider": "openai", "credentials": { "api_key": CREDENTIAL } });
    let (_, refusal) = client.post("/v1/connections", misspelt).await;
    let wrong = ApiKey::generate(Environment::Dev, || clock::random::<1>()[0]).reveal().to_owned();
    assert_eq!(Client::new(service.base.clone(), wrong.clone()).get("/v1/tenant").await.0, 401);
    let mut receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a free port");
    let webhook = client.create("/v1/webhooks", json!({ "url": receiver.url() })).await;
    let signing = text(&webhook["secret"]);
    receiver.set_secret(SigningSecret::parse(&signing).expect("a secret"));

    let (_, events) = client.post("/v1/event-tokens", json!({})).await;
    let token = text(&events["token"]);
    let browser = reqwest::Client::builder().no_proxy().build().expect("a client");
    let opened = browser.get(format!("{}/v1/events?token={token}", service.base)).send().await.expect("an answer");
    assert_eq!(opened.status(), 200);

    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let call = client.place(&agent, "+12025550100").await;
    client.hang_up_after(&call, 2).await;
    deliveries_of(&mut receiver, &call).await;
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let words: Vec<_> = transcript["data"].as_array().expect("lines").iter().map(|line| text(&line["text"])).collect();
    assert!(words.len() > 2, "they talked: {words:?}");

    let log = service.end();
    assert!(log.contains("TRACE") && log.contains(&call), "this is the log of what happened");
    let secrets = [key, another, wrong, CREDENTIAL.to_owned(), signing, token];
    let numbers = ["12025550100".to_owned(), "12025550199".to_owned()];
    for private in secrets.iter().chain(&numbers).chain(&words) {
        let line = log.lines().find(|line| line.contains(private.as_str()));
        assert_eq!(line, None, "{private} is in the log");
        assert!(!refusal.to_string().contains(private.as_str()), "{refusal}");
    }
    let stored = database(&node).await;
    assert!(stored.contains("acme"), "this is the database of the tenant");
    for secret in &secrets {
        for form in [secret.clone(), hex(secret)] {
            assert!(!stored.contains(&form), "{secret} is in the database");
        }
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything the database holds: the bytes of SQLite's files, or the text of every row of PostgreSQL.
async fn database(node: &Node) -> String {
    let command = node.command();
    let set = |name: &str| {
        let mut set = command.get_envs().filter(|(key, _)| *key == OsStr::new(name));
        set.next().and_then(|(_, value)| value).map(|value| value.to_str().expect("text").to_owned())
    };
    let Some(url) = set("SWITCHHOOK_DATABASE_URL") else {
        let folder = PathBuf::from(set("SWITCHHOOK_DATA_DIR").expect("a data directory"));
        let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files = files.filter(|path| path.to_string_lossy().contains("switchhook.db"));
        let bytes: Vec<u8> = files.flat_map(|path| std::fs::read(path).expect("a file")).collect();
        assert!(bytes.starts_with(b"SQLite format 3") || bytes.len() > 4096, "{} bytes", bytes.len());
        return String::from_utf8_lossy(&bytes).into_owned();
    };
    let mut connection = PgConnection::connect(&url).await.expect("the database of the node");
    let tables = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.expect("tables");
    assert!(tables.iter().any(|table| table == "api_keys"), "{tables:?}");
    let mut text = String::new();
    for table in tables {
        let rows = AssertSqlSafe(format!("SELECT COALESCE(string_agg(t::text, ' '), '') FROM {table} t"));
        let rows: String = sqlx::query_scalar(rows).fetch_one(&mut connection).await.expect("rows");
        text.push_str(&rows);
    }
    text
}
