//! The shared LLM client: streams a response as server-sent events, enforces timeouts, and retries where that helps. Dropping the
//! future cancels the request.
//!
//! A provider's API is described by its [`LlmAdapter`]; everything that providers share is here. A request is retried only while
//! no part of the response has been emitted: a caller would hear it twice.

pub(crate) mod analysis;
mod changes;
mod failure;
pub(crate) mod finish_reason;
mod refused_tools;
pub(crate) mod server;
mod shorten;
pub(crate) mod speech_filter;
mod stream_state;
mod token_limits;
pub(crate) mod tool_names;
pub(crate) mod turns;
mod unopened_reasoning;
pub(crate) mod unstreamed;
mod withheld;
mod written_calls;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde_json::Value;
use switchhook_core::agent::SEND_DTMF;
use switchhook_core::conversation::{Message, Role, ToolCall};
use switchhook_net::lenient_json;
use switchhook_net::outbound::unpacked;
use switchhook_net::queues::Queue;
use switchhook_net::text::{content_type, text};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use self::changes::Changes;
pub(crate) use self::failure::{LlmFailure, Retry};
use self::refused_tools::{Learnt, RefusedTools};
pub(crate) use self::server::{LLM_SETTINGS, LlmServer};
use self::speech_filter::SpeechFilter;
use self::stream_state::StreamState;
use self::token_limits::{TokenLimit, TokenLimits, USED_UP, raise};
use self::unopened_reasoning::UnopenedReasoning;
use self::unstreamed::Unstreamed;
pub use self::withheld::Withheld;
use crate::sse::{EventStream, TooLong};
use crate::{
    Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, RefusedTool, ToolSpec, Usage, UsageMeter,
};

/// The longest word that keeps a connection open as the data of an event, in bytes.
const LONGEST_HEARTBEAT: usize = 24;
/// How long the headers of a response may take.
const FIRST_BYTE: Duration = Duration::from_secs(5);

/// How long a response may take in total, including retries.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Attempts at one response, including the first.
const TRIES: usize = 3;
/// The shortest pauses before the second and the third.
const PAUSES: [Duration; TRIES - 1] = [Duration::from_millis(100), Duration::from_millis(600)];
/// How many bytes of a response's stream are read: many times what a caller would listen to.
const STREAM_BYTES: usize = 1024 * 1024;
/// How many bytes of the response to a warmup request are read.
const WARMUP_BYTES: usize = 256 * 1024;
/// Token limit of a response when the agent sets none: a caller does not listen longer.
pub(crate) const MAX_TOKENS: u32 = 300;

/// The API of one LLM provider.
pub(crate) trait LlmAdapter: Send + Sync + 'static {
    /// The parser of this API's responses.
    type LlmResponse: LlmResponse;

    /// The provider's name, in errors.
    fn name(&self) -> &'static str;

    /// Builds a request without cost that opens a connection; without the server's own headers.
    fn warmup_request(&self, server: &LlmServer) -> reqwest::RequestBuilder;

    /// Builds the request for a streamed response, without the server's own headers.
    fn request(&self, server: &LlmServer, request: &LlmRequest) -> reqwest::RequestBuilder;

    /// Learns from a refusal which form of request this server accepts. Returns whether to send the request again in that form; `times`
    /// is how often that has happened for this request.
    fn learn(&self, _failure: &LlmFailure, _times: u8) -> bool {
        false
    }
}

/// Parses a streamed response.
pub(crate) trait LlmResponse: Default + Send {
    /// Takes the data of one event.
    ///
    /// # Errors
    /// The server's error, which may come in the middle of a response.
    fn take(&mut self, event: &Value) -> Result<StreamStep, LlmFailure>;

    /// Ends the response, with the end marker of OpenAI's API (`[DONE]`) or without. Returns the complete tool calls.
    ///
    /// # Errors
    /// When the response was cut off or is unusable.
    fn finish(&mut self, done: bool) -> Result<Vec<ToolCall>, LlmFailure>;

    /// Returns its usage, if the server has reported it.
    fn usage(&self) -> Option<Usage>;

    /// Returns whether it ended at its token limit.
    fn is_cut(&self) -> bool;
}

/// The contents of an event.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum StreamStep {
    /// Text to speak.
    Text(String),
    /// A piece of a tool call.
    Tool,
    /// Nothing to act on.
    #[default]
    Nothing,
    /// The response is complete; nothing relevant follows.
    Over,
}

/// A provider's language models.
pub(crate) struct LlmClient<D> {
    dialect: D,
    server: LlmServer,
    refused: RefusedTools,
    limits: TokenLimits,
    reasoning: UnopenedReasoning,
}

