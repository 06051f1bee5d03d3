//! Tests a connection for real: runs a small request of each kind that the provider offers.
//!
//! Checks use the provider's traits, so a new provider needs no code here.

use std::time::Duration;

use serde::Serialize;
use switchhook_core::conversation::{Message, Role};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_recordings as recordings;
use tokio::sync::mpsc;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::entry::Provider;
use super::realtime::{Instructions, Realtime, RealtimeCommand, RealtimeEvent, RealtimeOptions};
use super::{Llm, LlmRequest, ProviderError, Stt, SttEvent, SttOptions, Tts, TtsAudio, TtsRequest};

/// How long all checks may take.
pub const DEADLINE: Duration = Duration::from_secs(15);
/// Token limit. The response is one word; reasoning models need more before it.
const TOKENS: u32 = 512;
/// The recording to transcribe: a short line of the simulated caller.
const LINE: &str = "hello";
/// The text to speak.
const WORD: &str = "Hello.";

/// One thing that was tried.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Check {
    /// What was tried.
    #[schema(value_type = CheckName, example = "language_model")]
    pub name: &'static str,
    /// Whether it worked.
    pub ok: bool,
    /// What came of it, in a sentence.
    #[schema(example = "It responded.")]
    pub detail: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// What a check tries.
#[derive(ToSchema)]
#[schema(as = ConnectionCheckName, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the name of a Check")]
enum CheckName {
    /// The settings, as far as they can be checked without a request.
    Settings,
    /// The carrier.
    Carrier,
    /// The language model.
    LanguageModel,
    /// Speech to text.
    SpeechToText,
    /// Text to speech.
    TextToSpeech,
    /// The speech-to-speech model.
    SpeechToSpeech,
    /// The service that tools use.
    Service,
}

impl Check {
    /// Creates a failed check for a problem that was found without a request.
    #[must_use]
    pub fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: false, detail: detail.into(), duration_ms: 0 }
    }

    /// Runs `work` within `deadline`; it returns a sentence about its result or about what is wrong.
    pub async fn within(
        deadline: Duration,
        name: &'static str,
        work: impl Future<Output = Result<String, String>>,
    ) -> Self {
        let began = Instant::now();
        let late = || Err(format!("There was no response within {} seconds.", deadline.as_secs()));
        let result = tokio::time::timeout(deadline, work).await.unwrap_or_else(|_| late());
        let ok = result.is_ok();
        let detail = result.unwrap_or_else(|words| words);
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self { name, ok, detail, duration_ms }
    }
}

/// Checks everything that `provider` offers concurrently, within `deadline`.
pub async fn provider(provider: &Provider, deadline: Duration) -> Vec<Check> {
    let language_model = async {
        match provider.clone().llm() {
            Ok(llm) => Some(Check::within(deadline, "language_model", think(&*llm)).await),
            Err(_) => None,
        }
    };
    let speech_to_text = async {
        match provider.clone().stt() {
            Ok(stt) => Some(Check::within(deadline, "speech_to_text", hear(&*stt)).await),
            Err(_) => None,
        }
    };
    let text_to_speech = async {
        match provider.clone().tts() {
            Ok(tts) => Some(Check::within(deadline, "text_to_speech", speak(&*tts)).await),
            Err(_) => None,
        }
    };
    let speech_to_speech = async {
        match provider.clone().realtime() {
            Ok(realtime) => Some(Check::within(deadline, "speech_to_speech", greet(&*realtime)).await),
            Err(_) => None,
        }
    };
    let (first, second, third, fourth) = tokio::join!(language_model, speech_to_text, text_to_speech, speech_to_speech);
    [first, second, third, fourth].into_iter().flatten().collect()
}

fn sentence(error: &ProviderError) -> String {
    format!("{}.", error.to_string().trim_end_matches('.'))
}

