//! One open socket: a task that sends the messages of its contexts and routes audio back to them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use switchhook_net::outbound::ws::Message;
use switchhook_net::queues::{self, Queue};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::TtsTimeouts;
use super::protocol::{AudioChunk, CancelConfirmation, TtsEvent, TtsMessage, TtsProtocol};
use crate::failure::AttemptError;
use crate::websocket::Session;

/// The error of a socket that no longer responds.
const DEAD: &str = "the connection is dead";

/// Bytes that may be queued for an utterance: four minutes of audio. They accumulate only while no audio is taken, for example while
/// the phone rings. The socket is still read meanwhile, since other utterances may use it.
const MAX_BUFFERED_BYTES: u32 = 2 << 20;

/// Bytes of audio that may still arrive for utterances that were stopped or are over. A stopped one may still be spoken completely.
const MAX_DISCARDED_BYTES: usize = 8 << 20;

/// An event of one context: audio until it is done, or a failure.
pub(super) enum ContextEvent {
    Audio(AudioChunk),
    Done,
    Failed(AttemptError),
}

enum SocketCommand {
    Begin { context: String, messages: Vec<String>, to: queues::Sender<ContextEvent> },
    Stop { context: String },
}

/// A handle to a socket. The task ends when there is no handle and no context left.
#[derive(Clone)]
pub(super) struct Handle {
    commands: mpsc::UnboundedSender<SocketCommand>,
    shared: Arc<SharedSocket>,
}

#[derive(Default)]
struct SharedSocket {
    /// Slots in use.
    contexts: AtomicUsize,
    /// Whether the socket accepts no new utterances.
    retired: AtomicBool,
}

impl Handle {
    /// Starts serving an open socket.
    pub(super) fn serve<W: TtsProtocol>(protocol: Arc<W>, session: Session, timeouts: TtsTimeouts) -> Self {
        let (commands, received) = mpsc::unbounded_channel();
        let shared = Arc::new(SharedSocket::default());
        let now = Instant::now();
        let task = SocketTask {
            protocol,
            session,
            timeouts,
            shared: shared.clone(),
            contexts: HashMap::new(),
            discarded: 0,
            used: now,
        };
        tokio::spawn(task.run(received));
        Self { commands, shared }
    }

    /// Returns whether new utterances can begin here.
    pub(super) fn is_open(&self) -> bool {
        !self.commands.is_closed() && !self.shared.retired.load(Ordering::Acquire)
    }

    /// Returns how many slots are in use.
    pub(super) fn contexts(&self) -> usize {
        self.shared.contexts.load(Ordering::Acquire)
    }

    /// Stops new utterances from beginning here; current ones continue.
    pub(super) fn retire(&self) {
        self.shared.retired.store(true, Ordering::Release);
    }

    /// Takes a slot for one utterance.
    pub(super) fn take_slot(&self) -> ContextSlot {
        self.shared.contexts.fetch_add(1, Ordering::AcqRel);
        ContextSlot { handle: Some(self.clone()) }
    }
}

/// A slot that is taken but not used yet.
pub(super) struct ContextSlot {
    /// `None` once the task owns the slot and will return it.
    handle: Option<Handle>,
}

impl ContextSlot {
    /// Sends `messages` in a context of this name. Dropping the returned context before [`ContextEvent::Done`] stops it.
    pub(super) fn begin(mut self, context: String, messages: Vec<String>) -> ActiveContext {
        let (to, said) = queues::channel(Queue::Tts, MAX_BUFFERED_BYTES);
        let handle = self.handle.take().expect("only this takes it, and consumes the slot");
        // A socket that has ended drops `to`, which the receiver sees as a lost connection.
        let _ = handle.commands.send(SocketCommand::Begin { context: context.clone(), messages, to });
        ActiveContext { context, handle, said, over: false }
    }
}

impl Drop for ContextSlot {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.shared.contexts.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// An utterance being spoken.
pub(super) struct ActiveContext {
    context: String,
    handle: Handle,
    said: queues::Receiver<ContextEvent>,
    over: bool,
}

impl ActiveContext {
    /// Returns the next event; `None` when the socket has ended.
    pub(super) async fn next(&mut self) -> Option<ContextEvent> {
        let said = self.said.recv().await;
        self.over = matches!(said, None | Some(ContextEvent::Done | ContextEvent::Failed(_)));
        said
    }

