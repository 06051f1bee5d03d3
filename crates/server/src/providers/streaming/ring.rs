//! The caller's last seconds, for a connection that has to be made again.

use std::collections::VecDeque;

use switchhook_media::frame::Frame;

/// Kept while nobody speaks, in frames: 500 ms. Speech is noticed up to 120 ms late, and begins more softly than that.
const PRE_ROLL: usize = 25;
/// Kept of what has no final words yet, in frames: 10 s.
const LONGEST: usize = 500;
/// Said again before the first sound that has no words at all, in frames: 500 ms.
const MARGIN: usize = 25;

/// Sound, and where the speaking stopped in it.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly every one is sound")]
pub(super) enum Item {
    /// 20 ms.
    Sound(Frame),
    /// The end of a segment.
    Stop(u32),
}

/// What would have to be sent again.
#[derive(Default)]
pub(super) struct Ring {
    items: VecDeque<Item>,
    frames: usize,
    /// Whether sound without final words was let go.
    overflowed: bool,
    /// Frames since the last words, final or not.
    since_words: usize,
}

impl Ring {
    /// The next 20 ms; `open` when there is speech without final words.
    pub(super) fn push(&mut self, frame: Frame, open: bool) {
        self.items.push_back(Item::Sound(frame));
        self.frames += 1;
        self.since_words += 1;
        self.overflowed = open && (self.overflowed || self.frames > LONGEST);
        self.trim(if open { LONGEST } else { PRE_ROLL });
    }

    /// A segment ended here.
    pub(super) fn stop(&mut self, segment: u32) {
        self.items.push_back(Item::Stop(segment));
    }

    /// Some words came.
    pub(super) fn words(&mut self) {
        self.since_words = 0;
    }

    /// A segment's final words were told: what was before its end is done with.
    pub(super) fn settled(&mut self, segment: u32) {
        let end = self.items.iter().position(|item| matches!(item, Item::Stop(number) if *number == segment));
        match end {
            Some(end) => {
                let sound = self.items.drain(..=end).filter(|item| matches!(item, Item::Sound(_))).count();
                self.frames -= sound;
            }
            None => self.trim(PRE_ROLL),
        }
        self.overflowed = false;
    }

    /// The sound just before speech was noticed, for whoever wants speech only.
    pub(super) fn pre_roll(&self) -> Vec<Frame> {
        let since_stop = self.items.iter().rev().map_while(|item| match item {
            Item::Sound(frame) => Some(*frame),
            Item::Stop(_) => None,
        });
        let mut frames: Vec<Frame> = since_stop.take(PRE_ROLL).collect();
        frames.reverse();
        frames
    }

    fn trim(&mut self, most: usize) {
        while self.frames > most {
            if let Some(Item::Sound(_)) = self.items.pop_front() {
                self.frames -= 1;
            }
        }
    }

    /// Whether everything without final words is still here.
    pub(super) fn is_whole(&self) -> bool {
        !self.overflowed
    }

    /// What is to be sent on a new connection: everything without final words or, when that is not all here, what no words
    /// came for.
    pub(super) fn replay(&self) -> Vec<Item> {
        let mut skip = if self.overflowed { self.frames.saturating_sub(self.since_words + MARGIN) } else { 0 };
        let unspoken = |item: &&Item| {
            let skipped = skip > 0 && matches!(item, Item::Sound(_));
            skip -= usize::from(skipped);
            !skipped
        };
        self.items.iter().filter(unspoken).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::frame::FRAME_SAMPLES;

    fn hear(ring: &mut Ring, numbers: std::ops::Range<i16>, open: bool) {
        numbers.for_each(|number| ring.push(Frame::new([number; FRAME_SAMPLES]), open));
    }

    /// Frames by their samples' value, stops as negative numbers.
    fn replay(ring: &Ring) -> Vec<i32> {
        let number = |item: Item| match item {
            Item::Sound(frame) => i32::from(frame.samples()[0]),
            Item::Stop(segment) => -1 - i32::try_from(segment).expect("small"),
        };
        ring.replay().into_iter().map(number).collect()
    }

    #[test]
    fn speech_is_kept_from_before_it_was_noticed_until_its_words_are_told() {
        let mut ring = Ring::default();
        hear(&mut ring, 0..100, false);
        hear(&mut ring, 100..110, true);
        ring.stop(0);
        hear(&mut ring, 110..112, true);
        let kept = (75..110).chain([-1, 110, 111]).collect::<Vec<i32>>();
        assert_eq!((replay(&ring), ring.is_whole()), (kept, true));
        ring.settled(0);
        assert_eq!(replay(&ring), [110, 111]);
    }

    #[test]
    fn before_a_second_segment_comes_only_what_was_not_in_the_first() {
        let mut ring = Ring::default();
        hear(&mut ring, 0..100, true);
        ring.stop(0);
        hear(&mut ring, 100..110, true);
        let numbers = |ring: &Ring| ring.pre_roll().iter().map(|frame| frame.samples()[0]).collect::<Vec<_>>();
        assert_eq!(numbers(&ring), (100..110).collect::<Vec<_>>());
        hear(&mut ring, 110..200, true);
        assert_eq!(numbers(&ring), (175..200).collect::<Vec<_>>());
    }

    #[test]
    fn of_a_speech_that_is_too_long_only_the_end_without_words_is_sent_again() {
        let mut ring = Ring::default();
        hear(&mut ring, 0..590, true);
        ring.words();
        hear(&mut ring, 590..600, true);
        assert!(!ring.is_whole());
        assert_eq!(replay(&ring), (565..600).collect::<Vec<_>>());
        hear(&mut ring, 600..601, false);
        assert!(ring.is_whole());
    }
}
