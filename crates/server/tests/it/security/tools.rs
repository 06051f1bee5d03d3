//! Headers that would misrepresent a request.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::TestService;

const FRAMING: [&str; 12] = [
    "Host",
    "connection",
    "Content-Length",
    "transfer-encoding",
    "TE",
    "trailer",
    "upgrade",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "Proxy-Connection",
    "proxy-anything",
];

async fn refused(service: &TestService, path: &str, body: Value, field: &str) {
    let (status, error) = service.client.post(path, body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{field}: {error}");
    assert_eq!(error["errors"][0]["path"], field, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_header_that_frames_or_routes_a_request_can_be_saved_anywhere() {
    let service = TestService::start().await;
    for name in FRAMING {
        let headers = json!({ name: "1" });
        for tool in [
            json!({ "type": "http", "name": "tables", "url": "https://example.com", "headers": headers }),
            json!({ "type": "mcp", "url": "https://example.com", "headers": headers }),
        ] {
            let agent = json!({ "name": "Ava", "instructions": "Book.", "tools": [tool] });
            refused(&service, "/v1/agents", agent, &format!("tools.0.headers.{name}")).await;
        }
        let connection = |provider: &str, settings: Value, credentials: Value| json!({ "name": "c", "provider": provider, "settings": settings, "credentials": credentials });
        let key = json!({ "api_key": "a-key-of-the-tests" });
        let secret = connection("http", json!({}), headers.clone());
        refused(&service, "/v1/connections", secret, &format!("credentials.{name}")).await;
        let further = connection("openai", json!({ "headers": headers }), key.clone());
        refused(&service, "/v1/connections", further, &format!("settings.headers.{name}")).await;
        let of_the_key = connection("openai", json!({ "key_header": name }), key);
        refused(&service, "/v1/connections", of_the_key, "settings.key_header").await;
    }
    let tool = json!({ "type": "http", "name": "tables", "url": "https://example.com", "headers": { "x-host": "a", "accept": "text/plain" } });
    let agent = json!({ "name": "Ava", "instructions": "Book.", "tools": [tool] });
    service.client.create("/v1/agents", agent).await;
    service.stop().await;
}
