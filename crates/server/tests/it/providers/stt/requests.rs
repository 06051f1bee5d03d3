//! One request per segment: OpenAI's transcriptions and compatible local servers. In virtual time: a stalled machine exceeds no
//! deadline.

use serde_json::json;
use switchhook_core::call::ErrorCode;
use switchhook_providers::{ProviderError, openai};

use super::caller::{Caller, TIMEOUT, connect_stt, text};
use crate::doubles::openai_transcriptions::{Answers, Whisper};
use crate::harness::closed_port;

async fn call(double: &Whisper, key: &str) -> Caller {
    try_call(&double.url(), key).await.expect("opens")
}

async fn try_call(url: &str, key: &str) -> Result<Caller, ProviderError> {
    let settings = json!({
        "base_url": url, "stt_sample_rate": 8_000, "stt_finalize_timeout_ms": 1_000,
        "stt_parameters": { "temperature": 0 },
    });
    let stt = connect_stt(openai::stt::connect, &settings, key).expect("settings");
    Caller::call(&*stt).await
}

#[tokio::test(start_paused = true)]
async fn each_segment_is_understood_with_what_came_before_its_pauses() {
    let double = Whisper::start([]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("name").await;
    assert_eq!(caller.words().await, text("name"));
    caller.say("day").await;
    assert_eq!(caller.words().await, format!("{} {}", text("name"), text("day")));
    assert!(double.complaints().is_empty(), "{:?}", double.complaints());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_takes_its_request_with_it() {
    let double = Whisper::start([Answers::Never]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("yes").await;
    double.asked(1).await;
    drop(caller);
    tokio::time::timeout(TIMEOUT, double.given_up()).await.expect("the request is given up");
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_once_is_tried_again_and_twice_is_a_failure() {
    let broken = Answers::With(500, vec![], r#"{"detail":"CUDA out of memory"}"#);
    let busy = Answers::With(429, vec![("retry-after", "1")], "{}");
    let garbage = Answers::With(200, vec![("content-type", "application/json")], "{ not JSON");
    for once in [broken.clone(), busy, garbage.clone(), Answers::Never] {
        let double = Whisper::start([once.clone(), Answers::Well]).await;
        let mut caller = call(&double, "sk-key").await;
        caller.say("yes").await;
        assert_eq!(caller.words().await, text("yes"), "{once:?} {:?}", caller.failed);
        assert_eq!((double.requests(), double.complaints()), (2, vec![]), "{once:?}");
    }
    let long = Answers::With(429, vec![("retry-after", "60")], r#"{"error":{"message":"slow down"}}"#);
    for (always, code, words, requests) in [
        (broken, ErrorCode::PipelineError, "CUDA out of memory (status 500)", 2),
        (garbage, ErrorCode::PipelineError, "not JSON", 2),
        (long, ErrorCode::PipelineError, "slow down (status 429)", 1),
        (Answers::Never, ErrorCode::ProviderTimeout, "1000 ms", 2),
    ] {
        let double = Whisper::start([always.clone()]).await;
        let mut caller = call(&double, "sk-key").await;
        caller.say("yes").await;
        let (failed, said) = caller.failure().await;
        assert!(failed == code && said.contains(words), "{always:?}: {said}");
        assert_eq!(double.requests(), requests, "{always:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_will_not_do_is_a_wrong_setting_and_is_not_tried_twice() {
    for (status, body, words) in [
        (
            400,
            r#"{"error":{"message":"Unsupported language","param":"language"}}"#,
            "Unsupported language (status 400)",
        ),
        (402, r#"{"error":{"message":"Pay.","code":"insufficient_quota"}}"#, "Pay. (insufficient_quota, status 402)"),
        (429, r#"{"error":{"message":"Pay.","code":"insufficient_quota"}}"#, "Pay. (insufficient_quota, status 429)"),
        (403, r#"{"detail":"Not for you"}"#, "Not for you (status 403)"),
        (
            404,
            r#"{"error":{"message":"No such model","code":"model_not_found"}}"#,
            "No such model (model_not_found, status 404)",
        ),
        (422, r#"{"detail":[{"msg":"field required"}]}"#, "field required (status 422)"),
    ] {
        let double = Whisper::start([Answers::With(status, vec![], body)]).await;
        let mut caller = call(&double, "sk-key").await;
        caller.say("yes").await;
        let (code, said) = caller.failure().await;
        assert!(code == ErrorCode::ConfigError && said.contains(words), "{status}: {code:?} {said}");
        assert_eq!(double.requests(), 1, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_and_pages_with_a_status_of_success_are_quoted_and_no_words_of_the_caller() {
    let page = "<!doctype html><title>Sign in</title><p>Welcome back</p>";
    for (kind, body, words) in [
        ("text/html; charset=utf-8", page, "it sent no transcript: Sign in Welcome back (at http://127.0.0.1:"),
        ("text/plain", page, "it sent no transcript: Sign in Welcome back (at http://127.0.0.1:"),
        ("application/json", r#"{"error":"Unexpected endpoint or method."}"#, "Unexpected endpoint or method. (at "),
        ("application/problem+json", r#"{"title":"No such model."}"#, "No such model. (at "),
    ] {
        let double = Whisper::start([Answers::With(200, vec![("content-type", kind)], body)]).await;
        let mut caller = call(&double, "sk-key").await;
        caller.say("yes").await;
        let (code, said) = caller.failure().await;
        assert!(code == ErrorCode::ConfigError && said.contains(words), "{kind}: {code:?} {said}");
        assert_eq!(double.requests(), 1, "{kind}");
    }
    let busy = Answers::With(200, vec![("content-type", "application/json")], r#"{"error":"Busy, try again."}"#);
    let double = Whisper::start([busy, Answers::Well]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("yes").await;
    assert_eq!(caller.words().await, text("yes"), "{:?}", caller.failed);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_refused_in_mid_call_is_a_failure_and_no_wrong_setting() {
    let revoked = Answers::With(401, vec![("x-request-id", "r9")], r#"{"error":{"message":"The key was revoked."}}"#);
    let double = Whisper::start([Answers::Well, revoked]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("yes").await;
    assert_eq!(caller.words().await, text("yes"));
    caller.say("yes").await;
    let (code, words) = caller.failure().await;
    assert_eq!(code, ErrorCode::PipelineError, "{words}");
    assert!(words.contains("The key was revoked. (status 401, request r9)"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_within_the_answer_is_tried_again() {
    let double = Whisper::start([Answers::Breaks, Answers::Well]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("yes").await;
    assert_eq!(caller.words().await, text("yes"), "{:?}", caller.failed);
    assert_eq!((double.requests(), double.complaints()), (2, vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_is_counted_and_not_what_is_heard() {
    let double = Whisper::start([]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("yes").await;
    caller.words().await;
    assert_eq!(caller.sent(), Some(double.heard()), "as the server has heard");
    assert!(!double.heard().is_zero());
}

#[tokio::test(start_paused = true)]
async fn unusable_provider_is_detected_before_the_call_is_answered() {
    let double = Whisper::start([]).await;
    let error = try_call(&double.url(), "wrong-key").await.err().expect("the key is refused");
    let words = error.to_string();
    assert_eq!(error.code(), ErrorCode::ConfigError, "{words}");
    assert!(words.contains("Incorrect API key provided.") && !words.contains("wrong-key"), "{words}");

    double.answers_for_models(503, "the model is being loaded");
    let error = try_call(&double.url(), "sk-key").await.err().expect("it is down");
    assert_eq!((error.code(), double.knocks()), (ErrorCode::PipelineError, 3), "{error}");

    let (_socket, gone) = closed_port();
    let error = try_call(&format!("http://{gone}"), "sk-key").await.err().expect("the port is closed");
    assert_eq!(error.code(), ErrorCode::PipelineError, "{error}");
    assert_eq!((double.requests(), double.complaints()), (0, vec![]), "and nothing is paid for");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_no_models_to_us_is_as_good_as_another() {
    let scopes = r#"{"error":{"message":"You have insufficient permissions. Missing scopes: api.model.read"}}"#;
    for (status, body) in [(200, "{}"), (404, ""), (405, ""), (403, scopes), (429, "{}")] {
        let double = Whisper::start([]).await;
        double.answers_for_models(status, body);
        let mut caller = call(&double, "sk-key").await;
        caller.say("yes").await;
        assert_eq!(caller.words().await, text("yes"), "{status}");
    }
}
