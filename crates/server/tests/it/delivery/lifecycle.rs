//! A delivery from its first attempt to its last, and endpoints that change meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use switchhook_core::webhook::{DEFAULT_TOLERANCE, SigningSecret, verify};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Semaphore, mpsc};

use super::peer::{Peer, Request, read};
use super::*;

/// A receiver that shows what it is sent, waits for permission, and responds with a status that may change.
struct Desk {
    peer: Peer,
    requests: mpsc::UnboundedReceiver<Request>,
    leave: Arc<Semaphore>,
    status: Arc<AtomicU16>,
    extra: &'static str,
}

impl Desk {
    async fn open(extra: &'static str) -> Self {
        let (shown, requests) = mpsc::unbounded_channel();
        let (leave, status) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicU16::new(200)));
        let (gate, answered) = (leave.clone(), status.clone());
        let peer = Peer::start(move |mut stream| {
            let (shown, gate, answered) = (shown.clone(), gate.clone(), answered.clone());
            async move {
                let Some(request) = read(&mut stream).await else { return };
                let _test_is_over = shown.send(request);
                gate.acquire().await.expect("never closed").forget();
                let status = answered.load(Ordering::SeqCst);
                let answer = format!("HTTP/1.1 {status} x\r\n{extra}connection: close\r\ncontent-length: 0\r\n\r\n");
                let _gone = stream.write_all(answer.as_bytes()).await;
            }
        })
        .await;
        Self { peer, requests, leave, status, extra }
    }

    fn answers(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    async fn next(&mut self) -> Request {
        let next = tokio::time::timeout(crate::harness::TIMEOUT, self.requests.recv()).await;
        next.expect("a request").expect("it listens")
    }

    fn let_go(&self, requests: usize) {
        self.leave.add_permits(requests);
    }
}

fn instant(value: &Value) -> Timestamp {
    Timestamp::parse(&text(value)).expect("a time")
}

#[tokio::test]
async fn attempt_is_stored_before_it_is_sent_and_each_retry_sends_the_same_bytes() {
    let clock = standing_clock();
    let service = TestService::start_with(clock.clone()).await;
    let mut desk = Desk::open("").await;
    let endpoint = Endpoint::register(&service.client, &desk.peer.url()).await;
    let secret = SigningSecret::parse(&endpoint.secret).expect("a secret");
    desk.answers(500);
    let delivery = endpoint.test().await;
    let mut sent: Vec<Request> = Vec::new();
    for attempt in 1..=8_u64 {
        let request = desk.next().await;
        let (_, shown) = service.client.get(&delivery).await;
        assert_eq!((&shown["state"], &shown["attempts"]), (&json!("sending"), &json!(attempt)));
        let last = shown["attempt_log"].as_array().and_then(|log| log.last()).expect("it is written down");
        assert_eq!((&last["number"], &last["duration_ms"]), (&json!(attempt), &Value::Null), "it is under way");
        let now = clock.now();
        let verdict = verify(request.header("x-voice-signature"), &request.body, &secret, now, DEFAULT_TOLERANCE);
        assert_eq!(verdict, Ok(()), "attempt {attempt}");
        assert!(sent.iter().all(|earlier| earlier.body == request.body), "the bytes are frozen");
        let signature = |request: &Request| request.header("x-voice-signature").to_owned();
        assert!(sent.iter().all(|earlier| signature(earlier) != signature(&request)), "signed anew");
        sent.push(request);
        desk.let_go(1);
        let shown = endpoint.after(&delivery, attempt).await;
        if attempt < 8 {
            clock.advance(instant(&shown["next_attempt_at"]).since(now));
        } else {
            assert_eq!((&shown["state"], &shown["next_attempt_at"]), (&json!("failed"), &Value::Null));
        }
    }

    desk.answers(200);
    desk.let_go(1);
    let again = service.client.create(&format!("{delivery}/redeliver"), Value::Null).await;
    let (old, new): (Value, Value) = (
        serde_json::from_slice(&sent[0].body).expect("JSON"),
        serde_json::from_slice(&desk.next().await.body).expect("JSON"),
    );
    assert_eq!((&new["created"], &new["data"], &new["id"]), (&old["created"], &old["data"], &again["id"]));
    assert_ne!(new["id"], old["id"]);
    assert_eq!(desk.peer.connections(), 9);
}

#[tokio::test]
async fn a_receiver_that_asks_for_time_gets_it_and_cannot_hasten_the_next_attempt() {
    for (status, extra, seconds) in [
        (503, "retry-after: 3600\r\n", 3600..=3600),
        (429, "retry-after: 600\r\n", 600..=600),
        (429, "retry-after: 1\r\n", 4..=6),
        (503, "retry-after: 99999999\r\n", 57_600..=57_600),
        (500, "retry-after: 3600\r\n", 4..=6),
    ] {
        let clock = standing_clock();
        let service = TestService::start_with(clock.clone()).await;
        let desk = Desk::open(extra).await;
        desk.answers(status);
        desk.let_go(1);
        let endpoint = Endpoint::register(&service.client, &desk.peer.url()).await;
        let shown = endpoint.after(&endpoint.test().await, 1).await;
        let wait = instant(&shown["next_attempt_at"]).since(clock.now()).as_secs();
        assert!(seconds.contains(&wait), "{status} {}: {wait} s", desk.extra);
    }
}

