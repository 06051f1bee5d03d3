//! Whole calls whose STT is lost in mid-call. How long callers then wait is measured in virtual time.

use std::sync::Arc;

use serde_json::{Value, json};
use switchhook_core::conversation::FailureCode;
use switchhook_providers::Stt;

use super::call::LOOPBACK;
use super::caller::text;
use super::conversation::{self, Kind, Server};
use crate::doubles::assemblyai_stt::AssemblyAi;
use crate::doubles::deepgram_stt::Nova;
use crate::doubles::openai_transcriptions::{Answers, Whisper};
use crate::doubles::stt::{SttBehaviour, SttServer};
use crate::harness::{Client, TestService};
use crate::providers::rehearsal::{FakeProviders, VirtualCall, always};

/// The prices per minute of the failing STT, and of the one that takes over.
const DEAR: f64 = 6.0;
const CHEAP: f64 = 0.06;

/// Creates a connection to a double.
async fn connect(client: &Client, provider: &str, url: &str, key: &str, minute: f64) -> Value {
    let prices = json!({ "stt_minute": minute });
    let prices = json!({ "nova-3": prices, "gpt-transcribe": prices, "universal-streaming-english": prices });
    let connection = json!({
        "name": url, "provider": provider, "credentials": { "api_key": key },
        "settings": { "base_url": url, "prices": prices },
    });
    client.create("/v1/connections", connection).await["id"].clone()
}

/// Runs a call whose agent uses `first` for STT and then AssemblyAI's protocol, for this many lines of the caller or until it ends.
/// Returns the call and its transcript.
async fn call(first: (&str, &str, &str), fallback: &SttServer, lines: Option<usize>) -> (Value, Vec<Value>) {
    let service = TestService::start_allowing(LOOPBACK).await;
    let client = &service.client;
    let (provider, url, key) = first;
    let first = connect(client, provider, url, key, DEAR).await;
    let second = connect(client, "assemblyai", &fallback.url(), "aai-key", CHEAP).await;
    let stt = json!({ "connection_id": first, "fallbacks": [{ "connection_id": second }] });
    let agent = client.scripted_agent(json!({ "stt": stt })).await;
    let call = client.place(&agent, "+12025550100").await;
    let ended = match lines {
        Some(lines) => client.hang_up_after(&call, lines).await,
        None => client.wait_for_end(&call).await,
    };
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    service.stop().await;
    (ended, transcript["data"].as_array().expect("a list").clone())
}

/// Checks that each line of the caller was transcribed once, by one STT and then by the other.
async fn check_takeover(first: (&str, &str, &str)) {
    let fallback = SttServer::start([], AssemblyAi::default).await;
    let (ended, lines) = call(first, &fallback, Some(3)).await;
    for line in ["name", "day", "time"] {
        let times = lines.iter().filter(|said| said["text"] == text(line)).count();
        assert_eq!(times, 1, "{line}: {lines:?}");
    }
    assert_eq!((fallback.connections(), fallback.complaints()), (1, vec![]));
    let usage = &ended["usage"];
    let (ms, cost) = (usage["stt_audio_ms"].as_f64().expect("counted"), usage["cost_usd"].as_f64().expect("priced"));
    let range = CHEAP * ms / 60_000.0..DEAR * ms / 60_000.0;
    assert!(range.contains(&cost) && cost > range.start * 1.01, "each is paid for what it heard: {usage}");
}

