//! Synthesizes over sockets that stay open and are shared by calls, because a handshake takes longer than the first audio.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use switchhook_net::queues::Queue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::protocol::{AudioChunk, MINUTE, SocketLimits, TtsEncoding, TtsProtocol};
use super::socket::{ContextEvent, ContextSlot, Handle};
use super::timing::{TimedText, WordAssembler};
use super::{Retries, TtsOutput, TtsTimeouts, is_speakable};
use crate::adapter_config::AdapterConfig;
use crate::failure::AttemptError;
use crate::websocket::{Connector, Handshake, Timeouts};
use crate::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};

/// A socket is not used for longer than this: sessions of some providers end after an hour.
const MAX_AGE: Duration = Duration::from_secs(50 * 60);

/// The pause after which an utterance is over without its end mark, once audio and times of its last word are there.
const UNMARKED_END: Duration = Duration::from_secs(1);

/// Word timings of one utterance, in bytes: ten minutes have some ten thousand characters.
const MAX_TIMING_BYTES: usize = 1 << 20;

/// Text to speech over pooled websockets.
pub(crate) struct TtsPool<W> {
    protocol: Arc<W>,
    connector: Connector,
    timeouts: TtsTimeouts,
    /// By address.
    groups: Mutex<HashMap<String, Arc<Mutex<SocketGroup>>>>,
}

/// All sockets of one address. The lock is never held across an await: a request that finds a slot on an open socket does not
/// wait for a handshake.
#[derive(Default)]
struct SocketGroup {
    sockets: Vec<PooledSocket>,
    connecting: Vec<ConnectingSocket>,
    /// The number of the most recently opened socket.
    opened: u64,
}

/// A socket that is being opened.
struct ConnectingSocket {
    number: u64,
    /// Utterances that wait for it, within its limits.
    speakers: Vec<oneshot::Sender<Result<ContextSlot, AttemptError>>>,
    /// Waiters that need no slot.
    watchers: Vec<oneshot::Sender<Result<(), AttemptError>>>,
}

/// Reports the result of connecting to the waiters of a socket, even when the task that connects panics.
struct ConnectGuard {
    group: Arc<Mutex<SocketGroup>>,
    number: u64,
    outcome: Option<Result<PooledSocket, AttemptError>>,
}

impl ConnectGuard {
    fn finish(mut self, outcome: Result<PooledSocket, AttemptError>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for ConnectGuard {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            lock(&self.group).opened(self.number, outcome);
        }
    }
}

/// A slot, or one that will become available.
enum Slot {
    Ready(ContextSlot),
    Pending(oneshot::Receiver<Result<ContextSlot, AttemptError>>),
}

struct PooledSocket {
    handle: Handle,
    opened: Instant,
    /// When the most recent contexts on it began.
    begun: VecDeque<Instant>,
}

impl PooledSocket {
    fn is_open(&self) -> bool {
        self.handle.is_open()
    }

    fn slot(&mut self, now: Instant) -> ContextSlot {
        self.begun.push_back(now);
        self.handle.take_slot()
    }
}

impl SocketGroup {
    /// Takes a slot on an open socket.
    fn slot(&mut self, limits: &SocketLimits, now: Instant) -> Option<ContextSlot> {
        self.sockets.retain(PooledSocket::is_open);
        for pooled in &mut self.sockets {
            if pooled.opened + MAX_AGE <= now {
                pooled.handle.retire();
                continue;
            }
            while pooled.begun.front().is_some_and(|begun| *begun + MINUTE <= now) {
                pooled.begun.pop_front();
            }
            if pooled.handle.contexts() < limits.contexts && pooled.begun.len() < limits.begun_per_minute {
                return Some(pooled.slot(now));
            }
        }
        None
    }

    /// Takes a slot on a socket that is being opened.
    fn pending_slot(&mut self, limits: &SocketLimits) -> Option<oneshot::Receiver<Result<ContextSlot, AttemptError>>> {
        let most = limits.contexts.min(limits.begun_per_minute);
        let connecting = self.connecting.iter_mut().find(|connecting| connecting.speakers.len() < most)?;
        let (speaker, slot) = oneshot::channel();
        connecting.speakers.push(speaker);
        Some(slot)
    }

    /// Hands out slots, or the error, to the waiters.
    fn opened(&mut self, number: u64, opened: Result<PooledSocket, AttemptError>) {
        let Some(at) = self.connecting.iter().position(|connecting| connecting.number == number) else { return };
        let ConnectingSocket { speakers, watchers, .. } = self.connecting.remove(at);
        // A slot whose receiver was dropped is returned.
        match opened {
            Ok(mut pooled) => {
                let now = Instant::now();
                for speaker in speakers.into_iter().filter(|speaker| !speaker.is_closed()) {
                    let _ = speaker.send(Ok(pooled.slot(now)));
                }
                watchers.into_iter().for_each(|watcher| drop(watcher.send(Ok(()))));
                self.sockets.push(pooled);
            }
            Err(failure) => {
                speakers.into_iter().for_each(|speaker| drop(speaker.send(Err(failure.clone()))));
                watchers.into_iter().for_each(|watcher| drop(watcher.send(Err(failure.clone()))));
            }
        }
    }
}

