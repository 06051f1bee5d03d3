//! Every path without another handler is a page.

use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::browser;
use super::browser::answer;
use crate::harness::TestService;

#[tokio::test]
async fn pages_are_shielded_and_nothing_else_is_a_page() {
    let service = TestService::start().await;
    let get = async |path: &str| {
        let request = browser(&service).request(Method::GET, path).header(ACCEPT, "text/html");
        request.send().await.expect("an answer")
    };
    let root = get("/").await;
    assert_eq!(
        (root.status(), &root.headers()[CONTENT_TYPE]),
        (StatusCode::OK, &"text/html; charset=utf-8".parse().expect("a value"))
    );
    let policy = root.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(root.headers()["x-content-type-options"], "nosniff");
    let tag = root.headers().get(ETAG).cloned();
    let page = root.text().await.expect("text");
    match tag {
        None => {
            assert!(page.contains("npm run build"), "it says how it is built: {page}");
            assert_eq!(get("/calls/7").await.status(), StatusCode::NOT_FOUND);
        }
        Some(tag) => {
            assert_eq!(get("/calls/7").await.text().await.expect("text"), page);
            let known = browser(&service).request(Method::GET, "/").header(IF_NONE_MATCH, tag);
            assert_eq!(known.send().await.expect("an answer").status(), StatusCode::NOT_MODIFIED);
            assert!(
                policy.contains(&format!("connect-src 'self' {}", service.client.base.replacen("http", "ws", 1))),
                "{policy}"
            );
        }
    }
    for path in ["/auth/nowhere", "/docs/nowhere", "/carrier", "/media/x", "/healthz/x", "/assets/none.js"] {
        let (status, body) = answer(browser(&service).request(Method::GET, path)).await;
        assert_eq!((status, &body["code"]), (StatusCode::NOT_FOUND, &json!("not_found")), "{path}");
    }
    for (path, accepts) in [("/calls/7", "application/json"), ("/v2/calls", "*/*"), ("/openapi.yaml", "*/*")] {
        let request = browser(&service).request(Method::GET, path).header(ACCEPT, accepts);
        let (status, body) = answer(request).await;
        let found = (status, &body["code"]);
        assert_eq!(found, (StatusCode::NOT_FOUND, &json!("not_found")), "{path} is no page to a program");
    }
    assert_eq!(answer(browser(&service).request(Method::POST, "/calls")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(get("/auth/page.css").await.headers()[CONTENT_TYPE], "text/css; charset=utf-8");
    service.stop().await;
}
