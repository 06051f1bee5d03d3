//! Requests to the LLM, and saying what it responds.
//!
//! Everything the LLM sends carries the number of its request. What belongs to another request than the current one came too
//! late, and is dropped.

use std::time::Duration;

use serde_json::Value;

use super::Cascade;
use super::caller_turn::FinishedTurn;
use super::messages::Effect;
use super::sentences::SentenceSplitter;
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::{Effect as CommonEffect, End, TurnTimes};
use crate::conversation::history::Message;
use crate::conversation::playback::Kind;
use crate::conversation::tool_call::ToolCall;

/// The tool by which the model ends the call.
const END_CALL: &str = "end_call";

/// A request to the LLM.
pub(super) struct LlmRequest {
    /// The number of the request.
    pub(super) turn: u32,
    /// What its response is said as.
    pub(super) kind: Kind,
    /// The caller's words that it contains, when their turn may yet go on.
    pub(super) early: Option<String>,
    pub(super) stage: LlmStage,
    sentences: SentenceSplitter,
    /// Ready to be said once the turn is over.
    held: Vec<String>,
    /// Whether any of the response is on its way to the caller.
    pub(super) said: bool,
    first_text: Option<Timestamp>,
    ends_call: bool,
    /// Tools that this response calls.
    pub(super) calls: Vec<ToolCall>,
    /// What is said while they run: the words of the first that has any.
    pub(super) filler: Option<String>,
    /// Their results, in the order of the calls.
    pub(super) results: Vec<(String, Value)>,
    /// How often tools ran for this turn.
    pub(super) rounds: u32,
    /// The LLM has failed at it once, and the caller has not heard that it takes longer.
    pub(super) is_retry: bool,
}

/// The stage of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LlmStage {
    /// More of it is awaited since then.
    Streaming(Timestamp),
    /// It is complete.
    Done,
    /// Its tools run since then.
    Tools(Timestamp),
}

/// The turn whose response is under way: its times, and what was done about it.
pub(super) struct TurnResponse {
    turn: u32,
    pub(super) speech_ended: Timestamp,
    pub(super) turn_ended: Timestamp,
    first_token: Option<Timestamp>,
    first_utterance: Option<u32>,
    first_audio: Option<Timestamp>,
    heard: bool,
    /// Whether a filler may still be said.
    pub(super) may_fill: bool,
}

impl TurnResponse {
    /// Whether an utterance is part of the response: it was not said before it.
    fn contains(&self, utterance: u32) -> bool {
        self.first_utterance.is_some_and(|first| first <= utterance)
    }

    fn times(&self, first_audio_played: Timestamp) -> TurnTimes {
        TurnTimes {
            turn: self.turn,
            speech_ended: self.speech_ended,
            turn_ended: self.turn_ended,
            first_token: self.first_token.unwrap_or(first_audio_played),
            first_audio_ready: self.first_audio.unwrap_or(first_audio_played),
            first_audio_played,
        }
    }
}

impl Cascade {
    /// Asks the model. `early` are the caller's words when their turn may yet go on.
    pub(super) fn request_completion(
        &mut self,
        d: &mut Dialogue,
        kind: Kind,
        messages: Vec<Message>,
        early: Option<String>,
    ) {
        self.last_turn += 1;
        let turn = self.last_turn;
        d.emit(Effect::RequestCompletion { turn, messages, speculative: early.is_some() });
        d.pending_transfer = None; // Its tool call has a result by now.
        self.request = Some(LlmRequest {
            turn,
            kind,
            early,
            stage: LlmStage::Streaming(d.now),
            sentences: SentenceSplitter::new(d.language),
            held: Vec::new(),
            said: false,
            first_text: None,
            ends_call: false,
            calls: Vec::new(),
            filler: None,
            results: Vec::new(),
            rounds: 0,
            is_retry: false,
        });
    }

    /// Responds to what the caller said, with the response to an early request if there is one.
    pub(super) fn respond(&mut self, d: &mut Dialogue, said: &FinishedTurn) {
        let early = self.request.take_if(|request| request.early.as_ref() == Some(&said.text));
        self.cancel_llm(d);
        self.expect_response(said.ended);
        let may_fill = !std::mem::take(&mut self.filled);
        self.response = Some(TurnResponse {
            turn: early.as_ref().map_or(self.last_turn + 1, |request| request.turn),
            speech_ended: said.ended,
            turn_ended: d.now,
            first_token: early.as_ref().and_then(|request| request.first_text),
            first_utterance: None,
            first_audio: None,
            heard: false,
            may_fill,
        });
        match early {
            Some(mut request) => {
                request.early = None;
                let held = std::mem::take(&mut request.held);
                let whole = request.stage == LlmStage::Done;
                self.request = Some(request);
                self.say_sentences(d, held, whole);
            }
            None => {
                let messages = d.transcript.history.messages();
                self.request_completion(d, Kind::Response, messages, None);
            }
        }
    }

