//! `GET /v1/calls/{id}/deliveries`.

use reqwest::StatusCode;
use serde_json::Value;

use crate::harness::{TestService, deliveries_of, text};

/// Is busy.
const BUSY: &str = "+12025550101";

#[tokio::test]
async fn the_deliveries_of_a_call_are_seen_in_one_place_with_every_attempt() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let mut receivers = [client.receiver().await, client.receiver().await];
    let call = client.place(&agent, BUSY).await;
    client.place(&agent, BUSY).await;
    for receiver in &mut receivers {
        deliveries_of(receiver, &call).await;
    }

    let path = format!("/v1/calls/{call}/deliveries");
    let done = |page: &Value| {
        let all = page["data"].as_array().expect("a list");
        all.len() == 8 && all.iter().all(|delivery| delivery["state"] == "succeeded")
    };
    let page = client.look_until(&path, done).await;
    let all = page["data"].as_array().expect("a list");
    assert!(all.iter().all(|delivery| delivery["call_id"] == call.as_str()), "{page}");
    for receiver in &receivers {
        assert_eq!(all.iter().filter(|delivery| delivery["url"] == receiver.url()).count(), 4, "{page}");
    }
    for delivery in all {
        assert_eq!(delivery["attempt_log"][0]["number"], 1, "{delivery}");
        let own = format!("/v1/webhooks/{}/deliveries/{}", text(&delivery["webhook_id"]), text(&delivery["id"]));
        let (_, mut own) = client.get(&own).await;
        (own["webhook_id"], own["url"]) = (delivery["webhook_id"].clone(), delivery["url"].clone());
        assert_eq!(own, *delivery, "as the endpoint shows it");
    }

    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let (_, page) = client.get(&format!("{path}?limit=2{cursor}")).await;
        seen.extend(page["data"].as_array().expect("a list").clone());
        if page["has_more"] == false {
            break;
        }
        cursor = format!("&cursor={}", text(&page["next_cursor"]));
    }
    assert_eq!(seen, *all, "page by page");

    assert_eq!(service.another_tenant().await.get(&path).await.0, StatusCode::NOT_FOUND);
    assert_eq!(client.get(&format!("{path}?limit=0")).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    service.stop().await;
}
