//! Every field of customers' requests: errors name the path of an invalid field, warnings an unknown one, and `null` clears.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Client, TestService, text};

const NOBODY: &str = "0198c6a0-0000-7000-8000-000000000000";

/// Returns `whole` with the value at `path` replaced; missing parents are created.
fn with(whole: &Value, path: &str, value: &Value) -> Value {
    let mut changed = whole.clone();
    let slot = path.split('.').fold(&mut changed, |at, part| match part.parse::<usize>() {
        Ok(index) => {
            if !at.is_array() {
                *at = json!([]);
            }
            let list = at.as_array_mut().expect("made just now");
            while list.len() <= index {
                let tool = path.starts_with("tools.");
                list.push(if tool { json!({ "type": "end_call" }) } else { json!({ "connection_id": NOBODY }) });
            }
            &mut list[index]
        }
        Err(_) => &mut at[part],
    });
    *slot = value.clone();
    changed
}

fn paths(error: &Value) -> BTreeSet<String> {
    error["errors"].as_array().into_iter().flatten().map(|error| text(&error["path"])).collect()
}

/// Sends each invalid value in its place of `whole` and expects an error for that field alone.
async fn each_is_blamed(client: &Client, path: &str, whole: &Value, table: &[(&str, Vec<Value>)]) {
    for (field, values) in table {
        for value in values {
            let (status, error) = client.post(path, with(whole, field, value)).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path} {field} {value}: {error}");
            assert_eq!(paths(&error), BTreeSet::from([(*field).to_owned()]), "{path} {field} {value}: {error}");
            let detail = text(&error["detail"]);
            assert!(detail.contains(field) && !detail.contains("struct ") && !detail.contains("u32"), "{detail}");
        }
    }
}

/// Returns a value of each kind except these.
fn not(kinds: &[&str]) -> Vec<Value> {
    let all = [
        ("text", json!("x")),
        ("number", json!(1)),
        ("bool", json!(true)),
        ("list", json!([1])),
        ("object", json!({})),
    ];
    all.into_iter().filter(|(kind, _)| !kinds.contains(kind)).map(|(_, value)| value).collect()
}

fn range(below: i64, above: i64) -> Vec<Value> {
    let mut values = vec![json!(below), json!(above), json!(0.5), json!(-1), json!(99_999_999_999_i64)];
    values.extend(not(&["number"]));
    values
}