/// The progress of one attempt at an utterance.
struct AttemptState {
    encoding: TtsEncoding,
    /// The first byte of a sample that was split.
    half: Option<u8>,
    words: WordAssembler,
    timing_bytes: usize,
    timed: TimedText,
    /// Whether its audio is known to contain the whole text.
    is_spoken: bool,
}

impl AttemptState {
    fn new(request: &TtsRequest) -> Self {
        let (encoding, timed) = (TtsEncoding::of(request), TimedText::new(&request.text));
        Self { encoding, half: None, words: WordAssembler::default(), timing_bytes: 0, timed, is_spoken: false }
    }

    /// Gives a piece to the receiver. Returns whether there still is one.
    async fn give(
        &mut self,
        provider: &'static str,
        AudioChunk { audio, timing }: AudioChunk,
        output: &mut TtsOutput,
    ) -> Result<bool, AttemptError> {
        self.timing_bytes += timing.bytes();
        if self.timing_bytes > MAX_TIMING_BYTES {
            Queue::Tts.full();
            return Err(AttemptError::unusable(provider, "its words do not end"));
        }
        self.timed.add(&timing, output.attempt_ms());
        let words = self.words.push(timing, output.attempt_ms());
        let samples = self.encoding.decode(audio, &mut self.half);
        if output.give(samples, words).await.is_err() {
            return Ok(false);
        }
        if output.exceeds_limit() {
            Queue::Tts.full();
            return Err(AttemptError::unusable(provider, "its speech does not end"));
        }
        self.is_spoken = self.timed.is_spoken_in(output.attempt_ms());
        Ok(true)
    }
}

impl<W: TtsProtocol> TtsPool<W> {
    pub(crate) fn new(config: &AdapterConfig<'_>, protocol: W, timeouts: TtsTimeouts) -> Self {
        let TtsTimeouts { connect, stop, ping, .. } = timeouts;
        let websocket = Timeouts { connect, send: connect, ping, pong: ping, close: stop };
        let connector = Connector::new(config, protocol.provider(), websocket);
        Self { protocol: Arc::new(protocol), connector, timeouts, groups: Mutex::default() }
    }

    /// Makes one attempt.
    async fn attempt(&self, request: &TtsRequest, output: &mut TtsOutput) -> Result<(), AttemptError> {
        let (provider, timeouts) = (self.protocol.provider(), output.timeouts(self.timeouts));
        let slot = timeout(timeouts.connect, self.slot(request));
        let slot = slot.await.unwrap_or_else(|_| Err(AttemptError::timeout(provider, timeouts.connect)))?;
        let context = format!("{:016x}", rand::random::<u64>());
        let messages = self.protocol.begin(&context, request);
        let mut speaking = slot.begin(context, messages);
        let mut state = AttemptState::new(request);
        let mut wait = timeouts.first_audio;
        let mut deadline = Instant::now() + wait;
        loop {
            let Ok(said) = timeout_at(deadline, speaking.next()).await else {
                speaking.retire();
                if state.is_spoken {
                    tracing::warn!(provider, "a TTS did not say that its utterance is over");
                    break;
                }
                return Err(AttemptError::timeout(provider, wait));
            };
            match said {
                Some(ContextEvent::Audio(chunk)) => {
                    let (audible, was_spoken) = (!chunk.audio.is_empty(), state.is_spoken);
                    if !state.give(provider, chunk, output).await? {
                        return Ok(());
                    }
                    if audible || state.is_spoken != was_spoken {
                        wait = if state.is_spoken { timeouts.gap.min(UNMARKED_END) } else { timeouts.gap };
                        deadline = Instant::now() + wait;
                    }
                }
                Some(ContextEvent::Done) if !output.attempt_has_audio() => {
                    return Err(AttemptError::unusable(provider, "it returned no audio"));
                }
                Some(ContextEvent::Done) => break,
                Some(ContextEvent::Failed(_)) | None if state.is_spoken => break,
                Some(ContextEvent::Failed(failure)) => return Err(failure),
                None => return Err(AttemptError::failed(provider, "it closed the connection".to_owned())),
            }
        }
        let _ = output.give(Vec::new(), state.words.finish().into_iter().collect()).await;
        Ok(())
    }

    /// Takes a slot for `request` on an open socket or on a new one.
    async fn slot(&self, request: &TtsRequest) -> Result<ContextSlot, AttemptError> {
        match self.find(self.handshake(request)?) {
            Slot::Ready(slot) => Ok(slot),
            Slot::Pending(slot) => slot.await.unwrap_or_else(|_| Err(self.connect_abandoned())),
        }
    }

