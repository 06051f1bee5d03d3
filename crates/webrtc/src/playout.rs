//! The queue of the agent's audio for the browser. The far end of UDP has no queue that could be cleared, so audio waits here and is sent frame by
//! frame in real time: audio counts as heard once it was sent.
//!
//! Sent frames and marks are kept until the browser shows that it is alive. If it does not, they were not heard, and are sent over the websocket
//! first.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::Frame;

/// The maximum number of queued frames: as many as the conversation sends to a carrier before it considers it gone.
const MAX_FRAMES: usize = 200;
/// The maximum number of queued marks.
const MARKS: usize = 64;
/// A node that was stalled for longer does not catch up.
const MAX_CATCH_UP: Duration = Duration::from_millis(200);

/// Audio, or a mark after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Audio(Frame),
    Mark(u64),
}

/// The queue of one browser. Pure: time is an argument.
#[derive(Debug)]
pub(crate) struct Playout {
    waiting: VecDeque<Item>,
    /// Items sent since the browser's last sign of life.
    unconfirmed: VecDeque<Item>,
    /// When the next frame is sent.
    due: Instant,
    frames: usize,
}

impl Playout {
    pub(crate) fn new(now: Instant) -> Self {
        Self { waiting: VecDeque::new(), unconfirmed: VecDeque::new(), due: now, frames: 0 }
    }

    /// Queues audio. Drops it if the queue is full: a browser that far behind is gone.
    pub(crate) fn play(&mut self, frame: Frame) {
        if self.frames < MAX_FRAMES {
            self.frames += 1;
            self.waiting.push_back(Item::Audio(frame));
        }
    }

    /// Queues a mark after the audio so far.
    pub(crate) fn mark(&mut self, mark: u64) {
        if self.waiting.len() - self.frames < MARKS {
            self.waiting.push_back(Item::Mark(mark));
        }
    }

