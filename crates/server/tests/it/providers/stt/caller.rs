//! A caller whose audio goes to an STT as from the call driver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchhook_core::call::ErrorCode;
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::Law;
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use switchhook_net::outbound::NetworkSettings;
use switchhook_net::outbound::ws::WebSockets;
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::{ProviderError, Stt, SttEvent, SttOptions, SttSession};
use tokio::sync::mpsc;

/// Longer than any working test takes.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// The pause between two frames: ten times as fast as real time.
const PACE: Duration = Duration::from_millis(2);
/// Silence around a line, in frames: 500 ms.
const PAUSE: usize = 25;

/// Creates a provider's STT.
pub(super) type Make = fn(&AdapterConfig<'_>) -> Result<Arc<dyn Stt>, String>;

/// Creates the STT of a connection with these settings.
pub(super) fn connect_stt(make: Make, settings: &Value, key: &str) -> Result<Arc<dyn Stt>, String> {
    switchhook_net::install_tls();
    let addresses: AddressPolicy = "127.0.0.0/8,http".parse().expect("a policy");
    let websockets = WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client");
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    make(&AdapterConfig {
        http: &http,
        websockets: &websockets,
        addresses: &addresses,
        settings: settings.as_object().expect("an object"),
        key: Some(Private::new(key.to_owned())),
    })
}

/// One call.
pub(super) struct Caller {
    session: Box<dyn SttSession>,
    events: mpsc::Receiver<SttEvent>,
    vad: Vad,
    /// Segments so far.
    segments: u32,
    answers: BTreeMap<u32, String>,
    said: Vec<&'static str>,
    pub(super) partials: Vec<String>,
    turns: usize,
    pub(super) failed: Option<(ErrorCode, String)>,
}

impl Caller {
    pub(super) async fn call(stt: &dyn Stt) -> Result<Self, ProviderError> {
        let (sender, events) = mpsc::channel(64);
        let keyterms = ["Harbor Table", "a term of more than twenty characters", &"very ".repeat(12)];
        let keyterms = keyterms.map(str::to_owned).to_vec();
        let options = SttOptions { language: "en-US".to_owned(), keyterms, ..SttOptions::default() };
        let session = stt.open(options, sender).await?;
        Ok(Self {
            session,
            events,
            vad: Vad::new(VadSettings::default()),
            segments: 0,
            answers: BTreeMap::new(),
            said: Vec::new(),
            partials: Vec::new(),
            turns: 0,
            failed: None,
        })
    }

    /// Speaks a recorded line, with silence before and after it.
    pub(super) async fn say(&mut self, line: &str) {
        let line = switchhook_caller_audio::recording(line).expect("a shipped recording");
        self.said.push(line.text);
        self.silence(PAUSE).await;
        for bytes in line.bytes().chunks_exact(160) {
            self.frame(Law::Mu.decode_frame(bytes).expect("a whole frame")).await;
        }
        self.silence(PAUSE).await;
    }

    /// Speaks the first `frames` of a line, and does not stop.
    pub(super) async fn begin(&mut self, line: &str, frames: usize) {
        let line = switchhook_caller_audio::recording(line).expect("a shipped recording");
        self.silence(PAUSE).await;
        for bytes in line.bytes().chunks_exact(160).take(frames) {
            self.frame(Law::Mu.decode_frame(bytes).expect("a whole frame")).await;
        }
    }

    async fn silence(&mut self, frames: usize) {
        for _ in 0..frames {
            self.frame(Frame::silence(AudioFormat::Narrowband)).await;
        }
    }

    async fn frame(&mut self, frame: Frame) {
        // Callers have a pace: an STT that is lost meanwhile must not lose their speech.
        tokio::time::sleep(PACE).await;
        let frame = CallerAudio(frame);
        self.session.audio(&frame);
        match self.vad.push(&frame) {
            Some(VadEvent::SpeechStarted) => self.session.speech_started(),
            Some(VadEvent::SpeechStopped) => {
                self.session.speech_stopped(self.segments);
                self.segments += 1;
            }
            None => {}
        }
        while let Ok(event) = self.events.try_recv() {
            self.take(event);
        }
    }

    fn take(&mut self, event: SttEvent) {
        match event {
            SttEvent::Partial { text } => self.partials.push(text),
            SttEvent::Final { segment, text } => drop(self.answers.insert(segment, text)),
            SttEvent::EndOfTurn => self.turns += 1,
            SttEvent::Failed { code, message } => self.failed = Some((code, message)),
        }
    }

    /// Returns the transcript as soon as it equals what was said, or the STT has failed.
    pub(super) async fn words(&mut self) -> String {
        let said = self.said.join(" ");
        self.until(|caller| caller.failed.is_some() || (caller.is_answered() && caller.understood() == said)).await;
        self.understood()
    }

    fn understood(&self) -> String {
        let words: Vec<&str> = self.answers.values().map(String::as_str).filter(|text| !text.is_empty()).collect();
        words.join(" ")
    }

    fn is_answered(&self) -> bool {
        (0..self.segments).all(|segment| self.answers.contains_key(&segment))
    }

    /// Returns how much audio was sent, if that is not all of it.
    pub(super) fn sent(&self) -> Option<Duration> {
        self.session.sent()
    }

    /// Returns the number of ends of turn as soon as there are this many.
    pub(super) async fn turns(&mut self, count: usize) -> usize {
        self.until(|caller| caller.turns >= count).await;
        self.turns
    }

    /// Waits until the STT has failed.
    pub(super) async fn failure(&mut self) -> (ErrorCode, String) {
        self.until(|caller| caller.failed.is_some()).await;
        self.failed.clone().expect("the STT fails")
    }

    /// Takes events of the STT until `done` holds, the time is up, or the events end.
    async fn until(&mut self, done: impl Fn(&Self) -> bool) {
        let taking = async {
            while !done(self) {
                let Some(event) = self.events.recv().await else { return };
                self.take(event);
            }
        };
        // The test compares and shows what has arrived by then.
        let _late = tokio::time::timeout(TIMEOUT, taking).await;
    }
}

/// Returns the text of a line.
pub(super) fn text(line: &str) -> &'static str {
    switchhook_caller_audio::recording(line).expect("a shipped recording").text
}
