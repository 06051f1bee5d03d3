//! A provider's entry in the registry, and the capabilities of one connection.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::adapter_config::AdapterConfig;
use crate::local::shared::LocalSpeech;
use crate::prices::{PriceList, Rates};
use crate::realtime::Realtime;
use crate::voices::Voices;
use crate::{Llm, Stt, Tts};

/// The description of a provider. The API's catalogue follows from it; a test compares it with prices and docs.
#[derive(Clone, Copy)]
pub struct ProviderEntry {
    /// Its name in the API, the price table and the docs.
    pub name: &'static str,
    /// The kinds it offers.
    pub kinds: &'static [ProviderKind],
    /// How to create it.
    pub build: Build,
    /// The names of its connections' settings, in groups, without those that all providers share.
    pub settings: &'static [&'static [&'static str]],
    /// The kinds whose default model has no price per unit: it is billed in credits or by the audio token.
    pub unpriced: &'static [ProviderKind],
}

/// The settings that connections to all providers share.
const OF_EVERY_PROVIDER: [&str; 3] = ["base_url", "kinds", "prices"];

impl ProviderEntry {
    /// Returns the names of its connections' settings.
    pub fn setting_names(&self) -> impl Iterator<Item = &'static str> {
        OF_EVERY_PROVIDER.into_iter().chain(self.settings.iter().copied().flatten().copied())
    }
}

/// How a provider is created.
#[derive(Clone, Copy)]
pub enum Build {
    /// From a connection. Errors are sentences that name the setting.
    Adapter(fn(&AdapterConfig<'_>) -> Result<Provider, String>),
    /// Built into this process, with or without the settings of a connection.
    BuiltIn(BuiltIn),
}

type BuiltIn = fn(&Arc<LocalSpeech>, &Map<String, Value>) -> Result<Provider, String>;

/// A kind of provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Speech to text.
    Stt,
    /// Language model.
    Llm,
    /// Text to speech.
    Tts,
    /// Speech to speech.
    Realtime,
}

impl ProviderKind {
    /// Returns its name in `settings.kinds`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stt => "stt",
            Self::Llm => "llm",
            Self::Tts => "tts",
            Self::Realtime => "realtime",
        }
    }
}

/// The capabilities of one connection.
#[derive(Clone, Default)]
pub struct Provider {
    pub(crate) name: &'static str,
    pub(crate) stt: Option<Arc<dyn Stt>>,
    pub(crate) llm: Option<Arc<dyn Llm>>,
    pub(crate) tts: Option<Arc<dyn Tts>>,
    pub(crate) realtime: Option<Arc<dyn Realtime>>,
    /// The voices of its text to speech.
    pub(crate) voices: Option<Arc<dyn Voices>>,
    pub(crate) prices: PriceList,
    pub(crate) default_models: DefaultModels,
}

/// The models for agents that name none: the connection's, or the provider's.
#[derive(Clone, Default)]
pub(crate) struct DefaultModels {
    pub(crate) stt: Option<String>,
    pub(crate) llm: Option<String>,
    pub(crate) tts: Option<String>,
    pub(crate) realtime: Option<String>,
}

impl DefaultModels {
    /// Reads the models from the connection's settings, with these defaults; an empty name means that the model is unknown.
    pub(crate) fn of(config: &AdapterConfig<'_>, stt: &str, llm: &str, tts: &str) -> Result<Self, String> {
        let model = |setting: &str, default: &str| -> Result<Option<String>, String> {
            let model = config.text(setting)?.unwrap_or(default);
            Ok(Some(model.to_owned()).filter(|model| !model.is_empty()))
        };
        let (stt, llm, tts) = (model("stt_model", stt)?, model("model", llm)?, model("tts_model", tts)?);
        Ok(Self { stt, llm, tts, realtime: None })
    }
}

impl Provider {
    /// Returns the provider's name in the API.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the rates of speech to text with this model, if they are known.
    #[must_use]
    pub fn stt_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default_models.stt.as_deref())).copied()
    }

    /// Returns the rates of this language model, if they are known.
    #[must_use]
    pub fn llm_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default_models.llm.as_deref())).copied()
    }

    /// Returns the rates of text to speech with this model, if they are known.
    #[must_use]
    pub fn tts_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default_models.tts.as_deref())).copied()
    }

    /// Keeps only the kinds in `settings.kinds`: a compatible server may not offer everything that the provider does.
    pub(crate) fn offered(self, settings: &Map<String, Value>) -> Result<Self, String> {
        let Some(kinds) = settings.get("kinds").filter(|kinds| !kinds.is_null()) else { return Ok(self) };
        let known =
            [ProviderKind::Stt, ProviderKind::Llm, ProviderKind::Tts, ProviderKind::Realtime].map(ProviderKind::name);
        let kinds = kinds
            .as_array()
            .filter(|kinds| !kinds.is_empty() && kinds.iter().all(|kind| known.iter().any(|known| kind == known)));
        let kinds = kinds.ok_or_else(|| {
            format!("settings.kinds must be a list of what the connection is for: {}.", known.join(", "))
        })?;
        let has = |kind: ProviderKind| kinds.iter().any(|known| known == kind.name());
        Ok(Self {
            stt: self.stt.filter(|_| has(ProviderKind::Stt)),
            llm: self.llm.filter(|_| has(ProviderKind::Llm)),
            tts: self.tts.filter(|_| has(ProviderKind::Tts)),
            realtime: self.realtime.filter(|_| has(ProviderKind::Realtime)),
            ..self
        })
    }

    /// Returns the rates of a speech-to-speech model, if they are known.
    #[must_use]
    pub fn realtime_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default_models.realtime.as_deref())).copied()
    }

    /// Returns speech to text.
    ///
    /// # Errors
    /// A sentence when the connection has none.
    pub fn stt(self) -> Result<Arc<dyn Stt>, String> {
        self.stt.ok_or_else(|| {
            format!("Provider {} does no speech to text, or settings.kinds of its connection leaves it out.", self.name)
        })
    }

    /// Returns the language model.
    ///
    /// # Errors
    /// A sentence when the connection has none.
    pub fn llm(self) -> Result<Arc<dyn Llm>, String> {
        self.llm.ok_or_else(|| {
            format!("Provider {} has no language model, or settings.kinds of its connection leaves it out.", self.name)
        })
    }

    /// Returns text to speech.
    ///
    /// # Errors
    /// A sentence when the connection has none.
    pub fn tts(self) -> Result<Arc<dyn Tts>, String> {
        self.tts.ok_or_else(|| {
            format!("Provider {} does no text to speech, or settings.kinds of its connection leaves it out.", self.name)
        })
    }

    /// Returns the voices of text to speech.
    ///
    /// # Errors
    /// A sentence when the connection has none.
    pub fn voices(self) -> Result<Arc<dyn Voices>, String> {
        let none = format!("Provider {} lists no voices.", self.name);
        let voices = self.voices.clone();
        self.tts()?;
        voices.ok_or(none)
    }

    /// Returns speech to speech.
    ///
    /// # Errors
    /// A sentence when the connection has none.
    pub fn realtime(self) -> Result<Arc<dyn Realtime>, String> {
        self.realtime.ok_or_else(|| {
            format!(
                "Provider {} does no speech to speech, or settings.kinds of its connection leaves it out.",
                self.name
            )
        })
    }
}
