//! Agents as files: `switchhook apply` and `switchhook export`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Agent, Client, TestService, private_folder, text};

const SECRET: &str = "sk-0123456789-secret";

/// Everything that files can describe, without models.
const CONNECTIONS: &str = "\
connections:
  - name: OpenAI
    provider: openai
    credentials:
      api_key: ${OPENAI_API_KEY}
    limits: {max_concurrent: 3}
  - {name: Script, provider: scripted}
  - name: Phone
    provider: simulator
    settings: {time_scale: 0.05}
";
const AGENT: &str = "\
agents:
  - name: Ava
    instructions: Book a table.
    greeting: {text: \"Hello, this is Ava. May I have your name, please?\"}
    stt: {connection: Script}
    llm: {connection: Script, temperature: 0.7}
    tts: {connection: Script}
    silence: {hangup_after_seconds: null}
    tools:
      - {type: transfer, destinations: [{name: reception, number: +12025550142}]}
";
const NUMBERS: &str = "\
numbers:
  - {number: +12025550199, label: Reception, connection: Phone, agent: Ava}
webhooks:
  - url: https://1.1.1.1/hooks
    events: [call.completed, call.failed]
";

/// The result of a command.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        serde_json::from_str(&self.out).expect("JSON")
    }

    /// Returns the standard output of a successful command.
    fn lines(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        &self.out
    }
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = private_folder();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn everything() -> TempDir {
    folder(&[("agent.yaml", AGENT), ("connections.yaml", CONNECTIONS), ("numbers.yaml", NUMBERS)])
}

/// Runs a command while the service keeps running.
async fn run(mut command: Command, arguments: &[&str]) -> Ended {
    command.args(arguments).env_remove("OPENAI_API_KEY");
    finish(command).await
}

async fn finish(mut command: Command) -> Ended {
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
    let Output { status, stdout, stderr } = output.expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ended { code: status.code(), out: text(stdout), err: text(stderr) }
}

fn apply_command(service: &TestService, files: &Path, arguments: &[&str]) -> Command {
    let mut command = service.command();
    command.arg("apply").arg("-f").arg(files).args(arguments).env("OPENAI_API_KEY", SECRET);
    command
}

async fn apply(service: &TestService, files: &Path, arguments: &[&str]) -> Ended {
    finish(apply_command(service, files, arguments)).await
}

async fn counts(client: &Client) -> [usize; 4] {
    let mut counts = [0; 4];
    for (at, path) in ["/v1/connections", "/v1/agents", "/v1/numbers", "/v1/webhooks"].into_iter().enumerate() {
        counts[at] = client.get(path).await.1["data"].as_array().expect("a list").len();
    }
    counts
}

async fn agent_named(client: &Client, name: &str) -> Value {
    let (_, list) = client.get("/v1/agents").await;
    list["data"].as_array().expect("a list").iter().find(|agent| agent["name"] == name).expect("the agent").clone()
}

#[tokio::test]
async fn what_files_describe_is_created_changed_and_left_as_it_is() {
    let service = TestService::start().await;
    let files = everything();
    let first = apply(&service, files.path(), &["--json"]).await.json();
    let kinds: Vec<_> = first["created"].as_array().expect("a list").iter().map(|item| text(&item["kind"])).collect();
    assert_eq!(kinds, ["connection", "connection", "connection", "agent", "number", "webhook"]);
    assert_eq!((&first["changed"], &first["unchanged"]), (&json!([]), &json!(0)));
    let agent = agent_named(&service.client, "Ava").await;
    assert_eq!((&agent["id"], &agent["version"]), (&first["created"][3]["id"], &json!(1)));
    assert_eq!(agent["silence"]["hangup_after_seconds"], Value::Null);
    assert_eq!(agent["tools"][0]["destinations"][0]["number"], "+12025550142", "a number without quotes");
    let webhook = &first["created"][5];
    assert!(text(&webhook["secret"]).starts_with("whsec_"), "only now: {webhook}");
    let (_, numbers) = service.client.get("/v1/numbers").await;
    assert_eq!(numbers["data"][0]["inbound_agent_id"], agent["id"]);

    let again = apply(&service, files.path(), &[]).await;
    assert_eq!(again.lines(), "Nothing changes: 6 unchanged.\n");
    assert_eq!(agent_named(&service.client, "Ava").await["version"], 1);

    std::fs::write(files.path().join("agent.yaml"), AGENT.replace("Book a table.", "Book two tables."))
        .expect("written");
    std::fs::write(files.path().join("numbers.yaml"), NUMBERS.replace("Reception", "Front desk")).expect("written");
    let planned = apply(&service, files.path(), &["--dry-run"]).await;
    let shown = "change agent Ava (version 2)\n  instructions: \"Book a table.\" -> \"Book two tables.\"\n\
        change number +12025550199 on Phone\n  label: \"Reception\" -> \"Front desk\"\n\
        0 to create, 2 to change, 4 unchanged. Nothing was written.\n";
    assert_eq!(planned.lines(), shown);
    assert_eq!(agent_named(&service.client, "Ava").await["version"], 1, "a dry run writes nothing");
    let changed = apply(&service, files.path(), &["--json"]).await.json();
    assert_eq!(changed["changed"][0]["version"], 2);
    assert_eq!(changed["changed"][0]["fields"], json!(["instructions"]));
    assert_eq!(agent_named(&service.client, "Ava").await["instructions"], "Book two tables.");
    service.stop().await;
}

