//! `switchhook init`, from its files to an export of what they made.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::process::Node;
use crate::harness::{TestService, private_folder, text};

/// Runs the command in a folder, without a terminal: its code, output and errors.
async fn run(mut command: Command, folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).env("OPENAI_API_KEY", "sk-0123456789-secret");
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
    let Output { status, stdout, stderr } = output.expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_new_agent_are_applied_and_exported() {
    let service = TestService::start().await;
    let folder = private_folder();
    let init = [
        "init",
        "--name",
        "Front desk",
        "--job",
        "You answer the phone: \"Harbor Dental\".",
        "--model",
        "openai/gpt-5-mini",
    ];
    let (code, out, err) = run(service.command(), folder.path(), &init).await;
    let said = "wrote agents/front-desk.yaml\nwrote agents/connection-openai.yaml\nNext: switchhook apply -f agents\n";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), said, ""));

    let (code, out, err) = run(service.command(), folder.path(), &["apply", "-f", "agents"]).await;
    assert_eq!((code, err.as_str()), (Some(0), ""), "nothing to warn of");
    assert!(out.contains("created agent Front desk (version 1)") && out.contains("created connection openai"), "{out}");
    let (_, agents) = service.client.get("/v1/agents").await;
    let agent = &agents["data"][0];
    assert_eq!(agent["instructions"], "You answer the phone: \"Harbor Dental\".");
    assert_eq!(agent["llm"]["model"], "gpt-5-mini");

    let (_, exported, _) = run(service.command(), folder.path(), &["export", "--json"]).await;
    let exported: Value = serde_json::from_str(&exported).expect("JSON");
    let llm = json!({ "connection": "openai", "model": "gpt-5-mini" });
    assert_eq!((&exported["agents"][0]["name"], &exported["agents"][0]["llm"]), (&json!("Front desk"), &llm));

    // A second agent shares the connection.
    let second = ["init", "--name", "Night", "--job", "Take messages.", "--model", "openai"];
    let (code, out, err) = run(service.command(), folder.path(), &second).await;
    assert!(code == Some(0) && out.starts_with("wrote agents/night.yaml\nNext: "), "{out}{err}");
    let (code, out, err) = run(service.command(), folder.path(), &["apply", "-f", "agents"]).await;
    assert!(code == Some(0) && out.ends_with("1 created, 0 changed, 2 unchanged.\n"), "{out}{err}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_template_is_applied_as_it_is_and_after_init() {
    let service = TestService::start().await;
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
    let (code, out, err) = run(service.command(), &templates, &["apply", "-f", "."]).await;
    assert!(code == Some(0) && out.ends_with("10 created, 0 changed, 0 unchanged.\n"), "{out}{err}");
    let (code, out, err) = run(service.command(), &templates, &["apply", "-f", "."]).await;
    assert!(code == Some(0) && out.starts_with("Nothing changes"), "{out}{err}");

    let folder = private_folder();
    let init = ["init", "--template", "reminder", "--name", "Front desk", "--model", "openai"];
    let (code, out, err) = run(service.command(), folder.path(), &init).await;
    assert!(code == Some(0) && out.starts_with("wrote agents/front-desk.yaml\n"), "{out}{err}");
    let (code, out, err) = run(service.command(), folder.path(), &["apply", "-f", "agents"]).await;
    assert!(code == Some(0) && out.contains("created agent Front desk (version 1)"), "{out}{err}");
    let (_, agents) = service.client.get("/v1/agents").await;
    let agent = &agents["data"][0];
    assert_eq!((&agent["name"], &agent["answering_machine"]["mode"]), (&json!("Front desk"), &json!("detect")));
    let (code, _, err) = run(service.command(), folder.path(), &["init", "--template", "nonsense"]).await;
    assert!(code == Some(2) && err.contains("reception") && err.contains("after-hours"), "{err}");
    service.stop().await;
}

