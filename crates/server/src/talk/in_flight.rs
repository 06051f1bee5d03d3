//! Audio that was sent to the carrier and that the caller has not heard yet.
//!
//! Carriers buffer: audio is heard some time after it was sent, or never if it is cleared. A mark behind a frame comes back when the
//! frame has been played. The marks measure the delay of the line, and from that follows what the caller has heard so far. For the last
//! audio of an utterance the mark itself is awaited, so that a goodbye is heard before the call is hung up. Audio that the carrier has
//! not begun to play can be reclaimed.

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::AgentAudio;
use tokio::time::Instant;

use super::playback::Played;

/// A mark follows every this many frames: each second.
const BETWEEN_MARKS: u32 = 50;
/// How much later than expected the mark behind an utterance may come; carriers that return no marks are not awaited longer.
const MARK_TOLERANCE: Duration = Duration::from_secs(1);
/// The longest credible delay of a line. A mark that took longer was held up by something else.
const MAX_LINE_DELAY: Duration = Duration::from_secs(2);

/// Frames in flight. Pure: time is an argument.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    frames: VecDeque<SentFrame>,
    /// Marks that have not come back, and when the frames before them should be played.
    marks: VecDeque<(u64, Instant)>,
    /// The time from when a frame should be played until it is heard, as measured with marks.
    delay: Duration,
    /// The shortest delay that was measured.
    shortest: Option<Duration>,
    marked: u64,
    unmarked: u32,
}

#[derive(Debug)]
struct SentFrame {
    plays_at: Instant,
    audio: Option<AgentAudio>,
    played: Played,
    /// The mark behind the frame.
    mark: Option<u64>,
    returned: bool,
}

impl InFlight {
    /// Records a frame that was sent and will be played at `plays_at`; returns the mark that must follow it, if any.
    pub(super) fn sent(&mut self, plays_at: Instant, audio: Option<AgentAudio>, played: Played) -> Option<u64> {
        self.unmarked += 1;
        let mark = (played.finished || self.unmarked >= BETWEEN_MARKS).then(|| {
            self.unmarked = 0;
            self.marked += 1;
            self.marks.push_back((self.marked, plays_at));
            self.marked
        });
        self.frames.push_back(SentFrame { plays_at, audio, played, mark, returned: false });
        mark
    }

    /// Handles a mark that came back; returns how much later than the fastest one, or `None` if it was cleared.
    pub(super) fn returned(&mut self, now: Instant, mark: u64) -> Option<Duration> {
        let position = self.marks.iter().position(|(sent, _)| *sent == mark)?;
        let (_, plays_at) = self.marks[position];
        self.marks.drain(..=position);
        let measured = now.duration_since(plays_at).min(MAX_LINE_DELAY);
        // The delay of a line changes slowly; single marks vary more.
        self.delay = if self.delay.is_zero() { measured } else { (self.delay * 3 + measured) / 4 };
        let shortest = *self.shortest.insert(self.shortest.map_or(measured, |shortest| shortest.min(measured)));
        if let Some(marked) = self.frames.iter().position(|frame| frame.mark == Some(mark)) {
            // Everything sent before it has been played too.
            self.frames.iter_mut().take(marked + 1).for_each(|frame| frame.returned = true);
        }
        Some(measured - shortest)
    }

    /// Takes back the frames that the carrier has not played completely and will discard; the latest first.
    pub(super) fn reclaim(&mut self, now: Instant) -> Vec<(Option<AgentAudio>, Played)> {
        let unheard = |frame: &mut SentFrame| !frame.returned && frame.plays_at + FRAME_DURATION > now;
        let mut taken = Vec::new();
        while let Some(SentFrame { audio, played, mark, .. }) = self.frames.pop_back_if(unheard) {
            self.marks.retain(|(sent, _)| Some(*sent) != mark);
            taken.push((audio, played));
        }
        taken
    }

    /// Returns what the caller has heard since the last call, in order.
    pub(super) fn heard(&mut self, now: Instant) -> Vec<Played> {
        let mut heard = Vec::new();
        while let Some(frame) = self.frames.front() {
            let wait = if frame.played.finished { self.delay + MARK_TOLERANCE } else { self.delay };
            if !frame.returned && now < frame.plays_at + wait {
                break;
            }
            heard.extend(self.frames.pop_front().map(|frame| frame.played));
        }
        heard
    }

