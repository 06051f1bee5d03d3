//! Behaviour specific to Gemini.

use serde_json::json;
use switchhook_core::conversation::{Message, Role, ToolCall};
use switchhook_providers::{LlmEvent, ProviderError};

use super::{request, text, withholds_after};
use crate::doubles::gemini_llm::{Gemini, chunk};
use crate::doubles::model::{Double, Piece, Protocol as _, Reply, ask, data, says};

#[tokio::test(start_paused = true)]
async fn a_blocked_conversation_has_no_candidates() {
    let blocked =
        data(&json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": { "promptTokenCount": 3 } }));
    let held_back = chunk(&json!([]), Some("RECITATION"));
    // Each is requested again, without the caller's last message.
    let replies = [&blocked, &blocked, &held_back, &held_back].map(|event| Reply::Events(vec![event.clone()]));
    let double = Double::start(Gemini, replies.into()).await;
    let llm = double.llm();
    for reason in ["SAFETY", "RECITATION"] {
        let (_, result) = ask(&*llm, request()).await;
        assert!(
            matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains(reason)),
            "{result:?}"
        );
    }
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn what_gemini_has_signed_goes_back_and_what_another_model_called_is_excused() {
    let calls =
        |ids: [&'static str; 2]| ids.map(|id| Piece::Tool { id, name: "tables", arguments: json!({ "of": id }) });
    let replies = vec![Reply::Answer(calls(["call_1", "call_2"]).to_vec()), says("Seven."), says("Seven.")];
    let double = Double::start(Gemini, replies).await;
    let llm = double.llm();
    let own = ask(&*llm, request()).await.0.into_iter().map(|event| match event {
        LlmEvent::ToolCall(call) => *call,
        LlmEvent::Delta(text) => panic!("it says {text}"),
    });
    let foreign =
        |id: &str| ToolCall { id: id.to_owned(), name: "tables".to_owned(), arguments: json!("junk"), signature: None };
    let mut again = request();
    for calls in [own.collect(), vec![foreign("toolu_1"), foreign("toolu_2")]] {
        again.messages.push(Message { tool_calls: calls, ..Message::new(Role::Assistant, "") });
    }
    ask(&*llm, again.clone()).await.1.expect("answered");
    ask(&*llm, switchhook_providers::LlmRequest { model: Some("gemini-2.5-flash".to_owned()), ..again }).await.1.ok();
    let signed = |body: &serde_json::Value| {
        let contents = body["contents"].as_array().cloned().unwrap_or_default();
        let parts = contents.iter().flat_map(|content| content["parts"].as_array().cloned().unwrap_or_default());
        let calls = parts.filter(|part| part["functionCall"].is_object());
        calls.map(|part| part["thoughtSignature"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let (own, placeholder) =
        (Some("signature of tables".to_owned()), Some("skip_thought_signature_validator".to_owned()));
    let asked = double.asked();
    assert_eq!(signed(&asked[1]), [own.clone(), None, placeholder, None], "as Google wants it for every answer");
    assert_eq!(signed(&asked[2]), [own, None, None, None], "an older model may refuse what it does not know");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn an_address_may_stand_with_and_without_its_version() {
    for path in ["", "/", "/v1beta", "/v1beta/", "/gateway", "/gateway/v1beta"] {
        let double = Double::start(Gemini, vec![says("Yes.")]).await;
        let llm = double.llm_with(json!({ "base_url": format!("{}{path}", double.base_url()) }));
        assert_eq!(text(&ask(&*llm, request()).await.0), "Yes.", "{path}");
        double.finish();
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_call_that_went_wrong_is_asked_for_again() {
    let wrong = Reply::Events(vec![chunk(&json!([]), Some("MALFORMED_FUNCTION_CALL"))]);
    let double = Double::start(Gemini, vec![wrong, says("Yes.")]).await;
    assert_eq!(text(&ask(&*double.llm(), request()).await.0), "Yes.");
    double.finish();
}

#[tokio::test(start_paused = true)]
async fn only_a_refusal_leaves_out_what_the_caller_said() {
    for (reason, refuses) in [
        ("SAFETY", true),
        ("BLOCKLIST", true),
        ("PROHIBITED_CONTENT", true),
        ("SPII", true),
        ("LANGUAGE", true),
        ("RECITATION", true),
        ("OTHER", false),
        ("MALFORMED_RESPONSE", false),
        ("MISSING_THOUGHT_SIGNATURE", false),
        ("FINISH_REASON_UNSPECIFIED", false),
        ("SOMETHING_NEW", false),
    ] {
        let ended = Reply::Events(vec![chunk(&json!([]), Some(reason))]);
        assert_eq!(withholds_after(Gemini, ended).await, refuses, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_stands_in_the_body_and_fast_models_do_not_think() {
    let mut body = Gemini.error(429, "Quota.");
    body["error"]["details"] = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s" }]);
    let double = Double::start(Gemini, vec![Reply::Refuses(429, Vec::new(), body)]).await;
    let mut request = request();
    request.model = Some("gemini-2.5-flash-lite".to_owned());
    let (_, result) = ask(&*double.llm(), request).await;
    assert!(
        matches!(
            &result,
            Err(ProviderError::Busy { message, retry_after_ms: 12_000, .. }) if message.starts_with("provider rate limit: Quota.")
        ),
        "{result:?}"
    );
    let thinking = &double.asked()[0]["generationConfig"]["thinkingConfig"];
    assert_eq!(thinking, &json!({ "thinkingBudget": 0 }));
    double.finish();
}
