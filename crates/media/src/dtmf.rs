//! DTMF, the tones of telephone keys: generates them and detects them in the audio of a call.
//!
//! A key is one low and one high frequency at the same time (ITU-T Q.23; RFC 4733 section 3.2). Tones last 100 ms and pauses 80 ms, well above the 40
//! ms and 40 ms that receivers must accept (ITU-T Q.24).

use std::collections::VecDeque;
use std::f64::consts::TAU;

use crate::format::AudioFormat;
use crate::frame::Frame;
use crate::tone::goertzel;

/// The four rows of the keypad, in Hz.
const LOW: [f64; 4] = [697.0, 770.0, 852.0, 941.0];
/// The four columns, in Hz.
const HIGH: [f64; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];
/// The keys, row by row.
const KEYS: [[char; 4]; 4] = [['1', '2', '3', 'A'], ['4', '5', '6', 'B'], ['7', '8', '9', 'C'], ['*', '0', '#', 'D']];

/// Frames of a tone, of the pause after it, and of a `w`.
const TONE_FRAMES: usize = 5;
const PAUSE_FRAMES: usize = 4;
const WAIT_FRAMES: usize = 25;
/// The low tone at -9 dBm0 and the high one, which lines attenuate more, 2 dB above it (0 dBm0 is 3.17 dB below full scale).
const LOW_AMPLITUDE: f64 = 0.246;
const HIGH_AMPLITUDE: f64 = 0.310;

/// Returns the two frequencies of a key; `None` if it is not a key.
fn frequencies(key: char) -> Option<(f64, f64)> {
    KEYS.iter().zip(LOW).find_map(|(row, low)| Some((low, HIGH[row.iter().position(|known| *known == key)?])))
}

/// Returns whether this can be pressed: `0` to `9`, `*`, `#`, `A` to `D`.
#[must_use]
pub fn is_key(key: char) -> bool {
    frequencies(key).is_some()
}

/// Generates the tones of queued keys, a frame at a time.
///
/// `Debug` shows only their number, because they may be a PIN.
pub struct Dialer {
    format: AudioFormat,
    waiting: VecDeque<char>,
    /// How many frames of the first key were generated.
    frames: usize,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dialer({} keys wait)", self.waiting.len())
    }
}

impl Dialer {
    /// Creates a dialer for this format.
    #[must_use]
    pub fn new(format: AudioFormat) -> Self {
        Self { format, waiting: VecDeque::new(), frames: 0 }
    }

    /// Queues keys. `w` is a pause of 500 ms; other characters that are not keys are ignored.
    pub fn press(&mut self, keys: &str) {
        self.waiting.extend(keys.chars().filter(|key| *key == 'w' || is_key(*key)));
    }

    /// Returns whether the queue is empty.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the next 20 ms; `None` once the queue is empty.
    pub fn next_frame(&mut self) -> Option<Frame> {
        let key = *self.waiting.front()?;
        let (tone, whole) = match frequencies(key) {
            Some(tone) => (Some(tone).filter(|_| self.frames < TONE_FRAMES), TONE_FRAMES + PAUSE_FRAMES),
            None => (None, WAIT_FRAMES),
        };
        let frame = tone.map_or_else(|| Frame::silence(self.format), |tone| tones(self.format, tone, self.frames));
        self.frames += 1;
        if self.frames == whole {
            self.waiting.pop_front();
            self.frames = 0;
        }
        Some(frame)
    }
}

/// Returns one frame of a key's tones, the `position`th since they began.
fn tones(format: AudioFormat, (low, high): (f64, f64), position: usize) -> Frame {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "the amplitudes add up to less than 1"
    )]
    let at = |n: usize| {
        let t = TAU * (position * format.frame_samples() + n) as f64 / f64::from(format.sample_rate());
        (((low * t).sin() * LOW_AMPLITUDE + (high * t).sin() * HIGH_AMPLITUDE) * 32_767.0) as i16
    };
    Frame::from_samples(format, (0..format.frame_samples()).map(at))
}

/// Detects keys in the audio of a call: each once, however long it is held. Tones of 60 ms and more are always detected.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    /// The key detected in the last frame.
    last: Option<char>,
    /// The key that was reported and is still held.
    reported: Option<char>,
}

/// The minimum level of a key: -25 dBm0 for each tone (ITU-T Q.24, table A.1) with a margin.
const QUIETEST_DBFS: f32 = -35.0;
/// The minimum share of a frame's energy in the two tones: speech is spread wider.
const PURITY: f64 = 0.85;
/// A tone may be off its frequency by 1.5 %, which is measurable within a frame: both sides are checked too.
const OFF: [f64; 3] = [0.99, 1.0, 1.01];
/// The maximum ratio of the two tones: 8 dB.
const TWIST: f64 = 6.3;