fn also(mut values: Vec<Value>, more: Vec<Value>) -> Vec<Value> {
    values.extend(more);
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_of_an_agent_is_checked_and_blamed_by_its_path() {
    let service = TestService::start().await;
    let client = &service.client;
    let long = "x".repeat(100_001);
    let many = |count: usize| Value::Array((0..count).map(|n| json!(n.to_string())).collect());
    let texts = || also(not(&["text"]), vec![json!(long)]);
    let words = || also(not(&["text"]), vec![json!(""), json!("x".repeat(201)), json!("a\nb")]);
    let ids = || also(not(&[]), vec![json!("no-uuid")]);
    let table = [
        ("name", also(not(&["text"]), vec![json!(""), json!(" "), json!("x".repeat(201)), json!("a\u{7}b")])),
        ("instructions", also(texts(), vec![json!(""), json!(" ")])),
        ("language", also(not(&["text"]), vec![json!(""), json!("en_US"), json!("x".repeat(36))])),
        ("greeting", not(&["object"])),
        ("greeting.mode", also(not(&[]), vec![json!("shout")])),
        ("greeting.text", texts()),
        ("greeting.interruptible", not(&["bool"])),
        ("stt", not(&["object"])),
        ("stt.connection_id", ids()),
        ("stt.model", words()),
        ("stt.keyterms", also(not(&["list"]), vec![many(201)])),
        ("stt.keyterms.0", words()),
        ("stt.fallbacks", not(&["list"])),
        ("stt.fallbacks.0", not(&["object"])),
        ("stt.fallbacks.0.connection_id", ids()),
        ("llm.connection_id", ids()),
        ("llm.temperature", also(not(&["number"]), vec![json!(-0.1), json!(2.1)])),
        ("llm.max_tokens", range(0, 100_001)),
        ("llm.model", words()),
        ("tts.connection_id", ids()),
        ("tts.voice", words()),
        ("tts.speed", also(not(&["number"]), vec![json!(0.4), json!(2.1)])),
        ("realtime", not(&["object"])),
        ("realtime.connection_id", ids()),
        ("turn_taking.min_silence_ms", range(99, 5_001).into_iter().filter(|value| *value != 5_001).collect()),
        ("turn_taking.max_silence_ms", range(199, 10_001)),
        ("turn_taking.eagerness", also(not(&["text"]), vec![json!("soon")])),
        ("turn_taking.speculative", not(&["bool"])),
        ("interruption.enabled", not(&["bool"])),
        ("interruption.min_speech_ms", range(49, 5_001)),
        ("interruption.min_words", range(21, 22)),
        ("interruption.backchannels", also(not(&["list"]), vec![many(201)])),
        ("interruption.backchannels.0", words()),
        ("silence.reprompt_after_seconds", range(1, 601)),
        ("silence.max_reprompts", range(11, 12)),
        ("silence.hangup_after_seconds", range(4, 3_601)),
        ("limits", not(&["object"])),
        ("limits.max_duration_seconds", range(9, 14_401)),
        ("limits.ring_timeout_seconds", range(4, 121)),
        ("answering_machine.mode", also(not(&[]), vec![json!("maybe")])),
        ("answering_machine.on_machine", also(not(&[]), vec![json!("sing")])),
        ("answering_machine.message", texts()),
        ("dtmf", not(&["object"])),
        ("dtmf.enabled", not(&["bool"])),
        ("dtmf.finish_on_key", also(not(&["text"]), vec![json!(""), json!("##"), json!("x")])),
        ("dtmf.digit_timeout_ms", range(499, 20_001)),
        ("dtmf.max_digits", range(0, 65)),
        ("dtmf.interrupt", not(&["bool"])),
        ("tools", not(&["list"])),
        ("tools.0", not(&["object"])),
        ("tools.0.type", also(not(&[]), vec![json!("webhook")])),
        ("tools.0.name", not(&[])),
        ("tools.0.parameters", not(&[])),
        ("tools.0.url", not(&[])),
        ("tools.0.method", also(not(&[]), vec![json!("DELETE")])),
        ("tools.0.connection_id", not(&[])),
        ("tools.0.headers", not(&["object"])),
        ("tools.0.timeout_seconds", range(0, 11)),
        ("tools.0.filler", not(&[])),
        ("tools.0.destinations", not(&["list"])),
        ("tools.0.description", texts()),
        ("analysis.summary", not(&["bool"])),
        ("analysis.schema", not(&["object"])),
        ("analysis.schema.type", vec![json!("text"), json!(1)]),
        ("analysis.schema.properties.day.type", vec![json!("date")]),
        ("recording.enabled", not(&["bool"])),
        ("privacy", not(&["object"])),
        ("privacy.redact", also(not(&["list"]), vec![])),
        ("privacy.redact.0", also(not(&[]), vec![json!("names")])),
        ("privacy.retention_days", range(0, 3_651)),
        ("variables", not(&["object"])),
        ("variables.guest", not(&["object"])),
        ("variables.guest.required", not(&["bool"])),
        ("variables.guest.default", texts()),
        ("variables.a{b", vec![json!({})]),
    ];
    let whole = json!({ "name": "Ava", "instructions": "Book a table." });
    each_is_blamed(client, "/v1/agents", &whole, &table).await;
    let realtime = with(&whole, "realtime.connection_id", &json!(NOBODY));
    each_is_blamed(
        client,
        "/v1/agents",
        &realtime,
        &[("realtime.model", words()), ("realtime.voice", words()), ("realtime.fallbacks", not(&["list"]))],
    )
    .await;
    for missing in ["name", "instructions"] {
        let mut body = whole.clone();
        body.as_object_mut().expect("an object").remove(missing);
        let (status, error) = client.post("/v1/agents", body).await;
        assert_eq!((status.as_u16(), paths(&error)), (422, BTreeSet::from([missing.to_owned()])), "{error}");
    }
    // A patch is validated the same way.
    let agent = text(&client.create("/v1/agents", whole.clone()).await["id"]);
    for (field, values) in table.iter().filter(|(_, values)| !values.is_empty()) {
        let (status, error) = client.patch(&format!("/v1/agents/{agent}"), with(&json!({}), field, &values[0])).await;
        assert_eq!((status.as_u16(), paths(&error)), (422, BTreeSet::from([(*field).to_owned()])), "{field}: {error}");
    }
    // All errors are reported at once.
    let many = json!({ "name": "", "instructions": "x", "dtmf": { "max_digits": 0 }, "limits": { "ring_timeout_seconds": 1 } });
    let (_, error) = client.post("/v1/agents", many).await;
    let expected = ["name", "dtmf.max_digits", "limits.ring_timeout_seconds"];
    assert_eq!(paths(&error), expected.map(str::to_owned).into_iter().collect(), "{error}");
    let (_, agents) = client.get("/v1/agents").await;
    assert_eq!(agents["data"].as_array().map(Vec::len), Some(1), "nothing wrong was kept");
    assert_eq!(agents["data"][0]["version"], 1, "nor has it changed anything");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_merges_null_clears_and_only_a_change_is_a_version() {
    let service = TestService::start().await;
    let client = &service.client;
    let plain = client.create("/v1/agents", json!({ "name": "Ava", "instructions": "Book a table." })).await;
    let agent = format!("/v1/agents/{}", text(&plain["id"]));
    let changes = json!({
        "language": "de", "greeting": { "text": "Hallo" }, "turn_taking": { "min_silence_ms": 500 },
        "silence": { "hangup_after_seconds": 60 }, "limits": { "max_duration_seconds": 60 }, "stt": { "keyterms": ["a"] },
        "dtmf": { "finish_on_key": "*", "max_digits": 4 }, "tools": [{ "type": "end_call" }],
        "analysis": { "schema": { "type": "object" }, "summary": false }, "recording": { "enabled": true },
        "privacy": { "redact": ["digits"], "retention_days": 30 }, "variables": { "guest": { "required": true } },
        "interruption": { "backchannels": [] }, "answering_machine": { "mode": "detect" },
    });
    let (status, changed) = client.patch(&agent, changes.clone()).await;
    assert_eq!((status, &changed["version"]), (StatusCode::OK, &json!(2)), "{changed}");
    for (field, value) in changes.as_object().expect("an object") {
        let Value::Object(parts) = value else { continue };
        for (part, value) in parts {
            let shown = &changed[field][part];
            assert!(shown == value || value.is_object(), "{field}.{part}: {shown}");
        }
    }
    assert_eq!(changed["greeting"]["mode"], "speak", "what is not named stays");
    assert_eq!(changed["privacy"], json!({ "redact": ["digits"], "retention_days": 30 }));

    let (_, same) = client.patch(&agent, changes.clone()).await;
    assert_eq!((&same["version"], &same["updated_at"]), (&json!(2), &changed["updated_at"]), "nothing has changed");
    let (_, same) = client.patch(&agent, json!({})).await;
    assert_eq!(same["version"], 2);

    let (_, never) = client
        .patch(&agent, json!({ "silence": { "hangup_after_seconds": null }, "dtmf": { "finish_on_key": null } }))
        .await;
    assert_eq!(
        (&never["silence"]["hangup_after_seconds"], &never["dtmf"]["finish_on_key"]),
        (&json!(null), &json!(null))
    );
    let (_, part) =
        client.patch(&agent, json!({ "privacy": { "retention_days": null }, "dtmf": { "max_digits": null } })).await;
    assert_eq!(
        (&part["privacy"], &part["dtmf"]["max_digits"]),
        (&json!({ "redact": ["digits"], "retention_days": null }), &json!(32))
    );
    let cleared: Value =
        changes.as_object().expect("an object").keys().map(|field| (field.clone(), Value::Null)).collect();
    let (_, cleared) = client.patch(&agent, cleared).await;
    for field in changes.as_object().expect("an object").keys() {
        assert_eq!(cleared[field], plain[field], "{field} is as on the first day");
    }
    assert_eq!(cleared["version"], 5);
    for (required, value) in [("name", json!(null)), ("instructions", json!(null))] {
        let (status, error) = client.patch(&agent, json!({ required: value })).await;
        assert_eq!((status.as_u16(), paths(&error)), (422, BTreeSet::from([required.to_owned()])), "{error}");
    }
    let (_, shown) = client.get(&agent).await;
    let (status, back) = client.patch(&agent, shown).await;
    assert_eq!((status, &back["version"]), (StatusCode::OK, &json!(5)), "what was read can be sent back: {back}");
    let ignored =
        back["warnings"].as_array().into_iter().flatten().map(text).filter(|words| words.starts_with("Unknown"));
    assert_eq!(
        ignored.collect::<Vec<_>>(),
        ["created_at", "id", "updated_at", "version"].map(|name| format!("Unknown field {name} was ignored.")),
    );
    service.stop().await;
}

/// Returns `whole` with every field of `fields` as `null`.
fn nulled(whole: &Value, fields: &[&str]) -> Value {
    fields.iter().fold(whole.clone(), |whole, field| with(&whole, field, &Value::Null))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_is_null_in_a_new_resource_is_absent() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let whole = json!({ "name": "Iris", "instructions": "Book a table." });
    let plain = client.create("/v1/agents", whole.clone()).await;
    let fields = [
        "language",
        "greeting",
        "stt",
        "llm.hedge",
        "tts.fallbacks",
        "turn_taking.eagerness",
        "interruption",
        "limits",
        "dtmf.enabled",
        "answering_machine.mode",
        "tools",
        "analysis.summary",
        "recording",
        "privacy.redact",
        "variables.guest",
    ];
    let with_null = client.create("/v1/agents", with(&nulled(&whole, &fields), "name", &json!("Eve"))).await;
    for field in
        ["language", "greeting", "turn_taking", "interruption", "limits", "dtmf", "tools", "privacy", "variables"]
    {
        assert_eq!(with_null[field], plain[field], "{field}");
    }
    let never = with(&with(&whole, "name", &json!("Never")), "silence.hangup_after_seconds", &Value::Null);
    let never = client.create("/v1/agents", never).await;
    assert_eq!(never["silence"]["hangup_after_seconds"], json!(null), "here it means never");

    let call = json!({ "agent_id": agent.id, "to": "+12025550111", "metadata": { "a": null } });
    let fields = ["variables", "overrides", "dry_run", "from", "number_id", "answering_machine", "schedule_at"];
    let placed = client.create("/v1/calls", nulled(&call, &fields)).await;
    assert_eq!((&placed["metadata"], &placed["variables"]), (&json!({ "a": null }), &json!({})), "{placed}");
    let call = json!({ "agent_id": agent.id, "to": "+12025550111", "dry_run": true });
    let variables = json!({ "guest": null, "id": 1_234_567_890_123_456_789_i64, "largest": u64::MAX, "half": 0.5 });
    let (_, checked) = client.post("/v1/calls", with(&call, "variables", &variables)).await;
    let expected = json!({ "id": "1234567890123456789", "largest": "18446744073709551615", "half": "0.5" });
    assert_eq!(checked["variables"], expected, "{checked}");

    let (_, listed) = client.get("/v1/connections").await;
    let carrier = listed["data"].as_array().and_then(|all| all.iter().find(|one| one["provider"] == "simulator"));
    let number = json!({ "number": "+12025550150", "connection_id": carrier.expect("it was made")["id"] });
    client.create("/v1/numbers", nulled(&number, &["label", "inbound_agent_id", "configure_carrier"])).await;
    let connection = json!({ "name": "x", "provider": "local" });
    client.create("/v1/connections", nulled(&connection, &["settings", "credentials.api_key", "limits"])).await;
    let connection = json!({ "name": "y", "provider": "simulator" });
    let made =
        client.create("/v1/connections", nulled(&connection, &["settings.time_scale", "settings.presses"])).await;
    assert_eq!(made["settings"], json!({}));
    client.create("/v1/webhooks", nulled(&json!({ "url": "https://1.1.1.1/" }), &["events", "enabled"])).await;
    client.create("/v1/api-keys", nulled(&json!({}), &["name", "expires_in_days"])).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_keeps_the_version_it_was_placed_with() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let path = format!("/v1/agents/{}", agent.id);
    let call = client.place(&agent, "+12025550111").await;
    client.patch(&path, json!({ "language": "de" })).await;
    let later = client.place(&agent, "+12025550111").await;
    for (call, version) in [(call, 1), (later, 2)] {
        assert_eq!(client.wait_for_end(&call).await["agent_version"], version);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_connections_numbers_and_calls_are_checked_and_blamed_by_their_path() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let connections = [
        ("name", also(not(&["text"]), vec![json!(""), json!("x".repeat(201))])),
        ("provider", also(not(&[]), vec![json!("carrier-pigeon")])),
        ("settings", not(&["object"])),
        (
            "settings.base_url",
            also(not(&[]), vec![json!("http://10.0.0.1/"), json!("https://user:secret@example.com/")]),
        ),
        ("settings.time_scale", also(not(&["number"]), vec![json!(0), json!(11)])),
        ("settings.presses", not(&["list"])),
        ("settings.presses.0", vec![json!(""), json!("12x"), json!(5)]),
        ("settings.faults.drop_audio", vec![json!(2), json!(-1)]),
        ("settings.faults.jitter_ms", vec![json!(1_001), json!(-1), json!("x")]),
        ("credentials", not(&["object"])),
        ("credentials.token", also(not(&["text"]), vec![json!(""), json!("x".repeat(20_000))])),
        ("limits", not(&["object"])),
        ("limits.max_concurrent", range(0, 100_001)),
    ];
    each_is_blamed(client, "/v1/connections", &json!({ "name": "line", "provider": "simulator" }), &connections).await;
    let (_, error) = client.post("/v1/connections", json!({ "name": "t", "provider": "twilio" })).await;
    assert_eq!(paths(&error), ["credentials.account_sid", "credentials.auth_token"].map(str::to_owned).into());

    let (_, listed) = client.get("/v1/connections").await;
    let named = |name: &str| {
        let all = listed["data"].as_array().expect("a list");
        text(&all.iter().find(|one| one["provider"] == name).expect("it was made")["id"])
    };
    let (simulator, scripted) = (named("simulator"), named("scripted"));
    let numbers = [
        (
            "number",
            also(not(&[]), vec![json!("2025550100"), json!("+0123456789"), json!("sip:a@example.com"), json!("+1")]),
        ),
        ("label", also(not(&["text"]), vec![json!(""), json!("x".repeat(201))])),
        ("connection_id", also(not(&[]), vec![json!("x"), json!(NOBODY), json!(scripted)])),
        ("inbound_agent_id", also(not(&[]), vec![json!("x"), json!(NOBODY)])),
    ];
    each_is_blamed(client, "/v1/numbers", &json!({ "number": "+12025550150", "connection_id": simulator }), &numbers)
        .await;

    let many: Value = (0..51).map(|n| (format!("k{n}"), json!("v"))).collect();
    let calls = [
        ("agent_id", also(not(&[]), vec![json!("x"), json!(NOBODY)])),
        ("to", also(not(&[]), vec![json!("2025550100"), json!("")])),
        ("from", also(not(&[]), vec![json!("2025550100"), json!("+12025550198")])),
        ("number_id", also(not(&[]), vec![json!("x"), json!(NOBODY)])),
        ("variables", also(not(&["object"]), vec![many.clone()])),
        ("variables.guest", vec![json!([]), json!({}), json!(1e20), json!(-1e20)]),
        ("metadata", also(not(&["object"]), vec![many])),
        ("overrides", not(&["object"])),
        ("overrides.greeting", not(&["text", "object"])),
        ("overrides.greeting.text", not(&["text"])),
        ("overrides.instructions", also(not(&["text"]), vec![json!("")])),
        ("overrides.limits", not(&["object"])),
        ("overrides.limits.max_duration_seconds", range(9, 14_401)),
        ("overrides.limits.ring_timeout_seconds", range(4, 121)),
        ("answering_machine", not(&["object"])),
        ("answering_machine.mode", also(not(&[]), vec![json!("maybe")])),
        ("answering_machine.message", not(&["text"])),
        ("ring_timeout_seconds", range(4, 121)),
        ("schedule_at", also(not(&[]), vec![json!("tomorrow"), json!("2099-01-01T00:00:00Z")])),
        ("dry_run", not(&["bool"])),
    ];
    each_is_blamed(client, "/v1/calls", &json!({ "agent_id": agent.id, "to": "+12025550111" }), &calls).await;
    let leave =
        json!({ "agent_id": agent.id, "to": "+12025550111", "answering_machine": { "on_machine": "leave_message" } });
    assert_eq!(
        paths(&client.post("/v1/calls", leave).await.1),
        BTreeSet::from(["answering_machine.message".to_owned()])
    );
    assert_eq!(client.get("/v1/calls").await.1["data"], json!([]), "nobody was called");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_another_tenant_is_as_if_it_did_not_exist() {
    let (service, agent) = TestService::ready().await;
    let (client, other) = (&service.client, service.another_tenant().await);
    let theirs = other.scripted_agent(json!({})).await;
    let (_, connections) = other.get("/v1/connections").await;
    let connection = |provider: &str| {
        let all = connections["data"].as_array().expect("a list");
        text(&all.iter().find(|one| one["provider"] == provider).expect("it was made")["id"])
    };
    let number = text(&other.get("/v1/numbers").await.1["data"][0]["id"]);
    let agents = json!({ "name": "New", "instructions": "x" });
    let numbers = json!({ "number": "+12025550150", "connection_id": NOBODY });
    let (_, mine) = client.get("/v1/connections").await;
    let mine = mine["data"].as_array().and_then(|all| all.iter().find(|one| one["provider"] == "simulator"));
    let answered = json!({ "number": "+12025550150", "connection_id": mine.expect("it was made")["id"] });
    let call = json!({ "agent_id": agent.id, "to": "+12025550111" });
    let table = [
        ("/v1/agents", &agents, "stt.connection_id", connection("scripted")),
        ("/v1/agents", &agents, "llm.connection_id", connection("scripted")),
        ("/v1/agents", &agents, "tts.connection_id", connection("scripted")),
        ("/v1/agents", &agents, "stt.fallbacks.0.connection_id", connection("scripted")),
        ("/v1/numbers", &numbers, "connection_id", connection("simulator")),
        ("/v1/numbers", &answered, "inbound_agent_id", theirs.id.clone()),
        ("/v1/calls", &call, "agent_id", theirs.id.clone()),
        ("/v1/calls", &call, "number_id", number),
    ];
    for (path, whole, field, foreign) in table {
        let mut answers = Vec::new();
        for id in [foreign.as_str(), NOBODY] {
            let (status, mut error) = client.post(path, with(whole, field, &json!(id))).await;
            assert_eq!((status.as_u16(), paths(&error)), (422, BTreeSet::from([field.to_owned()])), "{path}: {error}");
            error["request_id"].take();
            answers.push(error);
        }
        assert_eq!(answers[0], answers[1], "{path} {field}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_named_at_any_depth() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (_, listed) = client.get("/v1/connections").await;
    let id = |provider: &str| {
        let all = listed["data"].as_array().expect("a list");
        all.iter().find(|one| one["provider"] == provider).expect("it was made")["id"].clone()
    };
    let scripted = id("scripted");
    let odd = json!({
        "name": "Odd", "instructions": "x", "colour": 1, "greeting": { "txt": "Hi" }, "privacy": { "days": 1 },
        "stt": { "connection_id": scripted, "fallbacks": [{ "connection_id": scripted, "modle": "a" }] },
        "dtmf": { "finishOnKey": "#" }, "tools": [{ "type": "end_call", "urls": "https://example.com" }],
        "variables": { "guest": { "requried": true } }, "limits": { "max_duration": 1 },
    });
    let call = json!({
        "agent_id": agent.id, "to": "+12025550111", "dry_run": true, "colour": 1,
        "overrides": { "language": "de", "greeting": { "text": "Hi", "mode": "wait" }, "limits": { "max": 1 } },
        "answering_machine": { "beep": true },
    });
    let table = [
        (
            "/v1/agents",
            odd,
            vec![
                "colour",
                "greeting.txt",
                "privacy.days",
                "stt.fallbacks.0.modle",
                "dtmf.finishOnKey",
                "tools.0.urls",
                "variables.guest.requried",
                "limits.max_duration",
            ],
        ),
        (
            "/v1/calls",
            call,
            vec![
                "colour",
                "overrides.language",
                "overrides.greeting.mode",
                "overrides.limits.max",
                "answering_machine.beep",
            ],
        ),
        (
            "/v1/numbers",
            json!({ "number": "+12025550150", "connection_id": id("simulator"), "colour": 1 }),
            vec!["colour"],
        ),
        (
            "/v1/connections",
            json!({ "name": "x", "provider": "local", "limits": { "max": 1 }, "colour": 1 }),
            vec!["limits.max", "colour"],
        ),
    ];
    for (path, body, unknown) in table {
        let (status, made) = client.post(path, body).await;
        assert!(status.is_success(), "{path}: {made}");
        let warnings = made["warnings"].as_array().into_iter().flatten().map(text);
        let named: BTreeSet<_> = warnings.filter(|words| words.starts_with("Unknown")).collect();
        let expected = unknown.iter().map(|field| format!("Unknown field {field} was ignored.")).collect();
        assert_eq!(named, expected, "{path}");
    }
    service.stop().await;
}

#[tokio::test]
async fn unknown_settings_are_named_and_not_stored() {
    let (service, _) = TestService::ready().await;
    let client = &service.client;
    let settings = json!({ "modle": "x", "colour": 1, "stt_language": "de" });
    let key = json!({ "api_key": "sk-0123456789" });
    let openai = json!({ "name": "o", "provider": "openai", "credentials": key, "settings": settings });
    let made = client.create("/v1/connections", openai).await;
    assert_eq!(made["settings"], json!({ "stt_language": "de" }));
    let colour = "Unknown field settings.colour was ignored.";
    let model = "Unknown field settings.modle was ignored. Did you mean settings.model?";
    assert_eq!(made["warnings"], json!([colour, model]));

    let path = format!("/v1/connections/{}", text(&made["id"]));
    let (_, same) = client.patch(&path, json!({ "settings": { "colour": 1 } })).await;
    assert_eq!((&same["warnings"], &same["updated_at"]), (&json!([colour]), &made["updated_at"]));
    let (_, changed) = client.patch(&path, json!({ "settings": { "colour": 1, "model": "m" } })).await;
    assert_eq!(changed["settings"], json!({ "model": "m", "stt_language": "de" }));

    // The settings of a carrier that this version cannot call with are unknown.
    let sip = client
        .create("/v1/connections", json!({ "name": "s", "provider": "sip", "settings": { "host": "example.com" } }))
        .await;
    assert_eq!(sip["settings"], json!({ "host": "example.com" }));
    service.stop().await;
}

#[tokio::test]
async fn a_schema_that_models_get_in_a_simpler_form_is_named_when_the_agent_is_saved() {
    let service = TestService::start().await;
    let tool = |parameters: Value| json!({ "type": "http", "name": "book", "description": "Books.", "url": "https://example.com/", "parameters": parameters });
    let save = async |parameters: Value| {
        let agent = json!({ "name": format!("Ava {}", parameters.get("anyOf").is_some()), "instructions": "Book a table.", "tools": [{ "type": "end_call" }, tool(parameters)] });
        let (status, saved) = service.client.post("/v1/agents", agent).await;
        assert_eq!(status, StatusCode::CREATED, "{saved}");
        saved["warnings"].to_string()
    };
    let by = |name: &str| json!({ "required": [name], "properties": { name: { "type": "string" } } });
    let warnings = save(json!({ "type": "object", "anyOf": [by("phone"), by("email")] })).await;
    assert!(warnings.contains("tools.1.parameters: models do not see anyOf at the top"), "{warnings}");
    let warnings =
        save(json!({ "type": "object", "properties": { "seats": { "anyOf": [{ "type": "integer" }] } } })).await;
    assert!(!warnings.contains("tools.1"), "{warnings}");
    service.stop().await;
}

#[tokio::test]
async fn parts_of_schemas_that_are_completed_for_models_are_named_with_their_paths() {
    let service = TestService::start().await;
    let parameters = json!({ "type": "object", "properties": {
        "guest": { "type": "object" },
        "rows": { "type": "array", "items": { "type": "object", "properties": { "tags": { "type": "array" } } } },
    } });
    let tool = json!({ "type": "http", "name": "book", "description": "Books.", "url": "https://example.com/", "parameters": parameters });
    let agent = json!({ "name": "Ava", "instructions": "Book a table.", "tools": [{ "type": "end_call" }, tool] });
    let (status, saved) = service.client.post("/v1/agents", agent).await;
    assert_eq!(status, StatusCode::CREATED, "{saved}");
    let warnings = saved["warnings"].to_string();
    let expected = "tools.1.parameters: models see another schema where their APIs refuse it as it is: ";
    assert!(warnings.contains(expected), "{warnings}");
    for change in [
        "properties.guest (an object without properties)",
        "properties.rows.items.properties.tags (an array without items)",
    ] {
        assert!(warnings.contains(change), "{warnings}");
    }
    service.stop().await;
}
