//! Actions that the agent has announced and not done yet, while the caller speaks.

use super::*;

/// Has the agent announce a transfer from 2 s to 3.38 s.
fn putting_through() -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Somebody else, please.", 500).until(2_000);
    talk.delta("I will put you through.").model_calls("a", "transfer").model_done();
    talk.tell(Input::TransferRequested { id: "a".to_owned(), number: "+12025550142".to_owned() });
    talk
}

fn transfers(talk: &Talk) -> usize {
    talk.times(|effect| matches!(effect, Effect::Transfer { .. })).len()
}

/// Returns why the transfer did not happen, as it is reported once.
fn unmade(talk: &Talk) -> Option<&str> {
    let reported = talk.effects.iter().filter_map(|(_, effect)| match effect {
        Effect::NotTransferred { id, error } if id == "a" => Some(error.as_str()),
        _ => None,
    });
    let reported: Vec<&str> = reported.collect();
    assert!(reported.len() <= 1, "{reported:?}");
    reported.first().copied()
}

fn tool(text: &str) -> (Role, String) {
    (Role::Tool, text.to_owned())
}

#[test]
fn thanks_while_a_transfer_is_announced_do_not_stop_it() {
    for (words, ms) in [("Okay, thank you very much.", 1_600), ("Yes, please.", 600), ("Perfect, thanks a lot!", 1_200)]
    {
        let mut talk = putting_through();
        talk.until(2_600).caller_says(words, ms).until(9_000);
        assert_eq!((transfers(&talk), talk.asks().len()), (1, 1), "{words}");
        assert!(talk.transcript().contains(&(Speaker::Agent, "I will put you through.", false)), "{words}");
        assert!(talk.transcript().contains(&(Speaker::Caller, words, false)), "{words}");
    }
}

#[test]
fn thanks_of_which_the_stt_reports_the_words_as_they_come_do_not_stop_it_either() {
    let mut talk = putting_through();
    talk.until(2_600).caller_starts().until(2_900).partial("Okay,").until(3_200).partial("Okay, that would");
    talk.until(3_600).caller_stops("Okay, that would be great.").until(9_000);
    assert_eq!((transfers(&talk), talk.asks().len()), (1, 1));
}

#[test]
fn the_model_learns_that_a_caller_who_interrupts_was_not_transferred() {
    for words in ["Wait, no.", "Actually, can I ask something first?", "Thanks, but not to him."] {
        let mut talk = putting_through();
        talk.until(2_600).caller_says(words, 900).until(9_000);
        assert_eq!(transfers(&talk), 0, "{words}");
        assert!(unmade(&talk).is_some_and(|error| error.contains("before they were transferred")), "{words}");
        let question = talk.last_question();
        let result = &question.iter().find(|(role, _)| *role == Role::Tool).expect("a result").1;
        assert!(result.contains("error") && result.contains("before they were transferred"), "{words}: {result}");
        assert!(question.last().is_some_and(|(_, said)| said.contains(words)), "{question:?}");
    }
}

#[test]
fn the_model_learns_that_keys_or_words_of_the_api_came_before_a_transfer() {
    let cutting = [Input::Dtmf { digit: '1' }, Input::Say { text: "One moment.".to_owned(), interrupt: true }];
    for input in cutting {
        let mut talk = putting_through();
        talk.until(2_600).tell(input).until(9_000);
        assert_eq!(transfers(&talk), 0);
        assert!(talk.history().iter().any(|(role, text)| *role == Role::Tool && text.contains("error")));
    }
}

#[test]
fn the_model_learns_that_the_carrier_did_not_transfer() {
    let mut talk = putting_through();
    talk.until(4_000).tell(Input::TransferStarted).tell(Input::TransferFailed).until(9_000);
    let expected = tool("{\"error\":\"The caller could not be transferred.\"}");
    assert!(talk.history().contains(&expected), "{:?}", talk.history());
    assert_eq!(unmade(&talk), Some("The caller could not be transferred."));
}

#[test]
fn a_transfer_that_the_end_of_the_call_overtakes_is_reported() {
    let mut talk = putting_through();
    talk.until(2_600).tell(Input::HangUpRequested);
    assert_eq!(unmade(&talk), Some("The call ended before the caller was transferred."));
    assert!(talk.history().iter().any(|(role, text)| *role == Role::Tool && text.contains("ended before")));
    let mut talk = putting_through();
    talk.until(9_000);
    assert_eq!((transfers(&talk), unmade(&talk)), (1, None), "the carrier was asked");
}

