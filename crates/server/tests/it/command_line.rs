//! The command line: its output and exit codes.

use std::collections::HashSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use switchhook_core::Timestamp;
use switchhook_core::webhook::SigningSecret;
use tokio::net::TcpListener;

use crate::cluster::until;
use crate::harness::process::{Node, json_of};
use crate::harness::text;

/// Arguments, environment, and part of the sentence that refuses them.
struct Case<'a>(&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[tokio::test]
async fn bad_usage_and_bad_configuration_are_one_sentence_and_exit_code_2() {
    let node = Node::new().await;
    let broken = tempfile::NamedTempFile::new().expect("a file");
    writeln!(broken.as_file(), "listen = 7").expect("written");
    let file = broken.path().to_str().expect("text").to_owned();
    let table: [Case; 7] = [
        Case(&["serve", "--listen", "nowhere"], &[], "nowhere"),
        Case(&["serve", "--config", &file], &[], "listen"),
        Case(&["serve", "--config", "/does/not/exist.toml"], &[], "/does/not/exist.toml"),
        Case(&["serve"], &[("SWITCHHOOK_ENV", "prod")], "SWITCHHOOK_MASTER_KEY"),
        Case(&["serve"], &[("SWITCHHOOK_LOG", "loud")], "SWITCHHOOK_LOG must be one of off, error"),
        Case(&["serve"], &[("SWITCHHOOK_DATABASE_URL", "mysql://x")], "database_url"),
        Case(&["migrate"], &[("SWITCHHOOK_WEBHOOK_RETRY_DELAYS", "soon")], "SWITCHHOOK_WEBHOOK_RETRY_DELAYS"),
    ];
    for Case(arguments, environment, words) in table {
        let (code, out, err) = run(node.command().args(arguments).envs(environment.iter().copied()));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert_eq!(err.trim_end().lines().count(), 1, "{err}");
        assert!(err.to_lowercase().contains(&words.to_lowercase()), "{arguments:?}: {err}");
    }
    assert_eq!(run(node.command().arg("fly")).0, Some(2));
}

#[tokio::test]
async fn tenants_and_keys_are_managed_while_the_service_runs_and_while_it_is_down() {
    let node = Node::new().await;
    let created = json_of(node.command().args(["tenant", "create", "acme", "--concurrent-calls", "3", "--json"]));
    let (id, key) = (text(&created["tenant"]["id"]), text(&created["api_key"]["key"]));
    assert_eq!((&created["tenant"]["concurrent_calls"], &created["tenant"]["name"]), (&3.into(), &"acme".into()));

    let service = node.serve();
    let status = async |key: &str| {
        let request = reqwest::Client::new().get(format!("{}/v1/tenant", service.base)).bearer_auth(key);
        request.send().await.expect("an answer").status().as_u16()
    };
    switchhook_net::install_tls();
    assert_eq!(status(&key).await, 200);
    assert_eq!(run(node.command().args(["tenant", "deactivate", &id])).0, Some(0));
    assert_eq!(status(&key).await, 403);
    assert_eq!(run(node.command().args(["tenant", "activate", &id])).0, Some(0));
    let another = json_of(node.command().args(["key", "create", &id, "--name", "spare", "--json"]));
    assert_eq!(status(&text(&another["key"])).await, 200);
    let revoked = json_of(node.command().args(["key", "revoke", &id, &text(&another["id"]), "--json"]));
    assert_eq!(revoked["id"], another["id"]);
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    assert_eq!(status(&text(&another["key"])).await, 401);
    let listed = json_of(node.command().args(["tenant", "list", "--json"]));
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let unknown = "0198c6a0-0000-7000-8000-000000000000";
    for command in [["tenant", "show"], ["key", "list"], ["key", "create"]] {
        let (code, out, err) = run(node.command().args(command).arg(unknown));
        assert!(code == Some(1) && out.is_empty() && err.contains(unknown), "{command:?}: {out}{err}");
    }
    assert_eq!(json_of(node.command().args(["migrate", "--json"]))["up_to_date"], true);
    service.kill();
}

