//! The agent's queued speech: utterances in order, cut into frames, paused and resumed at the exact sample.

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{AgentAudio, Frame};

/// The queue of utterances. Pure: the driver takes a frame every 20 ms.
#[derive(Debug)]
pub struct Playback {
    format: AudioFormat,
    queue: VecDeque<Utterance>,
    paused: bool,
}

/// Samples per piece: 0.1 s at 16 kHz.
const PIECE: usize = 1_600;

/// Queued samples, in pieces of at most [`PIECE`], each of which is freed once it is played: TTS is seconds ahead.
#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<Vec<i16>>,
    /// The samples of the first piece that were played.
    taken: usize,
    len: usize,
}

impl Waiting {
    fn len(&self) -> usize {
        self.len
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn extend(&mut self, mut samples: &[i16]) {
        self.len += samples.len();
        while !samples.is_empty() {
            let room = self.pieces.back().map_or(0, |piece| PIECE.saturating_sub(piece.len()));
            if room == 0 {
                self.pieces.push_back(Vec::with_capacity(samples.len().min(PIECE)));
                continue;
            }
            let (now, rest) = samples.split_at(room.min(samples.len()));
            self.pieces.back_mut().expect("there is room in it").extend_from_slice(now);
            samples = rest;
        }
    }

    fn pop(&mut self) -> Option<i16> {
        let first = self.pieces.front()?;
        let sample = *first.get(self.taken)?;
        self.taken += 1;
        self.len -= 1;
        if self.taken == first.len() {
            self.pieces.pop_front();
            self.taken = 0;
        }
        Some(sample)
    }

    /// Puts samples before all others.
    fn put_back(&mut self, samples: &[i16]) {
        if let Some(first) = self.pieces.front_mut() {
            first.drain(..self.taken);
            self.taken = 0;
        }
        if !samples.is_empty() {
            self.len += samples.len();
            self.pieces.push_front(samples.to_vec());
        }
    }
}

#[derive(Debug)]
struct Utterance {
    number: u32,
    samples: Waiting,
    complete: bool,
    received: u64,
    played: u64,
}

/// The position of a frame in its utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// The frame's utterance.
    pub utterance: u32,
    /// Its samples played so far, including this frame but not padding.
    pub samples: u64,
    /// Whether the frame is its last.
    pub finished: bool,
}

impl Playback {
    /// Creates an empty queue for audio of this format.
    #[must_use]
    pub const fn new(format: AudioFormat) -> Self {
        Self { format, queue: VecDeque::new(), paused: false }
    }

    /// Returns the format of the audio.
    #[must_use]
    pub const fn format(&self) -> AudioFormat {
        self.format
    }

    /// Returns the duration of this many samples.
    #[must_use]
    pub fn length(&self, samples: u64) -> Duration {
        self.format.duration(samples)
    }

    /// Adds an utterance at the end of the queue; its audio follows with [`Playback::push`].
    pub fn queue_last(&mut self, number: u32) {
        self.queue.push_back(Utterance {
            number,
            samples: Waiting::default(),
            complete: false,
            received: 0,
            played: 0,
        });
    }

    /// Adds an utterance at the front, even before the rest of one that is being played.
    pub fn queue_first(&mut self, number: u32) {
        self.queue_last(number);
        self.queue.rotate_right(1);
    }

    /// Adds audio to a queued utterance and returns how many samples it has now. Drops the audio if the utterance was cleared.
    pub fn push(&mut self, number: u32, samples: &[i16]) -> u64 {
        let Some(utterance) = self.find(number) else { return 0 };
        utterance.samples.extend(samples);
        utterance.received += u64::try_from(samples.len()).unwrap_or(0);
        utterance.received
    }

    /// Marks the audio of an utterance as complete; returns how many samples it has.
    pub fn complete(&mut self, number: u32) -> u64 {
        let Some(utterance) = self.find(number) else { return 0 };
        utterance.complete = true;
        utterance.received
    }

    /// Marks an utterance as complete and drops its audio. It keeps its place.
    pub fn withhold(&mut self, number: u32) {
        if let Some(utterance) = self.find(number) {
            utterance.samples = Waiting::default();
        }
    }

    /// Returns the duration of the audio queued before this utterance.
    #[must_use]
    pub fn ahead_of(&self, number: u32) -> Duration {
        let before = self.queue.iter().take_while(|utterance| utterance.number != number);
        self.length(before.map(|utterance| utterance.samples.len() as u64).sum())
    }

    fn find(&mut self, number: u32) -> Option<&mut Utterance> {
        self.queue.iter_mut().find(|utterance| utterance.number == number)
    }

