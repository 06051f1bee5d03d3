//! The replay buffer: the last seconds of the caller's audio, for a reconnect or a failover to another STT provider.

use std::collections::VecDeque;

use switchhook_media::frame::CallerAudio;

use crate::SttInput;

/// Frames stored during silence: 500 ms. Speech is detected up to 120 ms late, and begins more softly than that.
const PRE_ROLL: usize = 25;
/// Frames stored when words arrived before their speech ended: 120 ms. New speech may have begun in them that is not detected yet.
const ONSET: usize = 6;
/// Frames stored of speech without final words: 10 s.
const LONGEST: usize = 500;
/// Frames replayed before the first audio without any words: 500 ms.
const MARGIN: usize = 25;

/// Audio and speech boundaries without a final transcript.
#[derive(Default)]
pub struct ReplayBuffer {
    items: VecDeque<SttInput>,
    frames: usize,
    /// Whether audio without final words was dropped.
    overflowed: bool,
    /// Frames since the last words, final or not.
    since_words: usize,
}

impl ReplayBuffer {
    /// Stores input; `open` if there is speech without final words.
    pub fn keep(&mut self, input: SttInput, open: bool) {
        let audio = matches!(input, SttInput::Audio(_));
        self.items.push_back(input);
        if audio {
            self.frames += 1;
            self.since_words += 1;
            self.overflowed = open && (self.overflowed || self.frames > LONGEST);
            self.trim(if open { LONGEST } else { PRE_ROLL });
        }
    }

    /// Records that words arrived.
    pub fn words(&mut self) {
        self.since_words = 0;
    }

    /// Drops the audio of a segment that became final: everything until it ended or, if its words came earlier, all but the last frames.
    pub fn settled(&mut self, segment: u32) {
        let end =
            self.items.iter().position(|item| matches!(item, SttInput::SpeechStopped(number) if *number == segment));
        match end {
            Some(end) => {
                let audio = self.items.drain(..=end).filter(|item| matches!(item, SttInput::Audio(_))).count();
                self.frames -= audio;
            }
            None => self.trim(ONSET),
        }
        self.overflowed = false;
    }

    /// Returns the audio just before speech was detected, for providers that get speech only.
    pub fn pre_roll(&self) -> Vec<CallerAudio> {
        let since_stop = self.items.iter().rev().take_while(|item| !matches!(item, SttInput::SpeechStopped(_)));
        let audio = since_stop.filter_map(|item| match item {
            SttInput::Audio(frame) => Some(frame.clone()),
            _ => None,
        });
        let mut frames: Vec<CallerAudio> = audio.take(PRE_ROLL).collect();
        frames.reverse();
        frames
    }

    fn trim(&mut self, most: usize) {
        while self.frames > most {
            if let Some(SttInput::Audio(_)) = self.items.pop_front() {
                self.frames -= 1;
            }
        }
    }

    /// Returns whether all audio without final words is still stored.
    pub fn is_whole(&self) -> bool {
        !self.overflowed
    }

    /// Returns the input to send on a new connection: everything without final words or, if some of that was dropped, the audio since the
    /// last words.
    pub fn replay(&self) -> Vec<SttInput> {
        let mut skip = if self.overflowed { self.frames.saturating_sub(self.since_words + MARGIN) } else { 0 };
        let unspoken = |item: &&SttInput| {
            let skipped = skip > 0 && matches!(item, SttInput::Audio(_));
            skip -= usize::from(skipped);
            !skipped
        };
        self.items.iter().filter(unspoken).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::format::AudioFormat;
    use switchhook_media::frame::Frame;

    fn hear(replay: &mut ReplayBuffer, numbers: std::ops::Range<i16>, open: bool) {
        numbers.for_each(|number| {
            let frame = Frame::from_slice(AudioFormat::Narrowband, &[number; 160]);
            replay.keep(SttInput::Audio(CallerAudio(frame)), open);
        });
    }

    /// Returns frames as the value of their samples, and stops as negative numbers.
    fn replayed(replay: &ReplayBuffer) -> Vec<i32> {
        let number = |item: SttInput| match item {
            SttInput::Audio(frame) => Some(i32::from(frame.0.samples()[0])),
            SttInput::StartAt(_) | SttInput::SpeechStarted => None,
            SttInput::SpeechStopped(segment) => Some(-1 - i32::try_from(segment).expect("small")),
        };
        replay.replay().into_iter().filter_map(number).collect()
    }

    #[test]
    fn speech_is_kept_from_before_it_was_noticed_until_its_words_are_reported() {
        let mut replay = ReplayBuffer::default();
        hear(&mut replay, 0..100, false);
        hear(&mut replay, 100..110, true);
        replay.keep(SttInput::SpeechStopped(0), true);
        hear(&mut replay, 110..112, true);
        let kept = (75..110).chain([-1, 110, 111]).collect::<Vec<i32>>();
        assert_eq!((replayed(&replay), replay.is_whole()), (kept, true));
        replay.settled(0);
        assert_eq!(replayed(&replay), [110, 111]);
    }

    #[test]
    fn of_words_that_come_before_the_end_of_their_speech_hardly_any_audio_is_left() {
        let mut replay = ReplayBuffer::default();
        hear(&mut replay, 0..100, true);
        replay.settled(0);
        assert_eq!(replayed(&replay), (94..100).collect::<Vec<_>>());
    }

    #[test]
    fn before_a_second_segment_comes_only_what_was_not_in_the_first() {
        let mut replay = ReplayBuffer::default();
        hear(&mut replay, 0..100, true);
        replay.keep(SttInput::SpeechStopped(0), true);
        replay.keep(SttInput::SpeechStarted, true);
        hear(&mut replay, 100..110, true);
        let numbers =
            |replay: &ReplayBuffer| replay.pre_roll().iter().map(|frame| frame.0.samples()[0]).collect::<Vec<_>>();
        assert_eq!(numbers(&replay), (100..110).collect::<Vec<_>>());
        hear(&mut replay, 110..200, true);
        assert_eq!(numbers(&replay), (175..200).collect::<Vec<_>>());
    }

    #[test]
    fn of_a_speech_that_is_too_long_only_the_end_without_words_is_sent_again() {
        let mut replay = ReplayBuffer::default();
        hear(&mut replay, 0..590, true);
        replay.words();
        hear(&mut replay, 590..600, true);
        assert!(!replay.is_whole());
        assert_eq!(replayed(&replay), (565..600).collect::<Vec<_>>());
        hear(&mut replay, 600..601, false);
        assert!(replay.is_whole());
    }
}