/// Process 1 of a container gets no signal without a handler.
#[tokio::test]
async fn what_waits_for_a_database_ends_when_it_is_asked_to() {
    for (arguments, code) in [(&["serve", "--listen", "127.0.0.1:0"][..], 0), (&["tenant", "list"], 143)] {
        let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = silent.local_addr().expect("bound");
        let node = Node::on(Some(format!("postgres://postgres@{address}/postgres?sslmode=disable")));
        let mut command = node.command();
        let started = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut process = started.expect("the binary starts");
        let _waits = silent.accept().await.expect("it connects");
        let caught = async || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("it runs");
            let caught =
                status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("the signals that it catches");
            u64::from_str_radix(caught.trim(), 16).expect("a mask") >> (15 - 1) & 1 == 1
        };
        until("it catches SIGTERM", Duration::from_secs(10), caught).await;
        let sent = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", process.id())).status();
        assert!(sent.expect("a shell").success());
        let ended = tokio::task::spawn_blocking(move || process.wait().expect("it is ours")).await.expect("no panic");
        assert_eq!(ended.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_command_that_needs_a_database_creates_none() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let commands: [&[&str]; 5] =
        [&["tenant", "list"], &["export"], &["agent", "versions", "Ava"], &["rotate-master-key"], &["backup", "copy"]];
    for arguments in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchhook"));
        command.args(arguments).current_dir(folder.path()).env_remove("SWITCHHOOK_DATABASE_URL");
        let (code, _, err) = run(command.env("SWITCHHOOK_DATA_DIR", "data"));
        let missing = "there is no database data/switchhook.db: pass the --data-dir of the service";
        assert!(code == Some(1) && err.contains(missing), "{arguments:?}: {code:?} {err}");
        let created = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(created, 0, "{arguments:?}");
    }
}

#[tokio::test]
async fn a_command_that_only_looks_does_not_migrate_the_database() {
    let node = Node::on(None);
    json_of(node.command().args(["tenant", "create", "acme", "--json"]));
    let file = node.data_dir().join("switchhook.db");
    let mut database = SqliteConnectOptions::new().filename(&file).connect().await.expect("the same database");
    // As a service of an earlier version left it.
    let earlier = "DELETE FROM _sqlx_migrations WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";
    sqlx::query(earlier).execute(&mut database).await.expect("written");
    let version = async |database: &mut SqliteConnection| -> i64 {
        let version = sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations");
        version.fetch_one(database).await.expect("a number")
    };
    let before = version(&mut database).await;
    let unknown = "0198c6a0-0000-7000-8000-000000000000";
    for arguments in [&["tenant", "list"][..], &["tenant", "show", unknown], &["key", "list", unknown]] {
        let (code, out, err) = run(node.command().args(arguments));
        assert!(code == Some(1) && out.is_empty() && err.contains("use the version of the service"), "{out}{err}");
    }
    assert_eq!(version(&mut database).await, before);
}

#[tokio::test]
async fn names_of_others_do_not_control_the_terminal() {
    let node = Node::new().await;
    let created = json_of(node.command().args(["tenant", "create", "acme", "--json"]));
    let id = text(&created["tenant"]["id"]);
    let name = "x\u{1b}]52;c;eA==\u{7}\r\nforged\u{9b}2J";
    assert_eq!(run(node.command().args(["key", "create", &id, "--name", name])).0, Some(0));
    for arguments in [&["key", "list", &id][..], &["key", "list", &id, "--json"]] {
        let (code, out, err) = run(node.command().args(arguments));
        assert!(code == Some(0) && out.contains("forged"), "{out}{err}");
        assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out:?}");
        assert!(!out.lines().any(|line| line.starts_with("forged")), "{out:?}");
    }
}

#[tokio::test]
async fn an_operator_sets_what_a_tenant_may_store_and_restores_it() {
    let node = Node::new().await;
    let created = json_of(node.command().args(["tenant", "create", "acme", "--json"]));
    let id = text(&created["tenant"]["id"]);
    let set = |options: &[&str]| {
        let mut command = node.command();
        json_of(command.args(["tenant", "set", &id, "--json"]).args(options))["stored_limits"].clone()
    };
    let defaults = json!({ "agents": 500, "connections": 200, "numbers": 1000, "webhooks": 20, "people": 200,
        "api_keys": 500, "agent_bytes": 268_435_456 });
    assert_eq!(created["tenant"]["stored_limits"], defaults);
    let own = ["--max-agents", "1", "--max-connections", "2", "--max-numbers", "3", "--max-webhooks", "4"];
    let own =
        set(&[&own[..], &["--max-people", "5", "--max-api-keys", "6", "--max-agent-bytes", "6000000000"]].concat());
    let expected = json!({ "agents": 1, "connections": 2, "numbers": 3, "webhooks": 4, "people": 5,
        "api_keys": 6, "agent_bytes": 6_000_000_000_i64 });
    assert_eq!(own, expected);
    assert_eq!(set(&["--max-agents", "none"])["agents"], 500);
    assert_eq!(json_of(node.command().args(["tenant", "show", &id, "--json"]))["stored_limits"]["people"], 5);
    let (code, shown, _) = run(node.command().args(["tenant", "show", &id]));
    assert!(code == Some(0) && shown.contains("agent_bytes  6000000000"), "{shown}");
    assert_eq!(run(node.command().args(["tenant", "set", &id, "--max-agents", "few"])).0, Some(2));
}

