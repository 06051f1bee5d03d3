//! Actions that the model has announced and not done yet.

use super::*;
use crate::conversation::dialogue::ENDED_BEFORE_TRANSFER;
use crate::conversation::tools::{NO_TRANSFER_NOW, NOT_TRANSFERRED};

/// Lets the model respond to the caller, with text if there is any, and call these tools. `transfer` requests a transfer at once.
fn calls(words: &str, tools: &[&str]) -> Script {
    let mut script = speaks_and_calls(words, tools);
    if !words.is_empty() {
        script.heard(4_200, 2);
    }
    script
}

/// As [`calls`], before the text is heard.
fn speaks_and_calls(words: &str, tools: &[&str]) -> Script {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "Friday at seven, bye.");
    let response = || "r2".to_owned();
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: response(), request: None }));
    if !words.is_empty() {
        let (item, text, audio) = ("i2".to_owned(), words.to_owned(), Duration::from_millis(500));
        script.at(3_600, Input::from(RealtimeInput::Text { response: response(), item: item.clone(), text }));
        script.at(3_600, Input::from(RealtimeInput::Audio { response: response(), item: item.clone(), audio }));
        script.at(3_600, Input::from(RealtimeInput::AudioDone { item }));
    }
    for tool in tools {
        script.at(
            3_600,
            Input::from(RealtimeInput::ToolCall { response: response(), call: call(tool, tool), filler: None }),
        );
        if *tool == "transfer" {
            let (id, number) = ((*tool).to_owned(), "+12025550142".to_owned());
            script.at(3_600, Input::TransferRequested { id, number });
        }
    }
    script.at(
        3_700,
        Input::from(RealtimeInput::ResponseDone { response: response(), failed: None, retry_after_ms: None }),
    );
    script
}

fn returned<'s>(script: &'s mut Script, ms: i64, id: &str, result: Value) -> &'s mut Script {
    script.at(ms, Input::ToolResult { turn: 0, id: id.to_owned(), result })
}

#[test]
fn what_is_called_beside_the_end_of_the_call_is_done_before_it() {
    for tools in [["book", "end_call"], ["end_call", "book"]] {
        let mut script = calls("You are booked, goodbye.", &tools);
        script.until(9_000);
        assert_eq!(script.done(), ["run book"], "{tools:?}: it is under way");
        returned(&mut script, 9_000, "book", json!({ "ok": true })).until(11_000);
        assert_eq!(script.done(), ["output book {\"ok\":true}", "9s AgentHungUp"], "{tools:?}");
    }
}

#[test]
fn goodbye_is_said_after_what_was_called_beside_a_silent_end() {
    for tools in [["book", "end_call"], ["end_call", "book"]] {
        let mut script = calls("", &tools);
        returned(&mut script, 5_000, "book", json!({ "ok": true }));
        let expected = ["run book", "output book {\"ok\":true}", "output end_call {\"ok\":true}", "respond 2 Directed"];
        assert_eq!(script.done(), expected, "{tools:?}");
        script.says(5_500, "r3", Some(2), "i3", "Goodbye.", 500).heard(6_100, 2).until(7_000);
        assert_eq!(script.done(), ["6s AgentHungUp"], "{tools:?}");
    }
}

#[test]
fn call_continues_when_a_promised_action_fails() {
    for tools in [["book", "end_call"], ["end_call", "book"]] {
        let mut script = calls("You are booked, goodbye.", &tools);
        returned(&mut script, 5_000, "book", json!({ "error": "It is full." })).until(5_100);
        let done = script.done();
        assert!(done.iter().any(|done| done.starts_with("output end_call") && done.contains("continues")), "{done:?}");
        assert_eq!(done.last().map(String::as_str), Some("respond 2 Freely"), "{tools:?}");
    }
}

#[test]
fn hangup_does_not_wait_for_a_tool_that_never_returns() {
    let mut script = calls("You are booked, goodbye.", &["book", "end_call"]);
    script.until(23_600);
    assert_eq!(script.done().last().map(String::as_str), Some("23s AgentHungUp"));
}

#[test]
fn what_another_response_calls_while_the_call_ends_is_not_done() {
    let mut script = calls("Goodbye.", &["end_call"]);
    let call = call("late", "book");
    script.at(4_300, Input::from(RealtimeInput::ToolCall { response: "r9".to_owned(), call, filler: None }));
    assert!(script.done().iter().any(|done| done.starts_with("output late") && done.contains("Nothing was done")));
}

#[test]
fn a_transfer_waits_for_the_tools_beside_it_and_there_is_only_one() {
    let mut script = calls("I will.", &["transfer", "book", "again"]);
    script.at(4_300, Input::TransferRequested { id: "again".to_owned(), number: "+12025550143".to_owned() });
    script.until(5_000);
    let done = script.done();
    assert!(done.iter().any(|done| done.starts_with("output again") && done.contains("cannot be transferred now")));
    assert!(!done.contains(&"transfer".to_owned()));
    assert_eq!(script.unmade, [("again".to_owned(), NO_TRANSFER_NOW.to_owned())]);
    returned(&mut script, 5_000, "book", json!({ "ok": true }));
    assert_eq!(script.done(), ["output book {\"ok\":true}", "transfer"]);
}

#[test]
fn a_transfer_takes_the_place_of_the_end_of_the_call_in_either_order() {
    for words in ["I will put you through.", ""] {
        for tools in [["transfer", "end_call"], ["end_call", "transfer"]] {
            let mut script = calls(words, &tools);
            script.until(9_000);
            let learnt = format!("output end_call {}", json!({ "error": TRANSFERRED_INSTEAD }));
            assert_eq!(script.done(), ["run transfer", learnt.as_str(), "transfer"], "{tools:?} {words}");
            script.at(9_000, Input::TransferStarted).at(9_100, Input::TransferFailed);
            let back = ["output transfer {\"error\":\"The caller could not be transferred.\"}", "respond 2 Freely"];
            assert_eq!(script.done(), back, "{tools:?} {words}: the call continues");
            assert_eq!(script.unmade, [("transfer".to_owned(), NOT_PUT_THROUGH.to_owned())]);
        }
    }
}

#[test]
fn a_caller_who_speaks_before_a_transfer_keeps_the_call_although_the_model_has_ended_it() {
    for tools in [["transfer", "end_call"], ["end_call", "transfer"]] {
        let mut script = speaks_and_calls("I will put you through.", &tools);
        script.caller(3_900, "c2");
        assert_eq!(script.unmade, [("transfer".to_owned(), NOT_TRANSFERRED.to_owned())]);
        let done = script.done();
        assert!(
            done.iter().any(|done| done.starts_with("output transfer") && done.contains("spoke before")),
            "{done:?}"
        );
        script.until(4_700);
        assert!(!script.done().iter().any(|done| done == "transfer" || done.contains("AgentHungUp")), "{tools:?}");
    }
}

#[test]
fn a_transfer_of_which_the_caller_hears_only_the_announcement_is_reported() {
    let mut script = speaks_and_calls("I will put you through.", &["transfer"]);
    script.at(3_900, Input::HangUpRequested);
    assert_eq!(script.unmade, [("transfer".to_owned(), ENDED_BEFORE_TRANSFER.to_owned())]);
}
