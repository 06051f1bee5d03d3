//! The order in which the events of a call first arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Semaphore, mpsc};

use super::peer::{Peer, read};
use super::*;
use crate::harness::TIMEOUT;

/// A receiver's record of what it was sent.
#[derive(Default)]
struct Seen {
    deliveries: BTreeSet<String>,
    /// Calls with a first attempt that waits for its response.
    busy: BTreeSet<String>,
    requests: usize,
}

/// A first attempt.
struct First {
    call: String,
    sequence: u64,
    event: String,
    /// Whether an attempt at an earlier event was still in progress.
    overlaps: bool,
}

impl Seen {
    /// Records a request. Returns it if it is a first attempt.
    fn note(&mut self, body: &Value) -> Option<First> {
        self.requests += 1;
        let call = text(&body["data"]["call_id"]);
        self.deliveries.insert(text(&body["id"])).then(|| First {
            overlaps: !self.busy.insert(call.clone()),
            sequence: body["data"]["sequence"].as_u64().expect("a number"),
            event: text(&body["event"]),
            call,
        })
    }
}

#[tokio::test]
async fn the_first_attempts_of_a_call_go_out_one_after_another_in_the_order_of_its_events_however_the_receiver_fails() {
    // The first attempts last as long as the calls.
    let service = TestService::start_as(Clock::system(), |config| config.webhook_timeout = NEVER).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let (told, mut firsts) = mpsc::unbounded_channel();
    let (seen, leave) = (Arc::new(Mutex::new(Seen::default())), Arc::new(Semaphore::new(0)));
    let gate = leave.clone();
    let peer = Peer::start(move |mut stream| {
        let (told, seen, gate) = (told.clone(), seen.clone(), gate.clone());
        async move {
            let Some(request) = read(&mut stream).await else { return };
            let body = serde_json::from_slice(&request.body).expect("JSON");
            let (first, number) = {
                let mut seen = seen.lock().expect("no panic");
                (seen.note(&body), seen.requests)
            };
            gate.acquire().await.expect("never closed").forget();
            if let Some(first) = first {
                seen.lock().expect("no panic").busy.remove(&first.call);
                let _test_is_over = told.send(first);
            }
            // Of every three requests, one is refused and one ends without a response.
            let answer = match number % 3 {
                0 => b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".as_slice(),
                1 => b"HTTP/1.1 500 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
                _ => b"",
            };
            let _gone = stream.write_all(answer).await;
        }
    })
    .await;
    Endpoint::register(&service.client, &peer.url()).await;
    let mut calls = BTreeSet::new();
    for _ in 0..8 {
        calls.insert(service.client.place(&agent, "+12025550111").await);
    }
    // Everything else waits behind the first events, which are not answered before now.
    for call in &calls {
        service.client.wait_for_end(call).await;
    }
    leave.add_permits(Semaphore::MAX_PERMITS);

    let mut arrived: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    while ended != calls {
        let next = tokio::time::timeout(TIMEOUT, firsts.recv()).await.expect("it goes on");
        let First { call, sequence, event, overlaps } = next.expect("the receiver listens");
        assert!(!overlaps, "{event} of {call} was sent while an earlier event was under way");
        if event == "call.completed" {
            ended.insert(call.clone());
        }
        arrived.entry(call).or_default().push(sequence);
    }
    for (call, numbers) in arrived {
        assert_eq!(numbers, [1, 2, 3, 4, 5], "{call}");
    }
}
