use switchhook_core::conversation::realtime::Instructions;

use super::*;

fn wire() -> OpenAiRealtime {
    let before =
        [Message::new(Role::System, "Book."), Message::new(Role::User, "Hi"), Message::new(Role::Assistant, "Yes?")];
    OpenAiRealtime::new(
        json!({ "voice": "marin" }),
        "Book.".to_owned(),
        &before,
        Format::Mulaw,
        AudioFormat::Narrowband,
    )
}

fn read(wire: &mut OpenAiRealtime, message: Value) -> Vec<RealtimeMessage> {
    wire.read(&message.to_string()).unwrap_or_else(|broken| panic!("{broken:?}"))
}

fn answers(heard: Vec<RealtimeMessage>) -> Vec<Value> {
    let answer = |heard| match heard {
        RealtimeMessage::Reply(text) => Some(serde_json::from_str(&text).expect("JSON")),
        _ => None,
    };
    heard.into_iter().filter_map(answer).collect()
}

fn events(heard: Vec<RealtimeMessage>) -> Vec<RealtimeEvent> {
    let event = |heard| if let RealtimeMessage::Event(event) = heard { Some(event) } else { None };
    heard.into_iter().filter_map(event).collect()
}

fn ready() -> OpenAiRealtime {
    let mut wire = wire();
    read(&mut wire, json!({ "type": "session.updated", "session": {} }));
    wire
}

fn ask(wire: &mut OpenAiRealtime, number: u32) -> Value {
    let sent = wire
        .send(RealtimeCommand::Respond { request: number, instructions: Instructions::Directed("Greet.".to_owned()) });
    serde_json::from_str(&sent[0]).expect("JSON")
}

#[test]
fn a_session_is_set_up_and_given_what_was_said_before_it() {
    let mut wire = wire();
    let update = answers(read(&mut wire, json!({ "type": "session.created" })));
    assert_eq!(update, [json!({ "type": "session.update", "session": { "voice": "marin" } })]);
    let format = json!({ "format": { "type": "audio/pcmu" } });
    let updated = json!({ "type": "session.updated", "session": { "audio": { "input": format, "output": format } } });
    let heard = read(&mut wire, updated);
    assert!(heard.contains(&RealtimeMessage::Ready));
    let items: Vec<_> = answers(heard).iter().map(|answer| answer["item"]["content"][0].clone()).collect();
    assert_eq!(
        items,
        [json!({ "type": "input_text", "text": "Hi" }), json!({ "type": "output_text", "text": "Yes?" })]
    );
}

#[test]
fn a_server_that_uses_another_format_than_it_was_asked_for_is_refused() {
    let output = |format: Value| json!({ "audio": { "output": { "format": format } } });
    let pcm = |rate: u32| json!({ "type": "audio/pcm", "rate": rate });
    for (format, session, other) in [
        (Format::Mulaw, output(json!({ "type": "audio/pcm" })), Some("audio/pcm")),
        (Format::Mulaw, json!({ "output_audio_format": "pcm16" }), Some("pcm16")),
        (Format::Alaw, json!({ "output_audio_format": "g711_ulaw" }), Some("g711_ulaw")),
        (Format::Linear16, json!({ "output_audio_format": "g711_alaw" }), Some("g711_alaw")),
        (Format::Linear16, output(pcm(16_000)), Some("audio/pcm at 16000 Hz")),
        (Format::Linear16, output(pcm(24_000)), None),
        (Format::Linear16, output(json!({ "type": "audio/pcm", "rate": null })), None),
        (Format::Linear16, json!({ "output_audio_format": "pcm16" }), None),
        (Format::Linear16, json!({ "output_audio_format": "pcm24" }), None),
        (Format::Mulaw, json!({ "input_audio_format": "pcm16", "output_audio_format": "g711_ulaw" }), None),
        (Format::Mulaw, output(json!({ "type": "audio/pcmu", "rate": 24_000 })), None),
        (Format::Mulaw, json!({ "output_audio_format": null }), None),
    ] {
        let mut wire = OpenAiRealtime::new(json!({}), String::new(), &[], format, AudioFormat::Narrowband);
        let refused = wire.read(&json!({ "type": "session.updated", "session": session }).to_string()).err();
        let expected = other.map(|other| {
            let wanted = format.name();
            StreamError::Permanent(format!(
                "it uses {other} for output in place of {wanted}; choose another settings.realtime_format"
            ))
        });
        assert_eq!(refused, expected, "{session}");
    }
}

