//! What simulated callers say: recordings that ship with the product, 8 kHz µ-law.

use std::sync::LazyLock;

use serde::Deserialize;

/// Bytes of a frame.
const FRAME: usize = 160;

macro_rules! recordings {
    ($($id:literal),* $(,)?) => {
        const FILES: &[(&str, &[u8])] = &[$(
            ($id, include_bytes!(concat!("../../../assets/caller/", $id, ".ulaw"))),
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
    let described: Vec<RecordingText> = serde_json::from_str(include_str!("../../../assets/caller/lines.json"))
        .expect("a shipped file that a test reads");
    let text = |id: &str| {
        described.iter().find(|recording| recording.id == id).map(|recording| &*recording.text.clone().leak())
    };
    FILES.iter().map(|(id, bytes)| Recording { id, bytes, text: text(id).unwrap_or_default() }).collect()
});

/// A recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// Its name.
    pub id: &'static str,
    /// The words that are spoken.
    pub text: &'static str,
    bytes: &'static [u8],
}

impl Recording {
    /// All of it, µ-law.
    #[must_use]
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// 20 ms of it, counted from 0.
    #[must_use]
    pub fn frame(&self, position: usize) -> Option<&'static [u8]> {
        self.bytes.chunks_exact(FRAME).nth(position)
    }
}

/// Returns the recording with this id.
#[must_use]
pub fn recording(id: &str) -> Option<Recording> {
    RECORDINGS.iter().find(|recording| recording.id == id).copied()
}

/// Every recording.
#[must_use]
pub fn all() -> &'static [Recording] {
    &RECORDINGS
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::g711::Law;
    use switchhook_media::level;

    #[test]
    fn every_recording_is_whole_frames_of_audible_speech_with_its_words() {
        for recording in all() {
            assert!(!recording.text.is_empty(), "{} has no words", recording.id);
            assert_eq!(recording.bytes.len() % FRAME, 0, "{}", recording.id);
            let samples: Vec<i16> = recording.bytes.iter().map(|byte| Law::Mu.decode(*byte)).collect();
            assert!(level::peak(&samples) > 4_000 && level::clipped(&samples) == 0, "{}", recording.id);
            assert!(!level::voiced_spans(&samples, 300).is_empty(), "{}", recording.id);
        }
    }
}
