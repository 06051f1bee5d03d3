use super::*;

/// Has the agent say goodbye from 3 s to 4.5 s and request the end of the call.
fn goodbye() -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("That is all.", 500).until(3_000);
    talk.delta("Then have a good evening.").model_calls("1", "end_call").model_done();
    talk
}

#[test]
fn the_call_ends_when_the_goodbye_was_heard() {
    let mut talk = goodbye();
    talk.until(10_000);
    assert_eq!(talk.end(), Some((4_800, &End::AgentHungUp)), "25 characters, and 300 ms for the network");
    assert_eq!(talk.transcript().last(), Some(&(Speaker::Agent, "Then have a good evening.", false)));
    assert_eq!(talk.conversation.next_deadline(), None);
    assert!(talk.conversation.handle(at(20_000), Input::Tick).is_empty());
}

#[test]
fn a_long_goodbye_is_heard_to_its_end() {
    let recap = "Your table is booked for Friday. ".repeat(20);
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("That is all.", 500).until(3_000);
    talk.delta(&recap).model_calls("1", "end_call").model_done().until(120_000);
    // 20 sentences of 32 characters from 3 s on, and 300 ms for the network.
    assert_eq!(talk.end(), Some((41_700, &End::AgentHungUp)));
    assert!(talk.transcript().iter().all(|(_, _, interrupted)| !interrupted), "nothing is cut");
}

#[test]
fn a_model_that_ends_without_a_word_has_goodbye_said_for_it() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("That is all.", 500).until(3_000).model_calls("1", "end_call").model_done();
    assert!(GOODBYES.contains(&talk.spoken()[0].1));
    talk.until(9_000);
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::AgentHungUp));
}

#[test]
fn bye_ends_it_and_a_question_keeps_it_open_once() {
    let mut talk = goodbye();
    talk.until(3_500).caller_says("Thank you, bye!", 600).until(10_000);
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::AgentHungUp));
    assert_eq!(talk.history().last(), Some(&user("Thank you, bye!")));

    let mut talk = goodbye();
    talk.until(3_500).caller_says("One more question.", 600).until(6_000);
    assert_eq!(talk.end(), None);
    assert_eq!(talk.asks().len(), 2);
    talk.delta("Gladly, but I have to go now.").model_calls("2", "end_call").model_done();
    talk.until(6_500).caller_says("But one more question.", 600).until(12_000);
    assert_eq!(talk.end().map(|(_, reason)| reason), Some(&End::AgentHungUp), "nobody is kept for ever");
}

#[test]
fn a_caller_who_is_speaking_when_the_goodbye_ends_is_heard_out() {
    let mut talk = goodbye();
    talk.until(4_400).caller_says("Wait, what about Sunday?", 2_000).until(8_000);
    assert_eq!(talk.end(), None);
    assert_eq!(talk.last_question().last(), Some(&user("Wait, what about Sunday?")));
}

#[test]
fn maximum_duration_cuts_off_the_agent() {
    let mut agent = quiet_agent();
    agent.limits.max_duration_seconds = 10;
    let mut talk = Talk::with(&agent);
    talk.until(7_000).caller_says("Is there a table?", 500).until(9_500).model_says("Yes, at ten.").until(30_000);
    assert_eq!(talk.spoken().last(), Some(&(10_000, TIME_IS_UP[0])));
    assert_eq!(talk.transcript()[1], (Speaker::Agent, "Yes, at", true));
    assert_eq!(talk.end(), Some((12_440, &End::MaxDuration)));
}

#[test]
fn a_question_during_the_goodbye_does_not_buy_more_than_the_longest_duration() {
    let mut agent = quiet_agent();
    agent.limits.max_duration_seconds = 10;
    let mut talk = Talk::with(&agent);
    talk.until(7_000).caller_says("That is all.", 500).until(9_500);
    talk.delta("Then have a very good evening.").model_calls("1", "end_call").model_done();
    talk.until(10_100).caller_says("One more question.", 700).until(40_000);
    assert_eq!(talk.end(), Some((11_600, &End::AgentHungUp)), "300 ms after its last audio");
    assert_eq!(talk.asks().len(), 1);
}

#[test]
fn a_request_ends_it_at_once_and_the_books_are_closed() {
    let mut talk = Talk::with_answer(&quiet_agent(), "Yes, at ten.");
    talk.until(3_500).tell(Input::HangUpRequested);
    assert_eq!(talk.end(), Some((3_500, &End::Requested)));
    assert_eq!(talk.transcript().last(), Some(&(Speaker::Agent, "Yes, at", true)));
}

#[test]
fn when_the_line_is_gone_the_last_words_are_not_lost() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_starts().partial("I want").until(1_400);
    let effects = talk.conversation.finish(at(1_400));
    assert!(matches!(effects.as_slice(), [Effect::Transcript(entry)] if entry.text == "I want"));
    assert_eq!(talk.conversation.next_deadline(), None);
}
