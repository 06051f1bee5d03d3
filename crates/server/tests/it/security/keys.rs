//! The master key is changed while services run, are killed, and are started again.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use switchhook::config::Config;
use switchhook::rotation::{self, Rotated};
use switchhook::store::Store;
use switchhook::store::page::PageRequest;
use switchhook::store::sealed::{self, COLUMNS, CREDENTIALS, SECRET};
use switchhook::store::webhooks::{self, WebhookRow};
use switchhook::webhooks::receiver::Receiver;
use switchhook_core::id::{TenantId, WebhookId};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock::Clock;
use switchhook_vault::Vault;
use uuid::Uuid;

use crate::harness::process::{Node, json_of};
use crate::harness::{Client, TIMEOUT, TestService, text};

/// Base64 of 32 bytes.
const OLD: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const NEW: &str = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

/// Returns version and key id of every record, by table and column.
async fn headers(store: &Store) -> Vec<(&'static str, Vec<u8>)> {
    let mut headers = Vec::new();
    for column in COLUMNS {
        let mut conn = store.read().await.expect("a connection");
        let records = sealed::page_for_operator(&mut conn, column, Uuid::nil(), 10_000).await.expect("records");
        headers.extend(records.into_iter().map(|record| (column.name, record.sealed[..5].to_vec())));
    }
    headers
}

/// Returns the same for the first endpoint, whose secret is the first to be sealed again.
async fn first_header(store: &Store) -> Vec<u8> {
    let mut conn = store.read().await.expect("a connection");
    let records = sealed::page_for_operator(&mut conn, SECRET, Uuid::nil(), 1).await.expect("records");
    records[0].sealed[..5].to_vec()
}

/// Returns how many different keys seal something.
async fn keys_in_use(store: &Store) -> usize {
    let mut keys: Vec<_> = headers(store).await.into_iter().map(|(_, header)| header).collect();
    keys.sort();
    keys.dedup();
    keys.len()
}

fn keys_in_file(data_dir: &Path) -> usize {
    std::fs::read_to_string(Vault::key_file(data_dir)).unwrap_or_default().lines().count()
}

