//! A queue of media received from a carrier for the conversation.
//!
//! Late audio is worthless, so when the queue is full the oldest frame is dropped for the newest. DTMF and marks are few and each
//! one counts: audio never displaces them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchhook_net::queues;
use tokio::sync::Notify;

use super::FromCarrier;

/// Frames that may be queued: four seconds.
const FRAMES: usize = 200;
/// DTMF digits and marks that may be queued. A transport that delivers more than this is broken.
const OTHERS: usize = 4_096;

/// The transport's end. Clones feed the same call.
#[derive(Debug)]
pub struct MediaSender(Arc<SharedQueue>);

/// The conversation's end.
#[derive(Debug)]
pub struct MediaReceiver(Arc<SharedQueue>);

#[derive(Debug, Default)]
struct SharedQueue {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<FromCarrier>,
    /// The number of queued frames of audio.
    frames: usize,
    senders: usize,
    /// Whether the receiver is gone.
    closed: bool,
}

/// Creates the queue for the media of one call.
#[must_use]
pub fn media_queue() -> (MediaSender, MediaReceiver) {
    let shared = Arc::new(SharedQueue::default());
    shared.queue().senders = 1;
    (MediaSender(shared.clone()), MediaReceiver(shared))
}

impl SharedQueue {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Consistent at every step.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Queues a message. Returns false when the receiver is gone, or keys and marks flood the queue.
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
    /// Queues a message without waiting. Returns whether the transport should continue.
    #[must_use]
    pub fn send(&self, message: FromCarrier) -> bool {
        let taken = self.0.queue().push(message);
        self.0.arrived.notify_one();
        taken
    }

    /// Returns whether the receiver is gone.
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
    /// Returns whether audio is queued.
    #[must_use]
    pub fn has_audio(&self) -> bool {
        self.0.queue().frames > 0
    }

    /// Returns the next message, or `None` once all senders are gone and the queue is empty. Cancel safe.
    pub async fn recv(&mut self) -> Option<FromCarrier> {
        loop {
            // A transport that delivers faster than the call consumes must not starve other tasks.
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
    use switchhook_media::format::AudioFormat;
    use switchhook_media::frame::{CallerAudio, Frame};

    use super::*;

    fn frame(number: usize) -> FromCarrier {
        let sample = i16::try_from(number).expect("few");
        FromCarrier::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, &[sample; 160])))
    }

    #[tokio::test]
    async fn a_conversation_that_stands_still_loses_the_oldest_audio_and_neither_keys_nor_marks() {
        let (transport, mut call) = media_queue();
        assert!(transport.send(FromCarrier::Dtmf('1')) && transport.send(FromCarrier::MarkPlayed(7)));
        for number in 0..1_000 {
            assert!(transport.send(frame(number)));
        }
        assert!(transport.send(FromCarrier::Dtmf('2')) && transport.send(FromCarrier::MarkPlayed(8)));
        drop(transport);
        let mut received = Vec::new();
        while let Some(message) = call.recv().await {
            received.push(message);
        }
        let newest = (1_000 - FRAMES..1_000).map(frame);
        let before = [FromCarrier::Dtmf('1'), FromCarrier::MarkPlayed(7)];
        let expected: Vec<_> =
            before.into_iter().chain(newest).chain([FromCarrier::Dtmf('2'), FromCarrier::MarkPlayed(8)]).collect();
        assert!(received == expected, "{} messages", received.len());
    }

    #[tokio::test]
    async fn a_flood_of_dtmf_ends_the_transport_and_a_closed_queue_reports_itself() {
        let (transport, mut call) = media_queue();
        assert!((0..OTHERS).all(|_| transport.send(FromCarrier::Dtmf('1'))));
        assert!(!transport.send(FromCarrier::Dtmf('1')) && transport.send(frame(1)), "audio has room of its own");
        assert_eq!(call.recv().await, Some(FromCarrier::Dtmf('1')));
        drop(call);
        assert!(!transport.send(FromCarrier::Dtmf('1')) && transport.is_closed());
    }

    #[tokio::test]
    async fn who_waits_is_woken_by_what_comes_and_by_the_end() {
        let (transport, mut call) = media_queue();
        let other = transport.clone();
        drop(transport);
        assert!(call.recv().now_or_never().is_none(), "one sender is left");
        let waiting = tokio::spawn(async move { (call.recv().await, call.recv().await) });
        tokio::task::yield_now().await;
        assert!(other.send(FromCarrier::Dtmf('1')));
        tokio::task::yield_now().await;
        drop(other);
        assert_eq!(waiting.await.expect("it ends"), (Some(FromCarrier::Dtmf('1')), None));
    }
}
