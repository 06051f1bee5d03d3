//! Incoming calls, and queries of Telnyx about calls.

use serde_json::{Value, json};
use switchhook::config::Config;
use switchhook_carriers::address::Addresses;
use switchhook_carriers::callback::{InboundRoute, Webhooks};
use switchhook_carriers::registry::Drivers;
use switchhook_carriers::rest::Rest;
use switchhook_carriers::{Carrier, Connection, FoundLeg, LegRef};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::private::Private;
use switchhook_net::outbound::ClientSettings;

use super::control::transfers;
use super::{OURS, Rig, THEM, connection};
use crate::doubles::telnyx::{APPLICATION, Delivery, FarEnd, Script};
use crate::harness::{TestService, text};

/// Creates the adapter alone, as the service of the rig does.
fn adapter(rig: &Rig) -> (Carrier, Addresses) {
    let mut config = Config::for_tests(rig.service.data_dir());
    config.outbound_allow = "127.0.0.0/8,http".parse().expect("valid");
    let vault = config.open_vault().expect("the service has made its key file");
    let addresses = Addresses::new(rig.client().base.clone(), &vault);
    let described = connection(&rig.telnyx, json!({}));
    let credentials = serde_json::from_value(described["credentials"].clone()).expect("credentials");
    let connection = Connection {
        rest: &Rest::new(&ClientSettings::new(&config.network(), &config.outbound_allow).expect("settings"))
            .expect("a client"),
        settings: described["settings"].as_object().expect("settings"),
        credentials: &Private::new(credentials),
        addresses: &addresses,
    };
    (Drivers::new(&config.carriers()).connect("telnyx", &connection).expect("it is complete"), addresses)
}

fn webhooks(adapter: &Carrier) -> &dyn Webhooks {
    adapter.webhooks.as_deref().expect("Telnyx sends webhooks")
}

fn number(text: &str) -> PhoneNumber {
    text.parse().expect("a number")
}

/// Makes Telnyx send calls to our number to the service.
async fn set_up(rig: &Rig) {
    rig.telnyx.add_number(OURS, None);
    let (adapter, addresses) = adapter(rig);
    assert_eq!(webhooks(&adapter).inbound_route(&number(OURS)).await, Ok(InboundRoute::Unset));
    assert_eq!(webhooks(&adapter).inbound_route(&number(THEM)).await, Ok(InboundRoute::NotOnAccount));
    let to = addresses.for_connection("telnyx", rig.connection.parse().expect("an id"));
    webhooks(&adapter).set_inbound_route(&number(OURS), &to).await.expect("Telnyx does it");
    assert!(webhooks(&adapter).set_inbound_route(&number(THEM), &to).await.is_err());
    assert_eq!(webhooks(&adapter).inbound_route(&number(OURS)).await, Ok(InboundRoute::To(to.report("events"))));
    assert_eq!(rig.telnyx.application_url(), to.report("events"));
}

