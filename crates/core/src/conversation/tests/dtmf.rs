use super::*;

/// Presses `dtmf` at once.
fn press<'a>(talk: &'a mut Talk, keys: &str) -> &'a mut Talk {
    for digit in keys.chars() {
        talk.tell(Input::Dtmf { digit });
    }
    talk
}

/// Returns when the model was asked, and about what.
fn asked(talk: &Talk) -> (Vec<u64>, Vec<String>) {
    let said = talk.history().into_iter().filter(|(role, _)| *role == Role::User).map(|(_, text)| text).collect();
    (talk.asks().into_iter().map(|(ms, _)| ms).collect(), said)
}

#[test]
fn an_input_ends_after_a_pause_with_the_finish_key_or_when_it_is_long_enough() {
    let pressed = |agent: &AgentConfig, keys: &str| {
        let mut talk = Talk::with(agent);
        press(talk.until(1_000), keys).until(9_000);
        (talk.asks()[0].0, talk.history()[0].1.clone())
    };
    let agent = quiet_agent();
    assert_eq!(pressed(&agent, "12"), (3_000, "[keys] 12".to_owned()), "2 s after the last key");
    assert_eq!(pressed(&agent, "12#"), (1_000, "[keys] 12".to_owned()));
    assert_eq!(pressed(&agent, "#"), (1_000, "[keys] #".to_owned()), "the finish key alone is an input");
    let mut agent = quiet_agent();
    agent.dtmf.finish_on_key = Some("*".to_owned());
    agent.dtmf.digit_timeout_ms = 5_000;
    agent.dtmf.max_digits = 3;
    assert_eq!(pressed(&agent, "1#"), (6_000, "[keys] 1#".to_owned()));
    assert_eq!(pressed(&agent, "1#*"), (1_000, "[keys] 1#".to_owned()));
    assert_eq!(pressed(&agent, "123"), (1_000, "[keys] 123".to_owned()));
    agent.dtmf.finish_on_key = None;
    assert_eq!(pressed(&agent, "1*"), (6_000, "[keys] 1*".to_owned()));
}

#[test]
fn the_finish_key_behind_a_full_input_does_not_interrupt_its_response() {
    let mut agent = quiet_agent();
    agent.dtmf.max_digits = 4;
    let mut talk = Talk::with(&agent);
    press(talk.until(1_000), "1234").until(1_200).model_says("Thank you.");
    press(talk.until(1_500), "#").until(5_000);
    assert_eq!(asked(&talk), (vec![1_000], vec!["[keys] 1234".to_owned()]));
    assert_eq!(talk.history().last(), Some(&assistant("Thank you.")));
    press(&mut talk, "#").until(5_100);
    assert_eq!(talk.last_question().last(), Some(&user("[keys] #")), "later it is an input");
}

#[test]
fn each_key_restarts_the_timeout() {
    let mut talk = Talk::with(&quiet_agent());
    for (ms, key) in [(1_000, "1"), (2_900, "2"), (4_800, "3")] {
        press(talk.until(ms), key);
    }
    talk.until(9_000);
    assert_eq!(asked(&talk), (vec![6_800], vec!["[keys] 123".to_owned()]));
}

#[test]
fn keys_stand_behind_the_words_of_the_same_turn() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("My number is", 800);
    press(talk.until(2_500), "471#").until(3_000);
    assert_eq!(asked(&talk), (vec![2_500], vec!["My number is [keys] 471".to_owned()]));
    assert_eq!(talk.transcript(), [(Speaker::Caller, "My number is [keys] 471", false)]);
}

#[test]
fn a_key_cuts_the_agent_off() {
    let mut talk = Talk::with_answer(&quiet_agent(), "There is one at eight o'clock, by the window.");
    press(talk.until(4_000), "1").until(7_000);
    assert_eq!(talk.times(|effect| *effect == Effect::ClearPlayback), [4_000]);
    assert_eq!(talk.last_question().last(), Some(&user("[keys] 1")));
}

#[test]
fn where_keys_do_not_interrupt_they_are_gathered_until_the_agent_is_done() {
    let mut agent = quiet_agent();
    agent.dtmf.interrupt = false;
    let mut talk = Talk::with_answer(&agent, "There is one at eight o'clock, by the window.");
    press(talk.until(4_000), "1#22#3").until(9_000);
    assert!(talk.times(|effect| *effect == Effect::ClearPlayback).is_empty());
    assert_eq!(talk.last_question().last(), Some(&user("[keys] 1 22 3")), "three inputs, each by itself");
}

#[test]
fn an_agent_that_does_not_listen_to_keys_does_not_notice_them() {
    let mut agent = quiet_agent();
    agent.dtmf.enabled = false;
    agent.silence.hangup_after_seconds = Some(5);
    agent.silence.max_reprompts = 0;
    let mut talk = Talk::with(&agent);
    press(talk.until(1_000), "1#").until(9_000);
    assert!(talk.asks().is_empty() && talk.transcript().is_empty());
    assert_eq!(talk.end(), Some((5_000, &End::Silence)), "nor do they keep the line open");
}

#[test]
fn key_input_is_limited_to_256_digits() {
    let mut agent = quiet_agent();
    agent.dtmf.interrupt = false;
    agent.dtmf.finish_on_key = None;
    let mut talk = Talk::with_answer(&agent, "There is one at eight o'clock, by the window.");
    press(talk.until(4_000), &"5".repeat(5_000)).until(9_000);
    let (_, said) = talk.last_question().pop().expect("the caller's turn");
    assert_eq!(said.chars().filter(|c| *c == '5').count(), 256);
}
