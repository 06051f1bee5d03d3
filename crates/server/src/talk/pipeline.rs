//! The providers of one call, each with its fallbacks, run so that the driver only reads one channel per kind.
//!
//! A provider that fails before it has given anything is replaced by the next in the same turn; one that breaks off in the
//! middle is not, since half an answer has been heard. Where the agent wants it, a model that is late gets company. Dropping
//! a [`Running`] cancels it.

mod pace;
mod race;
mod run;

pub use self::pace::{Pace, Paces};

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::conversation::{Message, SpokenWord};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use self::run::{Entry, Kind, run};
use super::hearing::{Hearing, Recogniser};
use super::plain::{plain, plain_value};
use super::tools::Toolbox;
use crate::providers::llm;
use crate::providers::prices::Rates;
use crate::providers::{
    Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Stt, SttEvent, SttOptions, Tts, TtsAudio,
    TtsRequest, Usage,
};

/// How long a provider with a fallback behind it may take to give its first sign.
const PATIENCE: Duration = Duration::from_secs(4);
/// The same for a voice, while which is waited for there is silence.
const VOICE_PATIENCE: Duration = Duration::from_secs(2);
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
    pub tools: Arc<Toolbox>,
    /// What they charge.
    pub rates: KnownRates,
    /// Whether a second model is asked when the first is late.
    pub hedge: bool,
}

/// What providers charge, in the order of the providers; nothing where that is not known.
#[derive(Clone, Debug, Default)]
pub struct KnownRates {
    /// Speech to text.
    pub stt: Vec<Option<Rates>>,
    /// The language model.
    pub llm: Vec<Option<Rates>>,
    /// Text to speech.
    pub tts: Vec<Option<Rates>>,
}

/// The cost of what the provider at `position` did.
fn priced(rates: &[Option<Rates>], position: usize, usage: Usage) -> Usage {
    Rates::price(rates.get(position).and_then(Option::as_ref), usage)
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
    /// How long it takes to begin.
    pub pace: Arc<Pace>,
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
    /// Opens the first recogniser that answers, with the others behind it.
    ///
    /// # Errors
    /// The last one's error when none does.
    pub async fn open_stt(&self, events: mpsc::Sender<SttEvent>) -> Result<Hearing, ProviderError> {
        let rates = |position: usize| self.rates.stt.get(position).copied().flatten();
        let recognisers = self.stt.iter().cloned().enumerate();
        let recognisers =
            recognisers.map(|(position, (stt, options))| Recogniser { stt, options, rates: rates(position) });
        Hearing::open(recognisers.collect(), events).await
    }

    /// What an answer costs that was taken back after so many characters: providers charge for it and do not say how much.
    #[must_use]
    pub fn taken_back(&self, read: usize, written: usize) -> Usage {
        priced(&self.rates.llm, 0, llm::estimate(read, written))
    }

    /// What speech of so many characters costs that was stopped: they were sent, and are charged all the same.
    #[must_use]
    pub fn stopped(&self, characters: u64) -> Usage {
        priced(&self.rates.tts, 0, Usage { tts_characters: characters, ..Usage::default() })
    }

    /// Asks the model; `turn` comes back with every signal.
    pub fn ask(&self, turn: u32, messages: Vec<Message>, signals: mpsc::Sender<(u32, Signal<LlmEvent>)>) -> Running {
        let pipeline = self.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let tools = pipeline.tools.specs().await;
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
            run(Kind::Model, turn, pipeline.models(llm::characters(&messages)), start, signals).await;
        }))
    }

    /// Speaks; `utterance` comes back with every signal.
    pub fn speak(&self, utterance: u32, text: String, signals: mpsc::Sender<(u32, Signal<TtsAudio>)>) -> Running {
        let pipeline = self.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            run(Kind::Voice, utterance, pipeline.voices(), |voice, audio| say(voice, &text, audio), signals).await;
        }))
    }

    /// Renders a sentence that will be spoken later.
    pub fn render(&self, text: String) -> AbortOnDropHandle<Result<Rendered, ProviderError>> {
        let pipeline = self.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let (signals, mut pieces) = mpsc::channel(WAITING);
            let speaking = run(Kind::Voice, 0, pipeline.voices(), |voice, audio| say(voice, &text, audio), signals);
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

    /// The models, for a question of so many characters.
    fn models(&self, characters: usize) -> Vec<Entry<'_, (Arc<dyn Llm>, LlmSettings)>> {
        let rates = |position: usize| self.rates.llm.get(position).copied().flatten();
        let providers = self.llm.iter().enumerate();
        let entries = providers.map(|(position, provider)| Entry {
            provider,
            rates: rates(position),
            pace: Some(provider.1.pace.clone()),
            late_after: provider.1.pace.late_after().filter(|_| self.hedge),
            in_vain: llm::estimate(characters, 0),
        });
        entries.collect()
    }

    fn voices(&self) -> Vec<Entry<'_, (Arc<dyn Tts>, TtsSettings)>> {
        let entry = |(position, provider)| {
            let rates = self.rates.tts.get(position).copied().flatten();
            Entry { provider, rates, pace: None, late_after: None, in_vain: Usage::default() }
        };
        self.tts.iter().enumerate().map(entry).collect()
    }

    /// Gets ready what can be while the phone rings: connections to the models that will be asked, and to servers of tools.
    pub async fn get_ready(&self) {
        let soon = if self.hedge { 2 } else { 1 };
        let warming = futures_util::future::join_all(self.llm.iter().take(soon).map(|(llm, _)| llm.warm()));
        tokio::join!(warming, self.tools.get_ready());
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
        for (position, (llm, settings)) in self.llm.iter().enumerate() {
            let request =
                AnalysisRequest { model: settings.model.clone(), messages: messages.to_vec(), schema: schema.cloned() };
            match llm.analyse(request).await {
                Ok(Analysis { summary, outcome, usage }) => {
                    let usage = priced(&self.rates.llm, position, usage);
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

fn none_configured(kind: &'static str) -> ProviderError {
    ProviderError::Config { provider: kind, words: "no provider is configured".to_owned() }
}

fn out_of_patience(kind: &'static str, waited: Duration) -> ProviderError {
    ProviderError::Timeout { provider: kind, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests;
