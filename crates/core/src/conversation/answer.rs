//! Asking the model, and saying what it answers.
//!
//! Everything the model sends carries the number of its question. What belongs to another question than the one being
//! thought about came too late, and is dropped.

use std::time::Duration;

use serde_json::Value;

use super::Conversation;
use super::caller::Said;
use super::effect::{Effect, End, TurnTimes};
use super::history::Message;
use super::input::ToolCall;
use super::mouth::Kind;
use super::speech::Pieces;
use crate::Timestamp;

/// The tool by which the model ends the call.
const END_CALL: &str = "end_call";

/// A question to the model that is being answered.
pub(super) struct Thinking {
    /// The number of the question.
    pub(super) turn: u32,
    /// What its answer is said as.
    pub(super) kind: Kind,
    /// The caller's words it was asked for while their turn may yet go on.
    pub(super) early: Option<String>,
    pub(super) stage: Stage,
    pieces: Pieces,
    /// Ready to be said once the turn is over.
    held: Vec<String>,
    /// Whether any of the answer is on its way to the caller.
    pub(super) said: bool,
    first_text: Option<Timestamp>,
    ends_call: bool,
    /// Tools that this answer calls.
    pub(super) calls: Vec<ToolCall>,
    /// What is said while they run: the words of the first that has any.
    pub(super) filler: Option<String>,
    /// What they answered, in the order of the calls.
    pub(super) results: Vec<(String, Value)>,
    /// How often tools ran for this turn.
    pub(super) rounds: u32,
    /// The model has failed at it once, and the caller was not told that it takes longer.
    pub(super) is_retry: bool,
}

/// How far an answer is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// More of it is awaited since then.
    Streaming(Timestamp),
    /// It is complete.
    Done,
    /// Its tools run since then.
    Tools(Timestamp),
}

/// The turn being answered: its times, and what was done about it.
pub(super) struct Answering {
    turn: u32,
    pub(super) speech_ended: Timestamp,
    pub(super) turn_ended: Timestamp,
    first_token: Option<Timestamp>,
    first_utterance: Option<u32>,
    first_sound: Option<Timestamp>,
    heard: bool,
    /// Whether a filler may still be said.
    pub(super) may_fill: bool,
}

impl Answering {
    /// Whether an utterance is part of the answer: it was not said before it.
    fn contains(&self, utterance: u32) -> bool {
        self.first_utterance.is_some_and(|first| first <= utterance)
    }

    fn times(&self, first_audio_played: Timestamp) -> TurnTimes {
        TurnTimes {
            turn: self.turn,
            speech_ended: self.speech_ended,
            turn_ended: self.turn_ended,
            first_token: self.first_token.unwrap_or(first_audio_played),
            first_audio_ready: self.first_sound.unwrap_or(first_audio_played),
            first_audio_played,
        }
    }
}

impl Conversation {
    pub(super) fn ask_for_greeting(&mut self) {
        self.owe(self.now);
        self.ask(Kind::Greeting, self.history.messages(), None);
    }

