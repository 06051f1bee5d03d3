use super::*;
use crate::agent::{MachineDetection, OnMachine};
use crate::conversation::{DecisionKind, MachineEvidence};

const MESSAGE: &str = "This is Luigi's. Please call us back.";

fn caller_of_machines() -> AgentConfig {
    let mut agent = quiet_agent();
    agent.greeting = crate::agent::Greeting::default();
    agent.answering_machine.mode = MachineDetection::Detect;
    agent.answering_machine.on_machine = OnMachine::LeaveMessage;
    agent.answering_machine.message = Some(MESSAGE.to_owned());
    agent
}

fn detected(talk: &mut Talk, beep: bool) -> &mut Talk {
    talk.tell(Input::MachineDetected { beep, by: MachineEvidence::Carrier })
}

fn last_spoken(talk: &Talk) -> (u64, &str) {
    talk.spoken().last().copied().expect("something was said")
}

#[test]
fn the_message_is_left_after_the_beep() {
    let mut talk = Talk::with(&caller_of_machines());
    detected(talk.until(500), false).until(800).caller_says("You have reached Ana.", 2_000).until(9_000);
    assert_eq!(talk.spoken().len(), 1, "only the greeting, which was cut");
    assert!(talk.asks().is_empty(), "nobody answers a machine");
    detected(&mut talk, true).until(20_000);
    assert_eq!(last_spoken(&talk), (9_000, MESSAGE));
    assert_eq!(talk.end(), Some((11_520, &End::VoicemailMessageLeft)));
    assert_eq!(talk.transcript().last(), Some(&(Speaker::Agent, MESSAGE, false)));
}

#[test]
fn without_a_beep_the_message_is_left_anyway() {
    let mut talk = Talk::with(&caller_of_machines());
    detected(talk.until(500), false).until(60_000);
    assert_eq!(last_spoken(&talk).0, 30_500);
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::VoicemailMessageLeft));
}

#[test]
fn a_machine_known_before_the_media_is_not_greeted() {
    let mut conversation = Conversation::cascade(&caller_of_machines(), at(0));
    assert!(conversation.handle(at(0), Input::MachineDetected { beep: true, by: MachineEvidence::Carrier }).is_empty());
    let effects = conversation.handle(at(100), Input::MediaStarted);
    assert!(matches!(effects.first(), Some(Effect::Speak { text, .. }) if text == MESSAGE));
}

#[test]
fn a_machine_is_hung_up_on_or_talked_to_as_the_agent_says() {
    let mut agent = caller_of_machines();
    agent.answering_machine.on_machine = OnMachine::Hangup;
    let mut talk = Talk::with(&agent);
    detected(talk.until(500), false);
    assert_eq!(talk.end(), Some((500, &End::VoicemailHungUp)));

    agent.answering_machine.mode = MachineDetection::Off;
    let mut talk = Talk::with(&agent);
    detected(talk.until(500), true).until(3_000);
    assert_eq!((talk.end(), talk.history().len()), (None, 1));
}

#[test]
fn a_message_that_cannot_be_spoken_was_not_left() {
    let mut talk = Talk::with(&caller_of_machines());
    talk.until(3_000).voice = Voice::Fails(FailureCode::Pipeline);
    detected(&mut talk, true);
    assert!(matches!(talk.end(), Some((3_000, End::Failed(_)))));
}

const BY_ANY: [MachineEvidence; 3] = [MachineEvidence::Carrier, MachineEvidence::Words, MachineEvidence::Beep];

fn ignored(effect: &Effect) -> bool {
    matches!(effect, Effect::Decision(decision) if decision.kind == DecisionKind::MachineIgnored)
}

