//! What came from a line and waits for the conversation.
//!
//! Audio that waits for too long is worth nothing, so the oldest frame gives way to the newest. Keys and marks are few, and each of
//! them counts: audio never takes their place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::FromCarrier;
use crate::queues;

/// Frames that may wait: four seconds.
const FRAMES: usize = 200;
/// Keys and marks that may wait. A line that brings more than this is broken.
const OTHERS: usize = 4_096;

/// The line's end. Clones bring for the same call.
#[derive(Debug)]
pub struct MediaSender(Arc<Shared>);

/// The conversation's end.
#[derive(Debug)]
pub struct MediaReceiver(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<FromCarrier>,
    /// How many of those are audio.
    frames: usize,
    senders: usize,
    /// Whether nobody receives any more.
    closed: bool,
}

/// A queue for the media of one call.
#[must_use]
pub fn media_queue() -> (MediaSender, MediaReceiver) {
    let shared = Arc::new(Shared::default());
    shared.queue().senders = 1;
    (MediaSender(shared.clone()), MediaReceiver(shared))
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // It is whole at every step.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Whether it is taken: not when nobody receives, or keys and marks flood the queue.
    fn push(&mut self, message: FromCarrier) -> bool {
        if self.closed {
            return false;
        }
        if !is_audio(&message) {
            if self.waiting.len() - self.frames >= OTHERS {
                return false;
            }
        } else if self.frames < FRAMES {
            self.frames += 1;
        } else if let Some(oldest) = self.waiting.iter().position(is_audio) {
            self.waiting.remove(oldest);
            queues::Queue::CarrierMedia.full();
        }
        self.waiting.push_back(message);
        true
    }

    fn pop(&mut self) -> Option<FromCarrier> {
        let message = self.waiting.pop_front()?;
        self.frames -= usize::from(is_audio(&message));
        Some(message)
    }
}

fn is_audio(message: &FromCarrier) -> bool {
    matches!(message, FromCarrier::Audio(_))
}

impl MediaSender {
    /// Brings something. Never waits; whether the line is to go on.
    #[must_use]
    pub fn send(&self, message: FromCarrier) -> bool {
        let taken = self.0.queue().push(message);
        self.0.arrived.notify_one();
        taken
    }

    /// Whether nobody receives any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.queue().closed
    }
}

impl Clone for MediaSender {
    fn clone(&self) -> Self {
        self.0.queue().senders += 1;
        Self(self.0.clone())
    }
}

impl Drop for MediaSender {
    fn drop(&mut self) {
        self.0.queue().senders -= 1;
        self.0.arrived.notify_one();
    }
}

impl MediaReceiver {
    /// The next message; nothing once the line has ended and all of it was taken. May be dropped and called again.
    pub async fn recv(&mut self) -> Option<FromCarrier> {
        loop {
            // A line that brings more than is taken must not keep everything else from running.
            tokio::task::coop::consume_budget().await;
            {
                let mut queue = self.0.queue();
                if let Some(message) = queue.pop() {
                    return Some(message);
                }
                if queue.senders == 0 {
                    return None;
                }
            }
            self.0.arrived.notified().await;
        }
    }
}

impl Drop for MediaReceiver {
    fn drop(&mut self) {
        self.0.queue().closed = true;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use switchhook_media::frame::{CallerAudio, FRAME_SAMPLES, Frame};

    use super::*;

    fn frame(number: usize) -> FromCarrier {
        let sample = i16::try_from(number).expect("few");
        FromCarrier::Audio(CallerAudio(Frame::new([sample; FRAME_SAMPLES])))
    }

    #[tokio::test]
    async fn a_conversation_that_stands_still_loses_the_oldest_audio_and_neither_keys_nor_marks() {
        let (line, mut call) = media_queue();
        assert!(line.send(FromCarrier::Dtmf('1')) && line.send(FromCarrier::MarkPlayed(7)));
        for number in 0..1_000 {
            assert!(line.send(frame(number)));
        }
        assert!(line.send(FromCarrier::Dtmf('2')) && line.send(FromCarrier::MarkPlayed(8)));
        drop(line);
        let mut heard = Vec::new();
        while let Some(message) = call.recv().await {
            heard.push(message);
        }
        let newest = (1_000 - FRAMES..1_000).map(frame);
        let before = [FromCarrier::Dtmf('1'), FromCarrier::MarkPlayed(7)];
        let expected: Vec<_> =
            before.into_iter().chain(newest).chain([FromCarrier::Dtmf('2'), FromCarrier::MarkPlayed(8)]).collect();
        assert!(heard == expected, "{} messages", heard.len());
    }

    #[tokio::test]
    async fn a_line_that_floods_with_keys_is_broken_and_one_nobody_listens_to_is_told() {
        let (line, mut call) = media_queue();
        assert!((0..OTHERS).all(|_| line.send(FromCarrier::Dtmf('1'))));
        assert!(!line.send(FromCarrier::Dtmf('1')) && line.send(frame(1)), "audio has room of its own");
        assert_eq!(call.recv().await, Some(FromCarrier::Dtmf('1')));
        drop(call);
        assert!(!line.send(FromCarrier::Dtmf('1')) && line.is_closed());
    }

    #[tokio::test]
    async fn who_waits_is_woken_by_what_comes_and_by_the_end() {
        let (line, mut call) = media_queue();
        let other = line.clone();
        drop(line);
        assert!(call.recv().now_or_never().is_none(), "one sender is left");
        let waiting = tokio::spawn(async move { (call.recv().await, call.recv().await) });
        tokio::task::yield_now().await;
        assert!(other.send(FromCarrier::Dtmf('1')));
        tokio::task::yield_now().await;
        drop(other);
        assert_eq!(waiting.await.expect("it ends"), (Some(FromCarrier::Dtmf('1')), None));
    }
}