    /// Stops new utterances from beginning on this socket.
    pub(super) fn retire(&self) {
        self.handle.retire();
    }
}

impl Drop for ActiveContext {
    fn drop(&mut self) {
        if !self.over {
            let _ = self.handle.commands.send(SocketCommand::Stop { context: std::mem::take(&mut self.context) });
        }
    }
}

/// One utterance's slot.
enum Context {
    Active(queues::Sender<ContextEvent>),
    /// Stopped; abandoned if that is not confirmed by this time.
    Stopped {
        until: Instant,
    },
}

struct SocketTask<W> {
    protocol: Arc<W>,
    session: Session,
    timeouts: TtsTimeouts,
    shared: Arc<SharedSocket>,
    contexts: HashMap<String, Context>,
    /// Bytes of unwanted audio since the last command.
    discarded: usize,
    /// When the socket was last used.
    used: Instant,
}

impl<W: TtsProtocol> SocketTask<W> {
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<SocketCommand>) {
        let mut wanted = true;
        let over = loop {
            let unused = self.shared.contexts.load(Ordering::Acquire) == 0;
            if unused && (!wanted || self.shared.retired.load(Ordering::Acquire)) {
                break None;
            }
            let wake = self.next_deadline();
            let step = tokio::select! {
                biased;
                command = commands.recv(), if wanted => match command {
                    Some(command) => self.command(command).await,
                    None => { wanted = false; Ok(()) }
                },
                // Before reading: a provider that never stops sending would otherwise keep deadlines from being handled.
                () = sleep_until(wake) => self.handle_deadlines().await,
                message = self.session.next() => self.message(message).await,
            };
            match step {
                Ok(()) => {}
                Err(over) => break Some(over),
            }
        };
        self.shared.retired.store(true, Ordering::Release);
        match over {
            Some(failure) => self.fail_all(&failure),
            None => self.close().await,
        }
    }

    async fn command(&mut self, command: SocketCommand) -> Result<(), AttemptError> {
        self.used = Instant::now();
        self.discarded = 0;
        match command {
            SocketCommand::Begin { context, messages, to } => {
                self.contexts.insert(context, Context::Active(to));
                self.send(messages).await
            }
            SocketCommand::Stop { context } => self.stop(&context).await,
        }
    }

    async fn stop(&mut self, name: &str) -> Result<(), AttemptError> {
        let Some(context) = self.contexts.get_mut(name) else { return Ok(()) };
        let timeout = match self.protocol.limits().cancel_confirmation {
            CancelConfirmation::None => Duration::ZERO,
            CancelConfirmation::Cancelled => self.timeouts.stop,
            // It speaks to the end.
            CancelConfirmation::Done => self.timeouts.first_audio + self.timeouts.gap,
        };
        *context = Context::Stopped { until: Instant::now() + timeout };
        if timeout.is_zero() {
            self.release(name);
        }
        self.send(self.protocol.stop(name)).await
    }

    async fn send(&mut self, messages: Vec<String>) -> Result<(), AttemptError> {
        self.session.send_all(messages.into_iter().map(Message::text)).await
    }

    async fn message(&mut self, message: Result<Message, AttemptError>) -> Result<(), AttemptError> {
        let provider = self.protocol.provider();
        let message = match message? {
            Message::Close(frame) => return Err(AttemptError::closed(provider, frame.as_ref(), self.protocol.key())),
            message @ (Message::Text(_) | Message::Binary(_)) => message,
            _ => return Ok(()),
        };
        let messages = self.protocol.read(&message).map_err(|words| AttemptError::unusable(provider, words))?;
        for message in messages {
            self.event(message).await?;
        }
        Ok(())
    }

