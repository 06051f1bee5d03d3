//! Calls over the simulated phone network, placed through the API and reported by webhooks.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::process::{Node, json_of};
use crate::harness::{Client, TestService, deliveries_of, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_spoken_call_books_a_table_and_every_event_is_delivered_in_order() {
    let (service, agent) = TestService::ready().await;
    let mut receiver = service.client.receiver().await;
    let call = service.client.place(&agent, "+12025550100").await;
    let ended = service.client.wait_for_end(&call).await;

    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("agent_hangup"), &json!("agent")));
    assert!(ended["turns"].as_i64().expect("a number") >= 4, "{ended}");
    assert!(ended["duration_seconds"].as_i64().expect("a number") >= 10, "{ended}");
    let outcome = &ended["outcome"];
    assert!(text(&outcome["name"]).contains("Miller"), "{outcome}");
    assert!(text(&outcome["day"]).to_lowercase().contains("friday"), "{outcome}");
    assert_eq!(outcome["people"], 4, "{outcome}");

    let received = deliveries_of(&mut receiver, &call).await;
    let names: Vec<_> = received.iter().map(|delivery| delivery.event.as_str()).collect();
    assert_eq!(names, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    assert!(received.iter().all(|delivery| delivery.verified), "every signature is right");
    let sequences: Vec<_> = received.iter().map(|delivery| delivery.body["data"]["sequence"].as_i64()).collect();
    assert_eq!(sequences, (1..=5).map(Some).collect::<Vec<_>>());
    let completed = &received[4].body["data"];
    assert_eq!(completed["summary"], ended["summary"]);
    assert_eq!((&completed["turns"], &completed["duration_seconds"]), (&ended["turns"], &ended["duration_seconds"]));
    assert_eq!(completed["error"], json!(null));

    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let said = transcript["data"].as_array().expect("a list");
    assert!(said.iter().any(|line| line["role"] == "caller" && text(&line["text"]).contains("Sarah Miller")));
    let answer = said.iter().find(|line| line["role"] == "agent" && line["latency_ms"].is_i64()).expect("an answer");
    let stage = |name: &str| answer["stages"][name].as_i64().expect("a time");
    assert_eq!(answer["latency_ms"], stage("heard_ms") - stage("end_of_speech_ms"), "{answer}");
    let order = ["end_of_speech_ms", "end_of_turn_ms", "first_audio_ms", "heard_ms"].map(stage);
    assert!(order.is_sorted() && stage("first_token_ms") <= order[2], "{answer}");
    assert!(said.iter().all(|line| line["stages"].is_null() == line["latency_ms"].is_null()), "{transcript}");
    assert_eq!(transcript["tool_calls"], json!([]));
    assert_eq!(ended["usage"]["costs"]["carrier_usd"], json!(null), "{ended}");
    let (_, statistics) = service.client.get("/v1/statistics").await;
    let measured = &statistics["totals"]["response_ms"];
    assert_eq!(measured["n"], ended["latency"]["response_ms"]["n"], "{statistics}");
    assert!(measured["p95"].as_i64() >= measured["p50"].as_i64() && measured["p50"].is_i64(), "{statistics}");
    explains_its_turns(&service, &call, &transcript).await;
    service.stop().await;
}

/// Checks that every response in the transcript follows a turn that ended for a stated reason, which other tenants cannot read.
async fn explains_its_turns(service: &TestService, call: &str, transcript: &Value) {
    let path = format!("/v1/calls/{call}/decisions");
    let (status, explained) = service.client.get(&path).await;
    assert_eq!(status, StatusCode::OK, "{explained}");
    let decisions = explained["data"].as_array().expect("a list");
    assert!(decisions.is_sorted_by_key(|decision| decision["at_ms"].as_i64()), "{explained}");
    let ends: Vec<_> = decisions.iter().filter(|decision| decision["kind"] == "turn_ended").collect();
    let lines = transcript["data"].as_array().expect("a list");
    let responses = lines.iter().filter(|line| line["latency_ms"].is_i64()).count();
    assert!(responses > 0 && ends.len() >= responses, "{explained}");
    for end in ends {
        assert!(end["silence_ms"].as_i64() >= end["silence_needed_ms"].as_i64(), "{end}");
        assert!(end["probability"].as_f64().is_some_and(|it| (0.0..=1.0).contains(&it)), "{end}");
        let evidence = end["evidence"].as_array().expect("a list");
        assert!(evidence.iter().all(|one| one["name"].is_string() && one["weight"].is_f64()), "{end}");
    }
    let stranger = service.another_tenant().await;
    assert_eq!(stranger.get(&path).await.0, StatusCode::NOT_FOUND);
}

