//! Voice activity detection: when the caller starts and stops speaking.
//!
//! A small network (earshot) gives a probability every 16 ms at 16 kHz; hysteresis and two durations turn it into events. In band-limited noise the
//! probability hovers around 0.4, so speech starts at 0.6 and stops below 0.5, and both rise while the noise floor is high.

use earshot::Detector;

use crate::format::AudioFormat;
use crate::frame::CallerAudio;

/// Durations for the start and stop of speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VadSettings {
    /// How long speech must last before it is reported, in milliseconds: shorter sounds are clicks.
    pub start_speech_ms: u32,
    /// How long silence must last before the stop is reported, in milliseconds: shorter pauses are between words.
    pub stop_silence_ms: u32,
    /// The maximum duration of speech, in milliseconds: noise must not block the agent indefinitely.
    pub max_speech_ms: u32,
}

impl Default for VadSettings {
    fn default() -> Self {
        Self { start_speech_ms: 64, stop_silence_ms: 120, max_speech_ms: 20_000 }
    }
}

/// A voice activity event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VadEvent {
    /// The caller started to speak, `start_speech_ms` ago.
    SpeechStarted,
    /// The caller stopped speaking, `stop_silence_ms` ago.
    SpeechStopped,
}

/// Includes two states between the events: possible speech and possible silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VadState {
    Quiet,
    Starting { voiced_ms: u32 },
    Speaking { since_ms: u32 },
    Stopping { since_ms: u32, silent_ms: u32 },
}

/// The network's window: 16 ms at 16 kHz.
const WINDOW: usize = 256;
const WINDOW_MS: u32 = 16;
/// A noise floor above this raises the thresholds.
const NOISY_DBFS: f32 = -34.0;

/// Detects the voice activity of one caller.
pub struct Vad {
    settings: VadSettings,
    detector: Box<Detector>,
    window: Vec<i16>,
    last_sample: i16,
    state: VadState,
    probability: f32,
    noise_floor_dbfs: f32,
}

impl std::fmt::Debug for Vad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vad({:?}, {:.2})", self.state, self.probability)
    }
}

impl Vad {
    /// Creates a detector that has heard nothing yet.
    #[must_use]
    pub fn new(settings: VadSettings) -> Self {
        Self {
            settings,
            detector: Detector::default_boxed(),
            window: Vec::with_capacity(WINDOW + 320),
            last_sample: 0,
            state: VadState::Quiet,
            probability: 0.0,
            noise_floor_dbfs: -70.0,
        }
    }

    /// Takes the next 20 ms. Costs about 10 µs.
    pub fn push(&mut self, frame: &CallerAudio) -> Option<VadEvent> {
        self.follow_noise(frame.0.rms_dbfs());
        match frame.0.format() {
            AudioFormat::Narrowband => {
                for sample in frame.0.samples() {
                    // Doubles the rate by averaging neighbours: the network uses the telephone band only.
                    self.window.push(i16::midpoint(self.last_sample, *sample));
                    self.window.push(*sample);
                    self.last_sample = *sample;
                }
            }
            AudioFormat::Wideband => self.window.extend_from_slice(frame.0.samples()),
        }
        let mut event = None;
        while self.window.len() >= WINDOW {
            self.probability = self.detector.predict_i16(&self.window[..WINDOW]);
            self.window.drain(..WINDOW);
            event = event.or(self.step());
        }
        event
    }

    /// Returns the probability that the last window was speech.
    #[must_use]
    pub fn speech_probability(&self) -> f32 {
        self.probability
    }