#[tokio::test]
async fn an_export_says_the_same_as_what_was_applied() {
    let service = TestService::start().await;
    let files = everything();
    apply(&service, files.path(), &[]).await.lines();
    let exported = run(service.command(), &["export"]).await;
    assert!(
        exported.lines().contains("api_key: ${OPENAI_API_KEY}") && !exported.out.contains(SECRET),
        "{}",
        exported.out
    );
    assert!(!exported.out.contains("turn_taking"), "no defaults: {}", exported.out);

    let copies = private_folder();
    let (whole, parts) = (copies.path().join("all.yaml"), copies.path().join("parts"));
    for place in [&whole, &parts] {
        run(service.command(), &["export", "-o", place.to_str().expect("text")]).await.lines();
        let mut command = service.command();
        command.arg("apply").arg("-f").arg(place).env_remove("OPENAI_API_KEY");
        let applied = finish(command).await;
        assert_eq!(applied.lines(), "Nothing changes: 6 unchanged.\n");
        assert!(
            applied
                .err
                .contains("connections[0]: credentials kept: the environment variable OPENAI_API_KEY is not set"),
            "{}",
            applied.err
        );
        assert_eq!(apply(&service, place, &[]).await.err, "", "with the variable there is nothing to say");
    }
    let taken = run(service.command(), &["export", "-o", whole.to_str().expect("text")]).await;
    assert!(taken.code == Some(2) && taken.err.contains("--force"), "{}", taken.err);

    // Apply the same to another tenant.
    let other = service.another_tenant().await;
    let id = text(&other.get("/v1/tenant").await.1["id"]);
    assert_eq!(
        apply(&service, &parts, &["--tenant", &id, "--json"]).await.json()["created"].as_array().map(Vec::len),
        Some(6)
    );
    let copied = run(service.command(), &["export", "--tenant", &id]).await;
    assert_eq!(copied.lines(), exported.out);
    service.stop().await;
}

#[tokio::test]
async fn an_export_to_standard_output_is_that_to_a_file_up_to_the_last_line_break() {
    let service = TestService::start().await;
    let agent = json!({ "name": "Ava", "instructions": "Book a table.\nBe brief.\n\n\n" });
    service.client.create("/v1/agents", agent).await;
    let printed = run(service.command(), &["export"]).await;
    assert!(printed.lines().ends_with("Be brief.\n\n\n"), "{:?}", printed.out);
    let folder = private_folder();
    let file = folder.path().join("all.yaml");
    run(service.command(), &["export", "-o", file.to_str().expect("text")]).await.lines();
    assert_eq!(std::fs::read_to_string(&file).expect("written"), printed.out);
    service.stop().await;
}

#[tokio::test]
async fn secrets_are_compared_and_never_printed() {
    let service = TestService::start().await;
    let files = everything();
    let first = apply(&service, files.path(), &[]).await;
    assert!(!first.lines().contains(SECRET) && !first.err.contains(SECRET));
    let mut command = service.command();
    command.arg("apply").arg("-f").arg(files.path()).env("OPENAI_API_KEY", "sk-another-secret-9876");
    let changed = finish(command).await;
    let shown = "changed connection OpenAI\n  credentials.api_key: changed\n0 created, 1 changed, 5 unchanged.\n";
    assert_eq!(changed.lines(), shown);
    let (_, connections) = service.client.get("/v1/connections").await;
    let all = connections["data"].as_array().expect("a list");
    let openai = all.iter().find(|connection| connection["name"] == "OpenAI").expect("created");
    assert_eq!(openai["credentials"]["api_key"], "••••9876");

    let literal = CONNECTIONS.replace("${OPENAI_API_KEY}", "sk-in-the-file-1234");
    std::fs::write(files.path().join("connections.yaml"), literal).expect("written");
    let warned = apply(&service, files.path(), &[]).await;
    assert!(warned.lines().contains("credentials.api_key: changed"), "{}", warned.out);
    assert!(warned.err.contains("connections[0].credentials.api_key: is a secret in a file"), "{}", warned.err);
    assert!(!format!("{}{}", warned.out, warned.err).contains("sk-in-the-file"), "{}", warned.err);
    service.stop().await;
}

