//! Tests of requests to models that are late, fail or respond.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;

use async_trait::async_trait;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::Role;
use switchhook_core::id::{AgentId, CallId};
use switchhook_media::format::AudioFormat;
use switchhook_net::outbound::Client;
use tokio::sync::oneshot;
use uuid::Uuid;

use switchhook_providers::TtsRequest;

use super::*;
use crate::config::Config;
use crate::talk::provider_health::RateLimits;
use crate::talk::tools::Shared;

/// Never responds, and signals when its request is cancelled.
struct Late(Mutex<Option<oneshot::Sender<()>>>);

#[async_trait]
impl Llm for Late {
    async fn respond(&self, _: LlmRequest, _: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let _held = self.0.lock().expect("whole").take();
        std::future::pending().await
    }

    async fn analyse(&self, _: AnalysisRequest) -> Result<Analysis, ProviderError> {
        Err(none_configured("language model"))
    }
}

/// Responds at once, or fails.
struct Quick(Result<&'static str, ()>);

#[async_trait]
impl Llm for Quick {
    async fn respond(&self, _: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let words =
            self.0.map_err(|()| ProviderError::Failed { provider: "quick", message: "It broke.".to_owned() })?;
        for piece in words.split_inclusive(' ') {
            events.send(LlmEvent::Delta(piece.to_owned())).await.expect("somebody listens");
        }
        Ok(Usage { llm_output_tokens: 2, ..Usage::default() })
    }

    async fn analyse(&self, _: AnalysisRequest) -> Result<Analysis, ProviderError> {
        Err(none_configured("language model"))
    }
}

/// Returns the given results, one after the other.
struct ScriptedLlm(Mutex<VecDeque<Result<&'static str, ProviderError>>>);

impl ScriptedLlm {
    fn to<const N: usize>(manners: [Result<&'static str, ProviderError>; N]) -> Arc<dyn Llm> {
        Arc::new(Self(Mutex::new(manners.into())))
    }
}

#[async_trait]
impl Llm for ScriptedLlm {
    async fn respond(&self, _: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let next = self.0.lock().expect("whole").pop_front().expect("it is not asked more often");
        events.send(LlmEvent::Delta(next?.to_owned())).await.expect("somebody listens");
        Ok(Usage::default())
    }

    async fn analyse(&self, _: AnalysisRequest) -> Result<Analysis, ProviderError> {
        Err(none_configured("language model"))
    }
}

fn pipeline(llms: Vec<Arc<dyn Llm>>, hedge: bool) -> Pipeline {
    let config = Config::for_tests("/nonexistent");
    let client = Client::new(&config.network(), &config.outbound_allow, Duration::from_secs(1)).expect("a client");
    let shared = Shared { lists: Arc::default(), agent: AgentId::from_uuid(Uuid::nil()), version: 1 };
    let (agent, call) = (AgentConfig::new("x"), CallId::from_uuid(Uuid::nil()));
    let tools = Toolbox::new(client, &shared, &agent, &BTreeMap::new(), &HashMap::new(), &HashMap::new(), call);
    let settings = || {
        let settings = LlmSettings::default();
        (0..20).for_each(|_| settings.response_times.note(Duration::from_millis(1)));
        settings
    };
    Pipeline {
        stt: Vec::new(),
        llm: llms.into_iter().map(|llm| (llm, settings())).collect(),
        tts: Vec::new(),
        phrases: Arc::default(),
        tools: Arc::new(tools),
        rates: KnownRates::default(),
        hedge,
        withheld: Withheld::default(),
    }
}

/// Runs a request; returns the text, and the cost or the error.
async fn asked(pipeline: &Pipeline) -> (String, Result<Usage, ProviderError>) {
    let (signals, mut given) = mpsc::channel(EVENT_CAPACITY);
    let _running = pipeline.request_completion(7, vec![Message::new(Role::User, "Four, please.")], signals);
    let mut said = String::new();
    loop {
        match given.recv().await.expect("it ends with a result") {
            (7, Signal::Piece(LlmEvent::Delta(text))) => said.push_str(&text),
            (7, Signal::Done(usage)) => return (said, Ok(*usage)),
            (7, Signal::Failed(error)) => return (said, Err(error)),
            _ => panic!("nothing else was asked"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_late_gets_company_and_is_taken_back_when_the_other_answers() {
    let (held, let_go) = oneshot::channel();
    let late = Arc::new(Late(Mutex::new(Some(held))));
    let pipeline = pipeline(vec![late, Arc::new(Quick(Ok("Four it is.")))], true);
    let began = tokio::time::Instant::now();
    let (said, usage) = asked(&pipeline).await;
    let usage = usage.expect("answered");
    assert_eq!(said, "Four it is.");
    assert!(began.elapsed() < LLM_TIMEOUT, "it was not waited for until hope was lost");
    assert_eq!((usage.llm_input_tokens, usage.llm_output_tokens), (4, 2), "both have read the question");
    assert!(usage.llm_estimated);
    let_go.await.expect_err("it was dropped");
    let times = pipeline.llm[0].1.response_times.late_after();
    assert_eq!(times, Some(Duration::from_millis(400)), "one wait in vain is not the usual");
}

/// Sends one piece, then fails.
struct BreaksOff;

#[async_trait]
impl Llm for BreaksOff {
    async fn respond(&self, _: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        events.send(LlmEvent::Delta("Eightchr".to_owned())).await.expect("somebody listens");
        Err(ProviderError::Failed { provider: "broken", message: "It broke.".to_owned() })
    }

    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        request.meter.add(Usage { llm_input_tokens: 3, llm_output_tokens: 5, ..Usage::default() });
        Err(ProviderError::Failed { provider: "broken", message: "No JSON.".to_owned() })
    }
}

/// Sets prices: a dollar per token read for the first model, ten for the second, and a hundred times as much per token written.
fn with_rates(mut pipeline: Pipeline) -> Pipeline {
    let rates = |dollars: f64| Rates {
        llm_input_million: Some(dollars * 1e6),
        llm_output_million: Some(dollars * 1e8),
        ..Rates::default()
    };
    pipeline.rates.llm = vec![Some(rates(1.0)), Some(rates(10.0))];
    pipeline
}

fn never() -> Arc<dyn Llm> {
    Arc::new(Late(Mutex::default()))
}

fn dollars(usage: Usage) -> f64 {
    usage.cost_usd.round()
}

#[tokio::test(start_paused = true)]
async fn failed_requests_are_billed() {
    // Four tokens are read, two are written. The first model times out, and the second fails in the middle.
    let broken = with_rates(pipeline(vec![never(), Arc::new(BreaksOff)], false));
    let (signals, mut given) = mpsc::channel(EVENT_CAPACITY);
    let question = broken.request_completion(7, vec![Message::new(Role::User, "Four, please.")], signals);
    let mut written = 0;
    loop {
        match given.recv().await.expect("it ends with a result") {
            (_, Signal::Piece(LlmEvent::Delta(text))) => written += text.chars().count(),
            (_, Signal::Failed(_)) => break,
            _ => panic!("it breaks off"),
        }
    }
    let usage = question.cost(written);
    assert_eq!((usage.llm_input_tokens, usage.llm_output_tokens, usage.llm_estimated), (8, 2, true));
    assert_eq!(dollars(usage), 4.0 + 40.0 + 2_000.0, "by the rates of whom was asked");

    // A provider that refuses charges nothing.
    let refusing = with_rates(pipeline(vec![ScriptedLlm::to([Err(wrong_key())]), never()], false));
    let (signals, mut given) = mpsc::channel(EVENT_CAPACITY);
    let question = refusing.request_completion(7, vec![Message::new(Role::User, "Four, please.")], signals);
    assert!(tokio::time::timeout(Duration::from_secs(1), given.recv()).await.is_err(), "it never answers");
    assert_eq!(dollars(question.cost(0)), 40.0);

    let (result, usage) = broken.analyse(&[Message::new(Role::User, "Four.")], None, Duration::from_secs(8)).await;
    assert_eq!((result.is_err(), dollars(usage)), (true, 30.0 + 5_000.0), "what came to nothing too");
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_is_asked_last_for_a_while() {
    let mut first = Vec::new();
    let both = pipeline(
        vec![ScriptedLlm::to([Ok("First."), Ok("First.")]), ScriptedLlm::to([Ok("Second."), Ok("Second.")])],
        false,
    );
    both.llm[0].1.health.note_failure();
    for wait in [0, 59, 2] {
        tokio::time::advance(Duration::from_secs(wait)).await;
        first.push(asked(&both).await.0);
    }
    assert_eq!(first, ["Second.", "Second.", "First."], "and comes back");

    // With four of them, the last gets its turn before the conversation times out.
    let four = pipeline(vec![never(), never(), never(), ScriptedLlm::to([Ok("Fourth."), Ok("Fourth.")])], false);
    let began = tokio::time::Instant::now();
    assert_eq!(asked(&four).await.0, "Fourth.");
    let waited = began.elapsed();
    assert!(waited <= Duration::from_secs(8), "{waited:?}");
    assert_eq!(asked(&four).await.0, "Fourth.");
    assert_eq!(began.elapsed(), waited, "the next turn does not wait again");
}

#[tokio::test]
async fn one_that_fails_is_replaced_at_once_and_the_last_error_is_reported() {
    for hedge in [false, true] {
        let (said, usage) = asked(&pipeline(vec![Arc::new(Quick(Err(()))), Arc::new(Quick(Ok("Four.")))], hedge)).await;
        assert_eq!((said.as_str(), usage.expect("answered").llm_input_tokens), ("Four.", 0));
        let (said, result) = asked(&pipeline(vec![Arc::new(Quick(Err(())))], hedge)).await;
        assert!(said.is_empty() && matches!(result, Err(ProviderError::Failed { .. })));
    }
    let (_, result) = asked(&pipeline(Vec::new(), true)).await;
    assert!(matches!(result, Err(ProviderError::Config { .. })));
}

fn wrong_key() -> ProviderError {
    ProviderError::Config { provider: "double", message: "Wrong key.".to_owned() }
}

#[tokio::test]
async fn what_is_refused_at_first_is_a_wrong_setting_and_later_a_failure() {
    let refused = || ProviderError::Refused { provider: "double", message: "Wrong key.".to_owned() };
    // An earlier refusal is returned again without a request.
    for (manners, expected) in [
        (ScriptedLlm::to([Err(wrong_key())]), [Err(wrong_key()), Err(wrong_key()), Err(wrong_key())]),
        (ScriptedLlm::to([Ok("Four."), Err(wrong_key())]), [Ok(()), Err(refused()), Err(refused())]),
    ] {
        let pipeline = pipeline(vec![manners], false);
        for expected in expected {
            assert_eq!(asked(&pipeline).await.1.map(drop), expected);
        }
        let (analysed, _) = pipeline.analyse(&[Message::new(Role::User, "Four.")], None, Duration::from_secs(8)).await;
        assert!(analysed.is_err_and(|error| error.is_final()), "nor is it asked to look back");
    }
}

fn busy(seconds: u64) -> ProviderError {
    ProviderError::busy("double", "Slow down.".to_owned(), Duration::from_secs(seconds))
}

#[tokio::test(start_paused = true)]
async fn a_model_that_has_no_room_is_not_asked_before_it_has() {
    let began = tokio::time::Instant::now();
    let alone = pipeline(vec![ScriptedLlm::to([Err(busy(5)), Ok("Four.")])], false);
    assert_eq!(asked(&alone).await.1, Err(busy(5)));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!((asked(&alone).await.0.as_str(), began.elapsed().as_secs()), ("Four.", 5), "it is waited for");

    let began = tokio::time::Instant::now();
    let full = pipeline(vec![ScriptedLlm::to([Err(busy(30)), Ok("Four.")])], false);
    for expected in [30, 30] {
        assert_eq!(asked(&full).await.1, Err(busy(expected)), "and at once where that would be too long");
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    tokio::time::advance(Duration::from_secs(25)).await;
    assert_eq!((asked(&full).await.0.as_str(), began.elapsed().as_secs()), ("Four.", 30));

    let both = pipeline(vec![ScriptedLlm::to([Err(busy(5))]), ScriptedLlm::to([Ok("Second."), Ok("Second.")])], false);
    for _ in 0..2 {
        assert_eq!(asked(&both).await.0, "Second.");
    }
}

#[tokio::test(start_paused = true)]
async fn rate_limits_are_known_to_all_calls_and_refusals_to_their_own() {
    let limits = RateLimits::default();
    let (one, other) = (limits.of("llm", None, Some("a")), limits.of("llm", None, Some("a")));
    one.judge(busy(5));
    assert_eq!(other.rate_limited(), Some((Duration::from_secs(5), busy(5))));
    assert!(limits.of("llm", None, Some("b")).rate_limited().is_none());
    assert!(limits.of("tts", None, Some("a")).rate_limited().is_none());
    one.judge(wrong_key());
    assert!(one.refusal().is_some() && other.refusal().is_none());
    tokio::time::advance(Duration::from_secs(5)).await;
    assert!(other.rate_limited().is_none());
}

#[tokio::test]
async fn a_provider_that_refuses_is_replaced_and_reported_only_when_no_other_is_left() {
    let busy = || ProviderError::Failed { provider: "double", message: "Busy.".to_owned() };
    for (first, second) in [(busy(), wrong_key()), (wrong_key(), busy())] {
        let pipeline = pipeline(vec![ScriptedLlm::to([Err(first)]), ScriptedLlm::to([Err(second)])], false);
        assert_eq!(asked(&pipeline).await.1, Err(busy()), "one of them may answer next time");
    }
    let (said, _) =
        asked(&pipeline(vec![ScriptedLlm::to([Err(wrong_key())]), ScriptedLlm::to([Ok("Four.")])], false)).await;
    assert_eq!(said, "Four.");
}

/// A TTS that returns this many samples and then the given result.
struct Sings(usize, Then);

enum Then {
    Ends,
    Hangs,
    Fails(ProviderError),
}

#[async_trait]
impl Tts for Sings {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        if self.0 > 0 {
            let piece = TtsAudio { samples: vec![1; self.0], words: Vec::new() };
            audio.send(piece).await.expect("somebody listens");
        }
        match &self.1 {
            Then::Ends => Ok(cost(&request.text)),
            Then::Hangs => std::future::pending().await,
            Then::Fails(error) => Err(error.clone()),
        }
    }
}

fn tts_settings() -> TtsSettings {
    let (language, health) = ("en-US".to_owned(), ProviderHealth::default());
    TtsSettings { voice: None, model: None, speed: 1.0, language, format: AudioFormat::Narrowband, health }
}

/// TTS voices that charge 1, 2, 3… dollars per character.
fn choir(voices: Vec<Sings>) -> Pipeline {
    let mut choir = pipeline(Vec::new(), false);
    for (price, voice) in (1..).zip(voices) {
        choir.tts.push((Arc::new(voice), tts_settings()));
        let rates = Rates { tts_characters_million: Some(1e6 * f64::from(price)), ..Rates::default() };
        choir.rates.tts.push(Some(rates));
    }
    choir
}

/// Returns the number of characters, and their cost in dollars.
fn paid(usage: Usage) -> (u64, f64) {
    (usage.tts_characters, usage.cost_usd.round())
}

#[tokio::test(start_paused = true)]
async fn voice_silent_for_two_seconds_is_replaced_and_still_billed() {
    for then in [Then::Ends, Then::Hangs] {
        let is_stopped = matches!(then, Then::Hangs);
        let choir = choir(vec![Sings(0, Then::Hangs), Sings(7, then)]);
        let began = tokio::time::Instant::now();
        let (signals, mut given) = mpsc::channel(EVENT_CAPACITY);
        let saying = choir.speak(3, "Four.".to_owned(), signals);
        let first = given.recv().await;
        assert!(matches!(first, Some((3, Signal::Piece(audio))) if audio.samples.len() == 7));
        let waited = began.elapsed().as_millis();
        assert!((2_000..2_020).contains(&waited), "{waited} ms");
        if is_stopped {
            assert_eq!(paid(saying.cost(0)), (10, 15.0), "each by its own price");
        } else {
            let Some((3, Signal::Done(usage))) = given.recv().await else { panic!("it has come to its end") };
            assert_eq!(paid(*usage), (10, 15.0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_voice_that_fails_is_paid_for_what_it_was_sent_and_not_for_what_it_refused() {
    let broken = || ProviderError::Failed { provider: "sings", message: "It broke.".to_owned() };
    let late = || ProviderError::Timeout { provider: "sings", waited_ms: 5_000 };
    for (voices, expected) in [
        (vec![Sings(7, Then::Fails(broken()))], (5, 5.0)),
        (vec![Sings(0, Then::Fails(broken()))], (0, 0.0)),
        (vec![Sings(0, Then::Fails(late()))], (5, 5.0)),
        (vec![Sings(0, Then::Fails(broken())), Sings(7, Then::Fails(late()))], (5, 10.0)),
    ] {
        let (signals, mut given) = mpsc::channel(EVENT_CAPACITY);
        let saying = choir(voices).speak(3, "Four.".to_owned(), signals);
        loop {
            match given.recv().await.expect("it ends with a result") {
                (3, Signal::Piece(_)) => {}
                (3, Signal::Failed(_)) => break,
                _ => panic!("it cannot have come to its end"),
            }
        }
        assert_eq!(paid(saying.cost(0)), expected);
    }
}

/// Panics on a request.
struct Panics;

#[async_trait]
impl Llm for Panics {
    async fn respond(&self, _: LlmRequest, _: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        panic!("a bug of the adapter")
    }

    async fn analyse(&self, _: AnalysisRequest) -> Result<Analysis, ProviderError> {
        panic!("a bug of the adapter")
    }
}

#[tokio::test]
async fn a_provider_that_panics_has_failed_and_the_next_one_answers() {
    let (said, cost) = asked(&pipeline(vec![Arc::new(Panics), Arc::new(Quick(Ok("At eight.")))], false)).await;
    assert_eq!((said.as_str(), cost.is_ok()), ("At eight.", true));

    let alone = pipeline(vec![Arc::new(Panics)], false);
    let (_, failed) = asked(&alone).await;
    assert!(matches!(failed, Err(ProviderError::Failed { .. })), "{failed:?}");
    let (looked_back, _) = alone.analyse(&[], None, LLM_TIMEOUT).await;
    assert!(looked_back.is_err());
}

/// Speaks, and charges for this many requests.
struct Requested(u64);

#[async_trait]
impl Tts for Requested {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        let _ = audio.send(TtsAudio { samples: vec![1; 80], words: Vec::new() }).await;
        Ok(Usage { tts_characters: self.0 * cost(&request.text).tts_characters, ..Usage::default() })
    }
}

#[tokio::test(start_paused = true)]
async fn a_phrase_that_was_joined_from_two_requests_is_charged_and_not_cached() {
    for (requests, is_cached) in [(1, true), (2, false)] {
        let mut pipeline = pipeline(Vec::new(), false);
        pipeline.tts.push((Arc::new(Requested(requests)), tts_settings()));
        let meter = UsageMeter::default();
        pipeline.cache_phrases(vec!["Goodbye.".to_owned()], meter.clone(), Arc::new(Semaphore::new(1))).await;
        assert_eq!(pipeline.cached("Goodbye.").is_some(), is_cached);
        assert_eq!(meter.usage().tts_characters, 8 * requests);
    }
}