/// Returns whether keys were pressed and nothing else was done since the model spoke: there may be nothing to say.
fn has_pressed_keys(messages: &[Message]) -> bool {
    let is_result = |message: &&Message| message.role == Role::Tool;
    let called = messages.iter().rev().find(|message| !is_result(message)).map(|message| &message.tool_calls);
    let only_keys = called.is_some_and(|calls| calls.iter().all(|call| call.name == SEND_DTMF));
    messages.last().as_ref().is_some_and(is_result) && only_keys
}

impl<D: LlmAdapter> LlmClient<D> {
    pub(crate) fn new(dialect: D, server: LlmServer) -> Self {
        Self {
            dialect,
            server,
            refused: RefusedTools::default(),
            limits: TokenLimits::default(),
            reasoning: UnopenedReasoning::default(),
        }
    }

    /// Makes one request, with retries. The usage of each attempt is added to `meter`.
    async fn with_retries(
        &self,
        mut request: LlmRequest,
        events: &mpsc::Sender<LlmEvent>,
        meter: &UsageMeter,
    ) -> Result<(), LlmFailure> {
        let may_be_silent = has_pressed_keys(&request.messages);
        let mut changes = self.prepare(&mut request);
        let mut was_silent = false;
        let mut pauses = PAUSES.into_iter();
        loop {
            let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
            let limit = self.limit(&request);
            let model = self.server.model(&request, "").to_owned();
            let filter = SpeechFilter::new(tools, self.reasoning.is_known(&model));
            let mut reading = StreamState { filter, limit, ..StreamState::default() };
            let mut response = D::LlmResponse::default();
            let attempted = self.attempt(&request, events, &mut reading, &mut response).await;
            self.reasoning.learn(&model, reading.filter.begins_with_reasoning());
            let used_up = |failure: &LlmFailure| !reading.begun && failure.mentions(&USED_UP);
            let attempted =
                attempted.map_err(|failure| if used_up(&failure) { LlmFailure::used_up(limit) } else { failure });
            let estimated = || estimate(characters(&request.messages), reading.characters);
            let used = response.usage().or_else(|| (attempted.is_ok() || reading.alive).then(estimated));
            meter.add(used.unwrap_or_default());
            let Err(failure) = attempted else {
                self.accepts(&request.tools);
                self.limits.remember(&model, changes.requested, request.max_tokens.unwrap_or(MAX_TOKENS));
                if let Some(withheld) = &request.withheld {
                    withheld.remember(changes.last_words);
                }
                return Ok(());
            };
            // Some models forget to speak. A repeated empty response is intended.
            if failure == LlmFailure::empty_response() && may_be_silent && std::mem::replace(&mut was_silent, true) {
                return Ok(());
            }
            if !reading.begun && self.learns(&failure, &mut request, &mut changes) {
                continue;
            }
            let Some(pause) = pauses.next().filter(|_| !reading.begun) else { return Err(failure) };
            match failure.retry {
                Retry::Same { after } => tokio::time::sleep(after.max(pause)).await,
                retry if changes.apply(retry, &mut request.messages) => {
                    if retry == Retry::Shortened {
                        // A raised limit may leave no room for the conversation.
                        self.limits.forget(&model, changes.requested);
                        request.max_tokens = Some(changes.requested);
                    }
                }
                _ => return Err(failure),
            }
            tracing::warn!(provider = self.dialect.name(), reason = %failure.kind(), "LLM request failed; retrying");
        }
    }

    /// Removes from a request everything that is known to be refused, and raises a token limit that is known to be too low.
    fn prepare(&self, request: &mut LlmRequest) -> Changes {
        let tools = self.refused.leave_out(&mut request.tools);
        if let Some(withheld) = &request.withheld {
            withheld.leave_out(&mut request.messages);
        }
        let requested = request.max_tokens.unwrap_or(MAX_TOKENS);
        request.max_tokens = Some(self.limits.of(self.server.model(request, ""), requested));
        Changes::new(tools, request.withheld.is_some(), requested)
    }

    /// Returns the token limit of a request, as the server gets it.
    fn limit(&self, request: &LlmRequest) -> TokenLimit {
        match self.server.token_limit() {
            Some(set) => TokenLimit::Settings(set.as_u64()),
            None => TokenLimit::Raisable(request.max_tokens.unwrap_or(MAX_TOKENS)),
        }
    }

