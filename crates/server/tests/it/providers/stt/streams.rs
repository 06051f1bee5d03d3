//! STT over a websocket, without failures, in virtual time: a stalled machine exceeds no deadline.

use serde_json::{Value, json};
use switchhook_providers::{assemblyai, cartesia, deepgram, elevenlabs, openai};

use super::caller::{Caller, Make, TIMEOUT, connect_stt, text};
use crate::doubles::stt::{SttBehaviour, SttServer};
use crate::doubles::{assemblyai_stt, cartesia_stt, deepgram_stt, elevenlabs_stt, openai_stt};

/// A provider with settings.
pub(super) struct Case {
    pub(super) name: &'static str,
    make: Make,
    settings: Value,
    pub(super) key: &'static str,
    /// Whether the provider detects ends of turn itself.
    judges: bool,
    /// Whether it first reports that the session has begun.
    pub(super) greets: bool,
    pub(super) double: SttServer,
}

impl Case {
    /// Opens an STT with the right key.
    pub(super) async fn call(&self) -> Caller {
        self.try_call(self.key).await.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    pub(super) async fn try_call(&self, key: &str) -> Result<Caller, switchhook_providers::ProviderError> {
        self.call_with(key, json!({})).await
    }

    pub(super) async fn nova(behaviours: &[SttBehaviour]) -> Self {
        Self::named("deepgram nova", behaviours).await
    }

    pub(super) async fn realtime(behaviours: &[SttBehaviour]) -> Self {
        Self::named("openai realtime", behaviours).await
    }

    pub(super) async fn named(name: &str, behaviours: &[SttBehaviour]) -> Self {
        let mut all = cases(behaviours).await.into_iter();
        all.find(|case| case.name == name).expect("there is such a case")
    }

    /// The same with more settings.
    pub(super) async fn call_with(
        &self,
        key: &str,
        more: Value,
    ) -> Result<Caller, switchhook_providers::ProviderError> {
        let mut settings = self.settings.clone();
        for (name, value) in more.as_object().expect("settings") {
            settings[name] = value.clone();
        }
        settings["base_url"] = json!(self.double.url());
        let stt = connect_stt(self.make, &settings, key).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        Caller::call(&*stt).await
    }

    pub(super) async fn try_call_well(&self) -> Result<Caller, switchhook_providers::ProviderError> {
        self.try_call(self.key).await
    }
}

/// Returns every protocol, each with a double whose connections behave like this in order.
pub(super) async fn cases(behaviours: &[SttBehaviour]) -> Vec<Case> {
    let b = || behaviours.to_vec();
    let nova = || SttServer::start(b(), deepgram_stt::Nova::default);
    let case =
        |name, make, settings, key, double| Case { name, make, settings, key, judges: false, greets: true, double };
    let turns = |case| Case { judges: true, ..case };
    let mute = |case| Case { greets: false, ..case };
    let (dg, aai): (Make, Make) = (deepgram::stt::connect, assemblyai::stt::connect);
    let (oai, xi, ca): (Make, Make, Make) = (openai::stt::connect, elevenlabs::stt::connect, cartesia::stt::connect);
    let linear = json!({ "stt_encoding": "linear16", "stt_sample_rate": 8_000, "stt_chunk_ms": 60 });
    let flux = json!({ "stt_model": "flux-general-en" });
    let by_provider = json!({ "stt_finalize": false });
    let realtime = json!({ "stt_api": "realtime" });
    vec![
        mute(case("deepgram nova", dg, json!({}), "dg-key", nova().await)),
        mute(case("deepgram nova, linear", dg, linear.clone(), "dg-key", nova().await)),
        mute(case(
            "a copy of deepgram nova without finalize",
            dg,
            by_provider.clone(),
            "dg-key",
            SttServer::start(b(), deepgram_stt::Nova::without_finalize).await,
        )),
        turns(case(
            "deepgram flux, our ends",
            dg,
            json!({ "stt_model": "flux-general-en", "stt_finalize": true }),
            "dg-key",
            SttServer::start(b(), deepgram_stt::Flux::default).await,
        )),
        turns(case("deepgram flux", dg, flux, "dg-key", SttServer::start(b(), deepgram_stt::Flux::default).await)),
        case("assemblyai", aai, json!({}), "aai-key", SttServer::start(b(), assemblyai_stt::AssemblyAi::default).await),
        turns(case(
            "assemblyai turns",
            aai,
            by_provider.clone(),
            "aai-key",
            SttServer::start(b(), assemblyai_stt::AssemblyAi::default).await,
        )),
        case("openai realtime", oai, realtime, "sk-key", SttServer::start(b(), openai_stt::Realtime::default).await),
        case(
            "openai realtime, its own ends",
            oai,
            json!({ "stt_api": "realtime", "stt_finalize": false }),
            "sk-key",
            SttServer::start(b(), openai_stt::Realtime::default).await,
        ),
        case(
            "elevenlabs, its own ends",
            xi,
            by_provider.clone(),
            "xi-key",
            SttServer::start(b(), elevenlabs_stt::Scribe::default).await,
        ),
        case("elevenlabs", xi, json!({}), "xi-key", SttServer::start(b(), elevenlabs_stt::Scribe::default).await),
        mute(case("cartesia", ca, json!({}), "ca-key", SttServer::start(b(), cartesia_stt::Manual::default).await)),
        turns(case(
            "cartesia turns",
            ca,
            by_provider,
            "ca-key",
            SttServer::start(b(), cartesia_stt::Turns::default).await,
        )),
    ]
}

/// Runs `test` with every protocol concurrently, and checks the doubles for complaints.
pub(super) async fn with_every<F: Future<Output = ()>>(
    behaviours: &[SttBehaviour],
    test: impl Fn(std::sync::Arc<Case>) -> F,
) {
    let cases: Vec<_> = cases(behaviours).await.into_iter().map(std::sync::Arc::new).collect();
    futures_util::future::join_all(cases.iter().map(|case| test(case.clone()))).await;
    for case in cases {
        assert_eq!(case.double.complaints(), Vec::<String>::new(), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_understood_line_by_line() {
    with_every(&[], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        assert_eq!(caller.words().await, text("name"), "{}", case.name);
        caller.say("day").await;
        assert_eq!(caller.words().await, format!("{} {}", text("name"), text("day")), "{}", case.name);
        assert!(!caller.partials.is_empty(), "{} tells what it hears", case.name);
        let turns = if case.judges { 2 } else { 0 };
        assert_eq!(caller.turns(turns).await, turns, "{}", case.name);
        drop(caller);
        let over = tokio::time::timeout(TIMEOUT, case.double.over(1)).await;
        assert!(over.is_ok() && case.double.connections() == 1, "{} is closed when the call ends", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_the_middle_of_a_word_ends_the_stream() {
    with_every(&[], async |case| {
        let mut caller = case.call().await;
        caller.begin("name", 40).await;
        case.double.messages(2).await;
        drop(caller);
        let over = tokio::time::timeout(TIMEOUT, case.double.over(1)).await;
        assert!(over.is_ok() && case.double.connections() == 1, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_line_without_audio_is_kept() {
    with_every(&[], async |case| {
        let mut caller = case.call().await;
        // OpenAI needs only pings, and Cartesia waits for minutes.
        if !matches!(case.name, "openai realtime" | "openai realtime, its own ends" | "cartesia") {
            tokio::time::timeout(TIMEOUT, case.double.messages(2)).await.unwrap_or_else(|_| panic!("{}", case.name));
        }
        caller.say("yes").await;
        assert_eq!(caller.words().await, text("yes"), "{}", case.name);
        assert_eq!(case.double.connections(), 1, "{}", case.name);
    })
    .await;
}

#[tokio::test]
async fn settings_that_are_of_no_use_are_named() {
    let dg: Make = deepgram::stt::connect;
    for (make, settings, words) in [
        (dg, json!({ "stt_encoding": "mp3" }), "settings.stt_encoding must be one of mulaw, alaw, linear16."),
        (dg, json!({ "stt_sample_rate": 16_000 }), "settings.stt_sample_rate must be 8000 with mulaw."),
        (dg, json!({ "stt_chunk_ms": "80" }), "settings.stt_chunk_ms must be a whole number from 20 to 1000."),
        (dg, json!({ "stt_parameters": [] }), "settings.stt_parameters must be an object"),
        (dg, json!({ "stt_finalize": "no" }), "settings.stt_finalize must be true or false."),
        (dg, json!({ "base_url": "https://10.0.0.1" }), "settings.base_url "),
        (assemblyai::stt::connect, json!({ "stt_chunk_ms": 20 }), "settings.stt_chunk_ms must be from 60 to 1000"),
        (
            openai::stt::connect,
            json!({ "stt_api": "batch" }),
            "settings.stt_api must be one of transcriptions, realtime.",
        ),
        (openai::stt::connect, json!({ "stt_min_speech_ms": -1 }), "settings.stt_min_speech_ms must be"),
    ] {
        let refused = connect_stt(make, &settings, "key").err().unwrap_or_else(|| panic!("{settings} was taken"));
        assert!(refused.starts_with(words), "{settings}: {refused}");
    }
}
