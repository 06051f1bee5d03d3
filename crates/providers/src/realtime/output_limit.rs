//! Limits the output of a session. The call accepts everything immediately, since a long response arrives faster than it is played.
//! The provider's output is therefore bounded here, before it is queued for playback.

use std::time::Duration;

use switchhook_media::format::AudioFormat;
use tokio::time::Instant;

use super::RealtimeEvent;

/// How far audio may be ahead of the time that has passed. Callers who interrupt hear little of a response.
const MAX_AUDIO_AHEAD: Duration = Duration::from_secs(600);
/// The limit of text, item names included, in bytes: a constant, and an allowance for each second.
const TEXT: u64 = 4 << 20;
const TEXT_PER_SECOND: u64 = 2 << 10;
/// Bytes counted for every event besides its text.
const EVENT: usize = 16;

/// The output of one session so far.
pub(super) struct OutputLimit {
    format: AudioFormat,
    began: Instant,
    samples: u64,
    text: u64,
}

impl OutputLimit {
    /// Creates the limit of a session that produces audio of this format.
    pub(super) fn new(format: AudioFormat, now: Instant) -> Self {
        Self { format, began: now, samples: 0, text: 0 }
    }

    /// Counts an event. Returns whether it is within the limit.
    pub(super) fn takes(&mut self, event: &RealtimeEvent, now: Instant) -> bool {
        self.samples += samples(event);
        self.text += u64::try_from(text(event) + EVENT).unwrap_or(u64::MAX);
        let passed = now.saturating_duration_since(self.began);
        let text = TEXT.saturating_add(passed.as_secs().saturating_mul(TEXT_PER_SECOND));
        self.format.duration(self.samples) <= MAX_AUDIO_AHEAD.saturating_add(passed) && self.text <= text
    }
}

fn samples(event: &RealtimeEvent) -> u64 {
    match event {
        RealtimeEvent::Audio { samples, .. } => samples.len() as u64,
        _ => 0,
    }
}

fn text(event: &RealtimeEvent) -> usize {
    match event {
        RealtimeEvent::SpeechStarted
        | RealtimeEvent::SpeechStopped
        | RealtimeEvent::Busy { .. }
        | RealtimeEvent::Lost(_) => 0,
        RealtimeEvent::TurnCommitted { item } | RealtimeEvent::AudioDone { item } => item.len(),
        RealtimeEvent::TurnTranscribed { item, text, .. } => item.len() + text.len(),
        RealtimeEvent::ResponseStarted { response, .. } => response.len(),
        RealtimeEvent::ResponseRefused { response, left_out, .. } => {
            response.len() + left_out.iter().map(String::len).sum::<usize>()
        }
        RealtimeEvent::Audio { response, item, .. } => response.len() + item.len(),
        RealtimeEvent::Text { response, item, text } => response.len() + item.len() + text.len(),
        RealtimeEvent::ToolCall { response, call } => {
            response.len() + call.id.len() + call.name.len() + call.arguments.to_string().len()
        }
        RealtimeEvent::ResponseDone { response, failed, .. } => response.len() + failed.as_ref().map_or(0, String::len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio(seconds: usize) -> RealtimeEvent {
        RealtimeEvent::Audio { response: "r".to_owned(), item: "i".to_owned(), samples: vec![0; seconds * 8_000] }
    }

    #[test]
    fn audio_may_be_ten_minutes_ahead_and_no_more() {
        let start = Instant::now();
        let mut output_limit = OutputLimit::new(AudioFormat::Narrowband, start);
        assert!((0..10).all(|_| output_limit.takes(&audio(60), start)));
        assert!(output_limit.takes(&audio(60), start + Duration::from_secs(60)), "a minute was played");
        assert!(!output_limit.takes(&audio(1), start + Duration::from_secs(60)));
    }

    #[test]
    fn words_and_names_of_items_end() {
        let start = Instant::now();
        let words = |text: String| RealtimeEvent::Text { response: String::new(), item: "i".to_owned(), text };
        let mut output_limit = OutputLimit::new(AudioFormat::Narrowband, start);
        assert!((0..1_000).all(|_| output_limit.takes(&words("x".repeat(4_000)), start)));
        assert!((0..100).any(|_| !output_limit.takes(&words("x".repeat(4_000)), start)));
        let mut output_limit = OutputLimit::new(AudioFormat::Narrowband, start);
        let item = || RealtimeEvent::TurnCommitted { item: "x".repeat(100) };
        assert!((0..100_000).any(|_| !output_limit.takes(&item(), start)));
        let later = |n: u64| start + Duration::from_millis(100 * n);
        let mut output_limit = OutputLimit::new(AudioFormat::Narrowband, start);
        let default =
            RealtimeEvent::Audio { response: "resp_".repeat(5), item: "item_".repeat(5), samples: vec![0; 800] };
        assert!((0..150_000).all(|n| output_limit.takes(&default, later(n))), "four hours of an ordinary call");
    }
}
