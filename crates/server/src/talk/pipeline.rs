//! The providers of one call, each with its fallbacks, run so that the driver only reads one channel per kind.
//!
//! A provider that fails before it has given anything is replaced by the next in the same turn; one that breaks off in the
//! middle is not, since half an answer has been heard. Dropping a [`Running`] cancels it.

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::conversation::{Message, SpokenWord};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::plain::{plain, plain_value};
use crate::providers::{
    Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Stt, SttEvent, SttOptions, SttSession,
    ToolSpec, Tts, TtsAudio, TtsRequest, Usage,
};

/// How long a provider with a fallback behind it may take to give its first sign.
const PATIENCE: Duration = Duration::from_secs(4);
/// Pieces of an answer or of speech that may wait for the driver.
const WAITING: usize = 64;

/// Work under way; dropping it cancels it.
pub type Running = AbortOnDropHandle<()>;

/// The providers of one call, the first of each kind preferred.
#[derive(Clone)]
pub struct Pipeline {
    /// Speech to text.
    pub stt: Vec<(Arc<dyn Stt>, SttOptions)>,
    /// The language model.
    pub llm: Vec<(Arc<dyn Llm>, LlmSettings)>,
    /// Text to speech.
    pub tts: Vec<(Arc<dyn Tts>, TtsSettings)>,
    /// What the model may call.
    pub tools: Vec<ToolSpec>,
}

/// How a model is asked.
#[derive(Clone, Debug, Default)]
pub struct LlmSettings {
    /// The provider's model name.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
}

/// How a voice speaks.
#[derive(Clone, Debug)]
pub struct TtsSettings {
    /// The provider's voice name.
    pub voice: Option<String>,
    /// The provider's model name.
    pub model: Option<String>,
    /// Speaking rate; 1 is the voice's own.
    pub speed: f32,
    /// BCP 47 tag.
    pub language: String,
}

/// What a running request says, and which one.
pub enum Signal<T> {
    /// The next piece.
    Piece(T),
    /// That was all.
    Done(Usage),
    /// It failed, and no fallback was left.
    Failed(ProviderError),
}

impl Pipeline {
    /// Opens the first recogniser that answers.
    ///
    /// # Errors
    /// The last one's error when none does.
    pub async fn open_stt(&self, events: mpsc::Sender<SttEvent>) -> Result<Box<dyn SttSession>, ProviderError> {
        let mut last = none_configured("speech to text");
        for (stt, options) in &self.stt {
            let opened = tokio::time::timeout(PATIENCE, stt.open(options.clone(), events.clone())).await;
            match opened.unwrap_or_else(|_| Err(out_of_patience("speech to text"))) {
                Ok(session) => return Ok(session),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Asks the model; `turn` comes back with every signal.
    pub fn ask(&self, turn: u32, messages: Vec<Message>, signals: mpsc::Sender<(u32, Signal<LlmEvent>)>) -> Running {
        let (llms, tools) = (self.llm.clone(), self.tools.clone());
        AbortOnDropHandle::new(tokio::spawn(async move {
            let start = |(llm, settings): &(Arc<dyn Llm>, LlmSettings), events| {
                let request = LlmRequest {
                    model: settings.model.clone(),
                    messages: messages.clone(),
                    tools: tools.clone(),
                    temperature: settings.temperature,
                    max_tokens: settings.max_tokens,
                };
                let llm = llm.clone();
                async move { llm.answer(request, events).await }
            };
            run("language model", turn, &llms, start, signals).await;
        }))
    }

    /// Speaks; `utterance` comes back with every signal.
    pub fn speak(&self, utterance: u32, text: String, signals: mpsc::Sender<(u32, Signal<TtsAudio>)>) -> Running {
        let voices = self.tts.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            run("text to speech", utterance, &voices, |voice, audio| say(voice, &text, audio), signals).await;
        }))
    }

