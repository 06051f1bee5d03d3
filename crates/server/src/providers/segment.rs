//! Cuts the caller's audio into segments of speech.
//!
//! Speech is noticed some 60 to 120 ms after it began, so the audio before is kept. When the caller goes on shortly after
//! a stop ("my number is … four one five"), the segment goes on too and is understood as a whole: one sentence in one piece is
//! understood far better than in two.

use std::collections::VecDeque;

use switchhook_media::frame::{CallerAudio, FRAME_SAMPLES};

/// Audio before the start is noticed: 300 ms. With more silence in front the model transcribes nothing.
const PRE_ROLL: usize = 2_400;
/// A pause up to this long after a stop is a pause within a sentence: 600 ms.
const PAUSE: usize = 4_800;
/// Longer segments are not continued: 25 s.
const MAX_CONTINUED: usize = 200_000;
/// No segment holds more: 40 s. Voice activity ends much earlier.
const MAX_SAMPLES: usize = 320_000;

/// Collects one caller's speech.
#[derive(Default)]
pub(crate) struct Segmenter {
    before: VecDeque<i16>,
    samples: Vec<i16>,
    state: State,
    /// Stops that turned out to be pauses of the running segment.
    pauses: Vec<u32>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Quiet,
    Speaking,
    /// Stopped so many samples ago.
    Stopped {
        segment: u32,
        since: usize,
    },
}

/// A finished segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The number of its stop.
    pub(crate) number: u32,
    /// Earlier stops whose audio is in this one as well: their transcripts are void.
    pub(crate) replaces: Vec<u32>,
    /// 8 kHz.
    pub(crate) samples: Vec<i16>,
}

impl Segmenter {
    pub(crate) fn audio(&mut self, frame: &CallerAudio) {
        let samples = frame.0.samples();
        self.before.extend(samples);
        self.before.drain(..self.before.len().saturating_sub(PRE_ROLL));
        if self.state != State::Quiet && self.samples.len() + FRAME_SAMPLES <= MAX_SAMPLES {
            self.samples.extend(samples);
        }
        if let State::Stopped { since, .. } = &mut self.state {
            *since += FRAME_SAMPLES;
            if *since > PAUSE {
                self.state = State::Quiet;
            }
        }
    }

    /// Speech began. Returns whether it goes on from the last stop.
    pub(crate) fn started(&mut self) -> bool {
        let State::Stopped { segment, since } = self.state else {
            self.begin(PRE_ROLL);
            return false;
        };
        if self.samples.len() > MAX_CONTINUED {
            // Audio that was transcribed already is not transcribed twice.
            self.begin(since.min(PRE_ROLL));
            return false;
        }
        self.state = State::Speaking;
        self.pauses.push(segment);
        true
    }

    fn begin(&mut self, before: usize) {
        self.samples.clear();
        self.samples.extend(self.before.iter().skip(self.before.len().saturating_sub(before)));
        self.pauses.clear();
        self.state = State::Speaking;
    }

    /// Speech stopped.
    pub(crate) fn stopped(&mut self, number: u32) -> Segment {
        if self.state == State::Quiet {
            self.begin(PRE_ROLL);
        }
        self.state = State::Stopped { segment: number, since: 0 };
        Segment { number, replaces: self.pauses.clone(), samples: self.samples.clone() }
    }

    /// The running segment so far; `None` when nobody speaks.
    pub(crate) fn so_far(&self) -> Option<&[i16]> {
        (self.state == State::Speaking).then_some(&self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::frame::Frame;

    /// Frames numbered by their samples' value.
    fn hear(segmenter: &mut Segmenter, numbers: std::ops::Range<i16>) {
        numbers.for_each(|number| segmenter.audio(&CallerAudio(Frame::new([number; FRAME_SAMPLES]))));
    }

    fn numbers(segment: &Segment) -> Vec<i16> {
        segment.samples.chunks(FRAME_SAMPLES).map(|frame| frame[0]).collect()
    }

    #[test]
    fn a_segment_has_300_ms_in_front() {
        let mut segmenter = Segmenter::default();
        hear(&mut segmenter, 0..100);
        assert!(!segmenter.started());
        hear(&mut segmenter, 100..120);
        let segment = segmenter.stopped(0);
        assert_eq!(numbers(&segment), (85..120).collect::<Vec<_>>());
        assert_eq!((segment.number, segment.replaces), (0, vec![]));
    }

    #[test]
    fn speech_after_a_short_pause_is_one_segment_with_what_came_before() {
        let mut segmenter = Segmenter::default();
        hear(&mut segmenter, 0..100);
        segmenter.started();
        hear(&mut segmenter, 100..120);
        segmenter.stopped(0);
        hear(&mut segmenter, 120..140);
        assert!(segmenter.started());
        hear(&mut segmenter, 140..150);
        let segment = segmenter.stopped(1);
        assert_eq!(numbers(&segment), (85..150).collect::<Vec<_>>());
        assert_eq!(segment.replaces, [0]);
    }

    #[test]
    fn speech_after_a_long_pause_is_a_segment_of_its_own() {
        let mut segmenter = Segmenter::default();
        hear(&mut segmenter, 0..20);
        segmenter.started();
        segmenter.stopped(0);
        hear(&mut segmenter, 20..60);
        assert!(!segmenter.started());
        let segment = segmenter.stopped(1);
        assert_eq!((numbers(&segment), segment.replaces), ((45..60).collect(), vec![]));
    }

    #[test]
    fn speech_that_is_cut_because_it_is_too_long_goes_on_without_an_overlap() {
        let mut segmenter = Segmenter::default();
        hear(&mut segmenter, 0..20);
        segmenter.started();
        hear(&mut segmenter, 20..2100);
        let first = segmenter.stopped(0);
        hear(&mut segmenter, 2100..2105);
        assert!(!segmenter.started());
        hear(&mut segmenter, 2105..2110);
        let second = segmenter.stopped(1);
        assert_eq!(numbers(&second), (2100..2110).collect::<Vec<_>>());
        assert_eq!(first.samples.len(), MAX_SAMPLES);
    }
}
