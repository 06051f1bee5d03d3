//! Filters of lists, as generated clients send them.

use serde_json::{Value, json};

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
        assert_eq!(found["warnings"], Value::Null, "{query}");
    }
    for wrong in ["limit=5&limit=6", "created_after=2026-01-01T00:00:00Z&created_after=2026-01-02T00:00:00Z"] {
        assert_eq!(client.get(&format!("/v1/calls?{wrong}")).await.0, 422, "{wrong} is no list");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_misspelt_filter_is_named() {
    let service = TestService::start().await;
    for (path, ignored) in [
        ("/v1/calls?stat=failed&metadata[crm]=4&limit=2", "stat"),
        ("/v1/agents?name=Ava", "name"),
        ("/v1/statistics?agent=7", "agent"),
        ("/v1/usage?agent=7", "agent"),
    ] {
        let (status, found) = service.client.get(path).await;
        let warnings = json!([format!("Unknown query parameter {ignored} was ignored.")]);
        assert_eq!((status.as_u16(), &found["warnings"]), (200, &warnings), "{path}: {found}");
    }
    service.stop().await;
}
