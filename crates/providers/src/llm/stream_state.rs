//! Progress of one streamed response: what is spoken, which tools are called, and whether it ended well.

use std::collections::HashSet;

use switchhook_core::agent::SEND_DTMF;
use switchhook_core::conversation::ToolCall;
use switchhook_net::queues::Queue;
use tokio::sync::mpsc;

use super::speech_filter::SpeechFilter;
use super::token_limits::TokenLimit;
use super::{LlmFailure, LlmResponse, StreamStep, unstreamed};
use crate::LlmEvent;

/// The longest response, in characters: half an hour of speech.
const MOST_CHARACTERS: usize = 20_000;
/// Characters that end a sentence.
const SENTENCE_ENDS: [char; 9] = ['.', '!', '?', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}', '"', '\u{201d}'];
/// The most tool calls in one response.
const MOST_TOOLS: usize = 16;
/// Their total size in bytes: they stay in the history, and are sent again with every request.
const CALL_BYTES: usize = 128 * 1024;

/// Progress of one response.
#[derive(Default)]
pub(super) struct StreamState {
    /// Whether any event has arrived.
    pub(super) seen: bool,
    /// The beginning of the body until the first event.
    pub(super) unread: Vec<u8>,
    /// Whether the stream reported that it is complete.
    pub(super) done: bool,
    /// Whether the model has started to write.
    pub(super) alive: bool,
    /// Whether some output was emitted.
    pub(super) begun: bool,
    /// Whether a tool was called, or began to be.
    pub(super) calls: bool,
    /// Whether the latest output ends a sentence.
    pub(super) sentence: bool,
    pub(super) filter: SpeechFilter,
    pub(super) characters: usize,
    pub(super) limit: TokenLimit,
}

impl StreamState {
    /// Forwards a step. Returns whether it was the last one needed.
    pub(super) async fn take(&mut self, step: StreamStep, events: &mpsc::Sender<LlmEvent>) -> Result<bool, LlmFailure> {
        match step {
            StreamStep::Text(text) => {
                self.alive = true;
                self.characters += text.chars().count();
                if self.characters > MOST_CHARACTERS {
                    return Err(LlmFailure::too_large());
                }
                let spoken = self.filter.spoken(&text);
                self.calls |= self.filter.has_calls();
                return Ok(!self.give(spoken, events).await);
            }
            StreamStep::Over => return Ok(true),
            StreamStep::Tool => (self.alive, self.calls) = (true, true),
            StreamStep::Nothing => {}
        }
        Ok(false)
    }

    pub(super) fn keep_unread(&mut self, piece: &[u8]) {
        if self.seen {
            self.unread = Vec::new();
        } else {
            let room = unstreamed::LONGEST - self.unread.len();
            self.unread.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    /// Emits text, without blanks before the first word. Returns false when the receiver is closed.
    async fn give(&mut self, text: String, events: &mpsc::Sender<LlmEvent>) -> bool {
        if text.is_empty() || (!self.begun && text.trim().is_empty()) {
            return true;
        }
        self.begun = true;
        if let Some(last) = text.trim_end().chars().last() {
            self.sentence = SENTENCE_ENDS.contains(&last);
        }
        events.send(LlmEvent::Delta(text)).await.is_ok()
    }

    pub(super) async fn finish<A: LlmResponse>(
        &mut self,
        provider: &'static str,
        response: &mut A,
        events: &mpsc::Sender<LlmEvent>,
    ) -> Result<(), LlmFailure> {
        let mut calls = match response.finish(self.done) {
            // Complete sentences were spoken, and a missing rest does no harm.
            Err(failure) if failure == LlmFailure::cut_off() && self.sentence && !self.calls => {
                tracing::warn!(provider, "LLM response ended without a finish reason");
                Vec::new()
            }
            finished => finished?,
        };
        let rest = self.filter.rest(response.is_cut());
        let written = self.filter.calls();
        // Another attempt may return a valid one.
        if !written.unreadable.is_empty() && !self.begun && rest.trim().is_empty() {
            return Err(LlmFailure::unusable("it wrote a tool call that cannot be read"));
        }
        calls.extend(written.calls);
        calls.extend(written.unreadable);
        drop_repeated(provider, &mut calls);
        if calls.len() > MOST_TOOLS || calls.iter().map(bytes).sum::<usize>() > CALL_BYTES {
            Queue::LlmStream.full();
            return Err(LlmFailure::too_large());
        }
        self.give(rest, events).await;
        if calls.is_empty() && !self.begun {
            return Err(if response.is_cut() { LlmFailure::used_up(self.limit) } else { LlmFailure::empty_response() });
        }
        let mut ids = HashSet::new();
        for (position, mut call) in calls.into_iter().enumerate() {
            self.begun = true;
            // Results refer to calls by id.
            if !ids.insert(call.id.clone()) {
                call.id = format!("{}_{position}", call.id);
            }
            // When the receiver is gone, the response is no longer wanted.
            let _ = events.send(LlmEvent::ToolCall(Box::new(call))).await;
        }
        Ok(())
    }
}

/// Drops calls that a response makes twice: under two ids, or as text beside the structured one. Pressing a key twice is meant.
pub(super) fn drop_repeated(provider: &'static str, calls: &mut Vec<ToolCall>) {
    let mut made = HashSet::new();
    calls.retain(|call| {
        let first = call.name == SEND_DTMF || made.insert((call.name.clone(), call.arguments.to_string()));
        if !first {
            tracing::warn!(
                provider,
                tool = call.name,
                "LLM made the same tool call twice in one response; it is made once"
            );
        }
        first
    });
}

/// Returns the size of a tool call in the history of the conversation, in bytes.
fn bytes(call: &ToolCall) -> usize {
    let signature = call.signature.as_ref().map_or(0, String::len);
    call.id.len() + call.name.len() + call.arguments.to_string().len() + signature
}
