//! What other users of the machine can read, and what remains of deleted text in files.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use switchhook::recordings::Recordings;
use switchhook::retention::Retention;
use switchhook::store::Dialect;
use switchhook_runtime::clock::Clock;

use crate::harness::process::Node;
use crate::harness::{TIMEOUT, TestService, text};

/// A number that answers, and hangs up in the middle of the agent's sentence.
const HANGS_UP: &str = "+12025550108";
/// The name in the greeting.
const GUEST: &str = "Zebulon";
const DAYS: Duration = Duration::from_secs(3 * 24 * 3_600);

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

/// Returns a folder and everything in it.
fn everything_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(everything_in(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test]
async fn a_data_directory_that_others_can_look_into_stops_the_start() {
    let node = Node::new().await;
    std::fs::set_permissions(node.data_dir(), Permissions::from_mode(0o750)).expect("ours");
    let refused = node.command().args(["serve", "--listen", "127.0.0.1:0"]).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains(&format!("chmod 700 {}", node.data_dir().display())), "{said}");

    std::fs::set_permissions(node.data_dir(), Permissions::from_mode(0o700)).expect("ours");
    node.serve().kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn database_recordings_and_key_are_for_the_owner_only() {
    let service = TestService::start().await;
    let agent = service.client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let call = service.client.place(&agent, HANGS_UP).await;
    let ended = service.client.wait_for_end(&call).await;
    assert!(!ended["recording_url"].is_null(), "{ended}");
    let all = everything_in(service.data_dir());
    for path in &all {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(path), expected, "{}", path.display());
    }
    let mut expected = vec!["master.key".to_owned(), format!("{call}.wav")];
    if service.store().dialect() == Dialect::Sqlite {
        expected.extend(["switchhook.db", "switchhook.db-wal", "switchhook.db-shm"].map(str::to_owned));
    }
    for name in expected {
        assert!(all.iter().any(|path| path.ends_with(&name)), "{name} is among {all:?}");
    }
    service.stop().await;
}

#[tokio::test]
async fn the_database_of_an_earlier_version_becomes_private() {
    let node = Node::on(None);
    let database = node.data_dir().join("switchhook.db");
    node.serve().kill();
    std::fs::set_permissions(&database, Permissions::from_mode(0o644)).expect("ours");
    node.serve().kill();
    assert_eq!(mode(&database), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_erased_words_is_left_in_the_database_file() {
    let service = TestService::start().await;
    if service.store().dialect() != Dialect::Sqlite {
        // PostgreSQL handles deleted rows in its own way.
        return service.stop().await;
    }
    let client = &service.client;
    let agent = client
        .scripted_agent(json!({
            "greeting": { "text": "Hello {{guest}}, this is a long greeting, so that you can hang up in the middle of it." },
            "privacy": { "retention_days": 2 },
        }))
        .await;
    let call = json!({ "agent_id": agent.id, "to": HANGS_UP, "variables": { "guest": GUEST } });
    let call = text(&client.create("/v1/calls", call).await["id"]);
    client.wait_for_end(&call).await;
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    assert!(transcript.to_string().contains(GUEST), "{transcript}");
    let file = service.data_dir().join("switchhook.db");
    let mut connection = SqliteConnectOptions::new().filename(&file).connect().await.expect("the same database");
    let left = async |connection: &mut SqliteConnection| {
        checkpoint(connection).await;
        let bytes = std::fs::read(&file).expect("the database");
        bytes.windows(GUEST.len()).filter(|window| *window == GUEST.as_bytes()).count()
    };
    assert!(left(&mut connection).await > 1, "in the call and in its transcript");

    let then = Clock::system().now() + DAYS;
    let retention = Retention::new(service.store().clone(), Recordings::below(service.data_dir()));
    assert_eq!(retention.erase_expired(then).await.expect("erased"), 1);
    assert_eq!(left(&mut connection).await, 0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_in_the_database_leads_to_no_other_file() {
    let service = TestService::start().await;
    if service.store().dialect() != Dialect::Sqlite {
        // The result does not depend on the database.
        return service.stop().await;
    }
    let client = &service.client;
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let call = client.place(&agent, HANGS_UP).await;
    client.wait_for_end(&call).await;
    let file = service.data_dir().join("switchhook.db");
    let mut connection = SqliteConnectOptions::new().filename(&file).connect().await.expect("the same database");
    for elsewhere in ["master.key", "/etc/passwd", "../master.key"] {
        let changed = sqlx::query("UPDATE calls SET recording = $1").bind(elsewhere).execute(&mut connection).await;
        assert_eq!(changed.expect("written").rows_affected(), 1);
        let request = client.request(Method::GET, &format!("/v1/calls/{call}/recording"));
        let response = request.send().await.expect("an answer");
        let body = response.bytes().await.expect("a body");
        assert!(body.starts_with(b"RIFF"), "{elsewhere}: the recording, and nothing else");
    }
    service.stop().await;
}

/// Makes SQLite copy all committed data into the file.
async fn checkpoint(connection: &mut SqliteConnection) {
    let all = async {
        loop {
            let (busy, _, _): (i64, i64, i64) =
                sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await.expect("tried");
            if busy == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, all).await.expect("nobody reads for ever");
}
