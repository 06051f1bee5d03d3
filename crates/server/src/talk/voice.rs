//! A TTS voice, and speech that it has synthesized into the cache.

use std::sync::Arc;

use switchhook_core::conversation::SpokenWord;
use switchhook_media::format::AudioFormat;
use switchhook_providers::{Tts, TtsAudio, TtsRequest};

use super::provider_health::ProviderHealth;

/// A provider's voice, and its settings.
pub type ConfiguredVoice = (Arc<dyn Tts>, TtsSettings);

/// The settings of a voice.
#[derive(Clone, Debug)]
pub struct TtsSettings {
    /// The provider's voice name.
    pub voice: Option<String>,
    /// The provider's model name.
    pub model: Option<String>,
    /// Speaking rate; 1 is the voice's own.
    pub speed: f32,
    /// BCP 47 language tag.
    pub language: String,
    /// The format of the call's audio.
    pub format: AudioFormat,
    /// The provider's state in this call.
    pub health: ProviderHealth,
}

impl TtsSettings {
    pub(super) fn request(&self, text: &str) -> TtsRequest {
        TtsRequest {
            text: text.to_owned(),
            voice: self.voice.clone(),
            model: self.model.clone(),
            speed: self.speed,
            language: self.language.clone(),
            format: self.format,
        }
    }
}

/// A phrase that has been synthesized.
#[derive(Default)]
pub struct Rendered {
    /// 16 bit samples, mono, at the rate of the call.
    pub samples: Vec<i16>,
    /// The times of its words.
    pub words: Vec<SpokenWord>,
}

impl Rendered {
    pub(super) fn add(&mut self, piece: TtsAudio) {
        self.samples.extend(piece.samples);
        self.words.extend(piece.words);
    }
}
