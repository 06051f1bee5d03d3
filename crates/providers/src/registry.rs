//! The registry of providers, and the cache of one instance per connection.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::ClientBuilder;
use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::ws::{WebSockets, http_address};
use switchhook_net::outbound::{self, ClientSettings, Clients, Exemptions, NetworkSettings, PerTenant, redirects};
use switchhook_speech::models::ModelStore;
use url::Url;
use uuid::Uuid;

use super::adapter_config::AdapterConfig;
use super::entry::{Build, Provider, ProviderEntry};
use super::local::{self, LocalSpeech};
use super::prices::Prices;
use super::{CONNECT_TIMEOUT, anthropic, assemblyai, cartesia, deepgram, elevenlabs, gemini, openai, scripted};

/// How long an idle connection is kept, to save the next turn a handshake.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How long an unused provider is cached. It is then dropped, and its key with it: its connection may have been deleted.
const UNUSED_TTL: Duration = Duration::from_secs(3_600);
/// The interval and timeout of pings on an HTTP/2 connection. All calls share it: if a firewall has dropped its state, their requests
/// would fail until the network gives up.
const HTTP2_KEEPALIVE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(2));

/// The maximum timeout of a tool, regardless of its settings.
const MAX_TOOL_TIMEOUT: Duration = Duration::from_secs(10);

/// All providers. A new one needs a folder under `providers/` and a line here.
pub const PROVIDERS: &[ProviderEntry] = &[
    local::ENTRY,
    scripted::ENTRY,
    openai::ENTRY,
    anthropic::ENTRY,
    gemini::ENTRY,
    deepgram::ENTRY,
    assemblyai::ENTRY,
    elevenlabs::ENTRY,
    cartesia::ENTRY,
];

/// Returns the provider with this name.
#[must_use]
pub fn entry(name: &str) -> Option<&'static ProviderEntry> {
    PROVIDERS.iter().find(|entry| entry.name == name)
}

/// The part of the configuration that providers need.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// How names are resolved and whose certificates are trusted.
    pub network: NetworkSettings,
    /// The addresses that requests may reach beyond the public internet.
    pub addresses: AddressPolicy,
    /// The operator's price file.
    pub prices: Option<PathBuf>,
}

/// A connection to a provider, without its key.
#[derive(Clone, Copy, Debug)]
pub struct ProviderConnection<'a> {
    /// Its id.
    pub id: ConnectionId,
    /// Its owner.
    pub tenant: TenantId,
    /// The provider's name in the API.
    pub provider: &'a str,
    /// Its settings.
    pub settings: &'a Map<String, Value>,
    /// When it was last written: a change creates a new provider.
    pub updated_at: Timestamp,
}

/// Creates and caches providers.
pub struct Registry {
    http: PerTenant<Clients>,
    websockets: PerTenant<WebSockets>,
    addresses: AddressPolicy,
    exemptions: Exemptions,
    tools: PerTenant<outbound::Client>,
    prices: Prices,
    speech: Arc<LocalSpeech>,
    cached: Mutex<ProviderCache>,
}

/// Providers by connection, each for the version of the connection written at that time.
#[derive(Default)]
struct ProviderCache(HashMap<Uuid, (ConnectionVersion, Instant, Provider)>);

/// The version of a provider: when its connection was written, and which addresses its tenant could reach beyond the configuration.
type ConnectionVersion = (Timestamp, AddressPolicy);

impl ProviderCache {
    fn evict_unused(&mut self, now: Instant) {
        self.0.retain(|_, (_, used, _)| now - *used < UNUSED_TTL);
    }

    fn find(&mut self, id: Uuid, version: &ConnectionVersion, now: Instant) -> Option<Provider> {
        self.evict_unused(now);
        let (cached, used, provider) = self.0.get_mut(&id)?;
        *used = now;
        (cached == version).then(|| provider.clone())
    }

    fn keep(&mut self, id: Uuid, version: ConnectionVersion, now: Instant, provider: Provider) {
        self.0.insert(id, (version, now, provider));
    }
}

