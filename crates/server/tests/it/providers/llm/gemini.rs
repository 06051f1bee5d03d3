//! What only Gemini does.

use serde_json::json;
use switchhook::providers::ProviderError;

use super::{request, text};
use crate::doubles::gemini_llm::{Gemini, chunk};
use crate::doubles::model::{Double, Protocol as _, Reply, ask, data, says};

#[tokio::test]
async fn a_blocked_conversation_has_no_candidates() {
    let blocked =
        data(&json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": { "promptTokenCount": 3 } }));
    let held_back = chunk(&json!([]), Some("RECITATION"));
    let double = Double::start(Gemini, vec![Reply::Events(vec![blocked]), Reply::Events(vec![held_back])]).await;
    let llm = double.llm();
    for reason in ["SAFETY", "RECITATION"] {
        let (_, result) = ask(&*llm, request()).await;
        assert!(matches!(&result, Err(ProviderError::Failed { words, .. }) if words.contains(reason)), "{result:?}");
    }
    double.finish();
}

#[tokio::test]
async fn a_function_call_that_went_wrong_is_asked_for_again() {
    let wrong = Reply::Events(vec![chunk(&json!([]), Some("MALFORMED_FUNCTION_CALL"))]);
    let double = Double::start(Gemini, vec![wrong, says("Yes.")]).await;
    assert_eq!(text(&ask(&*double.llm(), request()).await.0), "Yes.");
    double.finish();
}

#[tokio::test]
async fn a_pause_stands_in_the_body_and_fast_models_do_not_think() {
    let mut body = Gemini.error(429, "Quota.");
    body["error"]["details"] = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s" }]);
    let double = Double::start(Gemini, vec![Reply::Refuses(429, Vec::new(), body)]).await;
    let mut request = request();
    request.model = Some("gemini-2.5-flash-lite".to_owned());
    let (_, result) = ask(&*double.llm(), request).await;
    assert!(
        matches!(&result, Err(ProviderError::Failed { words, .. }) if words.starts_with("provider rate limit: Quota.")),
        "{result:?}"
    );
    let thinking = &double.asked()[0]["generationConfig"]["thinkingConfig"];
    assert_eq!(thinking, &json!({ "thinkingBudget": 0 }));
    double.finish();
}
