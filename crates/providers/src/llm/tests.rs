//! Responses: their limit, heartbeats between their events, and calls that they repeat.

use serde_json::json;

use super::stream_state::drop_repeated;
use super::*;

/// A response that has ended without a tool call.
#[derive(Default)]
struct Ended {
    at_limit: bool,
}

impl LlmResponse for Ended {
    fn take(&mut self, _event: &Value) -> Result<StreamStep, LlmFailure> {
        Ok(StreamStep::Nothing)
    }

    fn finish(&mut self, _done: bool) -> Result<Vec<ToolCall>, LlmFailure> {
        Ok(Vec::new())
    }

    fn usage(&self) -> Option<Usage> {
        None
    }

    fn is_cut(&self) -> bool {
        self.at_limit
    }
}

/// Returns the text of a response with these pieces, and how it failed.
async fn respond(pieces: &[&str], at_limit: bool, limit: TokenLimit) -> (String, Option<LlmFailure>) {
    let (events, mut given) = mpsc::channel(16);
    let mut reading = StreamState { limit, ..StreamState::default() };
    for piece in pieces {
        let step = StreamStep::Text((*piece).to_owned());
        assert!(matches!(reading.take(step, &events).await, Ok(false)));
    }
    let finished = reading.finish("double", &mut Ended { at_limit }, &events).await;
    drop(events);
    let mut text = String::new();
    while let Some(LlmEvent::Delta(more)) = given.recv().await {
        text.push_str(&more);
    }
    (text, finished.err())
}

#[tokio::test]
async fn a_response_of_reasoning_alone_that_ends_at_its_limit_says_so() {
    let limit = TokenLimit::Raisable(300);
    let used_up = || Some(LlmFailure::used_up(limit));
    for pieces in [&[][..], &["\n", " "], &["<think>They want", " a table"], &["<think>Hm.</think>\n\n"]] {
        assert!(respond(pieces, true, limit).await == (String::new(), used_up()), "{pieces:?}");
        assert!(
            respond(pieces, false, limit).await == (String::new(), Some(LlmFailure::empty_response())),
            "{pieces:?}"
        );
    }
    let spoken = respond(&["<think>Hm.</think>", "\n", "At ", "sev"], true, limit).await;
    assert!(spoken == ("At sev".to_owned(), None), "words before the limit are an answer: {:?}", spoken.0);
    let words = |limit| LlmFailure::used_up(limit).message(None);
    let advice = "before its first word: raise llm.max_tokens or turn reasoning down";
    assert_eq!(words(limit), format!("it used all 300 tokens {advice}"));
    let of_settings = LlmFailure::used_up(TokenLimit::Settings(Some(500)));
    assert!(of_settings.retry == Retry::None, "the settings would replace another limit");
    let advice = "before its first word: raise the limit in settings.request or turn reasoning down";
    assert_eq!(of_settings.message(None), format!("it used all 500 tokens {advice}"));
}

#[test]
fn a_word_that_keeps_a_connection_open_is_no_torn_event() {
    for word in ["ping", "[HEARTBEAT]", "keep-alive", ": heartbeat", " keepalive "] {
        assert!(is_heartbeat(word), "{word}");
    }
    for torn in ["", "{\"choices\":[", "[{\"choices\"", "\"text", "a word that is much too long for that"] {
        assert!(!is_heartbeat(torn), "{torn}");
    }
}

#[test]
fn a_call_that_a_response_makes_twice_is_made_once() {
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        signature: None,
    };
    let mut calls = vec![
        call("a", "book", json!({ "day": "Friday" })),
        call("b", "book", json!({ "day": "Friday" })),
        call("c", "book", json!({ "day": "Monday" })),
        call("d", SEND_DTMF, json!({ "digits": "1" })),
        call("e", SEND_DTMF, json!({ "digits": "1" })),
    ];
    drop_repeated("openai", &mut calls);
    let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "c", "d", "e"]);
}

#[tokio::test]
async fn half_a_call_is_asked_for_again_unless_something_was_said() {
    for (pieces, text, called) in [
        (&["<tool_call>{\"name\":\"book\",\"argu"][..], "", false),
        (&["Let me look. ", "<tool_call>{\"name\":\"book\",\"argu"][..], "Let me look. ", true),
    ] {
        let (events, mut given) = mpsc::channel(16);
        let filter = SpeechFilter::new(vec!["book".to_owned()], false);
        let mut reading = StreamState { filter, ..StreamState::default() };
        for piece in pieces {
            assert!(matches!(reading.take(StreamStep::Text((*piece).to_owned()), &events).await, Ok(false)));
        }
        let finished = reading.finish("double", &mut Ended::default(), &events).await;
        drop(events);
        let (mut spoken, mut calls) = (String::new(), Vec::new());
        while let Some(event) = given.recv().await {
            match event {
                LlmEvent::Delta(more) => spoken.push_str(&more),
                LlmEvent::ToolCall(call) => calls.push((call.name, call.arguments.is_string())),
            }
        }
        // The tool refuses text in place of arguments, with the reason.
        let expected = if called { vec![("book".to_owned(), true)] } else { Vec::new() };
        assert_eq!((spoken.as_str(), calls, finished.is_ok()), (text, expected, called));
    }
}
