//! Queues between a peer and a call, bounded in bytes because tenants choose many peers. The owner of a full queue decides what
//! happens; this module counts it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Counts full queues and oversized items, by queue.
const FULL: &str = "switchhook_queue_full_total";
/// Overhead per item in bytes.
const ITEM: usize = 64;

/// A queue that a peer fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The body of a carrier's response. Too long: the request counts as unanswered.
    CarrierBody,
    /// Carrier events of a call. Full: dropped, and looked up at the end.
    CarrierEvents,
    /// Caller audio. Full: dropped.
    CarrierMedia,
    /// One event of a language model's stream. Too long: the request fails.
    LlmEvent,
    /// A language model's response. Too long: the request fails.
    LlmStream,
    /// The body of an MCP server's response. Too long: the request fails.
    McpBody,
    /// Audio and text of a speech-to-speech model. Full: the session is replaced.
    Realtime,
    /// The body of a transcription. Too long: the segment fails.
    SttBody,
    /// Text of speech-to-text. Full: the session fails.
    SttWords,
    /// The body of a tool's response. Too long: truncated; the model is informed.
    ToolBody,
    /// Audio and word timings of one utterance. Full: the utterance fails.
    Tts,
    /// One message of a provider's WebSocket. Too long: the connection is closed.
    WebSocketMessage,
}

impl Queue {
    fn name(self) -> &'static str {
        match self {
            Self::CarrierBody => "carrier_body",
            Self::CarrierEvents => "carrier_events",
            Self::CarrierMedia => "carrier_media",
            Self::LlmEvent => "llm_event",
            Self::LlmStream => "llm_stream",
            Self::McpBody => "mcp_body",
            Self::Realtime => "realtime",
            Self::SttBody => "stt_body",
            Self::SttWords => "stt_words",
            Self::ToolBody => "tool_body",
            Self::Tts => "tts",
            Self::WebSocketMessage => "websocket_message",
        }
    }

    /// Counts a full queue.
    pub fn full(self) {
        metrics::counter!(FULL, "queue" => self.name()).increment(1);
    }
}

/// Describes the metric.
pub fn describe() {
    metrics::describe_counter!(FULL, "Times that a queue filled by a peer was full or an item too large, by queue");
}

/// Creates a channel bounded in bytes.
pub fn channel<T>(queue: Queue, bytes: u32) -> (Sender<T>, Receiver<T>) {
    let (items, received) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(bytes as usize));
    (Sender { queue, bytes, room, items }, Receiver(received))
}

/// The sender of a channel.
pub struct Sender<T> {
    queue: Queue,
    bytes: u32,
    room: Arc<Semaphore>,
    items: mpsc::UnboundedSender<(T, OwnedSemaphorePermit)>,
}

/// The channel is full; already counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl<T> Sender<T> {
    /// Sends an item of this many bytes. An item larger than the channel fits if the channel is empty. Without a receiver it is
    /// dropped.
    ///
    /// # Errors
    /// If there is no room.
    pub fn try_send(&self, item: T, bytes: usize) -> Result<(), Full> {
        let bytes = u32::try_from(bytes.saturating_add(ITEM)).unwrap_or(u32::MAX).min(self.bytes);
        let Ok(room) = self.room.clone().try_acquire_many_owned(bytes) else {
            self.queue.full();
            return Err(Full);
        };
        let _ = self.items.send((item, room));
        Ok(())
    }

    /// Sends the last item, which always fits.
    pub fn finish(self, item: T) {
        if let Ok(room) = self.room.clone().try_acquire_many_owned(0) {
            let _ = self.items.send((item, room));
        }
    }
}

/// The receiver of a channel.
pub struct Receiver<T>(mpsc::UnboundedReceiver<(T, OwnedSemaphorePermit)>);

impl<T> Receiver<T> {
    /// Receives the next item; `None` after the last. Cancel-safe.
    pub async fn recv(&mut self) -> Option<T> {
        self.0.recv().await.map(|(item, _room)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_channel_holds_so_many_bytes_and_gives_their_room_back() {
        let (sender, mut receiver) = channel(Queue::Tts, 1_000);
        assert_eq!(sender.try_send("larger than all of it", 5_000), Ok(()), "nothing else waits");
        assert_eq!(sender.try_send("no room", 1), Err(Full));
        assert_eq!(receiver.recv().await, Some("larger than all of it"));
        assert_eq!(sender.try_send("a", 400), Ok(()));
        assert_eq!(sender.try_send("b", 400), Ok(()));
        assert_eq!(sender.try_send("empty items cost something too", 10), Err(Full));
        sender.finish("the end");
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some("a"), Some("b")));
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some("the end"), None));
    }
}
