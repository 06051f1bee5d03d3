//! How servers with OpenAI's API differ in tool calls.

use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role, ToolCall};

use super::openai::{called, read};
use super::{request, text};
use crate::doubles::model::{Double, Reply, ask, data, says};
use crate::doubles::openai_llm::{OpenAi, chunk, done};

fn call(call: Value) -> String {
    chunk(&json!({ "tool_calls": [call] }), None)
}

#[tokio::test(start_paused = true)]
async fn llama_cpp_python_repeats_names_and_says_everything_as_null() {
    let piece = |arguments: &str| {
        let function = json!({ "name": "tables", "arguments": arguments });
        chunk(
            &json!({ "role": null, "content": null, "function_call": function,
            "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] }),
            None,
        )
    };
    let chunks =
        vec![piece(""), piece("{\"day\":"), piece("\"Friday\"}"), chunk(&json!({}), Some("tool_calls")), done()];
    let (_, calls, _) = read(chunks).await;
    assert_eq!(calls, [("call_1".to_owned(), "tables".to_owned(), json!({ "day": "Friday" }))]);
}

#[tokio::test(start_paused = true)]
async fn tools_are_distinguished_by_index_or_id_or_come_whole_and_unnamed() {
    // Two interleaved calls; ended by `stop`, as vLLM does.
    let function = |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
    let interleaved = vec![
        chunk(&json!({ "content": "Let me look." }), None),
        call(json!({ "index": 0, "id": "a", "function": function("tables", "") })),
        call(json!({ "index": 1, "id": "b", "function": function("hours", "") })),
        call(json!({ "index": 0, "function": { "arguments": "{\"day\":1}" } })),
        call(json!({ "index": 1, "function": { "arguments": "{}" } })),
        chunk(&json!({}), Some("stop")),
        done(),
    ];
    let (said, calls, _) = read(interleaved).await;
    let named: Vec<(&str, &str)> = calls.iter().map(|(id, name, _)| (id.as_str(), name.as_str())).collect();
    assert_eq!((said.as_str(), named), ("Let me look.", vec![("a", "tables"), ("b", "hours")]));
    assert_eq!(calls[0].2, json!({ "day": 1 }));

    // Ollama: complete, without an index or all with the same one; no id in some versions; arguments as an object in others.
    let whole = vec![
        call(json!({ "index": 0, "id": "a", "function": function("tables", "{\"day\":1}") })),
        call(json!({ "index": 0, "id": "b", "function": function("hours", "") })),
        chunk(&json!({}), Some("stop")),
    ];
    let (_, calls, _) = read(whole).await;
    assert_eq!(calls.iter().map(|(id, ..)| id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let nameless = vec![
        call(json!({ "function": { "name": "tables", "arguments": { "day": 1 } } })),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let (_, calls, _) = read(nameless).await;
    assert_eq!(calls, [("call_0".to_owned(), "tables".to_owned(), json!({ "day": 1 }))]);

    // Several calls without ids: with one index, or without any, one after the other or in one list; also not streamed.
    let first = json!({ "function": function("tables", "{\"day\":1}") });
    let second = json!({ "function": function("hours", "{}") });
    let indexed = |mut call: Value| {
        call["index"] = json!(0);
        call
    };
    let list = |calls: Value| chunk(&json!({ "tool_calls": calls }), None);
    let end = || vec![chunk(&json!({}), Some("tool_calls")), done()];
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [first, second] });
    let unstreamed =
        json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }], "usage": {} });
    for chunks in [
        [vec![call(indexed(first.clone())), call(indexed(second.clone()))], end()].concat(),
        [vec![call(first.clone()), call(second.clone())], end()].concat(),
        [vec![list(json!([indexed(first.clone()), indexed(second.clone())]))], end()].concat(),
        [vec![list(json!([first, second]))], end()].concat(),
        vec![unstreamed.to_string()],
    ] {
        let (_, calls, _) = read(chunks).await;
        let expected = [("call_0", "tables", json!({ "day": 1 })), ("call_1", "hours", json!({}))];
        assert_eq!(calls, expected.map(|(id, name, arguments)| (id.to_owned(), name.to_owned(), arguments)));
    }

    // A server that repeats the name in each piece, and ends with an empty one.
    let pieces = ["", "{\"day\":", "1}", ""];
    let repeated = pieces.map(|piece| call(json!({ "index": 0, "function": function("tables", piece) })));
    let (_, calls, _) = read([repeated.to_vec(), end()].concat()).await;
    assert_eq!(calls, [("call_0".to_owned(), "tables".to_owned(), json!({ "day": 1 }))]);
}

