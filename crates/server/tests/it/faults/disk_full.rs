//! SQLite's disk fills up, and has space again. A limit on file sizes simulates it: writes fail, reads do not.

use std::io::{BufRead as _, BufReader, PipeReader, pipe};
use std::process::Command;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use switchhook_media::wav;

use super::tenant_of;
use crate::cluster::until;
use crate::harness::process::{Node, Process};
use crate::harness::{Agent, Client, deliveries_of, text};

/// A phone that hangs up after 1.2 s of the agent's speech.
const HANGS_UP: &str = "+12025550108";
/// A change of a call is tried every 250 ms. These attempts take longer than the 12 s that a conversation has to report.
const LONG: usize = 52;

/// Limits the size of the files that the service may write, in bytes.
fn limit_files(service: &Process, size: &str) {
    let limit = format!("--fsize={size}:unlimited");
    let done = Command::new("prlimit").args(["--pid", &service.id().to_string(), &limit]).status();
    assert!(done.expect("prlimit of util-linux").success());
}

/// Waits until the lease of the live call has been expired for longer than the 5 s between renewals.
async fn until_the_lease_is_over(node: &Node) {
    const OVER: &str = "SELECT MAX(lease_until) + 6000000 < unixepoch('subsec') * 1000000 FROM calls";
    let options = SqliteConnectOptions::from_str(&node.database_url()).expect("an address").read_only(true);
    let mut database = options.connect().await.expect("the database");
    let is_over = async || sqlx::query_scalar(OVER).fetch_one(&mut database).await.expect("a row");
    until("the lease is over", Duration::from_secs(60), is_over).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_can_be_read_and_says_so_and_writes_resume_when_there_is_room() {
    let node = Node::on(None);
    let service = node.serve();
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let mut receiver = client.receiver().await;
    let live = client.place(&agent, "+12025550109").await;
    client.wait_for(&live, |call| call["status"] == "in_progress").await;

    limit_files(&service, "4096");
    let (status, refused) = client.post("/v1/agents", json!({ "name": "Bea", "instructions": "Book." })).await;
    assert_eq!(
        (status, &refused["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("database_unavailable")),
        "{refused}"
    );
    assert!(refused["detail"].to_string().contains("cannot be written"), "{refused}");
    // A ping that was late says only that.
    let says_so = |ready: &Value| ready["detail"].to_string().contains("cannot be written");
    let ready = client.look_until("/readyz", says_so).await;
    assert_eq!(ready["status"], 503, "{ready}");
    for path in ["/v1/agents", "/v1/calls", "/v1/tenant"] {
        let (status, read) = client.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {read}");
    }

    until_the_lease_is_over(&node).await;
    let (_, talking) = client.get(&format!("/v1/calls/{live}")).await;
    assert_eq!(talking["status"], "in_progress", "{talking}");

    limit_files(&service, "unlimited");
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    client.post(&format!("/v1/calls/{live}/hangup"), json!({})).await;
    let ended = client.wait_for_end(&live).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    let call = client.place(&agent, "+12025550100").await;
    client.hang_up_after(&call, 1).await;
    assert_ne!(deliveries_of(&mut receiver, &call).await.len(), 0);
}

/// Counts the lines of a log that contain `words`. The limit on files would lose those of a file.
fn count_lines(log: PipeReader, words: &'static str) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            counted.fetch_add(usize::from(line.contains(words)), Ordering::Relaxed);
        }
    });
    count
}

/// Places a call, and fills the disk up before the other side hangs up.
async fn live_on_a_full_disk(client: &Client, service: &Process, agent: &Agent) -> String {
    for _ in 0..5 {
        let call = client.place(agent, HANGS_UP).await;
        client.wait_for(&call, |call| !matches!(call["status"].as_str(), Some("queued" | "dialing"))).await;
        limit_files(service, "4096");
        let (_, shown) = client.get(&format!("/v1/calls/{call}")).await;
        if shown["status"] == "in_progress" {
            return call;
        }
        limit_files(service, "unlimited");
    }
    panic!("every call had ended before the disk was full");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_call_its_words_and_its_recording_are_written_when_a_full_disk_has_room() {
    let node = Node::on(None);
    let (log, stderr) = pipe().expect("a pipe");
    let service = node.serve_logging_to(stderr.into());
    let refused = count_lines(log, "could not write a change of this call");
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let mut receiver = client.receiver().await;
    let call = live_on_a_full_disk(&client, &service, &agent).await;
    let is_refused_for_long = async || refused.load(Ordering::Relaxed) >= LONG;
    until("the end of the call is refused for long", Duration::from_secs(60), is_refused_for_long).await;
    limit_files(&service, "unlimited");

    let ended = client.wait_for_end(&call).await;
    let end = (&ended["status"], &ended["end_reason"], &ended["ended_by"]);
    assert_eq!(end, (&json!("completed"), &json!("caller_hangup"), &json!("caller")), "{ended}");
    assert!(ended["summary"].is_string(), "the conversation reported: {ended}");
    let names = client.event_names(&call).await;
    assert_eq!(names, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    let (_, said) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    assert!(said["data"].as_array().is_some_and(|lines| !lines.is_empty()), "the sentence that was cut off: {said}");
    let recording = text(&ended["recording_url"]);
    until("the recording is whole", Duration::from_secs(60), async || {
        let file = client.request(Method::GET, &recording).send().await.expect("an answer");
        let file = file.bytes().await.expect("a whole body");
        wav::read(&file).is_ok_and(|wav| wav.channels[1].iter().any(|sample| *sample != 0))
    })
    .await;
    let deliveries = deliveries_of(&mut receiver, &call).await;
    assert_eq!(deliveries.last().map(|delivery| delivery.event.as_str()), Some("call.completed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_database_file_was_moved_away_is_not_ready() {
    let node = Node::on(None);
    let service = node.serve();
    let client = tenant_of(&node, &service);
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    let file = node.database_url();
    let file = file.strip_prefix("sqlite://").expect("a file");
    let aside = format!("{file}.aside");
    std::fs::rename(file, &aside).expect("moved");
    let moved = |ready: &Value| ready["detail"].to_string().contains("was moved, replaced or deleted");
    client.look_until("/readyz", moved).await;
    std::fs::rename(&aside, file).expect("moved back");
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
}
