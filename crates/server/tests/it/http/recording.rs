//! `GET /v1/calls/{id}/recording`: the whole, a part, and no such part.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{TestService, text};

#[tokio::test]
async fn a_recording_is_served_whole_or_in_part() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let call = client.place(&agent, "+12025550108").await;
    let ended = client.wait_for(&call, |call| call["recording_url"].is_string()).await;
    let path = text(&ended["recording_url"]);
    let get = async |headers: &[(&'static str, &str)]| {
        let request = client.request(Method::GET, &path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.headers().clone(), answer.bytes().await.expect("a whole body"))
    };

    let (status, headers, whole) = get(&[]).await;
    assert_eq!(
        (status, &headers["content-type"], &headers["accept-ranges"]),
        (StatusCode::OK, &"audio/wav".parse().expect("a value"), &"bytes".parse().expect("a value"))
    );
    assert!(whole.starts_with(b"RIFF") && whole.len() > 44, "{} bytes", whole.len());
    let tag = headers["etag"].to_str().expect("text").to_owned();

    let (status, headers, part) = get(&[("range", "bytes=4-11")]).await;
    assert_eq!((status, &part[..]), (StatusCode::PARTIAL_CONTENT, &whole[4..12]));
    assert_eq!(headers["content-range"], format!("bytes 4-11/{}", whole.len()).as_str());
    assert_eq!(get(&[("range", "bytes=-8"), ("if-range", &tag)]).await.2, whole[whole.len() - 8..]);
    for ignored in
        [[("range", "bytes=0-1,4-5"), ("if-range", tag.as_str())], [("range", "bytes=0-1"), ("if-range", "\"older\"")]]
    {
        let (status, _, body) = get(&ignored).await;
        assert_eq!((status, body.len()), (StatusCode::OK, whole.len()), "{ignored:?}");
    }

    let (status, headers, body) = get(&[("range", "bytes=99999999-")]).await;
    assert_eq!(status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(headers["content-range"], format!("bytes */{}", whole.len()).as_str());
    let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((&body["status"], &body["code"]), (&json!(416), &json!("range_not_satisfiable")));
    service.stop().await;
}
