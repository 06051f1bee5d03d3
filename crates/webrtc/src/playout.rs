//! The agent's audio on its way to the browser. UDP has no queue at its far end that could be cleared, so audio waits here and leaves
//! frame by frame in real time: what was sent is what is heard.
//!
//! Frames and marks that have left are kept until the browser shows a sign of life. If it shows none, they were not heard, and go to
//! the websocket first.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::Frame;

/// Frames that may wait: as many as the conversation sends to a carrier before it calls it gone.
const WAITING: usize = 200;
/// Marks that may wait.
const MARKS: usize = 64;
/// A node that stood still for longer does not catch up.
const STALL: Duration = Duration::from_millis(200);

/// Audio, or a mark behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Audio(Frame),
    Mark(u64),
}

/// The queue of one browser. Pure: time is an argument.
#[derive(Debug)]
pub(crate) struct Playout {
    waiting: VecDeque<Item>,
    /// What has left since the last sign of life.
    unconfirmed: VecDeque<Item>,
    /// When the next frame leaves.
    due: Instant,
    frames: usize,
}

impl Playout {
    pub(crate) fn new(now: Instant) -> Self {
        Self { waiting: VecDeque::new(), unconfirmed: VecDeque::new(), due: now, frames: 0 }
    }

    /// Queues audio. Without room it is dropped: a browser that far behind is gone.
    pub(crate) fn play(&mut self, frame: Frame) {
        if self.frames < WAITING {
            self.frames += 1;
            self.waiting.push_back(Item::Audio(frame));
        }
    }

    /// Queues a mark behind the audio so far.
    pub(crate) fn mark(&mut self, mark: u64) {
        if self.waiting.len() - self.frames < MARKS {
            self.waiting.push_back(Item::Mark(mark));
        }
    }

    /// Drops what has not left. What has left is taken for heard: nothing that was interrupted is said again.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.unconfirmed.retain(|item| matches!(item, Item::Mark(_)));
        self.frames = 0;
    }

    /// When the next frame leaves.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Begins to send now.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.due = now;
    }

    /// The frame whose turn it is, `Some(None)` for silence, and how many frames were missed before it; nothing before its time.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(Option<Frame>, u64)> {
        if now < self.due {
            return None;
        }
        let mut missed = 0;
        let behind = now.saturating_duration_since(self.due);
        if behind > STALL {
            missed = u64::try_from(behind.as_millis() / FRAME_DURATION.as_millis()).unwrap_or(0);
            self.due = now;
        }
        self.due += FRAME_DURATION;
        // Marks behind a frame pass when the frame has had its time.
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

    /// The browser is there: what has left was heard. Gives the marks among it.
    pub(crate) fn confirm(&mut self) -> impl Iterator<Item = u64> {
        self.unconfirmed.drain(..).filter_map(|item| match item {
            Item::Mark(mark) => Some(mark),
            Item::Audio(_) => None,
        })
    }

    /// The browser is not there any more: what was not confirmed waits again, before the rest.
    pub(crate) fn take_back(&mut self) {
        while let Some(item) = self.unconfirmed.pop_back() {
            self.frames += usize::from(matches!(item, Item::Audio(_)));
            self.waiting.push_front(item);
        }
    }

    /// What is to be sent over the websocket now: at most a frame, and the marks before it.
    pub(crate) fn next_unsent(&mut self, now: Instant) -> Vec<Item> {
        let mut items = Vec::new();
        while now >= self.due && !self.waiting.is_empty() {
            if now.saturating_duration_since(self.due) > STALL {
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

    /// Whether nothing waits.
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
    fn what_nobody_can_have_heard_is_sent_again_over_the_websocket_in_order_and_in_real_time() {
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
        assert_eq!(playout.waiting.len(), WAITING + MARKS);
    }
}
