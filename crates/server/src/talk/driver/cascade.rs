//! The STT and LLM of a call.

use std::collections::HashMap;

use switchhook_carriers::CallInfo;
use switchhook_core::call::ErrorCode;
use switchhook_core::conversation::cascade::{CascadeEffect, CascadeInput};
use switchhook_core::conversation::{Failure, FailureCode, Input};
use switchhook_providers::{LlmEvent, SttEvent, Usage, UsageMeter};
use tokio::sync::mpsc;

use super::presynthesis::PreparedSpeech;
use super::{Driver, Inputs, Models, Signals, failure};
use crate::talk::pipeline::{RunningRequest, Signal};
use crate::talk::strip_nul::strip_nul;
use crate::talk::stt::{STT, SpeechToText};

/// The STT, and the running requests to the LLM.
pub(in crate::talk) struct Cascade {
    pub(super) stt: SpeechToText,
    events: SttEvents,
    /// The greeting that was synthesized while the phone rang.
    pub(super) greeting: Option<PreparedSpeech>,
    /// The first sentence of a speculative response, with the number of its request.
    prepared: Option<(u32, PreparedSpeech)>,
    requests: HashMap<u32, RunningLlm>,
    signals: Signals<LlmEvent>,
}

/// A running request to the LLM, and the characters of its response so far.
struct RunningLlm {
    request: RunningRequest,
    written: usize,
}

/// An event reported by the STT or the LLM.
pub(super) enum Event {
    Stt(SttEvent),
    Llm(u32, Signal<LlmEvent>),
}

impl Cascade {
    pub(in crate::talk) fn new(stt: SpeechToText, events: SttEvents, greeting: Option<PreparedSpeech>) -> Self {
        Self { stt, events, greeting, prepared: None, requests: HashMap::new(), signals: mpsc::channel(64) }
    }

    /// Returns the next event. Cancel safe.
    pub(super) async fn next(&mut self) -> Event {
        tokio::select! {
            biased;
            event = self.events.next() => Event::Stt(event),
            Some((turn, signal)) = self.signals.1.recv() => Event::Llm(turn, signal),
        }
    }

    /// Cancels a request and returns its cost: what was read and written so far is charged even so.
    fn cancel(&mut self, turn: u32) -> Usage {
        let prepared = self.prepared.take_if(|(request, _)| *request == turn);
        let speech = prepared.map_or_else(Usage::default, |(_, speech)| speech.cost());
        let completion = self.requests.remove(&turn);
        speech + completion.map_or_else(Usage::default, |RunningLlm { request, written }| request.cost(written))
    }

    /// Takes the speech that was synthesized in advance for this text.
    pub(super) fn take_prepared(&mut self, text: &str) -> Option<PreparedSpeech> {
        let greeting = self.greeting.take_if(|greeting| greeting.text == text);
        greeting.or_else(|| self.prepared.take_if(|(_, speech)| speech.text == text).map(|(_, speech)| speech))
    }

    pub(super) async fn end(mut self, usage: &UsageMeter) {
        if let Some((_, speech)) = self.prepared.take() {
            usage.add(speech.cost());
        }
        for turn in self.requests.keys().copied().collect::<Vec<_>>() {
            usage.add(self.cancel(turn));
        }
        self.stt.end().await;
    }
}

impl Driver {
    pub(super) fn on_cascade_event(&mut self, event: Event) -> Inputs {
        match event {
            Event::Stt(event) => self.on_stt_event(event),
            Event::Llm(turn, signal) => self.on_llm_signal(turn, signal).map(Input::from).into_iter().collect(),
        }
    }

    fn on_stt_event(&mut self, event: SttEvent) -> Inputs {
        if let SttEvent::Partial { text } = &event {
            let said = || CallInfo::Said { by_agent: false, text: text.clone().into(), is_final: false };
            self.media_session.inform(said);
        }
        let machine = match &event {
            SttEvent::Partial { text } => self.machine.words(text, false),
            SttEvent::Final { text, .. } => self.machine.words(text, true),
            _ => None,
        };
        std::iter::once(stt_input(event).into()).chain(machine).collect()
    }

