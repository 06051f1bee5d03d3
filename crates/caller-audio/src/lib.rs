//! Speech of simulated callers: recordings that ship with the product, 8 kHz µ-law.
//!
//! Wideband calls get them at 16 kHz, with an upper half of the band that mirrors the lower one. Like the sibilants of real speech, it is present
//! while the caller speaks, so a wideband path can be distinguished from a narrowband one.

use std::sync::LazyLock;

use serde::Deserialize;
use switchhook_media::format::AudioFormat;
use switchhook_media::g711::{self, Law};
use switchhook_media::resample;

/// How much weaker the upper half of the band is than the lower one it mirrors: 18 dB.
const MIRRORED: i16 = 8;

macro_rules! recordings {
    ($($id:literal),* $(,)?) => {
        const FILES: &[(&str, &[u8])] = &[$(
            ($id, include_bytes!(concat!("../assets/", $id, ".ulaw"))),
        )*];
    };
}

recordings!("name", "day", "time", "people", "yes", "bye", "hello", "repeat", "mhm", "interrupt", "voicemail", "no");

#[derive(Deserialize)]
struct RecordingText {
    id: String,
    text: String,
}

static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    let described: Vec<RecordingText> =
        serde_json::from_str(include_str!("../assets/lines.json")).expect("a shipped file that a test reads");
    let text = |id: &str| {
        described.iter().find(|recording| recording.id == id).map(|recording| &*recording.text.clone().leak())
    };
    let recording = |(id, bytes): &(&'static str, &'static [u8])| {
        let narrowband: Vec<i16> = bytes.iter().map(|byte| Law::Mu.decode(*byte)).collect();
        let wideband = widened(&narrowband).leak();
        Recording { id, bytes, narrowband: narrowband.leak(), wideband, text: text(id).unwrap_or_default() }
    };
    FILES.iter().map(recording).collect()
});

/// Returns the recording at 16 kHz. Inverting every second sample mirrors the band.
fn widened(narrowband: &[i16]) -> Vec<i16> {
    let rate = AudioFormat::Wideband.sample_rate();
    let mut samples = resample::whole(narrowband, g711::SAMPLE_RATE, rate).expect("8 and 16 kHz are supported");
    for pair in samples.chunks_exact_mut(2) {
        pair[0] = pair[0].saturating_add(pair[0] / MIRRORED);
        pair[1] = pair[1].saturating_sub(pair[1] / MIRRORED);
    }
    samples
}

/// A recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// Its name.
    pub id: &'static str,
    /// The spoken text.
    pub text: &'static str,
    bytes: &'static [u8],
    narrowband: &'static [i16],
    wideband: &'static [i16],
}

impl Recording {
    /// Returns all of it, in µ-law.
    #[must_use]
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// Returns all of it, in the format of a call.
    #[must_use]
    pub fn samples(&self, format: AudioFormat) -> &'static [i16] {
        match format {
            AudioFormat::Narrowband => self.narrowband,
            AudioFormat::Wideband => self.wideband,
        }
    }

    /// Returns 20 ms of it in µ-law, counted from 0.
    #[must_use]
    pub fn frame(&self, position: usize) -> Option<&'static [u8]> {
        self.bytes.chunks_exact(g711::FRAME_BYTES).nth(position)
    }

    /// Returns 20 ms of it, in the format of a call.
    #[must_use]
    pub fn frame_in(&self, format: AudioFormat, position: usize) -> Option<&'static [i16]> {
        self.samples(format).chunks_exact(format.frame_samples()).nth(position)
    }
}

/// Returns the recording with this id.
#[must_use]
pub fn recording(id: &str) -> Option<Recording> {
    RECORDINGS.iter().find(|recording| recording.id == id).copied()
}

/// Returns every recording.
#[must_use]
pub fn all() -> &'static [Recording] {
    &RECORDINGS
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::level;

    #[test]
    fn every_recording_is_whole_frames_of_audible_speech_with_its_words() {
        for recording in all() {
            assert!(!recording.text.is_empty(), "{} has no words", recording.id);
            for format in AudioFormat::ALL {
                let samples = recording.samples(format);
                assert_eq!(samples.len() % format.frame_samples(), 0, "{}", recording.id);
                assert!(level::peak(samples) > 4_000 && level::clipped(samples) == 0, "{}", recording.id);
                assert!(!level::voiced_spans(format, samples, 300).is_empty(), "{}", recording.id);
            }
        }
    }
}