    /// Drops what was not sent. What was sent counts as heard: interrupted audio is not repeated.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.unconfirmed.retain(|item| matches!(item, Item::Mark(_)));
        self.frames = 0;
    }

    /// Returns when the next frame is sent.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Starts sending now.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.due = now;
    }

    /// Returns the frame that is due, `Some(None)` for silence, and how many frames were missed before it; `None` before its time.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(Option<Frame>, u64)> {
        if now < self.due {
            return None;
        }
        let mut missed = 0;
        let behind = now.saturating_duration_since(self.due);
        if behind > MAX_CATCH_UP {
            missed = u64::try_from(behind.as_millis() / FRAME_DURATION.as_millis()).unwrap_or(0);
            self.due = now;
        }
        self.due += FRAME_DURATION;
        // Marks after a frame pass once the frame has had its time.
        while let Some(item) = self.waiting.pop_front_if(|item| matches!(item, Item::Mark(_))) {
            self.unconfirmed.push_back(item);
        }
        let frame = self.pop_frame();
        self.unconfirmed.extend(frame.clone().map(Item::Audio));
        Some((frame, missed))
    }

    fn pop_frame(&mut self) -> Option<Frame> {
        let Some(Item::Audio(frame)) = self.waiting.pop_front_if(|item| matches!(item, Item::Audio(_))) else {
            return None;
        };
        self.frames -= 1;
        Some(frame)
    }

    /// Confirms that what was sent was heard, because the browser is alive. Returns the marks in it.
    pub(crate) fn confirm(&mut self) -> impl Iterator<Item = u64> {
        self.unconfirmed.drain(..).filter_map(|item| match item {
            Item::Mark(mark) => Some(mark),
            Item::Audio(_) => None,
        })
    }

    /// Returns unconfirmed items to the head of the queue, because the browser is gone.
    pub(crate) fn take_back(&mut self) {
        while let Some(item) = self.unconfirmed.pop_back() {
            self.frames += usize::from(matches!(item, Item::Audio(_)));
            self.waiting.push_front(item);
        }
    }

    /// Returns the items to send over the websocket now: at most one frame, and the marks before it.
    pub(crate) fn next_unsent(&mut self, now: Instant) -> Vec<Item> {
        let mut items = Vec::new();
        while now >= self.due && !self.waiting.is_empty() {
            if now.saturating_duration_since(self.due) > MAX_CATCH_UP {
                self.due = now;
            }
            while let Some(mark) = self.waiting.pop_front_if(|item| matches!(item, Item::Mark(_))) {
                items.push(mark);
            }
            items.extend(self.pop_frame().map(Item::Audio));
            self.due += FRAME_DURATION;
        }
        items
    }

    /// Returns whether the queue is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use switchhook_media::format::AudioFormat;

    use super::*;

    fn frame(number: i16) -> Frame {
        Frame::from_slice(AudioFormat::Wideband, &[number; 320])
    }

    fn at(start: Instant, frames: u32) -> Instant {
        start + FRAME_DURATION * frames
    }

    #[test]
    fn frames_leave_in_real_time_and_marks_when_the_frame_before_them_is_over() {
        let start = Instant::now();
        let mut playout = Playout::new(start);
        for number in [1, 2] {
            playout.play(frame(number));
        }
        playout.mark(7);
        assert_eq!(playout.next(start), Some((Some(frame(1)), 0)));
        assert_eq!(playout.next(start), None, "the second has its own time");
        assert_eq!(playout.next(at(start, 1)), Some((Some(frame(2)), 0)));
        assert_eq!(playout.confirm().count(), 0, "it is still being played");
        assert_eq!(playout.next(at(start, 2)), Some((None, 0)));
        assert_eq!(playout.confirm().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn a_short_stall_is_caught_up_with_and_a_long_one_is_not() {
        let start = Instant::now();
        let mut playout = Playout::new(start);
        let late = at(start, 5);
        let sent = std::iter::from_fn(|| playout.next(late)).count();
        assert_eq!(sent, 6);
        let late = late + Duration::from_secs(1);
        assert_eq!(playout.next(late), Some((None, 49)), "the missed time is reported");
        assert_eq!(playout.next(late), None);
    }

    #[test]
    fn cleared_audio_never_leaves_and_its_marks_never_pass() {
        let start = Instant::now();
        let mut playout = Playout::new(start);
        playout.play(frame(1));
        playout.play(frame(2));
        playout.mark(7);
        assert_eq!(playout.next(start), Some((Some(frame(1)), 0)));
        playout.clear();
        assert_eq!(playout.next(at(start, 1)), Some((None, 0)));
        assert_eq!(playout.confirm().count(), 0);
        playout.take_back();
        assert!(playout.is_empty(), "nor is it said again over another transport");
    }

    #[test]
    fn unheard_audio_is_resent_over_the_websocket_in_order_and_in_real_time() {
        let start = Instant::now();
        let mut playout = Playout::new(start);
        for number in 1..=4 {
            playout.play(frame(number));
        }
        playout.mark(7);
        assert!(playout.next(start).is_some());
        assert_eq!(playout.confirm().count(), 0);
        for tick in 1..=2 {
            assert!(playout.next(at(start, tick)).is_some());
        }
        playout.take_back();
        let mut again = Vec::new();
        for tick in 3..=7 {
            let items = playout.next_unsent(at(start, tick));
            assert!(items.len() <= 1, "{items:?}");
            again.extend(items);
        }
        let expected = [Item::Audio(frame(2)), Item::Audio(frame(3)), Item::Audio(frame(4)), Item::Mark(7)];
        assert_eq!(again, expected);
        assert!(playout.is_empty());
    }

    #[test]
    fn the_queue_is_bounded() {
        let mut playout = Playout::new(Instant::now());
        for number in 0..1_000 {
            playout.play(frame(1));
            playout.mark(number);
        }
        assert_eq!(playout.waiting.len(), MAX_FRAMES + MARKS);
    }
}
