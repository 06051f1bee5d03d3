use super::*;

#[test]
fn a_silent_caller_is_asked_twice_and_let_go() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(60_000);
    let spoken = talk.spoken();
    assert_eq!(spoken.len(), 2);
    assert_eq!(spoken[0].0, 8_000);
    assert!(spoken.iter().all(|(_, text)| REPROMPTS.contains(text)) && spoken[0].1 != spoken[1].1);
    assert_eq!(talk.end(), Some((30_000, &End::Silence)), "30 s after the caller could last have spoken");
}

#[test]
fn words_start_the_wait_again_and_the_agents_own_do_too() {
    let mut talk = Talk::with_answer(&quiet_agent(), "Yes, at ten.");
    talk.until(11_000);
    assert_eq!(talk.spoken().len(), 1, "it finished at 3720: until 11720 there is patience");
    talk.until(12_000);
    assert_eq!(talk.spoken().len(), 2);
    talk.until(13_700).caller_says("I am here.", 500).until(15_000).model_says("Good.").until(60_000);
    assert_eq!(talk.end(), Some((45_300, &End::Silence)));
}

#[test]
fn agent_without_a_silence_limit_never_hangs_up_on_silence() {
    let mut agent = quiet_agent();
    agent.silence.hangup_after_seconds = None;
    agent.limits.max_duration_seconds = 100;
    let mut talk = Talk::with(&agent);
    talk.until(99_999);
    assert_eq!(talk.end(), None);
}
