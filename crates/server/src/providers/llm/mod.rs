//! The ground that language models stand on: one request is streamed as server-sent events, watched by the clock, tried again
//! where that helps, and taken back by dropping it.
//!
//! What a provider's interface looks like is its [`Dialect`]; everything that is the same for all of them is here. Requests
//! are sent again only while nothing of an answer has been given: a caller would hear it twice.

pub(crate) mod analysis;
mod refusal;
pub(crate) mod server;
mod shorten;
pub(crate) mod thoughts;
pub(crate) mod turns;

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde_json::Value;
use switchhook_core::conversation::{Message, Role, ToolCall};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use self::refusal::{Refusal, Remedy};
use self::server::FIRST_BYTE;
pub(crate) use self::server::Server;
use self::shorten::shorten;
use self::thoughts::Thoughts;
use crate::providers::sse::{Events, TooLong};
use crate::providers::{Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Spent, Usage};
use crate::queues::Queue;

/// All of it, repetitions included.
const WHOLE: Duration = Duration::from_secs(60);
/// Requests for one answer, the first included.
const TRIES: usize = 3;
/// The least pause before the second and the third.
const PAUSES: [Duration; TRIES - 1] = [Duration::from_millis(100), Duration::from_millis(600)];
/// How much of an answer's stream is read: many times what a caller would listen to.
const STREAM_BYTES: usize = 1024 * 1024;
/// How much of the answer to a greeting is read.
const GREETING_BYTES: usize = 256 * 1024;
/// Half an hour of speech: no caller listens to more.
const MOST_CHARACTERS: usize = 20_000;
/// What a sentence ends with.
const SENTENCE_ENDS: [char; 9] = ['.', '!', '?', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}', '"', '\u{201d}'];
/// Tools called in one answer.
const MOST_TOOLS: usize = 16;
/// All of them together: they stay in the history, and are sent again with every request.
const CALL_BYTES: usize = 128 * 1024;
/// Tokens of an answer when the agent sets no limit: a caller does not listen longer.
pub(crate) const MAX_TOKENS: u32 = 300;

/// What one provider's interface looks like.
pub(crate) trait Dialect: Send + Sync + 'static {
    /// An answer of this interface, being read.
    type Answer: Answer;

    /// The provider's name, by which errors speak of it.
    fn name(&self) -> &'static str;

    /// A request that costs nothing, by which a connection is made; without the server's own headers.
    fn greeting(&self, server: &Server) -> reqwest::RequestBuilder;

    /// The request, its answer to be streamed, without the server's own headers.
    fn request(&self, server: &Server, request: &LlmRequest) -> reqwest::RequestBuilder;
}

/// An answer being read.
pub(crate) trait Answer: Default + Send {
    /// Takes the data of one event.
    ///
    /// # Errors
    /// What the server says went wrong; that can be inside an answer that began well.
    fn take(&mut self, event: &Value) -> Result<Step, Refusal>;

    /// The stream has ended, with the mark of OpenAI's interface (`[DONE]`) or without: the tools it called, whole.
    ///
    /// # Errors
    /// When it was cut off, or cannot be used.
    fn finish(&mut self, done: bool) -> Result<Vec<ToolCall>, Refusal>;

    /// What it cost, if the server has said so.
    fn usage(&self) -> Option<Usage>;
}

/// What an event brought.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Step {
    /// Text to speak.
    Text(String),
    /// A piece of a tool call.
    Tool,
    /// Nothing to act on.
    #[default]
    Nothing,
    /// The answer is complete; nothing more is to come that matters.
    Over,
}

/// A provider's language models.
pub(crate) struct Models<D> {
    dialect: D,
    server: Server,
}

impl<D: Dialect> Models<D> {
    pub(crate) fn new(dialect: D, server: Server) -> Self {
        Self { dialect, server }
    }

