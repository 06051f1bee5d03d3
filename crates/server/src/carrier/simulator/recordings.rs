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
struct Described {
    id: String,
    text: String,
}

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let described: Vec<Described> = serde_json::from_str(include_str!("../../../assets/caller/lines.json"))
        .expect("a shipped file that a test reads");
    let text = |id: &str| described.iter().find(|line| line.id == id).map(|line| &*line.text.clone().leak());
    FILES.iter().map(|(id, bytes)| Line { id, bytes, text: text(id).unwrap_or_default() }).collect()
});

/// A recorded line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its name.
    pub id: &'static str,
    /// The words that are spoken.
    pub text: &'static str,
    bytes: &'static [u8],
}

impl Line {
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

/// The line of that name.
#[must_use]
pub fn line(id: &str) -> Option<Line> {
    LINES.iter().find(|line| line.id == id).copied()
}

/// Every line.
#[must_use]
pub fn all() -> &'static [Line] {
    &LINES
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::g711::Law;
    use switchhook_media::level;

    #[test]
    fn every_line_is_whole_frames_of_audible_speech_with_its_words() {
        for line in all() {
            assert!(!line.text.is_empty(), "{} has no words", line.id);
            assert_eq!(line.bytes.len() % FRAME, 0, "{}", line.id);
            let samples: Vec<i16> = line.bytes.iter().map(|byte| Law::Mu.decode(*byte)).collect();
            assert!(level::peak(&samples) > 4_000 && level::clipped(&samples) == 0, "{}", line.id);
            assert!(!level::voiced_spans(&samples, 300).is_empty(), "{}", line.id);
        }
    }
}
