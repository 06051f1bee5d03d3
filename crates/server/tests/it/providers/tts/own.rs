//! Behaviour specific to one TTS provider, or to those with sockets, in virtual time: a stalled machine exceeds no deadline.

use std::time::Duration;

use serde_json::json;
use switchhook_providers::tts::TtsTimeouts;
use switchhook_providers::{ProviderError, TtsRequest};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{FakeProviders, Kind, request, short};
use crate::doubles::openai_tts;
use crate::doubles::tts::TtsBehaviour;

const TEXT: &str = "Good evening, this is Ava.";
const SOCKETS: [Kind; 3] = [Kind::Cartesia, Kind::Deepgram, Kind::ElevenLabs];

#[tokio::test(start_paused = true)]
async fn frozen_socket_is_detected_and_replaced() {
    for kind in SOCKETS {
        let deadlines = TtsTimeouts { ping: Duration::from_millis(100), ..TtsTimeouts::default() };
        let cast = FakeProviders::with(kind, json!({}), deadlines).await;
        cast.state.next([TtsBehaviour::Freeze]);
        let spoken = cast.speak(TEXT).await.expect("spoken on another socket");
        kind.assert_speaks(&spoken.samples, TEXT);
        assert_eq!(cast.connections(), 2, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_on_which_nothing_is_spoken_is_closed_in_order() {
    for kind in SOCKETS {
        let deadlines = TtsTimeouts { idle: Duration::from_millis(100), ..TtsTimeouts::default() };
        let cast = FakeProviders::with(kind, json!({}), deadlines).await;
        cast.speak(TEXT).await.expect("spoken");
        cast.state.until("closing", |seen| seen.ended == 1).await;
        cast.speak(TEXT).await.expect("spoken on another socket");
        assert_eq!(cast.connections(), 2, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sockets_are_closed_when_the_connection_is_changed() {
    for kind in SOCKETS {
        let mut cast = FakeProviders::start(kind).await;
        cast.speak(TEXT).await.expect("spoken");
        cast.voice = FakeProviders::start(kind).await.voice.clone();
        cast.state.until("closing", |seen| seen.ended == 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_voice_the_model_and_the_speed_of_an_agent_reach_the_provider() {
    let fast = || TtsRequest {
        voice: Some("aura-someone".to_owned()),
        model: Some("sonic-x".to_owned()),
        speed: 9.0,
        ..request(TEXT)
    };
    for (kind, expected) in [
        (
            Kind::Cartesia,
            json!({ "/voice/id": "aura-someone", "/model_id": "sonic-x", "/generation_config/speed": 1.5 }),
        ),
        (Kind::Deepgram, json!({ "/model": "aura-someone", "/speed": "1.5" })),
        (Kind::ElevenLabs, json!({ "/voice": "aura-someone", "/model": "sonic-x", "/voice_settings/speed": 1.2 })),
        (Kind::OpenAi, json!({ "/voice": "aura-someone", "/model": "sonic-x", "/speed": 4.0 })),
    ] {
        let cast =
            FakeProviders::with(kind, json!({ "tts_voice": "aura-default", "tts_model": "m" }), TtsTimeouts::default())
                .await;
        cast.say(fast()).await.expect("spoken");
        cast.speak(TEXT).await.expect("spoken");
        let asked = cast.state.seen(|seen| seen.asked.clone());
        for (pointer, value) in expected.as_object().expect("an object") {
            let found = asked[0].pointer(pointer).expect("it was asked");
            let close = found.as_f64().zip(value.as_f64()).is_some_and(|(a, b)| (a - b).abs() < 0.001);
            assert!(close || found == value, "{kind:?} {pointer}: {found}");
        }
        let default = asked[1].pointer(if kind == Kind::Cartesia { "/voice/id" } else { "/voice" });
        let default = default.or(asked[1].pointer("/model"));
        assert_eq!(default, Some(&json!("aura-default")), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cartesia_says_of_one_context_concerns_no_other() {
    let cast = FakeProviders::start(Kind::Cartesia).await;
    let error = |status: u16, code: &str| {
        TtsBehaviour::Say(
            json!({ "type": "error", "title": "No", "message": "It is so.", "error_code": code, "status_code": status }),
        )
    };
    cast.state.next([
        TtsBehaviour::Stall(1),
        error(429, "concurrency_limited"),
        TtsBehaviour::Well,
        error(404, "voice_not_found"),
    ]);
    let other = cast.begin("Spoken all the while.").await;
    Kind::Cartesia.assert_speaks(&cast.speak(TEXT).await.expect("asked again").samples, TEXT);
    let refused = cast.fail(TEXT).await;
    assert!(
        matches!(&refused, ProviderError::Config { message, .. } if message == "It is so. (voice_not_found, status 404)"),
        "{refused}"
    );
    assert!(!other.is_finished());
    assert_eq!(cast.connections(), 1);
    other.abort();
    cast.state.until("stopping", |seen| seen.stopped == 1).await;
}

#[tokio::test(start_paused = true)]
async fn elevenlabs_never_has_more_contexts_open_than_its_socket_bears() {
    let cast = FakeProviders::start(Kind::ElevenLabs).await;
    cast.state.next(vec![TtsBehaviour::Deaf; 9]);
    let mut speaking = Vec::new();
    for _ in 0..9 {
        // Interrupted at once; each continues at the provider.
        let one = cast.begin("Interrupted again and again.").await;
        one.abort();
        speaking.push(one);
    }
    Kind::ElevenLabs.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
    assert_eq!(cast.connections(), 3, "four at a time, for nine that never end and one that does");
}

#[tokio::test(start_paused = true)]
async fn what_elevenlabs_says_inside_a_socket_is_distinguished() {
    let cast = FakeProviders::start(Kind::ElevenLabs).await;
    cast.state.next([TtsBehaviour::Say(
        json!({ "error": "quota_exceeded", "message": "You have no credits left.", "code": 1008 }),
    )]);
    let error = cast.fail(TEXT).await;
    assert!(
        matches!(&error, ProviderError::Config { message, .. } if message == "You have no credits left. (quota_exceeded)"),
        "{error}"
    );
    cast.state.next([TtsBehaviour::Close(1008, "Something was wrong with your message")]);
    let error = cast.fail(TEXT).await;
    assert!(
        matches!(&error, ProviderError::Failed { message, .. } if message.starts_with("Something was wrong")),
        "{error}"
    );
    cast.state.next([TtsBehaviour::Close(1011, "")]);
    cast.speak(TEXT).await.expect("their trouble is not ours: asked again");
    let odd = TtsRequest { voice: Some("../user".to_owned()), ..request(TEXT) };
    assert!(matches!(cast.say(odd).await.err(), Some(ProviderError::Config { .. })), "no voice has such an id");
}

#[tokio::test(start_paused = true)]
async fn deepgram_is_not_flushed_more_often_than_it_allows() {
    let cast = FakeProviders::start(Kind::Deepgram).await;
    for _ in 0..21 {
        cast.speak("Yes.").await.expect("spoken");
    }
    assert_eq!(cast.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn request_waiting_for_a_connection_does_not_block_others() {
    let cast = FakeProviders::start(Kind::Deepgram).await;
    cast.state.ignore_one();
    let first = request(TEXT);
    let voice = cast.voice.clone();
    let waiting = tokio::spawn(async move {
        let (audio, _heard) = mpsc::channel(64);
        let _ = voice.speak(first, audio).await;
    });
    cast.state.until("ignoring", |seen| seen.ignored == 1).await;
    let began = Instant::now();
    for text in ["A new connection is opened.", "And there is one now."] {
        Kind::Deepgram.assert_speaks(&cast.speak(text).await.expect("spoken").samples, text);
    }
    assert!(began.elapsed() < TtsTimeouts::default().connect / 2, "{:?}", began.elapsed());
    assert_eq!(cast.connections(), 1);
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn request_over_the_concurrency_limit_fails_without_disturbing_others() {
    let cast = FakeProviders::start(Kind::Cartesia).await;
    cast.state.next([TtsBehaviour::Stall(1), TtsBehaviour::Stall(1)]);
    let speaking = [cast.begin("Spoken all the while.").await, cast.begin("Spoken as well.").await];
    let error = cast.fail(TEXT).await;
    assert!(matches!(&error, ProviderError::Failed { message, .. } if message.contains("Too many")), "{error}");
    assert_eq!(cast.state.seen(|seen| seen.refused), 3, "asked again");
    assert!(speaking.iter().all(|speaking| !speaking.is_finished()));
    speaking.iter().for_each(tokio::task::JoinHandle::abort);
    cast.state.until("stopping", |seen| seen.stopped == 2).await;
    Kind::Cartesia.assert_speaks(&cast.speak(TEXT).await.expect("there is room").samples, TEXT);
}

#[tokio::test(start_paused = true)]
async fn a_deepgram_socket_that_does_not_confirm_clear_is_given_up() {
    let cast = FakeProviders::with(Kind::Deepgram, json!({}), short()).await;
    cast.state.next([TtsBehaviour::Deaf]);
    cast.begin(TEXT).await.abort();
    cast.state.until("stopping", |seen| seen.stopped == 1).await;
    // While late audio may still arrive, another socket is used; later this one is closed.
    Kind::Deepgram.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
    cast.state.until("giving up", |seen| seen.ended == 1).await;
    assert_eq!(cast.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn servers_that_only_offer_wav_or_put_errors_into_a_200_are_understood() {
    let cast = FakeProviders::with(
        Kind::OpenAi,
        json!({ "tts_format": "wav", "tts_sample_rate": 48_000 }),
        TtsTimeouts::default(),
    )
    .await;
    Kind::OpenAi.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
    assert_eq!(cast.state.seen(|seen| seen.asked[0]["response_format"].clone()), "wav");
    cast.state.next([TtsBehaviour::Say(openai_tts::error("No such voice.", "voice_not_found"))]);
    let error = cast.fail(TEXT).await;
    assert!(
        matches!(&error, ProviderError::Config { message, .. } if message.starts_with("No such voice. (voice_not_found)")),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn text_is_never_played_and_the_servers_own_words_are_in_the_error() {
    let page = "<!doctype html><html><title>Sign in</title><body>Welcome back</body></html>";
    let json = r#"{"error":{"message":"No such model."}}"#;
    let shown = "it sent text instead of audio: Sign in Welcome back (at http://127.0.0.1:";
    for (content_type, body, expected) in [
        (Some("text/html; charset=utf-8"), page, shown),
        (Some("application/octet-stream"), page, shown),
        (None, page, shown),
        (Some("text/plain"), json, "No such model. (at "),
        (Some("audio/pcm"), json, "No such model. (at "),
        (None, json, "No such model. (at "),
        (
            Some("application/problem+json"),
            r#"{"title":"Gone","detail":"The voice is gone."}"#,
            "The voice is gone. (at ",
        ),
        (Some("text/plain"), "Internal Server Error", "it sent text instead of audio: Internal Server Error (at "),
    ] {
        let cast = FakeProviders::start(Kind::OpenAi).await;
        cast.state.answer_with(content_type, body);
        let error = cast.fail(TEXT).await;
        assert!(
            matches!(&error, ProviderError::Config { message, .. } if message.starts_with(expected)),
            "{content_type:?}: {error}"
        );
    }
    let cast = FakeProviders::start(Kind::OpenAi).await;
    cast.state.answer_with(Some("text/plain"), r#"{"error":"The model is overloaded, try again."}"#);
    Kind::OpenAi.assert_speaks(&cast.speak(TEXT).await.expect("asked again").samples, TEXT);
}

#[tokio::test(start_paused = true)]
async fn parameters_of_the_connection_reach_the_provider_and_cannot_change_the_audio() {
    for (kind, parameters, expected) in [
        (
            Kind::Cartesia,
            json!({ "generation_config": { "emotion": "calm" }, "pronunciation_dict_id": "d" }),
            json!({ "/generation_config": { "emotion": "calm" }, "/pronunciation_dict_id": "d" }),
        ),
        (Kind::Deepgram, json!({ "mip_opt_out": true }), json!({ "/mip_opt_out": "true" })),
        (
            Kind::ElevenLabs,
            json!({ "enable_logging": false, "voice_settings": { "stability": 0.4 } }),
            json!({ "/enable_logging": "false", "/voice_settings": { "stability": 0.4 } }),
        ),
        (Kind::OpenAi, json!({ "instructions": "Be calm." }), json!({ "/instructions": "Be calm." })),
    ] {
        let cast = FakeProviders::with(kind, json!({ "tts_parameters": parameters }), TtsTimeouts::default()).await;
        cast.speak(TEXT).await.expect("spoken");
        let asked = cast.state.seen(|seen| seen.asked[0].clone());
        for (pointer, value) in expected.as_object().expect("an object") {
            assert_eq!(asked.pointer(pointer), Some(value), "{kind:?} {pointer}");
        }
        let refused =
            super::connect(kind, "http://127.0.0.1:9", json!({ "tts_parameters": { "encoding": "mp3" } }), short());
        assert_eq!(refused.err().as_deref(), Some("settings.tts_parameters must not contain encoding."));
    }
}
