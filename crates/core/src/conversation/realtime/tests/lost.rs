//! Sessions that are lost, and responses that break off.

use super::*;

#[test]
fn another_session_answers_what_the_lost_one_did_not() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_600, "c1", "A table.");
    script
        .at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }))
        .at(3_700, Input::from(RealtimeInput::SessionLost));
    assert_eq!(script.engine.history_with_queued().len(), 3);
    script.at(4_200, Input::from(RealtimeInput::SessionReady));
    assert_eq!(script.done(), ["respond 2 Freely"]);
    let mut gone = Script::greeted();
    gone.heard(2_000, 1).at(2_500, Input::from(RealtimeInput::SessionLost));
    gone.at(3_000, Input::from(RealtimeInput::SessionFailed(Failure::new(FailureCode::Pipeline, "x")))).until(40_000);
    assert_eq!(gone.done().last().map(String::as_str), Some("8s Failed(Failure(Pipeline))"));
}

#[test]
fn session_lost_mid_sentence_resumes_in_the_next_one() {
    let mut script = Script::new(|_| {});
    script
        .at(0, Input::MediaStarted)
        .at(0, Input::from(RealtimeInput::ResponseStarted { response: "r1".to_owned(), request: Some(1) }));
    script.at(
        0,
        Input::from(RealtimeInput::Text {
            response: "r1".to_owned(),
            item: "hello".to_owned(),
            text: "Hello, this".to_owned(),
        }),
    );
    script.at(
        0,
        Input::from(RealtimeInput::Audio {
            response: "r1".to_owned(),
            item: "hello".to_owned(),
            audio: Duration::from_millis(1000),
        }),
    );
    script.at(100, Input::from(RealtimeInput::SessionLost)).heard(1_000, 1).until(3_200);
    assert_eq!(script.done(), ["3s cover One moment."], "nobody waits for three seconds in silence");
    script.at(3_300, Input::from(RealtimeInput::SessionReady));
    assert_eq!(script.done(), ["respond 2 Directed"]);
    assert_eq!(script.engine.history_with_queued()[1].text, "Hello, this");
}

#[test]
fn who_speaks_while_there_is_no_session_is_bridged_and_then_heard_before_they_are_answered() {
    let mut script = Script::greeted();
    script
        .heard(2_000, 1)
        .at(2_500, Input::from(RealtimeInput::SessionLost))
        .at(3_000, Input::SpeechStarted)
        .at(3_600, Input::SpeechStopped { segment: 0 });
    script.until(5_700);
    assert_eq!(script.done(), ["5s cover One moment."]);
    script.at(5_800, Input::from(RealtimeInput::SessionReady));
    assert_eq!(script.done(), Vec::<String>::new(), "the model is hearing what they said");
    script.at(6_000, failed(2)).until(6_800);
    assert_eq!(script.done(), ["respond 2 Freely"], "which it did not respond to by itself");
}

#[test]
fn what_only_the_lost_session_heard_the_next_one_hears_and_answers() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    script
        .at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }))
        .at(3_650, Input::from(RealtimeInput::SessionLost));
    assert_eq!(script.engine.unheard_since().as_millis(), 3_000 - 64 - 200);
    script
        .at(4_200, Input::from(RealtimeInput::SessionReady))
        .at(4_250, Input::from(RealtimeInput::SpeechStarted))
        .at(4_300, Input::from(RealtimeInput::SpeechStopped));
    script
        .at(4_300, Input::from(RealtimeInput::TurnCommitted { item: "again".to_owned() }))
        .said(4_400, "again", "For two.");
    script.says(4_500, "r3", None, "i3", "Good.", 500).heard(5_200, 2);
    assert_eq!(script.done(), Vec::<String>::new(), "nobody asks for an answer to what was not heard");
    assert_eq!(script.words, ["Agent: one two three four", "Caller: For two.", "Agent: Good."], "once");
    script.at(5_300, Input::from(RealtimeInput::SessionLost));
    assert_eq!(script.engine.unheard_since().as_millis(), 5_300, "all that is known");
}

