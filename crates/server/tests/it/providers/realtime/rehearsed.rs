//! Conversations in virtual time with a speech-to-speech model.

use std::time::Duration;

use crate::providers::rehearsal::{FakeProviders, VirtualCall, always, words};
use serde_json::json;
use switchhook::talk::realtime::Model;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::FailureCode;
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::NetworkSettings;
use switchhook_net::outbound::ws::WebSockets;
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::openai::speech_to_speech;

use super::goodbye;
use crate::doubles::openai_realtime::{Double, Hears, KEY, Opening, Reply};

const LONG: &str =
    "There is one at seven, and there is another one at nine by the window, and one at ten outside. Which is it?";

pub(super) fn model(double: &Double) -> Model {
    switchhook_net::install_tls();
    let addresses: AddressPolicy = "127.0.0.0/8,http".parse().expect("a policy");
    let settings = json!({ "base_url": double.base_url() });
    let provider = speech_to_speech::connect(&AdapterConfig {
        http: &reqwest::Client::builder().no_proxy().build().expect("a client"),
        websockets: &WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client"),
        addresses: &addresses,
        settings: settings.as_object().expect("an object"),
        key: Some(Private::new(KEY.to_owned())),
    });
    Model { provider: provider.expect("settings of use"), model: None, voice: None, rates: None }
}

async fn begin(double: &Double) -> VirtualCall {
    begin_with(vec![model(double)]).await
}

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent
}

async fn begin_with(models: Vec<Model>) -> VirtualCall {
    let mut talk = VirtualCall::begin_with(&agent(), FakeProviders::scripted(always("")), models).await;
    talk.until_silent_for(500, 0).await;
    talk
}

