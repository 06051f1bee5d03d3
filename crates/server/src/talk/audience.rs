//! People who listen to a live conversation: both sides as they are heard, 20 ms at a time.
//!
//! The conversation pushes into a [`Tap`], which never waits: frames that a slow [`Listener`] has not read in time are overwritten. When
//! the conversation drops its tap, its listeners end.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{AgentAudio, CallerAudio};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Sender};
use tokio::time::Instant;
use uuid::Uuid;

/// The maximum number of listeners per call at a time.
pub const MOST: usize = 5;
/// How long a ticket is valid.
pub const TICKET_LIFE: Duration = Duration::from_secs(60);
/// The number of frames that a listener may lag behind: a bit more than a second.
const BEHIND: usize = 64;

/// The number that identifies a ticket.
pub type TicketNumber = Uuid;

/// The listeners of one call. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Audience(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// The audio, once the conversation has begun.
    stage: Weak<Broadcast>,
    /// Used tickets, and when they expire.
    used: Vec<(TicketNumber, Instant)>,
}

/// The audio of one conversation. Dropped with its [`Tap`].
#[derive(Debug)]
struct Broadcast {
    /// Created for the first listener: most calls have none, and the channel allocates room for all its frames.
    frames: OnceLock<Sender<Bytes>>,
    format: AudioFormat,
}

impl Broadcast {
    fn listeners(&self) -> usize {
        self.frames.get().map_or(0, Sender::receiver_count)
    }
}

/// Why a listener is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenRefusal {
    /// The conversation has not begun, or is over.
    Silent,
    /// The ticket was already used.
    Used,
    /// There are already [`MOST`] listeners.
    Full,
}

impl Audience {
    /// Opens a conversation in this format to listeners, when it begins.
    #[must_use]
    pub fn open(&self, format: AudioFormat) -> Tap {
        let broadcast = Arc::new(Broadcast { frames: OnceLock::new(), format });
        self.lock().stage = Arc::downgrade(&broadcast);
        Tap(broadcast)
    }

    /// Returns whether no further listener is admitted now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let stage = self.lock().stage.upgrade();
        stage.is_some_and(|stage| stage.listeners() >= MOST)
    }

    /// Admits a listener with a ticket, and marks the ticket as used.
    ///
    /// # Errors
    /// The reason for the refusal; the ticket remains usable, unless it was used before.
    pub fn join(&self, ticket: TicketNumber, now: Instant) -> Result<Listener, ListenRefusal> {
        let mut inner = self.lock();
        inner.used.retain(|(_, until)| *until > now);
        if inner.used.iter().any(|(used, _)| *used == ticket) {
            return Err(ListenRefusal::Used);
        }
        let stage = inner.stage.upgrade().ok_or(ListenRefusal::Silent)?;
        if stage.listeners() >= MOST {
            return Err(ListenRefusal::Full);
        }
        let frames = stage.frames.get_or_init(|| Sender::new(BEHIND)).subscribe();
        let listener = Listener { frames, format: stage.format };
        inner.used.push((ticket, now + TICKET_LIFE));
        Ok(listener)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every step leaves it consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end of a conversation's audio.
#[derive(Debug)]
pub struct Tap(Arc<Broadcast>);

impl Tap {
    /// Returns whether there is a listener.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.0.listeners() > 0
    }

    /// Sends the next 20 ms of both sides. Never waits.
    pub fn push(&self, caller: &CallerAudio, agent: &AgentAudio) {
        let Some(frames) = self.0.frames.get() else { return };
        let (caller, agent) = (caller.0.samples(), agent.0.samples());
        let mut stereo = BytesMut::with_capacity(4 * caller.len());
        for (left, right) in caller.iter().zip(agent) {
            stereo.extend_from_slice(&left.to_le_bytes());
            stereo.extend_from_slice(&right.to_le_bytes());
        }
        // Listeners may leave at any time.
        let _ = frames.send(stereo.freeze());
    }
}

