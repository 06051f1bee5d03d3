//! The carriers and providers that a connection can be for.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::carrier::registry;
use crate::http::openapi;
use crate::talk::tools::secrets;

/// What a connection can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Places and takes phone calls.
    Carrier,
    /// Speech to text.
    Stt,
    /// Language model.
    Llm,
    /// Text to speech.
    Tts,
    /// Speech to speech.
    Realtime,
    /// Services that tools are.
    Tool,
    /// Several of these; `kinds` names them.
    Several,
}

impl Kind {
    /// What it is called in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Carrier => "a carrier",
            Self::Stt => "a speech-to-text provider",
            Self::Llm => "a language model provider",
            Self::Tts => "a text-to-speech provider",
            Self::Realtime => "a speech-to-speech provider",
            Self::Tool => "for tools",
            Self::Several => "a provider of several kinds",
        }
    }
}

/// What `settings.kinds` can name.
const PARTS: [Kind; 4] = [Kind::Stt, Kind::Llm, Kind::Tts, Kind::Realtime];

/// A carrier or provider.
#[derive(Debug)]
pub struct Provider {
    /// Its word in the API.
    pub name: &'static str,
    /// What it offers.
    pub kinds: &'static [Kind],
    /// The credentials without which nothing can be done.
    pub required: &'static [&'static str],
    /// Whether this version can make calls with it.
    pub usable: bool,
}

const fn usable(name: &'static str, kinds: &'static [Kind], required: &'static [&'static str]) -> Provider {
    Provider { name, kinds, required, usable: true }
}

/// Every provider, carriers first.
pub static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    let carriers = registry::CARRIERS.iter().map(|carrier| Provider {
        name: carrier.name,
        kinds: &[Kind::Carrier],
        required: carrier.required_credentials,
        usable: carrier.driver.is_some(),
    });
    carriers.chain(OTHERS).collect()
});

const OTHERS: [Provider; 10] = [
    usable("local", &[Kind::Stt, Kind::Tts], &[]),
    usable("scripted", &[Kind::Stt, Kind::Llm, Kind::Tts], &[]),
    usable("openai", &[Kind::Stt, Kind::Llm, Kind::Tts, Kind::Realtime], &[]),
    usable("anthropic", &[Kind::Llm], &[]),
    usable("gemini", &[Kind::Llm], &[]),
    usable("deepgram", &[Kind::Stt, Kind::Tts], &[]),
    usable("assemblyai", &[Kind::Stt], &[]),
    usable("elevenlabs", &[Kind::Stt, Kind::Tts], &[]),
    usable("cartesia", &[Kind::Stt, Kind::Tts], &[]),
    usable(secrets::PROVIDER, &[Kind::Tool], &[]),
];

/// What a connection is for: what its provider offers, or the part of it that `settings.kinds` names.
#[must_use]
pub fn kinds(provider: &str, settings: &Map<String, Value>) -> Vec<Kind> {
    let offered = Provider::named(provider).map_or(&[] as &[_], |provider| provider.kinds);
    let named = settings.get("kinds").and_then(Value::as_array);
    let is_named = |kind: &Kind| {
        let word = serde_json::to_value(kind).ok();
        named.is_none_or(|named| word.is_some_and(|word| named.contains(&word)))
    };
    let only_part = offered.iter().any(|kind| PARTS.contains(kind));
    offered.iter().filter(|kind| !only_part || is_named(kind)).copied().collect()
}

/// The word for a provider in the API.
pub struct ProviderName;

impl ToSchema for ProviderName {}
impl PartialSchema for ProviderName {
    fn schema() -> RefOr<Schema> {
        openapi::words("A carrier or provider.", PROVIDERS.iter().map(|provider| provider.name))
    }
}

impl Provider {
    /// The provider with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// The last segment of the address to which its numbers' calls are to be sent; nothing where nothing is to be set.
    #[must_use]
    pub fn inbound_topic(&self) -> Option<&'static str> {
        registry::kind(self.name).and_then(|carrier| carrier.inbound_topic)
    }

    /// Whether it offers this.
    #[must_use]
    pub fn offers(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}