/// Checks a language model. The first piece of a response is enough: dropping the request cancels the rest.
async fn think(llm: &dyn Llm) -> Result<String, String> {
    let request = LlmRequest {
        model: None,
        // In the form of a call, which reveals templates that do not accept it.
        messages: vec![
            Message::new(Role::System, "You answer with one word."),
            Message::new(Role::Assistant, "Hello, how can I help you?"),
            Message::new(Role::User, "Say yes."),
        ],
        tools: Vec::new(),
        temperature: None,
        max_tokens: Some(TOKENS),
        withheld: None,
    };
    let (events, mut pieces) = mpsc::channel(8);
    let mut responding = std::pin::pin!(llm.respond(request, events));
    let responded = || Ok("It responded.".to_owned());
    tokio::select! {
        biased;
        Some(_) = pieces.recv() => responded(),
        result = &mut responding => match result {
            Ok(_) => responded(),
            Err(error) => Err(sentence(&error)),
        },
    }
}

async fn speak(tts: &dyn Tts) -> Result<String, String> {
    let format = AudioFormat::default();
    let (text, language) = (WORD.to_owned(), "en-US".to_owned());
    let request = TtsRequest { text, voice: None, model: None, speed: 1.0, language, format };
    let (audio, mut pieces) = mpsc::channel::<TtsAudio>(8);
    let listening = async {
        let mut samples = 0;
        while let Some(piece) = pieces.recv().await {
            samples += piece.samples.len() as u64;
        }
        samples
    };
    match tokio::join!(tts.speak(request, audio), listening) {
        (Ok(_), 0) => Err("It returned no audio.".to_owned()),
        (Ok(_), samples) => Ok(format!("It spoke a word in {} ms of audio.", format.duration(samples).as_millis())),
        (Err(error), _) => Err(sentence(&error)),
    }
}

async fn hear(stt: &dyn Stt) -> Result<String, String> {
    let (events, mut heard) = mpsc::channel(64);
    let options = SttOptions { language: "en-US".to_owned(), ..SttOptions::default() };
    let format = options.format;
    let mut session = stt.open(options, events).await.map_err(|error| sentence(&error))?;
    let line = recordings::recording(LINE).expect("a shipped recording");
    session.speech_started();
    for samples in line.samples(format).chunks(format.frame_samples()) {
        session.audio(&CallerAudio(Frame::from_slice(format, samples)));
    }
    session.speech_stopped(0);
    loop {
        match heard.recv().await {
            Some(SttEvent::Final { text, .. }) if text.trim().is_empty() => {
                return Err("It heard no words in a recorded one.".to_owned());
            }
            Some(SttEvent::Final { .. }) => return Ok("It understood a recorded word.".to_owned()),
            Some(SttEvent::Failed { words, .. }) => return Err(format!("{}.", words.trim_end_matches('.'))),
            Some(SttEvent::Partial { .. } | SttEvent::TurnJudged) => {}
            None => return Err("It stopped without having said anything.".to_owned()),
        }
    }
}

/// Checks speech to speech. The first audio of a word is enough: dropping the session ends it.
async fn greet(realtime: &dyn Realtime) -> Result<String, String> {
    let options = RealtimeOptions {
        model: None,
        voice: None,
        language: "en-US".to_owned(),
        messages: vec![Message::new(Role::System, "You answer with one word.")],
        tools: Vec::new(),
        interruptible: true,
        min_silence_ms: 500,
        max_silence_ms: 2_000,
        pcm: false,
        format: AudioFormat::default(),
    };
    let (events, mut said) = mpsc::channel(64);
    let mut session = realtime.open(options, events).await.map_err(|error| sentence(&error))?;
    session.send(RealtimeCommand::Respond { request: 1, instructions: Instructions::Exactly(WORD.to_owned()) });
    loop {
        match said.recv().await {
            Some(RealtimeEvent::Audio { .. }) => return Ok("It spoke.".to_owned()),
            Some(RealtimeEvent::ResponseDone { failed, .. }) => {
                let words = failed.unwrap_or_else(|| "its response contained no audio".to_owned());
                return Err(format!("{}.", words.trim_end_matches('.')));
            }
            Some(RealtimeEvent::Lost(error)) => return Err(sentence(&error)),
            Some(_) => {}
            None => return Err("It stopped without having said anything.".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_does_not_answer_is_a_failed_check_and_not_a_hang() {
        let check = Check::within(Duration::from_millis(20), "carrier", std::future::pending()).await;
        assert!(!check.ok && check.duration_ms >= 20 && check.detail.contains("no response"), "{check:?}");
    }
}
