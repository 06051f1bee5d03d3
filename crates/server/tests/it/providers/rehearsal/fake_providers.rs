//! The STT, LLM and TTS of a rehearsal. Each takes its own time, in addition to what an adapter waits for.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use switchhook::talk::pipeline::{KnownRates, LlmSettings, Pipeline};
use switchhook::talk::provider_health::ProviderHealth;
use switchhook::talk::tools::{Shared, Toolbox};
use switchhook::talk::voice::TtsSettings;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::{Conversation, ToolCall};
use switchhook_core::id::{AgentId, CallId};
use switchhook_core::webhook::AddressPolicy;
use switchhook_media::format::AudioFormat;
use switchhook_net::outbound::{Client, NetworkSettings};
use switchhook_providers::llm::Withheld;
use switchhook_providers::scripted::{ScriptedStt, ScriptedTts};
use switchhook_providers::{
    Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Stt, SttEvent, SttOptions, SttSession, Tts,
    TtsAudio, TtsRequest, Usage,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

/// The latency of STT.
const UNDERSTANDS: Duration = Duration::from_millis(100);
/// The time to the first word of a model that responds.
const THINKS: Duration = Duration::from_millis(600);
/// The time to the first audio of TTS.
const BREATHES: Duration = Duration::from_millis(150);
const LANGUAGE: &str = "en-US";

/// The three providers of a call.
pub(crate) struct FakeProviders {
    pub(crate) stt: Arc<dyn Stt>,
    /// Used where `stt` fails.
    pub(crate) other_stts: Vec<Arc<dyn Stt>>,
    pub(crate) llm: Arc<dyn Llm>,
    /// Used where `llm` fails.
    pub(crate) other_llms: Vec<Arc<dyn Llm>>,
    pub(crate) tts: Arc<dyn Tts>,
}

impl FakeProviders {
    /// Creates scripted providers.
    pub(crate) fn scripted(llm: Arc<dyn Llm>) -> Self {
        let (stt, tts) = (Arc::new(ScriptedStt), Arc::new(ScriptedTts));
        Self { stt, other_stts: Vec::new(), llm, other_llms: Vec::new(), tts }
    }

    /// Returns the pipeline of a call, and a log of its work.
    pub(super) fn pipeline(self, agent: &AgentConfig) -> (Pipeline, Arc<ProviderLog>) {
        let Self { stt, other_stts, llm, other_llms, tts } = self;
        let phrases = Conversation::phrases(agent).into_iter().collect();
        let log = Arc::new(ProviderLog { phrases, ..ProviderLog::default() });
        let tts = Breathing { tts, log: log.clone() };
        let llms = std::iter::once(llm).chain(other_llms).map(|llm| {
            let llm: Arc<dyn Llm> = Arc::new(Thinking { llm, log: log.clone() });
            (llm, LlmSettings::default())
        });
        let options =
            SttOptions { language: LANGUAGE.to_owned(), model: None, keyterms: Vec::new(), ..SttOptions::default() };
        let stts = std::iter::once(stt).chain(other_stts).map(|stt| {
            let stt: Arc<dyn Stt> = Arc::new(Understanding(stt));
            (stt, options.clone())
        });
        let (language, format, health) = (LANGUAGE.to_owned(), AudioFormat::Narrowband, ProviderHealth::default());
        let voice = TtsSettings { voice: None, model: None, speed: 1.0, language, format, health };
        let pipeline = Pipeline {
            stt: stts.collect(),
            llm: llms.collect(),
            tts: vec![(Arc::new(tts), voice)],
            phrases: Arc::default(),
            tools: Arc::new(tools(agent)),
            rates: KnownRates::default(),
            hedge: false,
            withheld: Withheld::default(),
        };
        (pipeline, log)
    }
}

/// Work of the providers that is not audible on the line.
#[derive(Default)]
pub(super) struct ProviderLog {
    /// The texts that the TTS was asked to speak.
    pub(super) spoken: Mutex<Vec<String>>,
    /// The phrases that may be synthesized ahead while the agent has nothing to say.
    phrases: HashSet<String>,
    /// Responses and other utterances in progress.
    at_work: AtomicUsize,
}

impl ProviderLog {
    /// Returns whether the agent still has something to say.
    pub(super) fn is_at_work(&self) -> bool {
        self.at_work.load(Ordering::Relaxed) > 0
    }

    fn work(&self) -> Work<'_> {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        Work(self)
    }
}

