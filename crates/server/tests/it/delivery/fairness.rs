//! Dead receivers wait for themselves.

use switchhook::config::Config;
use switchhook::store::Store;
use switchhook::store::deliveries::{self, NewBody, NewDelivery};
use switchhook::store::webhooks::{self, WebhookRow};
use switchhook::webhooks::receiver::Receiver;
use switchhook_core::event::{DeliveryBody, EventData, WEBHOOK_TEST};
use switchhook_core::id::{DeliveryId, TenantId, WebhookId};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock;
use tokio::time::Instant;

use super::peer::Peer;
use super::*;
use crate::harness::TIMEOUT;

/// Endpoints that lead to a dead receiver.
const DEAD: usize = 300;
/// Deliveries that wait for each.
const WAITING: usize = 34;
/// Attempts at dead receivers that have begun when the healthy one is looked at: more than a quarter of what a node makes at once.
const BEGUN: usize = 600;
/// A healthy receiver is watched this often.
const ROUNDS: usize = 5;
/// A third of the 15 s that an attempt at a receiver that hangs lasts: who waits for one to end waits longer.
const FREE: Duration = Duration::from_secs(5);

/// Registers more endpoints than the API lets one tenant have.
async fn register(service: &TestService, tenant: TenantId, url: &str, now: Timestamp) -> Vec<WebhookId> {
    let vault = Config::for_tests(service.data_dir()).open_vault().expect("the service's key");
    let mut tx = service.store().begin().await.expect("a transaction");
    let mut ids = Vec::new();
    for _ in 0..DEAD {
        let (id, secret) = (WebhookId::new(now, clock::random()), SigningSecret::generate(clock::random()));
        let row = WebhookRow::new(id, tenant, url.to_owned(), &vault, &secret, now);
        webhooks::insert(&mut tx, &row).await.expect("registered");
        ids.push(id);
    }
    tx.commit().await.expect("committed");
    ids
}

/// Queues deliveries past the API, in one transaction.
async fn queue(store: &Store, tenant: TenantId, endpoints: &[WebhookId], each: usize, now: Timestamp) {
    let new = |webhook| {
        let id = DeliveryId::new(now, clock::random());
        let body = DeliveryBody { id, event: WEBHOOK_TEST, created: now, data: &EventData::of_test() };
        let body = NewBody::Own(body.to_bytes());
        NewDelivery { id, tenant, webhook, of: None, event: WEBHOOK_TEST, body, wanted: true, now }
    };
    let all: Vec<_> = endpoints.iter().flat_map(|webhook| (0..each).map(|_| new(*webhook))).collect();
    let mut tx = store.begin().await.expect("a transaction");
    deliveries::insert(&mut tx, &all).await.expect("queued");
    tx.commit().await.expect("committed");
}

/// What healthy deliveries live through beside ten thousand others.
struct Beside {
    longest_wait: Duration,
    /// Attempts made at the dead receiver while one waited, in the middle of several.
    others: usize,
}

async fn beside(dead: &Peer) -> Beside {
    let clock = standing_clock();
    let service = TestService::start_with(clock.clone()).await;
    let client = &service.client;
    let (_, tenant) = client.get("/v1/tenant").await;
    let tenant: TenantId = text(&tenant["id"]).parse().expect("an id");
    let mut receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a port");
    let healthy = Endpoint::register(client, &receiver.url()).await;
    // Older ones, so that nothing but fairness brings the healthy one forward.
    let endpoints = register(&service, tenant, &dead.url(), clock.now() - Duration::from_secs(1)).await;
    queue(service.store(), tenant, &endpoints, WAITING, clock.now()).await;

    service.client.look_until("/healthz", |_| dead.connections() >= BEGUN).await;

    let (mut longest_wait, mut others) = (Duration::ZERO, Vec::new());
    for _ in 0..ROUNDS {
        healthy.test().await;
        let (start, before) = (Instant::now(), dead.connections());
        tokio::time::timeout(TIMEOUT, receiver.next()).await.expect("a delivery");
        longest_wait = longest_wait.max(start.elapsed());
        others.push(dead.connections() - before);
    }
    others.sort();
    Beside { longest_wait, others: others[ROUNDS / 2] }
}

/// Hundreds of attempts are under way and stay so until their 15 s are over; the machine has nothing to do meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_delivery_does_not_wait_for_ten_thousand_at_receivers_that_hang() {
    let Beside { longest_wait, .. } = beside(&Peer::silent().await).await;
    assert!(longest_wait < FREE, "{longest_wait:?}");
}

/// Receivers that fail at once keep the machine busy, and how long that takes is the machine's affair: what counts is how
/// many others are served first. At three thousand a second a tenth of those that wait are a third of a second.
#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_delivery_does_not_queue_behind_ten_thousand_that_fail_at_once() {
    let Beside { others, .. } = beside(&Peer::answering("500 Broken").await).await;
    assert!(others < DEAD * WAITING / 10, "{others} attempts went before it");
}
