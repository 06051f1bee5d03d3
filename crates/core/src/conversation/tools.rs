//! Tools that the model calls. Once all tools of a round have returned, the model continues with their results. A result that arrives after the
//! conversation has continued without it still counts, because the tool has had its effect.

use serde_json::Value;

use super::dialogue::Dialogue;
use super::effect::Effect;
use super::failure::{Failure, FailureCode};
use super::tool_call::ToolCall;

/// The tool by which the model ends the call. It is never run.
pub(super) const END_CALL: &str = "end_call";
/// The result of a transfer when the caller spoke before it.
pub(super) const NOT_TRANSFERRED: &str =
    "The caller spoke before they were transferred. Ask whether they still want to be.";
/// The result of a transfer that the carrier did not carry out.
pub(super) const NOT_PUT_THROUGH: &str = "The caller could not be transferred.";
/// Instructs the model to inform the caller that a transfer failed.
pub(super) const TRANSFER_FAILED: &str =
    "Putting the caller through to somebody else did not work. Tell them so in one short sentence.";
/// The result of a transfer beside another one, or while the call ends.
pub(super) const NO_TRANSFER_NOW: &str = "The caller cannot be transferred now. Nothing was done.";
/// The result of `end_call` beside a transfer.
pub(super) const TRANSFERRED_INSTEAD: &str =
    "The call was not ended, because the caller is being transferred. Their call ends with the transfer.";
/// The maximum number of tool rounds for one turn. A model that exceeds it is in a loop.
const MAX_ROUNDS: u32 = 8;

/// A tool that is running, or has returned and is not in the history yet.
struct Tool {
    /// The number of the request that called it.
    turn: u32,
    call: ToolCall,
    result: Option<Value>,
    /// The index of its result in the history, once it is late.
    place: Option<usize>,
    /// Whether the model waits for it.
    awaited: bool,
}

/// The tool that a result belongs to.
pub(super) enum Returned {
    /// No running tool.
    Unknown,
    /// A tool of the current round.
    InRound,
    /// A late tool of this name; its result is now in the history.
    Late(String),
}

/// Returns whether a tool failed.
pub(super) fn is_error(result: &Value) -> bool {
    result.get("error").is_some_and(|error| !error.is_null())
}

/// The tools of one round, and late ones.
#[derive(Default)]
pub(super) struct Tools {
    tools: Vec<Tool>,
    /// How many rounds of tools have run in a row for the caller's turn.
    pub(super) rounds: u32,
}

impl Tools {
    pub(super) fn run(&mut self, d: &mut Dialogue, turn: u32, call: ToolCall) {
        self.tools.push(Tool { turn, call: call.clone(), result: None, place: None, awaited: true });
        d.emit(Effect::RunTool { turn, call });
    }

    /// Returns whether the model waits for a tool.
    pub(super) fn is_running(&self) -> bool {
        self.tools.iter().any(|tool| tool.awaited && tool.result.is_none())
    }

    /// Returns whether the model waits for a tool other than this one.
    pub(super) fn runs_beside(&self, id: &str) -> bool {
        self.tools.iter().any(|tool| tool.awaited && tool.result.is_none() && tool.call.id != id)
    }

    /// Returns whether a tool has not returned, awaited or not.
    pub(super) fn is_unfinished(&self) -> bool {
        self.tools.iter().any(|tool| tool.result.is_none())
    }

    /// Returns whether a tool has returned an error that is not in the history yet.
    pub(super) fn have_failed(&self) -> bool {
        self.tools.iter().any(|tool| tool.result.as_ref().is_some_and(is_error))
    }

    /// Returns the request that called a tool which has not returned.
    pub(super) fn turn_of(&self, id: &str) -> Option<u32> {
        self.tools.iter().rev().find(|tool| tool.call.id == id && tool.result.is_none()).map(|tool| tool.turn)
    }

    /// Makes the model wait for this tool only. The others are late.
    pub(super) fn wait_only_for(&mut self, id: &str) {
        for tool in &mut self.tools {
            tool.awaited &= tool.call.id == id || tool.result.is_some();
        }
    }

    /// Returns whether there are results that are not in the history yet.
    pub(super) fn has_results(&self) -> bool {
        self.tools.iter().any(|tool| tool.result.is_some())
    }

    pub(super) fn returned(&mut self, d: &mut Dialogue, turn: u32, id: &str, result: &Value) -> Returned {
        let running = |tool: &Tool| tool.turn == turn && tool.call.id == id && tool.result.is_none();
        let Some(at) = self.tools.iter().position(running) else { return Returned::Unknown };
        let Some(place) = self.tools[at].place else {
            self.tools[at].result = Some(result.clone());
            return Returned::InRound;
        };
        d.transcript.history.tool_returned(place, result);
        Returned::Late(self.tools.remove(at).call.name)
    }

    /// Puts tools that have returned before running ones, to match the order in which a session was given the results.
    pub(super) fn order_by_return(&mut self) {
        self.tools.sort_by_key(|tool| tool.result.is_none());
    }

    /// Writes calls and results into the history. Tools that are still running are late: `otherwise` stands in for their results, and the model waits
    /// for them if `awaited`.
    pub(super) fn record(&mut self, d: &mut Dialogue, otherwise: &Value, awaited: bool) {
        let round: Vec<&mut Tool> = self.tools.iter_mut().filter(|tool| tool.place.is_none()).collect();
        if round.is_empty() {
            return;
        }
        let result = |tool: &Tool| tool.result.as_ref().unwrap_or(otherwise).clone();
        let results = round.iter().map(|tool| (tool.call.id.clone(), result(tool))).collect();
        let first = d.transcript.history.tools_ran(round.iter().map(|tool| tool.call.clone()).collect(), results);
        for (i, tool) in round.into_iter().enumerate() {
            (tool.place, tool.awaited) = (Some(first + i), awaited);
        }
        self.tools.retain(|tool| tool.result.is_none());
    }

    /// Stops waiting for this tool, which returns in another way or not at all.
    pub(super) fn dismiss(&mut self, id: &str) {
        self.tools.retain_mut(|tool| {
            tool.awaited &= tool.call.id != id || tool.result.is_some();
            tool.awaited || tool.place.is_some()
        });
    }

    /// Counts a round.
    ///
    /// # Errors
    /// Fails if this model keeps calling tools without end.
    pub(super) fn count_round(&mut self, model: &str) -> Result<(), Failure> {
        self.rounds += 1;
        let circling = || Failure::new(FailureCode::Pipeline, format!("The {model} called tools without end."));
        if self.rounds > MAX_ROUNDS { Err(circling()) } else { Ok(()) }
    }
}