/// A listener to a conversation.
#[derive(Debug)]
pub struct Listener {
    frames: broadcast::Receiver<Bytes>,
    format: AudioFormat,
}

impl Listener {
    /// Returns the format of each side.
    #[must_use]
    pub const fn format(&self) -> AudioFormat {
        self.format
    }

    /// Returns the next frame: 20 ms of 16 bit PCM, caller left, agent right; `None` once the conversation is over. Frames that were not read
    /// in time are skipped. Cancel safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.frames.recv().await {
                Ok(frame) => return Some(frame),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use switchhook_media::frame::Frame;

    use super::*;

    const FORMAT: AudioFormat = AudioFormat::Narrowband;

    fn ticket(number: u128) -> TicketNumber {
        Uuid::from_u128(number)
    }

    fn push(tap: &Tap, caller: i16, agent: i16) {
        let frame = |sample| Frame::from_slice(FORMAT, &[sample; FORMAT.frame_samples()]);
        tap.push(&CallerAudio(frame(caller)), &AgentAudio(frame(agent)));
    }

    /// Returns the first sample of either side.
    async fn heard(listener: &mut Listener) -> (i16, i16) {
        let frame = listener.next().await.expect("a frame");
        assert_eq!(frame.len(), 4 * FORMAT.frame_samples());
        (i16::from_le_bytes([frame[0], frame[1]]), i16::from_le_bytes([frame[2], frame[3]]))
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_hears_both_sides_until_the_conversation_ends() {
        let (audience, now) = (Audience::default(), Instant::now());
        assert_eq!(audience.join(ticket(1), now).err(), Some(ListenRefusal::Silent), "not yet");
        let tap = audience.open(FORMAT);
        assert!(!tap.is_heard());
        push(&tap, 1, -1);
        let mut one = audience.join(ticket(1), now).expect("the ticket was not used");
        let mut two = audience.join(ticket(2), now).expect("a place");
        assert!(tap.is_heard());
        push(&tap, 2, -2);
        assert_eq!((heard(&mut one).await, heard(&mut two).await), ((2, -2), (2, -2)));
        push(&tap, 3, -3);
        drop(tap);
        assert_eq!(heard(&mut one).await, (3, -3), "what was said is still heard");
        assert_eq!(one.next().await, None);
        assert_eq!(audience.join(ticket(3), now).err(), Some(ListenRefusal::Silent), "not any more");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_listener_loses_only_its_own_frames() {
        let (audience, now) = (Audience::default(), Instant::now());
        let tap = audience.open(FORMAT);
        let (mut slow, mut quick) =
            (audience.join(ticket(1), now).expect("one"), audience.join(ticket(2), now).expect("two"));
        for number in 0..500 {
            push(&tap, number, 0);
            assert_eq!(heard(&mut quick).await, (number, 0));
        }
        let missed = 500 - i16::try_from(BEHIND).expect("few");
        assert_eq!(heard(&mut slow).await, (missed, 0), "the oldest are gone");
        assert_eq!(heard(&mut slow).await, (missed + 1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_admits_once_and_places_are_few() {
        let (audience, now) = (Audience::default(), Instant::now());
        let _tap = audience.open(FORMAT);
        let mut listeners: Vec<_> = (0..5).map(|number| audience.join(ticket(number), now).expect("a place")).collect();
        assert!(audience.is_full());
        assert_eq!(audience.join(ticket(9), now).err(), Some(ListenRefusal::Full));
        listeners.pop();
        assert_eq!(audience.join(ticket(4), now + TICKET_LIFE / 2).err(), Some(ListenRefusal::Used));
        listeners.push(audience.join(ticket(9), now).expect("it was not used by being refused"));
        assert_eq!(listeners.len(), MOST);

        let _later = audience.join(ticket(10), now + 2 * TICKET_LIFE);
        assert!(audience.lock().used.is_empty(), "what has expired is forgotten");
    }
}
