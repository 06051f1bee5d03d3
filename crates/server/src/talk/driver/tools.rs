//! Tools that the model calls in the middle of a conversation.

use switchhook_core::conversation::{Input, ToolCall};
use tokio_util::task::AbortOnDropHandle;

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
            Deed::Ask(asking) => {
                let results = self.results.0.clone();
                self.tools.retain(|running| !running.is_finished());
                // It runs to its end also when the caller interrupts: what a service was asked to do it may have done.
                self.tools.push(AbortOnDropHandle::new(tokio::spawn(async move {
                    let _ = results.send((turn, call.id, asking.answer().await)).await;
                })));
                return None;
            }
        };
        Some(Input::ToolResult { turn, id: call.id, result })
    }

    /// Has the caller passed on as soon as they have heard that they will be.
    pub(super) fn pass_on_when_silent(&mut self) {
        if self.playback.is_idle()
            && self.in_flight.is_empty()
            && let Some(number) = self.pass_on.take()
        {
            self.wish(Wish::Transfer(number));
        }
    }

    fn wish(&mut self, wish: Wish) {
        if self.notes.try_send(Note::Wish(wish)).is_err() {
            tracing::warn!("what an agent wants of the carrier could not be passed on");
        }
    }
}
