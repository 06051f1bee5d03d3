//! Error responses of providers, and how they are classified.

use reqwest::header::LOCATION;
use serde_json::json;
use switchhook_core::call::ErrorCode;

use super::*;

fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn the_providers_own_words_are_found_in_whatever_shape() {
    for (given, body, words) in [
        (vec![], r#"{"error":{"message":"No such model","code":"x"}}"#, "No such model (x, status 400)"),
        (vec![], r#"{"detail":[{"msg":"field required"}]}"#, "field required (status 400)"),
        (vec![], r#"{"detail":{"status":"x","message":"Bad key"}}"#, "Bad key (x, status 400)"),
        (vec![], r#"{"error":{"message":"No \ud83d","code":"x"}}"#, "No \u{fffd} (x, status 400)"),
        (vec![], r#"{"detail":"Invalid API key"}"#, "Invalid API key (status 400)"),
        (vec![], r#"{"error":"model 'x' not found"}"#, "model 'x' not found (status 400)"),
        (vec![], r#"{"object":"error","message":"Bad."}"#, "Bad. (status 400)"),
        (vec![], r#"[{"error":{"code":400,"status":"X","message":"No."}}]"#, "No. (X, status 400)"),
        (vec![("dg-error", "Bad encoding"), ("dg-request-id", "r1")], "", "Bad encoding (status 400, request r1)"),
        (vec![("x-request-id", "r2")], "plain", "plain (status 400, request r2)"),
        (vec![], "<html>", "it refused (status 400)"),
        (vec![], "{}", "it refused (status 400)"),
    ] {
        assert_eq!(classify_response(400, &headers(&given), body).words.without_key(None), words);
    }
}

#[test]
fn what_may_be_tried_again_and_when_follows_from_the_status() {
    let ms = Duration::from_millis;
    for (status, given, class, retry_after) in [
        (401, vec![("retry-after", "1")], FailureClass::Configuration, None),
        (402, vec![], FailureClass::Configuration, None),
        (404, vec![], FailureClass::Configuration, None),
        (413, vec![], FailureClass::ContextTooLong, None),
        (408, vec![], FailureClass::Timeout, Some(ms(0))),
        (498, vec![], FailureClass::Provider, Some(ms(0))),
        (499, vec![], FailureClass::Provider, Some(ms(0))),
        (429, vec![("retry-after", "1")], FailureClass::Provider, Some(ms(1_000))),
        (429, vec![("retry-after-ms", "250")], FailureClass::Provider, Some(ms(250))),
        (429, vec![("retry-after", "30")], FailureClass::Provider, None),
        (429, vec![("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], FailureClass::Provider, Some(ms(0))),
        (429, vec![("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")], FailureClass::Provider, None),
        (429, vec![("retry-after", "-1")], FailureClass::Provider, Some(ms(0))),
        (500, vec![("x-should-retry", "false")], FailureClass::Provider, None),
        (503, vec![], FailureClass::Provider, Some(ms(0))),
        (504, vec![], FailureClass::Timeout, Some(ms(0))),
    ] {
        let classified = classify_response(status, &headers(&given), "no");
        assert_eq!((classified.class, classified.retry_after), (class, retry_after), "{status} {given:?}");
    }
    let asked = |delay: &str| {
        let body = json!({ "error": { "details": [{ "@type": "x" }, { "retryDelay": delay }] } });
        classify_response(429, &HeaderMap::new(), &body.to_string()).retry_after
    };
    assert_eq!((asked("1.5s"), asked("40s")), (Some(ms(1_500)), None));
    let event = |delay: &str| {
        let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }]);
        let error = json!({ "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "No.", "details": details });
        let classified = classify_message(&json!({ "error": error }));
        (classified.retry_after, classified.busy)
    };
    assert_eq!((event("1.5s"), event("40s")), ((Some(ms(1_500)), None), (None, Some(ms(40_000)))), "in a stream too");
    let said = json!({ "error": { "code": "rate_limit_exceeded", "message": "Limit. Please try again in 1.2s." } });
    assert_eq!(classify_message(&said).retry_after, Some(ms(1_200)));
}

#[test]
fn output_that_a_server_cannot_use_is_the_models_fault_and_asked_for_again() {
    let groq = json!({ "error": {
        "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=tables{>",
    } });
    let nameless = json!({ "error": {
        "message": "No.", "type": "invalid_request_error", "failed_generation": "{",
    } });
    let words = |code: &str| json!({ "error": { "message": "No.", "type": "invalid_request_error", "code": code } });
    let cohere = json!({ "message": "invalid tool generation" });
    for body in [groq, nameless, words("json_validate_failed"), words("output_parse_failed"), cohere] {
        for classified in [classify_response(400, &HeaderMap::new(), &body.to_string()), classify_message(&body)] {
            assert_eq!(
                (classified.class, classified.retry_after),
                (FailureClass::Provider, Some(Duration::ZERO)),
                "{body}"
            );
        }
        assert_eq!(classify_body(&body).class, FailureClass::Provider, "{body}");
    }
}

#[test]
fn an_error_for_a_whole_response_blames_the_settings_unless_it_says_otherwise() {
    let (ours, theirs) = (FailureClass::Configuration, FailureClass::Provider);
    for (body, class) in [
        (json!({ "error": "Unexpected endpoint or method. (POST /chat/completions)" }), ours),
        (json!({ "error": { "message": "model not found", "code": 404 } }), ours),
        (json!({ "message": "Not Found" }), ours),
        (json!({ "error": "The server is busy, please try again." }), theirs),
        (json!({ "error": { "message": "Overloaded", "type": "overloaded_error" } }), theirs),
        (json!({ "error": { "message": "Oh.", "code": 503 } }), theirs),
        (json!({ "error": { "message": "Internal server error", "code": "500" } }), theirs),
        (json!({ "error": { "message": "Took too long.", "code": "408" } }), FailureClass::Timeout),
    ] {
        assert_eq!(classify_body(&body).class, class, "{body}");
    }
}

#[test]
fn codes_say_what_a_status_does_not() {
    let error = |message: &str, code: &str| json!({ "error": { "message": message, "type": "x", "code": code } });
    let anthropic = |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "No." } });
    let (ours, theirs) = (FailureClass::Configuration, FailureClass::Provider);
    for (status, body, class) in [
        (429, error("Slow down.", "rate_limit_exceeded"), theirs),
        (429, error("Pay.", "insufficient_quota"), ours),
        (429, json!({ "error": { "status": "RESOURCE_EXHAUSTED", "message": "Check your billing." } }), theirs),
        (400, error("Long.", "context_length_exceeded"), FailureClass::ContextTooLong),
        (
            400,
            json!({ "error": { "code": 400, "type": "exceed_context_size_error", "n_ctx": 4096 } }),
            FailureClass::ContextTooLong,
        ),
        (400, error("Filtered.", "content_filter"), FailureClass::ContentRefused),
        (400, error("Output blocked by content filtering policy", "y"), FailureClass::ContentRefused),
        (400, error("Content Exists Risk", "invalid_request_error"), FailureClass::ContentRefused),
        (400, error("No.", "data_inspection_failed"), FailureClass::ContentRefused),
        (404, error("Not there.", "DeploymentNotFound"), ours),
        (403, json!({ "error": "Too many concurrent connections" }), theirs),
        (401, json!({ "error": { "code": 401, "type": "authentication_error", "message": "Invalid API Key" } }), ours),
        (503, json!({ "error": { "code": 503, "type": "unavailable_error", "message": "Loading model" } }), theirs),
        (529, anthropic("overloaded_error"), theirs),
        (504, anthropic("timeout_error"), FailureClass::Timeout),
        (0, anthropic("timeout_error"), FailureClass::Timeout),
        (0, anthropic("overloaded_error"), theirs),
        (0, anthropic("authentication_error"), ours),
        (0, json!({ "error": { "code": 401, "message": "No auth." } }), ours),
        (0, error("No voice.", "voice_not_found"), ours),
        (0, json!({ "error": "invalid_api_key" }), ours),
        (0, json!({ "error": "busy", "message": "Too many", "code": 1008 }), theirs),
        (0, json!({ "type": "Error" }), theirs),
    ] {
        let body_text = body.to_string();
        let classified = if status == 0 {
            classify_message(&body)
        } else {
            classify_response(status, &HeaderMap::new(), &body_text)
        };
        assert_eq!(classified.class, class, "{status} {body}");
    }
    let words = |message: Value| classify_message(&message).words.without_key(None);
    assert_eq!(words(json!({ "error": "busy", "message": "Too many", "code": 1008 })), "Too many (busy)");
    assert_eq!(words(json!({ "type": "Error" })), "it failed without saying why");
}

#[test]
fn a_close_frame_says_whether_and_when_another_connection_may_help() {
    const CONTEXTS: &str = "Maximum simultaneous contexts per WebSocket connection exceeded (5).";
    let (ms, ours, theirs) = (Duration::from_millis, ErrorCode::ConfigError, ErrorCode::PipelineError);
    for (code, reason, expected, retry_after) in [
        (1008, CONTEXTS, theirs, Some(ms(0))),
        (1008, "Unauthorized Connection: Too many concurrent sessions", theirs, Some(ms(0))),
        (1008, "Unauthorized Connection: Missing Authorization header", ours, None),
        (1008, "Something was wrong with your message", theirs, None),
        (1011, "Internal server error", theirs, Some(ms(0))),
        (1011, "Could not check the API key, try again", theirs, Some(ms(0))),
        (1011, "Could not check the API key, try again in 30 seconds", theirs, None),
        (1013, "Please try again in 1.5s", theirs, Some(ms(1_500))),
        (1013, "Please try again in 30 seconds", theirs, None),
        (1008, "Invalid API key", ours, None),
        (4000, "", theirs, Some(ms(0))),
        (4401, "", ours, None),
        (4404, "No such voice", ours, None),
        (4429, "", theirs, Some(ms(0))),
        (4409, "", theirs, Some(ms(0))),
    ] {
        let failure = AttemptError::closed("double", Some(&frame(code, reason)), None);
        assert_eq!((failure.error.code(), failure.retry_after), (expected, retry_after), "{code} {reason}");
    }
}

fn frame(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code: code.into(), reason: reason.into() }
}

/// Classifies a message as a response with this status, or inside a response if it is 0.
fn class_of(status: u16, body: &Value) -> FailureClass {
    match status {
        0 => classify_message(body).class,
        _ => classify_response(status, &HeaderMap::new(), &body.to_string()).class,
    }
}

#[test]
fn a_conversation_that_is_too_long_is_recognised_in_each_servers_words() {
    for words in [
        "Trying to keep the first 6547 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10247 >= n_ctx: 4096)",
        "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
        "The input (5210 tokens) is longer than the model's context length (4096 tokens).",
        "Input length (5210 tokens) exceeds the maximum allowed length (4090 tokens).",
        "Input length 5210 exceeds the maximum allowed input length of 4096 tokens.",
        "prompt too long; exceeded max context length by 12 tokens",
        "the input length exceeds the context length",
        "input length and `max_tokens` exceed context limit: 199000 + 2400 > 200000",
        "prompt is too long: 200251 tokens > 200000 maximum",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
        "Your input exceeds the context window of this model.",
        "the request exceeds the available context size, try increasing it",
        "The decoder prompt (length 5210) is longer than the maximum model length of 4096.",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048575).",
        "ValidationException: Input is too long for requested model.",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 300 `max_new_tokens`",
    ] {
        for status in [400, 0] {
            for body in
                [json!({ "error": words }), json!({ "error": { "message": words, "type": "invalid_request_error" } })]
            {
                assert_eq!(class_of(status, &body), FailureClass::ContextTooLong, "{status} {body}");
            }
        }
        assert_eq!(class_of(429, &json!({ "error": words })), FailureClass::Provider, "{words}");
    }
}

#[test]
fn a_rate_limit_that_counts_tokens_does_not_shorten_the_conversation() {
    for words in [
        "Too many tokens, please wait before trying again.",
        "ThrottlingException: Too many tokens per day, please wait before trying again.",
        "Rate limit reached for tokens: the maximum context length does not matter. Please try again in 1.2s.",
        "Tokens per minute limit exceeded - too many tokens processed: the prompt is too long",
    ] {
        for status in [429, 400, 0] {
            let body = json!({ "error": { "message": words, "type": "invalid_request_error" } });
            assert_eq!(class_of(status, &body), FailureClass::Provider, "{status} {words}");
        }
        assert_eq!(classify_body(&json!({ "error": words })).class, FailureClass::Provider, "{words}");
    }
    let oversized = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 38627. The input or output tokens must be reduced in order to run successfully.";
    let body = json!({ "error": { "message": oversized, "code": "rate_limit_exceeded" } });
    assert_eq!(class_of(429, &body), FailureClass::ContextTooLong);
    let tool = json!({ "error": { "message": "Invalid schema for function 'check_rate_limit': x", "type": "invalid_request_error" } });
    assert_eq!(class_of(400, &tool), FailureClass::Configuration, "a tool has that name");
    let code = |code: Value| json!({ "error": { "message": "The prompt is too long for your tier.", "code": code } });
    for body in [code(json!("rate_limit_exceeded")), code(json!(429))] {
        assert_eq!(
            (class_of(400, &body), class_of(0, &body)),
            (FailureClass::Provider, FailureClass::Provider),
            "{body}"
        );
    }
    let unpaid = json!({ "error": { "message": "Rate limit: check your billing." } });
    assert_eq!(
        (class_of(400, &unpaid), class_of(0, &unpaid)),
        (FailureClass::Configuration, FailureClass::Configuration)
    );
}

#[test]
fn only_errors_are_errors() {
    for (event, error) in [
        (json!({ "choices": [], "error": null }), false),
        (json!({ "type": "message_start", "message": { "id": "m" } }), false),
        (json!({ "error": "gone" }), true),
        (json!([{ "error": { "message": "No." } }]), true),
        (json!({ "detail": "No." }), true),
    ] {
        assert_eq!(is_error(&event), error, "{event}");
    }
}

#[test]
fn no_failure_ever_holds_the_key() {
    let key = Private::new("s3cret".to_owned());
    let classified = classify_message(&json!({ "type": "Error", "description": "Hm s3cret", "code": "NET-0000" }));
    let failure = AttemptError::from_classified("double", classified, Some(&key), Duration::ZERO);
    assert_eq!(failure.error.to_string(), "double: Hm •••• (NET-0000)");
    assert_eq!((failure.error.code().as_str(), failure.retry_after), ("pipeline_error", Some(Duration::ZERO)));
}

#[test]
fn a_secret_is_taken_out_of_words_and_no_word_apart() {
    for (words, secret, expected) in [
        ("It spoke a word in 200 ms.", "ke", "It spoke a word in 200 ms."),
        ("status 401, request r1", "1", "status 401, request r1"),
        ("Wrong key k: k, or \"k\"", "k", "Wrong key ••••: ••••, or \"••••\""),
        ("aaa", "aa", "aaa"),
        ("passwords are no password", "password", "passwords are no ••••"),
        ("Bearer%20sk-012345 or xsk-012345x", "sk-012345", "Bearer%20•••• or x••••x"),
        ("nothing", "", "nothing"),
    ] {
        assert_eq!(without_secret(words, secret), expected);
    }
}

#[test]
fn an_address_where_nothing_is_found_is_named_without_its_query() {
    let url: Url = "https://user:pw@api.example.com/anthropic/messages?key=s3cret".parse().expect("an address");
    let words =
        |status, body: &str| classify_response(status, &HeaderMap::new(), body).at_url(&url).words.without_key(None);
    let at = "at https://api.example.com/anthropic/messages)";
    assert_eq!(words(404, r#"{"detail":"Not Found"}"#), format!("Not Found (status 404, {at}"));
    assert_eq!(words(405, "<html>"), format!("it refused (status 405, {at}"));
    let anthropic = r#"{"type":"error","error":{"type":"not_found_error","message":"Not found"}}"#;
    assert_eq!(words(404, anthropic), format!("Not found (not_found_error, status 404, {at}"));
    let model = r#"{"error":{"message":"No such model","code":"model_not_found"}}"#;
    assert_eq!(words(404, model), "No such model (model_not_found, status 404)", "the address is right");
    assert_eq!(words(400, "no"), "no (status 400)");
}

#[test]
fn an_address_to_which_a_server_redirects_is_named_without_its_query() {
    let url: Url = "http://models.example.com/v1/chat/completions?key=s3cret".parse().expect("an address");
    for (target, named) in [
        (
            "https://models.example.com/v1/chat/completions/?key=s3cret",
            "https://models.example.com/v1/chat/completions/",
        ),
        ("https://gateway.example.com/llm/v1/chat/completions", "https://gateway.example.com/llm/v1/chat/completions"),
        ("/v1/chat/completions/", "http://models.example.com/v1/chat/completions/"),
    ] {
        let classified = classify_response(302, &HeaderMap::from_iter([(LOCATION, target.parse().unwrap())]), "<html>");
        let classified = classified.at_url(&url);
        assert_eq!((classified.class, classified.retry_after), (FailureClass::Configuration, None), "{target}");
        let words = format!(
            "the server redirects to {named}: change settings.base_url so that requests are sent there (status 302)"
        );
        assert_eq!(classified.words.without_key(None), words);
    }
}

#[test]
fn what_ends_a_stream_is_our_fault_unless_it_says_otherwise() {
    for (message, ours) in [
        (json!({ "type": "Error", "variant": "SchemaError", "description": "Bad.", "message": "{}" }), true),
        (json!({ "type": "Error", "code": "UNSUPPORTED_MODEL", "description": "Bad." }), true),
        (json!({ "type": "Error", "code": "INTERNAL_SERVER_ERROR", "description": "Oh." }), false),
        (json!({ "type": "Error", "code": "NET-0001", "description": "Oh." }), false),
        (json!({ "type": "Error", "code": 503, "description": "Oh." }), false),
    ] {
        assert_eq!(is_configuration_error(&message), ours, "{message}");
    }
}

#[test]
fn what_the_provider_behind_a_proxy_said_is_read_where_the_proxy_copies_it() {
    let behind = |raw: &str| {
        let metadata = json!({ "raw": raw, "provider_name": "Groq" });
        let body = json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": metadata } });
        classify_response(400, &HeaderMap::new(), &body.to_string())
    };
    let unusable = behind(r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}"#);
    assert_eq!(unusable.class, FailureClass::Provider);
    let long = behind(r#"{"error":{"message":"Please reduce the length.","code":"context_length_exceeded"}}"#);
    assert_eq!(long.class, FailureClass::ContextTooLong);
    let plain = behind("no such voice");
    assert_eq!(plain.class, FailureClass::Configuration);
    assert!(plain.words.without_key(None).starts_with("no such voice"), "in its own words");
}

#[test]
fn a_refusal_of_the_content_costs_a_sentence_and_not_the_call() {
    let body = json!({ "code": "The caller does not have permission", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK" });
    assert_eq!(classify_response(403, &HeaderMap::new(), &body.to_string()).class, FailureClass::ContentRefused);
}

#[test]
fn a_retry_after_may_be_a_time_since_1970() {
    let soon = Clock::system().now().as_millis() / 1_000 + 1;
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", soon.to_string().parse().expect("a header"));
    let wait = classify_response(429, &headers, "{}").retry_after.expect("soon enough");
    assert!(wait <= Duration::from_secs(2), "{wait:?}");
}
