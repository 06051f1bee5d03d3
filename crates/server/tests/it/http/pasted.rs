//! What people paste: keys and bodies with what surrounds them, and numbers that nothing could store exactly.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{TestService, text};

#[tokio::test]
async fn a_pasted_key_is_stored_without_what_surrounds_it() {
    let service = TestService::start().await;
    let client = &service.client;
    let connection =
        |name: &str, credentials: Value| json!({ "name": name, "provider": "openai", "credentials": credentials });
    let pasted = connection("pasted", json!({ "api_key": "\u{feff} sk-0123456789\r\n" }));
    let made = client.create("/v1/connections", pasted).await;
    assert_eq!(made["credentials"], json!({ "api_key": "••••6789" }));
    assert_eq!(made["warnings"], Value::Null, "{made}");
    let path = format!("/v1/connections/{}", text(&made["id"]));
    let (_, same) = client.patch(&path, json!({ "credentials": { "api_key": "sk-0123456789 " } })).await;
    assert_eq!(same["updated_at"], made["updated_at"], "it is the same key");

    for key in ["Bearer sk-0123456789", "\"sk-0123456789\"", "sk-01234\n56789"] {
        let (status, refused) = client.post("/v1/connections", connection("wrong", json!({ "api_key": key }))).await;
        let path = &refused["errors"][0]["path"];
        assert_eq!((status.as_u16(), path), (422, &json!("credentials.api_key")), "{key:?}: {refused}");
        assert!(!refused.to_string().contains("0123"), "no part of a key is shown: {refused}");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_credential_that_nothing_uses_is_named() {
    let service = TestService::start().await;
    let client = &service.client;
    let misspelt = json!({ "name": "model", "provider": "openai", "credentials": { "apiKey": "sk-0123456789" } });
    let made = client.create("/v1/connections", misspelt).await;
    let warning = "credentials.apiKey is not used by openai. Did you mean credentials.api_key?";
    assert_eq!(made["warnings"], json!([warning]));
    let path = format!("/v1/connections/{}", text(&made["id"]));
    let mended = json!({ "credentials": { "apiKey": null, "api_key": "sk-0123456789" } });
    let (_, mended) = client.patch(&path, mended).await;
    assert_eq!((&mended["credentials"], &mended["warnings"]), (&json!({ "api_key": "••••6789" }), &Value::Null));

    let twilio = json!({
        "account_sid": "AC00000000000000000000000000000000", "auth_token": "0123456789",
        "secondary_auth_token": "9876543210",
    });
    let carrier = json!({ "name": "line", "provider": "twilio", "credentials": twilio });
    assert_eq!(client.create("/v1/connections", carrier).await["warnings"], Value::Null);
    service.stop().await;
}

#[tokio::test]
async fn a_whole_number_beyond_64_bits_is_refused_where_it_stands() {
    let (service, agent) = TestService::ready().await;
    for (metadata, path) in [
        (r#"{"debt":-9223372036854775808,"order":18446744073709551615}"#, None),
        (r#"{"order":{"lines":[1,18446744073709551616]}}"#, Some("metadata.order.lines.1")),
        (r#"{"order":123456789012345678901234567890}"#, Some("metadata.order")),
    ] {
        let body = format!(r#"{{"agent_id":"{}","to":"+12025550106","metadata":{metadata}}}"#, agent.id);
        let request = service.client.request(Method::POST, "/v1/calls").header("content-type", "application/json");
        let answer = request.body(body).send().await.expect("an answer").text().await.expect("text");
        let (told, stored) = (format!(r#""path":"{}""#, path.unwrap_or_default()), format!(r#""metadata":{metadata}"#));
        assert!(answer.contains(if path.is_some() { &told } else { &stored }), "{metadata}: {answer}");
    }
    service.stop().await;
}

/// PowerShell, Excel and editors of Windows put it before their text.
#[tokio::test]
async fn a_byte_order_mark_before_a_body_is_ignored() {
    let (service, agent) = TestService::ready().await;
    let body = json!({ "agent_id": agent.id, "to": "+12025550101" }).to_string();
    let send = async |path: &str, body: String| {
        let request = service.client.request(Method::POST, path).header("content-type", "application/json");
        let answer = request.header("idempotency-key", "once").body(body).send().await.expect("an answer");
        let replayed = answer.headers().contains_key("idempotent-replayed");
        (answer.status(), replayed, answer.json::<Value>().await.expect("JSON"))
    };
    let (status, replayed, first) = send("/v1/calls", format!("\u{feff}{body}")).await;
    assert_eq!((status, replayed), (StatusCode::CREATED, false), "{first}");
    let (status, replayed, second) = send("/v1/calls", body.clone()).await;
    assert_eq!((status, replayed, &second["id"]), (StatusCode::CREATED, true, &first["id"]), "{second}");

    assert_eq!(send("/v1/api-keys", "\u{feff}".to_owned()).await.0, StatusCode::CREATED, "an empty body");
    let (status, _, refused) = send("/v1/calls", format!("\u{feff}\u{feff}{body}")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "one is cut: {refused}");
    service.stop().await;
}