#[test]
fn an_announcement_that_takes_longer_than_a_tool_may_is_followed_by_its_transfer() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Somebody else, please.", 500).until(2_000);
    let words = "I will put you through to the reception now, and before I do, let me tell you that they are open from nine to five, that you can \
        reach them by mail as well, and that they speak German, French and Dutch.";
    talk.delta(words).model_calls("a", "transfer").model_done();
    talk.tell(Input::TransferRequested { id: "a".to_owned(), number: "+12025550142".to_owned() }).until(20_000);
    assert_eq!((transfers(&talk), talk.asks().len()), (1, 1));
}

#[test]
fn a_transfer_waits_for_the_tools_beside_it_and_there_is_only_one() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Book it, and then somebody else.", 500).until(2_000);
    talk.delta("I will.")
        .model_calls("a", "transfer")
        .model_calls("b", "book")
        .model_calls("c", "transfer")
        .model_done();
    talk.tell(Input::TransferRequested { id: "a".to_owned(), number: "+12025550142".to_owned() });
    talk.tell(Input::TransferRequested { id: "c".to_owned(), number: "+12025550143".to_owned() }).until(6_000);
    assert_eq!(transfers(&talk), 0, "the booking is under way");
    talk.tell(Input::ToolResult { turn: 1, id: "b".to_owned(), result: json!("booked") }).until(7_000);
    assert_eq!((transfers(&talk), talk.asks().len()), (1, 1));
}

#[test]
fn thanks_do_not_keep_the_line_open_and_a_question_does() {
    for (words, ends) in [("Okay, thank you very much.", true), ("Okay, and what does it cost?", false)] {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).caller_says("That is all.", 500).until(3_000);
        talk.delta("Then have a good evening.").model_calls("1", "end_call").model_done();
        talk.until(3_500).caller_says(words, 1_300).until(12_000);
        assert_eq!(talk.end().is_some(), ends, "{words}");
    }
}

/// Has the model say something, book and end the call in one response, in either order.
fn book_and_end(first: &str, second: &str, words: &str) -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Friday at seven, bye.", 500).until(2_000);
    talk.delta(words).model_calls("1", first).model_calls("2", second).model_done();
    talk
}

fn booked(talk: &mut Talk, result: serde_json::Value) -> &mut Talk {
    let called = |(_, effect): &(u64, Effect)| match effect {
        Effect::RunTool { turn, call } if call.name == "book" => Some((*turn, call.id.clone())),
        _ => None,
    };
    let calls: Vec<_> = talk.effects.iter().filter_map(called).collect();
    let [(turn, id)] = calls.as_slice() else { panic!("it runs once: {}", calls.len()) };
    talk.tell(Input::ToolResult { turn: *turn, id: id.clone(), result })
}

#[test]
fn what_is_called_beside_the_end_of_the_call_is_done_before_it() {
    for (first, second) in [("book", "end_call"), ("end_call", "book")] {
        let mut talk = book_and_end(first, second, "You are booked, goodbye.");
        talk.until(3_600);
        assert_eq!(talk.end(), None, "{first}: the booking is under way");
        booked(&mut talk, json!({ "ok": true })).until(12_000);
        assert_eq!(talk.end(), Some((3_900, &End::AgentHungUp)), "{first}");
        assert_eq!(
            (talk.asks().len(), talk.spoken()),
            (1, vec![(2_000, "You are booked,"), (2_000, "goodbye.")]),
            "{first}"
        );
        assert!(talk.history().contains(&tool("{\"ok\":true}")), "{first}");
    }
}

#[test]
fn goodbye_is_said_for_a_model_that_only_books_and_ends() {
    let mut talk = book_and_end("end_call", "book", "");
    booked(talk.until(3_000), json!({ "ok": true })).until(12_000);
    assert!(GOODBYES.contains(&talk.spoken().last().expect("a goodbye").1));
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::AgentHungUp));
}

#[test]
fn call_continues_when_a_promised_action_fails() {
    for (fails, asked_by) in [("by an error", 10_500), ("by never returning", 14_000)] {
        let mut talk = book_and_end("book", "end_call", "You are booked, goodbye.");
        if fails == "by an error" {
            booked(talk.until(3_000), json!({ "error": "It is full." }));
        }
        talk.until(asked_by);
        assert_eq!((talk.end(), talk.asks().len()), (None, 2), "{fails}");
        assert!(
            talk.last_question().iter().any(|(role, text)| *role == Role::Tool && text.contains("error")),
            "{fails}"
        );
    }
}

#[test]
fn the_end_of_the_call_waits_for_a_tool_that_the_caller_spoke_over() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Friday at seven.", 500).until(2_000).model_calls("a", "book").model_done();
    talk.until(2_500).caller_says("That was everything.", 700).until(4_500);
    talk.delta("Then goodbye.").model_calls("b", "end_call").model_done().until(8_000);
    assert_eq!(talk.end(), None);
    booked(&mut talk, json!({ "ok": true })).until(9_000);
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::AgentHungUp));
}
