//! What a turn strategy does for a conversation: who speaks when, by which models.

use std::time::Duration;

use serde_json::Value;

use super::dialogue::Dialogue;
use super::failure::Failure;
use super::input::StrategyInput;
use super::playback::Kind;
use crate::Timestamp;

/// Words that the agent says of itself, in a phrase or in the model's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// Whether the caller is still there.
    Reprompt,
    /// That the longest duration is reached.
    TimeIsUp,
}

/// Takes turns with the caller. The conversation owns greeting, keys, silence, transfer, limits and goodbye; a strategy has the
/// agent speak, and decides when a turn is over.
pub(super) trait Strategy: Send + Sync {
    /// Media flows, and the agent speaks first.
    fn greet(&mut self, d: &mut Dialogue);
    /// The caller has not said anything, and is greeted now.
    fn greet_late(&mut self, d: &mut Dialogue);
    /// Speech may be starting, or turned out not to.
    fn speech_pending(&mut self, _: &mut Dialogue, _: bool) {}
    /// Voice activity began.
    fn speech_started(&mut self, d: &mut Dialogue);
    /// Voice activity ended, and with it this segment.
    fn speech_stopped(&mut self, d: &mut Dialogue, segment: u32);
    /// Something of the strategy's own providers.
    fn input(&mut self, d: &mut Dialogue, input: StrategyInput);
    /// A tool has returned.
    fn tool_result(&mut self, d: &mut Dialogue, turn: u32, id: String, result: Value);
    /// A tool that the conversation itself carries out did not do its work.
    fn refuse_tool(&mut self, _: &mut Dialogue, _: &str, _: &str) {}
    /// Audio of an utterance was synthesized.
    fn synthesized(&mut self, d: &mut Dialogue, utterance: u32);
    /// An utterance cannot be synthesized.
    fn synthesis_failed(&mut self, d: &mut Dialogue, utterance: u32, failure: Failure);
    /// The TTS could not speak, and a tone is played in place of its words.
    fn tts_failed(&mut self) {}
    /// Audio of an utterance was heard; `first` when it is the first of its response.
    fn heard(&mut self, d: &mut Dialogue, utterance: u32, kind: Kind, first: bool);
    /// Everything of a response was heard.
    fn played(&mut self, _: &mut Dialogue, _: Kind) {}
    /// The caller pressed a key, which [`Dialogue::dtmf`] has.
    fn key_pressed(&mut self, _: &mut Dialogue) {}

    /// The tones of keys are out.
    fn dtmf_sent(&mut self, _: &mut Dialogue) {}

    /// Says exactly this.
    fn say(&mut self, d: &mut Dialogue, kind: Kind, text: &str);
    /// Says this in a phrase or in the model's words.
    fn prompt(&mut self, d: &mut Dialogue, prompt: Prompt);
    /// Stops speaking and forgets what was to be said; `for_good` when the caller is not listened to any more either.
    fn stop(&mut self, d: &mut Dialogue, for_good: bool);
    /// The carrier is asked to transfer the caller, as this tool call wants.
    fn transfer_started(&mut self, d: &mut Dialogue, tool_call: &str);
    /// The carrier did not transfer the caller, as a tool call wanted or the API.
    fn transfer_failed(&mut self, d: &mut Dialogue, tool_call: Option<String>);
    /// The end: hands over what is not in the transcript yet.
    fn finish(&mut self, d: &mut Dialogue);

    /// Applies one rule of its own that comes before the goodbye. Returns whether there was one.
    fn settle_playback(&mut self, d: &mut Dialogue) -> bool;
    /// Applies one rule of its own that comes after it.
    fn settle_turn(&mut self, d: &mut Dialogue) -> bool;
    /// Follows what an input has come to.
    fn settled(&mut self, _: &mut Dialogue) {}
    /// When time alone makes a rule apply.
    fn next_deadline(&self, d: &Dialogue) -> Option<Timestamp>;

    /// Whether nobody speaks, is about to, or is waited for.
    fn is_calm(&self, d: &Dialogue) -> bool;
    /// Whether there is a reprompt for a silent caller.
    fn may_reprompt(&self, _: &Dialogue) -> bool {
        true
    }
    /// Whether words of the API may be said now.
    fn may_say(&self, d: &Dialogue) -> bool;
    /// Whether everything that the caller was to hear before a transfer was heard.
    fn may_transfer(&self, d: &Dialogue) -> bool;
    /// Whether the caller's speech and keys may change anything.
    fn listens(&self, _: &Dialogue) -> bool {
        true
    }
    /// Whether keys are collected.
    fn takes_keys(&self, d: &Dialogue) -> bool {
        self.listens(d)
    }
    /// Whether a key cuts the agent off now.
    fn may_be_cut_off(&self, d: &Dialogue) -> bool;
    /// After how much silence the goodbye is over; nothing while something holds it up.
    fn goodbye_silence(&self, d: &Dialogue) -> Option<Duration>;
    /// Whether the caller says more than a goodbye of their own.
    fn caller_goes_on(&self, _: &Dialogue) -> bool {
        false
    }
    /// Says something in place of a goodbye that does not come. Returns whether it did.
    fn replace_goodbye(&mut self, _: &mut Dialogue) -> bool {
        false
    }
    /// When the caller began to say what was recognised last.
    fn words_began(&self, d: &Dialogue) -> Timestamp {
        d.now
    }
    /// Since when the next session has to hear what the caller said.
    fn unheard_since(&self, d: &Dialogue) -> Timestamp {
        d.now
    }
}