    fn on_llm_signal(&mut self, turn: u32, signal: Signal<LlmEvent>) -> Option<CascadeInput> {
        let Models::Cascade(cascade) = &mut self.models else { return None };
        Some(match signal {
            Signal::Piece(LlmEvent::Delta(text)) => {
                if let Some(request) = cascade.requests.get_mut(&turn) {
                    request.written += text.chars().count();
                }
                CascadeInput::LlmText { turn, text: strip_nul(text) }
            }
            Signal::Piece(LlmEvent::ToolCall(call)) => {
                let filler = self.pipeline.tools.filler(&call.name);
                CascadeInput::LlmToolCall { turn, call: *call, filler }
            }
            Signal::Done(usage) => {
                cascade.requests.remove(&turn);
                self.add(*usage);
                CascadeInput::LlmDone { turn }
            }
            Signal::Failed(error) => {
                let cost = cascade.cancel(turn);
                self.add(cost);
                CascadeInput::LlmFailed { turn, failure: failure(&error) }
            }
        })
    }

    pub(super) fn perform_cascade(&mut self, effect: CascadeEffect) {
        let Models::Cascade(cascade) = &mut self.models else { return };
        match effect {
            CascadeEffect::RequestCompletion { turn, messages, .. } => {
                let request = self.pipeline.request_completion(turn, messages, cascade.signals.0.clone());
                cascade.requests.insert(turn, RunningLlm { request, written: 0 });
            }
            CascadeEffect::PrepareSpeech { turn, text } => {
                if self.pipeline.cached(&text).is_none()
                    && let Ok(slot) = self.synthesis.slots.clone().try_acquire_owned()
                {
                    let speech = PreparedSpeech::begin(&self.pipeline, text, Some(slot));
                    if let Some((_, unused)) = cascade.prepared.replace((turn, speech)) {
                        self.usage.add(unused.cost());
                    }
                }
            }
            CascadeEffect::CancelCompletion { turn } => {
                let cost = cascade.cancel(turn);
                self.add(cost);
            }
        }
    }
}

fn stt_input(event: SttEvent) -> CascadeInput {
    match event {
        SttEvent::Partial { text } => CascadeInput::TranscriptPartial { text: strip_nul(text) },
        SttEvent::Final { segment, text } => CascadeInput::TranscriptFinal { segment, text: strip_nul(text) },
        SttEvent::EndOfTurn => CascadeInput::EndOfTurn,
        SttEvent::Failed { code, message } => CascadeInput::SttFailed(stt_failure(code, message)),
    }
}

/// Returns the failure of an STT that is gone.
fn stt_failure(code: ErrorCode, message: String) -> Failure {
    let kind = match code {
        ErrorCode::ProviderTimeout => FailureCode::ProviderTimeout,
        ErrorCode::ConfigError => FailureCode::Config,
        _ => FailureCode::Pipeline,
    };
    Failure::new(kind, strip_nul(message))
}

/// The events of the STT.
pub(in crate::talk) struct SttEvents {
    /// The first event, if it was already received.
    first: Option<SttEvent>,
    events: mpsc::Receiver<SttEvent>,
    /// Whether no more events will come.
    over: bool,
}

impl SttEvents {
    pub(in crate::talk) fn new(events: mpsc::Receiver<SttEvent>) -> Self {
        Self { first: None, events, over: false }
    }

    /// Waits until the STT fails as its first event. Cancel safe.
    pub(in crate::talk) async fn failed(&mut self) -> Failure {
        if self.first.is_none() {
            self.first = Some(self.received().await);
        }
        match &self.first {
            Some(SttEvent::Failed { code, message }) => stt_failure(*code, message.clone()),
            _ => std::future::pending().await,
        }
    }

    /// Returns the next event. Cancel safe.
    pub(in crate::talk) async fn next(&mut self) -> SttEvent {
        match self.first.take() {
            Some(first) => first,
            None => self.received().await,
        }
    }

    /// Receives an event. An STT that ends without reporting an error, for example because it panicked, counts as failed.
    async fn received(&mut self) -> SttEvent {
        if self.over {
            return std::future::pending().await;
        }
        let stopped =
            || SttEvent::Failed { code: ErrorCode::PipelineError, message: format!("{STT} stopped unexpectedly") };
        let event = self.events.recv().await.unwrap_or_else(stopped);
        self.over = matches!(event, SttEvent::Failed { .. });
        event
    }
}
