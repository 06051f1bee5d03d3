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

async fn delete(client: &Client, path: &str) -> (StatusCode, Value) {
    let response = client.request(reqwest::Method::DELETE, path).send().await.expect("an answer");
    (response.status(), response.json().await.unwrap_or_default())
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
    assert!(warned.contains("traffic: new calls get version 1; no call gets version 4"), "{warned}");
    assert_eq!(version(client, &agent).await, 1);
    // The configuration is restored, and calls still get the pinned version.
    let (_, restored) = client.post(&format!("{path}/versions/2/restore"), json!({})).await;
    assert_eq!((&restored["version"], &restored["traffic"]), (&json!(5), &pinned));
    assert!(restored["warnings"].to_string().contains("no call gets version 5"), "{restored}");
    let (_, shown) = client.get(&format!("{path}/versions/4")).await;
    assert_eq!((&shown["version"], &shown["traffic"]), (&json!(4), &pinned));
    assert_eq!(version(client, &agent).await, 1);
    let (_, changed) = client.patch(&path, json!({ "traffic": null })).await;
    assert!(!changed["warnings"].to_string().contains("traffic"), "{changed}");
    assert_eq!(version(client, &agent).await, 5);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_a_browser_gets_a_version_as_others_do() {
    let (service, agent, path) = ready(3).await;
    let client = &service.client;
    client.patch(&path, json!({ "traffic": [{ "version": 1, "percent": 100 }] })).await;
    for (named, expected) in [(Value::Null, 1), (json!(2), 2)] {
        let body = json!({ "agent_id": agent.id, "to": "web", "agent_version": named });
        assert_eq!(client.create("/v1/calls", body).await["agent_version"], expected);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_call_keeps_the_version_that_it_was_accepted_with() {
    let (service, agent, path) = ready(2).await;
    let client = &service.client;
    let body = json!({ "agent_id": agent.id, "to": "+12025550100", "schedule_at": "2027-01-01T00:00:00Z" });
    let call = text(&client.create("/v1/calls", body).await["id"]);
    client.patch(&path, json!({ "traffic": [{ "version": 1, "percent": 100 }] })).await;
    assert_eq!(client.get(&format!("/v1/calls/{call}")).await.1["agent_version"], 2);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_validated_against_the_version_that_it_gets() {
    let (service, agent, path) = ready(1).await;
    let client = &service.client;
    let (_, changed) = client.patch(&path, json!({ "variables": { "name": { "required": true } } })).await;
    assert_eq!(changed["version"], 2, "{changed}");
    let call =
        |version: i64| json!({ "agent_id": agent.id, "to": "+12025550100", "agent_version": version, "dry_run": true });
    let (status, refused) = client.post("/v1/calls", call(2)).await;
    assert_eq!(
        (status, &refused["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("variables.name")),
        "{refused}"
    );
    assert_eq!(client.post("/v1/calls", call(1)).await.0, StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_versions_that_get_calls_stay() {
    let (service, _, path) = ready(1).await;
    let client = &service.client;
    let connection = json!({ "name": "model", "provider": "openai", "credentials": { "api_key": "sk-0123456789" } });
    let connection = client.create("/v1/connections", connection).await;
    let at = format!("/v1/connections/{}", text(&connection["id"]));
    client.patch(&path, json!({ "llm": { "connection_id": connection["id"] } })).await;
    client
        .patch(&path, json!({ "llm": { "connection_id": null }, "traffic": [{ "version": 2, "percent": 100 }] }))
        .await;
    let (status, refused) = delete(client, &at).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    assert!(refused["detail"].to_string().contains("Ava"), "{refused}");

    client.patch(&path, json!({ "traffic": null })).await;
    assert_eq!(delete(client, &at).await.0, StatusCode::NO_CONTENT);
    let (status, refused) = client.patch(&path, json!({ "traffic": [{ "version": 2, "percent": 100 }] })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    let error = &refused["errors"][0];
    assert_eq!(error["path"], "traffic.0.version", "{refused}");
    assert_eq!(error["message"], "version 2 no longer works: llm.connection_id no such connection", "{refused}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_split_and_keep_their_version_when_they_are_asked_for_again() {
    let (service, agent, path) = ready(4).await;
    let client = &service.client;
    let split = json!([{ "version": 2, "percent": 50 }, { "version": 4, "percent": 50 }]);
    let (status, changed) = client.patch(&path, json!({ "traffic": split })).await;
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

    // Another change could take the number of a version that does not exist yet.
    let ahead = json!({ "instructions": "Book table 3.", "traffic": [{ "version": 3, "percent": 100 }] });
    let (status, refused) = client.patch(&path, ahead).await;
    let message = "there is no version 3 of this agent; its newest is 2";
    assert_eq!(
        (status, &refused["errors"][0]["message"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!(message)),
        "{refused}"
    );

    let odd = json!({ "traffic": [{ "version": 2, "percent": 100, "weight": 3 }] });
    let (_, changed) = client.patch(&path, odd).await;
    assert!(changed["warnings"].to_string().contains("traffic.0.weight"), "{changed}");
    let new = json!({ "name": "Eve", "instructions": "Hi.", "traffic": [{ "version": 2, "percent": 100 }] });
    let (status, refused) = client.post("/v1/agents", new).await;
    let message = "a new agent has only version 1: leave traffic out";
    assert_eq!(
        (status, &refused["errors"][0]["message"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!(message)),
        "{refused}"
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
        (&["rollback", "Ava"][..], "Ava: new calls get version 3\nBefore: new calls get the newest version\n"),
        (&["rollback", "Ava"], "Ava: new calls get version 2\nBefore: new calls get version 3\n"),
        (
            &["traffic", "Ava", "2=90", "4=10"],
            "Ava: new calls get 90% version 2, 10% version 4\nBefore: new calls get version 2\n",
        ),
        (&["rollback", "Ava"], "Ava: new calls get version 2\nBefore: new calls get 90% version 2, 10% version 4\n"),
        (&["rollback", "Ava", "--to", "1"], "Ava: new calls get version 1\nBefore: new calls get version 2\n"),
    ] {
        let ran = run(service.command(), &[&["agent"], arguments].concat()).await;
        let earlier = "Calls that were accepted before, queued and scheduled ones among them, keep their version.\n";
        assert_eq!(ran, (Some(0), format!("{said}{earlier}"), String::new()), "{arguments:?}");
    }
    let shown = run(service.command(), &["agent", "traffic", "Ava"]).await;
    assert_eq!(shown.1, "Ava: new calls get version 1\n");
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

    let changed = exported.replace("Book table 2.", "Book table 3.");
    std::fs::write(&file, &changed).expect("written");
    let (code, out, err) = run(service.command(), &["apply", "-f", path]).await;
    assert!(code == Some(0) && out.contains("changed agent Ava (version 3)"), "{out}{err}");
    assert!(format!("{out}{err}").contains("no call gets version 3"), "{out}{err}");
    let split = "traffic: [{version: 1, percent: 80}, {version: 3, percent: 20}]";
    let canary = changed.replace("traffic:\n      - percent: 100\n        version: 1\n", &format!("{split}\n"));
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
