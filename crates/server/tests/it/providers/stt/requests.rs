//! A request for each segment: OpenAI's transcriptions and the local servers that copy them.

use std::time::Duration;

use serde_json::json;
use switchhook::providers::openai;
use switchhook_core::call::ErrorCode;

use super::caller::{Caller, PATIENCE, recogniser, text};
use crate::doubles::openai_transcriptions::{Answers, Whisper};

async fn call(double: &Whisper, key: &str) -> Caller {
    let settings = json!({
        "base_url": double.url(), "stt_sample_rate": 8_000, "stt_finalize_timeout_ms": 1_000,
        "stt_parameters": { "temperature": 0 },
    });
    let stt = recogniser(openai::stt::connect, &settings, key).expect("settings");
    Caller::call(&*stt).await.expect("opens")
}

#[tokio::test]
async fn each_segment_is_understood_with_what_came_before_its_pauses() {
    let double = Whisper::start([]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("name").await;
    assert_eq!(caller.words().await, text("name"));
    caller.say("day").await;
    assert_eq!(caller.words().await, format!("{} {}", text("name"), text("day")));
    assert!(double.complaints().is_empty(), "{:?}", double.complaints());
}

#[tokio::test]
async fn a_call_that_ends_takes_its_request_with_it() {
    let double = Whisper::start([Answers::Never]).await;
    let mut caller = call(&double, "sk-key").await;
    caller.say("yes").await;
    double.asked(1).await;
    drop(caller);
    tokio::time::timeout(PATIENCE, double.given_up()).await.expect("the request is given up");
}

#[tokio::test]
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

#[tokio::test]
async fn a_wrong_key_is_a_wrong_setting() {
    let double = Whisper::start([]).await;
    let mut caller = call(&double, "wrong-key").await;
    caller.say("yes").await;
    let (code, words) = tokio::time::timeout(Duration::from_secs(5), caller.failure()).await.expect("at once");
    assert_eq!(code, ErrorCode::ConfigError);
    assert!(words.contains("Incorrect API key provided.") && !words.contains("wrong-key"), "{words}");
    assert_eq!(double.requests(), 1);
}
