//! The terminal output of the demo.

use std::fs;

use anyhow::Context as _;
use switchhook_media::{level, wav};

use super::Printed;
use crate::cli::output;
use crate::cli::screen::{Screen, text};
use crate::webhooks::receiver::Received;

/// Columns of the recording's waveform.
const COLUMNS: usize = 72;
/// Bars from quiet to loud.
const BARS: [char; 8] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];
/// Levels of the lowest and the highest bar, in dBFS.
const QUIET: f32 = -50.0;
const LOUD: f32 = -12.0;

impl Screen {
    pub(super) fn title(&self) {
        self.line_of(&self.paint("1", "Switchhook demo: one phone call, spoken on this machine"));
    }

    /// Also printed to stderr when a program reads stdout, so that it is noticed.
    pub(super) fn without_models(&self, why: &str) {
        output::note(&format!(
            "Speech models are not available ({why}). Continuing with simulated speech: the caller's audio is real, but the \
             STT knows only these recordings, and the agent's voice is tones."
        ));
    }

    pub(super) fn ready(&self, address: &str, tenant: &str) {
        let words = format!(
            "The service listens on http://{address}; tenant {tenant} has a demo agent, a number and a webhook."
        );
        self.line_of(&self.dim(&words));
        self.line_of("");
    }

    pub(super) fn summary(&self, printed: &Printed, deliveries: &[Received]) -> anyhow::Result<()> {
        let call = &printed.call;
        self.line_of("");
        self.field(
            "Call",
            &format!("{}, {} s, {} turns", text(&call["status"]), call["duration_seconds"], call["turns"]),
        );
        self.field("Summary", &text(&call["summary"]));
        self.field("Outcome", &call["outcome"].to_string());
        let waits = &printed.latency_ms;
        self.field(
            "Latency",
            &format!("p50 {} ms, p95 {} ms from the end of speech to the answer", waits["p50"], waits["p95"]),
        );
        let speech = &printed.speech;
        let by = format!(
            "heard by {}, answered by {}, spoken by {}",
            text(&speech["stt"]),
            text(&speech["llm"]),
            text(&speech["tts"])
        );
        self.field("Speech", &by);
        if let Some(path) = &printed.recording {
            self.field("Recording", &format!("{} (stereo: caller left, agent right)", path.display()));
            if self.is_shown() {
                self.picture(&fs::read(path).with_context(|| format!("could not read {}", path.display()))?);
            }
        }
        for delivery in deliveries {
            let mark = if delivery.verified {
                self.paint("32", "✓ signature verified")
            } else {
                self.paint("31", "✗ signature wrong")
            };
            self.field("Webhook", &format!("{:<18} {mark}  {}", delivery.event, self.dim(&delivery.id)));
        }
        Ok(())
    }

    /// Draws the recording's waveform, one row per channel.
    fn picture(&self, file: &[u8]) {
        let Ok(recording) = wav::read(file) else { return };
        for (who, colour, channel) in [("caller", "36", 0), ("agent", "32", 1)] {
            if let Some(samples) = recording.channels.get(channel) {
                self.unbroken("", &format!("{who:>6} {}", self.paint(colour, &bars(samples))));
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the bars there are")]
fn bars(samples: &[i16]) -> String {
    let columns = samples.chunks(samples.len().div_ceil(COLUMNS).max(1));
    let bar = |column: &[i16]| {
        let share = (level::rms_dbfs(column) - QUIET) / (LOUD - QUIET);
        BARS[(share * 7.0).round().clamp(0.0, 7.0) as usize]
    };
    columns.map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::tone::sine;

    #[test]
    fn loud_is_high_and_silence_is_empty() {
        let mut samples = vec![0; 8_000];
        samples.extend(sine(300.0, 8_000, 0.5, 8_000));
        let picture = bars(&samples);
        assert_eq!(picture.chars().count(), COLUMNS);
        assert!(picture.starts_with("   ") && picture.ends_with('▇'), "{picture}");
    }
}
