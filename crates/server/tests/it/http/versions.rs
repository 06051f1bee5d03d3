//! `/v1/agents/{id}/versions`.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{TestService, text};

fn numbers(page: &Value) -> Vec<i64> {
    page["data"].as_array().expect("a list").iter().filter_map(|version| version["version"].as_i64()).collect()
}

#[tokio::test]
async fn an_agent_is_seen_as_it_was_and_goes_back_to_it() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.create("/v1/agents", json!({ "name": "Ava", "instructions": "Book a table." })).await;
    let path = format!("/v1/agents/{}", text(&agent["id"]));
    let changes = json!({ "greeting": { "text": "Hi!" }, "limits": { "max_duration_seconds": 100 } });
    assert_eq!(client.patch(&path, changes).await.0, StatusCode::OK);
    client.patch(&path, json!({ "name": "Eve" })).await;

    let (_, page) = client.get(&format!("{path}/versions")).await;
    assert_eq!(numbers(&page), [3, 2, 1], "{page}");
    let shown = |at: usize| (page["data"][at]["name"].clone(), page["data"][at]["changed"].clone());
    assert_eq!(shown(0), (json!("Eve"), json!(["name"])));
    assert_eq!(shown(1), (json!("Ava"), json!(["greeting.text", "limits.max_duration_seconds"])));
    assert_eq!(shown(2), (json!("Ava"), json!([])));

    let (_, first) = client.get(&format!("{path}/versions?limit=2")).await;
    assert_eq!((numbers(&first), &first["has_more"]), (vec![3, 2], &json!(true)));
    assert_eq!(
        first["data"][1]["changed"],
        json!(["greeting.text", "limits.max_duration_seconds"]),
        "compared beyond the page"
    );
    let (_, rest) = client.get(&format!("{path}/versions?limit=2&cursor={}", text(&first["next_cursor"]))).await;
    assert_eq!((numbers(&rest), &rest["has_more"], &rest["next_cursor"]), (vec![1], &json!(false), &Value::Null));

    let (_, then) = client.get(&format!("{path}/versions/1")).await;
    assert_eq!((&then["name"], &then["version"], &then["greeting"]), (&json!("Ava"), &json!(1), &agent["greeting"]));
    assert_eq!((&then["created_at"], &then["updated_at"]), (&agent["created_at"], &agent["updated_at"]));

    let (status, restored) = client.post(&format!("{path}/versions/2/restore"), json!({})).await;
    assert_eq!((status, &restored["version"], &restored["name"]), (StatusCode::OK, &json!(4), &json!("Ava")));
    assert_eq!(restored["greeting"]["text"], "Hi!");
    let (_, again) = client.post(&format!("{path}/versions/2/restore"), json!({})).await;
    assert_eq!(again["version"], 4, "it is that already");
    let (_, page) = client.get(&format!("{path}/versions?limit=1")).await;
    assert_eq!(page["data"][0]["changed"], json!(["name"]));
    service.stop().await;
}

#[tokio::test]
async fn a_version_that_no_longer_fits_is_refused_and_says_why() {
    let service = TestService::start().await;
    let client = &service.client;
    let voice = client.create("/v1/connections", json!({ "name": "voice", "provider": "scripted" })).await;
    let first = json!({ "name": "Ava", "instructions": "Hi.", "tts": { "connection_id": voice["id"] } });
    let agent = client.create("/v1/agents", first).await;
    let path = format!("/v1/agents/{}", text(&agent["id"]));
    client.patch(&path, json!({ "name": "Eve", "tts": null })).await;

    client.create("/v1/agents", json!({ "name": "Ava", "instructions": "Another one." })).await;
    let (status, taken) = client.post(&format!("{path}/versions/1/restore"), json!({})).await;
    assert_eq!((status, &taken["code"]), (StatusCode::CONFLICT, &json!("name_taken")), "{taken}");

    let gone = client.request(reqwest::Method::DELETE, &format!("/v1/connections/{}", text(&voice["id"])));
    assert_eq!(gone.send().await.expect("an answer").status(), StatusCode::NO_CONTENT);
    let (status, refused) = client.post(&format!("{path}/versions/1/restore"), json!({})).await;
    assert_eq!(
        (status, &refused["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("tts.connection_id"))
    );
    let (_, now) = client.get(&path).await;
    assert_eq!((&now["version"], &now["name"]), (&json!(2), &json!("Eve")), "nothing has changed");
    service.stop().await;
}

#[tokio::test]
async fn no_version_is_anybody_elses() {
    let service = TestService::start().await;
    let stranger = service.another_tenant().await;
    let agent = service.client.create("/v1/agents", json!({ "name": "Ava", "instructions": "Hi." })).await;
    let path = format!("/v1/agents/{}/versions", text(&agent["id"]));
    for path in [path.clone(), format!("{path}/1")] {
        assert_eq!(stranger.get(&path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(stranger.post(&format!("{path}/1/restore"), json!({})).await.0, StatusCode::NOT_FOUND);
    for missing in ["2", "0", "-1", "one", "99999999999999999999"] {
        assert_eq!(service.client.get(&format!("{path}/{missing}")).await.0, StatusCode::NOT_FOUND, "{missing}");
    }
    for wrong in ["limit=0", "limit=101", "cursor=1"] {
        assert_eq!(service.client.get(&format!("{path}?{wrong}")).await.0, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
    service.stop().await;
}
