//! Cuts the caller's audio into segments of speech.
//!
//! Speech is detected some 60 to 120 ms after it begins, so the audio before that is kept. When the caller continues shortly after
//! a stop ("my number is … four one five"), the segment continues too and is transcribed as a whole: a sentence is recognised
//! far better in one piece than in two.

use std::collections::VecDeque;

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::CallerAudio;

/// Audio kept before speech is detected. With more silence in front, the model transcribes nothing.
const PRE_ROLL_MS: usize = 300;
/// A pause up to this long after a stop counts as a pause within a sentence.
const PAUSE_MS: usize = 680;
/// Longer segments are not continued.
const MAX_CONTINUED_MS: usize = 25_000;
/// The longest segment. Voice activity ends much earlier.
const MAX_MS: usize = 40_000;

/// Collects one caller's speech.
pub(crate) struct Segmenter {
    format: AudioFormat,
    before: VecDeque<i16>,
    samples: Vec<i16>,
    state: SegmenterState,
    /// Stops that turned out to be pauses within the current segment.
    pauses: Vec<u32>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum SegmenterState {
    #[default]
    Quiet,
    Speaking,
    /// Stopped this many samples ago.
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
    /// Earlier stops whose audio is part of this segment: their transcripts are void.
    pub(crate) replaces: Vec<u32>,
    /// In the format of the call.
    pub(crate) samples: Vec<i16>,
}

impl Segmenter {
    /// Creates a segmenter for audio of this format.
    pub(crate) fn new(format: AudioFormat) -> Self {
        Self { format, before: VecDeque::new(), samples: Vec::new(), state: SegmenterState::Quiet, pauses: Vec::new() }
    }

    pub(crate) fn audio(&mut self, frame: &CallerAudio) {
        let samples = frame.0.samples();
        self.before.extend(samples);
        self.before.drain(..self.before.len().saturating_sub(self.format.samples_in_ms(PRE_ROLL_MS)));
        if self.state != SegmenterState::Quiet
            && self.samples.len() + samples.len() <= self.format.samples_in_ms(MAX_MS)
        {
            self.samples.extend(samples);
        }
        if let SegmenterState::Stopped { since, .. } = &mut self.state {
            *since += samples.len();
            if *since > self.format.samples_in_ms(PAUSE_MS) {
                self.state = SegmenterState::Quiet;
            }
        }
    }

    /// Starts speech. Returns whether it continues the last segment.
    pub(crate) fn started(&mut self) -> bool {
        let SegmenterState::Stopped { segment, since } = self.state else {
            self.begin(usize::MAX);
            return false;
        };
        if self.samples.len() > self.format.samples_in_ms(MAX_CONTINUED_MS) {
            // Do not transcribe audio twice.
            self.begin(since);
            return false;
        }
        self.state = SegmenterState::Speaking;
        self.pauses.push(segment);
        true
    }

    /// Begins a segment with the audio kept from before it, at most `before` samples.
    fn begin(&mut self, before: usize) {
        self.samples.clear();
        self.samples.extend(self.before.iter().skip(self.before.len().saturating_sub(before)));
        self.pauses.clear();
        self.state = SegmenterState::Speaking;
    }

    /// Stops speech.
    pub(crate) fn stopped(&mut self, number: u32) -> Segment {
        if self.state == SegmenterState::Quiet {
            self.begin(usize::MAX);
        }
        self.state = SegmenterState::Stopped { segment: number, since: 0 };
        Segment { number, replaces: self.pauses.clone(), samples: self.samples.clone() }
    }

    /// Returns the current segment so far; `None` while the caller is silent.
    pub(crate) fn so_far(&self) -> Option<&[i16]> {
        (self.state == SegmenterState::Speaking).then_some(&self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::frame::Frame;

    const FRAME_SAMPLES: usize = AudioFormat::Narrowband.frame_samples();

    /// Feeds frames whose samples have these values.
    fn hear(segmenter: &mut Segmenter, numbers: std::ops::Range<i16>) {
        numbers.for_each(|number| {
            segmenter.audio(&CallerAudio(Frame::from_slice(AudioFormat::Narrowband, &[number; FRAME_SAMPLES])));
        });
    }

    fn numbers(segment: &Segment) -> Vec<i16> {
        segment.samples.chunks(FRAME_SAMPLES).map(|frame| frame[0]).collect()
    }

    #[test]
    fn a_segment_has_300_ms_in_front() {
        let mut segmenter = Segmenter::new(AudioFormat::Narrowband);
        hear(&mut segmenter, 0..100);
        assert!(!segmenter.started());
        hear(&mut segmenter, 100..120);
        let segment = segmenter.stopped(0);
        assert_eq!(numbers(&segment), (85..120).collect::<Vec<_>>());
        assert_eq!((segment.number, segment.replaces), (0, vec![]));
    }

    #[test]
    fn speech_after_a_short_pause_is_one_segment_with_what_came_before() {
        let mut segmenter = Segmenter::new(AudioFormat::Narrowband);
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
        let mut segmenter = Segmenter::new(AudioFormat::Narrowband);
        hear(&mut segmenter, 0..20);
        segmenter.started();
        segmenter.stopped(0);
        hear(&mut segmenter, 20..60);
        assert!(!segmenter.started());
        let segment = segmenter.stopped(1);
        assert_eq!((numbers(&segment), segment.replaces), ((45..60).collect(), vec![]));
    }

    #[test]
    fn speech_cut_at_the_maximum_length_continues_without_overlap() {
        let mut segmenter = Segmenter::new(AudioFormat::Narrowband);
        hear(&mut segmenter, 0..20);
        segmenter.started();
        hear(&mut segmenter, 20..2100);
        let first = segmenter.stopped(0);
        hear(&mut segmenter, 2100..2105);
        assert!(!segmenter.started());
        hear(&mut segmenter, 2105..2110);
        let second = segmenter.stopped(1);
        assert_eq!(numbers(&second), (2100..2110).collect::<Vec<_>>());
        assert_eq!(first.samples.len(), AudioFormat::Narrowband.samples_in_ms(MAX_MS));
    }
}
