//! Providers that never stop sending: servers under a customer's `base_url`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_media::format::AudioFormat;
use switchhook_net::outbound::NetworkSettings;
use switchhook_net::outbound::ws::WebSockets;
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::realtime::{RealtimeEvent, RealtimeOptions};
use switchhook_providers::tts::TtsTimeouts;
use switchhook_providers::{ProviderError, TtsRequest, cartesia, openai};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::TIMEOUT;

/// Bytes of audio in one message: eight seconds.
const SOUND: usize = 64 * 1024;
/// Messages after which a server stops: 64 MiB of audio.
const ENOUGH: usize = 1_024;

type Socket = WebSocketStream<TcpStream>;

/// Starts a server that applies `flood` to its first connection. Returns how many messages of audio it could send.
async fn server<F>(flood: impl FnOnce(Socket) -> F + Send + 'static) -> (SocketAddr, oneshot::Receiver<usize>)
where
    F: Future<Output = usize> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let (done, sent) = oneshot::channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
        let _ = done.send(flood(socket).await);
    });
    (address, sent)
}

/// Repeats a message until the client closes, or all were sent.
async fn send_without_end(socket: &mut Socket, message: Value) -> usize {
    let message = message.to_string();
    for sent in 0..ENOUGH {
        if socket.send(Message::text(message.clone())).await.is_err() {
            return sent;
        }
    }
    ENOUGH
}

fn connecting<T>(address: SocketAddr, make: impl FnOnce(&AdapterConfig<'_>) -> Result<T, String>) -> T {
    switchhook_net::install_tls();
    let addresses: AddressPolicy = "127.0.0.0/8,http".parse().expect("a policy");
    let websockets = WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client");
    let settings = json!({ "base_url": format!("http://{address}") });
    let connect = AdapterConfig {
        http: &reqwest::Client::builder().no_proxy().build().expect("a client"),
        websockets: &websockets,
        addresses: &addresses,
        settings: settings.as_object().expect("an object"),
        key: Some(Private::new("a-key-of-the-tests".to_owned())),
    };
    make(&connect).expect("good settings")
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_audio_that_is_not_consumed_fills_no_memory() {
    let (address, sent) = server(|mut socket: Socket| async move {
        let asked = socket.next().await.expect("a message").expect("whole").into_text().expect("text");
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        let chunk =
            json!({ "type": "chunk", "context_id": asked["context_id"], "data": STANDARD.encode([0x7f; SOUND]) });
        send_without_end(&mut socket, chunk).await
    })
    .await;
    let voice = connecting(address, |connect| cartesia::tts::connect(connect, TtsTimeouts::default()));
    // The phone rings: the audio is not consumed.
    let (audio, mut untaken) = mpsc::channel(4);
    let request = TtsRequest {
        text: "Hello.".to_owned(),
        voice: None,
        model: None,
        speed: 1.0,
        language: "en-US".to_owned(),
        format: AudioFormat::Narrowband,
    };
    let speaking = tokio::spawn(async move { voice.speak(request, audio).await });
    let sent = tokio::time::timeout(TIMEOUT, sent).await.expect("it is stopped").expect("no panic");
    assert!(sent < ENOUGH / 2, "{sent} messages of {SOUND} bytes were read");
    while untaken.recv().await.is_some() {}
    let error = speaking.await.expect("no panic").expect_err("it did not end");
    assert!(matches!(&error, ProviderError::Failed { message, .. } if message.contains("more audio")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_that_ignores_that_it_was_stopped_is_read_no_more() {
    let (begun, mut begins) = mpsc::channel(1);
    let (address, sent) = server(|mut socket: Socket| async move {
        let asked = socket.next().await.expect("a message").expect("whole").into_text().expect("text");
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        let chunk =
            |bytes| json!({ "type": "chunk", "context_id": asked["context_id"], "data": STANDARD.encode(bytes) });
        socket.send(Message::text(chunk(&[0x7f; 160][..]).to_string())).await.expect("sent");
        begun.send(()).await.expect("the test waits");
        // Further messages are ignored.
        socket.next().await.expect("a message").expect("whole");
        send_without_end(&mut socket, chunk(&[0x7f; SOUND][..])).await
    })
    .await;
    let voice = connecting(address, |connect| cartesia::tts::connect(connect, TtsTimeouts::default()));
    let (audio, untaken) = mpsc::channel(4);
    let request = TtsRequest {
        text: "Hello.".to_owned(),
        voice: None,
        model: None,
        speed: 1.0,
        language: "en-US".to_owned(),
        format: AudioFormat::Narrowband,
    };
    let speaking = tokio::spawn(async move { voice.speak(request, audio).await });
    begins.recv().await.expect("it speaks");
    speaking.abort(); // The caller interrupts.
    drop(untaken);
    let sent = tokio::time::timeout(TIMEOUT, sent).await.expect("it is given up").expect("no panic");
    assert!(sent < ENOUGH / 2, "{sent} messages of {SOUND} bytes were read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_speech_to_speech_model_that_is_further_ahead_than_anybody_listens_loses_its_session() {
    let (address, _sent) = server(|mut socket: Socket| async move {
        let say = |value: Value| Message::text(value.to_string());
        socket.send(say(json!({ "type": "session.created" }))).await.expect("sent");
        socket.next().await.expect("a session.update").expect("whole");
        socket.send(say(json!({ "type": "session.updated", "session": {} }))).await.expect("sent");
        let delta = STANDARD.encode([0x7f; SOUND]);
        let delta =
            json!({ "type": "response.output_audio.delta", "response_id": "r", "item_id": "i", "delta": delta });
        send_without_end(&mut socket, delta).await
    })
    .await;
    let model = connecting(address, openai::speech_to_speech::connect);
    let options = RealtimeOptions {
        model: None,
        voice: None,
        language: "en-US".to_owned(),
        messages: Vec::new(),
        tools: Vec::new(),
        interruptible: true,
        min_silence_ms: 500,
        max_silence_ms: 2_000,
        pcm: false,
        format: AudioFormat::Narrowband,
    };
    let (events, mut heard) = mpsc::channel(16);
    let session = Arc::new(model.open(options, events).await.unwrap_or_else(|error| panic!("{error}")));
    let mut samples = 0;
    let lost = tokio::time::timeout(TIMEOUT, async {
        loop {
            match heard.recv().await.expect("the session tells its end") {
                RealtimeEvent::Audio { samples: more, .. } => samples += more.len(),
                RealtimeEvent::Lost(error) => return error,
                _ => {}
            }
        }
    });
    let lost = lost.await.expect("it is given up");
    assert!(lost.to_string().contains("more than can be heard") && !lost.is_final(), "{lost}");
    let ten_minutes = Duration::from_secs(600) + TIMEOUT;
    assert!(samples as u64 <= ten_minutes.as_secs() * 8_000, "{samples} samples");
    drop(session);
}
