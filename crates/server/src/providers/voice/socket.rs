//! One open socket: a task that writes what utterances want said and gives each what comes for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Deadlines;
use super::wire::{Heard, Piece, StoppedBy, What, Wire};
use crate::outbound::ws::{self, Message, WebSocket};
use crate::providers::refusal::Trouble;
use crate::queues::{self, Queue};

/// What is told of a socket that no longer answers.
const DEAD: &str = "the connection is dead";

/// What may wait for an utterance, in bytes: four minutes of sound. More is there only while nobody takes it, as when the phone
/// rings. The socket is read on all the same, since others may speak on it.
const WAITING: u32 = 2 << 20;

/// Sound that may still come for utterances that were stopped or are over, in bytes. One that was stopped may be spoken to its end.
const UNWANTED: usize = 8 << 20;

/// What an utterance hears of its context: pieces until one is the last, or a refusal.
pub(super) enum Said {
    Piece(Piece),
    Done,
    Refused(Trouble),
}

enum Command {
    Begin { context: String, messages: Vec<String>, to: queues::Sender<Said> },
    Stop { context: String },
}

/// A socket as seen from outside. The task ends when nobody holds one and nothing is spoken any more.
#[derive(Clone)]
pub(super) struct Handle {
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Places taken.
    contexts: AtomicUsize,
    /// No more utterances are to begin here.
    retired: AtomicBool,
}

impl Handle {
    /// Begins to serve an open socket.
    pub(super) fn serve<W: Wire>(wire: Arc<W>, socket: WebSocket, deadlines: Deadlines) -> Self {
        let (commands, received) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::default());
        let now = Instant::now();
        let task = Task {
            wire,
            socket,
            deadlines,
            shared: shared.clone(),
            contexts: HashMap::new(),
            unwanted: 0,
            used: now,
            asked: now,
            answered: true,
        };
        tokio::spawn(task.run(received));
        Self { commands, shared }
    }

    /// Whether utterances can begin here.
    pub(super) fn is_open(&self) -> bool {
        !self.commands.is_closed() && !self.shared.retired.load(Ordering::Acquire)
    }

    /// Places taken.
    pub(super) fn contexts(&self) -> usize {
        self.shared.contexts.load(Ordering::Acquire)
    }

    /// Nothing begins here any more; what is being spoken goes on.
    pub(super) fn retire(&self) {
        self.shared.retired.store(true, Ordering::Release);
    }

    /// Takes a place, in which one utterance is spoken.
    pub(super) fn take_place(&self) -> Place {
        self.shared.contexts.fetch_add(1, Ordering::AcqRel);
        Place { handle: Some(self.clone()) }
    }
}

/// A place that was taken and not used yet.
pub(super) struct Place {
    /// Nothing once the task has the place, and will give it back.
    handle: Option<Handle>,
}

