//! A conversation whose rules apply endlessly ends, and reports why.

use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::playback::Kind;
use crate::conversation::strategy::{Prompt, Strategy};

/// A strategy with a rule that always applies.
struct Restless;

impl Strategy for Restless {
    fn settle_turn(&mut self, _: &mut Dialogue) -> bool {
        true
    }

    fn greet(&mut self, _: &mut Dialogue) {}
    fn greet_late(&mut self, _: &mut Dialogue) {}
    fn speech_started(&mut self, _: &mut Dialogue) {}
    fn speech_stopped(&mut self, _: &mut Dialogue, _: u32) {}
    fn input(&mut self, _: &mut Dialogue, _: StrategyInput) {}
    fn tool_result(&mut self, _: &mut Dialogue, _: u32, _: String, _: Value) {}
    fn synthesized(&mut self, _: &mut Dialogue, _: u32) {}
    fn synthesis_failed(&mut self, _: &mut Dialogue, _: u32, _: Failure) {}
    fn heard(&mut self, _: &mut Dialogue, _: u32, _: Kind, _: bool) {}
    fn say(&mut self, _: &mut Dialogue, _: Kind, _: &str) {}
    fn prompt(&mut self, _: &mut Dialogue, _: Prompt) {}
    fn stop(&mut self, _: &mut Dialogue, _: bool) {}
    fn transfer_started(&mut self, _: &mut Dialogue, _: &str) {}
    fn transfer_failed(&mut self, _: &mut Dialogue, _: Option<String>) {}
    fn finish(&mut self, _: &mut Dialogue) {}
    fn settle_playback(&mut self, _: &mut Dialogue) -> bool {
        false
    }
    fn next_deadline(&self, _: &Dialogue) -> Option<Timestamp> {
        None
    }
    fn is_idle(&self, _: &Dialogue) -> bool {
        false
    }
    fn may_say(&self, _: &Dialogue) -> bool {
        false
    }
    fn may_transfer(&self, _: &Dialogue) -> bool {
        false
    }
    fn may_be_cut_off(&self, _: &Dialogue) -> bool {
        false
    }
    fn goodbye_silence(&self, _: &Dialogue) -> Option<Duration> {
        None
    }
}

#[test]
fn rules_that_never_settle_end_the_call() {
    let mut conversation = Conversation::new(&quiet_agent(), at(0), Box::new(Restless));
    let effects = conversation.handle(at(0), Input::MediaStarted);
    let [Effect::HangUp { reason: End::Failed(failure) }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(failure.code, FailureCode::Pipeline);
    assert_eq!(conversation.next_deadline(), None);
}