#[tokio::test]
async fn whatever_is_wrong_is_told_at_once_and_nothing_is_written() {
    let service = TestService::start().await;
    let files = everything();
    let wrong = AGENT.replace("connection: Script, temperature", "connection: Scirpt, temprature");
    std::fs::write(files.path().join("agent.yaml"), wrong).expect("written");
    std::fs::write(files.path().join("broken.toml"), "[[agents]\n").expect("written");
    let mut command = service.command();
    command.arg("apply").arg("-f").arg(files.path()).env_remove("OPENAI_API_KEY");
    let refused = finish(command).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{}", refused.err);
    for words in [
        "nothing was applied, because of 4 errors:",
        "broken.toml: is not TOML: line 1",
        "connections.yaml: connections[0].credentials.api_key: the environment variable OPENAI_API_KEY is not set",
        "agent.yaml: agents[0].llm.connection: there is no connection \"Scirpt\"; did you mean \"Script\"?",
        "agent.yaml: agents[0].llm.temprature: is unknown; did you mean temperature?",
    ] {
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    }
    assert_eq!(counts(&service.client).await, [0; 4]);
    for (webhook, words) in
        [("https://10.0.0.7/hook", "SWITCHHOOK_WEBHOOK_ALLOW"), ("http://example.com/hook", "webhooks[0].url")]
    {
        let text = NUMBERS.replace("https://1.1.1.1/hooks", webhook);
        let files = folder(&[("agent.yaml", AGENT), ("connections.yaml", CONNECTIONS), ("numbers.yaml", &text)]);
        let refused = apply(&service, files.path(), &[]).await;
        assert!(refused.code == Some(1) && refused.err.contains(words), "{}", refused.err);
    }
    assert_eq!(counts(&service.client).await, [0; 4]);
    let missing = apply(&service, Path::new("/does/not/exist.yaml"), &[]).await;
    assert!(missing.code == Some(2) && missing.err.contains("/does/not/exist.yaml"), "{}", missing.err);
    service.stop().await;
}

#[tokio::test]
async fn a_limit_that_is_reached_in_the_middle_leaves_nothing_behind() {
    let service = TestService::start().await;
    let tenant = text(&service.client.get("/v1/tenant").await.1["id"]);
    run(service.command(), &["tenant", "set", &tenant, "--max-agents", "1"]).await.lines();
    let two = format!("{AGENT}  - {{name: Eve, instructions: x}}\n");
    let files = folder(&[("agent.yaml", &two), ("connections.yaml", CONNECTIONS), ("numbers.yaml", NUMBERS)]);
    for arguments in [&[][..], &["--dry-run"]] {
        let refused = apply(&service, files.path(), arguments).await;
        let words = "agent.yaml: agents[1].name: cannot be created: agent limit reached";
        assert!(refused.code == Some(1) && refused.err.contains(words), "{}", refused.err);
    }
    assert_eq!(counts(&service.client).await, [0; 4]);
    service.stop().await;
}

#[tokio::test]
async fn what_is_in_no_file_is_left_alone_and_named_in_a_dry_run() {
    let service = TestService::start().await;
    service.client.create("/v1/agents", json!({ "name": "Eve", "instructions": "x" })).await;
    let files = everything();
    let planned = apply(&service, files.path(), &["--dry-run", "--json"]).await.json();
    assert_eq!(planned["not_in_files"], json!([{ "kind": "agent", "name": "Eve" }]));
    assert!(
        planned["created"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|item| item["id"].is_null() && item.get("secret").is_none())
    );
    assert_eq!(counts(&service.client).await, [0, 1, 0, 0]);
    apply(&service, files.path(), &[]).await.lines();
    assert_eq!(counts(&service.client).await, [3, 2, 1, 1]);
    service.stop().await;
}

#[tokio::test]
async fn two_applies_at_once_create_everything_once() {
    let service = TestService::start().await;
    let files = everything();
    let at_once = (0..4).map(|_| finish(apply_command(&service, files.path(), &["--json"])));
    let all = futures_util::future::join_all(at_once).await;
    let created: Vec<usize> =
        all.iter().map(|ended| ended.json()["created"].as_array().expect("a list").len()).collect();
    assert_eq!(created.iter().sum::<usize>(), 6, "{created:?}");
    assert_eq!(counts(&service.client).await, [3, 1, 1, 1]);
    service.stop().await;
}

