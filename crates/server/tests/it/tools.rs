//! `switchhook call` and `switchhook doctor`, used by people and programs.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::process::{Node, json_of};
use crate::harness::{Client, text};

/// Creates a node with a tenant's key.
async fn node_with_key() -> (Node, String) {
    switchhook_net::install_tls();
    let node = Node::new().await;
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--json"]));
    let key = text(&tenant["api_key"]["key"]);
    (node, key)
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_from_the_terminal_is_followed_to_its_end() {
    let (node, key) = node_with_key().await;
    let service = node.serve();
    let client = Client::new(service.base.clone(), key.clone());
    client.scripted_agent(json!({})).await;
    let call = |arguments: &[&str]| {
        let mut command = node.command();
        command.arg("call").args(arguments).env("SWITCHHOOK_URL", &service.base).env("SWITCHHOOK_API_KEY", &key);
        command
    };
    let (code, out, err) = run(&mut call(&["+12025550108", "--agent", "Ava"]));
    assert_eq!(code, Some(0), "{out}{err}");
    for words in ["call.queued", "from +12025550199 to +12025550108", "Agent", "Hello", "caller_hangup", "completed"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(!out.contains('\u{1b}'), "no colours in a pipe");

    let busy = call(&["+12025550101", "--agent", "Ava", "--json"]).output().expect("the binary starts");
    let printed: Value = serde_json::from_slice(&busy.stdout).expect("JSON and nothing else");
    assert_eq!((busy.status.code(), &printed["error_code"]), (Some(1), &json!("busy")));
    assert_eq!(printed["transcript"], json!([]));

    let table: [(&[&str], &str, &str); 5] = [
        (&["+12025550108", "--agent", "Bob"], &key, "Ava"),
        (&["110", "--agent", "Ava"], &key, "E.164"),
        (&["+12025550108", "--agent", "Ava", "--var", "x"], &key, "NAME=VALUE"),
        (&["+12025550108", "--agent", "Ava"], "", "SWITCHHOOK_API_KEY"),
        (&["+12025550108", "--agent", "Ava", "--url", "nowhere"], &key, "nowhere"),
    ];
    for (arguments, key, words) in table {
        let (code, _, err) = run(call(arguments).env("SWITCHHOOK_API_KEY", key));
        assert!(code == Some(2) && err.contains(words), "{arguments:?}: {code:?} {err}");
    }
    let (code, _, err) = run(&mut call(&["+12025550108", "--agent", "Ava", "--url", "http://127.0.0.1:9"]));
    assert!(code == Some(1) && err.contains("switchhook serve"), "{err}");

    // Ctrl-C ends the call, and the command waits for the end.
    let mut held = call(&["+12025550109", "--agent", "Ava"]).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut lines = BufReader::new(held.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.find(|line| line.contains("call.in_progress")).expect("it is answered");
    let interrupted = Command::new("kill").args(["-INT", &held.id().to_string()]).status().expect("kill is there");
    assert!(interrupted.success());
    assert!(lines.any(|line| line.contains("api_hangup")));
    assert_eq!(held.wait().expect("it ends").code(), Some(0));
    service.kill();
}

fn doctor(node: &Node, environment: &[(&str, &str)]) -> (Option<i32>, Value) {
    let output = node.command().args(["doctor", "--json"]).envs(environment.iter().copied()).output();
    let output = output.expect("the binary starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!(report["ok"], output.status.success(), "{report}");
    (output.status.code(), report)
}

fn check<'r>(report: &'r Value, name: &str) -> &'r Value {
    let checks = report["checks"].as_array().expect("a list");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name} of {report}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_looks_before_the_first_start_while_the_service_runs_and_after_it() {
    let fresh = Node::new().await;
    let free = [("SWITCHHOOK_LISTEN", "127.0.0.1:0")];
    let (code, report) = doctor(&fresh, &free);
    assert_eq!(code, Some(0), "nothing is wrong before the first start: {report}");
    assert!(std::fs::read_dir(fresh.data_dir()).expect("it is there").next().is_none(), "and nothing was made");

    let (node, key) = node_with_key().await;
    let service = node.serve();
    let client = Client::new(service.base.clone(), key);
    client.scripted_agent(json!({})).await;
    let listen = service.base.trim_start_matches("http://").to_owned();
    let by_name = service.base.replace("127.0.0.1", "0.0.0.0");
    let running = [("SWITCHHOOK_LISTEN", listen.as_str()), ("SWITCHHOOK_PUBLIC_URL", by_name.as_str())];
    let (code, report) = doctor(&node, &running);
    assert_eq!(code, Some(0), "{report}");
    assert!(text(&check(&report, "port")["detail"]).contains("runs"), "{report}");
    assert!(
        text(&check(&report, "public address")["detail"]).contains("on this machine"),
        "this very instance: {report}"
    );
    assert_eq!(check(&report, "database")["status"], "ok");
    assert_eq!(check(&report, "connection simulator of acme")["status"], "ok", "{report}");
    assert_eq!(check(&report, "connection scripted of acme")["status"], "ok", "{report}");
    let models = check(&report, "speech models");
    assert_eq!((&models["status"], text(&models["fix"]).contains("models pull")), (&json!("warning"), true));
    service.kill();
    let (code, report) = doctor(&node, &running);
    assert_eq!(code, Some(0), "{report}");
    assert!(text(&check(&report, "port")["detail"]).contains("free"), "{report}");
    assert_eq!(check(&report, "public address")["status"], "warning", "nobody answers there: {report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_what_is_broken_and_says_how_to_fix_it() {
    let (node, key) = node_with_key().await;
    let service = node.serve();
    let client = Client::new(service.base.clone(), key);
    let model = json!({
        "name": "model", "provider": "openai", "settings": { "base_url": "https://model.invalid/v1" },
        "credentials": { "api_key": "sk-a-secret-key" },
    });
    client.create("/v1/connections", model).await;
    client.create("/v1/webhooks", json!({ "url": "http://127.0.0.1:9/hook?token=hush" })).await;
    let (_, webhooks) = client.get("/v1/webhooks").await;
    let webhook = text(&webhooks["data"][0]["id"]);
    let disable =
        client.request(reqwest::Method::PATCH, &format!("/v1/webhooks/{webhook}")).json(&json!({ "enabled": false }));
    assert!(disable.send().await.expect("an answer").status().is_success());
    service.kill();
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let taken = other.local_addr().expect("it listens").to_string();
    drop(tokio::spawn(async move {
        while let Ok((stream, _)) = other.accept().await {
            drop(stream);
        }
    }));
    let another_key = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=";
    let environment = [
        ("SWITCHHOOK_LISTEN", taken.as_str()),
        ("SWITCHHOOK_ENV", "prod"),
        ("SWITCHHOOK_MASTER_KEY", another_key),
        ("SWITCHHOOK_PUBLIC_URL", "http://no-such-name.invalid"),
    ];
    let (code, report) = doctor(&node, &environment);
    assert_eq!(code, Some(1));
    for name in ["port", "public address", "dns", "webhook secrets of acme", "connection model of acme"] {
        let found = check(&report, name);
        assert_eq!(found["status"], "problem", "{name}: {report}");
        assert!(!text(&found["fix"]).is_empty());
    }
    let disabled = check(&report, &format!("webhook {webhook} of acme"));
    assert_eq!(disabled["status"], "warning");
    let printed = report.to_string();
    assert!(!printed.contains("hush") && !printed.contains("sk-a-secret") && !printed.contains(another_key));

    let (code, report) = doctor(&node, &[("SWITCHHOOK_WEBHOOK_TIMEOUT", "soon")]);
    assert_eq!((code, &check(&report, "configuration")["status"]), (Some(1), &json!("problem")));
    let (code, report) = doctor(&node, &[("SWITCHHOOK_DATABASE_URL", "postgres://nobody@127.0.0.1:9/x")]);
    assert_eq!((code, &check(&report, "database")["status"]), (Some(1), &json!("problem")));
    let (code, out, _) = run(node.command().arg("doctor").env("SWITCHHOOK_LISTEN", &taken));
    assert!(code == Some(1) && out.contains("problem  port: ") && out.contains("fix: "), "{out}");
    assert!(!out.contains('\u{1b}'), "no colours in a pipe");
}
