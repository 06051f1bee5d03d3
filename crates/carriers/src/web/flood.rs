//! Limits what a browser may send: audio as fast as it is spoken, and a few texts.

use std::time::Duration;

use tokio::time::Instant;

use super::FORMAT;

/// How far audio may be ahead of its time: a stalled network delivers it at once.
const AUDIO_AHEAD: Duration = Duration::from_secs(5);
/// The minimum size counted for an audio message, in bytes: 2 ms. Handling one has a cost, however short it is.
const SMALLEST: usize = 64;
/// The most texts at once, and the allowance per second: keys and marks, pings and pongs.
const TEXTS: u64 = 50;
const TEXTS_PER_SECOND: u64 = 20;

/// Counts of what one browser has sent. Pure: time is an argument.
pub(super) struct FloodGate {
    began: Instant,
    bytes: u64,
    texts: u64,
}

impl FloodGate {
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, bytes: 0, texts: 0 }
    }

    /// Counts a message with this many bytes of audio. Returns whether a person can have said that much.
    pub(super) fn takes_audio(&mut self, bytes: usize, now: Instant) -> bool {
        self.bytes += bytes.max(SMALLEST) as u64;
        FORMAT.duration(self.bytes / 2) <= now.saturating_duration_since(self.began) + AUDIO_AHEAD
    }

    /// Counts another text, ping or pong. Returns whether it is within the limit.
    pub(super) fn takes_text(&mut self, now: Instant) -> bool {
        self.texts += 1;
        let seconds = now.saturating_duration_since(self.began).as_secs();
        self.texts <= TEXTS.saturating_add(seconds.saturating_mul(TEXTS_PER_SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_passes_real_time_audio_and_stops_floods() {
        let start = Instant::now();
        let mut gate = FloodGate::new(start);
        let at = |frame: u32| start + Duration::from_millis(20) * frame;
        assert!((0..200_000).all(|frame| gate.takes_audio(640, at(frame))), "an hour");
        assert!((0..300).any(|_| !gate.takes_audio(640, at(200_000))), "six seconds at once");

        for bytes in [0, 1, 2, 63] {
            let mut gate = FloodGate::new(start);
            assert!((0..3_000).any(|_| !gate.takes_audio(bytes, start)), "messages of {bytes} bytes");
        }

        let mut gate = FloodGate::new(start);
        assert!((0..3_600_u32).all(|second| gate.takes_text(start + Duration::from_secs(second.into()))));
        assert!((0..100_000).any(|_| !gate.takes_text(start + Duration::from_secs(3_600))));
    }
}
