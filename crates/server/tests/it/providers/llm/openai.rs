//! Differences between servers with OpenAI's API.

use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role};
use switchhook_providers::{LlmEvent, ProviderError};

use super::{request, text, withholds_after};
use crate::doubles::model::{Double, KEY, Protocol as _, Reply, ask, data, says};
use crate::doubles::openai_llm::{OpenAi, chunk, done};

/// Returns the text and the tool calls of a response with these chunks.
pub(super) async fn read(chunks: Vec<String>) -> (String, Vec<(String, String, Value)>, u64) {
    let double = Double::start(OpenAi, vec![Reply::Events(chunks)]).await;
    let (events, usage) = ask(&*double.llm(), request()).await;
    let usage = usage.expect("a good answer");
    double.finish();
    let calls = events.iter().filter_map(|event| match event {
        LlmEvent::ToolCall(call) => Some((call.id.clone(), call.name.clone(), call.arguments.clone())),
        LlmEvent::Delta(_) => None,
    });
    (text(&events), calls.collect(), usage.llm_input_tokens)
}

pub(super) fn called(events: &[LlmEvent]) -> Vec<(&str, Value)> {
    let calls = events.iter().filter_map(|event| if let LlmEvent::ToolCall(call) = event { Some(call) } else { None });
    calls.map(|call| (call.name.as_str(), call.arguments.clone())).collect()
}

#[tokio::test(start_paused = true)]
async fn azure_begins_without_a_choice_and_wants_its_key_elsewhere() {
    let filter = data(&json!({ "choices": [], "prompt_filter_results": [{ "content_filter_results": {} }] }));
    let answer = [vec![filter], OpenAi.answer(&[])].concat();
    let answer = [answer, vec![]].concat();
    let double = Double::start(OpenAi, vec![says("Yes."), Reply::Events(answer), says("Yes.")]).await;
    let base = format!("{}/openai/deployments/d1", double.base_url());
    let llm = double.llm_with(json!({
        "base_url": base, "key_header": "api-key", "query": { "api-version": "2026-01-01" },
        "max_tokens_field": "max_completion_tokens",
    }));
    let (events, _) = ask(&*llm, request()).await;
    assert_eq!(text(&events), "Yes.");
    assert_eq!(double.asked()[0]["max_completion_tokens"], 300);
    assert!(double.asked()[0].get("max_tokens").is_none());
    let (events, _) = ask(&*llm, request()).await;
    assert_eq!(text(&events), "Yes.", "an answer of nothing is no answer, and is asked for again");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn reasoning_is_not_spoken_in_whatever_field_it_comes() {
    let chunks = vec![
        chunk(&json!({ "reasoning_content": "hm", "reasoning": "hm" }), None),
        chunk(&json!({ "content": "<thi" }), None),
        chunk(&json!({ "content": "nk>They want" }), None),
        chunk(&json!({ "content": " a table</think>" }), None),
        chunk(&json!({ "content": "For how many?" }), None),
        chunk(&json!({ "content": null }), Some("eos")),
        data(&json!({ "choices": [], "x_groq": { "usage": { "prompt_tokens": 33, "completion_tokens": 4 } } })),
    ];
    let (said, _, tokens) = read(chunks).await;
    assert_eq!((said.as_str(), tokens), ("For how many?", 33), "and Groq's usage is found");
}

#[tokio::test(start_paused = true)]
async fn an_end_needs_no_reason_where_it_is_marked_and_usage_is_estimated_where_it_is_missing() {
    let chunks = vec![data(&json!({ "choices": [{ "delta": { "content": "Yes." } }] })), done()];
    let double = Double::start(OpenAi, vec![Reply::Events(chunks)]).await;
    let (events, usage) = ask(&*double.llm(), request()).await;
    let usage = usage.expect("a good answer");
    assert_eq!((text(&events).as_str(), usage.llm_estimated, usage.llm_output_tokens), ("Yes.", true, 1));
    assert!(usage.llm_input_tokens > 3);
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn ends_and_figures_come_where_each_server_puts_them() {
    let figures = json!({ "prompt_tokens": 33, "completion_tokens": 4, "total_tokens": 37 });
    let with = |delta: Value, reason: Value, usage: &Value| {
        data(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }], "usage": usage }))
    };
    let tool = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "hours", "arguments": "{}" } }] });
    let none = json!(null);
    for (server, chunks, said, calls) in [
        (
            "vLLM counts in every chunk, and ends with the last of a call",
            vec![
                with(json!({ "content": "Yes." }), none.clone(), &json!({ "prompt_tokens": 33 })),
                with(tool, json!("tool_calls"), &figures),
            ],
            "Yes.",
            1,
        ),
        (
            "Together counts in the last words",
            vec![with(json!({ "content": "Yes." }), json!("eos"), &figures)],
            "Yes.",
            0,
        ),
        (
            "llama.cpp begins with null, and tells its timings",
            vec![
                chunk(&json!({ "role": "assistant", "content": null }), None),
                chunk(&json!({ "content": "Yes." }), Some("")),
                chunk(&json!({}), Some("stop")),
                data(
                    &json!({ "choices": [], "usage": figures, "timings": { "prompt_ms": 7.5 }, "model": "/models/a.gguf" }),
                ),
                done(),
            ],
            "Yes.",
            0,
        ),
    ] {
        let (text, tools, tokens) = read(chunks).await;
        assert_eq!((text.as_str(), tools.len(), tokens), (said, calls, 33), "{server}");
    }
}

