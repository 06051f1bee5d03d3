//! Tones: generation and detection, including the beep of a voicemail.

use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use crate::frame::Frame;

/// Returns `count` samples of a sine of `hz`, `amplitude` from 0 to 1 of full scale.
#[must_use]
pub fn sine(hz: f64, sample_rate: u32, amplitude: f64, count: usize) -> Vec<i16> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "within 16 bits by the amplitude")]
    let at =
        |n: usize| ((TAU * hz * n as f64 / f64::from(sample_rate)).sin() * amplitude.clamp(0.0, 1.0) * 32_767.0) as i16;
    (0..count).map(at).collect()
}

/// Returns the share of the energy of `samples` at `hz`, from 0 to 1, by Goertzel's algorithm.
///
/// The window is as long as `samples`: 20 ms separate tones that are 50 Hz apart, a second separates 1 Hz.
#[must_use]
pub fn goertzel(samples: &[i16], sample_rate: u32, hz: f64) -> f64 {
    let energy: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    if energy <= 0.0 {
        return 0.0;
    }
    let omega = TAU * hz / f64::from(sample_rate);
    let coefficient = 2.0 * omega.cos();
    let (mut last, mut before) = (0.0, 0.0);
    for sample in samples {
        (last, before) = (f64::from(*sample) + coefficient * last - before, last);
    }
    let power = last * last + before * before - coefficient * last * before;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand samples")]
    let share = 2.0 * power / (energy * samples.len() as f64);
    share.clamp(0.0, 1.0)
}

/// Detects the beep after which a voicemail records: one steady tone between 400 and 2000 Hz, for 150 to 1000 ms.
///
/// Network tones of such a length, such as the busy tone, also count as beeps: use it only once a machine has answered.
#[derive(Clone, Debug, Default)]
pub struct BeepDetector {
    hz: f64,
    frames: u32,
}

/// Frames full of tone that make a beep: 150 ms fill only six if they begin within a frame.
const BEEP_FRAMES: RangeInclusive<u32> = 6..=50;
/// From the lowest beep to the highest, plus half the distance of two probes.
const BEEP_HZ: RangeInclusive<f64> = 390.0..=2_010.0;
/// The minimum level of a beep.
const BEEP_DBFS: f32 = -35.0;
/// The minimum purity of a beep.
const BEEP_SHARE: f64 = 0.85;

impl BeepDetector {
    /// Takes the next 20 ms. Returns `true` if a beep has just ended.
    pub fn push(&mut self, frame: &Frame) -> bool {
        let hz = if frame.rms_dbfs() < BEEP_DBFS { None } else { pure_tone(frame) };
        match hz {
            Some(hz) if self.frames > 0 && (hz - self.hz).abs() <= 50.0 => {
                self.frames = self.frames.saturating_add(1);
                false
            }
            found => {
                let beeped = BEEP_FRAMES.contains(&self.frames);
                self.hz = found.unwrap_or(0.0);
                self.frames = u32::from(found.is_some());
                beeped
            }
        }
    }
}

/// Returns the frequency of a frame that is one tone, estimated by its zero crossings and verified by Goertzel.
fn pure_tone(frame: &Frame) -> Option<f64> {
    let (samples, rate) = (frame.samples(), frame.format().sample_rate());
    let crossings = samples.windows(2).filter(|pair| (pair[0] < 0) != (pair[1] < 0)).count();
    #[expect(clippy::cast_precision_loss, reason = "at most 320")]
    let guess = crossings as f64 * f64::from(rate) / (2.0 * samples.len() as f64);
    // Counting crossings in 20 ms is off by less than 40 Hz; a tone 12 Hz off the probe already looks less pure than BEEP_SHARE.
    let (share, hz) = [-37.5, -25.0, -12.5, 0.0, 12.5, 25.0, 37.5]
        .map(|off| (goertzel(samples, rate, guess + off), guess + off))
        .into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (BEEP_HZ.contains(&hz) && share >= BEEP_SHARE).then_some(hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::AudioFormat;
    use crate::frame::Framer;
    use crate::g711::Law;

    fn beeps(audio: &[i16]) -> usize {
        let mut detector = BeepDetector::default();
        let mut framer = Framer::new(AudioFormat::Narrowband);
        let mut frames = framer.push(audio);
        frames.extend(framer.push(&[0; 320]));
        frames.iter().filter(|frame| detector.push(&Law::Mu.over_the_phone(frame))).count()
    }

    #[test]
    fn a_tone_is_found_where_it_is_and_not_elsewhere() {
        let tone = sine(1_000.0, 8_000, 0.5, 800);
        assert!(goertzel(&tone, 8_000, 1_000.0) > 0.99);
        assert!(goertzel(&tone, 8_000, 1_300.0) < 0.02);
    }

    #[test]
    fn a_beep_of_any_pitch_and_length_is_heard_once() {
        for hz in (400..=2_000).step_by(9) {
            for (ms, late) in [(150, 0), (150, 57), (150, 100), (400, 31), (1_000, 0), (1_000, 79)] {
                let audio = [vec![0; late], sine(f64::from(hz), 8_000, 0.3, ms * 8)].concat();
                assert_eq!(beeps(&audio), 1, "{hz} Hz for {ms} ms, {late} samples into a frame");
            }
        }
    }

    #[test]
    fn a_beep_is_reported_when_it_has_ended() {
        let mut detector = BeepDetector::default();
        let frames =
            Framer::new(AudioFormat::Narrowband).push(&[sine(1_000.0, 8_000, 0.3, 4_000), vec![0; 1_600]].concat());
        let heard: Vec<usize> = (0..frames.len()).filter(|at| detector.push(&frames[*at])).collect();
        assert_eq!(heard, [25], "the tone fills frames 0 to 24");
    }

    #[test]
    fn other_tones_are_no_beeps() {
        assert_eq!(beeps(&sine(1_000.0, 8_000, 0.4, 16_000)), 0, "two seconds are a dial tone");
        assert_eq!(beeps(&sine(1_000.0, 8_000, 0.4, 640)), 0, "80 ms are a click");
        assert_eq!(beeps(&sine(200.0, 8_000, 0.4, 3_200)), 0, "too low");
        assert_eq!(beeps(&sine(2_600.0, 8_000, 0.4, 3_200)), 0, "too high");
        assert_eq!(beeps(&sine(1_000.0, 8_000, 0.01, 3_200)), 0, "too quiet");
        let two: Vec<i16> =
            sine(697.0, 8_000, 0.3, 3_200).iter().zip(sine(1_209.0, 8_000, 0.3, 3_200)).map(|(a, b)| a + b).collect();
        assert_eq!(beeps(&two), 0, "a key is two tones");
        let glide: Vec<i16> = (0..16).flat_map(|step| sine(500.0 + 60.0 * f64::from(step), 8_000, 0.3, 160)).collect();
        assert_eq!(beeps(&glide), 0, "a whistle that rises");
    }
}