/// Tests the endpoint; the delivery is verified with the secret that the receiver knows.
async fn delivers(client: &Client, receiver: &mut Receiver) {
    let (_, endpoints) = client.get("/v1/webhooks").await;
    let endpoints = endpoints["data"].as_array().expect("a list");
    let ours = endpoints.iter().find(|endpoint| endpoint["url"] == receiver.url().as_str()).expect("it is registered");
    let id = text(&ours["id"]);
    client.post(&format!("/v1/webhooks/{id}/test"), json!({})).await;
    let received = tokio::time::timeout(TIMEOUT, receiver.next()).await.expect("a delivery within a minute");
    assert!(received.verified, "{:?}", received.refusal);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_learned_while_the_service_runs_and_the_old_one_is_forgotten_when_nothing_needs_it() {
    let (service, agent) = TestService::ready().await;
    let (client, store) = (&service.client, service.store());
    let config = Config::for_tests(service.data_dir());
    let mut receiver = client.receiver().await;
    let call = client.place(&agent, "+12025550109").await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;
    let twilio = json!({
        "name": "twilio", "provider": "twilio",
        "credentials": { "account_sid": "AC0123456789abcdef0123456789abcdef", "auth_token": "0123456789abcdef" },
    });
    let twilio = client.create("/v1/connections", twilio).await;
    let number = client.create("/v1/numbers", json!({ "number": "+12025550198", "connection_id": twilio["id"] })).await;
    let address = text(&number["inbound_url"]);
    let knocks = async |address: &str| {
        let path = address.strip_prefix(&client.base).expect("ours").to_owned();
        client.post(&path, json!({})).await.0.as_u16()
    };
    assert_eq!(knocks(&address).await, 403, "it is known, and nobody signed");

    let rotated = rotation::rotate(store, &config, &mut |_, _| {}).await.expect("a rotation");
    assert_eq!(rotated, Rotated { new_key: true, resealed: 2, unreadable: vec![], old_keys: true });

    delivers(client, &mut receiver).await;
    client.create("/v1/webhooks", json!({ "url": "https://example.com/" })).await;
    client
        .create(
            "/v1/connections",
            json!({ "name": "o", "provider": "openai", "credentials": { "api_key": "sk-12345678" } }),
        )
        .await;
    assert_eq!(headers(store).await.len(), 4);
    assert_eq!(keys_in_use(store).await, 1, "what was there, and what the service has sealed since");
    let new_address = text(&client.get(&format!("/v1/numbers/{}", text(&number["id"]))).await.1["inbound_url"]);
    assert_ne!(new_address, address);
    assert_eq!([knocks(&address).await, knocks(&new_address).await], [403, 403], "the carrier has the old one still");

    let clock = Clock::manual(Clock::system().now());
    let forget = async || {
        let forgotten = rotation::forget_old_keys(store, &config, &clock, &mut |_, _| {}).await;
        forgotten.map_err(|error| error.to_string())
    };
    assert!(forget().await.is_err_and(|refusal| refusal.contains("less than a minute old")));
    clock.advance(Duration::from_secs(120));
    assert!(forget().await.is_err_and(|refusal| refusal.contains("1 live calls")), "its carrier has old addresses");
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    client.wait_for_end(&call).await;
    assert_eq!(forget().await, Ok(Rotated::default()));
    assert_eq!(keys_in_file(service.data_dir()), 1);
    delivers(client, &mut receiver).await;
    assert_eq!([knocks(&new_address).await, knocks(&address).await], [403, 404]);
    service.stop().await;
}

/// Creates a database with a tenant, and endpoints with these secrets.
async fn with_secrets(node: &Node, count: u8) -> (Store, TenantId) {
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--json"]));
    let tenant: TenantId = text(&tenant["tenant"]["id"]).parse().expect("an id");
    let config = Config::for_tests(node.data_dir());
    let store = Store::open(&node.database_url()).await.expect("a database");
    let vault = config.open_vault().expect("a key file");
    let now = Clock::system().now();
    let mut tx = store.begin().await.expect("a transaction");
    for high in 0..count {
        for low in 0..100 {
            let id = WebhookId::new(now, [0, 0, 0, 0, 0, 0, 0, 0, high, low]);
            let secret = SigningSecret::generate([high; 32]);
            let row = WebhookRow::new(id, tenant, "https://example.com/".to_owned(), &vault, &secret, now);
            webhooks::insert(&mut tx, &row).await.expect("a row");
        }
    }
    tx.commit().await.expect("committed");
    (store, tenant)
}

async fn all_open(node: &Node, store: &Store, tenant: TenantId) -> usize {
    let vault = Config::for_tests(node.data_dir()).open_vault().expect("keys");
    let page = webhooks::list(&mut store.read().await.expect("a connection"), tenant, PageRequest::first(10_000)).await;
    let rows = page.expect("rows").rows;
    assert!(rows.iter().all(|row| row.secrets(&vault, Clock::system().now()).is_ok()));
    rows.len()
}

/// How often a rotation may end before the test kills it.
const MOST_ROTATIONS: usize = 5;

/// Starts a rotation and kills it once it has come so far, unless it has ended by then.
async fn kill_rotation(node: &Node, has_come_so_far: impl AsyncFn() -> bool) {
    let mut command = node.command();
    let mut rotation = command.args(["rotate-master-key", "--json"]).stdout(Stdio::null()).spawn().expect("it starts");
    loop {
        let ended = rotation.try_wait().expect("ours");
        if has_come_so_far().await {
            break;
        }
        assert_eq!(ended, None, "it ended before it had come so far");
    }
    // One that has just ended needs no end.
    rotation.kill().expect("ours");
    rotation.wait().expect("ours");
}

/// Kills a rotation at its beginning, and the next one half way. Returns the store and its tenant, or nothing if one of them had ended
/// before it was killed.
async fn killed_half_way(node: &Node) -> Option<(Store, TenantId)> {
    let (store, tenant) = with_secrets(node, 20).await;
    let old = first_header(&store).await;
    kill_rotation(node, async || keys_in_file(node.data_dir()) == 2).await;
    assert_eq!(all_open(node, &store, tenant).await, 2_000);
    kill_rotation(node, async || first_header(&store).await != old).await;
    assert_eq!(all_open(node, &store, tenant).await, 2_000);
    let is_half_way = (keys_in_use(&store).await, keys_in_file(node.data_dir())) == (2, 2);
    is_half_way.then_some((store, tenant))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_rotation_loses_nothing_and_resumes_when_run_again() {
    let mut killed = None;
    for _ in 0..MOST_ROTATIONS {
        let node = Node::new().await;
        killed = killed_half_way(&node).await.map(|(store, tenant)| (node, store, tenant));
        if killed.is_some() {
            break;
        }
    }
    let (node, store, tenant) = killed.expect("a rotation was killed half way");
    let rotated = json_of(node.command().args(["rotate-master-key", "--json"]));
    assert_eq!((&rotated["new_key"], &rotated["unreadable"]), (&json!(false), &json!([])), "it goes on with the key");
    assert!(rotated["resealed"].as_u64().is_some_and(|count| (1..2_000).contains(&count)), "{rotated}");
    assert_eq!((keys_in_use(&store).await, keys_in_file(node.data_dir())), (1, 2));
    assert_eq!(all_open(&node, &store, tenant).await, 2_000);

    let key_file = File::options().write(true).open(Vault::key_file(node.data_dir())).expect("the key file");
    key_file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).expect("it is ours");
    json_of(node.command().args(["rotate-master-key", "--forget-old", "--json"]));
    assert_eq!(keys_in_file(node.data_dir()), 1);
    assert_eq!(all_open(&node, &store, tenant).await, 2_000);
    store.close().await;
}

/// Runs a command. Returns whether it succeeded, and its output.
fn run(command: &mut Command, keys: &str) -> (bool, String) {
    let output = command.env("SWITCHHOOK_MASTER_KEY", keys).args(["rotate-master-key", "--json"]).output();
    let output = output.expect("the binary starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).expect("text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_settings_is_changed_there_first_and_the_command_says_how() {
    switchhook_net::install_tls();
    let node = Node::new().await;
    let tenant = json_of(node.command().env("SWITCHHOOK_MASTER_KEY", OLD).args(["tenant", "create", "acme", "--json"]));
    let key = text(&tenant["api_key"]["key"]);
    let serve = |keys: &str| node.serve_with("SWITCHHOOK_MASTER_KEY", keys);
    let service = serve(OLD);
    let client = Client::new(service.base.clone(), key.clone());
    let mut receiver = client.receiver().await;
    delivers(&client, &mut receiver).await;

    let (done, said) = run(&mut node.command(), OLD);
    assert!(!done && said.contains("OLD,NEW") && said.contains("NEW,OLD") && !said.contains(OLD), "{said}");
    let (done, said) = run(&mut node.command(), NEW);
    assert!(!done && said.contains("none of the 1 stored secrets opens"), "the settings of another service: {said}");
    service.kill();

    let service = serve(&format!("{NEW},{OLD}"));
    delivers(&Client::new(service.base.clone(), key.clone()), &mut receiver).await;
    let (done, said) = run(&mut node.command(), &format!("{NEW},{OLD}"));
    let rotated: Value = serde_json::from_str(&said).expect("JSON");
    assert!(done && rotated["resealed"] == 1 && rotated["new_key"] == false, "{said}");
    service.kill();

    let service = serve(NEW);
    delivers(&Client::new(service.base.clone(), key), &mut receiver).await;
    assert!(!Vault::key_file(node.data_dir()).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_opens_with_no_key_is_named_and_does_not_stop_the_rest() {
    let service = TestService::start().await;
    let (client, store) = (&service.client, service.store());
    let openai = json!({ "provider": "openai", "credentials": { "api_key": "sk-12345678" } });
    let mut ids = Vec::new();
    for name in ["whole", "damaged"] {
        let mut openai = openai.clone();
        openai["name"] = json!(name);
        ids.push(text(&client.create("/v1/connections", openai).await["id"]));
    }
    let mut records = {
        let mut conn = store.read().await.expect("a connection");
        sealed::page_for_operator(&mut conn, CREDENTIALS, Uuid::nil(), 10).await.expect("records")
    };
    let damaged = records.pop().expect("two");
    let mut tx = store.begin().await.expect("a transaction");
    let changed = sealed::replace_for_operator(&mut tx, CREDENTIALS, &damaged, &[2; 60]).await;
    assert!(changed.expect("changed"));
    tx.commit().await.expect("committed");

    let config = Config::for_tests(service.data_dir());
    let rotated = rotation::rotate(store, &config, &mut |_, _| {}).await.expect("a rotation");
    assert_eq!((rotated.resealed, rotated.unreadable), (1, vec![format!("connections.credentials of {}", ids[1])]));
    service.stop().await;
}
