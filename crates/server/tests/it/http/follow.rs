//! `GET /v1/calls/{id}/events` as a stream.

use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use crate::harness::{Client, TestService, text};

use super::{TIMEOUT, read_until};

/// Answers, and holds the line in silence until either side hangs up.
const HOLDS: &str = "+12025550109";

async fn follow(client: &Client, call: &str, seen: Option<&str>) -> Response {
    let request =
        client.request(Method::GET, &format!("/v1/calls/{call}/events")).header("Accept", "text/event-stream");
    let request = seen.into_iter().fold(request, |request, seen| request.header("Last-Event-ID", seen));
    request.send().await.expect("an answer")
}

fn ids(stream: &str) -> Vec<&str> {
    stream.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

#[tokio::test]
async fn a_follower_sees_each_event_once_and_takes_up_where_it_left_off() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = client.place(&agent, HOLDS).await;
    let mut stream = follow(client, &call, None).await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(stream.headers()["x-accel-buffering"], "no");
    let first = read_until(&mut stream, "event: call.in_progress").await;
    drop(stream);
    let seen = ids(&first);
    assert_eq!(seen, ["1", "2", "3"], "{first}");

    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let mut stream = follow(client, &call, seen.last().copied()).await;
    let rest = read_until(&mut stream, "nothing more than the end").await;
    assert_eq!(ids(&rest).first(), Some(&"4"), "{rest}");
    assert!(rest.contains("event: call.completed"), "{rest}");
    let last = ids(&rest).last().copied().expect("events").to_owned();
    assert_eq!(follow(client, &call, Some(&last)).await.status(), StatusCode::NO_CONTENT);
    service.stop().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_key_is_revoked() {
    let (service, agent) = TestService::ready().await;
    let owner = &service.client;
    let call = owner.place(&agent, HOLDS).await;
    let key = owner.create("/v1/api-keys", json!({})).await;
    let follower = Client::new(owner.base.clone(), text(&key["key"]));
    let mut stream = follow(&follower, &call, None).await;
    read_until(&mut stream, "event: call.in_progress").await;

    let revoke = owner.request(Method::DELETE, &format!("/v1/api-keys/{}", text(&key["id"])));
    assert_eq!(revoke.send().await.expect("an answer").status(), StatusCode::NO_CONTENT);
    let rest = read_until(&mut stream, "nothing more than the end").await;
    assert_eq!(ids(&rest), Vec::<&str>::new(), "{rest}");
    let (_, shown) = owner.get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "the call continues");
    service.stop().await;
}

#[tokio::test]
async fn a_tenant_follows_a_bounded_number_of_calls() {
    let (service, agent) = TestService::ready().await;
    let call = service.client.place(&agent, HOLDS).await;
    let mut streams = Vec::new();
    for _ in 0..32 {
        streams.push(follow(&service.client, &call, None).await);
    }
    let refused = follow(&service.client, &call, None).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    drop(streams);
    let free_again = async {
        while follow(&service.client, &call, None).await.status() != StatusCode::OK {
            // Until the service has noticed that they are gone.
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, free_again).await.expect("their places are free again");
    service.stop().await;
}
