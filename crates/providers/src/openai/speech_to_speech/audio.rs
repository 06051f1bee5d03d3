//! Audio in messages: base64 of G.711, or of PCM at 24 kHz for servers that support nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::{self, Law};
use switchhook_media::resample::Resampler;

use crate::stt::{Encoder, Encoding};

/// The only rate of `audio/pcm`.
const PCM_RATE: u32 = 24_000;
/// Every pair of these rates can be resampled.
const SUPPORTED: &str = "8, 16 and 24 kHz are supported";

/// The encoding of samples, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Mulaw,
    Alaw,
    Linear16,
}

impl Format {
    /// Returns the protocol's name of it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mulaw => "audio/pcmu",
            Self::Alaw => "audio/pcma",
            Self::Linear16 => "audio/pcm",
        }
    }

    /// Returns the object that describes it in a session.
    pub(super) fn error_body(self) -> Value {
        match self {
            Self::Linear16 => json!({ "type": self.name(), "rate": PCM_RATE }),
            _ => json!({ "type": self.name() }),
        }
    }

    /// Returns the format that a session reports, as an object or by its name, if it is another one.
    pub(super) fn other(self, reported: &Value) -> Option<String> {
        let name = reported.as_str().or_else(|| reported["type"].as_str())?;
        let is_same = match self {
            Self::Mulaw => matches!(name, "audio/pcmu" | "g711_ulaw"),
            Self::Alaw => matches!(name, "audio/pcma" | "g711_alaw"),
            // The beta's `pcm16` has this rate too; some servers call it `pcm24` or `pcm`.
            Self::Linear16 => name == "audio/pcm" || name.starts_with("pcm"),
        };
        let other_rate = reported["rate"].as_u64().filter(|rate| *rate != u64::from(PCM_RATE));
        match other_rate.filter(|_| self == Self::Linear16) {
            Some(rate) => Some(format!("{name} at {rate} Hz")),
            None => (!is_same).then(|| name.to_owned()),
        }
    }

    fn rate(self) -> u32 {
        if self == Self::Linear16 { PCM_RATE } else { g711::SAMPLE_RATE }
    }
}

/// Encodes the caller's audio.
pub(super) struct Outgoing(Encoder);

impl Outgoing {
    /// Creates an encoder from the format of a `call`.
    pub(super) fn new(format: Format, call: AudioFormat) -> Self {
        let encoding = match format {
            Format::Mulaw => Encoding::Mulaw,
            Format::Alaw => Encoding::Alaw,
            Format::Linear16 => Encoding::Linear16,
        };
        Self(Encoder::new(call, encoding, format.rate(), 1).expect(SUPPORTED))
    }

    pub(super) fn push(&mut self, frame: &Frame) -> Option<String> {
        self.0.push(frame).map(|bytes| STANDARD.encode(bytes))
    }
}

/// Decodes the model's audio.
pub(super) struct Incoming {
    format: Format,
    resampler: Resampler,
    /// The first byte of a sample that was split.
    rest: Option<u8>,
}

impl Incoming {
    /// Creates a decoder to the format of a `call`.
    pub(super) fn new(format: Format, call: AudioFormat) -> Self {
        let resampler = Resampler::new(format.rate(), call.sample_rate()).expect(SUPPORTED);
        Self { format, resampler, rest: None }
    }

    /// Returns the samples of a message; `None` when it is not base64.
    pub(super) fn push(&mut self, text: &str) -> Option<Vec<i16>> {
        let bytes = STANDARD.decode(text).ok()?;
        let expand = |law: Law| bytes.iter().map(|&byte| law.decode(byte)).collect();
        let samples: Vec<i16> = match self.format {
            Format::Mulaw => expand(Law::Mu),
            Format::Alaw => expand(Law::A),
            Format::Linear16 => {
                let bytes: Vec<u8> = self.rest.take().into_iter().chain(bytes).collect();
                let pairs = bytes.chunks_exact(2);
                self.rest = pairs.remainder().first().copied();
                pairs.map(|two| i16::from_le_bytes([two[0], two[1]])).collect()
            }
        };
        let mut out = Vec::new();
        self.resampler.process(&samples, &mut out);
        Some(out)
    }

    /// Returns the remaining samples when an item ends.
    pub(super) fn finish(&mut self) -> Vec<i16> {
        let mut out = Vec::new();
        self.rest = None;
        self.resampler.flush(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audio_survives_the_way_there_and_back_in_every_format_however_it_is_cut() {
        let formats = [Format::Mulaw, Format::Alaw, Format::Linear16];
        for (format, call) in formats.into_iter().flat_map(|format| AudioFormat::ALL.map(|call| (format, call))) {
            let (mut out, mut back) = (Outgoing::new(format, call), Incoming::new(format, call));
            let tone = switchhook_media::tone::sine(1_000.0, call.sample_rate(), 0.3, call.frame_samples());
            let frame = Frame::from_slice(call, &tone);
            let mut bytes = Vec::new();
            for _ in 0..10 {
                let text = out.push(&frame).unwrap_or_default();
                bytes.extend(STANDARD.decode(text).expect("base64"));
            }
            let mut samples = Vec::new();
            for piece in bytes.chunks(77) {
                samples.extend(back.push(&STANDARD.encode(piece)).expect("base64"));
            }
            samples.extend(back.finish());
            let level = switchhook_media::level::rms_dbfs(&samples);
            assert!(
                (level + 13.5).abs() < 1.5 && samples.len() >= 9 * call.frame_samples(),
                "{format:?} {call:?}: {level}, {}",
                samples.len()
            );
            assert_eq!(back.push("not base64!"), None);
        }
    }
}
