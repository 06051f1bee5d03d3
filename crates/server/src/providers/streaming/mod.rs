//! Recognisers that listen to a websocket.
//!
//! A provider is a [`Dialect`]: an address, and a [`Protocol`] without a socket. What they share is here: the task that owns the
//! socket, the caller's last seconds for a new connection after a lost one, and the answers for segments
//! ([`words::Words`]).

mod line;
mod protocol;
mod pulse;
mod server;
mod settings;
mod sound;
mod task;
#[cfg(test)]
pub(crate) mod testing;
mod words;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use switchhook_core::private::Private;
use switchhook_media::frame::CallerAudio;
use tokio::sync::mpsc;

pub(crate) use self::protocol::{
    Broken, Dialect, Heard, KeepAlive, Protocol, Style, Target, broken_by, close_words, closed_by, field, json,
};
pub(crate) use self::server::Server;
pub(crate) use self::settings::{Defaults, Terms, Tuning};
pub(crate) use self::sound::{Encoder, Encoding};

use self::line::Dial;
use self::task::{Sent, Task};
use super::connect::Connect;
use super::ring::Told;
use super::{ProviderError, Stt, SttEvent, SttOptions, SttSession};
use crate::outbound::ws::WebSockets;

/// Frames and marks that may wait for the socket: some 20 s. It is given up long before.
const WAITING: usize = 1024;

/// Speech to text over websockets.
struct StreamingStt {
    websockets: WebSockets,
    key: Option<Private<String>>,
    dialect: Arc<dyn Dialect>,
}

/// The recogniser of a connection that speaks this dialect.
pub(crate) fn recogniser(connect: &Connect<'_>, dialect: impl Dialect + 'static) -> Arc<dyn Stt> {
    let (websockets, key) = (connect.websockets.clone(), connect.key.clone());
    Arc::new(StreamingStt { websockets, key, dialect: Arc::new(dialect) })
}

#[async_trait]
impl Stt for StreamingStt {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        let (websockets, dialect) = (self.websockets.clone(), Arc::clone(&self.dialect));
        let dial = Dial { websockets, dialect, options, key: self.key.clone() };
        let line = dial.open().await?;
        let (told, waiting) = mpsc::channel(WAITING);
        let sent = Sent::default();
        tokio::spawn(Task::new(dial, events, waiting, sent.clone()).run(line));
        Ok(Box::new(Session { told, sent }))
    }

    fn not_taken(&self, options: &SttOptions) -> Vec<String> {
        self.dialect.not_taken(options)
    }
}

/// One call's end of the task. Dropping it ends the stream.
struct Session {
    told: mpsc::Sender<Told>,
    sent: Sent,
}

impl Session {
    /// A full channel means that the socket takes nothing, which the task is about to notice; a closed one that it has failed,
    /// which it has said.
    fn tell(&self, told: Told) {
        let _ = self.told.try_send(told);
    }
}

impl SttSession for Session {
    fn takes_over(&mut self, segment: u32) {
        self.tell(Told::From(segment));
    }

    fn audio(&mut self, frame: &CallerAudio) {
        self.tell(Told::Sound(frame.0));
    }

    fn speech_started(&mut self) {
        self.tell(Told::Started);
    }

    fn speech_stopped(&mut self, segment: u32) {
        self.tell(Told::Stopped(segment));
    }

    fn sent(&self) -> Option<Duration> {
        Some(self.sent.total())
    }
}
