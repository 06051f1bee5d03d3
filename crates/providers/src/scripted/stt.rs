//! Speech to text for the simulated caller's recordings: looks up every 20 ms frame in them.
//!
//! Any other audio gets no transcript. It still depends on the audio: drop most of the frames, or swap the directions, and it
//! finds nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use async_trait::async_trait;
use switchhook_caller_audio as recordings;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::CallerAudio;
use switchhook_media::level;
use tokio::sync::mpsc;

use crate::{ProviderError, Stt, SttEvent, SttOptions, SttSession};

/// Quieter frames are ignored.
const VOICED_DBFS: f32 = -45.0;
/// The share of a recording's voiced frames that must have arrived.
const ENOUGH: f32 = 0.75;

/// A known recording.
struct KnownRecording {
    text: &'static str,
    voiced: usize,
}

struct Memory {
    lines: Vec<KnownRecording>,
    /// The recording that a voiced frame is from, if it is from one only.
    frames: HashMap<u64, Option<usize>>,
}

static MEMORY: LazyLock<Memory> = LazyLock::new(|| {
    let mut memory = Memory { lines: Vec::new(), frames: HashMap::new() };
    for (number, line) in recordings::all().iter().enumerate() {
        let mut voiced = 0;
        for format in AudioFormat::ALL {
            let frames = line.samples(format).chunks_exact(format.frame_samples());
            voiced = 0;
            for samples in frames.filter(|samples| level::rms_dbfs(samples) >= VOICED_DBFS) {
                voiced += 1;
                let owner = memory.frames.entry(fingerprint(samples)).or_insert(Some(number));
                if *owner != Some(number) {
                    *owner = None;
                }
            }
        }
        memory.lines.push(KnownRecording { text: line.text, voiced });
    }
    memory
});

fn fingerprint(samples: &[i16]) -> u64 {
    let mut hasher = DefaultHasher::new();
    samples.hash(&mut hasher);
    hasher.finish()
}

/// Speech to text for simulated callers.
pub struct ScriptedStt;

#[async_trait]
impl Stt for ScriptedStt {
    async fn open(
        &self,
        _options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        Ok(Box::new(ScriptedSttSession { events, line: None, heard: 0 }))
    }
}

struct ScriptedSttSession {
    events: mpsc::Sender<SttEvent>,
    /// The recording being recognised.
    line: Option<usize>,
    heard: usize,
}

impl SttSession for ScriptedSttSession {
    fn audio(&mut self, frame: &CallerAudio) {
        let samples = frame.0.samples();
        let Some(Some(line)) = MEMORY.frames.get(&fingerprint(samples)) else { return };
        if self.line != Some(*line) {
            (self.line, self.heard) = (Some(*line), 0);
        }
        self.heard += 1;
    }

    /// Sends the transcript. A recording with a pause in it is transcribed once most of it has arrived: its earlier segments are empty.
    fn speech_stopped(&mut self, segment: u32) {
        let mut text = String::new();
        if let Some(known) = self.line.and_then(|line| MEMORY.lines.get(line))
            && share(self.heard, known.voiced) >= ENOUGH
        {
            known.text.clone_into(&mut text);
            (self.line, self.heard) = (None, 0);
        }
        // The driver reads between any two frames; a full channel means that it is gone.
        let _ = self.events.try_send(SttEvent::Final { segment, text });
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of frames")]
fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_caller_audio::Recording;
    use switchhook_media::frame::Frame;

    async fn heard(line: &Recording, format: AudioFormat, keep: impl Fn(usize) -> bool) -> String {
        let (sender, mut events) = mpsc::channel(8);
        let mut session = ScriptedStt.open(SttOptions::default(), sender).await.expect("opens");
        for (number, samples) in line.samples(format).chunks_exact(format.frame_samples()).enumerate() {
            let samples = if keep(number) { samples } else { &[] };
            session.audio(&CallerAudio(Frame::from_slice(format, samples)));
        }
        session.speech_stopped(0);
        match events.recv().await {
            Some(SttEvent::Final { text, segment: 0 }) => text,
            _ => panic!("no final words"),
        }
    }

    #[tokio::test]
    async fn every_recording_is_understood_and_half_of_one_is_not() {
        for (line, format) in recordings::all().iter().flat_map(|line| AudioFormat::ALL.map(|format| (line, format))) {
            assert_eq!(heard(line, format, |_| true).await, line.text, "{}", line.id);
            assert_eq!(heard(line, format, |frame| frame % 10 != 0).await, line.text, "{} with lost frames", line.id);
            assert_eq!(heard(line, format, |frame| frame % 2 == 0).await, "", "{} half", line.id);
        }
    }
}
