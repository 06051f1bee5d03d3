//! Requirements for every TTS provider, in virtual time: a stalled machine exceeds no deadline.

use std::time::Duration;

use serde_json::json;
use switchhook_providers::ProviderError;
use switchhook_providers::tts::TtsTimeouts;
use tokio::time::Instant;

use super::{FakeProviders, Kind, short};
use crate::doubles::tts::{KEY, Refusal, TtsBehaviour};

macro_rules! every_voice {
    ($($story:ident)*) => {
        every_voice! { @of cartesia Cartesia $($story)* }
        every_voice! { @of deepgram Deepgram $($story)* }
        every_voice! { @of elevenlabs ElevenLabs $($story)* }
        every_voice! { @of openai OpenAi $($story)* }
    };
    (@of $module:ident $kind:ident $($story:ident)*) => {
        mod $module {
            $(#[tokio::test(start_paused = true)]
            async fn $story() {
                super::$story(super::Kind::$kind).await;
            })*
        }
    };
}

every_voice! {
    sentences_are_spoken_whole_on_one_connection
    a_warm_voice_speaks_on_the_connection_that_is_there
    what_is_dropped_is_stopped_and_not_heard_in_what_follows
    several_sentences_at_a_time_do_not_mix
    a_voice_that_never_begins_is_a_provider_timeout
    a_voice_that_stops_in_the_middle_is_a_provider_timeout
    a_connection_that_breaks_before_the_first_audio_is_replaced
    speech_resumes_after_a_connection_breaks
    a_wrong_key_is_reported_in_the_providers_words_and_not_tried_again
    a_busy_provider_is_asked_again_when_it_says
    a_provider_that_is_down_is_asked_three_times
    what_is_no_audio_is_a_failure
    where_there_are_no_words_nothing_is_asked
    an_address_that_does_not_answer_is_a_failure
}

const TEXT: &str = "Good evening, this is Ava.";

fn refusal(status: u16, retry_after: Option<&'static str>) -> Refusal {
    Refusal { status, retry_after, body: json!({ "message": "So I am told." }) }
}

fn code(error: &ProviderError) -> &'static str {
    error.code().as_str()
}

/// Returns the words of `text` as the provider reports them.
fn words_of(kind: Kind, text: &str) -> Vec<(String, u64, u64)> {
    let mut at = 0;
    let timed = text.split(' ').map(|word| {
        let start = at;
        at += word.len() as u64 * 10 + 10;
        (word.to_owned(), start, at - 10)
    });
    if kind.tells_words() { timed.collect() } else { Vec::new() }
}

async fn sentences_are_spoken_whole_on_one_connection(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    for text in [TEXT, "We close at nine."] {
        let spoken = cast.speak(text).await.expect("spoken");
        kind.assert_speaks(&spoken.samples, text);
        assert_eq!(spoken.usage.tts_characters, text.len() as u64);
        assert_eq!(spoken.words, words_of(kind, text));
    }
    assert_eq!((cast.spoken().len(), cast.connections()), (2, 1));
}

async fn a_warm_voice_speaks_on_the_connection_that_is_there(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.voice.warm(&super::request("")).await.expect("connected");
    assert_eq!((cast.spoken().len(), cast.connections()), (0, 1), "connected to, and nothing said");
    cast.voice.warm(&super::request("")).await.expect("still connected");
    kind.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
    assert_eq!(cast.connections(), 1);
    let cast = FakeProviders::start(kind).await;
    cast.state.refuse([refusal(401, None)]);
    let refused = cast.voice.warm(&super::request("")).await.err();
    // OpenAI's API has no request that shows whether the key may synthesize speech.
    assert_eq!(refused.as_ref().map(code), (kind != Kind::OpenAi).then_some("config_error"));
}

async fn what_is_dropped_is_stopped_and_not_heard_in_what_follows(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.state.next([TtsBehaviour::Stall(2)]);
    let speaking = cast.begin("What nobody wants to hear to its end.").await;
    speaking.abort();
    cast.state.until("stopping", |seen| seen.settled == 1).await;
    // Late audio of the first request arrives before that of this one.
    let spoken = cast.speak(TEXT).await.expect("spoken");
    kind.assert_speaks(&spoken.samples, TEXT);
    // A plain request can only be stopped by closing its connection.
    let connections = if kind == Kind::OpenAi { 2 } else { 1 };
    assert_eq!(cast.connections(), connections);
}

async fn several_sentences_at_a_time_do_not_mix(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    let texts = ["One is spoken.", "Two is spoken as well.", "Three comes last."];
    let (one, two, three) = tokio::join!(cast.speak(texts[0]), cast.speak(texts[1]), cast.speak(texts[2]));
    for (spoken, text) in [one, two, three].into_iter().zip(texts) {
        kind.assert_speaks(&spoken.expect("spoken").samples, text);
    }
    // Where a socket serves several requests, the first opens the socket that the others wait for.
    if matches!(kind, Kind::Cartesia | Kind::ElevenLabs) {
        assert_eq!(cast.connections(), 1);
    }
}

async fn a_voice_that_never_begins_is_a_provider_timeout(kind: Kind) {
    let cast = FakeProviders::with(kind, json!({}), short()).await;
    cast.state.next([TtsBehaviour::Stall(0)]);
    let began = Instant::now();
    let error = cast.fail(TEXT).await;
    assert!(matches!(error, ProviderError::Timeout { waited_ms: 300, .. }), "{error}");
    assert!(began.elapsed() >= Duration::from_millis(300));
    cast.state.until("stopping", |seen| seen.stopped == 1).await;
    kind.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
    assert_eq!(cast.connections(), 2, "whoever was silent is not asked again");
}