    async fn event(&mut self, TtsMessage { context, event }: TtsMessage) -> Result<(), AttemptError> {
        if let (None, TtsEvent::Failed(failure)) = (&context, &event) {
            return Err(failure.clone());
        }
        let Some(name) = context.or_else(|| self.contexts.keys().next().cloned()) else { return Ok(()) };
        match (self.contexts.get(&name), event) {
            (None | Some(Context::Stopped { .. }), TtsEvent::Audio(late)) => return self.discarded(late.bytes()),
            (None, _late) => {}
            (Some(Context::Active(to)), TtsEvent::Audio(piece)) => {
                let bytes = piece.bytes();
                self.used = Instant::now();
                if to.try_send(ContextEvent::Audio(piece), bytes).is_err() {
                    return self.overflow(&name).await;
                }
            }
            (Some(Context::Active(_)), TtsEvent::Done | TtsEvent::Cancelled) => self.finish(&name, ContextEvent::Done),
            (Some(Context::Active(_)), TtsEvent::Failed(failure)) => self.finish(&name, ContextEvent::Failed(failure)),
            (Some(Context::Stopped { .. }), TtsEvent::Done)
                if self.protocol.limits().cancel_confirmation == CancelConfirmation::Cancelled => {}
            (Some(Context::Stopped { .. }), TtsEvent::Done | TtsEvent::Cancelled | TtsEvent::Failed(_)) => {
                self.release(&name);
            }
        }
        Ok(())
    }

    /// Ends a context with its last event.
    fn finish(&mut self, name: &str, last: ContextEvent) {
        if let Some(Context::Active(to)) = self.contexts.remove(name) {
            to.finish(last);
            self.shared.contexts.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Discards audio. Fails for a provider that does not stop sending.
    fn discarded(&mut self, bytes: usize) -> Result<(), AttemptError> {
        self.discarded += bytes;
        if self.discarded <= MAX_DISCARDED_BYTES {
            return Ok(());
        }
        Queue::Tts.full();
        Err(self.session.lost("it does not stop sending audio that was stopped".to_owned()))
    }

    /// Handles more audio buffered for an utterance than can be played.
    async fn overflow(&mut self, name: &str) -> Result<(), AttemptError> {
        let failure = AttemptError::unusable(self.protocol.provider(), "it sends more audio than can be played");
        self.shared.retired.store(true, Ordering::Release);
        let spoken = self.contexts.insert(name.to_owned(), Context::Stopped { until: Instant::now() });
        if let Some(Context::Active(to)) = spoken {
            to.finish(ContextEvent::Failed(failure));
        }
        self.stop(name).await
    }

    fn release(&mut self, name: &str) {
        if self.contexts.remove(name).is_some() {
            self.shared.contexts.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn next_deadline(&self) -> Instant {
        let stops = self.contexts.values().filter_map(|context| match context {
            Context::Stopped { until } => Some(*until),
            Context::Active(_) => None,
        });
        let idle = self.contexts.is_empty().then(|| self.used + self.timeouts.idle);
        stops.chain(idle).fold(self.session.keepalive_due(), Instant::min)
    }

    async fn handle_deadlines(&mut self) -> Result<(), AttemptError> {
        let now = Instant::now();
        let late = |context: &Context| matches!(context, Context::Stopped { until } if *until <= now);
        let given_up: Vec<String> =
            self.contexts.iter().filter(|(_, context)| late(context)).map(|(name, _)| name.clone()).collect();
        for name in &given_up {
            // Its late audio could be taken for the next utterance, or hold a slot forever.
            self.shared.retired.store(true, Ordering::Release);
            self.release(name);
        }
        if self.contexts.is_empty() && self.used + self.timeouts.idle <= now {
            self.shared.retired.store(true, Ordering::Release);
        }
        // Utterances on a dead socket are retried on another one, unlike those that timed out.
        self.session.keepalive(now).await.map_err(|_| self.session.lost(DEAD.to_owned()))
    }

    fn fail_all(&mut self, failure: &AttemptError) {
        for (_, context) in self.contexts.drain() {
            if let Context::Active(to) = context {
                to.finish(ContextEvent::Failed(failure.clone()));
            }
        }
    }

    async fn close(self) {
        let close_message = self.protocol.close_message().map(Message::text);
        self.session.close(close_message).await;
    }
}
