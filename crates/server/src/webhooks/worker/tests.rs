//! The worker with a real receiver on the loopback interface.

use std::net::{Ipv4Addr, SocketAddr};

use axum::http::StatusCode;
use switchhook_core::event::{DeliveryBody, EventData, WEBHOOK_TEST};
use switchhook_core::id::{DeliveryId, TenantId, WebhookId};
use switchhook_core::webhook::MAX_ATTEMPTS;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::store::deliveries::{self, DeliveryRow, NewBody, NewDelivery};
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, stores, tenant};
use crate::store::webhooks;
use crate::webhooks::receiver::{Received, Receiver};

/// Longer than anything here takes when it works.
const TIMEOUT: Duration = Duration::from_secs(20);

struct Fixture {
    test: TestStore,
    clock: Clock,
    wakeups: Wakeups,
    tenant: TenantId,
    webhook: WebhookId,
    secret: SigningSecret,
    receiver: Receiver,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

/// A running worker and an endpoint that leads to a receiver of our own.
async fn stage(test: TestStore, clock: Clock) -> Fixture {
    let receiver = Receiver::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a free port");
    let config = Config {
        webhook_allow: "127.0.0.0/8,http".parse().expect("a policy"),
        ..Config::for_tests(test.folder.path())
    };
    let vault = config.open_vault().expect("a key file");
    let (store, wakeups, stop) = (test.store.clone(), Wakeups::default(), CancellationToken::new());
    let tenant = tenant(&store, OwnLimits::default()).await;
    let webhook = WebhookId::new(clock.now(), clock::random());
    let secret = SigningSecret::generate(clock::random());
    let row = WebhookRow::new(webhook, tenant, receiver.url(), &vault, &secret, clock.now());
    let mut tx = store.begin().await.expect("a transaction");
    webhooks::insert(&mut tx, &row).await.expect("an endpoint");
    tx.commit().await.expect("committed");
    let worker = Worker::new(store, clock.clone(), Arc::new(config), vault, wakeups.clone(), Heartbeat::default())
        .expect("a worker");
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { Box::pin(worker.run(&stop)).await }
    });
    Fixture { test, clock, wakeups, tenant, webhook, secret, receiver, stop, running }
}

impl Fixture {
    async fn queue(&self) -> DeliveryId {
        let now = self.clock.now();
        let id = DeliveryId::new(now, clock::random());
        let body = DeliveryBody { id, event: WEBHOOK_TEST, created: now, data: &EventData::of_test() };
        let body = NewBody::Own(body.to_bytes());
        let (tenant, webhook) = (self.tenant, self.webhook);
        let new = NewDelivery { id, tenant, webhook, of: None, event: WEBHOOK_TEST, body, wanted: true, now };
        let mut tx = self.test.store.begin().await.expect("a transaction");
        deliveries::insert(&mut tx, &[new]).await.expect("queued");
        tx.commit().await.expect("committed");
        self.wakeups.webhooks.notify_one();
        id
    }

    async fn received(&mut self) -> Received {
        tokio::time::timeout(TIMEOUT, self.receiver.next()).await.expect("a delivery comes")
    }

