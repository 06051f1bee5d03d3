//! Receivers that treat an attempt in all the ways of the field, determined by seeds, all at once.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::webhook::{DEFAULT_TOLERANCE, SigningSecret, verify};

use super::peer::{Peer, Request};
use super::wild_peer::WildReceiver;
use super::{Endpoint, NEVER, standing_clock};
use crate::harness::{TestService, text};

/// Number of receivers, each with its own seed.
const RECEIVERS: u64 = 24;
/// The delay before the second attempt, in seconds.
const DELAY: (u64, u64) = (4, 6);
/// Longer than any delay between two attempts.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[tokio::test(flavor = "multi_thread")]
async fn whatever_receivers_do_each_delivery_is_repeated_until_it_is_accepted_and_delays_no_other() {
    let clock = standing_clock();
    let service = TestService::start_as(clock.clone(), |config| config.webhook_timeout = NEVER).await;
    let another = service.another_tenant().await;
    let receivers = join_all((0..RECEIVERS).map(WildReceiver::start)).await;
    let mut endpoints = Vec::new();
    // No tenant may have so many.
    for (number, receiver) in receivers.iter().enumerate() {
        let client = if number.is_multiple_of(2) { &service.client } else { &another };
        endpoints.push(Endpoint::register(client, &receiver.peer.url()).await);
    }
    let now = clock.now();
    let deliveries = join_all(endpoints.iter().map(|endpoint| endpoint.test())).await;
    // The slow receivers respond only now: a first attempt that waited for theirs would not come.
    service.client.look_until("/healthz", |_| receivers.iter().all(WildReceiver::has_begun)).await;
    receivers.iter().for_each(WildReceiver::respond);

    let mut wrong = Vec::new();
    let of_all = || receivers.iter().zip(&endpoints).zip(&deliveries).enumerate();
    for (seed, ((receiver, endpoint), delivery)) in of_all() {
        let shown = endpoint.after(delivery, 1).await;
        wrong.extend(fault_in_first(receiver, &shown, now).map(|words| format!("seed {seed}: {words}: {shown}")));
        wrong.extend(unsigned(receiver, endpoint, now).map(|words| format!("seed {seed}: {words}")));
    }

    clock.advance(LONGEST);
    for (seed, ((receiver, endpoint), delivery)) in of_all().filter(|(_, ((receiver, _), _))| !receiver.first.succeeds)
    {
        let shown = endpoint.after(delivery, 2).await;
        if shown["state"] != "succeeded" {
            wrong.push(format!("seed {seed}: the second attempt fails: {shown}"));
        }
        wrong.extend(unsigned(receiver, endpoint, clock.now()).map(|words| format!("seed {seed}: {words}")));
    }

    clock.advance(LONGEST);
    let fence = Peer::answering("200 OK").await;
    let other = Endpoint::register(&service.client, &fence.url()).await;
    for _ in 0..3 {
        assert_eq!(other.try_once().await["state"], "succeeded");
    }
    for (seed, ((receiver, _), _)) in of_all() {
        let (sent, expected) = (receiver.peer.connections(), if receiver.first.succeeds { 1 } else { 2 });
        if sent != expected {
            wrong.push(format!("seed {seed}: it is sent {sent} times, not {expected}"));
        }
    }
    let treatments =
        receivers.iter().enumerate().map(|(seed, receiver)| format!("{seed} {}", receiver.first.describe()));
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), treatments.collect::<Vec<_>>().join("\n"));
}

/// Returns what is wrong with a delivery after its first attempt at `now`.
fn fault_in_first(receiver: &WildReceiver, shown: &Value, now: Timestamp) -> Option<String> {
    let first = &receiver.first;
    let state = if first.succeeds { "succeeded" } else { "pending" };
    if shown["state"] != state || shown["attempt_log"][0]["status"] != json!(first.status) {
        return Some(format!("it is not {state} with {:?}", first.status));
    }
    if first.succeeds {
        return None;
    }
    let next = Timestamp::parse(&text(&shown["next_attempt_at"])).expect("a time").since(now).as_secs();
    let (least, most) = DELAY;
    let expected = least.max(first.postpones)..=most.max(first.postpones);
    (!expected.contains(&next)).then(|| format!("it is attempted again after {next} s, not {expected:?}"))
}

/// Returns a description of a request that is not signed at `now` with the endpoint's secret.
fn unsigned(receiver: &WildReceiver, endpoint: &Endpoint<'_>, now: Timestamp) -> Option<String> {
    let secret = SigningSecret::parse(&endpoint.secret).expect("a secret");
    let verdict =
        |request: &Request| verify(request.header("x-voice-signature"), &request.body, &secret, now, DEFAULT_TOLERANCE);
    let fault = receiver.take().iter().find_map(|request| verdict(request).err());
    fault.map(|fault| format!("a signature does not hold: {fault}"))
}
