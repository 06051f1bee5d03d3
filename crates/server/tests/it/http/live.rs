//! Streams of a whole tenant's events, and of a transcript.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::TIMEOUT;
use crate::harness::{Client, TestService, text};

/// Answers, and holds the line in silence until either side hangs up; is busy; hangs up in the middle of the agent's sentence.
const HOLDS: &str = "+12025550109";
const BUSY: &str = "+12025550101";
const HANGS_UP: &str = "+12025550108";

async fn follow(client: &Client, path: &str, seen: Option<&str>) -> Response {
    let request = client.request(Method::GET, path).header("Accept", "text/event-stream");
    let request = seen.into_iter().fold(request, |request, seen| request.header("Last-Event-ID", seen));
    request.send().await.expect("an answer")
}

/// Reads until a word has come so often, or to the end of the stream.
async fn read_until(stream: &mut Response, word: &str, times: usize) -> String {
    let mut read = String::new();
    let reading = async {
        while read.matches(word).count() < times {
            let Some(bytes) = stream.chunk().await.expect("the stream goes on") else { break };
            read.push_str(std::str::from_utf8(&bytes).expect("text"));
        }
    };
    tokio::time::timeout(TIMEOUT, reading).await.expect("in time");
    read
}

fn fields<'s>(stream: &'s str, name: &str) -> Vec<&'s str> {
    let name = format!("{name}: ");
    stream.lines().filter_map(|line| line.strip_prefix(name.as_str())).collect()
}

fn data(stream: &str) -> Vec<Value> {
    fields(stream, "data").into_iter().map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tenant_stream_has_the_events_of_all_its_calls() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let stranger = service.another_tenant().await;
    let mut strange = follow(&stranger, "/v1/events", None).await;
    let mut streams = [follow(client, "/v1/events", None).await, follow(client, "/v1/events", None).await];
    assert_eq!(streams[0].headers()["content-type"], "text/event-stream");
    assert_eq!(streams[0].headers()["x-accel-buffering"], "no");
    let calls = [client.place(&agent, BUSY).await, client.place(&agent, BUSY).await];
    let mut seen = String::new();
    for stream in &mut streams {
        seen = read_until(stream, "event: call.failed", 2).await;
        let events = data(&seen);
        for call in &calls {
            let of_call: Vec<_> = events.iter().filter(|event| event["call_id"] == call.as_str()).collect();
            let sequences: Vec<_> = of_call.iter().filter_map(|event| event["sequence"].as_i64()).collect();
            assert_eq!(sequences, [1, 2, 3, 4], "{seen}");
            assert_eq!(of_call[3]["data"]["error_code"], "busy", "{seen}");
        }
        assert_eq!(events.len(), 8, "each once: {seen}");
    }
    let (_, listed) = client.get("/v1/events?limit=3").await;
    assert_eq!((listed["data"].as_array().map(Vec::len), &listed["has_more"]), (Some(3), &json!(true)), "{listed}");
    let (_, rest) = client.get(&format!("/v1/events?cursor={}", text(&listed["next_cursor"]))).await;
    let listed = [listed["data"].as_array().expect("a list").clone(), rest["data"].as_array().expect("a list").clone()];
    let mut listed = listed.concat();
    listed.sort_by_key(|event| text(&event["id"]));
    let mut streamed = data(&seen);
    streamed.sort_by_key(|event| text(&event["id"]));
    assert_eq!(listed, streamed, "the list shows the same");

    let last = text(&streamed[7]["id"]);
    drop(streams);
    let third = client.place(&agent, BUSY).await;
    client.wait_for_end(&third).await;
    let mut resumed = follow(client, "/v1/events", Some(&last)).await;
    // Events of the last seconds come again; each names its call twice.
    let rest = read_until(&mut resumed, &third, 8).await;
    let of_third = data(&rest).iter().filter(|event| event["call_id"] == third.as_str()).count();
    assert_eq!(of_third, 4, "nothing is missed: {rest}");

    stranger.create("/v1/agents", json!({ "name": "Eve", "instructions": "Hi." })).await;
    drop(resumed);
    let other = stranger.scripted_agent(json!({})).await;
    let own = stranger.place(&other, BUSY).await;
    let strange = read_until(&mut strange, "event: call.failed", 1).await;
    assert!(data(&strange).iter().all(|event| event["call_id"] == own.as_str()), "{strange}");
    for wrong in ["7", "00000000-0000-4000-8000-000000000000", "01890000-0000-7000-8000-000000000000"] {
        let refused = follow(client, "/v1/events", Some(wrong)).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
    assert_eq!(client.get("/v1/events?limit=0").await.0, StatusCode::UNPROCESSABLE_ENTITY);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_all_kinds_share_a_limit_and_end_with_their_key() {
    let (service, agent) = TestService::ready().await;
    let owner = &service.client;
    let call = owner.place(&agent, HOLDS).await;
    let key = owner.create("/v1/api-keys", json!({})).await;
    let follower = Client::new(owner.base.clone(), text(&key["key"]));
    let transcript = format!("/v1/calls/{call}/transcript");
    let mut streams = Vec::new();
    for path in std::iter::repeat_n(["/v1/events", transcript.as_str()], 16).flatten() {
        streams.push(follow(&follower, path, None).await);
    }
    for path in ["/v1/events", &transcript, &format!("/v1/calls/{call}/events")] {
        assert_eq!(follow(owner, path, None).await.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
    }
    let revoke = owner.request(Method::DELETE, &format!("/v1/api-keys/{}", text(&key["id"])));
    assert_eq!(revoke.send().await.expect("an answer").status(), StatusCode::NO_CONTENT);
    for stream in &mut streams[..2] {
        read_until(stream, "nothing more than the end", 1).await;
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_is_read_as_it_is_written() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = client.place(&agent, HANGS_UP).await;
    let path = format!("/v1/calls/{call}/transcript");
    let mut stream = follow(client, &path, None).await;
    assert_eq!(stream.headers()["x-accel-buffering"], "no");
    let read = read_until(&mut stream, "event: end", 1).await;
    assert_eq!(fields(&read, "event"), ["line", "end"], "{read}");
    let (_, whole) = client.get(&path).await;
    let said = data(&read);
    assert_eq!((&said[0], &said[1]), (&whole["data"][0], &json!({ "status": "completed" })), "{read}");
    let ids = fields(&read, "id");
    let again = read_until(&mut follow(client, &path, Some(ids[0])).await, "nothing more than the end", 1).await;
    assert_eq!(fields(&again, "event"), ["end"], "{again}");
    assert_eq!(follow(client, &path, Some(ids[1])).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(follow(&service.another_tenant().await, &path, None).await.status(), StatusCode::NOT_FOUND);
    service.stop().await;
}
