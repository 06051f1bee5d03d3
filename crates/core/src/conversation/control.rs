//! Requests from the caller's keys, the API and tools to a running conversation: text to say, keys to send, a transfer.

use super::Conversation;
use super::dialogue::PendingTransfer;
use super::effect::Effect;
use super::phase::Phase;
use super::playback::Kind;
use super::tools::{NO_TRANSFER_NOW, NOT_PUT_THROUGH};
use crate::dtmf::is_key;

impl Conversation {
    pub(super) fn key_pressed(&mut self, key: char) {
        let d = &mut self.dialogue;
        if !is_key(key) || !d.agent.dtmf.enabled || !self.strategy.takes_keys(d) {
            return;
        }
        let counts = d.dtmf.press(key, &d.agent.dtmf, d.now);
        d.caller_active();
        if !counts {
            return;
        }
        self.strategy.key_pressed(d);
        if d.agent.dtmf.interrupt && self.strategy.may_be_cut_off(d) {
            self.strategy.stop(d, false);
        }
    }

    /// Says a text: next, or immediately, replacing what the agent is saying or is about to say. The agent never talks over the caller, and neither a
    /// goodbye nor a message for a machine is interrupted.
    pub(super) fn say_requested(&mut self, text: String, interrupt: bool) {
        let d = &mut self.dialogue;
        if d.phase.is_closing() || d.phase.is_voicemail() || text.trim().is_empty() {
            return;
        }
        if interrupt {
            self.strategy.stop(d, false);
            d.say_queue.clear(); // It is said instead of everything before it.
        }
        d.say_queue.push_back(text);
    }

    /// Says the next text from the API when no response is under way and the caller is not waiting for one.
    pub(super) fn say_queued(&mut self) -> bool {
        let d = &mut self.dialogue;
        if d.say_queue.is_empty() || !d.phase.is_open() || !self.strategy.may_say(d) {
            return false;
        }
        let text = d.say_queue.pop_front().unwrap_or_default();
        self.strategy.say(d, Kind::Said, &text);
        true
    }

    /// Handles the end of the tones: what the agent was saying continues, and silence counts from now.
    pub(super) fn dtmf_sent(&mut self) {
        let d = &mut self.dialogue;
        d.dtmf_sending = false;
        d.playback.touch(d.now);
        d.silence.agent_finished(Kind::Said, d.now);
        self.strategy.dtmf_sent(d);
    }

    /// Handles a tool's request to transfer the caller, once they have heard the announcement.
    pub(super) fn transfer_requested(&mut self, tool_call: String, number: String) {
        let d = &mut self.dialogue;
        if d.is_ended_by_agent() {
            self.strategy.withdraw_end(d);
        }
        if d.phase.is_open() && d.pending_transfer.is_none() {
            d.pending_transfer = Some(PendingTransfer { tool_call, number });
        } else {
            d.not_transferred(&tool_call, NO_TRANSFER_NOW);
            self.strategy.refuse_tool(d, &tool_call, NO_TRANSFER_NOW);
        }
    }

    pub(super) fn start_transfer(&mut self) -> bool {
        let d = &mut self.dialogue;
        let may = d.phase.is_open() && !d.dtmf_sending && self.strategy.may_transfer(d);
        let Some(PendingTransfer { tool_call, number }) = d.pending_transfer.take_if(|_| may) else { return false };
        self.strategy.transfer_started(d, &tool_call);
        d.phase = Phase::Transferring { tool_call: Some(tool_call) };
        d.emit(Effect::Transfer { number });
        true
    }

    /// Stops speaking until the carrier has responded. What the caller says meanwhile is kept.
    pub(super) fn transfer_started(&mut self) {
        let d = &mut self.dialogue;
        if d.phase.is_closing() || d.phase.is_voicemail() || d.phase.is_transferring() {
            return;
        }
        // A response that stopped for the transfer was not interrupted by it.
        d.playback.close();
        self.strategy.stop(d, false);
        d.phase = Phase::Transferring { tool_call: None };
    }

    /// Handles a transfer that the carrier did not carry out: the caller is informed and the conversation continues.
    pub(super) fn transfer_failed(&mut self) {
        let d = &mut self.dialogue;
        if !d.phase.is_transferring() {
            return;
        }
        if let Phase::Transferring { tool_call } = std::mem::replace(&mut d.phase, Phase::Conversing) {
            d.silence.agent_finished(Kind::Said, d.now);
            if let Some(id) = &tool_call {
                d.not_transferred(id, NOT_PUT_THROUGH);
            }
            self.strategy.transfer_failed(d, tool_call);
        }
    }
}