#[tokio::test(start_paused = true)]
async fn a_table_is_booked_by_a_caller_who_interrupts() {
    let double = Double::start(vec![Reply::Says("For when?"), Reply::Says(LONG), goodbye()], vec![]).await;
    let mut talk = begin(&double).await;
    assert!(talk.sounds()[0].0 < 500, "the greeting was made while the phone rang: {:?}", talk.sounds());
    assert_eq!(talk.says_and_is_answered("name").await, None);
    let spoke = talk.caller_says("day").await;
    talk.until_heard(2_000, spoke).await;
    let spoke = talk.caller_says("time").await;
    assert_eq!(talk.dead_air_since(spoke).await, None);
    talk.wait(5_000).await;
    assert!(talk.was_ended_by_the_agent(), "{:?}", talk.end);
    let lines = talk.said();
    let by_agent: Vec<bool> = lines.iter().map(|(by_agent, _)| *by_agent).collect();
    assert_eq!(by_agent, [true, false, true, false, true, false, true], "{lines:?}");
    let cut = lines[4].1;
    assert!(LONG.starts_with(cut) && !cut.is_empty() && cut.len() < LONG.len(), "{cut}");
    assert_eq!(double.received("conversation.item.truncate").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_failure_leaves_dead_air() {
    use FailureCode::{Pipeline, ProviderTimeout};
    let says = |replies: Vec<Reply>| [vec![Reply::Says("For when?")], replies, vec![Reply::Says("Noted."); 6]].concat();
    let troubles = [
        ("an answer that never comes", says(vec![Reply::Nothing; 4]), Some(ProviderTimeout)),
        ("a model that says nothing any more", says(vec![Reply::Ignores; 4]), Some(ProviderTimeout)),
        ("a connection that breaks", says(vec![Reply::Dies]), None),
        ("a connection that breaks in a sentence", says(vec![Reply::Breaks(LONG)]), None),
        ("connections that break", says(vec![Reply::Dies; 6]), Some(Pipeline)),
        (
            "connections that break between answers",
            says(vec![vec![Reply::Dies, Reply::Says("Noted.")]; 3].concat()),
            None,
        ),
        ("an answer that breaks off", says(vec![Reply::Stops(LONG)]), None),
        ("a model that fails", says(vec![Reply::Fails("Out of luck."); 4]), Some(Pipeline)),
        ("what is not JSON", says(vec![Reply::Garbage]), None),
    ];
    let mut broken = Vec::new();
    for (name, replies, code) in troubles {
        let double = Double::start(replies, vec![]).await;
        let mut talk = begin(&double).await;
        for line in ["name", "day", "time", "people"] {
            broken.extend(talk.says_and_is_answered(line).await.map(|promise| format!("{name}: {promise}")));
        }
        if talk.failure() != code {
            broken.push(format!("{name}: it ends by {:?} and not by {code:?}", talk.end));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(start_paused = true)]
async fn callers_whom_the_servers_voice_detection_misses_are_answered() {
    let double = Double::that_hears(Hears::WhatIsCommitted, vec![Reply::Says("For when?"), goodbye()]).await;
    let mut talk = begin(&double).await;
    for line in ["name", "day"] {
        assert_eq!(talk.says_and_is_answered(line).await, None);
    }
    talk.wait(5_000).await;
    assert!(talk.was_ended_by_the_agent(), "{:?}", talk.end);
    let said = talk.said();
    for line in ["name", "day"] {
        assert!(said.contains(&(false, words(line))), "{said:?}");
    }
    assert_eq!((double.sessions(), double.received("input_audio_buffer.commit").len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn who_is_answered_before_there_is_a_session_is_not_left_in_silence() {
    let double = Double::start_with(vec![Opening::Slow(Duration::from_millis(4_200))], vec![], vec![]).await;
    let (cast, models) = (FakeProviders::scripted(always("")), vec![model(&double)]);
    let mut talk = VirtualCall::answered_after(Duration::ZERO, &agent(), cast, models).await;
    talk.wait(9_000).await;
    let began: Vec<i64> = talk.transcript.iter().map(|line| line.start_ms).collect();
    assert!(matches!(began[..], [word, greeting] if word < 3_300 && greeting < 6_000), "{began:?} {:?}", talk.said());
    assert_eq!(talk.said()[1], (true, "Harbor Table, hello?"));
}

#[tokio::test(start_paused = true)]
async fn the_model_knows_how_much_an_interrupting_caller_has_heard() {
    let turns = vec![(5_000, 400, "What do you have?"), (3_000, 600, "Seven, please.")];
    let double = Double::start(vec![Reply::Says(LONG), goodbye()], turns).await;
    let mut talk = begin(&double).await;
    talk.wait(20_000).await;
    assert!(talk.was_ended_by_the_agent(), "{:?} {:?}", talk.end, talk.said());
    let truncated = double.received("conversation.item.truncate");
    let [truncated] = &truncated[..] else { panic!("{truncated:?}") };
    // Interrupted 3 s after the last turn; the response began a moment after that.
    let heard_ms = truncated["audio_end_ms"].as_u64().expect("a number");
    assert!((2_300..=3_000).contains(&heard_ms), "{heard_ms}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_dead_without_a_word_leaves_no_caller_in_silence() {
    let double = Double::start(vec![Reply::Says("For when?"), goodbye()], vec![]).await;
    let mut talk = begin(&double).await;
    assert_eq!(talk.says_and_is_answered("name").await, None);
    double.freeze();
    let spoke = talk.caller_says("day").await;
    talk.until_silent_for(5_000, spoke).await;
    assert!(talk.was_ended_by_the_agent(), "{:?} {:?}", talk.end, talk.said());
    let mut silent_since = spoke;
    for (began, ended) in talk.sounds().iter().filter(|(began, _)| *began > spoke) {
        assert!(*began < silent_since + 3_300, "{began}: {:?}", talk.sounds());
        silent_since = *ended;
    }
    assert_eq!(double.sessions(), 2);
    assert!(talk.said().contains(&(false, words("day"))), "{:?}", talk.said());
}

/// Returns the formats that sessions requested.
fn formats(double: &Double) -> Vec<String> {
    let sessions = double.received("session.update");
    let format = |update: &serde_json::Value| update["session"]["audio"]["input"]["format"]["type"].to_string();
    sessions.iter().map(|update| format(update).replace('"', "")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_g711_for_pcm_is_asked_again_in_pcm() {
    let replies = vec![Reply::Says("Are you there?"), Reply::Says("For when?"), goodbye()];
    let double = Double::that_hears(Hears::PcmOnly, replies).await;
    let mut talk = begin(&double).await;
    for line in ["name", "day", "time"] {
        assert_eq!(talk.says_and_is_answered(line).await, None);
    }
    talk.wait(5_000).await;
    assert!(talk.was_ended_by_the_agent(), "{:?} {:?}", talk.end, talk.said());
    assert_eq!(formats(&double), ["audio/pcmu", "audio/pcm"]);
    assert!(talk.said().contains(&(true, "For when?")), "it answers what it hears: {:?}", talk.said());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_understands_nothing_is_replaced_by_the_fallback_or_ends_the_call() {
    for has_fallback in [true, false] {
        let deaf = Double::that_hears(Hears::Nothing, vec![Reply::Says("Are you there?"); 9]).await;
        let other = Double::start(vec![Reply::Says("For when?"), goodbye()], vec![]).await;
        let models = if has_fallback { vec![model(&deaf), model(&other)] } else { vec![model(&deaf)] };
        let mut talk = begin_with(models).await;
        for line in ["name", "day", "time", "people", "yes"] {
            assert_eq!(talk.says_and_is_answered(line).await, None, "{has_fallback} {line}");
        }
        talk.wait(10_000).await;
        assert_eq!(formats(&deaf), ["audio/pcmu", "audio/pcm"]);
        if has_fallback {
            assert!(talk.was_ended_by_the_agent(), "{:?} {:?}", talk.end, talk.said());
            assert_eq!(formats(&other), ["audio/pcmu"]);
        } else {
            assert_eq!(talk.failure(), Some(FailureCode::Pipeline), "{:?} {:?}", talk.end, talk.said());
            assert_eq!(talk.said().last().map(|(by_agent, _)| *by_agent), Some(true), "with an apology");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_be_reached_or_is_lost_again_and_again_is_replaced_by_the_fallback() {
    let refuses = Opening::Refused(404, None, "model_not_found");
    for (openings, replies) in [(vec![refuses], vec![]), (vec![], vec![Reply::Dies; 3])] {
        let first = Double::start_with(openings, replies, vec![]).await;
        let other = Double::start(vec![Reply::Says("For when?"), goodbye()], vec![]).await;
        let mut talk = begin_with(vec![model(&first), model(&other)]).await;
        for line in ["name", "day"] {
            assert_eq!(talk.says_and_is_answered(line).await, None);
        }
        talk.wait(5_000).await;
        assert!(talk.was_ended_by_the_agent(), "{:?} {:?}", talk.end, talk.said());
        assert_eq!(other.sessions(), 1);
    }
}