#[test]
fn models_are_pulled_with_uvx_where_there_is_no_pip() {
    let node = Node::on(None);
    let programs = tempfile::tempdir().expect("a temporary folder");
    let uvx = programs.path().join("uvx");
    let script = "#!/bin/sh\necho \"$*\" >>\"$0.asked\"\n[ \"$1\" = --version ] && exit\necho 'ERROR: No such wheel' >&2\nexit 1\n";
    std::fs::write(&uvx, script).expect("written");
    std::fs::set_permissions(&uvx, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let pull = || run(node.command().args(["models", "pull"]).env("PATH", programs.path()));

    let (code, _, err) = pull();
    assert!(code == Some(1) && err.contains("(No such wheel)"), "{code:?} {err}");
    let asked = std::fs::read_to_string(programs.path().join("uvx.asked")).expect("it was called");
    let asked: Vec<&str> = asked.lines().collect();
    let [version, download] = asked[..] else { panic!("called twice: {asked:?}") };
    assert_eq!(version, "--version", "pip itself is not downloaded for a question");
    assert!(download.starts_with("pip download ") && download.contains("--require-hashes"), "{download}");

    std::fs::remove_file(&uvx).expect("it is ours");
    let (code, _, err) = pull();
    assert!(code == Some(1) && err.contains("install Python's pip or uv"), "{code:?} {err}");
}

#[tokio::test]
async fn seeding_again_gives_a_new_key_for_the_same_tenant() {
    let node = Node::new().await;
    let first = json_of(node.command().args(["seed", "--json"]));
    let second = json_of(node.command().args(["seed", "--json"]));
    assert_eq!(first["tenant"]["id"], second["tenant"]["id"]);
    assert_eq!(first["agent_id"], second["agent_id"]);
    assert_ne!(first["api_key"]["key"], second["api_key"]["key"]);
}

#[tokio::test]
async fn the_reference_verifier_agrees_with_the_signer() {
    let node = Node::new().await;
    let now = switchhook_runtime::clock::Clock::system().now();
    let secret = SigningSecret::generate(switchhook_runtime::clock::random());
    let body = br#"{"event":"call.completed"}"#;
    let verify = |at: Timestamp, body: &[u8]| {
        let header = SigningSecret::header(std::slice::from_ref(&secret), at, body);
        let mut child = node
            .command()
            .args(["webhook", "verify", "--secret", secret.reveal(), "--signature", &header])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        child.stdin.take().expect("piped").write_all(br#"{"event":"call.completed"}"#).expect("read");
        child.wait().expect("it ends").code()
    };
    assert_eq!(verify(now, body), Some(0));
    assert_eq!(verify(now, b"another body"), Some(1));
    assert_eq!(verify(Timestamp::from_micros(now.as_micros() - 400_000_000), body), Some(1), "too old");
}

#[tokio::test]
async fn the_openapi_document_describes_every_path_of_the_api() {
    let node = Node::new().await;
    let document = json_of(node.command().arg("openapi"));
    let paths = document["paths"].as_object().expect("paths");
    for path in [
        "/v1/calls",
        "/v1/calls/{id}",
        "/v1/calls/{id}/hangup",
        "/v1/agents",
        "/v1/webhooks",
        "/v1/api-keys",
        "/v1/simulator/inbound",
    ] {
        assert!(paths.contains_key(path), "{path} of {:?}", paths.keys().collect::<Vec<_>>());
    }
}

/// Answers as a service that has just started again when a call has ended: it refuses the result and the transcript at first.
async fn restarted(State(asked): State<Arc<Mutex<HashSet<String>>>>, uri: Uri) -> Response {
    let first = asked.lock().expect("no panic").insert(uri.path().to_owned());
    match uri.path() {
        "/v1/agents" => Json(json!({ "data": [{ "id": "a1", "name": "Ava" }] })).into_response(),
        "/v1/calls" => Json(json!({ "id": "c1" })).into_response(),
        "/v1/calls/c1/events" => StatusCode::NO_CONTENT.into_response(),
        "/v1/calls/c1" if first => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        "/v1/calls/c1" => Json(json!({ "id": "c1", "status": "completed" })).into_response(),
        _ if first => (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")]).into_response(),
        _ => Json(json!({ "data": [{ "role": "agent", "text": "Hello." }] })).into_response(),
    }
}

#[tokio::test]
async fn the_result_of_a_call_is_read_when_the_service_is_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let asked = Arc::<Mutex<HashSet<String>>>::default();
    let router = Router::new().fallback(restarted).with_state(asked);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let node = Node::new().await;
    let mut command = node.command();
    command.args(["call", "+12025550100", "--agent", "Ava", "--key", "vk_dev_any", "--json", "--url", &url]);
    let ended = tokio::task::spawn_blocking(move || run(&mut command)).await;
    let (code, out, err) = ended.expect("no panic");
    assert_eq!(code, Some(0), "{err}");
    let call: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&call["status"], &call["transcript"][0]["text"]), (&json!("completed"), &json!("Hello.")));
}