impl Detector {
    /// Takes the next 20 ms. Returns a key once it is recognised.
    pub fn push(&mut self, frame: &Frame) -> Option<char> {
        let key = key_of(frame);
        let steady = key.filter(|_| key == self.last);
        if key.is_none() && self.last.is_none() {
            self.reported = None;
        }
        self.last = key;
        if steady.is_some() && steady != self.reported {
            self.reported = steady;
            return steady;
        }
        None
    }
}

/// Returns the key detected in a frame.
fn key_of(frame: &Frame) -> Option<char> {
    if frame.rms_dbfs() < QUIETEST_DBFS {
        return None;
    }
    let loudest = |group: [f64; 4]| {
        let rate = frame.format().sample_rate();
        let share = |hz: f64| OFF.iter().map(|off| goertzel(frame.samples(), rate, hz * off)).fold(0.0, f64::max);
        let shares = group.map(share);
        (0..4).map(|at| (at, shares[at])).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    };
    let ((row, low), (column, high)) = (loudest(LOW), loudest(HIGH));
    let balanced = low <= high * TWIST && high <= low * TWIST;
    (low + high >= PURITY && balanced).then(|| KEYS[row][column])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Framer;
    use crate::g711::Law;
    use crate::tone::sine;

    const ALL: &str = "1234567890*#ABCD";

    fn audio_of(keys: &str) -> Vec<i16> {
        audio_in(AudioFormat::Narrowband, keys)
    }

    fn audio_in(format: AudioFormat, keys: &str) -> Vec<i16> {
        let mut dialer = Dialer::new(format);
        dialer.press(keys);
        std::iter::from_fn(|| dialer.next_frame()).flat_map(|frame| frame.samples().to_vec()).collect()
    }

    /// Returns the keys that are detected after the audio has passed through G.711.
    fn heard(audio: &[i16]) -> String {
        let mut detector = Detector::default();
        let frames = Framer::new(AudioFormat::Narrowband).push(audio);
        frames.iter().filter_map(|frame| detector.push(&Law::Mu.over_the_phone(frame))).collect()
    }

    #[test]
    fn every_key_that_is_sent_is_heard_once_wherever_frames_are_cut() {
        for late in [0, 1, 57, 80, 159] {
            let audio = [vec![0; late], audio_of("1123w34567890*#ABCDD"), vec![0; 320]].concat();
            assert_eq!(heard(&audio), "112334567890*#ABCDD", "{late} samples into a frame");
        }
    }

    #[test]
    fn every_key_is_heard_at_16_khz_too() {
        let frames = Framer::new(AudioFormat::Wideband).push(&audio_in(AudioFormat::Wideband, ALL));
        let mut detector = Detector::default();
        assert_eq!(frames.iter().filter_map(|frame| detector.push(frame)).collect::<String>(), ALL);
    }

    #[test]
    fn tones_have_the_frequencies_and_times_of_the_standard() {
        let audio = audio_of("5w#");
        assert_eq!(audio.len(), (100 + 80 + 500 + 100 + 80) * 8);
        let five = &audio[..800];
        let (low, high) = (goertzel(five, 8_000, 770.0), goertzel(five, 8_000, 1_336.0));
        assert!(low + high > 0.99 && high > low, "{low} {high}");
        assert!(audio[800..(100 + 80 + 500) * 8].iter().all(|sample| *sample == 0));
        let hash = &audio[680 * 8..780 * 8];
        assert!(goertzel(hash, 8_000, 941.0) + goertzel(hash, 8_000, 1_477.0) > 0.99);
    }

    #[test]
    fn quiet_distorted_and_twisted_tones_are_heard_and_other_audio_is_not() {
        let quiet: Vec<i16> = audio_of(ALL).iter().map(|sample| sample / 8).collect();
        assert_eq!(heard(&quiet), ALL, "18 dB quieter");
        let mix = |a: Vec<i16>, b: Vec<i16>| -> Vec<i16> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
        let key = |low: f64, high: f64| mix(sine(697.0, 8_000, low, 800), sine(1_209.0, 8_000, high, 800));
        assert_eq!(heard(&key(0.3, 0.15)), "1", "6 dB of twist");
        assert_eq!(heard(&key(0.4, 0.1)), "", "12 dB of twist");
        let off = mix(sine(697.0 * 1.015, 8_000, 0.2, 800), sine(1_209.0 * 0.985, 8_000, 0.2, 800));
        assert_eq!(heard(&off), "1", "1.5 % off must be accepted (ITU-T Q.24)");
        assert_eq!(heard(&sine(697.0, 8_000, 0.3, 8_000)), "");
        assert_eq!(heard(&mix(sine(350.0, 8_000, 0.3, 8_000), sine(440.0, 8_000, 0.3, 8_000))), "", "the dial tone");
        assert_eq!(heard(&vec![0; 1_600]), "");
    }

    #[test]
    fn what_is_no_key_is_not_pressed_and_keys_do_not_print() {
        let mut dialer = Dialer::new(AudioFormat::Narrowband);
        dialer.press("x1 y");
        assert_eq!(format!("{dialer:?}"), "Dialer(1 keys wait)");
        assert!(is_key('D') && !is_key('w') && !is_key('a'));
    }
}