#[test]
fn hearing_it_again_interrupts_nothing_and_is_waited_for() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").until(5_500);
    assert_eq!(script.done(), ["respond 2 Freely", "5s cover One moment."]);
    script.at(5_600, Input::from(RealtimeInput::SessionLost)).at(5_700, synthesized(2, 1000));
    script
        .played(5_800, 2, 100)
        .at(5_900, Input::from(RealtimeInput::SessionReady))
        .at(6_000, Input::from(RealtimeInput::SpeechStarted));
    script.at(6_100, Input::from(RealtimeInput::SpeechStopped)).until(6_800);
    assert_eq!(script.done(), Vec::<String>::new(), "it may answer by itself");
}

#[test]
fn each_session_that_does_not_answer_by_itself_is_asked_to() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").until(4_600);
    assert_eq!(script.done(), ["respond 2 Freely"]);
    for (lost, request) in [(4_600, "respond 4 Freely"), (6_000, "respond 6 Freely")] {
        script
            .at(lost, Input::from(RealtimeInput::SessionLost))
            .at(lost + 100, Input::from(RealtimeInput::SessionReady))
            .until(lost + 1_000);
        let cover = script.cover;
        script.at(lost + 1_000, failed(cover)).until(lost + 1_100);
        let done = script.done();
        assert!(done.iter().any(|done| done == request), "{request}: {done:?}");
    }
}

#[test]
fn speech_into_a_dead_session_is_heard_by_the_next_one() {
    let mut script = Script::greeted();
    script
        .heard(2_000, 1)
        .at(3_000, Input::SpeechStarted)
        .at(3_700, Input::SpeechStopped { segment: 0 })
        .at(5_700, Input::from(RealtimeInput::SessionLost));
    assert_eq!(script.done(), ["5s cover One moment."], "which is noticed late");
    assert_eq!(script.engine.unheard_since().as_millis(), 3_000 - 64 - 200);
    script.at(6_000, failed(2)).at(6_200, Input::from(RealtimeInput::SessionReady)).until(7_100);
    assert_eq!(script.done(), Vec::<String>::new(), "it is listening");
}

#[test]
fn a_session_that_is_not_there_when_the_call_begins_is_covered_up_for() {
    let mut script = Script::new(|_| {});
    script.at(0, Input::MediaStarted).at(0, Input::from(RealtimeInput::SessionConnecting)).until(2_100);
    assert_eq!(script.done(), ["2s cover One moment."]);
    script.at(2_200, failed(1));
    script
        .at(2_400, Input::SpeechStarted)
        .at(2_900, Input::SpeechStopped { segment: 0 })
        .at(3_000, Input::from(RealtimeInput::SessionReady));
    assert_eq!(script.engine.unheard_since().as_millis(), 3_000, "the greeting is the answer to their hello");
    script.says(3_100, "r1", Some(1), "hello", "Hello.", 500).heard(3_800, 2);
    assert_eq!(script.done(), Vec::<String>::new(), "which was requested before");
}

#[test]
fn a_tool_that_outlives_its_session_is_not_called_twice() {
    for answers_at in [3_900, 4_500] {
        let mut script = Script::greeted();
        script.heard(2_000, 1).caller(3_000, "c1").said(3_550, "c1", "Friday.");
        script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
        script.at(
            3_700,
            Input::from(RealtimeInput::ToolCall { response: "r2".to_owned(), call: call("a", "book"), filler: None }),
        );
        script.at(
            3_700,
            Input::from(RealtimeInput::ToolCall { response: "r2".to_owned(), call: call("b", "day"), filler: None }),
        );
        script.at(3_700, Input::ToolResult { turn: 0, id: "b".to_owned(), result: json!(5) });
        script
            .at(
                3_750,
                Input::from(RealtimeInput::ResponseDone {
                    response: "r2".to_owned(),
                    failed: None,
                    retry_after_ms: None,
                }),
            )
            .at(3_800, Input::from(RealtimeInput::SessionLost));
        let known = script.engine.history_with_queued();
        let results: Vec<&str> = known[known.len() - 2..].iter().map(|message| message.text.as_str()).collect();
        assert!(results[0] == "5" && results[1].contains("still running"), "{results:?}");
        script.done();
        let result = Input::ToolResult { turn: 0, id: "a".to_owned(), result: json!("booked") };
        if answers_at < 4_200 {
            script.at(answers_at, result);
            assert_eq!(script.done(), Vec::<String>::new(), "there is nobody to tell");
            script.at(4_200, Input::from(RealtimeInput::SessionReady));
        } else {
            script.at(4_200, Input::from(RealtimeInput::SessionReady));
            assert_eq!(script.done(), Vec::<String>::new(), "its answer is waited for");
            script.at(answers_at, result);
        }
        assert_eq!(script.done(), ["tell [book returned] \"booked\"", "respond 2 Freely"]);
        assert!(script.engine.history().iter().any(|message| message.text == "\"booked\""));
    }
}