    /// Returns whether speech may be starting: it has not lasted `start_speech_ms` yet.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        matches!(self.state, VadState::Starting { .. })
    }

    /// Returns whether speech has started and not stopped.
    #[must_use]
    pub fn is_speaking(&self) -> bool {
        matches!(self.state, VadState::Speaking { .. } | VadState::Stopping { .. })
    }

    /// Returns the level of the background noise.
    #[must_use]
    pub fn noise_floor_dbfs(&self) -> f32 {
        self.noise_floor_dbfs
    }

    fn follow_noise(&mut self, level: f32) {
        // Falls quickly and rises slowly: speech is louder than the room and has pauses.
        let weight = if level < self.noise_floor_dbfs { 0.2 } else { 0.004 };
        self.noise_floor_dbfs += weight * (level.max(-90.0) - self.noise_floor_dbfs);
    }

    fn step(&mut self) -> Option<VadEvent> {
        let (on, off) = if self.noise_floor_dbfs > NOISY_DBFS { (0.7, 0.6) } else { (0.6, 0.5) };
        let (voiced, silent) = (self.probability >= on, self.probability < off);
        let settings = self.settings;
        let (next, event) = match self.state {
            VadState::Quiet if voiced => (VadState::Starting { voiced_ms: WINDOW_MS }, None),
            VadState::Quiet => (VadState::Quiet, None),
            VadState::Starting { .. } if silent => (VadState::Quiet, None),
            VadState::Starting { voiced_ms } if voiced_ms + WINDOW_MS >= settings.start_speech_ms => {
                (VadState::Speaking { since_ms: voiced_ms + WINDOW_MS }, Some(VadEvent::SpeechStarted))
            }
            VadState::Starting { voiced_ms } => (VadState::Starting { voiced_ms: voiced_ms + WINDOW_MS }, None),
            VadState::Speaking { since_ms } | VadState::Stopping { since_ms, .. }
                if since_ms >= settings.max_speech_ms =>
            {
                (VadState::Quiet, Some(VadEvent::SpeechStopped))
            }
            VadState::Speaking { since_ms } if silent => {
                (VadState::Stopping { since_ms: since_ms + WINDOW_MS, silent_ms: WINDOW_MS }, None)
            }
            VadState::Speaking { since_ms } => (VadState::Speaking { since_ms: since_ms + WINDOW_MS }, None),
            VadState::Stopping { since_ms, .. } if voiced => {
                (VadState::Speaking { since_ms: since_ms + WINDOW_MS }, None)
            }
            VadState::Stopping { silent_ms, .. } if silent_ms + WINDOW_MS >= settings.stop_silence_ms => {
                (VadState::Quiet, Some(VadEvent::SpeechStopped))
            }
            VadState::Stopping { since_ms, silent_ms } => {
                (VadState::Stopping { since_ms: since_ms + WINDOW_MS, silent_ms: silent_ms + WINDOW_MS }, None)
            }
        };
        self.state = next;
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Framer};
    use crate::tone::sine;

    /// Returns a signal like a spoken vowel: harmonics of 120 Hz under two formants, four syllables a second.
    fn vowels(format: AudioFormat, ms: usize) -> Vec<i16> {
        let count = format.samples_in_ms(ms);
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a test signal")]
        let at = |n: usize| {
            let t = n as f64 / f64::from(format.sample_rate());
            let syllable = (std::f64::consts::PI * 4.0 * t).sin().abs();
            let pitch = 120.0 + 15.0 * (2.0 * t).sin();
            let voice: f64 = (1..25)
                .map(|k| {
                    let hz = f64::from(k) * pitch;
                    let formants = (-((hz - 700.0) / 200.0).powi(2)).exp()
                        + 0.6 * (-((hz - 1_250.0) / 250.0).powi(2)).exp()
                        + 0.02;
                    formants * (std::f64::consts::TAU * hz * t).sin()
                })
                .sum();
            (voice * syllable * 5_000.0) as i16
        };
        (0..count).map(at).collect()
    }

    fn events(format: AudioFormat, audio: &[i16]) -> Vec<(usize, VadEvent)> {
        let mut vad = Vad::new(VadSettings::default());
        let frames: Vec<Frame> = Framer::new(format).push(audio);
        frames
            .iter()
            .enumerate()
            .filter_map(|(n, frame)| vad.push(&CallerAudio(frame.clone())).map(|event| (n * 20, event)))
            .collect()
    }

    #[test]
    fn speech_is_heard_to_begin_and_to_stop() {
        for format in AudioFormat::ALL {
            let second = vec![0; format.samples_in_ms(1_000)];
            let audio = [second.clone(), vowels(format, 1_200), second].concat();
            let events = events(format, &audio);
            assert!(matches!(events.first(), Some((1_000..1_400, VadEvent::SpeechStarted))), "{format:?}: {events:?}");
            assert!(matches!(events.last(), Some((2_200..2_700, VadEvent::SpeechStopped))), "{format:?}: {events:?}");
        }
    }

    #[test]
    fn silence_tones_and_noise_are_not_speech() {
        assert_eq!(events(AudioFormat::Narrowband, &vec![0; 16_000]), []);
        assert_eq!(events(AudioFormat::Narrowband, &sine(440.0, 8_000, 0.3, 16_000)), [], "a dial tone");
        let mut seed = 1_u32;
        let noise: Vec<i16> = (0..16_000)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                i16::try_from(seed >> 22).unwrap_or(0) - 512
            })
            .collect();
        assert_eq!(events(AudioFormat::Narrowband, &noise), [], "white noise at -36 dBFS");
    }
}