    /// The delivery once its last attempt has an outcome.
    async fn settled(&self, id: DeliveryId) -> DeliveryRow {
        let looking = async {
            loop {
                let mut conn = self.test.store.read().await.expect("a connection");
                let row = deliveries::get(&mut conn, self.tenant, self.webhook, id).await.expect("a read");
                let row = row.expect("the delivery");
                if row.state != "sending" {
                    return row;
                }
                drop(conn);
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, looking).await.expect("an outcome is recorded")
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(TIMEOUT, self.running).await.expect("it stops").expect("without a panic");
    }
}

#[tokio::test]
async fn a_delivery_arrives_signed_in_both_forms_and_is_succeeded() {
    for test in stores().await {
        let mut stage = stage(test, Clock::system()).await;
        stage.receiver.set_secret(stage.secret.clone());
        let id = stage.queue().await;
        let received = stage.received().await;
        assert!(received.verified, "{:?}", received.refusal);
        assert_eq!((received.event.as_str(), received.id.as_str()), (WEBHOOK_TEST, id.to_string().as_str()));
        assert_eq!(received.body["id"], id.to_string());

        let header = |name: &str| received.headers[name].to_str().expect("text").to_owned();
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("user-agent"), concat!("Switchhook/", env!("CARGO_PKG_VERSION")));
        assert_eq!(header("webhook-id"), id.to_string());
        let at = Timestamp::from_millis(header("webhook-timestamp").parse::<i64>().expect("seconds") * 1_000);
        let mut conn = stage.test.store.read().await.expect("a connection");
        let body = deliveries::body::get(&mut conn, stage.tenant, id).await.expect("the frozen bytes");
        drop(conn);
        let standard = SigningSecret::standard_header(&[stage.secret.clone()], &id.to_string(), at, &body);
        assert_eq!(header("webhook-signature"), standard);

        let row = stage.settled(id).await;
        assert_eq!((row.state.as_str(), row.attempts), ("succeeded", 1), "{}", stage.test.engine);
        stage.end().await;
    }
}

#[tokio::test]
async fn a_failing_delivery_is_tried_eight_times_on_schedule_and_then_failed() {
    for test in stores().await {
        let clock = Clock::manual(crate::store::testing::now());
        let mut stage = stage(test, clock.clone()).await;
        stage.receiver.answer_with(StatusCode::INTERNAL_SERVER_ERROR);
        let id = stage.queue().await;
        let mut timestamps = Vec::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let received = stage.received().await;
            assert_eq!((received.attempt, received.id), (attempt, id.to_string()));
            timestamps.push(received.headers["webhook-timestamp"].clone());
            let row = stage.settled(id).await;
            assert_eq!(row.attempts, i64::from(attempt));
            if attempt == MAX_ATTEMPTS {
                assert_eq!((row.state.as_str(), row.next_attempt_at), ("failed", None));
                break;
            }
            assert_eq!(row.state, "pending");
            let next = row.next_attempt_at.expect("it is tried again");
            clock.advance(Timestamp::from_micros(next).since(clock.now()));
            stage.wakeups.webhooks.notify_one();
        }
        timestamps.dedup();
        assert_eq!(timestamps.len(), 8, "each attempt is signed anew");
        let mut conn = stage.test.store.read().await.expect("a connection");
        let log = deliveries::attempts(&mut conn, stage.tenant, id).await.expect("a read");
        assert!(log.iter().all(|attempt| attempt.status == Some(500) && attempt.error.is_some()));
        assert_eq!(log.len(), 8);
        let endpoint = webhooks::get(&mut conn, stage.tenant, stage.webhook).await.expect("a read").expect("it");
        assert_eq!(endpoint.failing_since, Some(log[0].started_at), "{}", stage.test.engine);
        drop(conn);
        stage.end().await;
    }
}

#[tokio::test]
async fn a_worker_that_is_stopped_still_sends_what_is_due_and_then_ends() {
    for test in stores().await {
        let mut stage = stage(test, Clock::system()).await;
        let slow = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let mut tx = stage.test.store.begin().await.expect("a transaction");
        let mut row = webhooks::get(&mut tx, stage.tenant, stage.webhook).await.expect("a read").expect("the endpoint");
        row.url = format!("http://{}/", slow.local_addr().expect("bound"));
        webhooks::update(&mut tx, &row).await.expect("changed");
        tx.commit().await.expect("committed");

        let first = stage.queue().await;
        let (mut under_way, _) = slow.accept().await.expect("a connection");
        stage.stop.cancel();
        let second = stage.queue().await;
        answer(&mut under_way).await;
        let (mut last, _) = slow.accept().await.expect("another connection");
        answer(&mut last).await;
        tokio::time::timeout(TIMEOUT, &mut stage.running).await.expect("it stops").expect("without a panic");
        let states = [stage.settled(first).await.state, stage.settled(second).await.state];
        assert_eq!(states, ["succeeded", "succeeded"], "{}", stage.test.engine);
    }
}

async fn answer(stream: &mut TcpStream) {
    assert!(stream.read(&mut [0; 4096]).await.expect("a request") > 0);
    stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await.expect("answered");
}