/// Fills an endpoint with ten attempts in progress and five waiting deliveries.
async fn filled<'a>(service: &'a TestService, desk: &mut Desk) -> (Endpoint<'a>, Vec<String>) {
    let endpoint = Endpoint::register(&service.client, &desk.peer.url()).await;
    let mut deliveries = Vec::new();
    for _ in 0..15 {
        deliveries.push(endpoint.test().await);
    }
    for _ in 0..10 {
        desk.next().await;
    }
    (endpoint, deliveries)
}

/// Advances the clock by a day, and waits until the worker has handled everything due by then.
async fn a_day_passes(service: &TestService, clock: &Clock, desk: &Desk) {
    clock.advance(Duration::from_secs(24 * 3600));
    let before = desk.peer.connections();
    let fence = Peer::answering("200 OK").await;
    let other = Endpoint::register(&service.client, &fence.url()).await;
    for _ in 0..3 {
        assert_eq!(other.try_once().await["state"], "succeeded");
    }
    assert_eq!(desk.peer.connections(), before, "nothing more was sent");
}

#[tokio::test]
async fn deleting_an_endpoint_stops_its_deliveries_at_once() {
    let clock = standing_clock();
    let service = TestService::start_with(clock.clone()).await;
    let mut desk = Desk::open("").await;
    let (endpoint, deliveries) = filled(&service, &mut desk).await;
    assert_eq!(endpoint.send(Method::DELETE, Value::Null).await, 204);
    assert_eq!(service.client.get(&deliveries[0]).await.0, 404);
    // The attempts in progress fail; they are not retried, and no others follow.
    desk.answers(500);
    desk.let_go(1000);
    a_day_passes(&service, &clock, &desk).await;
    assert_eq!(desk.peer.connections(), 10);
}

#[tokio::test]
async fn disabling_an_endpoint_cancels_what_waits_and_what_fails_and_enabling_it_brings_nothing_back() {
    let clock = standing_clock();
    let service = TestService::start_with(clock.clone()).await;
    let mut desk = Desk::open("").await;
    let (endpoint, deliveries) = filled(&service, &mut desk).await;
    assert_eq!(endpoint.send(Method::PATCH, json!({ "enabled": false })).await, 200);
    desk.answers(500);
    desk.let_go(1000);
    for delivery in &deliveries {
        let shown = service.client.look_until(delivery, |shown| shown["state"] != "sending").await;
        assert_eq!((&shown["state"], &shown["next_attempt_at"]), (&json!("canceled"), &Value::Null));
    }
    assert_eq!(endpoint.send(Method::PATCH, json!({ "enabled": true })).await, 200);
    a_day_passes(&service, &clock, &desk).await;
    assert_eq!(desk.peer.connections(), 10);
    desk.answers(200);
    let shown = endpoint.after(&endpoint.test().await, 1).await;
    assert_eq!(shown["state"], "succeeded", "it is in use again");
}

#[tokio::test]
async fn what_waits_goes_to_the_new_address_and_never_again_to_the_old_one() {
    let clock = standing_clock();
    let service = TestService::start_with(clock.clone()).await;
    let (old, new) = (Peer::answering("500 No").await, Peer::answering("200 OK").await);
    let endpoint = Endpoint::register(&service.client, &old.url()).await;
    let delivery = endpoint.test().await;
    endpoint.after(&delivery, 1).await;
    assert_eq!(endpoint.send(Method::PATCH, json!({ "url": new.url() })).await, 200);
    endpoint.hasten(&delivery).await;
    assert_eq!(endpoint.after(&delivery, 2).await["state"], "succeeded");
    assert_eq!((old.connections(), new.connections()), (1, 1));
}

#[tokio::test]
async fn a_replaced_secret_signs_beside_the_new_one_for_a_day_and_then_no_more() {
    let clock = standing_clock();
    let service = TestService::start_with(clock.clone()).await;
    let mut desk = Desk::open("").await;
    let endpoint = Endpoint::register(&service.client, &desk.peer.url()).await;
    let old = SigningSecret::parse(&endpoint.secret).expect("a secret");
    let (status, rotated) = service.client.post(&format!("{}/rotate-secret", endpoint.path), Value::Null).await;
    assert_eq!(status, 200, "{rotated}");
    let new = SigningSecret::parse(&text(&rotated["secret"])).expect("a secret");
    desk.let_go(100);

    let hour = Duration::from_secs(3600);
    for (passes, by_old) in [(Duration::ZERO, true), (23 * hour + 59 * hour / 60, true), (hour / 60, false)] {
        clock.advance(passes);
        endpoint.test().await;
        let request = desk.next().await;
        let verified = |secret| {
            verify(request.header("x-voice-signature"), &request.body, secret, clock.now(), DEFAULT_TOLERANCE).is_ok()
        };
        assert_eq!((verified(&new), verified(&old)), (true, by_old), "{passes:?}");
        let signatures = |header: &str, mark: &str| request.header(header).matches(mark).count();
        let both = [signatures("x-voice-signature", "v1="), signatures("webhook-signature", "v1,")];
        assert_eq!(both, if by_old { [2, 2] } else { [1, 1] });
    }
}
