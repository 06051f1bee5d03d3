//! Tools that the model calls in the middle of a conversation.

use serde_json::Value;
use switchhook_core::conversation::{Input, ToolCall};

use super::Driver;
use crate::talk::tools::Deed;
use crate::talk::{Note, Wish};

impl Driver {
    /// Starts what the model wants; what it is to be told at once comes back.
    pub(super) fn run_tool(&mut self, turn: u32, call: ToolCall) -> Option<Input> {
        let result = match self.pipeline.tools.run(&call) {
            Deed::Tell(result) => result,
            Deed::Wish(wish, result) => {
                self.wish(wish);
                result
            }
            Deed::PassOn(number) => {
                self.pass_on = Some(number);
                return None;
            }
            Deed::Ask(asking) => return self.wait_for(turn, call.id, asking.answer()),
            Deed::Call(calling) => return self.wait_for(turn, call.id, calling.answer()),
        };
        Some(Input::ToolResult { turn, id: call.id, result })
    }

    /// It runs to its end also when the caller interrupts: what a service was asked to do it may have done.
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

    /// Has the caller passed on as soon as they have heard that they will be.
    pub(super) fn pass_on_when_silent(&mut self) {
        if self.handset.playback.is_idle()
            && self.handset.in_flight.is_empty()
            && let Some(number) = self.pass_on.take()
        {
            self.wish(Wish::Transfer(number));
        }
    }

    fn wish(&mut self, wish: Wish) {
        // A runner that is gone carries nothing out.
        let _ = self.notes.send(Note::Wish(wish));
    }
}
