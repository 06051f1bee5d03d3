//! Tools that the model calls in the middle of a conversation.

use serde_json::Value;
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Input, ToolCall};
use tracing::Instrument as _;

use super::Driver;
use crate::talk::tools::ToolOutcome;
use crate::talk::{CarrierRequest, Note, ToolCallNote};

/// A tool that runs.
pub(super) struct ToolRun {
    call: ToolCall,
    began: Timestamp,
}

impl Driver {
    /// Runs a tool call. Returns what comes of it at once.
    pub(super) fn run_tool(&mut self, turn: u32, call: ToolCall) -> Option<Input> {
        let began = self.now();
        let result = match self.pipeline.tools.run(&call) {
            ToolOutcome::Result(result) => result,
            ToolOutcome::CarrierRequest(request, result) => {
                self.request_of_carrier(request);
                result
            }
            ToolOutcome::Transfer(number) => {
                // What comes of it is the call's to tell.
                let id = call.id.clone();
                self.note_tool(ToolRun { call, began }, None);
                return Some(Input::TransferRequested { id, number });
            }
            ToolOutcome::Http(asking) => return self.wait_for(turn, ToolRun { call, began }, asking.run()),
            ToolOutcome::Mcp(calling) => return self.wait_for(turn, ToolRun { call, began }, calling.run()),
        };
        Some(self.tool_ended(turn, ToolRun { call, began }, result))
    }

    /// A tool has returned its result.
    pub(super) fn tool_ended(&mut self, turn: u32, run: ToolRun, result: Value) -> Input {
        let id = run.call.id.clone();
        self.note_tool(run, Some(result.clone()));
        Input::ToolResult { turn, id, result }
    }

    fn note_tool(&mut self, run: ToolRun, result: Option<Value>) {
        let ToolRun { call, began } = run;
        let duration_ms = i64::try_from(self.now().since(began).as_millis()).unwrap_or(i64::MAX);
        let note = ToolCallNote { call, result, start_ms: began.as_millis(), duration_ms };
        // Whoever keeps notes may be gone; the call is not.
        let _ = self.notes.send(Note::ToolCall(Box::new(note)));
    }

    /// Runs to its end also when the caller interrupts: the service may have done what it was asked to.
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
        // A runner that is gone carries nothing out.
        let _ = self.notes.send(Note::CarrierRequest(request));
    }
}
