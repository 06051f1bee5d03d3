use super::*;

fn say(text: &str, interrupt: bool) -> Input {
    Input::Say { text: text.to_owned(), interrupt }
}

fn texts(talk: &Talk) -> Vec<&str> {
    talk.spoken().into_iter().map(|(_, text)| text).collect()
}

#[test]
fn what_the_api_wants_said_waits_for_the_answer_and_is_remembered() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Is there a table?", 500).until(2_000);
    talk.tell(say("Your taxi is here.", false)).until(2_500).model_says("Yes.").until(6_000);
    assert_eq!(texts(&talk), ["Yes.", "Your taxi is here."]);
    assert_eq!(talk.transcript().last(), Some(&(Speaker::Agent, "Your taxi is here.", false)));
    assert_eq!(talk.history().last(), Some(&assistant("Your taxi is here.")));
}

#[test]
fn say_by_api_interrupts_the_agent_but_not_the_caller() {
    let mut talk = Talk::with_answer(&quiet_agent(), "Yes, at ten.");
    talk.until(3_400).tell(say("It will rain.", false)); // Nobody hears of it any more.
    talk.until(3_500).tell(say("Your taxi is here.", true));
    assert_eq!(talk.spoken().last(), Some(&(3_500, "Your taxi is here.")), "at once");
    talk.until(6_000);
    assert_eq!(
        talk.transcript()[1..],
        [(Speaker::Agent, "Yes, at", true), (Speaker::Agent, "Your taxi is here.", false)]
    );

    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_starts().until(1_500).tell(say("Your taxi is here.", true)).until(2_000);
    assert_eq!(texts(&talk), [""; 0], "the caller speaks");
    talk.caller_stops("Is there a table?").until(4_000).model_says("Yes.").until(8_000);
    assert_eq!(texts(&talk), ["Yes.", "Your taxi is here."]);
}

#[test]
fn what_the_api_wants_said_outlives_an_interruption_by_the_caller() {
    let mut talk = Talk::with_answer(&quiet_agent(), "We have a table at seven and another one at nine tonight.");
    talk.until(3_500).tell(say("Your taxi is here.", false));
    talk.until(4_000).caller_starts().until(4_300).partial("Not that");
    talk.until(4_500).caller_stops("Not that late.").until(6_000).model_says("At six, then.").until(10_000);
    assert_eq!(texts(&talk)[1..], ["At six, then.", "Your taxi is here."]);
}

#[test]
fn a_goodbye_is_not_disturbed() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("That is all.", 500).until(3_000);
    talk.delta("Then have a good evening.").model_calls("1", "end_call").model_done();
    talk.until(3_500).tell(say("Your taxi is here.", true)).until(10_000);
    assert_eq!(texts(&talk), ["Then have a good evening."]);
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::AgentHungUp));
}

#[test]
fn tones_of_any_length_are_neither_silence_nor_a_lost_voice() {
    let mut agent = quiet_agent();
    agent.silence.hangup_after_seconds = Some(10);
    let mut talk = Talk::with_answer(&agent, "Yes, at ten.");
    talk.line.held = true; // As the tones do it.
    talk.tell(Input::DtmfSendStarted).until(30_000);
    assert_eq!(talk.end(), None);
    talk.line.held = false;
    talk.tell(Input::DtmfSent).until(32_000);
    assert_eq!(talk.transcript().last(), Some(&(Speaker::Agent, "Yes, at ten.", false)));
    talk.until(60_000);
    assert!(talk.end().is_some_and(|(at, reason)| at > 39_000 && *reason == End::Silence), "{:?}", talk.end());
}

#[test]
fn agent_is_silent_during_a_transfer_and_reports_its_failure() {
    let mut talk = Talk::with_answer(&quiet_agent(), "Yes, at ten.");
    talk.until(3_500).tell(Input::TransferStarted);
    talk.until(4_000).caller_says("Hello?", 500).until(9_000);
    assert_eq!((talk.spoken().len(), talk.asks().len()), (1, 1), "silence");
    talk.tell(Input::TransferFailed).until(10_000);
    assert!(NOT_PUT_THROUGH.contains(&talk.spoken()[1].1), "{:?}", talk.spoken());
    talk.until(14_000);
    assert_eq!(talk.last_question().last(), Some(&user("Hello?")), "what was said meanwhile is answered");
}

#[test]
fn a_tool_transfers_the_caller_once_they_have_heard_so_unless_they_speak_before() {
    for interrupts in [false, true] {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).caller_says("Somebody else, please.", 500).until(2_000);
        talk.delta("I will put you through.").model_calls("a", "transfer").model_done(); // 23 characters: 1380 ms.
        talk.tell(Input::TransferRequested { id: "a".to_owned(), number: "+12025550142".to_owned() });
        if interrupts {
            talk.until(2_500).caller_starts().until(2_800).partial("Wait, no").until(3_000).caller_stops("Wait, no.");
        }
        talk.until(6_000);
        let transfers = talk.times(|effect| matches!(effect, Effect::Transfer { .. }));
        assert_eq!(transfers, if interrupts { vec![] } else { vec![3_380] });
        if !interrupts {
            talk.tell(Input::TransferStarted).tell(Input::TransferFailed);
            assert!(NOT_PUT_THROUGH.contains(&talk.spoken()[1].1), "{:?}", talk.spoken());
            assert_eq!(talk.transcript()[1], (Speaker::Agent, "I will put you through.", false));
        }
    }
}
