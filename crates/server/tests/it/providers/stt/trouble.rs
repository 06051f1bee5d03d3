//! Recognisers that listen to a websocket, when their provider is slow, gone, or refuses.

use std::time::{Duration, Instant};

use switchhook_core::call::ErrorCode;

use super::caller::text;
use super::streams::with_every;
use crate::doubles::listening::Behaviour;

#[tokio::test]
async fn who_does_not_answer_is_given_up_before_the_fallback_loses_patience() {
    for behaviour in [Behaviour::Silent, Behaviour::Mute] {
        with_every(std::slice::from_ref(&behaviour), async |case| {
            if matches!(behaviour, Behaviour::Mute) && !case.greets {
                return; // Nothing is promised, so nothing is waited for.
            }
            let began = Instant::now();
            let error = case.try_call_well().await.err().unwrap_or_else(|| panic!("{}", case.name));
            assert_eq!(error.code(), ErrorCode::ProviderTimeout, "{}: {error}", case.name);
            assert!(began.elapsed() < Duration::from_secs(4), "{}", case.name);
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_that_is_lost_in_mid_sentence_costs_no_word() {
    for lost in [
        Behaviour::Dies(15),
        Behaviour::Closes(15, 1011, "going away"),
        Behaviour::Says(15, "{ this is not JSON".to_owned()),
    ] {
        with_every(&[lost.clone(), Behaviour::Well], async |case| {
            let mut caller = case.call().await;
            caller.say("name").await;
            assert_eq!(caller.words().await, text("name"), "{} {lost:?} {:?}", case.name, caller.failed);
            assert_eq!(case.double.connections(), 2, "{} {lost:?}", case.name);
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_that_is_dead_without_a_word_is_noticed_at_the_end_of_the_sentence() {
    with_every(&[Behaviour::Freezes(15), Behaviour::Well], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        assert_eq!(caller.words().await, text("name"), "{} {:?}", case.name, caller.failed);
        assert_eq!(case.double.connections(), 2, "{}", case.name);
    })
    .await;
}

#[tokio::test]
async fn who_dies_again_and_again_has_failed() {
    with_every(&[Behaviour::Dies(3)], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        let (code, words) = caller.failure().await;
        assert_eq!(code, ErrorCode::PipelineError, "{}: {words}", case.name);
        assert_eq!(case.double.connections(), 4, "{}", case.name);
    })
    .await;
}

#[tokio::test]
async fn a_wrong_key_is_a_wrong_setting_and_is_not_tried_twice() {
    with_every(&[], async |case| {
        let error = match case.try_call("wrong-key").await {
            Ok(_) => panic!("{} took the key", case.name),
            Err(error) => error,
        };
        assert_eq!(error.code(), ErrorCode::ConfigError, "{}: {error}", case.name);
        let words = error.to_string().to_lowercase();
        let own = ["invalid", "not authorized", "incorrect"].iter().any(|own| words.contains(own));
        assert!(own && !words.contains("wrong-key"), "{}: {words}", case.name);
        assert_eq!(case.double.connections(), 1, "{}", case.name);
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_refused_in_mid_call_is_a_failure_and_no_wrong_setting() {
    let revoked = Behaviour::Refuses(401, vec![], "the key was revoked");
    with_every(&[Behaviour::Dies(5), revoked], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        let (code, words) = caller.failure().await;
        assert!(code == ErrorCode::PipelineError && words.contains("revoked"), "{}: {code:?} {words}", case.name);
        assert_eq!(case.double.connections(), 2, "{}", case.name);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_asks_for_a_pause_gets_it_unless_it_is_too_long() {
    let busy = |after| Behaviour::Refuses(429, vec![("retry-after", after)], r#"{"error":"too many streams"}"#);
    with_every(&[busy("1"), Behaviour::Well], async |case| {
        let began = Instant::now();
        let mut caller = case.call().await;
        assert!(began.elapsed() >= Duration::from_secs(1), "{}", case.name);
        caller.say("yes").await;
        assert_eq!(caller.words().await, text("yes"), "{}", case.name);
    })
    .await;
    with_every(&[busy("60")], async |case| {
        let error = case.try_call_well().await.err().unwrap_or_else(|| panic!("{}", case.name));
        let words = error.to_string();
        assert_eq!(error.code(), ErrorCode::PipelineError, "{}: {words}", case.name);
        assert!(words.contains("too many streams") && words.contains("429"), "{}: {words}", case.name);
        assert_eq!(case.double.connections(), 1, "{}", case.name);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_fails_is_tried_three_times() {
    let broken = Behaviour::Refuses(503, vec![("x-request-id", "r7")], "overloaded");
    with_every(&[broken.clone(), broken.clone(), Behaviour::Well], async |case| {
        case.call().await;
        assert_eq!(case.double.connections(), 3, "{}", case.name);
    })
    .await;
    with_every(&[broken], async |case| {
        let error = case.try_call_well().await.err().unwrap_or_else(|| panic!("{}", case.name));
        assert_eq!(error.code(), ErrorCode::PipelineError, "{}: {error}", case.name);
        assert!(error.to_string().contains("overloaded (status 503, request r7)"), "{}: {error}", case.name);
        assert_eq!(case.double.connections(), 3, "{}", case.name);
    })
    .await;
}
