//! The carriers and providers that a connection can be for.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value};
use switchhook_carriers::registry as carriers;
use switchhook_providers::entry::ProviderKind;
use switchhook_providers::registry as providers;
use utoipa::ToSchema;

use crate::talk::tools::secrets;

/// The setting of every connection.
const BASE_URL: &str = "base_url";

/// What a connection can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Kind)]
pub enum ConnectionKind {
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

impl ConnectionKind {
    /// Returns its name in a sentence.
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

impl From<ProviderKind> for ConnectionKind {
    fn from(kind: ProviderKind) -> Self {
        match kind {
            ProviderKind::Stt => Self::Stt,
            ProviderKind::Llm => Self::Llm,
            ProviderKind::Tts => Self::Tts,
            ProviderKind::Realtime => Self::Realtime,
        }
    }
}

/// A carrier, a provider, or the services of tools.
#[derive(Debug)]
pub struct CatalogueEntry {
    /// Its name in the API.
    pub name: &'static str,
    /// What it offers.
    pub kinds: Vec<ConnectionKind>,
    /// The credentials without which nothing can be done.
    pub required: &'static [&'static str],
    /// The names of all that it uses; `None` where the client chooses them, or this version does not know them.
    pub credentials: Option<Vec<&'static str>>,
    /// The names of its settings; `None` where this version does not know them.
    pub settings: Option<BTreeSet<&'static str>>,
    /// Whether this version can make calls with it.
    pub usable: bool,
}

/// Everything that a connection can be for, carriers first.
pub static CATALOGUE: LazyLock<Vec<CatalogueEntry>> = LazyLock::new(|| {
    let connectable = carriers::CARRIERS.iter().filter(|carrier| carrier.has_connections);
    let carriers = connectable.map(|carrier| CatalogueEntry {
        name: carrier.name,
        kinds: vec![ConnectionKind::Carrier],
        required: carrier.required_credentials,
        credentials: carrier.driver.map(|_| [carrier.required_credentials, carrier.optional_credentials].concat()),
        settings: carrier.settings.map(|own| own.iter().copied().chain([BASE_URL]).collect()),
        usable: carrier.driver.is_some(),
    });
    let providers = providers::PROVIDERS.iter().map(|entry| CatalogueEntry {
        name: entry.name,
        kinds: entry.kinds.iter().copied().map(ConnectionKind::from).collect(),
        required: &[],
        credentials: Some(vec!["api_key"]),
        settings: Some(entry.setting_names().collect()),
        usable: true,
    });
    let tools = CatalogueEntry {
        name: secrets::PROVIDER,
        kinds: vec![ConnectionKind::Tool],
        required: &[],
        credentials: None,
        settings: Some([BASE_URL].into()),
        usable: true,
    };
    carriers.chain(providers).chain([tools]).collect()
});

/// Returns the uses of a connection: those that its provider offers, or the part that `settings.kinds` names.
#[must_use]
pub fn kinds(provider: &str, settings: &Map<String, Value>) -> Vec<ConnectionKind> {
    let offered = CatalogueEntry::named(provider).map_or(&[] as &[_], |entry| entry.kinds.as_slice());
    let named = settings.get("kinds").and_then(Value::as_array);
    let is_named = |kind: &ConnectionKind| {
        let name = serde_json::to_value(kind).ok();
        named.is_none_or(|named| name.is_some_and(|name| named.contains(&name)))
    };
    let is_provider = providers::entry(provider).is_some();
    offered.iter().filter(|kind| !is_provider || is_named(kind)).copied().collect()
}

impl CatalogueEntry {
    /// The provider with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CATALOGUE.iter().find(|entry| entry.name == name)
    }

    /// Returns the last path segment of the URL for inbound calls of its numbers; `None` if none needs to be set.
    #[must_use]
    pub fn inbound_topic(&self) -> Option<&'static str> {
        carriers::kind(self.name).and_then(|carrier| carrier.inbound_topic)
    }

    /// Returns whether it offers this.
    #[must_use]
    pub fn offers(&self, kind: ConnectionKind) -> bool {
        self.kinds.contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_carriers::registry::CARRIERS;

    #[test]
    fn every_documented_setting_is_known() {
        let docs = [
            ("agents", include_str!("../../../docs/agents.md")),
            ("speech-to-text", include_str!("../../../docs/speech-to-text.md")),
            ("text-to-speech", include_str!("../../../docs/text-to-speech.md")),
            ("simulator", include_str!("../../../docs/simulator.md")),
        ];
        let known: BTreeSet<&str> =
            CATALOGUE.iter().flat_map(|entry| entry.settings.iter().flatten().copied()).collect();
        for (file, text) in docs {
            let settings = text.split("\n\n").filter(|part| part.starts_with("| setting |"));
            let names: Vec<&str> =
                settings.flat_map(str::lines).filter(|row| row.starts_with("| `")).flat_map(first_cell).collect();
            assert!(names.len() > 3, "docs/{file}.md: {names:?}");
            for name in names {
                assert!(known.contains(name), "docs/{file}.md: {name}");
            }
        }
    }

    /// The names in the first cell of a row; `faults` of `faults.seed`.
    fn first_cell(row: &str) -> impl Iterator<Item = &str> {
        let cell = row.split('|').nth(1).unwrap_or_default();
        let names = cell.split(',').map(|name| name.trim().trim_matches('`'));
        names.map(|name| name.split('.').next().unwrap_or(name)).filter(|name| !name.is_empty())
    }

    #[test]
    fn every_carrier_is_in_the_catalogue_once_and_under_a_name_of_its_own() {
        let carriers = CATALOGUE.iter().filter(|provider| provider.offers(ConnectionKind::Carrier));
        let connectable = || CARRIERS.iter().filter(|kind| kind.has_connections);
        assert!(carriers.map(|provider| provider.name).eq(connectable().map(|kind| kind.name)));
        for kind in connectable() {
            assert_eq!(CATALOGUE.iter().filter(|provider| provider.name == kind.name).count(), 1, "{}", kind.name);
        }
    }
}