    /// Asks the model. `early` are the caller's words when their turn may yet go on.
    pub(super) fn ask(&mut self, kind: Kind, messages: Vec<Message>, early: Option<String>) {
        self.last_turn += 1;
        let turn = self.last_turn;
        self.effects.push(Effect::Ask { turn, messages, speculative: early.is_some() });
        self.thinking = Some(Thinking {
            turn,
            kind,
            early,
            stage: Stage::Streaming(self.now),
            pieces: Pieces::new(self.language),
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

    /// Answers what the caller said, with the answer to an early question if there is one.
    pub(super) fn answer(&mut self, said: &Said) {
        let early = self.thinking.take_if(|thinking| thinking.early.as_ref() == Some(&said.text));
        self.cancel_model();
        self.owe(said.ended);
        let may_fill = !std::mem::take(&mut self.filled);
        self.answering = Some(Answering {
            turn: early.as_ref().map_or(self.last_turn + 1, |thinking| thinking.turn),
            speech_ended: said.ended,
            turn_ended: self.now,
            first_token: early.as_ref().and_then(|thinking| thinking.first_text),
            first_utterance: None,
            first_sound: None,
            heard: false,
            may_fill,
        });
        match early {
            Some(mut thinking) => {
                thinking.early = None;
                let held = std::mem::take(&mut thinking.held);
                let whole = thinking.stage == Stage::Done;
                self.thinking = Some(thinking);
                self.say_pieces(held, whole);
            }
            None => self.ask(Kind::Answer, self.history.messages(), None),
        }
    }

    /// The model's answer, if it is to this question and not yet complete.
    fn streaming(&mut self, turn: u32) -> Option<&mut Thinking> {
        let now = self.now;
        let thinking = self.thinking.as_mut().filter(|thinking| thinking.turn == turn)?;
        let streaming = matches!(thinking.stage, Stage::Streaming(_));
        streaming.then(|| {
            self.model_waited = Duration::ZERO;
            thinking.stage = Stage::Streaming(now);
            thinking
        })
    }

    pub(super) fn model_says(&mut self, turn: u32, text: &str) {
        let now = self.now;
        let Some(thinking) = self.streaming(turn) else { return };
        thinking.first_text.get_or_insert(now);
        let pieces = thinking.pieces.push(text);
        if let Some(answering) = self.answering.as_mut().filter(|answering| answering.turn <= turn) {
            answering.first_token.get_or_insert(now);
        }
        self.say_pieces(pieces, false);
    }

    pub(super) fn model_calls(&mut self, turn: u32, call: ToolCall, filler: Option<String>) {
        let Some(thinking) = self.streaming(turn) else { return };
        if call.name == END_CALL {
            thinking.ends_call = true;
        } else {
            thinking.calls.push(call);
            let filler = filler.map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
            thinking.filler = thinking.filler.take().or(filler);
        }
    }

    pub(super) fn model_done(&mut self, turn: u32) {
        let Some(thinking) = self.streaming(turn) else { return };
        thinking.stage = Stage::Done;
        let rest = thinking.pieces.finish();
        let last = thinking.calls.is_empty();
        self.model_failures = 0;
        self.say_pieces(rest.into_iter().collect(), last);
    }

    /// Says pieces of the answer, or keeps them while the turn may go on.
    fn say_pieces(&mut self, pieces: Vec<String>, whole: bool) {
        let Some(thinking) = self.thinking.as_mut() else { return };
        if thinking.early.is_some() {
            thinking.held.extend(pieces);
            return;
        }
        thinking.said |= !pieces.is_empty();
        let kind = thinking.kind;
        for (i, piece) in pieces.iter().enumerate() {
            let utterance = self.utter(kind, piece, whole && i + 1 == pieces.len());
            if let Some(answering) = &mut self.answering {
                answering.first_utterance.get_or_insert(utterance);
            }
        }
    }

    /// What follows from a complete answer: nothing, tools or the end. Not while it is open whether the caller interrupts.
    pub(super) fn finish_answer(&mut self) -> bool {
        if self.overlap.is_some() {
            return false;
        }
        let complete = |thinking: &mut Thinking| thinking.early.is_none() && thinking.stage == Stage::Done;
        let Some(thinking) = self.thinking.take_if(complete) else { return false };
        if !thinking.ends_call && !thinking.calls.is_empty() {
            self.run_tools(thinking);
            return true;
        }
        if thinking.said {
            self.mouth.close();
        } else {
            self.answering = None;
        }
        if thinking.ends_call {
            if !thinking.said {
                self.say_one_of(Kind::Goodbye, self.language.phrases.goodbyes);
            }
            self.close_with(End::AgentHungUp);
        }
        true
    }

    /// Whether the caller's turn, or the request for a greeting, is still being answered.
    pub(super) fn is_answering(&self) -> bool {
        self.answering.is_some() || self.is_thinking()
    }

    /// Whether the model works on what will be said for sure.
    pub(super) fn is_thinking(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking.early.is_none())
    }

    /// Forgets the question being answered.
    pub(super) fn cancel_model(&mut self) {
        let Some(thinking) = self.thinking.take() else { return };
        match thinking.stage {
            Stage::Streaming(since) => {
                self.model_waited += self.now.since(since);
                self.effects.push(Effect::CancelModel { turn: thinking.turn });
            }
            Stage::Tools(_) => self.leave_tools_running(thinking),
            Stage::Done => {}
        }
    }

    pub(super) fn note_sound_made(&mut self, utterance: u32) {
        if let Some(answering) = self.answering.as_mut().filter(|answering| answering.contains(utterance)) {
            answering.first_sound.get_or_insert(self.now);
        }
    }

    /// Counts a turn as answered once some of the answer was heard, and says when its steps happened.
    pub(super) fn note_sound_heard(&mut self, kind: Option<Kind>, utterance: u32) {
        let Some(answering) = self.answering.as_mut().filter(|answering| answering.contains(utterance)) else { return };
        if kind == Some(Kind::Answer) && !answering.heard {
            answering.heard = true;
            self.turns += 1;
            self.effects.push(Effect::Turn(answering.times(self.now)));
        }
    }
}
