//! Tools that the model calls: they run, and it is asked again with what they answered.

use std::time::Duration;

use serde_json::{Value, json};

use super::Conversation;
use super::answer::{Stage, Thinking};
use super::effect::Effect;
use super::input::{Failure, FailureCode, ToolCall};
use super::mouth::Kind;
use crate::Timestamp;

/// How often tools run for one turn. A model that wants more than that goes round in circles.
const MAX_ROUNDS: u32 = 8;

impl Conversation {
    pub(super) fn run_tools(&mut self, mut thinking: Thinking) {
        let (turn, calls) = (thinking.turn, thinking.calls.clone());
        thinking.stage = Stage::Tools(self.now);
        thinking.rounds += 1;
        let circling = thinking.rounds > MAX_ROUNDS;
        let silent = !thinking.said;
        self.thinking = Some(thinking);
        if circling {
            self.give_up(Failure::new(FailureCode::Pipeline, "The language model called tools without end."));
        } else {
            if let Some(filler) = self.filler_of(&calls).filter(|_| silent) {
                self.say(Kind::Filler, &filler);
            }
            self.effects.extend(calls.into_iter().map(|call| Effect::RunTool { turn, call }));
        }
    }

    /// What is said while these tools run.
    fn filler_of(&self, calls: &[ToolCall]) -> Option<String> {
        let tools = calls.iter().filter_map(|call| self.agent.tools.iter().find(|tool| tool.name() == call.name));
        let mut fillers = tools.filter_map(|tool| tool.filler.as_deref().map(str::trim));
        fillers.find(|filler| !filler.is_empty()).map(str::to_owned)
    }

    pub(super) fn tool_answered(&mut self, turn: u32, id: String, result: Value) {
        let running = |thinking: &&mut Thinking| thinking.turn == turn && matches!(thinking.stage, Stage::Tools(_));
        let Some(thinking) = self.thinking.as_mut().filter(running) else { return };
        let wanted = thinking.calls.iter().any(|call| call.id == id);
        if !wanted || thinking.results.iter().any(|(known, _)| *known == id) {
            return;
        }
        thinking.results.push((id, result));
        if thinking.calls.iter().all(|call| thinking.results.iter().any(|(id, _)| *id == call.id)) {
            self.tell_model_results();
        }
    }

    /// Asks again, for the same turn. Tools that have not answered count as failed.
    fn tell_model_results(&mut self) {
        let Some(thinking) = self.thinking.take() else { return };
        let mut answers = thinking.results;
        let results = thinking.calls.iter().map(|call| {
            let at = answers.iter().position(|(id, _)| *id == call.id);
            let late = || json!({ "error": "The tool did not answer in time." });
            (call.id.clone(), at.map_or_else(late, |at| answers.swap_remove(at).1))
        });
        let results = results.collect();
        self.history.tools_ran(thinking.calls, results);
        self.ask(thinking.kind, self.history.messages(), None);
        if let Some(again) = &mut self.thinking {
            again.said = thinking.said;
            again.rounds = thinking.rounds;
        }
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