    /// One answer, with every remedy there is. What each attempt costs is added to `spent`.
    async fn ask(
        &self,
        mut request: LlmRequest,
        events: &mpsc::Sender<LlmEvent>,
        spent: &Spent,
    ) -> Result<(), Refusal> {
        let may_be_silent = request.messages.last().is_some_and(|last| last.role == Role::Tool);
        let (mut was_silent, mut shortened) = (false, false);
        let mut pauses = PAUSES.into_iter();
        loop {
            let mut reading = Reading::default();
            let mut answer = D::Answer::default();
            let attempted = self.attempt(&request, events, &mut reading, &mut answer).await;
            let estimated = || estimate(characters(&request.messages), reading.characters);
            let used = answer.usage().or_else(|| (attempted.is_ok() || reading.alive).then(estimated));
            spent.add(used.unwrap_or_default());
            let Err(refusal) = attempted else { return Ok(()) };
            // Keys may have been pressed, and nothing is to be said. Some models forget to speak: it is meant when it is repeated.
            if refusal == Refusal::silent() && may_be_silent && std::mem::replace(&mut was_silent, true) {
                return Ok(());
            }
            let Some(pause) = pauses.next().filter(|_| !reading.begun) else { return Err(refusal) };
            match refusal.remedy {
                Remedy::Again { after } => tokio::time::sleep(after.max(pause)).await,
                Remedy::Shorter if !shortened => {
                    shortened = true;
                    shorten(&mut request.messages);
                }
                _ => return Err(refusal),
            }
            tracing::warn!(provider = self.dialect.name(), reason = %refusal.kind(), "the language model is asked again");
        }
    }

    async fn attempt(
        &self,
        request: &LlmRequest,
        events: &mpsc::Sender<LlmEvent>,
        reading: &mut Reading,
        answer: &mut D::Answer,
    ) -> Result<(), Refusal> {
        let patience = self.server.patience();
        let first_word = Instant::now() + patience.first_word;
        let sent = self.server.send(self.dialect.request(&self.server, request));
        let response = timeout(patience.first_byte, sent).await.map_err(|_| Refusal::late(patience.first_byte))??;
        let mut stream = response.bytes_stream();
        let mut lines = Events::default();
        let mut read = 0;
        'reading: loop {
            let gap = Instant::now() + patience.gap;
            let (deadline, waited) =
                if reading.alive || gap < first_word { (gap, patience.gap) } else { (first_word, patience.first_word) };
            let piece = match timeout_at(deadline, stream.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => return Err(Refusal::broken(error)),
                Ok(None) => break,
                Err(_) => return Err(Refusal::late(waited)),
            };
            read += piece.len();
            if read > STREAM_BYTES {
                Queue::LlmStream.full();
                return Err(Refusal::endless());
            }
            let complete = lines.push(&piece).map_err(|TooLong| {
                Queue::LlmEvent.full();
                Refusal::endless()
            })?;
            for data in complete {
                reading.seen = true;
                if data == "[DONE]" {
                    reading.done = true;
                    break 'reading;
                }
                let event = serde_json::from_str(&data).map_err(|_| Refusal::unreadable())?;
                if reading.take(answer.take(&event)?, events).await? {
                    break 'reading;
                }
            }
        }
        reading.finish(self.dialect.name(), answer, events).await
    }

    async fn answer_within(
        &self,
        request: LlmRequest,
        events: mpsc::Sender<LlmEvent>,
        spent: &Spent,
    ) -> Result<(), ProviderError> {
        let asked = timeout(WHOLE, self.ask(request, &events, spent)).await;
        let asked = asked.unwrap_or_else(|_| Err(Refusal::late(WHOLE)));
        asked.map_err(|refusal| refusal.into_error(self.dialect.name(), &self.server))
    }

    async fn gather(&self, request: LlmRequest, spent: &Spent) -> Result<String, ProviderError> {
        let (events, mut pieces) = mpsc::channel(16);
        let gathering = async {
            let mut text = String::new();
            while let Some(event) = pieces.recv().await {
                if let LlmEvent::Delta(more) = event {
                    text.push_str(&more);
                }
            }
            text
        };
        let (answered, text) = tokio::join!(self.answer_within(request, events, spent), gathering);
        answered.map(|()| text)
    }
}

/// How far one answer is.
#[derive(Default)]
struct Reading {
    /// Whether there was any event.
    seen: bool,
    /// Whether the stream said that it is complete.
    done: bool,
    /// Whether the model writes.
    alive: bool,
    /// Whether something was given to whoever listens.
    begun: bool,
    /// Whether a tool was called, or began to be.
    calls: bool,
    /// Whether what was given last ends a sentence.
    sentence: bool,
    thoughts: Thoughts,
    characters: usize,
}

impl Reading {
    /// Passes a step on; whether it was the last one that is wanted.
    async fn take(&mut self, step: Step, events: &mpsc::Sender<LlmEvent>) -> Result<bool, Refusal> {
        match step {
            Step::Text(text) => {
                self.alive = true;
                self.characters += text.chars().count();
                if self.characters > MOST_CHARACTERS {
                    return Err(Refusal::endless());
                }
                let spoken = self.thoughts.spoken(&text);
                return Ok(!self.give(spoken, events).await);
            }
            Step::Over => return Ok(true),
            Step::Tool => (self.alive, self.calls) = (true, true),
            Step::Nothing => {}
        }
        Ok(false)
    }

