//! An agent's STT options, language and expected words: how they are sent, and how an unsupported one is reported.

use serde_json::{Value, json};
use switchhook_providers::{SttOptions, assemblyai, cartesia, deepgram, elevenlabs};
use tokio::sync::mpsc;

use super::caller::{Make, connect_stt};
use crate::doubles::stt::SttServer;
use crate::doubles::{assemblyai_stt, cartesia_stt, deepgram_stt, elevenlabs_stt};
use crate::harness::{Client, TestService};

#[tokio::test(start_paused = true)]
async fn what_a_provider_takes_is_sent_and_nothing_else() {
    let (dg, aai): (Make, Make) = (deepgram::stt::connect, assemblyai::stt::connect);
    let (xi, ca): (Make, Make) = (elevenlabs::stt::connect, cartesia::stt::connect);
    let manual = || SttServer::start([], cartesia_stt::Manual::default);
    let assembly = || SttServer::start([], assemblyai_stt::AssemblyAi::default);
    for (double, make, key, settings, language, sent) in [
        (manual().await, ca, "ca-key", json!({}), "en-US", vec![("keyterm", "Ava"), ("language", "en")]),
        (
            manual().await,
            ca,
            "ca-key",
            json!({}),
            "de-DE",
            vec![("keyterm", "Ava"), ("language", "en"), ("model", "ink-2")],
        ),
        (
            SttServer::start([], cartesia_stt::Turns::default).await,
            ca,
            "ca-key",
            json!({ "stt_finalize": false }),
            "en-US",
            vec![("keyterm", "Ava")],
        ),
        (
            assembly().await,
            aai,
            "aai-key",
            json!({}),
            "de-DE",
            vec![("speech_model", "universal-streaming-multilingual"), ("language_codes", r#"["de"]"#)],
        ),
        (
            assembly().await,
            aai,
            "aai-key",
            json!({ "stt_model": "universal-3-5-pro" }),
            "de-DE",
            vec![("language_codes", r#"["de"]"#), ("keyterms_prompt", r#"["Ava"]"#)],
        ),
        (
            SttServer::start([], elevenlabs_stt::Scribe::default).await,
            xi,
            "xi-key",
            json!({}),
            "de-DE",
            vec![("language_code", "de"), ("keyterms", "Ava")],
        ),
        (
            SttServer::start([], deepgram_stt::Nova::default).await,
            dg,
            "dg-key",
            json!({}),
            "de-DE",
            vec![("language", "de-DE"), ("keyterm", "Ava")],
        ),
    ] {
        let mut settings = settings;
        settings["base_url"] = json!(double.url());
        let stt = connect_stt(make, &settings, key).expect("settings of use");
        let (events, _heard) = mpsc::channel(8);
        let options = SttOptions {
            language: language.to_owned(),
            model: None,
            keyterms: vec!["Ava".to_owned()],
            ..SttOptions::default()
        };
        drop(stt.open(options, events).await.unwrap_or_else(|error| panic!("{settings}: {error}")));
        for (name, value) in sent {
            assert_eq!(double.parameter(name), [value], "{name} of {key} with {settings}");
        }
        assert_eq!(double.complaints(), Vec::<String>::new(), "{settings}");
    }
}

async fn connection(client: &Client, provider: &str, settings: Value) -> Value {
    let connection = json!({
        "name": provider, "provider": provider, "settings": settings, "credentials": { "api_key": "a-long-key-1" },
    });
    client.create("/v1/connections", connection).await["id"].clone()
}

#[tokio::test]
async fn saving_an_agent_warns_of_unsupported_options() {
    let service = TestService::start().await;
    let client = &service.client;
    let cartesia = connection(client, "cartesia", json!({})).await;
    let flux = connection(client, "deepgram", json!({ "stt_model": "flux-general-en" })).await;
    let elevenlabs = connection(client, "elevenlabs", json!({})).await;
    let assembly = connection(client, "assemblyai", json!({})).await;
    let long = "a term of more than twenty characters";
    let fallbacks = [&flux, &elevenlabs, &assembly].map(|id| json!({ "connection_id": id }));
    let agent = json!({
        "name": "Polyglot", "instructions": "Talk.", "language": "nl-NL",
        "stt": { "connection_id": cartesia, "keyterms": ["Ava", long], "fallbacks": fallbacks },
        "tts": { "connection_id": flux, "fallbacks": [{ "connection_id": elevenlabs }] },
    });
    let made = client.create("/v1/agents", agent).await;
    let expected = [
        made["warnings"][0].as_str().filter(|words| words.starts_with("llm: no language model is set")).expect("it has none").to_owned(),
        "stt: cartesia understands English only, not \"nl-NL\".".to_owned(),
        "stt.fallbacks.0: deepgram understands English only with the model flux-general-en, not \"nl-NL\".".to_owned(),
        format!(
            "stt.fallbacks.1: elevenlabs takes at most 50 keyterms, each of 20 characters, together of 1000: {long:?} are \
             left out."
        ),
        "stt.fallbacks.2: assemblyai understands en, es, fr, de, it, pt with the model universal-streaming-multilingual, \
         not \"nl\"."
            .to_owned(),
        "tts: deepgram speaks \"en\" with the voice aura-2-thalia-en, not \"nl-NL\".".to_owned(),
    ];
    assert_eq!(made["warnings"], json!(expected));
    let path = format!("/v1/agents/{}", made["id"].as_str().expect("an id"));
    let (_, english) = client.patch(&path, json!({ "language": "en-GB", "stt": { "keyterms": ["Ava"] } })).await;
    assert_eq!((&english["language"], &english["warnings"]), (&json!("en-GB"), &json!([expected[0]])), "{english}");
    let (_, local) = client.patch(&path, json!({ "language": "de", "stt": null, "tts": null })).await;
    let both = [
        expected[0].as_str(),
        "stt: local knows English only, not \"de\".",
        "tts: local knows English only, not \"de\".",
    ];
    assert_eq!(local["warnings"], json!(both), "{local}");
    service.stop().await;
}

#[tokio::test]
async fn a_connection_is_for_what_its_settings_say() {
    let service = TestService::start().await;
    let client = &service.client;
    let body = json!({ "name": "mind", "provider": "openai", "settings": { "kinds": ["llm"] }, "credentials": {} });
    let mind = client.create("/v1/connections", body).await;
    assert_eq!((&mind["kind"], &mind["kinds"]), (&json!("llm"), &json!(["llm"])));
    let path = format!("/v1/connections/{}", mind["id"].as_str().expect("an id"));
    let agent = json!({ "name": "Deaf", "instructions": "Talk.", "stt": { "connection_id": mind["id"] } });
    let (status, refused) = client.post("/v1/agents", agent.clone()).await;
    assert_eq!((status.as_u16(), &refused["errors"][0]["path"]), (422, &json!("stt.connection_id")), "{refused}");
    let (_, two) = client.patch(&path, json!({ "settings": { "kinds": ["stt", "llm"] } })).await;
    assert_eq!((&two["kind"], &two["kinds"]), (&json!("several"), &json!(["stt", "llm"])));
    let (status, _) = client.post("/v1/agents", agent).await;
    assert_eq!(status, 201);
    service.stop().await;
}

#[tokio::test]
async fn half_a_key_is_refused_unless_the_server_is_ones_own() {
    let service = TestService::start_allowing(super::call::LOOPBACK).await;
    let client = &service.client;
    let body = |key: &str, settings: Value| {
        let name = format!("{key} {settings}");
        json!({ "name": name, "provider": "deepgram", "settings": settings, "credentials": { "api_key": key } })
    };
    let (status, refused) = client.post("/v1/connections", body("1234567", json!({}))).await;
    assert_eq!((status.as_u16(), &refused["errors"][0]["path"]), (422, &json!("credentials.api_key")), "{refused}");
    let own = json!({ "base_url": "http://127.0.0.1:9" });
    let made = client.create("/v1/connections", body("1234567", own)).await;
    let path = format!("/v1/connections/{}", made["id"].as_str().expect("an id"));
    let (status, _) = client.patch(&path, json!({ "settings": { "base_url": null } })).await;
    assert_eq!(status, 422, "the same key for the provider itself");
    client.create("/v1/connections", body("12345678", json!({}))).await;
    service.stop().await;
}
