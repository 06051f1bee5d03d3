//! A simulator connection's `settings`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use switchhook_core::agent::FieldError;
use switchhook_media::dtmf::is_key;
use switchhook_media::format::AudioFormat;

/// The network's behaviour for one connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct SimulatorSettings {
    /// Ring times are multiplied by this; more than 0, at most 10.
    pub(super) time_scale: f64,
    /// Callers press these keys instead of talking: one entry each time the agent has spoken.
    pub(super) presses: Vec<String>,
    /// The sample rate of calls in Hz: 8000 or 16000.
    #[serde(deserialize_with = "sample_rate")]
    pub(super) sample_rate: AudioFormat,
    /// Whether transfers are refused.
    pub(super) refuse_transfers: bool,
    /// The faults to inject.
    pub(super) faults: Faults,
}

impl Default for SimulatorSettings {
    fn default() -> Self {
        Self {
            time_scale: 1.0,
            presses: Vec::new(),
            sample_rate: AudioFormat::default(),
            refuse_transfers: false,
            faults: Faults::default(),
        }
    }
}

/// Seeded faults: the same seed produces the same faults for the same sequence of events.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Faults {
    /// The probability that an event arrives a second late.
    #[serde(deserialize_with = "probability")]
    pub(super) late_callbacks: f64,
    /// The probability that an event arrives twice.
    #[serde(deserialize_with = "probability")]
    pub(super) duplicate_callbacks: f64,
    /// The probability that an event arrives after the one that follows it.
    #[serde(deserialize_with = "probability")]
    pub(super) reordered_callbacks: f64,
    /// The probability that a frame of audio is lost.
    #[serde(deserialize_with = "probability")]
    pub(super) drop_audio: f64,
    /// The maximum delay of a frame of audio, in milliseconds.
    pub(super) jitter_ms: u32,
    /// The attenuation of the agent's echo, in decibels; 0 disables the echo.
    pub(super) echo_loss_db: f32,
    /// The delay of the echo, in milliseconds.
    pub(super) echo_delay_ms: u32,
    /// The seed of the random source; 0 derives it from the call.
    pub(super) seed: u64,
}

fn sample_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AudioFormat, D::Error> {
    let format = AudioFormat::of_rate(u32::deserialize(deserializer)?);
    format.ok_or_else(|| serde::de::Error::custom("must be 8000 or 16000"))
}

/// A probability; `true` is 1.
fn probability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Probability {
        Switch(bool),
        Number(f64),
    }
    match Probability::deserialize(deserializer)? {
        Probability::Switch(on) => Ok(f64::from(u8::from(on))),
        Probability::Number(number) if (0.0..=1.0).contains(&number) => Ok(number),
        Probability::Number(_) => Err(serde::de::Error::custom("must be a probability from 0 to 1")),
    }
}

impl SimulatorSettings {
    /// Reads and checks a connection's settings.
    ///
    /// # Errors
    /// The field that is wrong.
    pub(super) fn parse(settings: &Value) -> Result<Self, FieldError> {
        let parsed: Self = if settings.is_null() {
            Self::default()
        } else {
            serde_path_to_error::deserialize(settings).map_err(|error| {
                let path = error.path().to_string().replace('[', ".").replace(']', "");
                FieldError::new(format!("settings.{path}"), error.inner().to_string())
            })?
        };
        if !(parsed.time_scale > 0.0 && parsed.time_scale <= 10.0) {
            return Err(FieldError::new("settings.time_scale", "must be more than 0 and at most 10"));
        }
        if let Some(i) = parsed.presses.iter().position(|keys| keys.is_empty() || !keys.chars().all(is_key)) {
            return Err(FieldError::new(format!("settings.presses.{i}"), "must be keys: 0 to 9, *, #, A to D"));
        }
        if parsed.faults.jitter_ms > 1_000 {
            return Err(FieldError::new("settings.faults.jitter_ms", "must be at most 1000"));
        }
        if !(0.0..=90.0).contains(&parsed.faults.echo_loss_db) {
            return Err(FieldError::new("settings.faults.echo_loss_db", "must be from 0 to 90"));
        }
        if parsed.faults.echo_delay_ms > 1_000 {
            return Err(FieldError::new("settings.faults.echo_delay_ms", "must be at most 1000"));
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn true_is_certain_and_bad_settings_are_named() {
        let parsed =
            SimulatorSettings::parse(&json!({ "time_scale": 0.5, "faults": { "drop_audio": true } })).expect("valid");
        assert_eq!((parsed.time_scale, parsed.faults.drop_audio), (0.5, 1.0));
        for (settings, path) in [
            (json!({ "time_scale": 0 }), "settings.time_scale"),
            (json!({ "faults": { "drop_audio": 2 } }), "settings.faults.drop_audio"),
            (json!({ "faults": { "seed": "x" } }), "settings.faults.seed"),
            (json!({ "faults": { "echo_loss_db": -1 } }), "settings.faults.echo_loss_db"),
            (json!({ "faults": { "echo_delay_ms": 1_001 } }), "settings.faults.echo_delay_ms"),
            (json!({ "sample_rate": 24_000 }), "settings.sample_rate"),
            (json!({ "presses": ["1", "2x"] }), "settings.presses.1"),
        ] {
            assert_eq!(SimulatorSettings::parse(&settings).expect_err("wrong").path, path);
        }
    }
}