/// A number that answers and talks, and one that answers and stays silent.
const TALKS: &str = "+12025550100";
const SAYS_NOTHING: &str = "+12025550109";

#[tokio::test(flavor = "multi_thread")]
async fn an_echo_of_the_agent_is_not_taken_for_the_caller() {
    let service = TestService::start().await;
    let silence = json!({ "reprompt_after_seconds": 4, "max_reprompts": 1, "hangup_after_seconds": 8 });
    let agent = service.client.scripted_agent(json!({ "silence": silence })).await;
    let (_, connections) = service.client.get("/v1/connections").await;
    let simulator =
        connections["data"].as_array().and_then(|all| all.iter().find(|one| one["provider"] == "simulator"));
    let path = format!("/v1/connections/{}", text(&simulator.expect("a simulator")["id"]));
    let faults = json!({ "echo_loss_db": 20, "echo_delay_ms": 200 });
    let (status, patched) =
        service.client.patch(&path, json!({ "settings": { "time_scale": 0.05, "faults": faults } })).await;
    assert_eq!(status, StatusCode::OK, "{patched}");

    // On a busy machine, a caller who speaks may overlap with the agent; with a silent one the agent is alone with its echo.
    let [silent, talking] =
        [service.client.place(&agent, SAYS_NOTHING).await, service.client.place(&agent, TALKS).await];
    let ended = service.client.wait_for_end(&silent).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("silence"), &json!(0)), "{ended}");
    let (_, decided) = service.client.get(&format!("/v1/calls/{silent}/decisions")).await;
    // A node that stalls for a second may take noise for voice, but not for a caller who has the floor.
    let decisions = decided["data"].as_array().expect("a list");
    let floor = ["turn_ended", "interruption", "backchannel", "turn_reopened"];
    assert!(
        !decisions.iter().any(|one| floor.contains(&text(&one["kind"]).as_str())),
        "the caller is silent: {decided}"
    );
    let (_, transcript) = service.client.get(&format!("/v1/calls/{silent}/transcript")).await;
    let lines = transcript["data"].as_array().expect("a list");
    let spoken_out = |line: &Value| line["role"] == "agent" && line["interrupted"] == false;
    assert!(lines.len() > 1 && lines.iter().all(spoken_out), "{transcript}");

    let ended = service.client.wait_for_end(&talking).await;
    assert_eq!((&ended["status"], &ended["outcome"]["confirmed"]), (&json!("completed"), &json!(true)), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_number_ends_as_it_says() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let table = [
        ("+12025550101", "failed", "busy", true),
        ("+12025550102", "failed", "no_answer", true),
        ("+12025550103", "failed", "rejected", true),
        ("+12025550104", "failed", "invalid_number", true),
        ("+12025550106", "failed", "carrier_unauthorized", false),
        ("+12025550107", "failed", "carrier_error", false),
        ("+12025550108", "completed", "caller_hangup", true),
        ("+12025550111", "completed", "caller_hangup", true),
    ];
    let mut calls = Vec::new();
    for row in table {
        calls.push((client.place(&agent, row.0).await, row));
    }
    for (call, (number, status, reason, hangup)) in calls {
        let ended = client.wait_for_end(&call).await;
        let said = if status == "failed" { &ended["error_code"] } else { &ended["end_reason"] };
        assert_eq!((&ended["status"], said), (&json!(status), &json!(reason)), "{number}: {ended}");
        let events = client.event_names(&call).await;
        assert_eq!(events.iter().any(|event| event == "carrier.hangup"), hangup, "{number}: {events:?}");
        assert_eq!(
            events.last().map(String::as_str),
            Some(if status == "failed" { "call.failed" } else { "call.completed" })
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_audio_is_no_media_and_a_model_that_never_answers_a_timeout() {
    let service = TestService::start().await;
    let agent = service.client.scripted_agent(json!({})).await;
    let silent = service.client.place(&agent, "+12025550105").await;
    let stuck = service.client.place(&agent, "+12025550112").await;
    assert_eq!(service.client.wait_for_end(&silent).await["error_code"], "no_media");
    let ended = service.client.wait_for_end(&stuck).await;
    assert_eq!(ended["error_code"], "provider_timeout", "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_line_is_ended_through_the_api_and_again_without_harm() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = client.place(&agent, "+12025550109").await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;
    let (status, _) = client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert_eq!(status, StatusCode::OK);
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("api_hangup"), &json!("api")), "{ended}");
    assert!(!text(&ended["summary"]).is_empty(), "a call without words has a summary too");
    let (status, again) = client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert_eq!((status, &again["status"]), (StatusCode::OK, &json!("completed")));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_cancelled_before_its_schedule_is_not_dialled() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let in_a_day = switchhook_runtime::clock::Clock::system().now() + std::time::Duration::from_secs(86_400);
    let body = json!({ "agent_id": agent.id, "to": "+12025550100", "schedule_at": in_a_day });
    let placed = client.create("/v1/calls", body).await;
    assert_eq!((&placed["status"], &placed["schedule_at"]), (&json!("queued"), &json!(in_a_day)), "{placed}");
    let call = text(&placed["id"]);
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["duration_seconds"]), (&json!("canceled"), &json!(0)), "{ended}");
    assert_eq!(client.event_names(&call).await, ["call.queued", "call.completed"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_places_one_call_and_repeats_its_answer() {
    let (service, agent) = TestService::ready().await;
    let place = |key: &'static str, to: &'static str| {
        let request = service.client.request(Method::POST, "/v1/calls").header("Idempotency-Key", key);
        let body = json!({ "agent_id": agent.id, "to": to });
        async move {
            let response = request.json(&body).send().await.expect("an answer");
            let replayed = response.headers().contains_key("idempotent-replayed");
            (response.status(), replayed, response.text().await.expect("a body"))
        }
    };
    let racing = futures_util::future::join_all((0..20).map(|_| place("order-1", "+12025550111"))).await;
    assert!(racing.iter().all(|(status, _, body)| *status == StatusCode::CREATED && *body == racing[0].2));
    assert_eq!(racing.iter().filter(|(_, replayed, _)| !replayed).count(), 1, "one of them made the call");
    let (status, _, _) = place("order-1", "+12025550101").await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, _, _) = place("two words", "+12025550101").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let (_, calls) = service.client.get("/v1/calls").await;
    assert_eq!(calls["data"].as_array().map(Vec::len), Some(1));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_eleventh_call_at_once_is_refused_and_a_freed_slot_is_used_again() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let tries = (0..15).map(|_| client.post("/v1/calls", json!({ "agent_id": agent.id, "to": "+12025550109" })));
    let answers = futures_util::future::join_all(tries).await;
    let placed: Vec<_> = answers.iter().filter(|(status, _)| *status == StatusCode::CREATED).collect();
    assert_eq!(placed.len(), 10, "the quota is exact under a race");
    let refused =
        answers.iter().find(|(status, _)| *status == StatusCode::TOO_MANY_REQUESTS).expect("some are refused");
    assert!(text(&refused.1["detail"]).contains("10"), "{}", refused.1);
    for (_, call) in &placed {
        client.post(&format!("/v1/calls/{}/hangup", text(&call["id"])), json!({})).await;
    }
    for (_, call) in &placed {
        client.wait_for_end(&text(&call["id"])).await;
    }
    client.place(&agent, "+12025550111").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_calls_are_refused_with_the_field_to_blame() {
    let (service, agent) = TestService::ready().await;
    let unknown = "0198c6a0-0000-7000-8000-000000000000";
    let table = [
        (json!({ "to": "+12025550100" }), "agent_id"),
        (json!({ "agent_id": unknown, "to": "+12025550100" }), "agent_id"),
        (json!({ "agent_id": agent.id, "to": "2025550100" }), "to"),
        (json!({ "agent_id": agent.id, "to": 12 }), "to"),
        (json!({ "agent_id": agent.id, "to": "+12025550100", "from": "+12025550198" }), "from"),
        (json!({ "agent_id": agent.id, "to": "+12025550100", "number_id": unknown }), "number_id"),
        (json!({ "agent_id": agent.id, "to": "+12025550100", "ring_timeout_seconds": 1 }), "ring_timeout_seconds"),
        (json!({ "agent_id": agent.id, "to": "+12025550100", "variables": { "x": [] } }), "variables.x"),
        (json!({ "agent_id": agent.id, "to": "+12025550100", "schedule_at": "2099-01-01T00:00:00Z" }), "schedule_at"),
    ];
    for (body, field) in table {
        let (status, error) = service.client.post("/v1/calls", body.clone()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {error}");
        assert!(text(&error["detail"]).contains(field), "{body}: {error}");
    }
    let dry = json!({ "agent_id": agent.id, "to": "+12025550100", "dry_run": true, "colour": 1 });
    let (status, shown) = service.client.post("/v1/calls", dry).await;
    assert_eq!((status, shown["warnings"].as_array().map(Vec::len)), (StatusCode::OK, Some(1)), "{shown}");
    assert!(shown.get("id").is_none() && shown["to"] == "+12025550100", "there is no such call: {shown}");
    let (_, calls) = service.client.get("/v1/calls").await;
    assert_eq!(calls["data"], json!([]), "a dry run leaves nothing behind");
    for (dry_run, status) in [(false, StatusCode::CREATED), (true, StatusCode::CONFLICT)] {
        let body = json!({ "agent_id": agent.id, "to": "+12025550100", "dry_run": dry_run });
        let request = service.client.request(Method::POST, "/v1/calls").header("Idempotency-Key", "used").json(&body);
        assert_eq!(request.send().await.expect("an answer").status(), status, "dry run: {dry_run}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_called_is_answered_by_its_agent() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (_, numbers) = client.get("/v1/numbers").await;
    let number = text(&numbers["data"][0]["id"]);
    let ring = json!({ "to": "+12025550199", "from": "+12025550100" });
    let (status, refused) = client.post("/v1/simulator/inbound", ring.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "no agent would answer: {refused}");
    let patch =
        client.request(Method::PATCH, &format!("/v1/numbers/{number}")).json(&json!({ "inbound_agent_id": agent.id }));
    assert_eq!(patch.send().await.expect("an answer").status(), StatusCode::OK);

    let call = text(&client.create("/v1/simulator/inbound", ring).await["id"]);
    let ended = client.hang_up_after(&call, 2).await;
    let expected = (&json!("inbound"), &json!("+12025550100"), &json!("+12025550199"));
    assert_eq!((&ended["direction"], &ended["from"], &ended["to"]), expected, "{ended}");
    let events = client.event_names(&call).await;
    assert_eq!(events, ["call.received", "call.in_progress", "carrier.hangup", "call.completed"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_arrives_for_an_agent_that_cannot_speak_ends_and_says_why() {
    let (service, _) = TestService::ready().await;
    let client = &service.client;
    // Local speech, whose models are not installed here.
    let agent = client.create("/v1/agents", json!({ "name": "Mute", "instructions": "Talk." })).await;
    let (_, numbers) = client.get("/v1/numbers").await;
    let number = format!("/v1/numbers/{}", text(&numbers["data"][0]["id"]));
    let patch = client.request(Method::PATCH, &number).json(&json!({ "inbound_agent_id": agent["id"] }));
    assert_eq!(patch.send().await.expect("an answer").status(), StatusCode::OK);
    let ring = json!({ "to": "+12025550199", "from": "+12025550100" });
    let call = text(&client.create("/v1/simulator/inbound", ring).await["id"]);
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("config_error")), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voicemail_is_hung_up_on_or_hears_the_message_after_its_beep() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let place = async |machine: serde_json::Value| {
        let body = json!({ "agent_id": agent.id, "to": "+12025550110", "answering_machine": machine });
        text(&client.create("/v1/calls", body).await["id"])
    };
    let refused = place(json!({ "mode": "detect" })).await;
    let message = "This is Harbor Table. Please call us back about your table.";
    let told = place(json!({ "mode": "detect", "on_machine": "leave_message", "message": message })).await;
    for (call, heard) in [(&refused, false), (&told, true)] {
        let ended = client.wait_for_end(call).await;
        assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("voicemail")), "{ended}");
        assert_eq!(ended["answered_by"], "voicemail", "{ended}");
        let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
        let lines = transcript["data"].as_array().expect("a list");
        assert_eq!(lines.iter().any(|line| line["role"] == "agent" && line["text"] == message), heard, "{transcript}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_line_changes_neither_the_facts_nor_the_events() {
    let service = TestService::start().await;
    let agent = service.client.scripted_agent(json!({})).await;
    let client = &service.client;
    let (_, connections) = client.get("/v1/connections").await;
    let simulator =
        connections["data"].as_array().and_then(|all| all.iter().find(|one| one["provider"] == "simulator"));
    let id = text(&simulator.expect("it was made")["id"]);
    let faults = json!({
        "duplicate_callbacks": 1, "reordered_callbacks": 0.3, "late_callbacks": 0.3, "drop_audio": 0.02, "jitter_ms": 40, "seed": 7,
    });
    let patch = json!({ "settings": { "time_scale": 0.05, "faults": faults } });
    let patched = client.request(Method::PATCH, &format!("/v1/connections/{id}")).json(&patch).send().await;
    assert_eq!(patched.expect("an answer").status(), StatusCode::OK);
    let call = client.place(&agent, "+12025550100").await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["outcome"]["day"], "Friday", "{ended}");
    let events = client.event_names(&call).await;
    assert_eq!(events.iter().filter(|name| name.starts_with("call.completed") || *name == "call.failed").count(), 1);
    assert_eq!(events.iter().filter(|name| *name == "carrier.hangup").count(), 1, "{events:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_in_the_wrong_order_do_not_cost_an_answered_call_its_audio() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (_, connections) = client.get("/v1/connections").await;
    let simulator =
        connections["data"].as_array().and_then(|all| all.iter().find(|one| one["provider"] == "simulator"));
    let id = text(&simulator.expect("it was made")["id"]);
    let patch = json!({ "settings": { "time_scale": 0.05, "faults": { "reordered_callbacks": true } } });
    let patched = client.request(Method::PATCH, &format!("/v1/connections/{id}")).json(&patch).send().await;
    assert_eq!(patched.expect("an answer").status(), StatusCode::OK);
    let call = client.place(&agent, "+12025550108").await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("caller_hangup")), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_calls_is_filtered_by_one_value_or_several() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    for (to, metadata) in [("+12025550101", json!({ "n": 5 })), ("+12025550104", json!({ "n": true, "s": "a,b" }))] {
        let placed = json!({ "agent_id": agent.id, "to": to, "metadata": metadata });
        let call = text(&client.create("/v1/calls", placed).await["id"]);
        client.wait_for_end(&call).await;
    }
    let table = [
        ("status=failed,completed", 2),
        ("direction=inbound,outbound", 2),
        ("direction=inbound", 0),
        ("to=%2B12025550101,%2B12025550104", 2),
        ("to=%2B12025550104", 1),
        ("error_code=busy", 1),
        ("metadata[n]=5", 1),
        ("metadata[n]=true", 1),
        ("metadata[s]=a,b", 1),
        ("metadata[n]=6", 0),
    ];
    for (query, count) in table {
        let (status, page) = client.get(&format!("/v1/calls?{query}")).await;
        assert_eq!((status, page["data"].as_array().map(Vec::len)), (StatusCode::OK, Some(count)), "{query}: {page}");
    }
    let (_, page) = client.get(&format!("/v1/calls?agent_id={},{}", agent.id, agent.id)).await;
    assert_eq!(page["data"].as_array().map(Vec::len), Some(2));
    for query in ["status=ringing", "agent_id=x", "to=x%00", "metadata[n]=%00", "limit=0"] {
        let (status, error) = client.get(&format!("/v1/calls?{query}")).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{query}: {error}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_no_more_calls_at_once_than_it_may() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (_, connections) = client.get("/v1/connections").await;
    let simulator =
        connections["data"].as_array().and_then(|all| all.iter().find(|one| one["provider"] == "simulator"));
    let id = text(&simulator.expect("it was made")["id"]);
    let patch = client
        .request(Method::PATCH, &format!("/v1/connections/{id}"))
        .json(&json!({ "limits": { "max_concurrent": 1 } }));
    assert_eq!(patch.send().await.expect("an answer").status(), StatusCode::OK);
    let calls = [client.place(&agent, "+12025550109").await, client.place(&agent, "+12025550109").await];
    client.wait_for(&calls[0], |call| call["status"] == "in_progress").await;
    assert_eq!(client.get(&format!("/v1/calls/{}", calls[1])).await.1["status"], "queued");
    client.post(&format!("/v1/calls/{}/hangup", calls[0]), json!({})).await;
    let second = client.wait_for(&calls[1], |call| call["status"] == "in_progress").await;
    let first = client.wait_for_end(&calls[0]).await;
    assert!(text(&first["ended_at"]) <= text(&second["dialing_at"]), "{first} {second}");
    service.stop().await;
}

#[tokio::test]
async fn inbound_call_without_installed_speech_ends_as_config_error() {
    let (service, _) = TestService::ready().await;
    let client = &service.client;
    // The local speech of this agent is not installed, which is detected while the phone rings.
    let agent = client.create("/v1/agents", json!({ "name": "Mute", "instructions": "Talk." })).await;
    let (_, numbers) = client.get("/v1/numbers").await;
    let number = &numbers["data"][0];
    let changed = client.request(Method::PATCH, &format!("/v1/numbers/{}", text(&number["id"])));
    let changed = changed.json(&json!({ "inbound_agent_id": agent["id"] })).send().await.expect("an answer");
    assert_eq!(changed.status(), 200);
    for _ in 0..4 {
        let arriving = json!({ "to": number["number"], "from": "+12025550109" });
        let call = client.create("/v1/simulator/inbound", arriving).await;
        let ended = client.wait_for_end(&text(&call["id"])).await;
        assert_eq!(ended["error_code"], "config_error", "{ended}");
    }
    service.stop().await;
}

/// A number that answers, with a language model that never responds.
const MODEL_IS_SILENT: &str = "+12025550112";

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_analysis_says_so_and_each_line_about_a_call_carries_its_id() {
    switchhook_net::install_tls();
    let node = Node::new().await.with("SWITCHHOOK_LOG_FORMAT", "json");
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "100000", "--json"]));
    let service = node.serve();
    let client = Client::new(service.base.clone(), text(&tenant["api_key"]["key"]));
    let agent = client.scripted_agent(json!({})).await;
    let calls = [client.place(&agent, MODEL_IS_SILENT).await, client.place(&agent, TALKS).await];
    let (silent, talked) = tokio::join!(client.wait_for_end(&calls[0]), client.hang_up_after(&calls[1], 2));
    assert_eq!(silent["error_code"], "provider_timeout", "{silent}");
    let words = "The language model could not analyse the conversation (provider_timeout).";
    assert_eq!(silent["analysis"], json!({ "status": "failed", "error": words }));
    assert_eq!(talked["analysis"], json!({ "status": "completed", "error": null }), "{talked}");
    // The log is written in the background, and completely at the end.
    service.signal("TERM");
    service.ended().await;

    let log = node.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let about_calls = |line: &Value| {
        let target = line["target"].as_str().unwrap_or_default().to_owned();
        ["switchhook::calls::runner", "switchhook::talk"].iter().any(|part| target.starts_with(part))
    };
    let lines: Vec<Value> = lines.filter(about_calls).collect();
    assert!(lines.iter().any(|line| line["fields"]["message"] == "post-call analysis failed"), "{log}");
    for line in lines {
        let spans = line["spans"].to_string();
        assert!(calls.iter().any(|call| spans.contains(call.as_str())), "of which call is this? {line}");
    }
}