#[test]
fn a_response_is_distinguished_from_those_that_the_provider_decides() {
    let mut wire = ready();
    let asked = ask(&mut wire, 7);
    assert_eq!(asked["response"]["instructions"], "Book.\n\nGreet.", "a response's instructions replace the session's");
    let created = |id: &str, metadata: Value| json!({ "type": "response.created", "response": { "id": id, "metadata": metadata } });
    let started = |id: &str, request| vec![RealtimeEvent::ResponseStarted { response: id.to_owned(), request }];
    assert!(events(read(&mut wire, created("r1", asked["response"]["metadata"].clone()))) == started("r1", Some(7)));
    ask(&mut wire, 8);
    assert!(events(read(&mut wire, created("r2", Value::Null))) == started("r2", None), "this one is the server's own");

    let mut silent = ready();
    ask(&mut silent, 1);
    assert!(
        events(read(&mut silent, created("r1", Value::Null))) == started("r1", Some(1)),
        "a server without metadata"
    );
}

/// Reads an error before the session is configured.
fn wire_error(code: &str) -> Result<Vec<RealtimeMessage>, StreamError> {
    wire().read(&json!({ "type": "error", "error": { "code": code, "message": "No." } }).to_string())
}

#[test]
fn what_is_written_down_and_what_breaks_off_is_reported() {
    let mut wire = ready();
    let kind = "conversation.item.input_audio_transcription.completed";
    let usage = json!({ "type": "duration", "seconds": 2.5 });
    let received =
        events(read(&mut wire, json!({ "type": kind, "item_id": "a", "transcript": " Hi. ", "usage": usage })));
    let [RealtimeEvent::TurnTranscribed { text, usage, .. }] = &received[..] else { panic!("one event") };
    assert_eq!((text.as_str(), usage.stt_audio_ms, usage.unpriced), ("Hi.", 2_500, true));
    let details = json!({ "type": "incomplete", "reason": "max_output_tokens" });
    let response = json!({ "id": "r1", "status": "incomplete", "status_details": details });
    let received = events(read(&mut wire, json!({ "type": "response.done", "response": response })));
    assert!(matches!(&received[..], [RealtimeEvent::ResponseDone { failed: Some(words), .. }]
        if words == "it broke off (max_output_tokens)"));
}

#[test]
fn a_rate_limit_says_how_long_to_wait() {
    let pause = |code: &str, message: &str| {
        let error = json!({ "type": "requests", "code": code, "message": message });
        let details = json!({ "type": "failed", "error": error });
        let response = json!({ "id": "r1", "status": "failed", "status_details": details });
        let received = events(read(&mut ready(), json!({ "type": "response.done", "response": response })));
        let [RealtimeEvent::ResponseDone { failed: Some(_), retry_after, .. }] = &received[..] else {
            panic!("one event")
        };
        *retry_after
    };
    let limit = "Rate limit reached for gpt-realtime. Please try again in 1.2s. Visit the dashboard.";
    assert_eq!(pause("rate_limit_exceeded", limit), Some(Duration::from_millis(1_200)));
    assert_eq!(pause("rate_limit_exceeded", "Please try again in 4s."), Some(Duration::from_secs(4)));
    assert_eq!(pause("server_error", "The server had an error."), Some(Duration::ZERO));
    assert_eq!(pause("insufficient_quota", "You exceeded your current quota."), None);
}