    /// Returns whether everything has been played.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Drops everything that was not played.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.paused = false;
    }

    /// Pauses playback.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Continues at the sample at which playback was paused.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Takes back a frame that was sent but will not be heard; of several, the latest first. It is played again in its turn.
    pub fn put_back(&mut self, audio: Option<AgentAudio>, played: Played) {
        let Played { utterance: number, samples: sent, finished } = played;
        if finished {
            let samples = Waiting::default();
            self.queue.push_front(Utterance { number, samples, complete: true, received: sent, played: sent });
        }
        let (Some(audio), Some(utterance)) = (audio, self.find(number)) else { return };
        // Every frame of an utterance but the last is whole.
        let whole = audio.0.samples().len();
        let count = match sent % whole as u64 {
            0 => whole,
            rest => usize::try_from(rest).unwrap_or(whole),
        };
        utterance.samples.put_back(&audio.0.samples()[..count]);
        utterance.played = utterance.played.saturating_sub(u64::try_from(count).unwrap_or(0));
    }

    /// Returns the next 20 ms, or `None` if there is nothing to play, playback is paused, or the audio has not arrived yet.
    ///
    /// The last frame of an utterance is padded with silence; an utterance whose audio is late waits for a whole frame
    /// rather than break a word in two.
    pub fn next_frame(&mut self) -> Option<(Option<AgentAudio>, Played)> {
        if self.paused {
            return None;
        }
        let whole = self.format.frame_samples();
        let head = self.queue.front_mut()?;
        if head.samples.len() < whole && !head.complete {
            return None;
        }
        let count = head.samples.len().min(whole);
        let frame = (count > 0).then(|| {
            AgentAudio(Frame::from_samples(self.format, std::iter::from_fn(|| head.samples.pop()).take(count)))
        });
        head.played += u64::try_from(count).unwrap_or(0);
        let finished = head.complete && head.samples.is_empty();
        let played = Played { utterance: head.number, samples: head.played, finished };
        if finished {
            self.queue.pop_front();
        }
        Some((frame, played))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(from: i16, count: usize) -> Vec<i16> {
        (0..count).map(|i| from + i16::try_from(i).expect("few samples")).collect()
    }

    fn first(frame: Option<AgentAudio>) -> i16 {
        frame.expect("a frame of audio").0.samples()[0]
    }

    #[test]
    fn utterances_play_in_order_and_the_last_frame_is_padded() {
        let mut playback = Playback::new(AudioFormat::Narrowband);
        playback.queue_last(1);
        playback.queue_last(2);
        playback.push(2, &samples(1_000, 160));
        playback.complete(2);
        assert_eq!(playback.next_frame(), None, "the first utterance has no audio yet");

        playback.push(1, &samples(1, 200));
        let (frame, played) = playback.next_frame().expect("a whole frame is there");
        assert_eq!((first(frame), played), (1, Played { utterance: 1, samples: 160, finished: false }));
        assert_eq!(playback.next_frame(), None, "40 samples are not a frame, and more may come");

        playback.complete(1);
        let (frame, played) = playback.next_frame().expect("the rest");
        assert_eq!((first(frame), played), (161, Played { utterance: 1, samples: 200, finished: true }));
        let (frame, played) = playback.next_frame().expect("the second");
        assert_eq!((first(frame), played.utterance, played.finished), (1_000, 2, true));
    }

    #[test]
    fn what_comes_first_is_played_before_the_rest_of_what_was_being_played() {
        let mut playback = Playback::new(AudioFormat::Narrowband);
        playback.queue_last(1);
        playback.push(1, &samples(0, 200));
        let _first = playback.next_frame();
        playback.queue_first(2);
        playback.push(2, &samples(1_000, 160));
        playback.complete(2);
        playback.push(1, &samples(200, 160));
        let (frame, played) = playback.next_frame().expect("the phrase");
        assert_eq!((first(frame), played), (1_000, Played { utterance: 2, samples: 160, finished: true }));
        let (frame, played) = playback.next_frame().expect("the rest");
        assert_eq!((first(frame), played), (160, Played { utterance: 1, samples: 320, finished: false }));
    }

    #[test]
    fn paused_playback_resumes_at_the_next_sample_and_cleared_playback_does_not() {
        let mut playback = Playback::new(AudioFormat::Narrowband);
        playback.queue_last(1);
        playback.push(1, &samples(0, 480));
        let _first = playback.next_frame();
        playback.pause();
        assert_eq!(playback.next_frame(), None);
        playback.resume();
        assert_eq!(first(playback.next_frame().expect("goes on").0), 160);

        playback.clear();
        playback.push(1, &samples(0, 480));
        assert_eq!(playback.next_frame(), None, "late audio of a cleared utterance is dropped");
    }

    #[test]
    fn what_is_put_back_is_played_again_from_the_very_sample() {
        let mut playback = Playback::new(AudioFormat::Narrowband);
        for number in [1, 2] {
            playback.queue_last(number);
        }
        playback.push(1, &samples(0, 400));
        playback.complete(1);
        playback.push(2, &samples(1_000, 480));
        let sent: Vec<_> = (0..4).map(|_| playback.next_frame().expect("a frame")).collect();
        assert_eq!(sent[2].1, Played { utterance: 1, samples: 400, finished: true });
        for (audio, played) in sent[1..].iter().rev() {
            playback.put_back(audio.clone(), *played);
        }
        let again: Vec<_> = (0..3).map(|_| playback.next_frame().expect("a frame")).collect();
        assert_eq!(again, sent[1..], "the end of the first, padded as before, and the beginning of the second");
        let (audio, played) = playback.next_frame().expect("the rest");
        assert_eq!((first(audio.clone()), played.samples), (1_160, 320));

        playback.clear();
        playback.put_back(audio, played);
        assert!(playback.is_idle(), "what was cleared is gone");
    }

    #[test]
    fn an_utterance_without_any_audio_still_finishes() {
        let mut playback = Playback::new(AudioFormat::Narrowband);
        playback.queue_last(7);
        playback.complete(7);
        assert_eq!(playback.next_frame(), Some((None, Played { utterance: 7, samples: 0, finished: true })));
    }
}