    fn handshake(&self, request: &TtsRequest) -> Result<Handshake, AttemptError> {
        self.protocol.handshake(request).map_err(|words| AttemptError::config(self.protocol.provider(), words))
    }

    fn find(&self, handshake: Handshake) -> Slot {
        let shared = self.group(handshake.url.as_str());
        let mut group = lock(&shared);
        let limits = self.protocol.limits();
        if let Some(slot) = group.slot(&limits, Instant::now()) {
            return Slot::Ready(slot);
        }
        let pending = group.pending_slot(&limits).unwrap_or_else(|| {
            let (speaker, slot) = oneshot::channel();
            self.open(handshake, &shared, &mut group, vec![speaker], Vec::new());
            slot
        });
        Slot::Pending(pending)
    }

    /// Starts opening a socket. Continues even when all waiters have gone, since another request will follow soon.
    fn open(
        &self,
        handshake: Handshake,
        shared: &Arc<Mutex<SocketGroup>>,
        group: &mut SocketGroup,
        speakers: Vec<oneshot::Sender<Result<ContextSlot, AttemptError>>>,
        watchers: Vec<oneshot::Sender<Result<(), AttemptError>>>,
    ) {
        group.opened += 1;
        let number = group.opened;
        group.connecting.push(ConnectingSocket { number, speakers, watchers });
        let (protocol, connector, timeouts) = (self.protocol.clone(), self.connector.clone(), self.timeouts);
        let guard = ConnectGuard { group: shared.clone(), number, outcome: Some(Err(self.connect_abandoned())) };
        tokio::spawn(async move {
            let session = connector.connect(handshake).await;
            guard.finish(session.map(|session| {
                let handle = Handle::serve(protocol, session, timeouts);
                PooledSocket { handle, opened: Instant::now(), begun: VecDeque::new() }
            }));
        });
    }

    /// Returns the error for when the connecting task is gone.
    fn connect_abandoned(&self) -> AttemptError {
        AttemptError::failed(self.protocol.provider(), "the connection was given up".to_owned())
    }

    /// Opens a socket unless one is open.
    async fn ensure_open(&self, like: &TtsRequest) -> Result<(), AttemptError> {
        let handshake = self.handshake(like)?;
        let opened = {
            let shared = self.group(handshake.url.as_str());
            let mut group = lock(&shared);
            let now = Instant::now();
            if group.sockets.iter().any(|pooled| pooled.is_open() && pooled.opened + MAX_AGE > now) {
                return Ok(());
            }
            let (watcher, opened) = oneshot::channel();
            match group.connecting.first_mut() {
                Some(connecting) => connecting.watchers.push(watcher),
                None => self.open(handshake, &shared, &mut group, Vec::new(), vec![watcher]),
            }
            opened
        };
        opened.await.unwrap_or_else(|_| Err(self.connect_abandoned()))
    }

    fn group(&self, address: &str) -> Arc<Mutex<SocketGroup>> {
        let mut groups = lock(&self.groups);
        // Drop groups that are no longer used.
        groups.retain(|_, group| Arc::strong_count(group) > 1 || lock(group).sockets.iter().any(PooledSocket::is_open));
        groups.entry(address.to_owned()).or_default().clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl<W: TtsProtocol> Tts for TtsPool<W> {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        if !is_speakable(&request.text) {
            return Ok(Usage::default());
        }
        let mut output = TtsOutput::new(request.format, audio);
        let mut attempts = Retries::default();
        while let Err(failure) = self.attempt(&request, &mut output).await {
            attempts.again(failure, &mut output).await?;
        }
        Ok(attempts.cost(&request.text))
    }

    fn unsupported_options(&self, like: &TtsRequest) -> Option<String> {
        self.protocol.unsupported_options(like)
    }

    async fn warm(&self, like: &TtsRequest) -> Result<(), ProviderError> {
        self.ensure_open(like).await.map_err(|failure| failure.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_while_connecting_fails_the_waiters_and_the_next_call_reconnects() {
        let group = Arc::new(Mutex::new(SocketGroup::default()));
        let (speaker, mut slot) = oneshot::channel();
        let connecting = ConnectingSocket { number: 1, speakers: vec![speaker], watchers: Vec::new() };
        lock(&group).connecting.push(connecting);
        let abandoned = AttemptError::failed("double", "abandoned".to_owned());
        let guard = ConnectGuard { group: group.clone(), number: 1, outcome: Some(Err(abandoned)) };
        let task = tokio::spawn(async move {
            let _guard = guard;
            panic!("while connecting");
        });
        assert!(task.await.is_err());
        assert!(matches!(slot.try_recv(), Ok(Err(_))), "the waiter learns of it at once");
        assert!(lock(&group).connecting.is_empty(), "nobody joins a connection that will never be there");
    }
}