async fn check_takeover_after(behaviours: Vec<SttBehaviour>) {
    let double = SttServer::start(behaviours, Nova::default).await;
    check_takeover(("deepgram", &double.url(), "dg-key")).await;
    assert_eq!(double.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_over_from_one_whose_key_is_refused_in_mid_call() {
    check_takeover_after(vec![SttBehaviour::DiesInSpeech, SttBehaviour::Refuses(401, vec![], "the key was revoked")])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_over_from_one_that_dies_for_good() {
    check_takeover_after(vec![SttBehaviour::DiesInSpeech, SttBehaviour::Refuses(503, vec![], "overloaded")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_over_from_one_that_keeps_reconnecting() {
    check_takeover_after(vec![SttBehaviour::DiesInSpeech, SttBehaviour::Silent]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_over_from_a_server_that_refuses_or_never_answers_the_first_request() {
    let refused = Answers::With(401, vec![], r#"{"error":{"message":"Incorrect API key provided."}}"#);
    let calls = [refused, Answers::Never].map(async |answers| {
        let double = Whisper::start([answers]).await;
        check_takeover(("openai", &double.url(), "sk-key")).await;
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_last_one_fails_too_its_words_end_the_call() {
    let revoked = |words| SttBehaviour::Refuses(401, vec![], words);
    let first = SttServer::start([SttBehaviour::DiesInSpeech, revoked("revoked first")], Nova::default).await;
    let fallback = SttServer::start([revoked("revoked last")], AssemblyAi::default).await;
    let (ended, lines) = call(("deepgram", &first.url(), "dg-key"), &fallback, None).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("pipeline_error")), "{ended}");
    assert!(ended["error"].as_str().unwrap_or_default().contains("revoked last"), "{ended}");
    assert!(lines.len() >= 2, "the agent says goodbye: {lines:?}");
}

/// Holds a conversation whose STT is lost, and returns what is wrong with it: dead air, an end other than this one, and lines that were not
/// understood once if it continues.
async fn promises_broken(first: Arc<dyn Stt>, fallback: &Server, end: Option<FailureCode>) -> Vec<String> {
    let other_stts = vec![Kind::AssemblyAi.stt(fallback)];
    let cast = FakeProviders { stt: first, other_stts, ..FakeProviders::scripted(always("I have noted that.")) };
    let mut talk = VirtualCall::begin(&conversation::agent(), cast).await;
    talk.until_silent_for(500, 0).await;
    let lines = ["day", "people", "time"];
    let mut broken = Vec::new();
    for line in lines {
        broken.extend(talk.says_and_is_answered(line).await);
    }
    if talk.failure() != end {
        broken.push(format!("it ends by {:?} and not by {end:?}", talk.end));
    }
    let heard: Vec<_> = talk.said().into_iter().filter(|(by_agent, _)| !by_agent).map(|(_, text)| text).collect();
    if end.is_none() && heard != lines.map(text) {
        broken.push(format!("the caller is understood as {heard:?}"));
    }
    broken.extend(fallback.complaints());
    broken
}

#[tokio::test(start_paused = true)]
async fn no_takeover_leaves_dead_air() {
    let revoked = || SttBehaviour::Refuses(401, vec![], "the key was revoked");
    let mut broken = Vec::new();
    for (then, fallback, end) in [
        (revoked(), SttBehaviour::Well, None),
        (SttBehaviour::Refuses(503, vec![], "overloaded"), SttBehaviour::Well, None),
        (SttBehaviour::Silent, SttBehaviour::Well, None),
        (revoked(), revoked(), Some(FailureCode::Pipeline)),
    ] {
        let name = format!("{then:?}, {fallback:?}");
        let first = Kind::Nova.serve_as(vec![SttBehaviour::DiesInSpeech, then]).await;
        let fallback = Kind::AssemblyAi.serve_as(vec![fallback]).await;
        let promises = promises_broken(Kind::Nova.stt(&first), &fallback, end).await;
        broken.extend(promises.into_iter().map(|promise| format!("{name}: {promise}")));
    }
    let refused = Answers::With(401, vec![], r#"{"error":{"message":"Incorrect API key provided."}}"#);
    for answers in [refused, Answers::Never] {
        let name = format!("{answers:?}");
        let first = Server::Requests(Whisper::start([answers]).await);
        let fallback = Kind::AssemblyAi.serve_as(vec![SttBehaviour::Well]).await;
        let promises = promises_broken(Kind::Transcriptions.stt(&first), &fallback, None).await;
        broken.extend(promises.into_iter().map(|promise| format!("{name}: {promise}")));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
