//! Cloud TTS. [`every_voice`] tests each provider for what all must do; [`own`] tests what only one of them does; [`ahead`] tests how
//! far ahead of the caller speech is requested; in [`service`] they run within the service; [`wild`] holds conversations with servers
//! that follow their documentation loosely.

mod ahead;
mod conversation;
mod every_voice;
mod own;
mod service;
mod wild;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_media::format::AudioFormat;
use switchhook_media::g711::ulaw_decode;
use switchhook_media::level::rms_dbfs;
use switchhook_net::outbound::NetworkSettings;
use switchhook_net::outbound::ws::WebSockets;
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::tts::TtsTimeouts;
use switchhook_providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage, cartesia, deepgram, elevenlabs, openai};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::doubles::tts::{KEY, PER_CHARACTER, TtsState, serve};
use crate::doubles::{cartesia_tts, deepgram_tts, elevenlabs_tts, openai_tts};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cartesia,
    Deepgram,
    ElevenLabs,
    OpenAi,
}

/// A TTS provider and its double, which must not have any complaint at the end.
struct FakeProviders {
    kind: Kind,
    state: TtsState,
    voice: Arc<dyn Tts>,
}

impl Drop for FakeProviders {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.state.complaints(), Vec::<String>::new(), "what {:?} complains about", self.kind);
        }
    }
}

/// The result of a request.
struct Spoken {
    samples: Vec<i16>,
    /// Text, start and end in milliseconds.
    words: Vec<(String, u64, u64)>,
    usage: Usage,
}

impl Kind {
    /// Starts its double. Returns the double's URL.
    async fn serve(self, state: &TtsState) -> String {
        let state = state.clone();
        let address = match self {
            Self::Cartesia => serve(cartesia_tts::router(state)).await,
            Self::Deepgram => serve(deepgram_tts::router(state)).await,
            Self::ElevenLabs => serve(elevenlabs_tts::router(state)).await,
            Self::OpenAi => openai_tts::serve(state).await,
        };
        format!("http://{address}")
    }

    fn tells_words(self) -> bool {
        matches!(self, Self::Cartesia | Self::ElevenLabs)
    }

    /// Asserts that `samples` are `text` and nothing else.
    fn assert_speaks(self, samples: &[i16], text: &str) {
        let spoken: Vec<i16> = match self {
            Self::OpenAi => openai_tts::tone(text, 8_000),
            _ => text.chars().flat_map(|c| [ulaw_decode(u8::try_from(c).expect("ASCII")); PER_CHARACTER]).collect(),
        };
        assert_eq!(samples.len(), spoken.len(), "how long {text:?} takes");
        let difference: Vec<i16> = samples.iter().zip(&spoken).map(|(a, b)| a.wrapping_sub(*b)).collect();
        // Resampling makes a tone ring at its ends.
        let inner = if self == Self::OpenAi { 200..difference.len() - 200 } else { 0..difference.len() };
        assert!(rms_dbfs(&difference[inner]) < -40.0, "{text:?} sounds otherwise");
    }
}

impl FakeProviders {
    async fn start(kind: Kind) -> Self {
        Self::with(kind, json!({}), TtsTimeouts::default()).await
    }

    async fn with(kind: Kind, settings: Value, deadlines: TtsTimeouts) -> Self {
        let state = TtsState::default();
        let base_url = kind.serve(&state).await;
        let voice = voice(kind, &base_url, settings, deadlines);
        Self { kind, state, voice }
    }

    async fn speak(&self, text: &str) -> Result<Spoken, ProviderError> {
        self.say(request(text)).await
    }

    async fn say(&self, request: TtsRequest) -> Result<Spoken, ProviderError> {
        let (audio, mut pieces) = mpsc::channel::<TtsAudio>(4);
        let listening = async {
            let (mut samples, mut words) = (Vec::new(), Vec::new());
            while let Some(piece) = pieces.recv().await {
                samples.extend(piece.samples);
                words.extend(piece.words.into_iter().map(|word| (word.text, word.start_ms, word.end_ms)));
            }
            (samples, words)
        };
        let (usage, (samples, words)) = tokio::join!(self.voice.speak(request, audio), listening);
        Ok(Spoken { samples, words, usage: usage? })
    }

    /// Returns the error of a failing request.
    async fn fail(&self, text: &str) -> ProviderError {
        self.speak(text).await.err().expect("it cannot have spoken")
    }

    /// Begins to speak and waits for the first audio.
    async fn begin(&self, text: &str) -> JoinHandle<()> {
        let (audio, mut pieces) = mpsc::channel::<TtsAudio>(64);
        let (voice, request) = (self.voice.clone(), request(text));
        let speaking = tokio::spawn(async move {
            let _ = voice.speak(request, audio).await;
        });
        loop {
            let piece = pieces.recv().await.expect("it begins");
            if !piece.samples.is_empty() {
                // The rest is received too, until the task is aborted.
                tokio::spawn(async move { while pieces.recv().await.is_some() {} });
                return speaking;
            }
        }
    }

    fn spoken(&self) -> Vec<String> {
        self.state.seen(|seen| seen.spoken.clone())
    }

    fn connections(&self) -> usize {
        self.state.seen(|seen| seen.connections)
    }
}

fn voice(kind: Kind, base_url: &str, settings: Value, deadlines: TtsTimeouts) -> Arc<dyn Tts> {
    connect(kind, base_url, settings, deadlines).expect("settings of use")
}

fn connect(kind: Kind, base_url: &str, mut settings: Value, deadlines: TtsTimeouts) -> Result<Arc<dyn Tts>, String> {
    switchhook_net::install_tls();
    settings["base_url"] = json!(base_url);
    let addresses: AddressPolicy = "127.0.0.0/8,http".parse().expect("a policy");
    let websockets = WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client");
    let connect = AdapterConfig {
        http: &reqwest::Client::builder().no_proxy().build().expect("a client"),
        websockets: &websockets,
        addresses: &addresses,
        settings: settings.as_object().expect("an object"),
        key: Some(Private::new(KEY.to_owned())),
    };
    match kind {
        Kind::Cartesia => cartesia::tts::connect(&connect, deadlines),
        Kind::Deepgram => deepgram::tts::connect(&connect, deadlines),
        Kind::ElevenLabs => elevenlabs::tts::connect(&connect, deadlines),
        Kind::OpenAi => openai::speech::connect(&connect, deadlines),
    }
}

fn request(text: &str) -> TtsRequest {
    TtsRequest {
        text: text.to_owned(),
        voice: None,
        model: None,
        speed: 1.0,
        language: "en-US".to_owned(),
        format: AudioFormat::Narrowband,
    }
}

/// Returns timeouts that are short enough for tests.
fn short() -> TtsTimeouts {
    let soon = Duration::from_millis(300);
    TtsTimeouts { first_audio: soon, gap: soon, stop: soon, ..TtsTimeouts::default() }
}
