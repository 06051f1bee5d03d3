//! Audio measurements: loudness, clipping, voiced spans. For tests of audio, and for checking recordings.

use crate::format::AudioFormat;

/// The level of digital silence, below any other level.
pub const SILENCE_DBFS: f32 = -120.0;
/// A frame at least this loud counts as voiced.
pub const VOICED_DBFS: f32 = -45.0;

/// Returns the root mean square of `samples` in decibels below full scale (a square wave of full height is 0).
#[must_use]
pub fn rms_dbfs(samples: &[i16]) -> f32 {
    if samples.is_empty() {
        return SILENCE_DBFS;
    }
    let energy: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a level needs no more than f32")]
    let rms = (energy / samples.len() as f64).sqrt() as f32 / 32_768.0;
    (20.0 * rms.max(1e-6).log10()).max(SILENCE_DBFS)
}

/// Returns the highest magnitude.
#[must_use]
pub fn peak(samples: &[i16]) -> u16 {
    samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0)
}

/// Returns the number of clipped samples: those in runs of three or more at the end of the scale. Clipping looks like this after G.711 too.
#[must_use]
pub fn clipped(samples: &[i16]) -> usize {
    samples
        .chunk_by(|a, b| a == b)
        .filter(|run| run.len() >= 3 && run[0].unsigned_abs() >= 32_000)
        .map(<[_]>::len)
        .sum()
}

/// A span of audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The start of its first voiced frame, in milliseconds.
    pub start_ms: u64,
    /// The end of its last voiced frame, in milliseconds.
    pub end_ms: u64,
}

/// Returns where `samples` are voiced; pauses shorter than `join_ms` do not end a span.
#[must_use]
pub fn voiced_spans(format: AudioFormat, samples: &[i16], join_ms: u64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (position, frame) in samples.chunks(format.frame_samples()).enumerate() {
        if rms_dbfs(frame) < VOICED_DBFS {
            continue;
        }
        let start_ms = u64::try_from(position).unwrap_or(u64::MAX).saturating_mul(20);
        let end_ms = start_ms.saturating_add(20);
        match spans.last_mut() {
            Some(last) if start_ms - last.end_ms < join_ms => last.end_ms = end_ms,
            _ => spans.push(Span { start_ms, end_ms }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tone::sine;

    #[test]
    fn a_full_sine_is_3_db_below_full_scale() {
        let tone = sine(1_000.0, 8_000, 1.0, 8_000);
        assert!((rms_dbfs(&tone) + 3.01).abs() < 0.05, "{}", rms_dbfs(&tone));
        assert!(rms_dbfs(&[0; 160]) <= SILENCE_DBFS);
    }

    #[test]
    fn spans_are_found_where_the_audio_is_and_clipping_where_it_is_cut() {
        let mut audio = vec![0; 1_600];
        audio.extend(sine(440.0, 8_000, 0.3, 1_600));
        audio.extend(vec![0; 800]);
        audio.extend(sine(440.0, 8_000, 0.3, 1_600));
        assert_eq!(voiced_spans(AudioFormat::Narrowband, &audio, 40).len(), 2);
        assert_eq!(voiced_spans(AudioFormat::Narrowband, &audio, 200), [Span { start_ms: 200, end_ms: 700 }]);
        assert_eq!(clipped(&audio), 0);
        let loud: Vec<i16> = audio.iter().map(|sample| sample.saturating_mul(20)).collect();
        assert!(clipped(&loud) > 100);
    }
}