#[tokio::test]
async fn a_running_service_holds_its_next_call_with_the_new_version() {
    let service = TestService::start().await;
    let files = everything();
    apply(&service, files.path(), &[]).await.lines();
    let agent = Agent { id: text(&agent_named(&service.client, "Ava").await["id"]) };
    let greeting = async |expected: &str| {
        let call = service.client.place(&agent, "+12025550100").await;
        service.client.wait_for_words(&call).await;
        let (_, said) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
        assert!(text(&said["data"][0]["text"]).contains(expected), "{said}");
        service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        service.client.wait_for_end(&call).await["agent_version"].clone()
    };
    assert_eq!(greeting("this is Ava").await, 1);
    std::fs::write(files.path().join("agent.yaml"), AGENT.replace("this is Ava", "this is Eve")).expect("written");
    apply(&service, files.path(), &[]).await.lines();
    assert_eq!(greeting("this is Eve").await, 2);
    service.stop().await;
}

#[tokio::test]
async fn a_webhook_that_a_file_disables_gets_nothing_any_more() {
    let service = TestService::start().await;
    let files = everything();
    apply(&service, files.path(), &[]).await.lines();
    std::fs::write(files.path().join("numbers.yaml"), format!("{NUMBERS}    enabled: false\n")).expect("written");
    let changed = apply(&service, files.path(), &[]).await;
    let shown = "changed webhook https://1.1.1.1/hooks\n  enabled: true -> false\n0 created, 1 changed, 5 unchanged.\n";
    assert_eq!(changed.lines(), shown);
    let (_, webhooks) = service.client.get("/v1/webhooks").await;
    assert_eq!(webhooks["data"][0]["enabled"], false);
    let exported = run(service.command(), &["export"]).await;
    assert!(exported.lines().contains("enabled: false"), "{}", exported.out);
    service.stop().await;
}

#[tokio::test]
async fn warnings_of_the_api_are_printed() {
    let service = TestService::start().await;
    let files = folder(&[("a.yaml", "agents:\n  - {name: Eve, instructions: x}\n")]);
    let warned = apply(&service, files.path(), &[]).await;
    assert!(
        warned.code == Some(0) && warned.err.contains("a.yaml: agents[0]: llm: no language model is set"),
        "{}",
        warned.err
    );
    let said = "create a connection to a language model in a file and set llm.connection to its name";
    assert!(warned.err.contains(said) && !warned.err.contains("_id"), "in the words of files: {}", warned.err);
    assert_eq!(apply(&service, files.path(), &[]).await.err, "", "nothing was saved");
    service.stop().await;
}

#[tokio::test]
async fn the_tenant_is_named_unless_there_is_only_one() {
    let service = TestService::start().await;
    let files = everything();
    let other = service.another_tenant().await;
    let id = text(&other.get("/v1/tenant").await.1["id"]);
    for command in ["apply", "export"] {
        let files = files.path().to_str().expect("text");
        let arguments: &[&str] = if command == "apply" { &["apply", "-f", files] } else { &["export"] };
        let unclear = run(service.command(), arguments).await;
        assert!(
            unclear.code == Some(2) && unclear.err.contains("--tenant") && unclear.err.contains(&id),
            "{}",
            unclear.err
        );
        let unknown = [arguments, &["--tenant", "0198c6a0-0000-7000-8000-000000000000"]].concat();
        let unknown = run(service.command(), &unknown).await;
        assert!(unknown.code == Some(1) && unknown.err.contains("does not exist"), "{}", unknown.err);
    }
    run(service.command(), &["tenant", "deactivate", &id]).await.lines();
    apply(&service, files.path(), &[]).await.lines();
    assert_eq!(counts(&service.client).await, [3, 1, 1, 1]);
    service.stop().await;
}

/// Returns the files shown in the documentation, by name.
fn documented() -> Vec<(PathBuf, String)> {
    const PAGE: &str = include_str!("../../../../docs/agents-as-files.md");
    let shown = PAGE.split("\nFile `").skip(1).map(|part| {
        let (name, rest) = part.split_once("`:\n\n```").expect("a file is named before its block");
        let (_, rest) = rest.split_once('\n').expect("a kind of block");
        let (text, _) = rest.split_once("\n```").expect("the block ends");
        (PathBuf::from(name), format!("{text}\n"))
    });
    shown.collect()
}

#[tokio::test]
async fn the_example_of_the_documentation_is_applied() {
    let service = TestService::start().await;
    let folder = private_folder();
    let files = documented();
    assert_eq!(files.len(), 4, "{files:?}");
    for (name, text) in &files {
        std::fs::create_dir_all(folder.path().join(name).parent().expect("a folder")).expect("made");
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let agents = folder.path().join(files[0].0.parent().expect("a folder"));
    let mut command = service.command();
    command
        .arg("apply")
        .arg("-f")
        .arg(&agents)
        .env("OPENAI_API_KEY", SECRET)
        .env("TWILIO_AUTH_TOKEN", SECRET)
        .env("TWILIO_ACCOUNT_SID", "AC0123");
    let applied = finish(command).await;
    assert!(applied.lines().contains("created agent Reception (version 1)"), "{}", applied.out);
    assert_eq!(applied.err, "", "nothing to warn of");
    service.stop().await;
}