    /// Renders a sentence that will be spoken later.
    pub fn render(&self, text: String) -> AbortOnDropHandle<Result<Rendered, ProviderError>> {
        let voices = self.tts.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let (signals, mut pieces) = mpsc::channel(WAITING);
            let speaking = run("text to speech", 0, &voices, |voice, audio| say(voice, &text, audio), signals);
            let gathering = async {
                let mut rendered = Rendered::default();
                while let Some((_, signal)) = pieces.recv().await {
                    match signal {
                        Signal::Piece(piece) => rendered.add(piece),
                        Signal::Done(usage) => rendered.usage = usage,
                        Signal::Failed(error) => return Err(error),
                    }
                }
                Ok(rendered)
            };
            let ((), rendered) = tokio::join!(speaking, gathering);
            rendered
        }))
    }

    /// Looks back on the conversation with the first model that answers.
    ///
    /// # Errors
    /// The last one's error when none does.
    pub async fn analyse(
        &self,
        messages: &[Message],
        schema: Option<&serde_json::Value>,
    ) -> Result<Analysis, ProviderError> {
        let mut last = none_configured("language model");
        for (llm, settings) in &self.llm {
            let request =
                AnalysisRequest { model: settings.model.clone(), messages: messages.to_vec(), schema: schema.cloned() };
            match llm.analyse(request).await {
                Ok(Analysis { summary, outcome, usage }) => {
                    return Ok(Analysis { summary: plain(summary), outcome: plain_value(outcome), usage });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// A sentence that has been spoken into memory.
#[derive(Default)]
pub struct Rendered {
    /// 8 kHz, 16 bit, mono.
    pub samples: Vec<i16>,
    /// When its words are spoken.
    pub words: Vec<SpokenWord>,
    /// What it cost.
    pub usage: Usage,
}

impl Rendered {
    fn add(&mut self, piece: TtsAudio) {
        self.samples.extend(piece.samples);
        self.words.extend(piece.words);
    }
}

fn say(
    (tts, settings): &(Arc<dyn Tts>, TtsSettings),
    text: &str,
    audio: mpsc::Sender<TtsAudio>,
) -> impl Future<Output = Result<Usage, ProviderError>> + Send + use<> {
    let request = TtsRequest {
        text: text.to_owned(),
        voice: settings.voice.clone(),
        model: settings.model.clone(),
        speed: settings.speed,
        language: settings.language.clone(),
    };
    let tts = tts.clone();
    async move { tts.speak(request, audio).await }
}

/// Runs the first provider that works and signals what it gives, tagged with `tag`.
async fn run<P, T, W>(
    kind: &'static str,
    tag: u32,
    providers: &[P],
    start: impl Fn(&P, mpsc::Sender<T>) -> W,
    signals: mpsc::Sender<(u32, Signal<T>)>,
) where
    W: Future<Output = Result<Usage, ProviderError>>,
{
    let mut last = none_configured(kind);
    for (position, provider) in providers.iter().enumerate() {
        let patience = (position + 1 < providers.len()).then_some(PATIENCE);
        let (pieces, received) = mpsc::channel(WAITING);
        match one(kind, tag, start(provider, pieces), received, patience, &signals).await {
            Attempt::Ended(result) => {
                let signal = result.map_or_else(Signal::Failed, Signal::Done);
                // A driver that has gone needs no answer.
                let _ = signals.send((tag, signal)).await;
                return;
            }
            Attempt::GaveNothing(error) => last = error,
        }
    }
    let _ = signals.send((tag, Signal::Failed(last))).await;
}

/// How one provider did.
enum Attempt {
    /// It gave something, or all there was.
    Ended(Result<Usage, ProviderError>),
    /// It failed before it gave anything: another may be tried.
    GaveNothing(ProviderError),
}

async fn one<T>(
    kind: &'static str,
    tag: u32,
    work: impl Future<Output = Result<Usage, ProviderError>>,
    mut received: mpsc::Receiver<T>,
    patience: Option<Duration>,
    signals: &mpsc::Sender<(u32, Signal<T>)>,
) -> Attempt {
    let mut work = std::pin::pin!(work);
    let mut begun = false;
    let mut impatient = std::pin::pin!(tokio::time::sleep(patience.unwrap_or_default()));
    let result = loop {
        tokio::select! {
            biased;
            Some(piece) = received.recv() => {
                begun = true;
                let _ = signals.send((tag, Signal::Piece(piece))).await;
            }
            result = &mut work => break result,
            () = &mut impatient, if patience.is_some() && !begun => break Err(out_of_patience(kind)),
        }
    };
    while let Ok(piece) = received.try_recv() {
        begun = true;
        let _ = signals.send((tag, Signal::Piece(piece))).await;
    }
    match result {
        Err(error) if !begun => Attempt::GaveNothing(error),
        result => Attempt::Ended(result),
    }
}

fn none_configured(kind: &'static str) -> ProviderError {
    ProviderError::Config { provider: kind, words: "no provider is configured".to_owned() }
}

fn out_of_patience(kind: &'static str) -> ProviderError {
    ProviderError::Timeout { provider: kind, waited_ms: u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX) }
}