#[test]
fn what_the_model_breaks_off_in_is_finished_and_only_what_sounded_was_heard() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_550, "c1", "Hi.");
    let breaks = |script: &mut Script, ms: i64, response: &str, request| {
        let id = || response.to_owned();
        script.at(ms, Input::from(RealtimeInput::ResponseStarted { response: id(), request }));
        let words = "We have tables at six, at seven, at eight and at nine.".to_owned();
        script.at(ms, Input::from(RealtimeInput::Text { response: id(), item: id(), text: words }));
        script.at(
            ms,
            Input::from(RealtimeInput::Audio { response: id(), item: id(), audio: Duration::from_millis(1500) }),
        );
        script.at(
            ms + 100,
            Input::from(RealtimeInput::ResponseDone {
                response: id(),
                failed: Some("overloaded".to_owned()),
                retry_after_ms: None,
            }),
        );
    };
    breaks(&mut script, 3_600, "r2", None);
    assert_eq!(script.done(), ["respond 2 Directed"]);
    script.heard(5_100, 2);
    assert_eq!(script.words.last().map(String::as_str), Some("Agent: We have tables at six,"));
    breaks(&mut script, 5_200, "r3", Some(2));
    assert!(script.done().iter().any(|done| done.contains("cover Sorry")), "once");
}

#[test]
fn a_model_that_only_calls_tools_is_given_up() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    for round in 0..9_i64 {
        let (ms, response) = (3_600 + round * 100, format!("r{round}"));
        let request = (round > 0).then(|| u32::try_from(round + 1).expect("small"));
        script.at(ms, Input::from(RealtimeInput::ResponseStarted { response: response.clone(), request }));
        let called = call(&format!("t{round}"), "tables");
        script.at(ms, Input::from(RealtimeInput::ToolCall { response: response.clone(), call: called, filler: None }));
        script.at(ms, Input::from(RealtimeInput::ResponseDone { response, failed: None, retry_after_ms: None }));
        assert!(!script.done().iter().any(|done| done.contains("technical")), "round {round}");
        script.at(ms + 50, Input::ToolResult { turn: 0, id: format!("t{round}"), result: json!(1) });
    }
    assert!(script.done().iter().any(|done| done.contains("technical problem")));
}

#[test]
fn who_has_been_answered_need_not_hear_what_a_tool_did() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(
        3_600,
        Input::from(RealtimeInput::Audio {
            response: "r2".to_owned(),
            item: "i2".to_owned(),
            audio: Duration::from_millis(1000),
        }),
    );
    script.at(
        3_700,
        Input::from(RealtimeInput::ToolCall { response: "r2".to_owned(), call: call("a", "note"), filler: None }),
    );
    script
        .at(
            3_700,
            Input::from(RealtimeInput::ResponseDone { response: "r2".to_owned(), failed: None, retry_after_ms: None }),
        )
        .heard(4_600, 2);
    script.at(4_700, Input::ToolResult { turn: 0, id: "a".to_owned(), result: json!(1) });
    script.done();
    script.at(4_800, Input::from(RealtimeInput::ResponseStarted { response: "r3".to_owned(), request: Some(2) }));
    script
        .at(
            4_900,
            Input::from(RealtimeInput::ResponseDone { response: "r3".to_owned(), failed: None, retry_after_ms: None }),
        )
        .until(12_000);
    assert_eq!(script.done(), Vec::<String>::new(), "an empty answer is one");
}