    /// Returns whether everything that was sent has been heard.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Drops all frames: they will not be heard.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.marks.clear();
    }

    /// Returns the time until a frame is heard.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(20);

    fn played(frames: u64, finished: bool) -> Played {
        Played { utterance: 1, samples: frames * 160, finished }
    }

    /// Sends an utterance of `frames`, one every 20 ms; returns its last mark.
    fn speak(line: &mut InFlight, start: Instant, frames: u64) -> Option<u64> {
        (1..=frames)
            .map(|n| line.sent(start + FRAME * u32::try_from(n).expect("few"), None, played(n, n == frames)))
            .last()?
    }

    #[test]
    fn what_was_sent_is_heard_as_much_later_as_marks_have_shown() {
        let (mut line, start) = (InFlight::default(), Instant::now());
        let mark = speak(&mut line, start, 3).expect("a mark behind the last frame");
        let sent = start + FRAME * 3;
        assert_eq!(line.heard(sent).len(), 2, "nothing is known of the line yet, so it is taken for short");
        assert_eq!(line.heard(sent + FRAME), [], "but the end is not heard before its mark");
        assert!(!line.is_empty());
        line.returned(sent + Duration::from_millis(300), mark);
        assert_eq!(line.heard(sent + Duration::from_millis(300)), [played(3, true)]);
        assert!(line.is_empty());

        let later = start + Duration::from_secs(10);
        let _mark = speak(&mut line, later, 10);
        assert_eq!(line.heard(later + Duration::from_millis(319)), []);
        assert_eq!(line.heard(later + Duration::from_millis(320)), [played(1, false)]);
        assert_eq!(line.heard(later + Duration::from_millis(345)), [played(2, false)]);
    }

    #[test]
    fn missing_mark_times_out() {
        let (mut line, start) = (InFlight::default(), Instant::now());
        let _mark = speak(&mut line, start, 1);
        assert_eq!(line.heard(start + FRAME + MARK_TOLERANCE - Duration::from_millis(1)), []);
        assert_eq!(line.heard(start + FRAME + MARK_TOLERANCE), [played(1, true)]);
    }

    #[test]
    fn what_was_cleared_was_not_heard_and_its_marks_say_nothing() {
        let (mut line, start) = (InFlight::default(), Instant::now());
        let mark = speak(&mut line, start, 2).expect("a mark");
        line.clear();
        assert_eq!(line.returned(start + FRAME * 2, mark), None);
        assert_eq!((line.heard(start + MARK_TOLERANCE * 9), line.delay()), (vec![], Duration::ZERO));
    }

    #[test]
    fn long_speech_has_a_mark_each_second() {
        let (mut line, start) = (InFlight::default(), Instant::now());
        let marks: Vec<u64> = (1..=200).filter_map(|n| line.sent(start, None, played(n, n == 200))).collect();
        assert_eq!(marks, [1, 2, 3, 4]);
        assert_eq!(line.heard(start).len(), 199, "nothing is known of the line yet");
        line.returned(start + FRAME * 5, 1);
        assert_eq!(line.delay(), FRAME * 5, "the first mark tells how long it is");
    }

    #[test]
    fn what_the_carrier_has_not_played_is_taken_back_and_was_not_heard() {
        let (mut line, start) = (InFlight::default(), Instant::now());
        let mark = speak(&mut line, start, 5).expect("a mark behind the last frame");
        let taken = line.reclaim(start + FRAME * 3);
        let order: Vec<u64> = taken.iter().map(|(_, played)| played.samples / 160).collect();
        assert_eq!(order, [5, 4, 3], "the latest first; the second has ended");
        assert_eq!(line.returned(start + FRAME * 3, mark), None, "carriers return the marks of what they throw away");
        assert_eq!(line.heard(start + FRAME * 9), [played(1, false), played(2, false)]);
        assert!(line.is_empty());
    }

    #[test]
    fn marks_tell_how_much_later_than_usual_something_was_heard() {
        let (mut line, start) = (InFlight::default(), Instant::now());
        let late: Vec<Option<Duration>> = [100, 130, 90, 120]
            .into_iter()
            .map(|ms| {
                let mark = line.sent(start, None, played(1, true)).expect("a mark");
                line.returned(start + Duration::from_millis(ms), mark)
            })
            .collect();
        assert_eq!(late, [0, 30, 0, 30].map(|ms| Some(Duration::from_millis(ms))));
    }
}
