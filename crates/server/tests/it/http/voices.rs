//! `/v1/connections/{id}/voices`.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook_runtime::clock::Clock;

use crate::doubles::tts::{KEY, Refusal, TtsState, serve};
use crate::doubles::{cartesia_tts, elevenlabs_tts};
use crate::harness::{Client, TestService, text};

async fn connection(client: &Client, provider: &str, settings: Value) -> String {
    let connection = json!({
        "name": provider, "provider": provider, "settings": settings, "credentials": { "api_key": KEY },
    });
    format!("/v1/connections/{}/voices", text(&client.create("/v1/connections", connection).await["id"]))
}

fn names(list: &Value) -> Vec<String> {
    list["data"].as_array().expect("a list").iter().map(|voice| text(&voice["voice"])).collect()
}

fn default(list: &Value) -> Vec<String> {
    let all = list["data"].as_array().expect("a list").iter();
    all.filter(|voice| voice["default"] == true).map(|voice| text(&voice["voice"])).collect()
}

#[tokio::test]
async fn providers_that_list_their_voices_are_asked_and_others_are_known() {
    let clock = Clock::manual(Clock::system().now());
    let allowed = "127.0.0.0/8,http".parse().expect("valid");
    let service = TestService::start_as(clock.clone(), |config| config.outbound_allow = allowed).await;
    let client = &service.client;
    let state = TtsState::default();
    let doubles = [
        ("elevenlabs", serve(elevenlabs_tts::router(state.clone())).await),
        ("cartesia", serve(cartesia_tts::router(state.clone())).await),
    ];
    for (provider, address) in doubles {
        let settings = json!({ "base_url": format!("http://{address}"), "tts_voice": "ann-1" });
        let path = connection(client, provider, settings).await;
        let (status, list) = client.get(&path).await;
        assert_eq!((status, names(&list)), (StatusCode::OK, vec!["ann-1".to_owned(), "ben-2".to_owned()]), "{list}");
        assert_eq!((default(&list), &list["complete"]), (vec!["ann-1".to_owned()], &json!(false)), "{provider}");
        assert_eq!(list["data"][0]["languages"], json!(["en"]), "{provider}");

        state.refuse([Refusal {
            status: 401,
            retry_after: None,
            body: json!({ "message": format!("{KEY} is unknown") }),
        }]);
        assert_eq!(client.get(&path).await, (StatusCode::OK, list), "it is not asked again so soon");
        clock.advance(Duration::from_secs(300));
        let (status, refused) = client.get(&path).await;
        assert_eq!((status, &refused["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("provider_refused")));
        assert_eq!(refused["detail"], format!("{provider}: •••• is unknown (status 401)."), "the key stays a secret");
        state.refuse([Refusal { status: 500, retry_after: None, body: json!({ "message": "down" }) }]);
        assert_eq!(client.get(&path).await.1["code"], "provider_refused", "nor after a failure");
        clock.advance(Duration::from_secs(15));
        let (status, failed) = client.get(&path).await;
        assert_eq!((status, &failed["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("provider_unavailable")));
        client.patch(path.trim_end_matches("/voices"), json!({ "name": format!("{provider} again") })).await;
        assert_eq!(client.get(&path).await.0, StatusCode::OK, "a connection that was changed is asked at once");
    }
    assert_eq!(state.complaints(), Vec::<String>::new());

    for (provider, settings, voice, least) in [
        ("deepgram", json!({}), "aura-2-thalia-en", 50),
        ("openai", json!({}), "alloy", 10),
        ("openai", json!({ "base_url": "http://127.0.0.1:9/v1", "tts_voice": "af_heart" }), "af_heart", 1),
    ] {
        let name = json!({ "name": format!("{provider} {least}"), "provider": provider, "settings": settings,
            "credentials": { "api_key": KEY } });
        let made = client.create("/v1/connections", name).await;
        let (_, list) = client.get(&format!("/v1/connections/{}/voices", text(&made["id"]))).await;
        assert_eq!((default(&list), &list["complete"]), (vec![voice.to_owned()], &json!(false)), "{provider}");
        assert!(names(&list).len() >= least, "{list}");
    }
    let (_, local) = client.get("/v1/connections/local/voices").await;
    assert_eq!((names(&local), &local["complete"]), (vec!["hibari".to_owned()], &json!(true)));

    let deaf = connection(client, "anthropic", json!({})).await;
    let (status, none) = client.get(&deaf).await;
    assert_eq!((status, &none["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("no_voices")), "{none}");
    assert_eq!(none["errors"][0]["path"], "id", "{none}");
    let carrier = client.create("/v1/connections", json!({ "name": "phone", "provider": "simulator" })).await;
    let (status, none) = client.get(&format!("/v1/connections/{}/voices", text(&carrier["id"]))).await;
    assert_eq!((status, &none["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("no_voices")), "{none}");
    assert_eq!(none["errors"][0]["path"], "id", "{none}");
    service.stop().await;
}

#[tokio::test]
async fn a_voice_is_heard_before_it_is_chosen() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let state = TtsState::default();
    let address = serve(elevenlabs_tts::router(state.clone())).await;
    let path = connection(client, "elevenlabs", json!({ "base_url": format!("http://{address}") })).await;
    let sample = async |path: &str, body: Value| {
        let answer = client.request(Method::POST, path).json(&body).send().await.expect("an answer");
        let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
        (answer.status(), kind, answer.bytes().await.expect("a whole body"))
    };
    let (status, kind, wav) = sample(&format!("{path}/ann-1/sample"), json!({ "text": "Good day." })).await;
    assert_eq!((status, kind.as_str()), (StatusCode::OK, "audio/wav"));
    assert!(wav.starts_with(b"RIFF") && wav.len() > 1_000, "{} bytes", wav.len());
    assert_eq!(state.seen(|seen| seen.spoken.clone()), ["Good day."]);
    let (status, refused) = client.post(&format!("{path}/no%20id/sample"), json!({})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "the provider has no such name");
    assert_eq!(
        (&refused["code"], &refused["errors"][0]["path"]),
        (&json!("provider_refused"), &json!("id")),
        "{refused}"
    );

    let tones = client.create("/v1/connections", json!({ "name": "tones", "provider": "scripted" })).await;
    let tones = format!("/v1/connections/{}/voices", text(&tones["id"]));
    assert_eq!(sample(&format!("{tones}/tones/sample"), json!({})).await.0, StatusCode::OK);
    assert_eq!(sample(&format!("{tones}/other/sample"), json!({})).await.0, StatusCode::NOT_FOUND);
    for (field, value) in [
        ("text", json!("")),
        ("text", json!("...")),
        ("text", json!("a".repeat(201))),
        ("language", json!("!")),
        ("speed", json!(3)),
        ("model", json!("")),
    ] {
        let (status, refused) = client.post(&format!("{tones}/tones/sample"), json!({ field: value })).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        assert_eq!(refused["errors"][0]["path"], field, "{refused}");
    }
    let german = json!({ "language": "de-DE" });
    let (status, refused) = client.post("/v1/connections/local/voices/hibari/sample", german).await;
    assert_eq!(
        (status, &refused["code"], &refused["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("provider_refused"), &json!("language")),
        "{refused}"
    );
    let stranger = service.another_tenant().await;
    assert_eq!(stranger.get(&tones).await.0, StatusCode::NOT_FOUND);
    assert_eq!(stranger.post(&format!("{tones}/tones/sample"), json!({})).await.0, StatusCode::NOT_FOUND);
    service.stop().await;
}