#[tokio::test(start_paused = true)]
async fn a_new_id_in_every_piece_makes_no_new_call() {
    for index in [json!(0), json!(null)] {
        let piece = |id: &str, function: Value| call(json!({ "index": index, "id": id, "function": function }));
        let chunks = vec![
            piece("chatcmpl-tool-1", json!({ "name": "tables", "arguments": "" })),
            piece("chatcmpl-tool-2", json!({ "arguments": "{\"day\":" })),
            piece("chatcmpl-tool-3", json!({ "name": null, "arguments": "\"Friday\"}" })),
            chunk(&json!({}), Some("tool_calls")),
            done(),
        ];
        let (_, calls, _) = read(chunks).await;
        assert_eq!(calls, [("chatcmpl-tool-1".to_owned(), "tables".to_owned(), json!({ "day": "Friday" }))]);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_are_shown_by_ids_that_every_server_takes() {
    let call =
        |id: &str| ToolCall { id: id.to_owned(), name: "tables".to_owned(), arguments: json!({}), signature: None };
    let called = |ids: &[&str]| Message {
        tool_calls: ids.iter().map(|id| call(id)).collect(),
        ..Message::new(Role::Assistant, "")
    };
    let answer = |id: &str| Message { tool_call_id: Some(id.to_owned()), ..Message::new(Role::Tool, id) };
    let mut request = request();
    // Another model's ids, and those of a server that repeats the same ones.
    request.messages.extend([
        called(&["toolu_01A-b", "call_0"]),
        answer("toolu_01A-b"),
        called(&["call_0"]),
        answer("call_0"),
    ]);
    let double = Double::start(OpenAi, vec![says("Yes.")]).await;
    ask(&*double.llm(), request).await.1.expect("answered");
    let messages = double.asked()[0]["messages"].as_array().cloned().unwrap_or_default();
    let ids: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["call00000", "call00001", "call00002"], "nine letters and digits each, and none twice");
    let answers: Vec<&str> = messages[3..].iter().filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(answers, ["toolu_01A-b", "cancelled", "call_0"], "each with its own answer");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_not_json_are_passed_on_and_not_asked_for_again() {
    let cut = |arguments: &str, reason: &str| {
        let function = json!({ "name": "tables", "arguments": arguments });
        let piece = call(json!({ "index": 0, "id": "a", "function": function }));
        Reply::Events(vec![piece, chunk(&json!({}), Some(reason)), done()])
    };
    let written = ["{\"day\":\"Fri", "{\"day\":\"Friday\"", "{\"day\":1}{\"day\":1}"];
    let double = Double::start(OpenAi, written.map(|written| cut(written, "length")).into()).await;
    let llm = double.llm();
    for written in written {
        let (events, result) = ask(&*llm, request()).await;
        result.expect("the tool says what is wrong with them");
        assert_eq!(called(&events), [("tables", json!(written))]);
    }
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn output_that_the_server_refuses_is_asked_for_again() {
    let error = json!({ "error": {
        "message": "Failed to call a function. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=tables{",
    } });
    let replies = vec![
        Reply::Refuses(400, Vec::new(), error.clone()),
        says("Yes."),
        Reply::Events(vec![data(&error)]),
        says("Yes."),
    ];
    let double = Double::start(OpenAi, replies).await;
    let llm = double.llm();
    for place in ["a refusal", "a stream"] {
        let (events, result) = ask(&*llm, request()).await;
        assert!(text(&events) == "Yes." && result.is_ok(), "{place}: {result:?}");
    }
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_the_server_refuses_by_name_is_left_out() {
    let words = "Invalid schema for function 'tables': In context=(), array schema missing items.";
    let error = json!({ "error": {
        "message": words, "type": "invalid_request_error", "param": "tools[1].function.parameters", "code": "invalid_function_parameters",
    } });
    let replies = vec![Reply::Refuses(400, Vec::new(), error), says("Yes."), says("Yes.")];
    let double = Double::start(OpenAi, replies).await;
    let llm = double.llm();
    let mut with_two = request();
    let tables = with_two.tools[0].clone();
    with_two.tools.insert(0, switchhook_providers::ToolSpec { name: "hours".to_owned(), ..tables });
    for _ in 0..2 {
        let (events, result) = ask(&*llm, with_two.clone()).await;
        assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
    }
    let offered = |asked: &Value| asked["tools"].as_array().map_or(0, Vec::len);
    assert_eq!(double.asked().iter().map(offered).collect::<Vec<_>>(), [2, 1, 1], "and not offered again");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_the_server_refuses_without_naming_it_is_found_and_left_out() {
    let error = json!({ "error": { "message": "Invalid JSON schema.", "type": "invalid_request_error" } });
    let refused = || Reply::Refuses(400, Vec::new(), error.clone());
    let replies = vec![refused(), says("Yes."), refused(), says("Yes."), says("Yes.")];
    let double = Double::start(OpenAi, replies).await;
    let llm = double.llm();
    let mut with_two = request();
    let tables = with_two.tools[0].clone();
    with_two.tools.insert(0, switchhook_providers::ToolSpec { name: "hours".to_owned(), ..tables });
    let mut searching = Vec::new();
    for _ in 0..3 {
        let (events, result) = ask(&*llm, with_two.clone()).await;
        assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
        searching.push(llm.is_searching_refused(&with_two.tools));
    }
    let offered = |asked: &Value| asked["tools"].as_array().map_or(0, Vec::len);
    assert_eq!(double.asked().iter().map(offered).collect::<Vec<_>>(), [2, 1, 2, 1, 1], "and not offered again");
    assert_eq!(searching, [true, false, false]);
    let named: Vec<String> = llm.refused(&with_two.tools).into_iter().map(|tool| tool.name).collect();
    assert_eq!(named, ["tables"], "the first was accepted");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_model_writes_as_text_is_made_and_half_a_one_is_asked_for_again() {
    let written = |pieces: &[&str]| {
        let chunks = pieces.iter().map(|piece| chunk(&json!({ "content": piece }), None));
        Reply::Events(chunks.chain([chunk(&json!({}), Some("stop")), done()]).collect())
    };
    let replies = vec![
        written(&[
            "Let me look. <tool",
            "_call>\n{\"name\": \"tables\", ",
            "\"arguments\": {\"day\": 1}}\n</tool_",
            "call>",
        ]),
        written(&["<tool_call>{\"name\": \"tables\", \"argu", "</tool_call>"]),
        says("Yes."),
    ];
    let double = Double::start(OpenAi, replies).await;
    let llm = double.llm();
    let (events, result) = ask(&*llm, request()).await;
    result.expect("a good answer");
    assert_eq!((text(&events).trim(), called(&events)), ("Let me look.", vec![("tables", json!({ "day": 1 }))]));
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Yes." && called(&events).is_empty() && result.is_ok(), "{result:?}");
    double.finish();
}