impl Registry {
    /// Creates a registry with nothing loaded or connected yet.
    ///
    /// # Errors
    /// When the client for requests to providers cannot be built.
    pub fn new(settings: ProviderSettings, models: ModelStore, exemptions: Exemptions) -> anyhow::Result<Self> {
        let ProviderSettings { network, addresses, prices } = settings;
        let settings = ClientSettings::new(&network, &addresses)?;
        let (for_tools, for_websockets) = (settings.clone(), settings.clone());
        let tools =
            PerTenant::new(exemptions.clone(), move |more| for_tools.clone().with(more).client(MAX_TOOL_TIMEOUT))?;
        let websockets =
            PerTenant::new(exemptions.clone(), move |more| WebSockets::of(&for_websockets.clone().with(more)))?;
        let http = PerTenant::new(exemptions.clone(), move |more| Clients::new(&settings.clone().with(more), client))?;
        let speech = LocalSpeech::new(models);
        let prices = Prices::load(prices.as_deref())?;
        Ok(Self { http, websockets, addresses, exemptions, tools, prices, speech, cached: Mutex::default() })
    }

    /// Returns the addresses that single tenants may reach beyond the configured exemptions.
    #[must_use]
    pub fn exemptions(&self) -> &Exemptions {
        &self.exemptions
    }

    /// Returns the addresses that a tenant's requests may reach.
    #[must_use]
    pub fn addresses(&self, tenant: TenantId) -> AddressPolicy {
        self.addresses.clone().with(&self.exemptions.of(tenant))
    }

    /// Returns the client for requests to a tenant's tools.
    #[must_use]
    pub fn tools(&self, tenant: TenantId) -> outbound::Client {
        self.tools.of(tenant)
    }

    /// Returns the models of this machine, shared by all calls.
    #[must_use]
    pub fn local_speech(&self) -> Arc<LocalSpeech> {
        self.speech.clone()
    }

    /// Returns a provider that needs no connection.
    ///
    /// # Errors
    /// A sentence when no provider has that name.
    pub fn built_in(&self, name: &str) -> Result<Provider, String> {
        match entry(name) {
            Some(ProviderEntry { name, build: Build::BuiltIn(build), .. }) => {
                Ok(Provider { name, prices: self.prices.of(name), ..build(&self.speech, &Map::new())? })
            }
            _ => Err(format!("Provider {name} needs a connection.")),
        }
    }

    /// Drops the provider of a connection, and with it the key.
    pub fn forget(&self, id: ConnectionId) {
        self.cache().0.remove(&id.uuid());
    }

    /// Drops providers that no call has used for an hour, and with them their keys.
    pub fn forget_unused(&self) {
        self.cache().evict_unused(Instant::now());
    }

    fn cache(&self) -> MutexGuard<'_, ProviderCache> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the provider of a connection, created with the result of `key` unless it is cached.
    ///
    /// # Errors
    /// A sentence when its settings or credentials are invalid.
    pub fn for_connection(
        &self,
        connection: &ProviderConnection<'_>,
        key: impl FnOnce() -> Result<Option<Private<String>>, String>,
    ) -> Result<Provider, String> {
        let ProviderConnection { id, tenant, provider: name, settings, updated_at } = *connection;
        let version = (updated_at, self.exemptions.of(tenant));
        if let Some(provider) = self.cache().find(id.uuid(), &version, Instant::now()) {
            return Ok(provider);
        }
        let base_url =
            settings.get("base_url").and_then(Value::as_str).and_then(|url| Url::parse(&http_address(url)).ok());
        let clients = self.http.of(tenant);
        let entry = entry(name).ok_or_else(|| format!("this version cannot use {name} yet."))?;
        let provider = match entry.build {
            Build::Adapter(build) => build(&AdapterConfig {
                http: &base_url.map_or_else(|| clients.usual(), |url| clients.of(&url)),
                websockets: &self.websockets.of(tenant),
                addresses: &self.addresses(tenant),
                settings,
                key: key()?,
            })?,
            Build::BuiltIn(build) => build(&self.speech, settings)?,
        };
        let prices = self.prices.of(name).with(settings)?;
        let provider = Provider { name: entry.name, prices, ..provider }.offered(settings)?;
        self.cache().keep(id.uuid(), version, Instant::now(), provider.clone());
        Ok(provider)
    }
}

