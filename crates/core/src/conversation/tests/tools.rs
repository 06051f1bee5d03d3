use super::*;

fn asked() -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Is there a table?", 500).until(2_000);
    talk
}

#[test]
fn the_model_is_asked_again_with_what_its_tools_answered() {
    let mut talk = asked();
    talk.delta("Let me look.").model_calls("a", "tables").model_calls("b", "hours").model_done();
    assert_eq!(talk.times(|effect| matches!(effect, Effect::RunTool { .. })), [2_000, 2_000]);
    talk.tell(Input::ToolResult { turn: 1, id: "b".to_owned(), result: json!("late") });
    assert_eq!(talk.asks().len(), 1, "one is missing");
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!(7) });
    let question = talk.last_question();
    let tool = |text: &str| (Role::Tool, text.to_owned());
    let said = assistant("Let me look."); // Although it was not heard yet.
    assert_eq!(question, [user("Is there a table?"), said, tool("7"), tool("\"late\"")]);
    talk.model_says("Seven.").until(6_000);
    assert_eq!(talk.history().last(), Some(&assistant("Let me look. Seven.")));
    assert_eq!(talk.conversation.turns(), 1);
}

#[test]
fn what_was_said_before_a_tool_is_no_goodbye() {
    let mut talk = asked();
    talk.delta("One second, I will cancel it.").model_calls("a", "cancel").model_done();
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!("cancelled") });
    talk.model_calls("b", "end_call").model_done().until(20_000);
    let said: Vec<&str> = talk.spoken().into_iter().map(|(_, text)| text).collect();
    assert!(said[0].starts_with("One second") && GOODBYES.contains(&said[1]), "{said:?}");
}

#[test]
fn a_model_that_fails_after_a_tool_is_asked_again() {
    let mut talk = asked();
    talk.delta("One second, I will book it.").model_calls("a", "book").model_done();
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!("booked") });
    let asks = talk.asks().len();
    talk.model_fails(FailureCode::ProviderTimeout);
    assert_eq!(talk.asks().len(), asks + 1, "nothing of this response was said");
    assert!(!talk.spoken().iter().any(|(_, text)| LOST_THREAD.contains(text)));
}

#[test]
fn a_tool_has_words_for_the_wait_unless_the_model_has_some() {
    for (words, said) in [("", "Let me check the book."), ("One second, please.", "One second, please.")] {
        let mut talk = asked();
        talk.delta(words).model_calls_with("a", "hours", Some(" "));
        talk.model_calls_with("b", "tables", Some("Let me check the book.")).model_done().until(3_000);
        assert_eq!(talk.spoken(), [(2_000, said)]);
    }
}

#[test]
fn a_tool_that_never_answers_is_reported_to_the_model() {
    let mut talk = asked();
    talk.model_calls("a", "tables").model_done().until(12_000);
    assert!(talk.last_question().last().expect("a result").1.contains("did not respond in time"));
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!(7) });
    assert_eq!(talk.asks().len(), 2, "too late for this question");
    talk.model_says("I cannot reach the book.").until(20_000).caller_says("Try again.", 500).until(24_000);
    assert!(talk.last_question().contains(&(Role::Tool, "7".to_owned())), "not for the next: it was done after all");
}

#[test]
fn a_tool_that_runs_when_the_caller_speaks_is_not_forgotten() {
    let mut talk = asked();
    talk.model_calls("a", "hours").model_calls("b", "book").model_done();
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!("late") });
    talk.until(2_500).caller_says("Hello?", 500).until(5_000);
    let question = talk.last_question();
    let texts: Vec<&str> = question.iter().map(|(_, text)| text.as_str()).collect();
    let [.., called, hours, book, "Hello?"] = texts.as_slice() else { panic!("{question:?}") };
    assert_eq!((*called, *hours), ("", "\"late\""));
    assert!(book.contains("still running"), "{book}");
    talk.tell(Input::ToolResult { turn: 1, id: "b".to_owned(), result: json!("booked") });
    talk.model_says("Still here.").until(9_000).caller_says("And?", 500).until(12_000);
    assert!(talk.last_question().contains(&(Role::Tool, "\"booked\"".to_owned())), "{:?}", talk.last_question());
}

#[test]
fn what_a_tool_found_is_told_although_the_caller_spoke_meanwhile() {
    let mut talk = asked();
    talk.model_calls("a", "book").model_done();
    talk.until(2_500).caller_says("For four people.", 500).until(5_000).model_says("I am still looking.").until(5_500);
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!("booked") });
    assert_eq!(talk.asks().len(), 2, "the agent speaks");
    talk.until(8_000);
    assert_eq!(talk.asks().len(), 3, "as soon as it has finished");
    assert!(talk.last_question().contains(&(Role::Tool, "\"booked\"".to_owned())), "{:?}", talk.last_question());
    talk.model_says("It is booked.").until(30_000);
    assert_eq!(talk.asks().len(), 3, "once");
}

#[test]
fn a_model_that_only_calls_tools_is_stopped() {
    let mut talk = asked();
    for _ in 0..30 {
        let turn = talk.last_ask();
        talk.model_calls("a", "tables").model_done();
        talk.tell(Input::ToolResult { turn, id: "a".to_owned(), result: json!(1) });
    }
    talk.until(20_000);
    assert!(matches!(talk.end(), Some((_, End::Failed(_)))));
}

/// Returns a conversation in which a tool has answered, and the model writes this instead of words.
fn wordless_after(tool: &str, text: &str) -> Talk {
    let mut talk = asked();
    talk.model_calls("a", tool).model_done();
    talk.tell(Input::ToolResult { turn: 1, id: "a".to_owned(), result: json!("done") });
    assert_eq!(talk.asks().len(), 2);
    talk.model_says(text);
    talk
}

#[test]
fn a_response_without_words_is_asked_for_again_once() {
    for text in ["...", "\u{2026}", " \u{1f44d}"] {
        let mut talk = asked();
        talk.model_says(text);
        assert_eq!((talk.asks().len(), talk.asks()[1]), (2, (2_000, false)), "{text}");
        let question = talk.last_question();
        assert_eq!(question[0], user("Is there a table?"));
        assert!(question[1].1.contains("had no words") && question.len() == 2, "{question:?}");
        talk.model_says("Yes, at eight.").until(5_000);
        assert_eq!(talk.history(), [user("Is there a table?"), assistant("Yes, at eight.")], "{text}");
        assert_eq!(talk.conversation.turns(), 1);

        let mut talk = asked();
        talk.model_says(text).model_says(text).until(5_000);
        assert_eq!((talk.asks().len(), talk.spoken().len(), talk.end()), (2, 0, None), "{text}: it means to be silent");
    }
    let talk = wordless_after("book", "\u{2705}");
    assert_eq!(talk.asks().len(), 3);
    assert!(talk.last_question().contains(&(Role::Tool, "\"done\"".to_owned())), "{:?}", talk.last_question());
}

#[test]
fn a_model_may_be_silent_without_text_after_keys_and_at_the_end() {
    let mut talk = asked();
    talk.model_done().until(5_000);
    assert_eq!(talk.asks().len(), 1);
    assert_eq!(wordless_after(crate::agent::SEND_DTMF, "...").asks().len(), 2);
    let mut talk = asked();
    talk.delta("...").model_calls("a", "end_call").model_done().until(9_000);
    assert_eq!(talk.asks().len(), 1);
    assert!(GOODBYES.contains(&talk.spoken()[0].1));
}
