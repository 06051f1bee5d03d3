//! The loaded models and the cores they run on, shared by all calls.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use switchhook_speech::models::{HIBARI, MOONSHINE, ModelStore};
use switchhook_speech::{Cores, Hibari, Moonshine, SpeechError};
use tokio::sync::OnceCell;

use super::phrase_cache::PhraseCache;
use crate::{ProviderError, is_english};

/// The name in errors.
const PROVIDER: &str = "local speech";

/// Local speech, created once per process. A model is loaded for the first call that needs it: about 0.2 s and 160 MB each.
pub struct LocalSpeech {
    models: ModelStore,
    moonshine: OnceCell<Arc<Moonshine>>,
    hibari: OnceCell<Arc<Hibari>>,
    pub(super) cores: Cores,
    pub(super) phrases: PhraseCache,
}

/// A model of local speech.
#[derive(Clone, Copy, Debug)]
pub enum LocalModel {
    /// Moonshine.
    Stt,
    /// Hibari.
    Tts,
}

impl LocalModel {
    fn id(self) -> &'static str {
        match self {
            Self::Stt => MOONSHINE,
            Self::Tts => HIBARI,
        }
    }
}

impl LocalSpeech {
    /// Creates local speech with these models without loading them.
    #[must_use]
    pub fn new(models: ModelStore) -> Arc<Self> {
        Arc::new(Self {
            models,
            moonshine: OnceCell::new(),
            hibari: OnceCell::new(),
            cores: Cores::all(),
            phrases: PhraseCache::default(),
        })
    }

    /// Loads both models now, and reports the count after each.
    ///
    /// # Errors
    /// Fails if a model is not installed or cannot be read.
    pub async fn load_all(self: &Arc<Self>, loaded: impl Fn(u64)) -> Result<(), ProviderError> {
        self.load(LocalModel::Stt).await?;
        loaded(1);
        self.load(LocalModel::Tts).await?;
        loaded(2);
        Ok(())
    }

    /// Loads a model if it is not loaded yet. A caller that no longer waits does not stop it.
    ///
    /// # Errors
    /// As [`LocalSpeech::load_all`].
    pub async fn load(self: &Arc<Self>, model: LocalModel) -> Result<(), ProviderError> {
        let speech = Arc::clone(self);
        let loading = tokio::spawn(async move {
            match model {
                LocalModel::Stt => speech.moonshine().await.map(drop),
                LocalModel::Tts => speech.hibari().await.map(drop),
            }
        });
        loading.await.unwrap_or_else(|_| Err(not_loaded(model.id())))
    }

    /// Returns the STT model.
    pub(super) async fn moonshine(&self) -> Result<Arc<Moonshine>, ProviderError> {
        self.moonshine.get_or_try_init(|| self.read(MOONSHINE, Moonshine::load)).await.map(Arc::clone)
    }

    /// Returns the TTS model.
    pub(super) async fn hibari(&self) -> Result<Arc<Hibari>, ProviderError> {
        self.hibari.get_or_try_init(|| self.read(HIBARI, Hibari::load)).await.map(Arc::clone)
    }

    async fn read<M: Send + Sync + 'static>(
        &self,
        id: &'static str,
        read: impl FnOnce(&Path) -> Result<M, SpeechError> + Send + 'static,
    ) -> Result<Arc<M>, ProviderError> {
        let models = self.models.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let missing = || format!("the model {id} is not installed; run `switchhook models pull`");
            let path = models.path(id).ok_or_else(missing)?;
            let started = Instant::now();
            let model = read(&path).map_err(|error| error.to_string())?;
            tracing::info!(model = id, elapsed_ms = started.elapsed().as_millis(), "speech model loaded");
            Ok(Arc::new(model))
        });
        let loaded = loaded.await.map_err(|_| not_loaded(id))?;
        loaded.map_err(|message| ProviderError::Config { provider: PROVIDER, message })
    }
}

/// Says that reading a model panicked.
fn not_loaded(id: &str) -> ProviderError {
    ProviderError::Config { provider: PROVIDER, message: format!("the model {id} could not be loaded") }
}

/// Checks the language: both models support English only.
pub(super) fn check_language(language: &str) -> Result<(), ProviderError> {
    if is_english(language) {
        return Ok(());
    }
    let message = format!("it {}; choose another provider for this agent", english_only(language));
    Err(ProviderError::Config { provider: PROVIDER, message })
}

/// Describes an unsupported language.
pub(super) fn english_only(language: &str) -> String {
    format!("knows English only, not {language:?}")
}

/// Converts a model's error; for `map_err`.
pub(super) fn failed(error: &SpeechError) -> ProviderError {
    ProviderError::Failed { provider: PROVIDER, message: error.to_string() }
}
