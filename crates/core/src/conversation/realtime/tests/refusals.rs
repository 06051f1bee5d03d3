//! Responses that a content filter withholds.

use super::*;
use crate::conversation::{Role, WITHHELD_WORDS};
use crate::language::ENGLISH;

/// Lets the caller say something, and the model's filter withhold the response.
fn refused() -> Script {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "Something.");
    refuse(&mut script, 3_600, "r2", None);
    script
}

fn refuse(script: &mut Script, ms: i64, response: &str, request: Option<u32>) {
    let response = || response.to_owned();
    script.at(ms, Input::from(RealtimeInput::ResponseStarted { response: response(), request }));
    script.at(ms + 100, withheld(&response(), &[]));
}

fn withheld(response: &str, left_out: &[&str]) -> Input {
    let left_out = left_out.iter().map(|&item| item.to_owned()).collect();
    Input::from(RealtimeInput::ResponseRefused { response: response.to_owned(), left_out })
}

/// Returns what the caller said, as the next session gets it.
fn replayed(script: &Script) -> Vec<String> {
    let history = script.engine.history_with_queued().into_iter();
    history.filter(|message| message.role == Role::User).map(|message| message.text).collect()
}

#[test]
fn words_that_a_filter_refused_do_not_come_back_with_the_next_session() {
    for transcribed_late in [false, true] {
        let mut script = Script::greeted();
        script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "A table, please.");
        script.says(3_600, "r2", None, "i2", "For how many?", 500).heard(4_200, 2).caller(5_000, "c2");
        if !transcribed_late {
            script.said(5_500, "c2", "Something.");
        }
        script.at(5_600, Input::from(RealtimeInput::ResponseStarted { response: "r3".to_owned(), request: None }));
        script.at(5_700, withheld("r3", &["c2"]));
        if transcribed_late {
            script.said(5_800, "c2", "Something.");
        }
        script.at(6_000, Input::from(RealtimeInput::SessionLost));
        assert_eq!(replayed(&script), ["A table, please.", WITHHELD_WORDS]);
        assert_eq!(script.words.last().map(String::as_str), Some("Caller: Something."), "they were said");
    }
}

#[test]
fn speech_that_a_filter_refused_before_it_was_transcribed_is_not_heard_by_the_next_session() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(3_700, withheld("r2", &["c1"])).at(3_800, Input::from(RealtimeInput::SessionLost));
    let since = script.engine.unheard_since();
    assert_eq!(since, Timestamp::from_millis(3_800), "nothing of it is sent again");
}

#[test]
fn speech_before_words_that_a_filter_refused_is_not_heard_again_with_them() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").caller(4_500, "c2");
    script.at(5_100, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(5_200, withheld("r2", &["c2"])).at(5_300, Input::from(RealtimeInput::SessionLost));
    let since = script.engine.unheard_since();
    assert_eq!(since, Timestamp::from_millis(5_300), "what was said first is followed by what was refused");
}

#[test]
fn a_refusal_is_asked_again_without_what_was_said() {
    let mut script = refused();
    assert_eq!(script.done(), ["respond 2 Freely"]);
    script.says(4_000, "r3", Some(2), "i3", "Let us talk about your table.", 500).heard(4_600, 2).until(5_000);
    assert_eq!(script.words.last().map(String::as_str), Some("Agent: Let us talk about your table."));
    assert_eq!(script.done(), [""; 0]);
}

#[test]
fn refusals_without_end_cost_answers_and_not_the_call() {
    let mut script = refused();
    refuse(&mut script, 4_000, "r3", Some(2));
    assert_eq!(script.done(), ["respond 2 Freely", "respond 3 Freely"]);
    refuse(&mut script, 4_400, "r4", Some(3));
    assert_eq!(script.done(), [format!("4s cover {}", ENGLISH.phrases.lost_thread[0])]);
    script.at(4_500, synthesized(2, 1_000)).heard(5_500, 2).until(6_500);
    assert_eq!(script.done(), [""; 0], "it is the caller's turn");
    script.caller(7_000, "c2").said(7_500, "c2", "A table, please.");
    script.says(7_600, "r5", None, "i5", "For how many?", 500).heard(8_200, 3).until(9_000);
    assert_eq!(script.words.last().map(String::as_str), Some("Agent: For how many?"));
    assert_eq!(script.done(), [""; 0]);
}

#[test]
fn a_caller_who_speaks_meanwhile_is_answered_instead() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "Something.");
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(3_700, Input::from(RealtimeInput::SpeechStarted));
    script.at(3_800, withheld("r2", &[]));
    assert!(script.done().iter().all(|done| !done.starts_with("respond") && !done.contains("cover")));
}

#[test]
fn a_response_that_has_called_a_tool_is_not_asked_again() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "Friday, please.");
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    let call = call("c", "book");
    script.at(3_700, Input::from(RealtimeInput::ToolCall { response: "r2".to_owned(), call, filler: None }));
    script.at(3_800, withheld("r2", &[])).until(4_500);
    assert!(script.done().iter().all(|done| !done.starts_with("respond")), "the tool runs");
}