/// Waits for the only call. Returns its id.
async fn arrived(service: &TestService) -> String {
    let calls = service.client.look_until("/v1/calls", |calls| calls["data"] != json!([])).await;
    assert_eq!(calls["data"].as_array().map(Vec::len), Some(1), "{calls}");
    text(&calls["data"][0]["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_answered_once_and_understood() {
    let rig = Rig::start().await;
    set_up(&rig).await;
    rig.telnyx.deliver(Delivery { twice: true, swapped: false });
    rig.telnyx.call_in(THEM, OURS, FarEnd::Diner);
    let call = arrived(&rig.service).await;
    let ended = rig.client().hang_up_after(&call, 2).await;
    assert_eq!((&ended["direction"], &ended["from"], &ended["to"]), (&json!("inbound"), &json!(THEM), &json!(OURS)));
    let events = rig.client().event_names(&call).await;
    assert_eq!(events, ["call.received", "call.in_progress", "carrier.hangup", "call.completed"]);
    let answers = rig.telnyx.commands("answer");
    assert_eq!(answers.len(), 1);
    assert!(answers[0].as_object().is_some_and(|fields| fields.keys().all(|field| !field.starts_with("stream_"))));
    assert_eq!(rig.telnyx.commands("streaming_start").len(), 1);
    rig.telnyx.ended(THEM).await;
    assert_eq!(arrived(&rig.service).await, call, "what was told again made no other call");
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_heard_in_the_format_that_comes_back() {
    for (asked, codec, rate) in [("L16", "L16", 8_000), ("L16", "L16", 24_000), ("PCMU", "PCMA", 8_000)] {
        let rig = Rig::start_with(json!({ "codec": asked }), json!({}), |_| {}).await;
        set_up(&rig).await;
        rig.telnyx.stream_in(codec, rate);
        rig.telnyx.call_in(THEM, OURS, FarEnd::HangsUp);
        let call = arrived(&rig.service).await;
        let ended = rig.client().wait_for_end(&call).await;
        assert_eq!(ended["end_reason"], "caller_hangup", "{codec} {rate}: {ended}");
        assert!(rig.telnyx.seen(THEM).voiced >= 10, "{codec} {rate}: {:?}", rig.telnyx.seen(THEM));
        rig.service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_hangs_up_and_one_who_is_transferred_are_distinguished() {
    let rig = Rig::start().await;
    set_up(&rig).await;
    rig.telnyx.call_in(THEM, OURS, FarEnd::HangsUp);
    let call = arrived(&rig.service).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("caller_hangup"), &json!("caller")), "{ended}");

    let other = "+12025550124";
    rig.telnyx.call_in(other, OURS, FarEnd::Listener);
    let live = rig.client().look_until("/v1/calls?status=in_progress", |calls| calls["data"] != json!([])).await;
    let call = text(&live["data"][0]["id"]);
    let (busy, desk) = ("+12025550143", "+12025550142");
    rig.telnyx.script(busy, [Script::Unanswered { cause: "user_busy", sip: "486" }]);
    rig.client().post(&format!("/v1/calls/{call}/transfer"), json!({ "to": busy })).await;
    rig.says_sorry(&call).await;
    rig.client().post(&format!("/v1/calls/{call}/transfer"), json!({ "to": desk })).await;
    assert_eq!(rig.client().wait_for_end(&call).await["end_reason"], "transferred");
    let shown = [(json!(busy), Value::Null), (json!(desk), Value::Null)];
    assert_eq!(transfers(&rig), shown, "Telnyx shows the number that was called");
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_without_an_agent_or_a_free_line_are_declined() {
    let rig = Rig::start_with(json!({}), json!({}), |config| config.concurrent_calls = 1).await;
    set_up(&rig).await;
    let (first, second, third) = ("+12025550124", "+12025550125", "+12025550126");
    rig.telnyx.call_in(first, OURS, FarEnd::Listener);
    let call = arrived(&rig.service).await;
    rig.client().wait_for(&call, |call| call["status"] == "in_progress").await;
    rig.telnyx.call_in(second, OURS, FarEnd::Listener);
    rig.telnyx.ended(second).await;
    rig.telnyx.hang_up(first);
    rig.client().wait_for_end(&call).await;

    let (_, numbers) = rig.client().get("/v1/numbers").await;
    let path = format!("/v1/numbers/{}", text(&numbers["data"][0]["id"]));
    rig.client().patch(&path, json!({ "inbound_agent_id": null })).await;
    rig.telnyx.call_in(third, OURS, FarEnd::Listener);
    rig.telnyx.ended(third).await;
    let causes: Vec<Value> = rig.telnyx.commands("reject").iter().map(|body| body["cause"].clone()).collect();
    assert_eq!(causes, ["USER_BUSY", "CALL_REJECTED"]);
    assert_eq!(arrived(&rig.service).await, call, "who is declined is no call");
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn look_up_finds_live_and_ended_legs() {
    let rig = Rig::start().await;
    let (adapter, _) = adapter(&rig);
    let other = "+12025550124";
    for number in [other, THEM] {
        rig.telnyx.script(number, [Script::Answered(FarEnd::Listener)]);
    }
    let (_, call) = (rig.talk_to(other).await, rig.talk_to(THEM).await);
    let (_, shown) = rig.client().get(&format!("/v1/calls/{call}")).await;
    let id = text(&shown["carrier"]["call_id"]);
    let by_state = LegRef {
        call: call.parse().expect("an id"),
        carrier_call_id: None,
        from: Some(number(OURS)),
        to: Some(number(THEM)),
        dialing_at: None,
        answered: true,
    };
    let by_id = LegRef { carrier_call_id: Some(id.clone()), ..by_state.clone() };
    // It is on the second page of the list.
    for leg in [&by_state, &by_id] {
        let live = FoundLeg { carrier_call_id: id.clone(), ended: None, certain: true };
        assert_eq!(adapter.control.look_up(leg).await, Ok(vec![live]));
    }
    assert_eq!(adapter.control.hang_up(&by_state).await, Ok(()));
    rig.client().wait_for_end(&call).await;
    rig.telnyx.ended(THEM).await;
    let found = adapter.control.look_up(&by_id).await.expect("it answers");
    assert!(found.iter().all(|leg| leg.ended.is_some()) && found.len() == 1, "{found:?}");
    assert_eq!(adapter.control.look_up(&by_state).await, Ok(vec![]));
    for leg in [&by_state, &by_id] {
        assert_eq!(adapter.control.hang_up(leg).await, Ok(()), "ending what has ended is fine");
    }
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_another_application_is_taken_over() {
    let rig = Rig::start().await;
    rig.telnyx.add_number(OURS, Some("17"));
    let (adapter, addresses) = adapter(&rig);
    assert!(
        matches!(webhooks(&adapter).inbound_route(&number(OURS)).await, Ok(InboundRoute::To(elsewhere)) if elsewhere.contains("17"))
    );
    let to = addresses.for_connection("telnyx", rig.connection.parse().expect("an id"));
    webhooks(&adapter).set_inbound_route(&number(OURS), &to).await.expect("Telnyx does it");
    assert_eq!(
        webhooks(&adapter).inbound_route(&number(OURS)).await,
        Ok(InboundRoute::To(to.report("events"))),
        "{APPLICATION}"
    );
    rig.service.stop().await;
}
