//! A log without a reader.

use std::fs::OpenOptions;
use std::io::{Write as _, pipe};
use std::net::SocketAddr;
use std::process::Stdio;

use reqwest::Method;
use serde_json::json;

use super::tenant_of;
use crate::harness::deliveries_of;
use crate::harness::process::Node;

/// The capacity of a pipe on Linux.
const PIPE: usize = 64 * 1024;

/// Places a call on a service that logs to `stderr`, waits until its last webhook has been delivered, and stops the service. Returns
/// the metrics.
async fn a_call_with_its_log_at(stderr: Stdio) -> String {
    let node = Node::new().await.with("SWITCHHOOK_LOG", "debug");
    let service = node.serve_logging_to(stderr);
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({})).await;
    let mut receiver = client.receiver().await;
    let call = client.place(&agent, "+12025550100").await;
    let ended = client.hang_up_after(&call, 1).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_ne!(deliveries_of(&mut receiver, &call).await.len(), 0);
    let metrics = client.request(Method::GET, "/metrics").send().await.expect("answered").text().await.expect("text");
    service.signal("TERM");
    service.ended().await;
    metrics
}

/// Returns the number of log lines that could not be written.
fn lost(metrics: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix("switchhook_log_lines_lost_total "));
    line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("lost lines are counted: {metrics}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_complete_after_the_log_reader_has_gone() {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    assert_ne!(lost(&a_call_with_its_log_at(writer.into()).await), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_complete_while_the_log_disk_is_full() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    assert_ne!(lost(&a_call_with_its_log_at(full.into()).await), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_complete_while_the_log_reader_stalls() {
    let (_reader, mut writer) = pipe().expect("a pipe");
    writer.write_all(&[b'\n'; PIPE]).expect("as much as it holds");
    a_call_with_its_log_at(writer.into()).await;
}

#[tokio::test]
async fn why_the_service_does_not_start_is_the_last_line_of_its_log() {
    let node = Node::new().await;
    let first = node.serve();
    let address = first.base.trim_start_matches("http://").to_owned();
    let output = Node::new().await.command().args(["serve", "--listen", &address]).output().expect("the binary starts");
    let log = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{log}");
    let last = log.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("switchhook: cannot listen on {address}")), "{log}");
    let mut another: SocketAddr = address.parse().expect("an address");
    another.set_port(another.port() + 1);
    assert!(last.contains(&format!("such as --listen {another}")), "it says what to do: {log}");
}
