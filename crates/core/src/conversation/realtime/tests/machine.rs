//! When a caller is taken for a machine.

use super::*;
use crate::agent::{MachineDetection, OnMachine};

const BY_ANY: [MachineEvidence; 3] = [MachineEvidence::Carrier, MachineEvidence::Words, MachineEvidence::Beep];

/// Greets the caller until 2 s; a machine is hung up on or left a message.
fn greeted(on_machine: OnMachine) -> Script {
    let mut script = Script::new(|agent| {
        agent.answering_machine.mode = MachineDetection::Detect;
        agent.answering_machine.on_machine = on_machine;
        agent.answering_machine.message = Some("Call us.".to_owned());
    });
    script.at(0, Input::MediaStarted).says(0, "r1", Some(1), "hello", "Hello.", 2_000).heard(2_000, 1);
    script
}

#[test]
fn a_verdict_about_whom_the_model_has_answered_changes_nothing() {
    for (on_machine, by) in
        [OnMachine::Hangup, OnMachine::LeaveMessage].into_iter().flat_map(|on| BY_ANY.map(|by| (on, by)))
    {
        let mut script = greeted(on_machine);
        script.caller(3_000, "c1").said(3_600, "c1", "Yes, speaking.");
        script.says(3_700, "r2", None, "i2", "Is Friday fine?", 500).heard(4_300, 2);
        script.caller(5_000, "c2").said(5_600, "c2", "Leave a message with me.").done();
        script.at(5_600, Input::MachineDetected { beep: true, by });
        assert_eq!((script.done(), script.engine.listens()), (Vec::new(), true), "{on_machine:?}, {by:?}");
        script.says(5_700, "r3", None, "i3", "Good.", 500).heard(6_300, 3);
        assert_eq!(script.words.last().map(String::as_str), Some("Agent: Good."));
    }
}

#[test]
fn words_of_a_first_turn_count_although_they_are_known_after_its_answer() {
    let mut script = greeted(OnMachine::Hangup);
    script.caller(3_000, "c1").says(3_600, "r2", None, "i2", "Hello?", 500).played(3_800, 2, 100);
    assert_eq!(script.engine.turns(), 1);
    script.said(3_900, "c1", "I cannot take your call right now.");
    script.at(3_900, Input::MachineDetected { beep: false, by: MachineEvidence::Words });
    assert_eq!(script.done().last().map(String::as_str), Some("3s VoicemailHungUp"));
}