/// Builds a client for requests to providers.
fn client(settings: &ClientSettings) -> ClientBuilder {
    settings
        .builder()
        .redirect(redirects::on_same_origin())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .http2_keep_alive_interval(HTTP2_KEEPALIVE.0)
        .http2_keep_alive_timeout(HTTP2_KEEPALIVE.1)
        .http2_keep_alive_while_idle(true)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::entry::ProviderKind;

    /// Creates a provider with these settings.
    fn provider(entry: &ProviderEntry, settings: &Value) -> Provider {
        let prices = Prices::load(None).expect("a table").of(entry.name);
        Provider { name: entry.name, prices, ..made(entry, settings).expect("good settings") }
    }

    fn made(entry: &ProviderEntry, settings: &Value) -> Result<Provider, String> {
        switchhook_net::install_tls();
        let addresses = AddressPolicy::default();
        let settings = settings.as_object().expect("an object");
        let config = AdapterConfig {
            http: &reqwest::Client::new(),
            websockets: &WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client"),
            addresses: &addresses,
            settings,
            key: None,
        };
        match entry.build {
            Build::Adapter(build) => build(&config),
            Build::BuiltIn(build) => build(&LocalSpeech::new(ModelStore::new(Path::new("/nonexistent"))), settings),
        }
    }

    #[test]
    fn every_named_setting_is_read() {
        for entry in PROVIDERS {
            for name in entry.settings.iter().copied().flatten() {
                // No setting is a list of lists.
                let is_refused = |api: &str| {
                    let settings = json!({ "stt_api": api, *name: [["x"]] });
                    let refused = made(entry, &settings).err().unwrap_or_default();
                    refused.contains(&format!("settings.{name}"))
                };
                assert!(is_refused("transcriptions") || is_refused("realtime"), "{} {name}", entry.name);
            }
        }
    }

    /// Returns the rates of a connection with these settings: a minute of STT, LLM input, and TTS.
    fn rates(entry: &ProviderEntry, settings: &Value) -> [Option<f64>; 3] {
        let provider = provider(entry, settings);
        [
            provider.stt_rates(None).and_then(|rates| rates.stt_minute),
            provider.llm_rates(None).and_then(|rates| rates.llm_input_million),
            provider.tts_rates(None).and_then(|rates| rates.tts_characters_million),
        ]
    }

    #[test]
    fn every_provider_offers_what_its_entry_says_and_has_prices() {
        for entry in PROVIDERS {
            let provider = provider(entry, &json!({}));
            assert_eq!(provider.voices.is_some(), provider.tts.is_some(), "{} lists its voices", entry.name);
            let made = [
                (
                    ProviderKind::Stt,
                    provider.stt.is_some(),
                    provider.stt_rates(None).and_then(|rates| rates.stt_minute),
                ),
                (
                    ProviderKind::Llm,
                    provider.llm.is_some(),
                    provider.llm_rates(None).and_then(|rates| rates.llm_output_million),
                ),
                (
                    ProviderKind::Tts,
                    provider.tts.is_some(),
                    provider.tts_rates(None).and_then(|rates| rates.tts_characters_million),
                ),
                (
                    ProviderKind::Realtime,
                    provider.realtime.is_some(),
                    provider.realtime_rates(None).and_then(|rates| rates.audio_output_million),
                ),
            ];
            for (kind, is_made, price) in made {
                let offered = entry.kinds.contains(&kind);
                assert_eq!(is_made, offered, "{} offers {kind:?}", entry.name);
                let priced = offered && !entry.unpriced.contains(&kind);
                assert_eq!(price.is_some() && offered, priced, "{} has a price for {kind:?}", entry.name);
            }
        }
    }

    #[test]
    fn every_provider_is_in_the_docs_and_the_price_table_knows_no_other() {
        /// Returns whether a table has a row whose first cell names the provider.
        fn has_row(docs: &str, name: &str) -> bool {
            let mut cells = docs.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
            cells.any(|cell| cell.contains(&format!("`{name}`")))
        }
        let agents = include_str!("../../../docs/agents.md");
        let stt = include_str!("../../../docs/speech-to-text.md");
        let tts = include_str!("../../../docs/text-to-speech.md");
        for entry in PROVIDERS {
            assert!(has_row(agents, entry.name), "docs/agents.md lacks {}", entry.name);
            let settings = matches!(entry.build, Build::Adapter(_));
            for (kind, file, docs) in
                [(ProviderKind::Stt, "speech-to-text", stt), (ProviderKind::Tts, "text-to-speech", tts)]
            {
                let documented = !settings || !entry.kinds.contains(&kind) || has_row(docs, entry.name);
                assert!(documented, "docs/{file}.md lacks {}", entry.name);
            }
        }
        for name in Prices::load(None).expect("a table").providers() {
            assert!(entry(name).is_some(), "prices.default.toml has prices of {name}, which is no provider");
        }
    }

    fn version(written: i64) -> ConnectionVersion {
        (Timestamp::from_micros(written), AddressPolicy::default())
    }

    #[test]
    fn hearing_thinking_and_speaking_have_each_the_price_of_their_own_model() {
        assert_eq!(rates(&openai::ENTRY, &json!({})), [Some(0.0045), Some(0.1), None]);
        let others = json!({ "stt_api": "realtime", "model": "gpt-4.1-mini", "tts_model": "tts-1" });
        assert_eq!(rates(&openai::ENTRY, &others), [Some(0.017), Some(0.4), Some(15.0)]);
        assert_eq!(rates(&deepgram::ENTRY, &json!({})), [Some(0.0048), None, Some(30.0)]);
        assert_eq!(rates(&elevenlabs::ENTRY, &json!({ "tts_model": "eleven_multilingual_v2" }))[2], Some(100.0));
    }

    #[test]
    fn the_usual_models_and_the_small_ones_have_prices_of_their_own() {
        let prices = Prices::load(None).expect("a table");
        let output = |provider: &str, model: &str| {
            let rates = prices.of(provider).of(Some(model)).copied().unwrap_or_default();
            (rates.llm_output_million, rates.audio_output_million)
        };
        for (provider, model) in [
            ("openai", openai::chat::DEFAULT_MODEL),
            ("anthropic", anthropic::DEFAULT_MODEL),
            ("gemini", gemini::DEFAULT_MODEL),
        ] {
            let rates = prices.of(provider).of(Some(model)).copied().unwrap_or_default();
            let cached = rates.llm_cached_million.zip(rates.llm_input_million);
            assert!(cached.is_some_and(|(cached, input)| cached < input), "{model}: {rates:?}");
        }
        assert_eq!(output("openai", "gpt-realtime-2.1"), (Some(24.0), Some(64.0)), "as its predecessor");
        assert_eq!(output("openai", "gpt-realtime-2.1-mini"), (Some(2.4), Some(20.0)));
        assert_eq!(output("openai", "gpt-realtime-mini"), (None, None), "not known, and not taken for another");
        assert_eq!(output("gemini", "gemini-2.5-flash-lite"), (None, None));
    }

    #[test]
    fn provider_is_cached_per_version_and_evicted_when_unused() {
        let (mut cached, id, start) = (ProviderCache::default(), Uuid::nil(), Instant::now());
        cached.keep(id, version(1), start, Provider::default());
        let nearly = UNUSED_TTL - Duration::from_secs(1);
        assert!(
            cached.find(id, &version(1), start + nearly).is_some()
                && cached.find(id, &version(2), start + nearly).is_none()
        );
        assert!(
            cached.find(Uuid::max(), &version(1), start + nearly * 2).is_none() && cached.0.len() == 1,
            "it was used meanwhile"
        );
        assert!(cached.find(Uuid::max(), &version(1), start + nearly + UNUSED_TTL).is_none() && cached.0.is_empty());
    }

    #[test]
    fn nothing_is_kept_of_a_connection_that_is_deleted_or_unused() {
        let (mut cache, start) = (ProviderCache::default(), Instant::now());
        let registry = {
            let settings = ProviderSettings {
                network: NetworkSettings::default(),
                addresses: AddressPolicy::default(),
                prices: None,
            };
            Registry::new(settings, ModelStore::new(Path::new("/nonexistent")), Exemptions::default())
                .expect("a registry")
        };
        let deleted = ConnectionId::from_uuid(Uuid::from_u128(1));
        let other = Uuid::from_u128(2);
        for id in [deleted.uuid(), other] {
            registry.cache().keep(id, version(1), start, Provider::default());
        }
        registry.forget(deleted);
        let kept: Vec<Uuid> = registry.cache().0.keys().copied().collect();
        assert_eq!(kept, [other], "the key of a deleted connection goes at once");
        cache.keep(other, version(1), start, Provider::default());
        cache.evict_unused(start + UNUSED_TTL);
        assert!(cache.0.is_empty(), "and that of an unused one without another look-up");
    }

    #[test]
    fn a_connection_is_for_what_its_settings_say() {
        let offered = |kinds: Value| {
            provider(&scripted::ENTRY, &json!({})).offered(json!({ "kinds": kinds }).as_object().expect("an object"))
        };
        let does = |kinds: Value| {
            let provider = offered(kinds).unwrap_or_else(|words| panic!("{words}"));
            [provider.stt.is_some(), provider.llm.is_some(), provider.tts.is_some()]
        };
        assert_eq!(does(Value::Null), [true; 3]);
        assert_eq!(does(json!(["llm"])), [false, true, false]);
        assert_eq!(does(json!(["stt", "tts"])), [true, false, true]);
        let refused = offered(json!(["llm"])).and_then(Provider::stt).err().expect("it does not hear");
        assert!(refused.contains("settings.kinds"), "{refused}");
        for wrong in [json!([]), json!("llm"), json!(["llm", "fax"])] {
            assert!(offered(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
