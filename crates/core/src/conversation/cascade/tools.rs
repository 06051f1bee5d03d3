//! Tools that the model calls: they run, and the next request contains their results. Those for which nobody waits any more run on,
//! and the request after that contains their results.

use serde_json::{Value, json};

use super::Cascade;
use super::llm::{LlmRequest, LlmStage};
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::Effect;
use crate::conversation::failure::{Failure, FailureCode};
use crate::conversation::playback::Kind;

/// How often tools run for one turn. A model that wants more than that goes round in circles.
const MAX_ROUNDS: u32 = 8;

/// A tool that runs while the conversation has gone on.
pub(super) struct LateTool {
    /// The number of the request that called it.
    turn: u32,
    id: String,
    /// Where in the history its result belongs.
    place: usize,
}

impl Cascade {
    pub(super) fn run_tools(&mut self, d: &mut Dialogue, mut request: LlmRequest) {
        let (turn, calls, filler) = (request.turn, request.calls.clone(), request.filler.take());
        request.stage = LlmStage::Tools(d.now);
        request.rounds += 1;
        let circling = request.rounds > MAX_ROUNDS;
        let silent = !request.said;
        self.request = Some(request);
        if circling {
            self.give_up(d, Failure::new(FailureCode::Pipeline, "The language model called tools without end."));
        } else {
            if let Some(filler) = filler.filter(|_| silent) {
                self.say_text(d, Kind::Filler, &filler);
            }
            for call in calls {
                d.emit(Effect::RunTool { turn, call });
            }
        }
    }

    pub(super) fn tool_returned(&mut self, d: &mut Dialogue, turn: u32, id: String, result: Value) {
        let running = |request: &&mut LlmRequest| request.turn == turn && matches!(request.stage, LlmStage::Tools(_));
        let Some(request) = self.request.as_mut().filter(running) else {
            return self.late_tool_result(d, turn, &id, &result);
        };
        let wanted = request.calls.iter().any(|call| call.id == id);
        if !wanted || request.results.iter().any(|(known, _)| *known == id) {
            return;
        }
        request.results.push((id, result));
        if request.calls.iter().all(|call| request.results.iter().any(|(id, _)| *id == call.id)) {
            self.send_tool_results(d);
        }
    }

    /// Adds the result for the next request: what a tool did is done, whether anybody waited or not.
    fn late_tool_result(&mut self, d: &mut Dialogue, turn: u32, id: &str, result: &Value) {
        let late = self.late_tools.iter().position(|tool| tool.turn == turn && tool.id == id);
        if let Some(late) = late.map(|at| self.late_tools.swap_remove(at)) {
            d.transcript.history.tool_returned(late.place, result);
        }
    }

    /// Requests the response again, with the results. Tools that have not returned count as failed.
    fn send_tool_results(&mut self, d: &mut Dialogue) {
        let Some(request) = self.request.take() else { return };
        let (kind, said, rounds) = (request.kind, request.said, request.rounds);
        self.remember_tools(d, request, &json!({ "error": "The tool did not respond in time." }));
        let messages = d.transcript.history.messages();
        self.request_completion(d, kind, messages, None);
        if let Some(again) = &mut self.request {
            again.said = said;
            again.rounds = rounds;
        }
    }

    /// Tools go on when the caller speaks meanwhile, and must not be called once more for the same.
    pub(super) fn leave_tools_running(&mut self, d: &mut Dialogue, request: LlmRequest) {
        let running = "It is still running: the caller spoke meanwhile. Do not call it again for the same.";
        self.remember_tools(d, request, &json!({ "status": running }));
    }

    /// Notes what was called and what came of it; `otherwise` is the result of those that have not returned.
    fn remember_tools(&mut self, d: &mut Dialogue, request: LlmRequest, otherwise: &Value) {
        let mut returned = request.results;
        let mut late = Vec::new();
        let results = request.calls.iter().enumerate().map(|(i, call)| {
            let result = returned.iter().position(|(id, _)| *id == call.id).map(|at| returned.swap_remove(at).1);
            if result.is_none() {
                late.push((i, call.id.clone()));
            }
            (call.id.clone(), result.unwrap_or_else(|| otherwise.clone()))
        });
        let results = results.collect();
        let first = d.transcript.history.tools_ran(request.calls, results);
        let turn = request.turn;
        self.late_tools.extend(late.into_iter().map(|(i, id)| LateTool { turn, id, place: first + i }));
    }

    pub(super) fn tools_timeout_at(&self, d: &Dialogue) -> Option<Timestamp> {
        match self.request.as_ref()?.stage {
            LlmStage::Tools(since) => Some(since + d.timings.tool),
            _ => None,
        }
    }

    /// The model goes on without tools that take too long.
    pub(super) fn time_out_tools(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.tools_timeout_at(d));
        if due {
            self.send_tool_results(d);
        }
        due
    }
}
