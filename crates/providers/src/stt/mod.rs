//! Speech to text over websockets.
//!
//! A provider is an [`SttAdapter`]: a handshake, and an [`SttProtocol`] without a socket. The shared part is here: the task that owns the
//! socket, the replay after a reconnect, and the final transcript of each segment ([`transcripts::Transcripts`]).

mod connection;
mod encoder;
mod protocol;
mod server;
mod settings;
mod task;
#[cfg(test)]
pub(crate) mod testing;
mod transcripts;
mod wordless;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use switchhook_media::frame::CallerAudio;
use tokio::sync::mpsc;
use tracing::Instrument as _;

pub(crate) use self::encoder::{Encoder, Encoding};
pub(crate) use self::protocol::{
    KeepAlive, SttAdapter, SttMessage, SttProtocol, SttStreamConfig, classify_close_code, classify_error,
    close_description,
};
pub(crate) use self::server::SttServer;
pub(crate) use self::settings::{KeytermLimits, STT_SETTINGS, SttDefaults, SttSettings};
pub(crate) use self::wordless::spoken_text;

use self::connection::{Connector, TIMEOUTS};
use self::task::{SentAudio, Task};
use super::adapter_config::AdapterConfig;
use super::websocket;
use super::{ProviderError, Stt, SttEvent, SttInput, SttOptions, SttSession};

/// Inputs that may be queued for the socket: some 20 s of frames. The socket is abandoned long before.
const AUDIO_CAPACITY: usize = 1024;

/// Speech to text over websockets.
struct StreamingStt {
    websocket: websocket::Connector,
    adapter: Arc<dyn SttAdapter>,
}

/// Creates streaming speech to text for a connection.
pub(crate) fn streaming_stt(config: &AdapterConfig<'_>, adapter: impl SttAdapter + 'static) -> Arc<dyn Stt> {
    let provider = adapter.stream_config(&SttOptions::default()).name;
    let websocket = websocket::Connector::new(config, provider, TIMEOUTS);
    Arc::new(StreamingStt { websocket, adapter: Arc::new(adapter) })
}

#[async_trait]
impl Stt for StreamingStt {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        let (websocket, adapter) = (self.websocket.clone(), Arc::clone(&self.adapter));
        let connector = Connector::new(websocket, adapter, options);
        let connection = connector.open().await?;
        let (input, waiting) = mpsc::channel(AUDIO_CAPACITY);
        let sent = SentAudio::default();
        tokio::spawn(Task::new(connector, events, waiting, sent.clone()).run(connection).in_current_span());
        Ok(Box::new(StreamingSession { input, sent }))
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        self.adapter.unsupported_options(options)
    }
}

/// The call's end of the task. Dropping it ends the stream.
struct StreamingSession {
    input: mpsc::Sender<SttInput>,
    sent: SentAudio,
}

impl StreamingSession {
    /// Ignores errors. A full channel means that the socket is stuck, which the task will notice; a closed one that it has failed, which
    /// the task has reported.
    fn send(&self, input: SttInput) {
        let _ = self.input.try_send(input);
    }
}

impl SttSession for StreamingSession {
    fn takes_over(&mut self, segment: u32) {
        self.send(SttInput::StartAt(segment));
    }

    fn audio(&mut self, frame: &CallerAudio) {
        self.send(SttInput::Audio(frame.clone()));
    }

    fn speech_started(&mut self) {
        self.send(SttInput::SpeechStarted);
    }

    fn speech_stopped(&mut self, segment: u32) {
        self.send(SttInput::SpeechStopped(segment));
    }

    fn sent(&self) -> Option<Duration> {
        Some(self.sent.total())
    }
}
