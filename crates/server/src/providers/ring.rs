//! The caller's last seconds, for a connection that has to be made again, or for a recogniser that takes over.

use std::collections::VecDeque;

use switchhook_media::frame::Frame;

/// Kept while nobody speaks, in frames: 500 ms. Speech is noticed up to 120 ms late, and begins more softly than that.
const PRE_ROLL: usize = 25;
/// Kept when words came before the end of their speech, in frames: 120 ms. More of it may have begun, and is not noticed yet.
const ONSET: usize = 6;
/// Kept of what has no final words yet, in frames: 10 s.
const LONGEST: usize = 500;
/// Said again before the first sound that has no words at all, in frames: 500 ms.
const MARGIN: usize = 25;

/// What a recogniser is told.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly every one is sound")]
pub(crate) enum Told {
    /// It takes over: before this segment all is told.
    From(u32),
    /// 20 ms.
    Sound(Frame),
    /// Voice activity began.
    Started,
    /// It ended, and with it this segment.
    Stopped(u32),
}

/// What would have to be sent again.
#[derive(Default)]
pub(crate) struct Ring {
    items: VecDeque<Told>,
    frames: usize,
    /// Whether sound without final words was let go.
    overflowed: bool,
    /// Frames since the last words, final or not.
    since_words: usize,
}

impl Ring {
    /// The next that is told; `open` when there is speech without final words.
    pub(crate) fn keep(&mut self, told: Told, open: bool) {
        let sound = matches!(told, Told::Sound(_));
        self.items.push_back(told);
        if sound {
            self.frames += 1;
            self.since_words += 1;
            self.overflowed = open && (self.overflowed || self.frames > LONGEST);
            self.trim(if open { LONGEST } else { PRE_ROLL });
        }
    }

    /// Some words came.
    pub(crate) fn words(&mut self) {
        self.since_words = 0;
    }

    /// A segment's final words were told: what was before its end is done with. So is all but the last when the words came before the end.
    pub(crate) fn settled(&mut self, segment: u32) {
        let end = self.items.iter().position(|item| matches!(item, Told::Stopped(number) if *number == segment));
        match end {
            Some(end) => {
                let sound = self.items.drain(..=end).filter(|item| matches!(item, Told::Sound(_))).count();
                self.frames -= sound;
            }
            None => self.trim(ONSET),
        }
        self.overflowed = false;
    }

    /// The sound just before speech was noticed, for whoever wants speech only.
    pub(crate) fn pre_roll(&self) -> Vec<Frame> {
        let since_stop = self.items.iter().rev().take_while(|item| !matches!(item, Told::Stopped(_)));
        let sound = since_stop.filter_map(|item| match item {
            Told::Sound(frame) => Some(*frame),
            _ => None,
        });
        let mut frames: Vec<Frame> = sound.take(PRE_ROLL).collect();
        frames.reverse();
        frames
    }

    fn trim(&mut self, most: usize) {
        while self.frames > most {
            if let Some(Told::Sound(_)) = self.items.pop_front() {
                self.frames -= 1;
            }
        }
    }

    /// Whether everything without final words is still here.
    pub(crate) fn is_whole(&self) -> bool {
        !self.overflowed
    }

    /// What is to be sent on a new connection: everything without final words or, when that is not all here, what no words
    /// came for.
    pub(crate) fn replay(&self) -> Vec<Told> {
        let mut skip = if self.overflowed { self.frames.saturating_sub(self.since_words + MARGIN) } else { 0 };
        let unspoken = |item: &&Told| {
            let skipped = skip > 0 && matches!(item, Told::Sound(_));
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
        numbers.for_each(|number| ring.keep(Told::Sound(Frame::new([number; FRAME_SAMPLES])), open));
    }

    /// Frames by their samples' value, stops as negative numbers.
    fn replay(ring: &Ring) -> Vec<i32> {
        let number = |item: Told| match item {
            Told::Sound(frame) => Some(i32::from(frame.samples()[0])),
            Told::From(_) | Told::Started => None,
            Told::Stopped(segment) => Some(-1 - i32::try_from(segment).expect("small")),
        };
        ring.replay().into_iter().filter_map(number).collect()
    }

    #[test]
    fn speech_is_kept_from_before_it_was_noticed_until_its_words_are_told() {
        let mut ring = Ring::default();
        hear(&mut ring, 0..100, false);
        hear(&mut ring, 100..110, true);
        ring.keep(Told::Stopped(0), true);
        hear(&mut ring, 110..112, true);
        let kept = (75..110).chain([-1, 110, 111]).collect::<Vec<i32>>();
        assert_eq!((replay(&ring), ring.is_whole()), (kept, true));
        ring.settled(0);
        assert_eq!(replay(&ring), [110, 111]);
    }

    #[test]
    fn of_words_that_come_before_the_end_of_their_speech_hardly_any_sound_is_left() {
        let mut ring = Ring::default();
        hear(&mut ring, 0..100, true);
        ring.settled(0);
        assert_eq!(replay(&ring), (94..100).collect::<Vec<_>>());
    }

    #[test]
    fn before_a_second_segment_comes_only_what_was_not_in_the_first() {
        let mut ring = Ring::default();
        hear(&mut ring, 0..100, true);
        ring.keep(Told::Stopped(0), true);
        ring.keep(Told::Started, true);
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