    /// Learns from a refusal what this server accepts. Returns whether to send the changed request.
    fn learns(&self, failure: &LlmFailure, request: &mut LlmRequest, changes: &mut Changes) -> bool {
        let provider = self.dialect.name();
        if self.dialect.learn(failure, changes.learnt) {
            tracing::info!(provider, "LLM server wants another form of conversation; retrying");
            changes.learnt += 1;
            return true;
        }
        if let Retry::Longer { used } = failure.retry
            && !std::mem::replace(&mut changes.longer, true)
            && let Some(raised) = raise(used)
        {
            tracing::info!(
                provider,
                raised,
                "LLM uses up its token limit before its first word; retrying with a higher one"
            );
            request.max_tokens = Some(raised);
            return true;
        }
        match self.refused.learn(failure, self.server.key(), &mut request.tools, &mut changes.tools) {
            Some(Learnt::Refused(tool)) => tracing::warn!(provider, tool, "LLM server refuses a tool; it is left out"),
            Some(Learnt::Nothing) => {
                let offered = request.tools.len();
                tracing::warn!(
                    provider,
                    offered,
                    "LLM server refuses a tool without naming it; some are left out to find it"
                );
            }
            None => return false,
        }
        true
    }

    /// Takes note that the server accepts these tools.
    fn accepts(&self, tools: &[ToolSpec]) {
        for tool in self.refused.accepted(tools) {
            tracing::warn!(provider = self.dialect.name(), tool, "LLM server refuses a tool; it is left out");
        }
    }

    async fn attempt(
        &self,
        request: &LlmRequest,
        events: &mpsc::Sender<LlmEvent>,
        reading: &mut StreamState,
        parsed: &mut D::LlmResponse,
    ) -> Result<(), LlmFailure> {
        let timeouts = self.server.timeouts();
        let first_word = Instant::now() + timeouts.first_word;
        let sent = self.server.send(self.dialect.request(&self.server, request));
        let response =
            timeout(timeouts.first_byte, sent).await.map_err(|_| LlmFailure::timeout(timeouts.first_byte))??;
        let (url, headers) = (response.url().clone(), response.headers().clone());
        let mut stream = response.bytes_stream();
        let mut lines = EventStream::default();
        let mut read = 0;
        'reading: loop {
            let gap = Instant::now() + timeouts.gap;
            let (deadline, waited) =
                if reading.alive || gap < first_word { (gap, timeouts.gap) } else { (first_word, timeouts.first_word) };
            let piece = match timeout_at(deadline, stream.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => return Err(LlmFailure::broken(error)),
                Ok(None) => break,
                Err(_) => return Err(LlmFailure::timeout(waited)),
            };
            read += piece.len();
            if read > STREAM_BYTES {
                Queue::LlmStream.full();
                return Err(LlmFailure::too_large());
            }
            reading.keep_unread(&piece);
            let complete = lines.push(&piece).map_err(|TooLong| {
                Queue::LlmEvent.full();
                LlmFailure::too_large()
            })?;
            for data in complete {
                if data.trim() == "[DONE]" {
                    (reading.seen, reading.done) = (true, true);
                    break 'reading;
                }
                let event = match lenient_json::from_str(&data) {
                    Ok(event) => event,
                    Err(_) if is_heartbeat(&data) => {
                        tracing::debug!(provider = self.dialect.name(), "LLM server sent a heartbeat as data");
                        continue;
                    }
                    Err(_) => return Err(LlmFailure::unreadable()),
                };
                reading.seen = true;
                let step = parsed.take(&event)?;
                // Before it is passed on: the request may be dropped then.
                if !reading.alive && matches!(step, StreamStep::Text(_) | StreamStep::Tool) {
                    self.accepts(&request.tools);
                }
                if reading.take(step, events).await? {
                    break 'reading;
                }
            }
        }
        if !reading.seen {
            let body = text(content_type(&headers), &std::mem::take(&mut reading.unread));
            return self.whole(&unstreamed::read(&body, &url)?, events, reading, parsed).await;
        }
        reading.finish(self.dialect.name(), parsed, events).await
    }

    /// Handles a complete response that was sent although a stream was requested.
    async fn whole(
        &self,
        body: &Unstreamed,
        events: &mpsc::Sender<LlmEvent>,
        reading: &mut StreamState,
        parsed: &mut D::LlmResponse,
    ) -> Result<(), LlmFailure> {
        for event in &body.events {
            let step = parsed.take(event)?;
            if step != StreamStep::Nothing {
                reading.seen = true;
            }
            if reading.take(step, events).await? {
                return Ok(());
            }
        }
        if !reading.seen {
            return Err(body.failure.clone());
        }
        reading.done = true;
        reading.finish(self.dialect.name(), parsed, events).await
    }

    async fn respond_within(
        &self,
        request: LlmRequest,
        events: mpsc::Sender<LlmEvent>,
        meter: &UsageMeter,
    ) -> Result<(), ProviderError> {
        let asked = timeout(RESPONSE_TIMEOUT, self.with_retries(request, &events, meter)).await;
        let asked = asked.unwrap_or_else(|_| Err(LlmFailure::timeout(RESPONSE_TIMEOUT)));
        asked.map_err(|failure| failure.into_error(self.dialect.name(), self.server.key()))
    }

    async fn collect_text(&self, request: LlmRequest, meter: &UsageMeter) -> Result<String, ProviderError> {
        let (events, mut pieces) = mpsc::channel(16);
        let collecting = async {
            let mut text = String::new();
            while let Some(event) = pieces.recv().await {
                if let LlmEvent::Delta(more) = event {
                    text.push_str(&more);
                }
            }
            text
        };
        let (done, text) = tokio::join!(self.respond_within(request, events, meter), collecting);
        done.map(|()| text)
    }
}

