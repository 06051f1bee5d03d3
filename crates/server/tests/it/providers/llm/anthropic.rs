//! Behaviour specific to Anthropic.

use serde_json::json;
use switchhook_core::conversation::{Message, Role};
use switchhook_providers::ProviderError;

use super::{request, text};
use crate::doubles::anthropic_llm::{Anthropic, event};
use crate::doubles::model::{Double, Reply, ask, says};

#[tokio::test(start_paused = true)]
async fn what_the_next_turn_repeats_is_marked_for_the_cache() {
    let double = Double::start(Anthropic, vec![says("Yes."), says("Yes.")]).await;
    let mut request = request();
    request.temperature = Some(1.5);
    ask(&*double.llm(), request.clone()).await.1.expect("answered");
    ask(&*double.llm_with(json!({ "prompt_caching": false })), request).await.1.expect("answered");
    let asked = double.asked();
    let marked = json!({ "type": "ephemeral" });
    for place in ["/tools/0", "/system/0", "/messages/0/content/0"] {
        let mark = |body: &serde_json::Value| body.pointer(place).expect("it is there")["cache_control"].clone();
        assert_eq!((mark(&asked[0]), mark(&asked[1])), (marked.clone(), json!(null)), "{place}");
    }
    assert_eq!(asked[0]["temperature"], 1.0, "the hottest there is");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_greeting_can_be_asked_for_before_anybody_has_spoken() {
    let double = Double::start(Anthropic, vec![says("Hello.")]).await;
    let mut request = request();
    request.messages = vec![Message::new(Role::System, "Greet.")];
    assert_eq!(text(&ask(&*double.llm(), request).await.0), "Hello.");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn an_address_may_stand_with_and_without_its_version() {
    for path in ["", "/", "/v1", "/v1/", "/gateway", "/gateway/v1"] {
        let double = Double::start(Anthropic, vec![says("Yes.")]).await;
        let llm = double.llm_with(json!({ "base_url": format!("{}{path}", double.base_url()) }));
        assert_eq!(text(&ask(&*llm, request()).await.0), "Yes.", "{path}");
        double.finish();
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_where_nothing_is_found_is_named() {
    let missed = Reply::Refuses(404, Vec::new(), json!({ "detail": "Not Found" }));
    let double = Double::start(Anthropic, vec![missed]).await;
    let (base, query) = (double.base_url(), json!({ "token": "s3cret" }));
    let llm = double.llm_with(json!({ "base_url": format!("{base}/gateway"), "query": query }));
    let error = ask(&*llm, request()).await.1.expect_err("nothing is there").to_string();
    assert_eq!(error, format!("anthropic: Not Found (status 404, at {base}/gateway/v1/messages)"));
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn a_model_that_refuses_says_so() {
    let events = vec![
        event(&json!({ "type": "message_start", "message": { "usage": { "input_tokens": 3 } } })),
        event(
            &json!({ "type": "message_delta", "delta": { "stop_reason": "refusal" }, "usage": { "output_tokens": 0 } }),
        ),
        event(&json!({ "type": "message_stop" })),
    ];
    let double = Double::start(Anthropic, vec![Reply::Events(events.clone()), Reply::Events(events)]).await;
    let (_, result) = ask(&*double.llm(), request()).await;
    assert!(matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("refus")), "{result:?}");
    double.finish();
}
