//! Dead receivers delay only their own deliveries.

use switchhook::config::Config;
use switchhook::store::Store;
use switchhook::store::deliveries::{self, NewBody, NewDelivery};
use switchhook::store::webhooks::{self, WebhookRow};
use switchhook::webhooks::receiver::Receiver;
use switchhook_core::event::{DeliveryBody, EventData, WEBHOOK_TEST};
use switchhook_core::id::{DeliveryId, TenantId, WebhookId};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock;

use super::peer::Peer;
use super::*;
use crate::harness::TIMEOUT;

/// Endpoints that lead to a dead receiver.
const DEAD: usize = 300;
/// Deliveries waiting for each.
const WAITING: usize = 34;
/// Attempts at dead receivers that have begun when the healthy one is checked: more than a quarter of a node's concurrent attempts.
const BEGUN: usize = 600;
/// How often a healthy receiver is checked.
const ROUNDS: usize = 5;

/// Registers more endpoints than the API allows one tenant.
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

/// Queues deliveries directly in the database, in one transaction.
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

/// Waits for healthy deliveries beside ten thousand others. Returns how many attempts were made at the dead receiver while one of them
/// waited; the median. No attempt ends before the test by its timeout.
async fn beside(dead: &Peer) -> usize {
    let clock = standing_clock();
    let service = TestService::start_as(clock.clone(), |config| config.webhook_timeout = NEVER).await;
    let client = &service.client;
    let (_, tenant) = client.get("/v1/tenant").await;
    let tenant: TenantId = text(&tenant["id"]).parse().expect("an id");
    let mut receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a port");
    let healthy = Endpoint::register(client, &receiver.url()).await;
    // Older endpoints, so that only fairness brings the healthy one forward.
    let endpoints = register(&service, tenant, &dead.url(), clock.now() - Duration::from_secs(1)).await;
    queue(service.store(), tenant, &endpoints, WAITING, clock.now()).await;

    service.client.look_until("/healthz", |_| dead.connections() >= BEGUN).await;

    let mut others = Vec::new();
    for _ in 0..ROUNDS {
        healthy.test().await;
        let before = dead.connections();
        tokio::time::timeout(TIMEOUT, receiver.next()).await.expect("a delivery");
        others.push(dead.connections() - before);
    }
    others.sort();
    others[ROUNDS / 2]
}

/// Hundreds of attempts stay in progress: a delivery that waited for one of them would not arrive.
#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_delivery_does_not_wait_for_ten_thousand_at_receivers_that_hang() {
    beside(&Peer::silent().await).await;
}

/// Receivers that fail at once keep the machine busy, and how long that takes depends on the machine: what counts is how many others
/// are served first. At three thousand per second, a tenth of the waiting deliveries take a third of a second.
#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_delivery_does_not_queue_behind_ten_thousand_that_fail_at_once() {
    let others = beside(&Peer::answering("500 Broken").await).await;
    assert!(others < DEAD * WAITING / 10, "{others} attempts went before it");
}
