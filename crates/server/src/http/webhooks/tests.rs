//! The resource through the router.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body as HttpBody, to_bytes};
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::http::{HeaderMap, Method, Request};
use switchhook_carriers::address::Addresses;
use switchhook_core::id::TenantId;
use switchhook_runtime::clock::Clock;
use tower::ServiceExt as _;

use super::*;
use crate::config::Config;
use crate::http::router;
use crate::store::deliveries::outcome::{Finished, Outcome, Record, Then};
use crate::store::deliveries::queue::claim_due_for_worker;
use crate::store::group_commit::Batcher;
use crate::store::lease_time::LeaseTime;
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, now, stores, tenant};
use crate::store::{Store, api_keys};
use crate::wakeups::Wakeups;

struct Api {
    router: Router,
    key: String,
}

impl Api {
    async fn new(test: &TestStore, tenant: TenantId) -> Self {
        let config = Arc::new(Config::for_tests(test.folder.path()));
        let vault = config.open_vault().expect("a key file");
        let mut tx = test.store.begin().await.expect("a transaction");
        let issued = api_keys::issue(&mut tx, tenant, config.env, None, None, now()).await.expect("a key");
        tx.commit().await.expect("committed");
        let addresses = Addresses::new("http://service.test".to_owned(), &vault);
        let state =
            HttpState::new(test.store.clone(), Clock::manual(now()), config, vault, Wakeups::default(), addresses);
        Self { router: router(state), key: issued.key.reveal().to_owned() }
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> (StatusCode, HeaderMap, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(AUTHORIZATION, format!("Bearer {}", self.key))
            .body(if body.is_null() { HttpBody::empty() } else { HttpBody::from(body.to_string()) })
            .expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router never fails");
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        (status, headers, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, HeaderMap, Value) {
        self.send(Method::POST, path, body).await
    }

    async fn get(&self, path: &str) -> Value {
        let (status, _, shown) = self.send(Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {shown}");
        shown
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

#[tokio::test]
async fn an_endpoint_is_registered_changed_and_deleted_and_its_secret_shown_once() {
    for test in stores().await {
        let api = Api::new(&test, tenant(&test.store, OwnLimits::default()).await).await;
        let stranger = Api::new(&test, tenant(&test.store, OwnLimits::default()).await).await;
        let asked = json!({ "url": "https://8.8.8.8/hook", "events": ["call.failed", "call.failed"], "extra": 1 });
        let (status, headers, made) = api.post("/v1/webhooks", asked).await;
        assert_eq!(status, 201, "{made}");
        assert_eq!((&made["events"], &made["enabled"]), (&json!(["call.failed"]), &json!(true)));
        assert_eq!(made["warnings"], json!(["Unknown field extra was ignored."]));
        assert!(SigningSecret::parse(text(&made["secret"])).is_ok(), "{made}");
        let path = format!("/v1/webhooks/{}", text(&made["id"]));
        assert_eq!(headers[LOCATION], path);

        let shown = api.get(&path).await;
        assert!(shown.get("secret").is_none() && api.get("/v1/webhooks").await["data"] == json!([shown]), "{shown}");
        for (method, sub) in
            [(Method::GET, ""), (Method::PATCH, ""), (Method::DELETE, ""), (Method::GET, "/deliveries")]
        {
            let (status, ..) = stranger.send(method, &format!("{path}{sub}"), Value::Null).await;
            assert_eq!(status, 404, "another tenant");
        }
        for sub in ["rotate-secret", "test"] {
            assert_eq!(stranger.post(&format!("{path}/{sub}"), Value::Null).await.0, 404, "another tenant");
        }

        let (status, _, changed) =
            api.send(Method::PATCH, &path, json!({ "events": null, "url": "https://8.8.4.4/" })).await;
        assert_eq!(
            (status, &changed["url"], &changed["events"]),
            (StatusCode::OK, &json!("https://8.8.4.4/"), &json!([]))
        );
        let (status, _, rotated) = api.post(&format!("{path}/rotate-secret"), Value::Null).await;
        assert_eq!(status, 200, "{rotated}");
        assert_ne!(rotated["secret"], made["secret"]);

        assert_eq!(api.send(Method::DELETE, &path, Value::Null).await.0, 204);
        assert_eq!(api.send(Method::DELETE, &path, Value::Null).await.0, 404);
    }
}

#[tokio::test]
async fn what_cannot_be_delivered_to_is_refused_by_field() {
    for test in stores().await {
        let api = Api::new(&test, tenant(&test.store, OwnLimits::default()).await).await;
        let mut bodies = vec![json!({}), json!({ "url": 1 }), json!({ "url": "https://8.8.8.8/", "events": "all" })];
        bodies.push(json!({ "url": "https://8.8.8.8/", "events": ["call.failed", "call.ended"] }));
        for url in ["http://8.8.8.8/", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://localhost/", ""] {
            bodies.push(json!({ "url": url }));
        }
        for body in bodies {
            let (status, _, refused) = api.post("/v1/webhooks", body.clone()).await;
            assert_eq!(status, 422, "{body}");
            let path = text(&refused["errors"][0]["path"]);
            assert!(path == "url" || path.starts_with("events"), "{refused}");
        }
        let later = json!({ "url": "https://not-yet-there.invalid/hook" });
        assert_eq!(api.post("/v1/webhooks", later).await.0, 201, "a name may resolve later");
    }
}

async fn attempt_everything(store: &Store, then: Then) {
    let record = Batcher::new(Record(store.clone()));
    for batch in claim_due_for_worker(store, now(), LeaseTime::at(now(), Duration::ZERO), 0, &mut Vec::new())
        .await
        .expect("a claim")
    {
        for claimed in batch.attempts {
            let outcome = Outcome { status: Some(200), then, ..Outcome::default() };
            let finished = Finished { lease: claimed.lease, outcome, at: now() };
            assert!(record.submit((), finished).await.expect("recorded"));
        }
    }
}

#[tokio::test]
async fn a_test_delivery_is_listed_with_its_attempts_and_sent_again_as_a_new_one() {
    for test in stores().await {
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        let api = Api::new(&test, tenant).await;
        let (.., endpoint) = api.post("/v1/webhooks", json!({ "url": "https://8.8.8.8/" })).await;
        let path = format!("/v1/webhooks/{}", text(&endpoint["id"]));
        let (status, headers, made) = api.post(&format!("{path}/test"), Value::Null).await;
        assert_eq!(status, 201, "{made}");
        assert_eq!(
            (status, text(&made["event"]), text(&made["state"])),
            (StatusCode::CREATED, "webhook.test", "pending")
        );
        let delivery = format!("{path}/deliveries/{}", text(&made["id"]));
        assert_eq!(headers[LOCATION], delivery);

        let (status, _, same) = api.post(&format!("{delivery}/redeliver"), Value::Null).await;
        assert_eq!((status, &same["id"]), (StatusCode::OK, &made["id"]), "it still waits");
        attempt_everything(&test.store, Then::Succeeded).await;
        let shown = api.get(&delivery).await;
        assert_eq!((text(&shown["state"]), &shown["attempts"]), ("succeeded", &json!(1)));
        assert_eq!((&shown["attempt_log"][0]["number"], &shown["attempt_log"][0]["status"]), (&json!(1), &json!(200)));

        let (status, _, again) = api.post(&format!("{delivery}/redeliver"), Value::Null).await;
        assert_eq!(status, 201, "{again}");
        assert_ne!(again["id"], made["id"]);
        let body = async |delivery: &Value| {
            let mut conn = test.store.read().await.expect("a connection");
            let id = text(&delivery["id"]).parse().expect("an id");
            let bytes = stored_deliveries::body::get(&mut conn, tenant, id).await.expect("the frozen bytes");
            serde_json::from_slice::<Value>(&bytes).expect("JSON")
        };
        let (first, second) = (body(&made).await, body(&again).await);
        assert_eq!((&second["created"], &second["data"]), (&first["created"], &first["data"]));
        assert_eq!(second["id"], again["id"]);

        let pending = api.get(&format!("{path}/deliveries?state=pending,sending&event=webhook.test")).await;
        assert_eq!(pending["data"], json!([again]));
        let missing = "/v1/webhooks/0198c6a0-0000-7000-8000-000000000000";
        for (webhook, query, expected) in
            [(path.as_str(), "state=lost", 422), (path.as_str(), "call_id=x", 422), (missing, "call_id=x", 404)]
        {
            let (status, ..) = api.send(Method::GET, &format!("{webhook}/deliveries?{query}"), Value::Null).await;
            assert_eq!(status, expected, "{webhook} {query}");
        }

        api.send(Method::PATCH, &path, json!({ "enabled": false })).await;
        assert_eq!(api.get(&format!("{path}/deliveries?state=canceled")).await["data"][0]["id"], again["id"]);
        let (status, _, refused) = api.post(&format!("{path}/test"), Value::Null).await;
        assert_eq!((status, text(&refused["code"])), (StatusCode::CONFLICT, "webhook_disabled"));
    }
}

#[tokio::test]
async fn a_change_leaves_alone_what_happened_to_the_endpoint_meanwhile() {
    for test in stores().await {
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        let api = Api::new(&test, tenant).await;
        let (_, _, made) = api.post("/v1/webhooks", json!({ "url": "https://8.8.8.8/hook" })).await;
        let (id, path) = (text(&made["id"]), format!("/v1/webhooks/{}", text(&made["id"])));
        let id = WebhookId::from_uuid(id.parse().expect("an id"));
        let mut tx = test.store.begin().await.expect("a transaction");
        let mut row = webhooks::lock(&mut tx, tenant, id).await.expect("read").expect("it was made");
        row.enable(false);
        webhooks::update(&mut tx, &row).await.expect("written");
        let patch = json!({ "url": "https://8.8.4.4/hook" });
        let mut changing = std::pin::pin!(api.send(Method::PATCH, &path, patch));
        let waits = tokio::time::timeout(std::time::Duration::from_millis(300), &mut changing).await;
        assert!(waits.is_err(), "{}: it waits for the other change", test.engine);
        tx.commit().await.expect("committed");
        let (status, _, changed) = changing.await;
        assert_eq!((status.as_u16(), &changed["url"]), (200, &json!("https://8.8.4.4/hook")), "{changed}");
        assert_eq!(changed["enabled"], json!(false), "{}: it was only disabled just now", test.engine);
    }
}
