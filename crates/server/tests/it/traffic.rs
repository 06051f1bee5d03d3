//! Which versions of an agent calls get: pinned, split and rolled back.

use std::collections::BTreeSet;
use std::process::Command;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Agent, Client, TestService, private_folder, text};

/// A service whose agent has this version.
async fn ready(version: i64) -> (TestService, Agent, String) {
    let (service, agent) = TestService::ready().await;
    let path = format!("/v1/agents/{}", agent.id);
    for next in 2..=version {
        let (_, changed) = service.client.patch(&path, json!({ "instructions": format!("Book table {next}.") })).await;
        assert_eq!(changed["version"], next, "{changed}");
    }
    (service, agent, path)
}

/// The version that a call would get.
async fn version(client: &Client, agent: &Agent) -> i64 {
    let body = json!({ "agent_id": agent.id, "to": "+12025550100", "dry_run": true });
    let (status, call) = client.post("/v1/calls", body).await;
    assert_eq!(status, StatusCode::OK, "{call}");
    call["agent_version"].as_i64().expect("a version")
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_get_the_version_that_traffic_names() {
    let (service, agent, path) = ready(3).await;
    let client = &service.client;
    let (_, before) = client.get(&path).await;
    assert_eq!((&before["traffic"], version(client, &agent).await), (&Value::Null, 3));

    let pinned = json!([{ "version": 1, "percent": 100 }]);
    let (status, changed) = client.patch(&path, json!({ "traffic": pinned })).await;
    assert_eq!((status, &changed["traffic"], &changed["version"]), (StatusCode::OK, &pinned, &json!(3)), "{changed}");
    assert_ne!(changed["updated_at"], before["updated_at"]);
    let call = client.place(&agent, "+12025550100").await;
    assert_eq!(client.hang_up_after(&call, 1).await["agent_version"], 1);

    let (_, numbers) = client.get("/v1/numbers").await;
    client
        .patch(&format!("/v1/numbers/{}", text(&numbers["data"][0]["id"])), json!({ "inbound_agent_id": agent.id }))
        .await;
    let ring = json!({ "to": "+12025550199", "from": "+12025550100" });
    let call = text(&client.create("/v1/simulator/inbound", ring).await["id"]);
    assert_eq!(client.hang_up_after(&call, 1).await["agent_version"], 1);

    // A version that the call names comes first.
    let named = |version: i64| json!({ "agent_id": agent.id, "to": "+12025550100", "agent_version": version });
    let call = client.create("/v1/calls", named(2)).await;
    assert_eq!(call["agent_version"], 2);
    let (status, refused) = client.post("/v1/calls", named(4)).await;
    assert_eq!(
        (status, &refused["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("agent_version")),
        "{refused}"
    );

    let (_, changed) = client.patch(&path, json!({ "instructions": "Book table 4." })).await;
    assert_eq!((&changed["version"], &changed["traffic"]), (&json!(4), &pinned));
    let warned = changed["warnings"].to_string();
    assert!(warned.contains("traffic: calls get version 1, and none gets version 4"), "{warned}");
    assert_eq!(version(client, &agent).await, 1);
    client.patch(&path, json!({ "traffic": null })).await;
    assert_eq!(version(client, &agent).await, 4);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_split_and_keep_their_version_when_they_are_asked_for_again() {
    let (service, agent, path) = ready(3).await;
    let client = &service.client;
    // The new version may be named by the change that makes it.
    let split = json!([{ "version": 2, "percent": 50 }, { "version": 4, "percent": 50 }]);
    let (status, changed) = client.patch(&path, json!({ "instructions": "Book table 4.", "traffic": split })).await;
    assert_eq!((status, &changed["version"], &changed["traffic"]), (StatusCode::OK, &json!(4), &split), "{changed}");
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        seen.insert(version(client, &agent).await);
    }
    assert_eq!(seen, BTreeSet::from([2, 4]));

    let body = json!({ "agent_id": agent.id, "to": "+12025550100" });
    let mut versions = BTreeSet::new();
    for _ in 0..20 {
        let request = client.request(reqwest::Method::POST, "/v1/calls").header("Idempotency-Key", "once").json(&body);
        let call: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        versions.insert(call["agent_version"].as_i64());
    }
    assert_eq!(versions.len(), 1, "{versions:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_that_makes_no_sense_is_refused_and_changes_nothing() {
    let (service, agent, path) = ready(2).await;
    let client = &service.client;
    client.patch(&path, json!({ "traffic": [{ "version": 1, "percent": 100 }] })).await;
    let (_, before) = client.get(&path).await;
    for (traffic, at) in [
        (json!([]), "traffic"),
        (json!([{ "version": 1, "percent": 99 }]), "traffic"),
        (json!([{ "version": 1, "percent": 100 }, { "version": 2, "percent": 0 }]), "traffic.1.percent"),
        (json!([{ "version": 1, "percent": 50 }, { "version": 1, "percent": 50 }]), "traffic.1.version"),
        (json!([{ "version": 1, "percent": 50 }, { "version": 3, "percent": 50 }]), "traffic.1.version"),
        (json!([{ "version": 0, "percent": 100 }]), "traffic.0.version"),
        (json!([{ "version": 1, "percent": 99.5 }]), "traffic.0.percent"),
        (json!([{ "version": 1 }]), "traffic.0.percent"),
        (json!([[1, 100]]), "traffic.0"),
        (json!({ "1": 100 }), "traffic"),
    ] {
        let (status, refused) = client.patch(&path, json!({ "traffic": traffic })).await;
        assert_eq!(
            (status, &refused["errors"][0]["path"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!(at)),
            "{traffic}: {refused}"
        );
    }
    let (_, after) = client.get(&path).await;
    assert_eq!(before, after);

    let odd = json!({ "traffic": [{ "version": 2, "percent": 100, "weight": 3 }] });
    let (_, changed) = client.patch(&path, odd).await;
    assert!(changed["warnings"].to_string().contains("traffic.0.weight"), "{changed}");
    let new = json!({ "name": "Eve", "instructions": "Hi.", "traffic": [{ "version": 2, "percent": 100 }] });
    let (status, refused) = client.post("/v1/agents", new).await;
    assert_eq!(
        (status, &refused["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("traffic.0.version")),
        "a new agent has one version: {refused}"
    );
    let stranger = service.another_tenant().await;
    let theirs = json!({ "traffic": [{ "version": 1, "percent": 100 }] });
    assert_eq!(stranger.patch(&path, theirs).await.0, StatusCode::NOT_FOUND);
    assert_eq!(version(client, &agent).await, 2);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_traffic_and_texts_are_both_kept() {
    let (service, _, path) = ready(2).await;
    let client = &service.client;
    for round in 0..10 {
        let traffic = json!([{ "version": 1, "percent": 50 + round }, { "version": 2, "percent": 50 - round }]);
        let texts = json!({ "instructions": format!("Book table {round} at once.") });
        let (routed, changed) =
            tokio::join!(client.patch(&path, json!({ "traffic": traffic })), client.patch(&path, texts.clone()));
        assert_eq!((routed.0, changed.0), (StatusCode::OK, StatusCode::OK), "{} {}", routed.1, changed.1);
        let (_, now) = client.get(&path).await;
        assert_eq!((&now["traffic"], &now["instructions"]), (&traffic, &texts["instructions"]), "{now}");
        assert_eq!(now["version"], 3 + round, "only the texts make a version");
    }
    service.stop().await;
}

/// Runs the binary beside the service: its code, output and errors.
async fn run(mut command: Command, arguments: &[&str]) -> (Option<i32>, String, String) {
    command.args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic").expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_rolled_back_by_a_command() {
    let (service, agent, path) = ready(4).await;
    let client = &service.client;
    for (arguments, said) in [
        (&["rollback", "Ava"][..], "New calls of Ava get version 3 (before: the newest version).\n"),
        (&["rollback", "Ava"], "New calls of Ava get version 2 (before: version 3).\n"),
        (
            &["traffic", "Ava", "2=90", "4=10"],
            "New calls of Ava get 90 % version 2, 10 % version 4 (before: version 2).\n",
        ),
        (&["traffic", "Ava"], "New calls of Ava get 90 % version 2, 10 % version 4.\n"),
        (&["rollback", "Ava"], "New calls of Ava get version 2 (before: 90 % version 2, 10 % version 4).\n"),
        (&["rollback", "Ava", "--to", "1"], "New calls of Ava get version 1 (before: version 2).\n"),
    ] {
        let ran = run(service.command(), &[&["agent"], arguments].concat()).await;
        assert_eq!(ran, (Some(0), said.to_owned(), String::new()), "{arguments:?}");
    }
    assert_eq!(version(client, &agent).await, 1);
    for (arguments, said) in [
        (&["rollback", "Ava"][..], "\"Ava\" has no version before version 1"),
        (&["rollback", "Ava", "--to", "9"], "there is no version 9 of this agent; its newest is 4"),
        (&["rollback", "Avaa"], "there is no agent \"Avaa\"; did you mean \"Ava\"?"),
        (&["traffic", "Ava", "1=50", "2=51"], "must add up to 100 percent, not 101"),
    ] {
        let (code, _, err) = run(service.command(), &[&["agent"], arguments].concat()).await;
        assert!(code == Some(2) && err.contains(said), "{arguments:?}: {err}");
    }
    let (_, out, _) = run(service.command(), &["agent", "versions", "Ava", "--json"]).await;
    let versions: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&versions[0]["version"], &versions[0]["percent"]), (&json!(4), &json!(0)), "{versions}");
    assert_eq!((&versions[3]["version"], &versions[3]["percent"]), (&json!(1), &json!(100)), "{versions}");
    run(service.command(), &["agent", "traffic", "Ava", "newest"]).await;
    let (_, now) = client.get(&path).await;
    assert_eq!((&now["traffic"], &now["version"]), (&Value::Null, &json!(4)));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_say_how_calls_are_split() {
    let (service, agent, _) = ready(2).await;
    let folder = private_folder();
    let file = folder.path().join("all.yaml");
    let path = file.to_str().expect("text");
    run(service.command(), &["agent", "rollback", "Ava"]).await;
    let (code, _, err) = run(service.command(), &["export", "-o", path]).await;
    assert_eq!(code, Some(0), "{err}");
    let exported = std::fs::read_to_string(&file).expect("written");
    assert!(exported.contains("    traffic:\n      - percent: 100\n        version: 1\n"), "{exported}");
    let (_, out, _) = run(service.command(), &["apply", "-f", path]).await;
    assert!(out.starts_with("Nothing changes"), "{out}");

    let split = "traffic: [{version: 1, percent: 80}, {version: 3, percent: 20}]";
    let canary = exported
        .replace("traffic:\n      - percent: 100\n        version: 1\n", &format!("{split}\n"))
        .replace("Book table 2.", "Book table 3.");
    std::fs::write(&file, &canary).expect("written");
    let (code, out, err) = run(service.command(), &["apply", "-f", path]).await;
    assert!(code == Some(0) && out.contains("changed agent Ava (version 3)") && out.contains("traffic"), "{out}{err}");
    std::fs::write(&file, canary.replace("version: 3", "version: 7")).expect("written");
    let (code, _, err) = run(service.command(), &["apply", "-f", path]).await;
    let said = "agents[0].traffic.1.version: there is no version 7 of this agent; its newest is 3";
    assert!(code == Some(1) && err.contains(said), "{err}");

    // A field that is absent has its default.
    std::fs::write(&file, canary.replace(split, "")).expect("written");
    let (code, out, err) = run(service.command(), &["apply", "-f", path]).await;
    assert!(code == Some(0) && out.contains("-> none") && out.contains("(version 3)"), "{out}{err}");
    assert_eq!(version(&service.client, &agent).await, 3);
    service.stop().await;
}