#[tokio::test(start_paused = true)]
async fn deepseek_and_openrouter_say_what_was_cached_and_what_it_cost() {
    let usage = json!({ "prompt_tokens": 33, "completion_tokens": 4, "prompt_cache_hit_tokens": 30, "cost": 0.00021 });
    let chunks = vec![
        ": OPENROUTER PROCESSING\n\n".to_owned(),
        chunk(&json!({ "content": "Yes." }), Some("stop")),
        data(&json!({ "choices": [], "provider": "x", "usage": usage })),
        done(),
    ];
    let double = Double::start(OpenAi, vec![Reply::Events(chunks)]).await;
    let usage = ask(&*double.llm(), request()).await.1.expect("a good answer");
    assert_eq!((usage.llm_cached_tokens, usage.cost_usd), (30, 0.000_21));
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_ends_in_an_error_is_asked_for_again_while_nothing_was_said() {
    let gone = || Reply::Events(vec![chunk(&json!({ "content": "" }), Some("error")), done()]);
    let double = Double::start(OpenAi, vec![gone(), says("Yes.")]).await;
    assert_eq!(text(&ask(&*double.llm(), request()).await.0), "Yes.");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_filter_is_no_wrong_setting_and_costs_one_sentence() {
    let filtered = || {
        json!({ "error": {
        "code": "content_filter", "message": "The response was filtered.", "status": 400,
        "innererror": { "code": "ResponsibleAIPolicyViolation" },
    } })
    };
    let refused = || Reply::Refuses(400, Vec::new(), filtered());
    let replies = vec![refused(), says("Pardon?"), says("At seven."), says("Oh."), refused(), refused()];
    let double = Double::start(OpenAi, replies).await;
    let llm = double.llm();
    let mut talk = request();
    talk.messages.push(Message::new(Role::Assistant, "For when?"));
    talk.messages.push(Message::new(Role::User, "The bad word."));
    let (events, result) = ask(&*llm, talk.clone()).await;
    assert!(text(&events) == "Pardon?" && result.is_ok(), "{result:?}");
    talk.messages.push(Message::new(Role::Assistant, "Pardon?"));
    talk.messages.push(Message::new(Role::User, "Friday."));
    let (events, _) = ask(&*llm, talk.clone()).await;
    assert_eq!(text(&events), "At seven.", "while it stands in the history");
    let (events, _) = ask(&*llm, switchhook_providers::LlmRequest { withheld: request().withheld, ..talk }).await;
    assert_eq!(text(&events), "Oh.");
    let asked = double.asked();
    assert!(asked[0].to_string().contains("The bad word."));
    for asked in asked[1..3].iter().map(Value::to_string) {
        assert!(asked.contains("A table, please.") && !asked.contains("The bad word."), "{asked}");
    }
    assert!(asked[2].to_string().contains("Friday."));
    assert!(asked[3].to_string().contains("The bad word."), "in another call");
    let (_, result) = ask(&*llm, request()).await;
    assert!(
        matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("filtered")),
        "{result:?}"
    );
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn finish_reasons_of_geminis_compatible_api_are_understood() {
    for (reason, refuses) in [
        ("content_filter", true),
        ("SAFETY", true),
        ("PROHIBITED_CONTENT", true),
        ("content_filter: RECITATION", true),
        ("MALFORMED_FUNCTION_CALL", false),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", false),
        ("OTHER", false),
    ] {
        let ended = Reply::Events(vec![chunk(&json!({ "role": "assistant" }), Some(reason)), done()]);
        assert_eq!(withholds_after(OpenAi, ended).await, refuses, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn models_that_would_reason_first_are_asked_not_to() {
    let double = Double::start(OpenAi, vec![says("Yes."), says("Yes."), says("Yes.")]).await;
    let with = |model: &str| switchhook_providers::LlmRequest { model: Some(model.to_owned()), ..request() };
    ask(&*double.llm(), with("openai/gpt-6-luna")).await.1.expect("answered");
    ask(&*double.llm(), with("llama3.1:8b")).await.1.expect("answered");
    let thorough = double.llm_with(json!({ "request": { "reasoning_effort": "low" } }));
    ask(&*thorough, with("gpt-6-luna")).await.1.expect("answered");
    let efforts: Vec<Value> = double.asked().iter().map(|body| body["reasoning_effort"].clone()).collect();
    assert_eq!(efforts, [json!("none"), json!(null), json!("low")]);
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn an_account_without_money_is_not_asked_again() {
    let body = json!({ "error": { "message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota" } });
    let double = Double::start(OpenAi, vec![Reply::Refuses(429, Vec::new(), body)]).await;
    let (_, result) = ask(&*double.llm(), request()).await;
    assert!(matches!(result, Err(ProviderError::Config { .. })));
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn settings_change_what_is_asked() {
    let double = Double::start(OpenAi, vec![says("Yes.")]).await;
    let settings =
        json!({ "model": "m1", "request": { "temperature": null, "reasoning_effort": "low", "stream_options": null } });
    let llm = double.llm_with(settings);
    let (_, result) = ask(&*llm, switchhook_providers::LlmRequest { model: None, ..request() }).await;
    result.expect("answered");
    let asked = double.asked().remove(0);
    assert_eq!(
        (&asked["model"], &asked["reasoning_effort"], &asked["max_tokens"]),
        (&json!("m1"), &json!("low"), &json!(300))
    );
    assert!(asked.get("temperature").is_none() && asked.get("stream_options").is_none());
    assert!(!asked.to_string().contains(KEY));
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_settings_is_not_raised_and_a_refusal_may_say_that_it_was_used_up() {
    let double = Double::start(OpenAi, vec![Reply::Events(OpenAi.reasoning())]).await;
    let (_, result) = ask(&*double.llm_with(json!({ "request": { "max_tokens": 500 } })), request()).await;
    let advice =
        "it used all 500 tokens before its first word: raise the limit in settings.request or turn reasoning down";
    assert!(matches!(&result, Err(ProviderError::Failed { message, .. }) if message == advice), "{result:?}");
    double.finish();

    let message = "Could not finish the message because max_tokens or model output limit was reached.";
    let error = json!({ "error": { "message": message, "type": "invalid_request_error" } });
    let double = Double::start(OpenAi, vec![Reply::Refuses(400, Vec::new(), error), says("Yes.")]).await;
    assert_eq!(text(&ask(&*double.llm(), request()).await.0), "Yes.");
    assert_eq!(double.asked().iter().map(|body| OpenAi.limit(body)).collect::<Vec<_>>(), [Some(300), Some(2_400)]);
    double.finish();
}

/// Templates of Qwen, Nemotron and DeepSeek put `<think>` into the prompt.
#[tokio::test(start_paused = true)]
async fn reasoning_without_its_opening_mark_is_spoken_once_at_most() {
    let replies = ["Hm, a table.</think>For how many?", "Hm, two.</think>When?", "Done.", "Hm.</think>Bye."];
    let double = Double::start(OpenAi, replies.map(says).into()).await;
    let llm = double.llm();
    for spoken in ["Hm, a table.For how many?", "When?", "Done.", "Hm.Bye."] {
        assert_eq!(
            text(&ask(&*llm, request()).await.0),
            spoken,
            "a response without the mark is spoken, and forgets it"
        );
    }
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn of_reasoning_in_parts_nothing_is_said() {
    let thinking = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] }]);
    let parts = |parts: Value| chunk(&json!({ "content": parts }), None);
    let chunks = vec![
        parts(thinking),
        parts(json!([{ "type": "text", "text": "There is " }])),
        chunk(&json!({ "content": "one." }), Some("stop")),
        done(),
    ];
    assert_eq!(read(chunks).await.0, "There is one.");
}

#[tokio::test(start_paused = true)]
async fn an_error_with_status_200_is_shown_in_the_servers_words_and_asked_once() {
    let html = "<html><head><title>Sign in</title></head></html>";
    for (body, words) in [
        (
            json!({ "error": "Unexpected endpoint or method. (POST /chat/completions)" }).to_string(),
            "Unexpected endpoint or method.",
        ),
        (json!({ "error": { "message": "model not found", "code": 404 } }).to_string(), "model not found"),
        (html.to_owned(), "Sign in"),
    ] {
        let double = Double::start(OpenAi, vec![Reply::Events(vec![body])]).await;
        let (_, result) = ask(&*double.llm(), request()).await;
        let Err(ProviderError::Config { message: said, .. }) = result else { panic!("{result:?}") };
        assert!(said.contains(words) && said.contains("/v1/chat/completions"), "{said}");
        double.finish();
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_was_not_streamed_is_read_whole() {
    let function = json!({ "name": "tables", "arguments": "{\"day\":\"Friday\"}" });
    let message = json!({
        "role": "assistant", "content": "Let me look.", "tool_calls": [{ "id": "a", "type": "function", "function": function }],
    });
    let whole = json!({
        "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 3 },
    });
    let double = Double::start(OpenAi, vec![Reply::Events(vec![whole.to_string()])]).await;
    let (events, usage) = ask(&*double.llm(), request()).await;
    assert_eq!((text(&events).as_str(), usage.expect("an answer").llm_input_tokens), ("Let me look.", 3));
    assert_eq!(called(&events), [("tables", json!({ "day": "Friday" }))]);
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_overflows_is_shortened_in_each_servers_words() {
    let lm_studio = "Trying to keep the first 6547 tokens when context the overflows. However, the model is loaded with context length of \
                     only 4096 tokens, which is not enough.";
    let too_many = "Too many tokens, please wait before trying again.";
    let refuses = |words: &str| Reply::Refuses(400, Vec::new(), json!({ "error": words }));
    let streams = |words: &str| Reply::Events(vec![format!("event: error\n{}", data(&json!({ "error": words })))]);
    let sglang = "The input (5210 tokens) is longer than the model's context length (4096 tokens).";
    let mut long = request();
    for number in 0..20 {
        long.messages.push(Message::new(Role::Assistant, format!("Answer {number}.")));
        long.messages.push(Message::new(Role::User, format!("Question {number}.")));
    }
    for (refusal, shortened) in [
        (refuses(lm_studio), true),
        (streams(lm_studio), true),
        (refuses(sglang), true),
        (refuses(too_many), false),
        (streams(too_many), false),
    ] {
        let double = Double::start(OpenAi, vec![refusal, says("Yes.")]).await;
        let (events, result) = ask(&*double.llm(), long.clone()).await;
        assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
        let asked = double.asked();
        let messages = |asked: &Value| asked["messages"].as_array().map_or(0, Vec::len);
        assert_eq!(messages(&asked[1]) < messages(&asked[0]), shortened, "{}", asked[1]);
        assert!(asked[1].to_string().contains("Be brief.") && asked[1].to_string().contains("Question 19."));
        double.finish();
    }
}

#[tokio::test(start_paused = true)]
async fn a_strict_template_is_learnt_at_its_first_refusal_and_kept() {
    let refused = |status, words: &str| {
        Reply::Refuses(status, Vec::new(), json!({ "error": { "message": words, "code": status } }))
    };
    let alternate = "Conversation roles must alternate user/assistant/user/assistant/...";
    let replies =
        vec![refused(400, alternate), says("Yes."), says("Yes."), refused(500, "Unexpected role 'tool'"), says("Yes.")];
    let double = Double::start(OpenAi, replies).await;
    let llm = double.llm();
    let mut greeted = request();
    greeted.messages.insert(1, Message::new(Role::Assistant, "Hello?"));
    for _ in 0..3 {
        let (events, result) = ask(&*llm, greeted.clone()).await;
        assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
    }
    let roles = |asked: &Value| {
        let roles = asked["messages"].as_array().into_iter().flatten().map(|message| message["role"].clone());
        roles.collect::<Vec<_>>()
    };
    let asked = double.asked();
    assert_eq!(roles(&asked[0]), ["system", "user", "assistant", "user"]);
    for asked in &asked[1..] {
        assert_eq!(roles(asked), ["user", "assistant", "user"]);
        assert!(asked["messages"][0]["content"].as_str().is_some_and(|text| text.starts_with("Be brief.")));
    }
    double.finish();
}
