//! Lists the voices of a connection and plays samples of them.

use std::time::Duration;

use switchhook_providers::entry::{Provider, ProviderKind};
use switchhook_providers::registry;
use switchhook_providers::voices::VoiceList;
use switchhook_providers::{ProviderError, TtsAudio, TtsRequest, without_secret};
use tokio::sync::mpsc;

use super::Setup;
use crate::store::connections::ConnectionRow;

/// Why there is no list or no sample. The sentences contain no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoiceError {
    /// The connection has no text to speech, or it cannot be set up.
    Unusable(String),
    /// The voice does not exist.
    Unknown,
    /// The provider refused.
    Refused(String),
    /// The provider failed or timed out.
    Unavailable(String),
}

impl Setup {
    /// Lists the voices of a connection, or of this machine without one.
    ///
    /// # Errors
    /// If the connection has no text to speech, or its provider does not list voices.
    pub async fn voices(&self, row: Option<&ConnectionRow>) -> Result<VoiceList, VoiceError> {
        let voices = self.speaking(row)?.voices().map_err(VoiceError::Unusable)?;
        voices.list().await.map_err(|error| self.voice_error(row, &error))
    }

    /// Synthesizes a sample with a voice of a connection, or of this machine without one, within `deadline`.
    ///
    /// # Errors
    /// If the voice does not exist, or its provider does not speak.
    pub async fn sample(
        &self,
        row: Option<&ConnectionRow>,
        request: TtsRequest,
        deadline: Duration,
    ) -> Result<Vec<i16>, VoiceError> {
        let provider = self.speaking(row)?;
        let voices = provider.clone().voices().map_err(VoiceError::Unusable)?;
        if !request.voice.as_deref().is_none_or(|voice| voices.may_have(voice)) {
            return Err(VoiceError::Unknown);
        }
        let tts = provider.tts().map_err(VoiceError::Unusable)?;
        let (audio, mut pieces) = mpsc::channel::<TtsAudio>(8);
        let listening = async {
            let mut samples = Vec::new();
            while let Some(piece) = pieces.recv().await {
                samples.extend(piece.samples);
            }
            samples
        };
        let spoken = tokio::time::timeout(deadline, async { tokio::join!(tts.speak(request, audio), listening) }).await;
        match spoken {
            Ok((Ok(_), samples)) if samples.is_empty() => {
                Err(VoiceError::Unavailable("The provider returned no audio.".to_owned()))
            }
            Ok((Ok(_), samples)) => Ok(samples),
            Ok((Err(error), _)) => Err(self.voice_error(row, &error)),
            Err(_) => {
                let words = format!("The provider did not finish within {} seconds.", deadline.as_secs());
                Err(VoiceError::Unavailable(words))
            }
        }
    }

    fn speaking(&self, row: Option<&ConnectionRow>) -> Result<Provider, VoiceError> {
        let Some(row) = row else { return self.providers.built_in("local").map_err(VoiceError::Unusable) };
        if !registry::entry(&row.provider).is_some_and(|entry| entry.kinds.contains(&ProviderKind::Tts)) {
            return Err(VoiceError::Unusable(format!("Provider {} does no text to speech.", row.provider)));
        }
        self.provider_of(row).map_err(|words| VoiceError::Unusable(format!("Connection {}: {words}", row.name)))
    }

    /// Converts a provider's error. A provider that refuses a key may quote it, so secrets are removed.
    fn voice_error(&self, row: Option<&ConnectionRow>, error: &ProviderError) -> VoiceError {
        let mut words = format!("{}.", error.to_string().trim_end_matches('.'));
        if let Some(row) = row {
            let secrets = row.open(&self.vault).unwrap_or_default();
            for secret in secrets.reveal().values() {
                words = without_secret(&words, secret);
            }
        }
        if error.is_final() { VoiceError::Refused(words) } else { VoiceError::Unavailable(words) }
    }
}
