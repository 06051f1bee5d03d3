//! STT over a websocket, with providers that are slow, unavailable, or refuse.

use std::time::Duration;

use serde_json::json;
use switchhook_core::call::ErrorCode;
use tokio::time::Instant;

use super::caller::text;
use super::streams::{Case, with_every};
use crate::doubles::stt::SttBehaviour;

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_is_given_up_before_the_fallback_times_out() {
    for behaviour in [SttBehaviour::Silent, SttBehaviour::Mute] {
        with_every(std::slice::from_ref(&behaviour), async |case| {
            if matches!(behaviour, SttBehaviour::Mute) && !case.greets {
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

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_in_mid_sentence_costs_no_word() {
    for lost in [
        SttBehaviour::Dies(15),
        SttBehaviour::Closes(15, 1011, "going away"),
        SttBehaviour::Says(15, "{ this is not JSON".to_owned()),
    ] {
        with_every(&[lost.clone(), SttBehaviour::Well], async |case| {
            let mut caller = case.call().await;
            caller.say("people").await;
            assert_eq!(caller.words().await, text("people"), "{} {lost:?} {:?}", case.name, caller.failed);
            assert_eq!(case.double.connections(), 2, "{} {lost:?}", case.name);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_message_or_a_byte_order_mark_ends_no_connection() {
    for odd in ["", " \n", "\u{feff}{}"] {
        with_every(&[SttBehaviour::Says(15, odd.to_owned())], async |case| {
            let mut caller = case.call().await;
            caller.say("people").await;
            assert_eq!(caller.words().await, text("people"), "{} {odd:?} {:?}", case.name, caller.failed);
            assert_eq!(case.double.connections(), 1, "{} {odd:?}", case.name);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_dead_without_a_word_is_noticed_at_the_end_of_the_sentence() {
    with_every(&[SttBehaviour::Freezes(15), SttBehaviour::Well], async |case| {
        let mut caller = case.call().await;
        caller.say("people").await;
        assert_eq!(caller.words().await, text("people"), "{} {:?}", case.name, caller.failed);
        assert_eq!(case.double.connections(), 2, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_dies_again_and_again_has_failed() {
    with_every(&[SttBehaviour::Dies(3)], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        let (code, words) = caller.failure().await;
        assert_eq!(code, ErrorCode::PipelineError, "{}: {words}", case.name);
        assert_eq!(case.double.connections(), 4, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
async fn a_key_that_is_refused_in_mid_call_is_a_failure_and_no_wrong_setting() {
    let revoked = SttBehaviour::Refuses(401, vec![], "the key was revoked");
    with_every(&[SttBehaviour::Dies(5), revoked], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        let (code, words) = caller.failure().await;
        assert!(code == ErrorCode::PipelineError && words.contains("revoked"), "{}: {code:?} {words}", case.name);
        assert_eq!(case.double.connections(), 2, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it_unless_it_is_too_long() {
    let busy = |after| SttBehaviour::Refuses(429, vec![("retry-after", after)], r#"{"error":"too many streams"}"#);
    with_every(&[busy("1"), SttBehaviour::Well], async |case| {
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

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_tried_three_times() {
    let broken = SttBehaviour::Refuses(503, vec![("x-request-id", "r7")], "overloaded");
    with_every(&[broken.clone(), broken.clone(), SttBehaviour::Well], async |case| {
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

#[tokio::test(start_paused = true)]
async fn words_that_come_when_time_is_up_are_not_lost() {
    with_every(&[SttBehaviour::Late(Duration::from_millis(500))], async |case| {
        let hurry = json!({ "stt_finalize_timeout_ms": 250 });
        let mut caller = case.call_with(case.key, hurry).await.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        caller.say("yes").await;
        assert_eq!(caller.words().await, text("yes"), "{}", case.name);
        caller.say("people").await;
        caller.say("day").await;
        let all = ["yes", "people", "day"].map(text).join(" ");
        assert_eq!(caller.words().await, all, "{} {:?}", case.name, caller.failed);
        assert_eq!(case.double.connections(), 1, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_begins_with_nonsense_gets_another_chance() {
    with_every(&[SttBehaviour::Greets("<html>"), SttBehaviour::Well], async |case| {
        let mut caller = case.call().await;
        caller.say("yes").await;
        assert_eq!(caller.words().await, text("yes"), "{} {:?}", case.name, caller.failed);
        assert_eq!(case.double.connections(), 2, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_in_mid_call_gets_it() {
    let busy = SttBehaviour::Refuses(429, vec![("retry-after", "1")], r#"{"error":"too many streams"}"#);
    with_every(&[SttBehaviour::Dies(5), busy, SttBehaviour::Well], async |case| {
        let mut caller = case.call().await;
        caller.say("name").await;
        assert_eq!(caller.words().await, text("name"), "{} {:?}", case.name, caller.failed);
        assert_eq!(case.double.connections(), 3, "{}", case.name);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_words_without_end_is_left() {
    let words = "word ".repeat(12_000);
    let says = |message: serde_json::Value| SttBehaviour::Says(3, message.to_string());
    let nova = says(json!({ "type": "Results", "channel": { "alternatives": [{ "transcript": words }] } }));
    let case = Case::nova(&[nova]).await;
    let mut caller = case.call().await;
    caller.say("yes").await;
    let (code, said) = caller.failure().await;
    assert!(code == ErrorCode::PipelineError && said.contains("more words than"), "{said}");
    assert_eq!(case.double.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_on_an_open_socket_is_a_wrong_setting_and_is_not_tried_twice() {
    let schema =
        r#"{"type":"Error","variant":"SchemaError","description":"Could not parse your message.","message":"{}"}"#;
    let flux = r#"{"type":"Error","sequence_id":0,"code":"UNSUPPORTED_MODEL","description":"There is no such model."}"#;
    let rate = r#"{"type":"Error","error_code":4000,"error":"Sample rate must be a positive integer"}"#;
    for (name, ends, words) in [
        ("deepgram nova", SttBehaviour::Ends(1, schema, 4400), "Could not parse your message."),
        ("deepgram nova", SttBehaviour::Closes(1, 4400, "bad request"), "bad request (close code 4400)"),
        ("openai realtime", SttBehaviour::Closes(1, 1008, "Invalid API key"), "Invalid API key (close code 1008)"),
        ("deepgram flux", SttBehaviour::Ends(0, flux, 4400), "There is no such model. (UNSUPPORTED_MODEL)"),
        ("deepgram flux", SttBehaviour::Ends(1, flux, 4400), "There is no such model. (UNSUPPORTED_MODEL)"),
        ("assemblyai", SttBehaviour::Ends(0, rate, 4000), "Sample rate must be a positive integer (close code 4000)"),
        ("assemblyai", SttBehaviour::Closes(1, 4101, "Invalid schema"), "Invalid schema (close code 4101)"),
    ] {
        let case = Case::named(name, std::slice::from_ref(&ends)).await;
        let (code, said) = match case.try_call_well().await {
            Ok(mut caller) => caller.failure().await,
            Err(error) => (error.code(), error.to_string()),
        };
        assert!(code == ErrorCode::ConfigError && said.contains(words), "{name}, {ends:?}: {code:?} {said}");
        assert_eq!(case.double.connections(), 1, "{name}, {ends:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_is_silent_is_no_error() {
    let silent = r#"{"message_type":"insufficient_audio_activity","error":"Too little was said."}"#;
    let case = Case::named("elevenlabs", &[SttBehaviour::Says(3, silent.to_owned())]).await;
    let mut caller = case.call().await;
    caller.say("name").await;
    assert_eq!(caller.words().await, text("name"), "{:?}", caller.failed);
    assert_eq!((case.double.connections(), case.double.complaints()), (1, vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_openai_says_of_itself_in_mid_call_is_believed() {
    let says = |kind: &str, code: &str| {
        let error = json!({ "type": kind, "code": code, "message": "So it is." });
        SttBehaviour::Says(4, json!({ "type": "error", "error": error }).to_string())
    };
    for (kind, code) in
        [("tokens", "rate_limit_exceeded"), ("server_error", ""), ("invalid_request_error", "session_expired")]
    {
        let case = Case::realtime(&[says(kind, code), SttBehaviour::Well]).await;
        let mut caller = case.call().await;
        caller.say("name").await;
        assert_eq!(caller.words().await, text("name"), "{code} {:?}", caller.failed);
        assert_eq!(case.double.connections(), 2, "{code}");
    }
    for code in ["insufficient_quota", "invalid_api_key"] {
        let case = Case::realtime(&[says("invalid_request_error", code)]).await;
        let mut caller = case.call().await;
        caller.say("name").await;
        let (_, words) = caller.failure().await;
        assert!(words.contains("So it is.") && words.contains(code), "{code}: {words}");
        assert_eq!(case.double.connections(), 1, "{code}");
    }
}
