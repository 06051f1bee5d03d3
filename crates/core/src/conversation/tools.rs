//! Tools that the model calls: they run, and it is asked again with what they answered. Those for which nobody waits any more run on,
//! and what they answer is known to the model when it is asked next.

use std::time::Duration;

use serde_json::{Value, json};

use super::Conversation;
use super::answer::{Stage, Thinking};
use super::effect::Effect;
use super::input::{Failure, FailureCode};
use super::mouth::Kind;
use crate::Timestamp;

/// How often tools run for one turn. A model that wants more than that goes round in circles.
const MAX_ROUNDS: u32 = 8;

/// A tool that runs while the conversation has gone on.
pub(super) struct LateTool {
    /// The number of the question that called it.
    turn: u32,
    id: String,
    /// Where in the history its result belongs.
    place: usize,
}

impl Conversation {
    pub(super) fn run_tools(&mut self, mut thinking: Thinking) {
        let (turn, calls, filler) = (thinking.turn, thinking.calls.clone(), thinking.filler.take());
        thinking.stage = Stage::Tools(self.now);
        thinking.rounds += 1;
        let circling = thinking.rounds > MAX_ROUNDS;
        let silent = !thinking.said;
        self.thinking = Some(thinking);
        if circling {
            self.give_up(Failure::new(FailureCode::Pipeline, "The language model called tools without end."));
        } else {
            if let Some(filler) = filler.filter(|_| silent) {
                self.say(Kind::Filler, &filler);
            }
            self.effects.extend(calls.into_iter().map(|call| Effect::RunTool { turn, call }));
        }
    }

    pub(super) fn tool_answered(&mut self, turn: u32, id: String, result: Value) {
        let running = |thinking: &&mut Thinking| thinking.turn == turn && matches!(thinking.stage, Stage::Tools(_));
        let Some(thinking) = self.thinking.as_mut().filter(running) else {
            return self.tool_answered_late(turn, &id, &result);
        };
        let wanted = thinking.calls.iter().any(|call| call.id == id);
        if !wanted || thinking.results.iter().any(|(known, _)| *known == id) {
            return;
        }
        thinking.results.push((id, result));
        if thinking.calls.iter().all(|call| thinking.results.iter().any(|(id, _)| *id == call.id)) {
            self.tell_model_results();
        }
    }

    /// The next question tells of it: what a tool did is done, whether anybody waited or not.
    fn tool_answered_late(&mut self, turn: u32, id: &str, result: &Value) {
        let late = self.late_tools.iter().position(|tool| tool.turn == turn && tool.id == id);
        if let Some(late) = late.map(|at| self.late_tools.swap_remove(at)) {
            self.history.tool_answered(late.place, result);
        }
    }

    /// Asks again, for the same turn. Tools that have not answered count as failed.
    fn tell_model_results(&mut self) {
        let Some(thinking) = self.thinking.take() else { return };
        let (kind, said, rounds) = (thinking.kind, thinking.said, thinking.rounds);
        self.remember_tools(thinking, &json!({ "error": "The tool did not answer in time." }));
        self.ask(kind, self.history.messages(), None);
        if let Some(again) = &mut self.thinking {
            again.said = said;
            again.rounds = rounds;
        }
    }

    /// Tools go on when the caller speaks meanwhile, and must not be called once more for the same.
    pub(super) fn leave_tools_running(&mut self, thinking: Thinking) {
        let running = "It is still running: the caller spoke meanwhile. Do not call it again for the same.";
        self.remember_tools(thinking, &json!({ "status": running }));
    }

    /// Notes what was called and what came of it; `otherwise` stands for what has not answered.
    fn remember_tools(&mut self, thinking: Thinking, otherwise: &Value) {
        let mut answers = thinking.results;
        let mut late = Vec::new();
        let results = thinking.calls.iter().enumerate().map(|(i, call)| {
            let answer = answers.iter().position(|(id, _)| *id == call.id).map(|at| answers.swap_remove(at).1);
            if answer.is_none() {
                late.push((i, call.id.clone()));
            }
            (call.id.clone(), answer.unwrap_or_else(|| otherwise.clone()))
        });
        let results = results.collect();
        let first = self.history.tools_ran(thinking.calls, results);
        let turn = thinking.turn;
        self.late_tools.extend(late.into_iter().map(|(i, id)| LateTool { turn, id, place: first + i }));
    }

    pub(super) fn tools_lost_at(&self) -> Option<Timestamp> {
        let patience: Duration = self.timings.tool;
        match self.thinking.as_ref()?.stage {
            Stage::Tools(since) => Some(since + patience),
            _ => None,
        }
    }

    /// The model goes on without tools that take too long.
    pub(super) fn give_up_on_tools(&mut self) -> bool {
        let due = self.is_due(self.tools_lost_at());
        if due {
            self.tell_model_results();
        }
        due
    }
}
