//! A public address with a path, which a proxy takes away before it asks the service.

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, ETAG, IF_NONE_MATCH, LOCATION};
use reqwest::{Method, StatusCode, redirect};
use serde_json::{Value, json};
use switchhook_runtime::clock::Clock;

use crate::harness::{TestService, text};

const PUBLIC: &str = "https://example.com/voice";

async fn below_a_path() -> TestService {
    TestService::start_as(Clock::system(), |config| config.public_url = Some(PUBLIC.to_owned())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_created_is_found_below_the_path() {
    let service = below_a_path().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({})).await;
    for (path, body) in [
        ("/v1/calls", json!({ "agent_id": agent.id, "to": "+12025550100" })),
        ("/v1/calls", json!({ "agent_id": agent.id, "to": "web" })),
        ("/v1/agents", json!({ "name": "Eve", "instructions": "Hi." })),
    ] {
        let created = client.request(Method::POST, path).json(&body).send().await.expect("an answer");
        let location = created.headers()[LOCATION].to_str().expect("text").to_owned();
        let created: Value = created.json().await.expect("JSON");
        assert_eq!(location, format!("/voice{path}/{}", text(&created["id"])));
        if body["to"] == "web" {
            let socket = text(&created["web"]["url"]);
            assert!(socket.starts_with("wss://example.com/voice/media/"), "{socket}");
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_the_api_document_name_the_path() {
    let service = below_a_path().await;
    let http = reqwest::Client::builder().redirect(redirect::Policy::none()).build().expect("a client");
    for (path, link) in [("/docs", "href=\"/voice/docs/docs.css\""), ("/auth/login", "href=\"/voice/auth/page.css\"")] {
        let page = http.get(format!("{}{path}", service.client.base)).header(ACCEPT, "text/html").send().await;
        let page = page.expect("an answer").text().await.expect("text");
        assert!(page.contains(link) && !page.contains("=\"/d") && !page.contains("=\"/a"), "{path}: {page}");
    }
    let document: Value = service.client.get("/openapi.json").await.1;
    assert_eq!(document["servers"][0]["url"], "/voice");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_dashboard_is_written_for_the_path_and_its_files_are_as_built() {
    let service = below_a_path().await;
    let get = |path: &str| {
        let request = reqwest::Client::new().get(format!("{}{path}", service.client.base));
        request.header(ACCEPT, "text/html").header(ACCEPT_ENCODING, "br, gzip")
    };
    let page = get("/calls/7").send().await.expect("an answer");
    assert!(page.headers().get(ETAG).is_none(), "it depends on the address");
    let page = page.text().await.expect("text");
    assert!(page.contains("src=\"/voice/assets/index.js\"") && !page.contains("=\"/assets"), "{page}");
    for path in ["/index.html", "/agents/a.b", "/x"] {
        let page = get(path).send().await.expect("an answer").text().await.expect("text");
        assert!(page.contains("src=\"/voice/assets/index.js\""), "{path}: {page}");
    }
    assert_eq!(
        get("/x.php").send().await.expect("an answer").status(),
        StatusCode::NOT_FOUND,
        "a file that is not there"
    );
    // A page that was cached before the address had a path.
    let cached = get("/").header(IF_NONE_MATCH, "*").send().await.expect("an answer");
    assert_eq!(cached.status(), StatusCode::OK);

    let script = get("/assets/index.js").send().await.expect("an answer");
    let tag = script.headers()[ETAG].clone();
    let known = get("/assets/index.js").header(IF_NONE_MATCH, tag).send().await.expect("an answer");
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    service.stop().await;
}
