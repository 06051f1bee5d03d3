//! Tool calls during a conversation.

use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Input, ToolCall};
use tracing::Instrument as _;

use super::Driver;
use crate::talk::tools::ToolOutcome;
use crate::talk::{CarrierRequest, Note, ToolCallNote};

/// A running tool call.
#[derive(Clone)]
pub(super) struct ToolRun {
    call: ToolCall,
    began: Timestamp,
}

impl Driver {
    /// Runs a tool call. Returns its result if that is immediate.
    pub(super) fn run_tool(&mut self, turn: u32, call: ToolCall) -> Option<Input> {
        let began = self.now();
        let result = match self.pipeline.tools.run(&call) {
            ToolOutcome::Result(result) => result,
            ToolOutcome::CarrierRequest(request, result) => {
                self.request_of_carrier(request);
                result
            }
            ToolOutcome::Transfer(number) => {
                // The result arrives with the outcome of the transfer.
                let (id, run) = (call.id.clone(), ToolRun { call, began });
                self.note_tool(run.clone(), None);
                self.transfers.push(run);
                return Some(Input::TransferRequested { id, number });
            }
            ToolOutcome::Http(asking) => return self.wait_for(turn, ToolRun { call, began }, asking.run()),
            ToolOutcome::Mcp(calling) => return self.wait_for(turn, ToolRun { call, began }, calling.run()),
        };
        Some(self.tool_ended(turn, ToolRun { call, began }, result))
    }

    /// Handles the result of a tool.
    pub(super) fn tool_ended(&mut self, turn: u32, run: ToolRun, result: Value) -> Input {
        let id = run.call.id.clone();
        self.note_tool(run, Some(result.clone()));
        Input::ToolResult { turn, id, result }
    }

    /// Handles the failure of a transfer that this tool call requested.
    pub(super) fn transfer_failed(&mut self, id: &str, error: &str) {
        if let Some(place) = self.transfers.iter().rposition(|run| run.call.id == id) {
            let run = self.transfers.remove(place);
            self.note_tool(run, Some(json!({ "error": error })));
        }
    }

    /// Notes the tool calls whose transfer the carrier was asked for, at the end of the conversation.
    pub(super) fn note_open_transfers(&mut self) {
        for run in std::mem::take(&mut self.transfers) {
            self.note_tool(run, None);
        }
    }

    fn note_tool(&mut self, run: ToolRun, result: Option<Value>) {
        let ToolRun { call, began } = run;
        let duration_ms = i64::try_from(self.now().since(began).as_millis()).unwrap_or(i64::MAX);
        let note = ToolCallNote { call, result, start_ms: began.as_millis(), duration_ms };
        // The receiver may be gone; the call continues.
        let _ = self.notes.send(Note::ToolCall(Box::new(note)));
    }

    /// Runs the request to completion even if the caller interrupts: the service may already have done what it was asked to.
    fn wait_for(
        &mut self,
        turn: u32,
        run: ToolRun,
        answer: impl Future<Output = Value> + Send + 'static,
    ) -> Option<Input> {
        let results = self.results.0.clone();
        self.tasks.spawn(
            async move {
                let _ = results.send(Box::new((turn, run, answer.await))).await;
            }
            .in_current_span(),
        );
        None
    }

    pub(super) fn request_of_carrier(&mut self, request: CarrierRequest) {
        // A runner that is gone performs no requests.
        let _ = self.notes.send(Note::CarrierRequest(request));
    }
}