#[test]
fn errors_are_distinguished() {
    let error = |code: &str, event: Value| json!({ "type": "error", "error": { "code": code, "message": "No.", "event_id": event } });
    let mut wire = ready();
    ask(&mut wire, 3);
    let busy = read(&mut wire, error("conversation_already_has_active_response", json!("request_3")));
    assert!(events(busy) == [RealtimeEvent::Busy { request: 3 }]);
    ask(&mut wire, 4);
    let failed = events(read(&mut wire, error("invalid_value", json!("request_4"))));
    assert!(
        matches!(&failed[..], [RealtimeEvent::ResponseStarted { .. }, RealtimeEvent::ResponseDone { failed: Some(words), .. }]
        if words == "No. (invalid_value)")
    );
    for harmless in ["response_cancel_not_active", "item_truncate_invalid"] {
        assert!(read(&mut wire, error(harmless, Value::Null)).is_empty(), "{harmless}");
    }
    let over = wire.read(&error("session_expired", Value::Null).to_string()).err();
    assert_eq!(over, Some(StreamError::Retryable("No. (session_expired)".to_owned())));
    let early = |code: &str| wire_error(code).err();
    assert_eq!(early("rate_limit_exceeded"), Some(StreamError::Retryable("No. (rate_limit_exceeded)".to_owned())));
    let refused = early("model_not_found");
    assert_eq!(refused, Some(StreamError::Permanent("No. (model_not_found)".to_owned())), "nothing is set up yet");
    assert!(wire.read("{").is_err() && wire.read(r#"{"type":"something.new"}"#).is_ok_and(|heard| heard.is_empty()));
}

#[test]
fn an_error_that_does_not_quote_its_request_belongs_to_the_one_that_waits() {
    for (error, pause) in [
        (json!({ "code": "rate_limit_exceeded", "message": "Please try again in 1.2s." }), Some(1_200)),
        (json!({ "type": "rate_limit_error", "message": "Slow down.", "event_id": null }), Some(0)),
        (json!({ "message": "Too many requests", "event_id": "event_1" }), Some(0)),
        (json!({ "code": 429, "message": "No." }), Some(0)),
        (json!({ "type": "server_error", "message": "The server had an error." }), Some(0)),
        (json!({ "code": "insufficient_quota", "message": "You exceeded your current quota." }), None),
    ] {
        let message = json!({ "type": "error", "error": error });
        let mut wire = ready();
        assert!(read(&mut wire, message.clone()).is_empty(), "nothing waits for {error}");
        ask(&mut wire, 3);
        let received = events(read(&mut wire, message.clone()));
        let [started, RealtimeEvent::ResponseDone { failed: Some(_), retry_after, .. }] = &received[..] else {
            panic!("{error}: the request has failed")
        };
        assert!(matches!(started, RealtimeEvent::ResponseStarted { request: Some(3), .. }), "{error}");
        assert_eq!(*retry_after, pause.map(Duration::from_millis), "{error}");
        assert!(read(&mut wire, message).is_empty(), "{error}: once");
    }
    for other in ["item_truncate_invalid", "response_cancel_not_active", "unknown_parameter"] {
        let mut wire = ready();
        ask(&mut wire, 3);
        let error = json!({ "type": "invalid_request_error", "code": other, "message": "No." });
        assert!(read(&mut wire, json!({ "type": "error", "error": error })).is_empty(), "{other}");
    }
}

#[test]
fn a_tool_call_is_reported_once_however_often_it_comes() {
    let mut wire = ready();
    let item = json!({ "type": "function_call", "call_id": "c1", "name": "book", "arguments": "{\"day\":\"Friday\"}" });
    let first =
        events(read(&mut wire, json!({ "type": "response.output_item.done", "response_id": "r1", "item": item })));
    assert!(
        matches!(&first[..], [RealtimeEvent::ToolCall { call, .. }] if call.arguments == json!({ "day": "Friday" }))
    );
    let usage = json!({
        "input_token_details": { "text_tokens": 10, "audio_tokens": 20, "cached_tokens_details": { "text_tokens": 4, "audio_tokens": 5 } },
        "output_token_details": { "text_tokens": 3, "audio_tokens": 6 },
    });
    let done = json!({ "type": "response.done", "response": { "id": "r1", "status": "completed", "output": [item], "usage": usage } });
    let done = events(read(&mut wire, done));
    let [RealtimeEvent::ResponseDone { failed: None, usage, .. }] = &done[..] else {
        panic!("the call is reported again")
    };
    let counted = (usage.llm_input_tokens, usage.llm_cached_tokens, usage.llm_output_tokens);
    let audio = (usage.audio_input_tokens, usage.audio_cached_tokens, usage.audio_output_tokens);
    assert_eq!((counted, audio), ((10, 4, 3), (20, 5, 6)));
}

#[test]
fn words_are_reported_once_whether_they_come_in_pieces_or_as_a_whole() {
    let mut wire = ready();
    let words = |kind: &str, item: &str, name: &str, text: &str| json!({ "type": format!("response.{kind}"), "response_id": "r", "item_id": item, name: text });
    let mut spoken = String::new();
    for message in [
        words("output_audio_transcript.delta", "a", "delta", "Hel"),
        words("output_audio_transcript.delta", "a", "delta", "lo."),
        words("output_audio_transcript.done", "a", "transcript", "Hello."),
        words("audio_transcript.done", "b", "transcript", " Bye."),
    ] {
        for event in events(read(&mut wire, message)) {
            if let RealtimeEvent::Text { text, .. } = event {
                spoken.push_str(&text);
            }
        }
    }
    assert_eq!(spoken, "Hello. Bye.");
}

fn function_call(id: &str, status: &Value, arguments: &str) -> Value {
    let mut item = json!({ "type": "function_call", "call_id": id, "name": "cancel_booking", "arguments": arguments });
    if !status.is_null() {
        item["status"] = status.clone();
    }
    item
}

/// Returns how many calls result from an item alone, and from the response that ends with it.
fn calls_of(item: &Value, response_status: &Value) -> (usize, usize) {
    let mut wire = ready();
    let mut calls = |message: Value| {
        let events = events(read(&mut wire, message));
        events.iter().filter(|event| matches!(event, RealtimeEvent::ToolCall { .. })).count()
    };
    let alone = calls(json!({ "type": "response.output_item.done", "response_id": "r1", "item": item }));
    let mut response = json!({ "id": "r1", "output": [item] });
    if !response_status.is_null() {
        response["status"] = response_status.clone();
    }
    (alone, calls(json!({ "type": "response.done", "response": response })))
}

#[test]
fn only_a_call_that_the_model_has_completed_is_reported() {
    let table = [
        (json!("incomplete"), "", "cancelled", (0, 0)),
        (json!("incomplete"), "{\"day\":\"Fri", "incomplete", (0, 0)),
        (json!("incomplete"), "{}", "failed", (0, 0)),
        (json!("in_progress"), "{}", "completed", (0, 1)),
        (json!(""), "{}", "completed", (0, 1)),
        (json!("in_progress"), "{}", "cancelled", (0, 0)),
        (json!("completed"), "{}", "cancelled", (1, 0)),
        (json!("completed"), "", "completed", (1, 0)),
        (Value::Null, "{}", "completed", (1, 0)),
        (Value::Null, "", "completed", (0, 1)),
        (Value::Null, "", "cancelled", (0, 0)),
    ];
    for (status, arguments, response, expected) in table {
        let made = calls_of(&function_call("c1", &status, arguments), &json!(response));
        assert_eq!(made, expected, "{status} in a response that is {response}");
    }
}

#[test]
fn a_call_of_which_only_the_arguments_arrive_counts_with_the_end_of_its_response() {
    for (status, expected) in [("completed", 1), ("cancelled", 0)] {
        let mut wire = ready();
        let arguments = json!({
            "type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "i1", "call_id": "c1",
            "name": "cancel_booking", "arguments": "{\"day\":\"Friday\"}",
        });
        assert!(events(read(&mut wire, arguments)).is_empty(), "its response may break off");
        let done = json!({ "type": "response.done", "response": { "id": "r1", "status": status, "output": [] } });
        let events = events(read(&mut wire, done));
        let calls = events.iter().filter(|event| matches!(event, RealtimeEvent::ToolCall { .. })).count();
        assert_eq!(calls, expected, "{status}");
    }
}

/// Returns how many calls result from the end of a response alone.
fn calls_at_the_end(status: &Value, response_status: &Value) -> usize {
    let item = function_call("c1", status, "{}");
    let response = json!({ "id": "r1", "status": response_status, "output": [item] });
    let events = events(read(&mut ready(), json!({ "type": "response.done", "response": response })));
    events.iter().filter(|event| matches!(event, RealtimeEvent::ToolCall { .. })).count()
}

#[test]
fn arguments_are_read_as_those_of_other_models() {
    for (arguments, expected) in [
        (json!("{\"day\":\"Friday\"}"), json!({ "day": "Friday" })),
        (json!("\"{\\\"day\\\":1}\""), json!({ "day": 1 })),
        (json!({ "day": 1 }), json!({ "day": 1 })),
        (json!("null"), json!({})),
        (json!(null), json!({})),
        (json!(" "), json!({})),
        (json!("{\"day\":\"Fri"), json!("{\"day\":\"Fri")),
    ] {
        let mut item = function_call("c1", &json!("completed"), "");
        item["arguments"] = arguments;
        let done = json!({ "type": "response.output_item.done", "response_id": "r1", "item": item });
        let events = events(read(&mut ready(), done));
        let [RealtimeEvent::ToolCall { call, .. }] = &events[..] else { panic!("one call for {item}") };
        assert_eq!(call.arguments, expected, "{item}");
    }
}

#[test]
fn a_name_loses_its_namespace_and_one_that_the_model_made_up_is_sent_in_a_form_that_is_accepted() {
    for (named, made, sent) in [("default_api.book", "book", "book"), ("crm.book", "crm.book", "crm_book")] {
        let mut item = function_call("c1", &json!("completed"), "{}");
        item["name"] = json!(named);
        let done = json!({ "type": "response.output_item.done", "response_id": "r1", "item": item });
        let events = events(read(&mut ready(), done));
        let [RealtimeEvent::ToolCall { call, .. }] = &events[..] else { panic!("one call of {named}") };
        assert_eq!(call.name, made);
        let called = Message { tool_calls: vec![call.clone()], ..Message::new(Role::Assistant, "") };
        assert_eq!(items(&called)[0]["name"], sent);
    }
}

#[test]
fn a_response_that_broke_off_contains_only_the_calls_that_say_they_are_complete() {
    for status in ["cancelled", "failed", "incomplete"] {
        assert_eq!(calls_at_the_end(&Value::Null, &json!(status)), 0, "{status}");
        assert_eq!(calls_at_the_end(&json!("completed"), &json!(status)), 1, "{status}");
    }
    assert_eq!(calls_at_the_end(&Value::Null, &json!("completed")), 1);
    assert_eq!(calls_at_the_end(&Value::Null, &Value::Null), 1, "a server that reports no status");
}

#[test]
fn a_fragment_of_a_call_does_not_stand_in_the_way_of_the_whole_one() {
    let mut wire = ready();
    let done = |item: Value| json!({ "type": "response.output_item.done", "response_id": "r1", "item": item });
    assert!(events(read(&mut wire, done(function_call("c1", &json!("incomplete"), "")))).is_empty());
    let whole = events(read(&mut wire, done(function_call("c1", &json!("completed"), "{\"day\":\"Friday\"}"))));
    assert!(
        matches!(&whole[..], [RealtimeEvent::ToolCall { call, .. }] if call.arguments == json!({ "day": "Friday" }))
    );
}

fn committed(wire: &mut OpenAiRealtime, item: &str) {
    read(wire, json!({ "type": "input_audio_buffer.committed", "item_id": item }));
}

fn ended(wire: &mut OpenAiRealtime, id: &str, status: &str, details: Value) -> Vec<RealtimeMessage> {
    let response = json!({ "id": id, "status": status, "status_details": details });
    read(wire, json!({ "type": "response.done", "response": response }))
}

/// Returns the caller's items that these messages delete.
fn deleted(messages: Vec<RealtimeMessage>) -> Vec<String> {
    let delete = |answer: &Value| answer["type"] == "conversation.item.delete";
    let answers = answers(messages);
    answers.iter().filter(|answer| delete(answer)).map(|answer| field(answer, "item_id").to_owned()).collect()
}

#[test]
fn a_response_that_a_content_filter_withholds_is_a_refusal_and_not_a_failure() {
    let filtered = || json!({ "type": "incomplete", "reason": "content_filter" });
    let error = json!({ "type": "invalid_request_error", "code": "content_filter", "message": "No." });
    for (status, details) in [
        ("incomplete", filtered()),
        ("incomplete", json!({ "reason": "SAFETY" })),
        ("failed", json!({ "type": "failed", "error": error })),
    ] {
        let received = events(ended(&mut ready(), "r1", status, details.clone()));
        assert!(matches!(&received[..], [RealtimeEvent::ResponseRefused { .. }]), "{details}");
    }
    let mut wire = ready();
    ask(&mut wire, 4);
    let received = events(read(&mut wire, json!({ "type": "error", "error": error })));
    let expected = [RealtimeEvent::ResponseStarted { response: "request_4".to_owned(), request: Some(4) }];
    assert!(received[..1] == expected && matches!(received[1], RealtimeEvent::ResponseRefused { .. }));
    let mut spoken = ready();
    let words =
        json!({ "type": "response.output_audio_transcript.delta", "response_id": "r1", "item_id": "i", "delta": "We" });
    read(&mut spoken, words);
    let received = events(ended(&mut spoken, "r1", "incomplete", filtered()));
    assert!(matches!(&received[..], [RealtimeEvent::ResponseDone { failed: None, .. }]), "the caller has heard it");
}

#[test]
fn what_the_caller_said_before_a_refusal_leaves_the_conversation_then_all_that_they_said() {
    let refuse = |wire: &mut OpenAiRealtime| ended(wire, "r", "incomplete", json!({ "reason": "content_filter" }));
    let mut wire = ready();
    committed(&mut wire, "a");
    ended(&mut wire, "r1", "completed", Value::Null);
    committed(&mut wire, "b");
    committed(&mut wire, "c");
    let first = refuse(&mut wire);
    let in_their_place = answers(first.clone()).last().map(|answer| answer["item"]["content"][0]["text"].clone());
    assert_eq!(in_their_place, Some(json!(WITHHELD_WORDS)));
    assert_eq!(deleted(first.clone()), ["b", "c"]);
    let refused = events(first);
    let [RealtimeEvent::ResponseRefused { left_out, .. }] = &refused[..] else { panic!("a refusal") };
    assert_eq!(*left_out, ["b", "c"], "no later session gets them either");
    assert_eq!(deleted(refuse(&mut wire)), ["a"]);
    assert!(answers(refuse(&mut wire)).is_empty(), "nothing is left");
    let mut wire = ready();
    committed(&mut wire, "a");
    committed(&mut wire, "b");
    ended(&mut wire, "r1", "completed", Value::Null);
    assert_eq!(deleted(refuse(&mut wire)), ["b"], "what was answered is kept as long as possible");
    assert_eq!(deleted(refuse(&mut wire)), ["a"]);
}
