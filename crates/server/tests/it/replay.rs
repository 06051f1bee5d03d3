//! `switchhook replay`: replays an ended call on the command line.

use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::TestService;
use crate::harness::process::json_of;

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_comes_to_the_same_decisions_again_and_to_later_ones_with_more_patience() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (conversation, hang_up) =
        (client.place(&agent, "+12025550100").await, client.place(&agent, "+12025550108").await);
    let ended = client.wait_for_end(&conversation).await;
    client.wait_for_end(&hang_up).await;
    let (_, decided) = client.get(&format!("/v1/calls/{conversation}/decisions")).await;

    let again = json_of(service.command().args(["replay", "--json", &conversation]));
    assert_eq!(again["decisions"], decided["data"], "{again}");
    assert_eq!((&again["differ"], &again["as_it_was"]["turns"]), (&Value::Array(Vec::new()), &ended["turns"]));
    assert_eq!(again["as_it_was"]["response_p50_ms"], ended["latency"]["response_ms"]["p50"], "{again} {ended}");

    let patient =
        json_of(service.command().args(["replay", "--json", "--last", "5", "--set", "turn_taking.min_silence_ms=900"]));
    assert_eq!(patient["calls"], 2, "{patient}");
    let median = |column: &str| patient[column]["response_p50_ms"].as_i64().expect("a time");
    assert!(median("with_settings") >= median("simulated") + 100, "{patient}");

    let (code, shown, _) = run(service.command().args(["replay", &conversation]));
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("turn ended") && shown.ends_with("came to the same decisions as the call.\n"), "{shown}");
    service.stop().await;
}

#[tokio::test]
async fn what_cannot_be_replayed_is_said_in_a_sentence() {
    let (service, agent) = TestService::ready().await;
    let call = service.client.place(&agent, "+12025550101").await;
    service.client.wait_for_end(&call).await;
    let (unknown, set) = ("0198c6a0-0000-7000-8000-000000000000", "--set");
    let table: [(&[&str], i32, &str); 6] = [
        (&[], 2, "CALL_ID"),
        (&["--last", "3"], 1, "replay_days"),
        (&[unknown], 1, unknown),
        (&[&call], 1, "has no log"),
        (&[unknown, set, "turn_taking.eagerness"], 2, "SETTING=VALUE"),
        (&[unknown, "--agent", unknown], 2, "--agent"),
    ];
    for (arguments, code, words) in table {
        let (exited, out, err) = run(service.command().arg("replay").args(arguments));
        assert_eq!((exited, out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_does_not_exist_or_cannot_be_is_refused_with_its_name() {
    let (service, agent) = TestService::ready().await;
    let call = service.client.place(&agent, "+12025550108").await;
    service.client.wait_for_end(&call).await;
    for (setting, words) in [
        ("turn_taking.patience=1", "no setting turn_taking.patience"),
        ("turn_taking.eagerness=huge", "`huge`"),
        ("turn_taking.min_silence_ms=1", "turn_taking.min_silence_ms"),
    ] {
        let (code, out, err) = run(service.command().args(["replay", &call, "--set", setting]));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{setting}: {err}");
        assert!(err.contains(words), "{setting}: {err}");
    }
    service.stop().await;
}