async fn a_voice_that_stops_in_the_middle_is_a_provider_timeout(kind: Kind) {
    let cast = FakeProviders::with(kind, json!({}), short()).await;
    cast.state.next([TtsBehaviour::Stall(2)]);
    let error = cast.fail(TEXT).await;
    assert!(matches!(error, ProviderError::Timeout { waited_ms: 300, .. }), "{error}");
    assert_eq!((code(&error), cast.spoken().len()), ("provider_timeout", 1), "half of it was heard");
    cast.state.until("stopping", |seen| seen.stopped == 1).await;
}

async fn a_connection_that_breaks_before_the_first_audio_is_replaced(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.speak("A connection is open.").await.expect("spoken");
    cast.state.next([TtsBehaviour::Die(0)]);
    let spoken = cast.speak(TEXT).await.expect("spoken");
    kind.assert_speaks(&spoken.samples, TEXT);
    assert_eq!(cast.connections(), 2);
}

async fn speech_resumes_after_a_connection_breaks(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.state.next([TtsBehaviour::Die(2)]);
    let spoken = cast.speak(TEXT).await.expect("spoken");
    kind.assert_speaks(&spoken.samples, TEXT);
    assert_eq!(spoken.words, words_of(kind, TEXT), "each word once");
    assert_eq!((cast.spoken(), cast.connections()), (vec![TEXT.to_owned(); 2], 2));
    assert_eq!(spoken.usage.tts_characters, 2 * TEXT.len() as u64, "both requests are charged");

    cast.state.next([TtsBehaviour::Die(2), TtsBehaviour::Die(1), TtsBehaviour::Die(2)]);
    assert_eq!(code(&cast.fail(TEXT).await), "pipeline_error");
    kind.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
}

async fn a_wrong_key_is_reported_in_the_providers_words_and_not_tried_again(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    let words = format!("The key {KEY} is unknown.");
    let body = match kind {
        Kind::Cartesia => json!({ "title": "Unauthorized", "message": words, "error_code": "unauthorized" }),
        Kind::Deepgram => json!({ "err_code": "unauthorized", "err_msg": words, "request_id": "r" }),
        Kind::ElevenLabs => json!({ "detail": { "status": "unauthorized", "message": words } }),
        Kind::OpenAi => json!({ "error": { "message": words, "code": "unauthorized" } }),
    };
    cast.state.refuse([Refusal { status: 401, retry_after: None, body }]);
    let error = cast.fail(TEXT).await;
    let name = format!("{kind:?}").to_lowercase();
    assert_eq!(error.to_string(), format!("{name}: The key •••• is unknown. (unauthorized, status 401)"));
    assert_eq!((code(&error), cast.state.seen(|seen| seen.refused)), ("config_error", 1));
}

async fn a_busy_provider_is_asked_again_when_it_says(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.state.refuse([refusal(429, Some("1"))]);
    let began = Instant::now();
    kind.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
    assert!(began.elapsed() >= Duration::from_secs(1));

    let cast = FakeProviders::start(kind).await;
    cast.state.refuse([refusal(429, Some("60"))]);
    let error = cast.fail(TEXT).await;
    assert!(
        matches!(&error, ProviderError::Busy { message, retry_after_ms: 60_000, .. } if message.contains("So I am told.")),
        "{error}"
    );
    assert_eq!(cast.state.seen(|seen| seen.refused), 1, "no caller waits for a minute");
}

async fn a_provider_that_is_down_is_asked_three_times(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.state.refuse([refusal(503, None), refusal(500, None)]);
    kind.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);

    let cast = FakeProviders::start(kind).await;
    cast.state.refuse([refusal(503, None), refusal(502, None), refusal(500, None), refusal(500, None)]);
    let error = cast.fail(TEXT).await;
    assert_eq!((code(&error), cast.state.seen(|seen| seen.refused)), ("pipeline_error", 3), "{error}");
}

async fn what_is_no_audio_is_a_failure(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    cast.state.next([TtsBehaviour::Nonsense]);
    let error = cast.fail(TEXT).await;
    // A setting can fix compressed audio.
    let expected = if kind == Kind::OpenAi { "config_error" } else { "pipeline_error" };
    assert_eq!(code(&error), expected, "{error}");
    kind.assert_speaks(&cast.speak(TEXT).await.expect("spoken").samples, TEXT);
}

async fn where_there_are_no_words_nothing_is_asked(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    let spoken = cast.speak("… - !").await.expect("nothing to speak");
    assert_eq!((spoken.samples.len(), spoken.usage.tts_characters), (0, 0));
    assert_eq!(cast.spoken(), Vec::<String>::new());
}

async fn an_address_that_does_not_answer_is_a_failure(kind: Kind) {
    // Bound, so that no other test gets the port, and not listening.
    let silent = tokio::net::TcpSocket::new_v4().expect("a socket");
    silent.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let base_url = format!("http://{}", silent.local_addr().expect("bound"));
    let mut cast = FakeProviders::start(kind).await;
    cast.voice = super::voice(kind, &base_url, json!({}), TtsTimeouts::default());
    let error = cast.fail(TEXT).await;
    assert_eq!(code(&error), "pipeline_error", "{error}");
}