/// Returns whether the data of an event is a word to keep the connection open, such as `ping` or `[HEARTBEAT]`, and no torn JSON.
fn is_heartbeat(data: &str) -> bool {
    let word = data.trim().trim_matches(['[', ']', ':']);
    (1..=LONGEST_HEARTBEAT).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-".contains(&byte))
}

/// Estimates the usage of a response whose server does not report it: four characters per token.
pub fn estimate(read: usize, written: usize) -> Usage {
    let tokens = |characters: usize| u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX);
    Usage {
        llm_input_tokens: tokens(read),
        llm_output_tokens: tokens(written),
        llm_estimated: true,
        ..Usage::default()
    }
}

/// Returns how many characters a model reads in these messages.
pub fn characters(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.text.chars().count()).sum()
}

#[async_trait]
impl<D: LlmAdapter> Llm for LlmClient<D> {
    async fn warm(&self) -> Result<(), ProviderError> {
        if self.server.is_warm() {
            return Ok(());
        }
        let greeted = async {
            let mut response = self.dialect.warmup_request(&self.server).send().await.map(unpacked).ok()?;
            if response.status().is_client_error() {
                return LlmFailure::of_key(response).await;
            }
            self.server.warmed();
            // A connection can be reused only after the response has been read.
            let mut read = 0;
            while let Ok(Some(piece)) = response.chunk().await {
                read += piece.len();
                if read > WARMUP_BYTES {
                    break;
                }
            }
            None
        };
        // Other failures are ignored: the first request will report them.
        match timeout(FIRST_BYTE, greeted).await {
            Ok(Some(failure)) => Err(failure.into_error(self.dialect.name(), self.server.key())),
            _ => Ok(()),
        }
    }

    async fn respond(&self, request: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let meter = UsageMeter::default();
        self.respond_within(request, events, &meter).await.map(|()| meter.usage())
    }

    fn refused(&self, tools: &[ToolSpec]) -> Vec<RefusedTool> {
        self.refused.among(tools)
    }

    fn is_searching_refused(&self, tools: &[ToolSpec]) -> bool {
        self.refused.is_searching(tools)
    }

    fn forget_refusals(&self) {
        self.refused.forget();
        self.limits.forget_all();
    }

    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        let mut prompt = analysis::prompt(&request);
        let text = self.collect_text(prompt.clone(), &request.meter).await?;
        let wrong = match analysis::read(&text, request.schema.as_ref()).await {
            Ok(found) => return Ok(found),
            Err(wrong) => wrong,
        };
        prompt.messages.push(Message::new(Role::Assistant, text));
        prompt.messages.push(Message::new(Role::User, wrong.to_model()));
        let text = self.collect_text(prompt, &request.meter).await?;
        match analysis::read(&text, request.schema.as_ref()).await {
            Ok(found) => Ok(found),
            Err(analysis::AnalysisProblem::Outcome { summary, .. }) => {
                tracing::warn!(
                    provider = self.dialect.name(),
                    "the outcome does not follow its schema, twice, and is left out"
                );
                Ok(Analysis { summary, outcome: Value::Null })
            }
            Err(analysis::AnalysisProblem::Form) => {
                let message = "its post-call analysis was not the requested JSON".to_owned();
                Err(ProviderError::Failed { provider: self.dialect.name(), message })
            }
        }
    }
}

#[cfg(test)]
mod tests;
