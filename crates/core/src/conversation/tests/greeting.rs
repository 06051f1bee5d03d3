use super::*;

fn greeter(mode: GreetingMode) -> AgentConfig {
    let mut agent = quiet_agent();
    agent.greeting.mode = mode;
    agent.greeting.text = "Hello, this is Luigi's.".to_owned();
    agent
}

#[test]
fn the_agent_greets_as_soon_as_there_is_media() {
    let agent = greeter(GreetingMode::Speak);
    let mut talk = Talk::with(&agent);
    assert_eq!(talk.spoken(), [(0, "Hello, this is Luigi's.")]);
    assert_eq!(Conversation::greeting(&agent).as_deref(), Some("Hello, this is Luigi's."), "what was prepared is said");
    talk.tell(Input::MediaStarted).until(4_000);
    assert_eq!(talk.history(), [assistant("Hello, this is Luigi's.")]);
}

#[test]
fn an_agent_that_waits_greets_a_silent_caller_only() {
    let mut talk = Talk::with(&greeter(GreetingMode::Wait));
    talk.until(4_000);
    assert_eq!(talk.spoken(), [(2_000, "Hello, this is Luigi's.")]);

    let mut talk = Talk::with(&greeter(GreetingMode::Wait));
    talk.until(500).caller_says("Is that Luigi's?", 600).until(5_000).model_says("Yes.");
    assert!(talk.spoken().iter().all(|(_, text)| !text.starts_with("Hello")));
}

#[test]
fn a_noise_while_the_phone_is_picked_up_does_not_cost_the_greeting() {
    for ms in [200, 400] {
        let mut talk = Talk::with(&greeter(GreetingMode::Wait));
        talk.until(1_500).caller_says("", ms).until(6_000);
        let said: Vec<&str> = talk.spoken().into_iter().map(|(_, text)| text).collect();
        assert_eq!(said, ["Hello, this is Luigi's."], "{ms}");
    }
}

#[test]
fn a_greeting_may_be_the_models_and_falls_back_to_the_text() {
    let mut talk = Talk::with(&greeter(GreetingMode::Generate));
    talk.until(300).model_says("Good evening!").until(3_000);
    assert_eq!(talk.spoken(), [(300, "Good evening!")]);
    assert_eq!(talk.conversation.turns(), 0, "nobody asked anything yet");

    let mut talk = Talk::with(&greeter(GreetingMode::Generate));
    talk.until(300).model_fails(FailureCode::Pipeline);
    assert_eq!(talk.spoken(), [(300, "Hello, this is Luigi's.")]);
}

#[test]
fn a_greeting_that_must_be_heard_is_not_interrupted() {
    let mut agent = greeter(GreetingMode::Speak);
    agent.greeting.interruptible = false;
    let mut talk = Talk::with(&agent);
    talk.until(300).caller_says("A table for two, please.", 700).until(5_000);
    assert!(talk.times(|effect| matches!(effect, Effect::PausePlayback | Effect::ClearPlayback)).is_empty());
    assert_eq!(talk.last_question(), [assistant("Hello, this is Luigi's."), user("A table for two, please.")]);
}