/// Work in progress; ends when it is dropped.
struct Work<'b>(&'b ProviderLog);

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

fn tools(agent: &AgentConfig) -> Toolbox {
    let addresses: AddressPolicy = "127.0.0.0/8,http".parse().expect("a policy");
    let client = Client::new(&NetworkSettings::default(), &addresses, Duration::from_secs(10));
    let shared = Shared { lists: Arc::default(), agent: AgentId::from_uuid(Uuid::nil()), version: 1 };
    let call = CallId::from_uuid(Uuid::nil());
    Toolbox::new(client.expect("a client"), &shared, agent, &BTreeMap::new(), &HashMap::new(), &HashMap::new(), call)
}

struct Understanding(Arc<dyn Stt>);

#[async_trait]
impl Stt for Understanding {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        let (sender, heard) = mpsc::channel(64);
        let session = self.0.open(options, sender).await?;
        tokio::spawn(understand(heard, events));
        Ok(session)
    }
}

/// Forwards each event after a delay, until the events or their receiver end.
async fn understand(mut heard: mpsc::Receiver<SttEvent>, events: mpsc::Sender<SttEvent>) {
    let mut waiting: VecDeque<(Instant, SttEvent)> = VecDeque::new();
    loop {
        let due = waiting.front().map(|(due, _)| *due);
        tokio::select! {
            Some(event) = heard.recv() => waiting.push_back((Instant::now() + UNDERSTANDS, event)),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let (_, event) = waiting.pop_front().expect("one is due");
                if events.send(event).await.is_err() {
                    return;
                }
            }
            else => return,
        }
    }
}

struct Thinking {
    llm: Arc<dyn Llm>,
    log: Arc<ProviderLog>,
}

#[async_trait]
impl Llm for Thinking {
    async fn respond(&self, request: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let _work = self.log.work();
        sleep(THINKS).await;
        self.llm.respond(request, events).await
    }

    async fn warm(&self) -> Result<(), ProviderError> {
        self.llm.warm().await
    }

    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        self.llm.analyse(request).await
    }
}

struct Breathing {
    tts: Arc<dyn Tts>,
    log: Arc<ProviderLog>,
}

#[async_trait]
impl Tts for Breathing {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        let _work = (!self.log.phrases.contains(&request.text)).then(|| self.log.work());
        self.log.spoken.lock().expect("whole").push(request.text.clone());
        sleep(BREATHES).await;
        self.tts.speak(request, audio).await
    }

    async fn warm(&self, like: &TtsRequest) -> Result<(), ProviderError> {
        self.tts.warm(like).await
    }

    fn keeps_phrases(&self) -> bool {
        self.tts.keeps_phrases()
    }
}

/// A model with scripted responses.
struct Script {
    answers: Mutex<VecDeque<&'static str>>,
    /// Behaviour when the responses are used up.
    then: Then,
}

enum Then {
    Always(&'static str),
    Goodbye(&'static str),
}

/// Returns a model with one response to everything.
pub(crate) fn always(answer: &'static str) -> Arc<dyn Llm> {
    Arc::new(Script { answers: Mutex::default(), then: Then::Always(answer) })
}

/// Returns a model that gives these responses in order, and ends the call with the last one.
pub(crate) fn and_goodbye<const N: usize>(answers: [&'static str; N], last: &'static str) -> Arc<dyn Llm> {
    Arc::new(Script { answers: Mutex::new(answers.into()), then: Then::Goodbye(last) })
}

#[async_trait]
impl Llm for Script {
    async fn respond(&self, _: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let next = self.answers.lock().expect("whole").pop_front();
        let text = next.unwrap_or(match self.then {
            Then::Always(text) | Then::Goodbye(text) => text,
        });
        let mut said = vec![LlmEvent::Delta(text.to_owned())];
        if next.is_none() && matches!(self.then, Then::Goodbye(_)) {
            let (id, name) = ("call_end".to_owned(), "end_call".to_owned());
            let call = ToolCall { id, name, arguments: json!({}), signature: None };
            said.push(LlmEvent::ToolCall(Box::new(call)));
        }
        for event in said {
            // A driver that is gone needs no response.
            let _ = events.send(event).await;
        }
        Ok(Usage::default())
    }

    async fn analyse(&self, _: AnalysisRequest) -> Result<Analysis, ProviderError> {
        Err(ProviderError::Failed { provider: "script", message: "nobody looks back on a rehearsal".to_owned() })
    }
}
