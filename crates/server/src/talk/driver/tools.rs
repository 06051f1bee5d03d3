//! Tools that the model calls in the middle of a conversation.

use serde_json::Value;
use switchhook_core::conversation::{Input, ToolCall};

use super::Driver;
use crate::talk::tools::ToolOutcome;
use crate::talk::{CarrierRequest, Note};

impl Driver {
    /// Runs a tool call. Returns what comes of it at once.
    pub(super) fn run_tool(&mut self, turn: u32, call: ToolCall) -> Option<Input> {
        let result = match self.pipeline.tools.run(&call) {
            ToolOutcome::Result(result) => result,
            ToolOutcome::CarrierRequest(request, result) => {
                self.request_of_carrier(request);
                result
            }
            ToolOutcome::Transfer(number) => return Some(Input::TransferRequested { id: call.id, number }),
            ToolOutcome::Http(asking) => return self.wait_for(turn, call.id, asking.run()),
            ToolOutcome::Mcp(calling) => return self.wait_for(turn, call.id, calling.run()),
        };
        Some(Input::ToolResult { turn, id: call.id, result })
    }

    /// Runs to its end also when the caller interrupts: the service may have done what it was asked to.
    fn wait_for(
        &mut self,
        turn: u32,
        id: String,
        answer: impl Future<Output = Value> + Send + 'static,
    ) -> Option<Input> {
        let results = self.results.0.clone();
        self.tasks.spawn(async move {
            let _ = results.send((turn, id, answer.await)).await;
        });
        None
    }

    pub(super) fn request_of_carrier(&mut self, request: CarrierRequest) {
        // A runner that is gone carries nothing out.
        let _ = self.notes.send(Note::CarrierRequest(request));
    }
}
