//! Filters of lists, as generated clients send them.

use serde_json::json;

use crate::harness::{TestService, text};

/// Is busy; answers and ends at once.
const BUSY: &str = "+12025550101";
const ENDS: &str = "+12025550111";

#[tokio::test]
async fn several_values_are_a_list_with_commas_or_a_repeated_parameter() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (busy, ended) = (client.place(&agent, BUSY).await, client.place(&agent, ENDS).await);
    client.wait_for_end(&busy).await;
    client.wait_for_end(&ended).await;
    for (query, expected) in [
        ("status=failed", vec![&busy]),
        ("status=completed,failed", vec![&ended, &busy]),
        ("status=completed%2Cfailed", vec![&ended, &busy]),
        ("status=completed&status=failed", vec![&ended, &busy]),
        ("status=queued&status=failed&limit=5", vec![&busy]),
    ] {
        let (status, found) = client.get(&format!("/v1/calls?{query}")).await;
        let ids: Vec<String> = found["data"].as_array().into_iter().flatten().map(|call| text(&call["id"])).collect();
        assert_eq!(ids.iter().collect::<Vec<_>>(), expected, "{query}: {status} {found}");
    }
    for wrong in ["limit=5&limit=6", "created_after=2026-01-01T00:00:00Z&created_after=2026-01-02T00:00:00Z"] {
        assert_eq!(client.get(&format!("/v1/calls?{wrong}")).await.0, 422, "{wrong} is no list");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_cursor_that_is_null_is_that_of_the_first_page_and_calls_in_browsers_are_found() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = client.place(&agent, ENDS).await;
    client.wait_for_end(&call).await;
    for query in ["cursor=null", "cursor=null&limit=1", "to=web,%2B12025550111", "from=web&from=%2B12025550199"] {
        let (status, page) = client.get(&format!("/v1/calls?{query}")).await;
        assert_eq!((status.as_u16(), &page["data"][0]["id"]), (200, &json!(call)), "{query}: {page}");
    }
    assert_eq!(client.get("/v1/calls?to=web").await.1["data"], json!([]), "no call in a browser");
    service.stop().await;
}

#[tokio::test]
async fn a_parameter_that_an_operation_does_not_take_is_refused_by_name() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    for (path, unknown) in [
        ("/v1/calls?stat=failed&metadata[crm]=4&limit=2", "stat"),
        ("/v1/calls?metadata=order", "metadata"),
        ("/v1/calls?call=7", "call"),
        ("/v1/agents?name=Ava", "name"),
        ("/v1/statistics?agent=7", "agent"),
        ("/v1/usage?agent=7", "agent"),
        ("/v1/tenant?x=1", "x"),
    ] {
        let (status, refused) = client.get(path).await;
        assert_eq!((status.as_u16(), &refused["errors"][0]["path"]), (422, &json!(unknown)), "{path}: {refused}");
    }
    for (query, detail) in [
        ("stauts=failed", "stauts: is not a query parameter here; did you mean status?"),
        ("metadata.order=7", "metadata.order: is not a query parameter here; did you mean metadata[order]?"),
        ("metadata[order]x=7", "metadata[order]x: is not a query parameter here; did you mean metadata[order]?"),
    ] {
        assert_eq!(client.get(&format!("/v1/calls?{query}")).await.1["detail"], detail);
    }
    let nothing = "/v1/calls/0198c6a0-0000-7000-8000-000000000000?x=1";
    assert_eq!(client.get(nothing).await.0, 404, "what is missing comes first");
    assert_eq!(client.get("/v1/nowhere?x=1").await.0, 404);

    // A dry run that is requested in the query must not place a call.
    let call = json!({ "agent_id": agent.id, "to": BUSY });
    let (status, refused) = client.post("/v1/calls?dry_run=true", call).await;
    assert_eq!((status.as_u16(), &refused["errors"][0]["path"]), (422, &json!("dry_run")), "{refused}");
    assert_eq!(client.get("/v1/calls").await.1["data"], json!([]));
    service.stop().await;
}

#[tokio::test]
async fn every_wrong_parameter_is_named_and_told_what_it_must_be() {
    let service = TestService::start().await;
    let client = &service.client;
    let time = "must be a date and time in RFC 3339 form, such as 2026-01-31T09:30:00Z";
    for (path, field, message) in [
        ("/v1/calls?limit=many", "limit", "must be a whole number"),
        ("/v1/calls?limit=0", "limit", "must be from 1 to 100"),
        ("/v1/calls?limit=1&limit=2", "limit", "must appear only once"),
        ("/v1/calls?cursor=x&cursor=y", "cursor", "must appear only once"),
        ("/v1/agents?cursor=nonsense", "cursor", "is not one that this API returned"),
        ("/v1/agents?cursor=", "cursor", "is not one that this API returned"),
        ("/v1/calls?agent_id=7", "agent_id", "must be a UUID"),
        ("/v1/statistics?agent_id=7", "agent_id", "must be a UUID"),
        ("/v1/calls?created_after=yesterday", "created_after", time),
        ("/v1/usage?before=1767225600", "before", time),
        ("/v1/usage?after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z", "after", "must be earlier than `before`"),
        ("/v1/statistics?interval=week", "interval", "must be one of: hour, day"),
        ("/v1/calls?to=%ff", "to", "must be UTF-8, percent-encoded"),
        ("/v1/calls?metadata[a]=%00", "metadata[a]", "must not contain the character U+0000"),
    ] {
        let (status, refused) = client.get(path).await;
        let expected = (422, json!([{ "path": field, "message": message }]));
        assert_eq!((status.as_u16(), refused["errors"].clone()), expected, "{path}");
        assert_eq!(refused["code"], "invalid_request", "{path}");
    }
    service.stop().await;
}