#[tokio::test]
async fn files_may_name_this_machine_where_dev_runs() {
    let node = Node::new().await.with("SWITCHHOOK_MASTER_KEY", "c3dpdGNoaG9vay1zd2l0Y2hob29rLXN3aXRjaGhvb2s=");
    let strict = || {
        let mut command = node.command();
        command.env_remove("SWITCHHOOK_WEBHOOK_ALLOW");
        command
    };
    let folder = private_folder();
    let init = ["init", "--name", "Ava", "--job", "Take messages.", "--model", "ollama/qwen2.5:7b"];
    let (code, out, err) = run(strict(), folder.path(), &init).await;
    let said = "wrote agents/ava.yaml\nwrote agents/connection-ollama.yaml\nNext: switchhook apply -f agents\n";
    assert_eq!((code, out.as_str()), (Some(0), said), "{err}");
    let webhook = "webhooks:\n  - url: http://127.0.0.1:9000/hooks\n    events: [call.completed]\n";
    std::fs::write(folder.path().join("agents/webhooks.yaml"), webhook).expect("written");

    let (code, made, err) = run(strict(), folder.path(), &["tenant", "create", "acme", "--json"]).await;
    assert_eq!(code, Some(0), "{err}");
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let tenant = text(&made["tenant"]["id"]);
    let apply = ["apply", "-f", "agents", "--tenant", &tenant];
    let (code, _, err) = run(strict(), folder.path(), &apply).await;
    assert!(code == Some(1) && err.contains("SWITCHHOOK_OUTBOUND_ALLOW"), "the service is no development: {err}");

    // As the first start of `dev` does.
    assert_eq!(run(strict(), folder.path(), &["seed"]).await.0, Some(0));
    let mut prod = strict();
    prod.env("SWITCHHOOK_ENV", "prod");
    let (code, _, err) = run(prod, folder.path(), &apply).await;
    assert!(code == Some(1) && err.contains("SWITCHHOOK_OUTBOUND_ALLOW"), "{err}");
    let (code, out, err) = run(strict(), folder.path(), &apply).await;
    assert!(code == Some(0) && out.ends_with("3 created, 0 changed, 0 unchanged.\n"), "{out}{err}");
}

#[tokio::test]
async fn nothing_is_overwritten_and_nothing_is_asked_without_a_terminal() {
    let folder = private_folder();
    let binary = || Command::new(env!("CARGO_BIN_EXE_switchhook"));
    let (code, _, err) = run(binary(), folder.path(), &["init", "--name", "Ava"]).await;
    assert!(code == Some(2) && err.contains("there is no terminal to ask at: add --job, --model"), "{err}");
    for (arguments, said) in [
        (["", "x", "none"], "the name must"),
        (["Ava", " ", "none"], "the job must not be empty"),
        (["Ava", "x", "opnai"], "the model \"opnai\" is not openai, anthropic, gemini, groq, openrouter"),
    ] {
        let [name, job, model] = arguments;
        let (code, _, err) =
            run(binary(), folder.path(), &["init", "--name", name, "--job", job, "--model", model]).await;
        assert!(code == Some(2) && err.contains(said), "{arguments:?}: {err}");
    }
    assert!(!folder.path().join("agents").exists(), "nothing was written");

    let init = ["init", "--name", "Ava", "--job", "First.", "--model", "none", "--json"];
    let (code, out, _) = run(binary(), folder.path(), &init).await;
    let shown: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, text(&shown["files"][0]).as_str()), (Some(0), "agents/ava.yaml"));
    let file = || std::fs::read_to_string(folder.path().join("agents/ava.yaml")).expect("written");
    let again = ["init", "--name", "Ava", "--job", "Second.", "--model", "none"];
    let (code, _, err) = run(binary(), folder.path(), &again).await;
    assert!(code == Some(2) && err.contains("--force") && file().contains("First."), "{err}");
    let (code, ..) = run(binary(), folder.path(), &[&again[..], &["--force"]].concat()).await;
    assert!(code == Some(0) && file().contains("Second."));
}