    /// The current request, if it has this number and still streams.
    fn streaming(&mut self, now: Timestamp, turn: u32) -> Option<&mut LlmRequest> {
        let request = self.request.as_mut().filter(|request| request.turn == turn)?;
        let streaming = matches!(request.stage, LlmStage::Streaming(_));
        streaming.then(|| {
            self.llm_waited = Duration::ZERO;
            request.stage = LlmStage::Streaming(now);
            request
        })
    }

    pub(super) fn llm_text(&mut self, d: &mut Dialogue, turn: u32, text: &str) {
        let now = d.now;
        let Some(request) = self.streaming(d.now, turn) else { return };
        request.first_text.get_or_insert(now);
        let sentences = request.sentences.push(text);
        if let Some(response) = self.response.as_mut().filter(|response| response.turn <= turn) {
            response.first_token.get_or_insert(now);
        }
        self.say_sentences(d, sentences, false);
    }

    pub(super) fn llm_tool_call(&mut self, d: &mut Dialogue, turn: u32, call: ToolCall, filler: Option<String>) {
        let Some(request) = self.streaming(d.now, turn) else { return };
        if call.name == END_CALL {
            request.ends_call = true;
        } else {
            request.calls.push(call);
            let filler = filler.map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
            request.filler = request.filler.take().or(filler);
        }
    }

    pub(super) fn llm_done(&mut self, d: &mut Dialogue, turn: u32) {
        let Some(request) = self.streaming(d.now, turn) else { return };
        request.stage = LlmStage::Done;
        let rest = request.sentences.finish();
        let last = request.calls.is_empty();
        self.llm_failures = 0;
        self.say_sentences(d, rest.into_iter().collect(), last);
    }

    /// Says sentences of the response, or holds them back while the turn may go on.
    fn say_sentences(&mut self, d: &mut Dialogue, sentences: Vec<String>, whole: bool) {
        let Some(request) = self.request.as_mut() else { return };
        if request.early.is_some() {
            request.held.extend(sentences);
            return;
        }
        request.said |= !sentences.is_empty();
        let kind = request.kind;
        for (i, sentence) in sentences.iter().enumerate() {
            let utterance = self.speak(d, kind, sentence, whole && i + 1 == sentences.len());
            if let Some(response) = &mut self.response {
                response.first_utterance.get_or_insert(utterance);
            }
        }
    }

    /// What follows from a complete response: nothing, tools or the end. Not while it is open whether the caller interrupts.
    pub(super) fn finish_response(&mut self, d: &mut Dialogue) -> bool {
        if self.overlap.is_some() {
            return false;
        }
        let complete = |request: &mut LlmRequest| request.early.is_none() && request.stage == LlmStage::Done;
        let Some(request) = self.request.take_if(complete) else { return false };
        if !request.ends_call && !request.calls.is_empty() {
            self.run_tools(d, request);
            return true;
        }
        if request.said {
            d.playback.close();
        } else {
            self.response = None;
        }
        if request.ends_call {
            if !request.said {
                self.say_one_of(d, Kind::Goodbye, d.language.phrases.goodbyes);
            }
            d.close_with(End::AgentHungUp, None);
        }
        true
    }

    /// Whether the response to the caller's turn, or the greeting, is still under way.
    pub(super) fn is_responding(&self) -> bool {
        self.response.is_some() || self.llm_pending()
    }

    /// Whether the model works on what will be said for sure.
    pub(super) fn llm_pending(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.early.is_none())
    }

    /// Cancels the current request.
    pub(super) fn cancel_llm(&mut self, d: &mut Dialogue) {
        let Some(request) = self.request.take() else { return };
        match request.stage {
            LlmStage::Streaming(since) => {
                self.llm_waited += d.now.since(since);
                d.emit(Effect::CancelCompletion { turn: request.turn });
            }
            LlmStage::Tools(_) => self.leave_tools_running(d, request),
            LlmStage::Done => {}
        }
    }

    pub(super) fn note_audio_made(&mut self, d: &Dialogue, utterance: u32) {
        if let Some(response) = self.response.as_mut().filter(|response| response.contains(utterance)) {
            response.first_audio.get_or_insert(d.now);
        }
    }

    /// Counts a turn once some of its response was heard, and reports when its steps happened.
    pub(super) fn note_audio_heard(&mut self, d: &mut Dialogue, kind: Kind, utterance: u32) {
        let Some(response) = self.response.as_mut().filter(|response| response.contains(utterance)) else { return };
        if kind == Kind::Response && !response.heard {
            response.heard = true;
            d.turns += 1;
            d.emit(CommonEffect::Turn(response.times(d.now)));
        }
    }
}
