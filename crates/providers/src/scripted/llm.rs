//! The language model stage without a language model.

use async_trait::async_trait;
use serde_json::{Value, json};
use switchhook_core::conversation::ToolCall;
use switchhook_media::frame::CallerAudio;
use tokio::sync::mpsc;

use super::PROVIDER;
use super::flow::Flow;
use crate::realtime::{Realtime, RealtimeCommand, RealtimeEvent, RealtimeOptions, RealtimeSession};
use crate::{Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Usage};

/// Leads the dialogue of a [`Flow`].
pub struct ScriptedLlm {
    flow: Flow,
}

impl ScriptedLlm {
    /// Creates a model with the flow in a connection's `settings.flow`, by default the table booking.
    ///
    /// # Errors
    /// When the flow is not valid.
    pub fn new(flow: Option<&Value>) -> Result<Self, ProviderError> {
        let flow = match flow {
            None => Flow::table_booking(),
            Some(given) => serde_path_to_error::deserialize(given).map_err(|error| ProviderError::Config {
                provider: PROVIDER,
                message: format!("settings.flow.{}: {}", error.path(), error.inner()),
            })?,
        };
        Ok(Self { flow })
    }
}

#[async_trait]
impl Llm for ScriptedLlm {
    async fn respond(&self, request: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let (text, ends) = self.flow.next(&self.flow.read(&request.messages));
        for word in text.split_inclusive(' ') {
            if events.send(LlmEvent::Delta(word.to_owned())).await.is_err() {
                return Ok(Usage::default()); // The receiver is closed.
            }
        }
        if ends {
            let call =
                ToolCall { id: "end".to_owned(), name: "end_call".to_owned(), arguments: json!({}), signature: None };
            let _ = events.send(LlmEvent::ToolCall(Box::new(call))).await;
        }
        Ok(Usage::default())
    }

    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        let progress = self.flow.read(&request.messages);
        Ok(Analysis { summary: self.flow.summarise(&progress), outcome: self.flow.outcome(&progress) })
    }
}

/// An LLM that never responds; behind one of the simulator's numbers.
pub struct NeverResponds;

#[async_trait]
impl Llm for NeverResponds {
    async fn respond(&self, _request: LlmRequest, _events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        std::future::pending().await
    }

    async fn analyse(&self, _request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        Err(ProviderError::Timeout { provider: PROVIDER, waited_ms: 0 })
    }
}

/// Keeps the session open and sends nothing.
struct Silent {
    _events: mpsc::Sender<RealtimeEvent>,
}

impl RealtimeSession for Silent {
    fn audio(&mut self, _: &CallerAudio) {}
    fn send(&mut self, _: RealtimeCommand) {}
    fn probe(&mut self) {}
}

#[async_trait]
impl Realtime for NeverResponds {
    async fn open(
        &self,
        _: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError> {
        Ok(Box::new(Silent { _events: events }))
    }
}