impl Place {
    /// Says `messages` in a context of this name. Dropping what it gives before [`Said::Done`] stops the context.
    pub(super) fn begin(mut self, context: String, messages: Vec<String>) -> Speaking {
        let (to, said) = queues::channel(Queue::Tts, WAITING);
        let handle = self.handle.take().expect("only this takes it, and consumes the place");
        // A socket that has ended drops `to`, which is heard as a lost connection.
        let _ = handle.commands.send(Command::Begin { context: context.clone(), messages, to });
        Speaking { context, handle, said, over: false }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.shared.contexts.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// An utterance being spoken.
pub(super) struct Speaking {
    context: String,
    handle: Handle,
    said: queues::Receiver<Said>,
    over: bool,
}

impl Speaking {
    /// What comes next; nothing when the socket ended without a word.
    pub(super) async fn next(&mut self) -> Option<Said> {
        let said = self.said.recv().await;
        self.over = matches!(said, None | Some(Said::Done | Said::Refused(_)));
        said
    }

    /// Keeps others away from this socket.
    pub(super) fn retire(&self) {
        self.handle.retire();
    }
}

impl Drop for Speaking {
    fn drop(&mut self) {
        if !self.over {
            let _ = self.handle.commands.send(Command::Stop { context: std::mem::take(&mut self.context) });
        }
    }
}

/// One utterance's place.
enum Context {
    Spoken(queues::Sender<Said>),
    /// Stopped, and given up when that is not confirmed by this time.
    Stopped {
        until: Instant,
    },
}

struct Task<W> {
    wire: Arc<W>,
    socket: WebSocket,
    deadlines: Deadlines,
    shared: Arc<Shared>,
    contexts: HashMap<String, Context>,
    /// Sound that came and that nobody wanted, since something was last to be spoken or stopped, in bytes.
    unwanted: usize,
    /// When something was last spoken.
    used: Instant,
    /// When it was last asked whether it is alive, and whether anything came since.
    asked: Instant,
    answered: bool,
}

/// The socket is at its end; what the utterances on it are told.
struct Over(Trouble);

impl<W: Wire> Task<W> {
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
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
                // Before what is read: a provider that sends without end would keep the time from being looked at.
                () = sleep_until(wake) => self.look_at_the_time().await,
                message = self.socket.next() => self.message(message).await,
            };
            match step {
                Ok(()) => {}
                Err(over) => break Some(over),
            }
        };
        self.shared.retired.store(true, Ordering::Release);
        match over {
            Some(Over(trouble)) => self.tell_all(&trouble),
            None => self.say_goodbye().await,
        }
    }

    async fn command(&mut self, command: Command) -> Result<(), Over> {
        self.used = Instant::now();
        self.unwanted = 0;
        match command {
            Command::Begin { context, messages, to } => {
                self.contexts.insert(context, Context::Spoken(to));
                self.send(messages).await
            }
            Command::Stop { context } => self.stop(&context).await,
        }
    }

    async fn stop(&mut self, name: &str) -> Result<(), Over> {
        let Some(context) = self.contexts.get_mut(name) else { return Ok(()) };
        let patience = match self.wire.limits().stopped_by {
            StoppedBy::Asking => Duration::ZERO,
            StoppedBy::Stopped => self.deadlines.stop,
            // It goes on speaking to the end.
            StoppedBy::Done => self.deadlines.first_sound + self.deadlines.gap,
        };
        *context = Context::Stopped { until: Instant::now() + patience };
        if patience.is_zero() {
            self.give_back(name);
        }
        self.send(self.wire.stop(name)).await
    }

    async fn send(&mut self, messages: Vec<String>) -> Result<(), Over> {
        let provider = self.wire.provider();
        let sending = async {
            for message in messages {
                self.socket.feed(Message::text(message)).await?;
            }
            self.socket.flush().await
        };
        match tokio::time::timeout(self.deadlines.connect, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Over(Trouble::failed(provider, error.to_string()))),
            Err(_) => Err(Over(Trouble::timeout(provider, self.deadlines.connect))),
        }
    }

    async fn message(&mut self, message: Option<Result<Message, ws::Error>>) -> Result<(), Over> {
        self.answered = true;
        let provider = self.wire.provider();
        let message = match message {
            Some(Ok(Message::Close(frame))) => return Err(Over(self.wire.closed(frame.as_ref()))),
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message,
            Some(Ok(_)) => return Ok(()),
            Some(Err(error)) => return Err(Over(Trouble::failed(provider, ws::unreadable(&error)))),
            None => return Err(Over(self.wire.closed(None))),
        };
        let heard = self.wire.read(&message).map_err(|words| Over(Trouble::nonsense(provider, words)))?;
        for heard in heard {
            self.heard(heard).await?;
        }
        Ok(())
    }

    async fn heard(&mut self, Heard { context, what }: Heard) -> Result<(), Over> {
        if let (None, What::Refused(trouble)) = (&context, &what) {
            return Err(Over(trouble.clone()));
        }
        let Some(name) = context.or_else(|| self.contexts.keys().next().cloned()) else { return Ok(()) };
        match (self.contexts.get(&name), what) {
            (None | Some(Context::Stopped { .. }), What::Piece(late)) => return self.unwanted(late.bytes()),
            (None, _late) => {}
            (Some(Context::Spoken(to)), What::Piece(piece)) => {
                let bytes = piece.bytes();
                self.used = Instant::now();
                if to.try_send(Said::Piece(piece), bytes).is_err() {
                    return self.overrun(&name).await;
                }
            }
            (Some(Context::Spoken(_)), What::Done | What::Stopped) => self.finish(&name, Said::Done),
            (Some(Context::Spoken(_)), What::Refused(trouble)) => self.finish(&name, Said::Refused(trouble)),
            (Some(Context::Stopped { .. }), What::Done) if self.wire.limits().stopped_by == StoppedBy::Stopped => {}
            (Some(Context::Stopped { .. }), What::Done | What::Stopped | What::Refused(_)) => self.give_back(&name),
        }
        Ok(())
    }

    /// The last that an utterance hears.
    fn finish(&mut self, name: &str, last: Said) {
        if let Some(Context::Spoken(to)) = self.contexts.remove(name) {
            to.finish(last);
            self.shared.contexts.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Throws sound away. Of a provider that goes on and on nothing more is read.
    fn unwanted(&mut self, bytes: usize) -> Result<(), Over> {
        self.unwanted += bytes;
        if self.unwanted <= UNWANTED {
            return Ok(());
        }
        Queue::Tts.full();
        Err(Over(Trouble::failed(self.wire.provider(), "it does not stop sending sound that was stopped".to_owned())))
    }

    /// More waits for an utterance than anybody will hear.
    async fn overrun(&mut self, name: &str) -> Result<(), Over> {
        let trouble = Trouble::failed(self.wire.provider(), "it sends more sound than can be played".to_owned());
        self.shared.retired.store(true, Ordering::Release);
        let spoken = self.contexts.insert(name.to_owned(), Context::Stopped { until: Instant::now() });
        if let Some(Context::Spoken(to)) = spoken {
            to.finish(Said::Refused(trouble));
        }
        self.stop(name).await
    }

    fn give_back(&mut self, name: &str) {
        if self.contexts.remove(name).is_some() {
            self.shared.contexts.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn next_deadline(&self) -> Instant {
        let stops = self.contexts.values().filter_map(|context| match context {
            Context::Stopped { until } => Some(*until),
            Context::Spoken(_) => None,
        });
        let idle = self.contexts.is_empty().then(|| self.used + self.deadlines.idle);
        stops.chain(idle).fold(self.asked + self.deadlines.ping, Instant::min)
    }

    async fn look_at_the_time(&mut self) -> Result<(), Over> {
        let now = Instant::now();
        let late = |context: &Context| matches!(context, Context::Stopped { until } if *until <= now);
        let given_up: Vec<String> =
            self.contexts.iter().filter(|(_, context)| late(context)).map(|(name, _)| name.clone()).collect();
        for name in &given_up {
            // What it still says could be taken for the next utterance, or hold a place for ever.
            self.shared.retired.store(true, Ordering::Release);
            self.give_back(name);
        }
        if self.contexts.is_empty() && self.used + self.deadlines.idle <= now {
            self.shared.retired.store(true, Ordering::Release);
        }
        if self.asked + self.deadlines.ping <= now {
            if !self.answered {
                return Err(Over(Trouble::failed(self.wire.provider(), DEAD.to_owned())));
            }
            (self.asked, self.answered) = (now, false);
            let ping = self.socket.send(Message::Ping(Vec::new().into()));
            let sent = tokio::time::timeout(self.deadlines.connect, ping).await;
            if !matches!(sent, Ok(Ok(()))) {
                return Err(Over(Trouble::failed(self.wire.provider(), DEAD.to_owned())));
            }
        }
        Ok(())
    }

    fn tell_all(&mut self, trouble: &Trouble) {
        for (_, context) in self.contexts.drain() {
            if let Context::Spoken(to) = context {
                to.finish(Said::Refused(trouble.clone()));
            }
        }
    }

    /// As the protocol and RFC 6455 section 7 ask; nobody waits for the answer.
    async fn say_goodbye(&mut self) {
        let goodbye = self.wire.goodbye().into_iter().collect();
        if self.send(goodbye).await.is_ok() {
            let _ = tokio::time::timeout(self.deadlines.stop, self.socket.close(None)).await;
        }
    }
}
