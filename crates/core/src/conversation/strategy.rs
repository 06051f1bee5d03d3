//! The interface of a turn strategy: who speaks when, by which models.

use std::time::Duration;

use serde_json::Value;

use super::dialogue::Dialogue;
use super::failure::Failure;
use super::input::StrategyInput;
use super::playback::Kind;
use crate::Timestamp;

/// A message that the agent gives without a request from the caller, in a phrase or in the model's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// Asks whether the caller is still there.
    Reprompt,
    /// Says that the maximum duration is reached.
    TimeIsUp,
}

/// Takes turns with the caller. The conversation owns greeting, keys, silence, transfer, limits and goodbye; a strategy has the agent speak and
/// decides when a turn is over.
pub(super) trait Strategy: Send + Sync {
    /// Handles the start of media when the agent speaks first.
    fn greet(&mut self, d: &mut Dialogue);
    /// Greets a caller who has not said anything.
    fn greet_late(&mut self, d: &mut Dialogue);
    /// Handles speech that may be starting, or turned out not to.
    fn speech_pending(&mut self, _: &mut Dialogue, _: bool) {}
    /// Handles the start of voice activity.
    fn speech_started(&mut self, d: &mut Dialogue);
    /// Handles the end of voice activity, and with it of this segment.
    fn speech_stopped(&mut self, d: &mut Dialogue, segment: u32);
    /// Handles a report from the strategy's own providers.
    fn input(&mut self, d: &mut Dialogue, input: StrategyInput);
    /// Handles a tool's result.
    fn tool_result(&mut self, d: &mut Dialogue, turn: u32, id: String, result: Value);
    /// Handles the failure of a tool that the conversation itself carries out.
    fn refuse_tool(&mut self, _: &mut Dialogue, _: &str, _: &str) {}
    /// Handles audio of an utterance that was synthesized.
    fn synthesized(&mut self, d: &mut Dialogue, utterance: u32);
    /// Handles an utterance that cannot be synthesized.
    fn synthesis_failed(&mut self, d: &mut Dialogue, utterance: u32, failure: Failure);
    /// Handles a TTS failure for which a tone is played instead.
    fn tts_failed(&mut self) {}
    /// Handles audio of an utterance that was heard; `first` if it is the first of its response.
    fn heard(&mut self, d: &mut Dialogue, utterance: u32, kind: Kind, first: bool);
    /// Handles a response that was heard in full.
    fn played(&mut self, _: &mut Dialogue, _: Kind) {}
    /// Handles a key from the caller, already in [`Dialogue::dtmf`].
    fn key_pressed(&mut self, _: &mut Dialogue) {}

    /// Handles the end of sent DTMF tones.
    fn dtmf_sent(&mut self, _: &mut Dialogue) {}

    /// Says exactly this text.
    fn say(&mut self, d: &mut Dialogue, kind: Kind, text: &str);
    /// Says this in a phrase or in the model's words.
    fn prompt(&mut self, d: &mut Dialogue, prompt: Prompt);
    /// Stops speaking and drops what was about to be said; `for_good` if the agent also stops listening to the caller.
    fn stop(&mut self, d: &mut Dialogue, for_good: bool);
    /// Withdraws the end of the call that the model has asked for: a transfer replaces it.
    fn withdraw_end(&mut self, _: &mut Dialogue) {}
    /// Handles the start of a transfer that this tool call requested.
    fn transfer_started(&mut self, d: &mut Dialogue, tool_call: &str);
    /// Handles a failed transfer, requested by a tool call or through the API.
    fn transfer_failed(&mut self, d: &mut Dialogue, tool_call: Option<String>);
    /// Handles the end: hands over what is not in the transcript yet.
    fn finish(&mut self, d: &mut Dialogue);

    /// Applies one of the strategy's rules that come before the goodbye. Returns whether one applied.
    fn settle_playback(&mut self, d: &mut Dialogue) -> bool;
    /// Applies one of the strategy's rules that come after the goodbye. Returns whether one applied.
    fn settle_turn(&mut self, d: &mut Dialogue) -> bool;
    /// Updates state after the rules have been applied.
    fn settled(&mut self, _: &mut Dialogue) {}
    /// Returns when time alone makes a rule apply.
    fn next_deadline(&self, d: &Dialogue) -> Option<Timestamp>;

    /// Returns whether the line is silent: neither side speaks, is about to, or is awaited.
    fn is_idle(&self, d: &Dialogue) -> bool;
    /// Returns whether a silent caller may be reprompted.
    fn may_reprompt(&self, _: &Dialogue) -> bool {
        true
    }
    /// Returns whether a text from the API may be said now.
    fn may_say(&self, d: &Dialogue) -> bool;
    /// Returns whether the caller has heard everything due before a transfer.
    fn may_transfer(&self, d: &Dialogue) -> bool;
    /// Returns whether the caller's speech and keys can change anything.
    fn listens(&self, _: &Dialogue) -> bool {
        true
    }
    /// Returns whether keys are collected.
    fn takes_keys(&self, d: &Dialogue) -> bool {
        self.listens(d)
    }
    /// Returns whether a key interrupts the agent now.
    fn may_be_cut_off(&self, d: &Dialogue) -> bool;
    /// Returns after how much silence the goodbye is over; `None` while something holds it up.
    fn goodbye_silence(&self, d: &Dialogue) -> Option<Duration>;
    /// Returns whether the caller says more than a goodbye of their own.
    fn caller_continues(&self, _: &Dialogue) -> bool {
        false
    }
    /// Says something in place of a goodbye that does not come. Returns whether it did.
    fn replace_goodbye(&mut self, _: &mut Dialogue) -> bool {
        false
    }
    /// Returns when the caller began to say what was recognised last.
    fn words_began(&self, d: &Dialogue) -> Timestamp {
        d.now
    }
    /// Returns the time since which the next session must hear the caller's audio.
    fn unheard_since(&self, d: &Dialogue) -> Timestamp {
        d.now
    }
}