#[test]
fn a_verdict_about_whom_the_agent_has_answered_is_noted_and_changes_nothing() {
    for (on_machine, by) in
        [OnMachine::Hangup, OnMachine::LeaveMessage].into_iter().flat_map(|on| BY_ANY.map(|by| (on, by)))
    {
        let mut agent = caller_of_machines();
        agent.answering_machine.on_machine = on_machine;
        let mut talk = Talk::with(&agent);
        talk.until(2_000).caller_says("Yes, speaking.", 700).until(4_000).model_says("Is Friday fine?");
        talk.until(6_000).caller_says("Friday is fine.", 700).until(8_000).model_says("Then I will see you on Friday.");
        talk.until(9_100).tell(Input::MachineDetected { beep: true, by }).until(12_000);
        assert_eq!(talk.times(ignored), [9_100], "{on_machine:?}, {by:?}");
        assert_eq!((talk.end(), talk.conversation.turns()), (None, 2), "{on_machine:?}, {by:?}");
        assert_eq!(talk.transcript().last(), Some(&(Speaker::Agent, "Then I will see you on Friday.", false)));
    }
}

#[test]
fn a_verdict_counts_while_no_answer_was_heard() {
    for by in BY_ANY {
        let mut agent = caller_of_machines();
        agent.answering_machine.on_machine = OnMachine::Hangup;
        let mut talk = Talk::with(&agent);
        talk.until(2_000).caller_says("You have reached Ana.", 700).until(4_000);
        talk.tell(Input::MachineDetected { beep: false, by });
        assert_eq!(talk.end(), Some((4_000, &End::VoicemailHungUp)), "{by:?}");
    }
}

#[test]
fn a_beep_after_the_verdict_counts_whatever_was_said_before() {
    let mut talk = Talk::with(&caller_of_machines());
    detected(talk.until(500), false).until(800).caller_says("You have reached Ana.", 2_000).until(9_000);
    talk.tell(Input::MachineDetected { beep: true, by: MachineEvidence::Beep });
    assert_eq!((last_spoken(&talk), talk.times(ignored).len()), ((9_000, MESSAGE), 0));
}

/// Returns a conversation in which the caller was answered `turns` times and at 14 s says what a machine says.
fn answered(turns: u64, human: bool, by: MachineEvidence) -> Talk {
    answered_until(turns, human, 14_000, by)
}

/// Returns the same, with another time at which the caller begins to say that.
fn answered_until(turns: u64, human: bool, begins: u64, by: MachineEvidence) -> Talk {
    let mut agent = caller_of_machines();
    agent.answering_machine.on_machine = OnMachine::Hangup;
    let mut talk = Talk::with(&agent);
    if human {
        talk.tell(Input::HumanDetected);
    }
    for turn in 0..turns {
        talk.until(2_000 + turn * 4_000)
            .caller_says("Yes, speaking.", 700)
            .until(4_000 + turn * 4_000)
            .model_says("Good.");
    }
    talk.until(begins).caller_says("She is out, leave a message.", 1_000);
    talk.tell(Input::MachineDetected { beep: false, by });
    talk
}

#[test]
fn a_greeting_that_continues_behind_the_response_is_a_recording_and_a_caller_who_has_listened_is_a_person() {
    for (begins, is_machine) in [(4_500, true), (5_900, true), (6_500, false), (30_000, false)] {
        let talk = answered_until(1, false, begins, MachineEvidence::Recording);
        assert_eq!(talk.end().is_some(), is_machine, "{begins}");
    }
}

#[test]
fn what_a_recording_says_does_not_end_a_conversation() {
    use MachineEvidence::{Recording, Words};
    let table = [
        (0, false, Words, true),
        (1, false, Words, false),
        (0, true, Words, false),
        (0, false, Recording, true),
        (0, true, Recording, true),
        (1, false, Recording, false),
        (1, true, Recording, false),
        (2, false, Recording, false),
    ];
    for (turns, human, by, is_machine) in table {
        let talk = answered(turns, human, by);
        assert_eq!(u64::from(talk.conversation.turns()), turns);
        assert_eq!(talk.end().is_some(), is_machine, "{turns} turns, human {human}, {by:?}");
    }
}

#[test]
fn a_carrier_that_takes_its_word_back_no_longer_speaks_for_a_person() {
    let mut talk = answered_until(1, true, 4_500, MachineEvidence::Carrier);
    talk.tell(Input::MachineDetected { beep: false, by: MachineEvidence::Recording });
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::VoicemailHungUp));
}
