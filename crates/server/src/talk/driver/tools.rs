//! Tool calls during a conversation.

use std::time::Duration;

use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Input, ToolCall};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::Driver;
use crate::talk::tools::{CUT_OFF, NOT_SENT, ToolOutcome};
use crate::talk::{CarrierRequest, Note, ToolCallNote};

/// How long a request that may have effects waits until it is stored, which usually takes milliseconds. The caller waits as long.
const REQUEST_STORED: Duration = Duration::from_secs(1);

/// A running tool call.
#[derive(Clone)]
pub(super) struct ToolRun {
    call: ToolCall,
    began: Timestamp,
}

impl ToolRun {
    /// Returns whether this is the same call of a tool. Models repeat ids.
    fn is(&self, other: &Self) -> bool {
        self.call == other.call && self.began == other.began
    }
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
            ToolOutcome::Http(asking) => {
                let has_effects = asking.has_effects();
                return self.wait_for(turn, ToolRun { call, began }, has_effects, asking.run());
            }
            // What a server says about the effects of its tools is only a hint.
            ToolOutcome::Mcp(calling) => return self.wait_for(turn, ToolRun { call, began }, true, calling.run()),
        };
        Some(self.tool_ended(turn, ToolRun { call, began }, result))
    }

    /// Handles the result of a tool.
    pub(super) fn tool_ended(&mut self, turn: u32, run: ToolRun, result: Value) -> Input {
        let id = run.call.id.clone();
        if let Some(place) = self.services.iter().position(|open| open.is(&run)) {
            self.services.remove(place);
        }
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

    /// Notes the tool calls that are open at the end of the conversation: transfers that the carrier was asked for, and requests to
    /// services, which end with the call.
    pub(super) fn note_open_tools(&mut self) {
        while let Ok(ended) = self.results.1.try_recv() {
            let (turn, run, result) = *ended;
            self.tool_ended(turn, run, result);
        }
        for run in std::mem::take(&mut self.services) {
            self.note_tool(run, Some(json!({ "error": CUT_OFF })));
        }
        for run in std::mem::take(&mut self.transfers) {
            self.note_tool(run, None);
        }
    }

    fn note_tool(&mut self, run: ToolRun, result: Option<Value>) {
        let note = self.note_of(run, result);
        // The receiver may be gone; the call continues.
        let _ = self.notes.send(Note::ToolCall(note));
    }

    fn note_of(&self, run: ToolRun, result: Option<Value>) -> Box<ToolCallNote> {
        let ToolRun { call, began } = run;
        let duration_ms = i64::try_from(self.now().since(began).as_millis()).unwrap_or(i64::MAX);
        Box::new(ToolCallNote { call, result, start_ms: began.as_millis(), duration_ms })
    }

    /// Notes that a service is about to be asked. Returns the receiver of whether that is stored.
    fn note_request(&mut self, run: &ToolRun) -> oneshot::Receiver<()> {
        let (storing, stored) = oneshot::channel();
        self.services.push(run.clone());
        let note = self.note_of(run.clone(), None);
        // The receiver may be gone: then it will not be stored.
        let _ = self.notes.send(Note::ToolRequested(note, storing));
        stored
    }

    /// Runs the request to completion even if the caller interrupts: the service may already have done what it was asked to. One that may
    /// have effects is stored first, if that is possible, so that it is known if this node dies before the response.
    fn wait_for(
        &mut self,
        turn: u32,
        run: ToolRun,
        has_effects: bool,
        answer: impl Future<Output = Value> + Send + 'static,
    ) -> Option<Input> {
        let stored = self.note_request(&run);
        let results = self.results.0.clone();
        self.tasks.spawn(
            async move {
                let may_send = !has_effects || may_be_sent(stored).await;
                let result = if may_send { answer.await } else { json!({ "error": NOT_SENT }) };
                let _ = results.send(Box::new((turn, run, result))).await;
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

/// Waits until a request is stored. Returns whether it may be sent: not if another node may have the call. A database that is away does not keep the
/// agent from its work.
async fn may_be_sent(stored: oneshot::Receiver<()>) -> bool {
    match timeout(REQUEST_STORED, stored).await {
        Ok(Ok(())) => true,
        Ok(Err(_)) => {
            tracing::error!("a tool's request was not sent: its call is no longer run here");
            false
        }
        Err(_) => {
            tracing::warn!("a tool's request is sent before it is stored: the database is slow or away");
            true
        }
    }
}