    /// Whether somebody still listens.
    async fn give(&mut self, text: String, events: &mpsc::Sender<LlmEvent>) -> bool {
        if text.is_empty() {
            return true;
        }
        self.begun = true;
        if let Some(last) = text.trim_end().chars().last() {
            self.sentence = SENTENCE_ENDS.contains(&last);
        }
        events.send(LlmEvent::Delta(text)).await.is_ok()
    }

    async fn finish<A: Answer>(
        &mut self,
        provider: &'static str,
        answer: &mut A,
        events: &mpsc::Sender<LlmEvent>,
    ) -> Result<(), Refusal> {
        if !self.seen {
            return Err(Refusal::empty());
        }
        let calls = match answer.finish(self.done) {
            // Whole sentences were said, and nobody misses what may have followed.
            Err(refusal) if refusal == Refusal::cut_off() && self.sentence && !self.calls => {
                tracing::warn!(provider, "the language model's answer ended without an end");
                Vec::new()
            }
            finished => finished?,
        };
        if calls.len() > MOST_TOOLS || calls.iter().map(bytes).sum::<usize>() > CALL_BYTES {
            Queue::LlmStream.full();
            return Err(Refusal::endless());
        }
        let rest = self.thoughts.rest();
        self.give(rest, events).await;
        if calls.is_empty() && !self.begun {
            return Err(Refusal::silent());
        }
        let mut ids = HashSet::new();
        for (position, mut call) in calls.into_iter().enumerate() {
            self.begun = true;
            // Results are told apart by them.
            if !ids.insert(call.id.clone()) {
                call.id = format!("{}_{position}", call.id);
            }
            // Nobody listens any more: the answer is no longer wanted.
            let _ = events.send(LlmEvent::ToolCall(call)).await;
        }
        Ok(())
    }
}

/// What a tool call takes in the history of the conversation.
fn bytes(call: &ToolCall) -> usize {
    let signature = call.signature.as_ref().map_or(0, String::len);
    call.id.len() + call.name.len() + call.arguments.to_string().len() + signature
}

/// What an answer cost whose server does not say: four characters to a token.
pub(crate) fn estimate(read: usize, written: usize) -> Usage {
    let tokens = |characters: usize| u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX);
    Usage {
        llm_input_tokens: tokens(read),
        llm_output_tokens: tokens(written),
        llm_estimated: true,
        ..Usage::default()
    }
}

/// How many characters a model reads in these messages.
pub(crate) fn characters(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.text.chars().count()).sum()
}

#[async_trait]
impl<D: Dialect> Llm for Models<D> {
    async fn warm(&self) -> Result<(), ProviderError> {
        if self.server.is_warm() {
            return Ok(());
        }
        let greeted = async {
            let mut response = self.dialect.greeting(&self.server).send().await.ok()?;
            if response.status().is_client_error() {
                return Refusal::of_key(response).await;
            }
            self.server.warmed();
            // A connection can be used again once the answer is read.
            let mut read = 0;
            while let Ok(Some(piece)) = response.chunk().await {
                read += piece.len();
                if read > GREETING_BYTES {
                    break;
                }
            }
            None
        };
        // Why else it may not have worked is not told apart: the first question will say.
        match timeout(FIRST_BYTE, greeted).await {
            Ok(Some(refusal)) => Err(refusal.into_error(self.dialect.name(), &self.server)),
            _ => Ok(()),
        }
    }

    async fn answer(&self, request: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let spent = Spent::default();
        self.answer_within(request, events, &spent).await.map(|()| spent.usage())
    }

    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        let mut question = analysis::question(&request);
        let text = self.gather(question.clone(), &request.spent).await?;
        let wrong = match analysis::read(&text, request.schema.as_ref()).await {
            Ok(found) => return Ok(found),
            Err(wrong) => wrong,
        };
        question.messages.push(Message::new(Role::Assistant, text));
        question.messages.push(Message::new(Role::User, wrong.to_model()));
        let text = self.gather(question, &request.spent).await?;
        match analysis::read(&text, request.schema.as_ref()).await {
            Ok(found) => Ok(found),
            Err(analysis::Wrong::Outcome { summary, .. }) => {
                tracing::warn!(
                    provider = self.dialect.name(),
                    "the outcome does not follow its schema, twice, and is left out"
                );
                Ok(Analysis { summary, outcome: Value::Null })
            }
            Err(analysis::Wrong::Form) => {
                let words = "its look back on the call was not the JSON it was asked for".to_owned();
                Err(ProviderError::Failed { provider: self.dialect.name(), words })
            }
        }
    }
}
