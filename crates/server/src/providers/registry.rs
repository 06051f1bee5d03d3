//! The registry of providers, and the cache of one instance per connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::ClientBuilder;
use serde_json::{Map, Value};
use switchhook_core::id::TenantId;
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use url::Url;
use uuid::Uuid;

use super::adapter_config::AdapterConfig;
use super::local::{LocalSpeech, LocalStt, LocalTts};
use super::prices::{PriceList, Prices, Rates};
use super::realtime::Realtime;
use super::scripted::{ScriptedLlm, ScriptedStt, ScriptedTts};
use super::tts::TtsTimeouts;
use super::{Llm, Stt, Tts, anthropic, assemblyai, cartesia, deepgram, elevenlabs, gemini, openai};
use crate::config::Config;
use crate::models::ModelStore;
use crate::outbound::ws::{WebSockets, http_address};
use crate::outbound::{self, ClientSettings, Clients, Exemptions, PerTenant};
use crate::store::connections::{ConnectionRow, Credentials};
use crate::vault::Vault;

/// Until a connection to a provider is made.
pub(crate) const CONNECT: Duration = Duration::from_secs(3);
/// A connection that is kept saves its making in the next turn.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// A provider that no call has asked for in so long is forgotten, and with it the key: its connection may be deleted.
const UNUSED_TTL: Duration = Duration::from_secs(3_600);
/// How often a connection of HTTP/2 is asked whether it is alive, and how long the answer may take: all calls share it, and one
/// that a firewall has forgotten would fail the questions of all until the network gives it up.
const HTTP2_KEEPALIVE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(2));

/// The longest that a tool may take, whatever it says.
const TOOL: Duration = Duration::from_secs(10);

/// What one connection can do.
#[derive(Clone, Default)]
pub struct Provider {
    name: String,
    stt: Option<Arc<dyn Stt>>,
    llm: Option<Arc<dyn Llm>>,
    tts: Option<Arc<dyn Tts>>,
    realtime: Option<Arc<dyn Realtime>>,
    prices: PriceList,
    default: DefaultModels,
}

/// The models that are used when an agent names none: the connection's, or the provider's.
#[derive(Clone, Default)]
struct DefaultModels {
    stt: Option<String>,
    llm: Option<String>,
    tts: Option<String>,
    realtime: Option<String>,
}

impl DefaultModels {
    /// As the connection's settings say, else these; an empty name is one that is not known.
    fn of(config: &AdapterConfig<'_>, stt: &str, llm: &str, tts: &str) -> Result<Self, String> {
        let model = |setting: &str, default: &str| -> Result<Option<String>, String> {
            let model = config.text(setting)?.unwrap_or(default);
            Ok(Some(model.to_owned()).filter(|model| !model.is_empty()))
        };
        let (stt, llm, tts) = (model("stt_model", stt)?, model("model", llm)?, model("tts_model", tts)?);
        Ok(Self { stt, llm, tts, realtime: None })
    }
}

impl Provider {
    /// Its word in the API.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its speech to text charges with this model, as far as that is known.
    #[must_use]
    pub fn stt_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default.stt.as_deref())).copied()
    }

    /// What this language model of it charges, as far as that is known.
    #[must_use]
    pub fn llm_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default.llm.as_deref())).copied()
    }

    /// What its text to speech charges with this model, as far as that is known.
    #[must_use]
    pub fn tts_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default.tts.as_deref())).copied()
    }

    /// Only what `settings.kinds` says that the server does: not every one that speaks a provider's protocol does all of it.
    fn offered(self, settings: &Map<String, Value>) -> Result<Self, String> {
        let Some(kinds) = settings.get("kinds").filter(|kinds| !kinds.is_null()) else { return Ok(self) };
        let kinds = kinds.as_array().filter(|kinds| {
            !kinds.is_empty()
                && kinds.iter().all(|kind| ["stt", "llm", "tts", "realtime"].iter().any(|known| kind == known))
        });
        let kinds =
            kinds.ok_or("settings.kinds must be a list of what the connection is for: stt, llm, tts, realtime.")?;
        let has = |kind: &str| kinds.iter().any(|known| known == kind);
        Ok(Self {
            stt: self.stt.filter(|_| has("stt")),
            llm: self.llm.filter(|_| has("llm")),
            tts: self.tts.filter(|_| has("tts")),
            realtime: self.realtime.filter(|_| has("realtime")),
            ..self
        })
    }

    /// What a speech-to-speech model of this provider charges, as far as that is known.
    #[must_use]
    pub fn realtime_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.default.realtime.as_deref())).copied()
    }

    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Its speech to text.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn stt(self) -> Result<Arc<dyn Stt>, String> {
        self.stt.ok_or_else(|| {
            format!("Provider {} does no speech to text, or settings.kinds of its connection leaves it out.", self.name)
        })
    }

    /// Its language model.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn llm(self) -> Result<Arc<dyn Llm>, String> {
        self.llm.ok_or_else(|| {
            format!("Provider {} has no language model, or settings.kinds of its connection leaves it out.", self.name)
        })
    }

    /// Its text to speech.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn tts(self) -> Result<Arc<dyn Tts>, String> {
        self.tts.ok_or_else(|| {
            format!("Provider {} does no text to speech, or settings.kinds of its connection leaves it out.", self.name)
        })
    }

    /// Its speech to speech.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn realtime(self) -> Result<Arc<dyn Realtime>, String> {
        self.realtime.ok_or_else(|| {
            format!(
                "Provider {} does no speech to speech, or settings.kinds of its connection leaves it out.",
                self.name
            )
        })
    }
}

/// Makes and keeps providers.
pub struct Registry {
    http: PerTenant<Clients>,
    websockets: PerTenant<WebSockets>,
    addresses: AddressPolicy,
    exemptions: Exemptions,
    tools: PerTenant<outbound::Client>,
    prices: Prices,
    speech: Arc<LocalSpeech>,
    local: Provider,
    cached: Mutex<ProviderCache>,
}

/// Providers by connection, each for the version of it that was written at that time.
#[derive(Default)]
struct ProviderCache(HashMap<Uuid, (ConnectionVersion, Instant, Provider)>);

/// What a provider was made from: the connection as it was written then, and where its tenant could go beyond the configuration.
type ConnectionVersion = (i64, AddressPolicy);

impl ProviderCache {
    fn find(&mut self, id: Uuid, version: &ConnectionVersion, now: Instant) -> Option<Provider> {
        self.0.retain(|_, (_, used, _)| now - *used < UNUSED_TTL);
        let (cached, used, provider) = self.0.get_mut(&id)?;
        *used = now;
        (cached == version).then(|| provider.clone())
    }

    fn keep(&mut self, id: Uuid, version: ConnectionVersion, now: Instant, provider: Provider) {
        self.0.insert(id, (version, now, provider));
    }
}

impl Registry {
    /// With nothing loaded or connected yet.
    ///
    /// # Errors
    /// When the client for requests to providers cannot be built.
    pub fn new(config: &Config, models: ModelStore, exemptions: Exemptions) -> anyhow::Result<Self> {
        let settings = ClientSettings::new(config, &config.outbound_allow)?;
        let (for_tools, for_websockets) = (settings.clone(), settings.clone());
        let tools = PerTenant::new(exemptions.clone(), move |more| for_tools.clone().with(more).client(TOOL))?;
        let websockets =
            PerTenant::new(exemptions.clone(), move |more| WebSockets::of(&for_websockets.clone().with(more)))?;
        let http = PerTenant::new(exemptions.clone(), move |more| Clients::new(&settings.clone().with(more), client))?;
        let speech = LocalSpeech::new(models);
        let prices = Prices::load(config.prices.as_deref())?;
        let local = Provider {
            prices: prices.of("local"),
            stt: Some(Arc::new(LocalStt::new(speech.clone()))),
            tts: Some(Arc::new(LocalTts::new(speech.clone()))),
            ..Provider::named("local")
        };
        let addresses = config.outbound_allow.clone();
        Ok(Self { http, websockets, addresses, exemptions, tools, prices, speech, local, cached: Mutex::default() })
    }

    /// What single tenants may reach beyond the configured exemptions.
    #[must_use]
    pub fn exemptions(&self) -> &Exemptions {
        &self.exemptions
    }

    /// Where a tenant's requests may go.
    #[must_use]
    pub fn addresses(&self, tenant: TenantId) -> AddressPolicy {
        self.addresses.clone().with(&self.exemptions.of(tenant))
    }

    /// Asks the services that a tenant's tools are.
    #[must_use]
    pub fn tools(&self, tenant: TenantId) -> outbound::Client {
        self.tools.of(tenant)
    }

    /// The models of this machine, shared by all calls.
    #[must_use]
    pub fn local_speech(&self) -> Arc<LocalSpeech> {
        self.speech.clone()
    }

    /// A provider that needs no connection.
    ///
    /// # Errors
    /// A sentence when there is none of that name.
    pub fn built_in(&self, name: &str) -> Result<Provider, String> {
        match name {
            "local" => Ok(self.local.clone()),
            "scripted" => {
                let scripted = scripted(&Map::new())?;
                Ok(Provider { prices: self.prices.of("scripted"), ..scripted })
            }
            other => Err(format!("Provider {other} needs a connection.")),
        }
    }

    /// The provider behind a connection.
    ///
    /// # Errors
    /// A sentence when its settings or credentials are of no use.
    pub fn for_connection(&self, row: &ConnectionRow, vault: &Vault) -> Result<Provider, String> {
        let cached = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let tenant = TenantId::from_uuid(row.tenant_id);
        let version = (row.updated_at, self.exemptions.of(tenant));
        if let Some(provider) = cached().find(row.id, &version, Instant::now()) {
            return Ok(provider);
        }
        let base_url =
            row.settings.get("base_url").and_then(Value::as_str).and_then(|url| Url::parse(&http_address(url)).ok());
        let clients = self.http.of(tenant);
        let outbound_access = OutboundAccess {
            http: base_url.map_or_else(|| clients.usual(), |url| clients.of(&url)),
            websockets: self.websockets.of(tenant),
            addresses: self.addresses(tenant),
        };
        let provider = match row.provider.as_str() {
            "local" => self.local.clone(),
            "scripted" => scripted(&row.settings)?,
            "openai" => openai(&Self::connect(row, vault, &outbound_access)?)?,
            "anthropic" => anthropic(&Self::connect(row, vault, &outbound_access)?)?,
            "gemini" => gemini(&Self::connect(row, vault, &outbound_access)?)?,
            "assemblyai" => assemblyai(&Self::connect(row, vault, &outbound_access)?)?,
            "cartesia" => cartesia(&Self::connect(row, vault, &outbound_access)?)?,
            "deepgram" => deepgram(&Self::connect(row, vault, &outbound_access)?)?,
            "elevenlabs" => elevenlabs(&Self::connect(row, vault, &outbound_access)?)?,
            other => return Err(format!("this version cannot use {other} yet.")),
        };
        let prices = self.prices.of(&row.provider).with(&row.settings)?;
        let provider = Provider { prices, ..provider }.offered(&row.settings)?;
        cached().keep(row.id, version, Instant::now(), provider.clone());
        Ok(provider)
    }

    fn connect<'a>(
        row: &'a ConnectionRow,
        vault: &Vault,
        outbound_access: &'a OutboundAccess,
    ) -> Result<AdapterConfig<'a>, String> {
        let credentials = row.open(vault).map_err(|error| format!("its credentials cannot be read: {error}."))?;
        Ok(AdapterConfig {
            http: &outbound_access.http,
            websockets: &outbound_access.websockets,
            addresses: &outbound_access.addresses,
            settings: &row.settings,
            key: key(&credentials),
        })
    }
}

/// By what a connection's provider is outbound_access.
struct OutboundAccess {
    http: reqwest::Client,
    websockets: WebSockets,
    addresses: AddressPolicy,
}

/// A client for requests to providers.
fn client(settings: &ClientSettings) -> ClientBuilder {
    settings
        .builder()
        .connect_timeout(CONNECT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .http2_keep_alive_interval(HTTP2_KEEPALIVE.0)
        .http2_keep_alive_timeout(HTTP2_KEEPALIVE.1)
        .http2_keep_alive_while_idle(true)
}

fn openai(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    let (stt, llm, tts) =
        (openai::stt::default_model(config)?, openai::chat::DEFAULT_MODEL, openai::speech::DEFAULT_MODEL);
    let realtime = config.text("realtime_model")?.unwrap_or(openai::speech_to_speech::DEFAULT_MODEL);
    Ok(Provider {
        stt: Some(openai::stt::connect(config)?),
        llm: Some(openai::chat::connect(config)?),
        tts: Some(openai::speech::connect(config, TtsTimeouts::default())?),
        realtime: Some(openai::speech_to_speech::connect(config)?),
        default: DefaultModels { realtime: Some(realtime.to_owned()), ..DefaultModels::of(config, stt, llm, tts)? },
        ..Provider::named("openai")
    })
}

fn anthropic(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        llm: Some(anthropic::connect(config)?),
        default: DefaultModels::of(config, "", anthropic::DEFAULT_MODEL, "")?,
        ..Provider::named("anthropic")
    })
}

fn gemini(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        llm: Some(gemini::connect(config)?),
        default: DefaultModels::of(config, "", gemini::DEFAULT_MODEL, "")?,
        ..Provider::named("gemini")
    })
}

fn assemblyai(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(assemblyai::stt::connect(config)?),
        // Which one it is depends on the agent's language; they have one price.
        default: DefaultModels::of(config, assemblyai::stt::ENGLISH, "", "")?,
        ..Provider::named("assemblyai")
    })
}

fn cartesia(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(cartesia::stt::connect(config)?),
        tts: Some(cartesia::tts::connect(config, TtsTimeouts::default())?),
        default: DefaultModels::of(config, "", "", cartesia::tts::DEFAULT_MODEL)?,
        ..Provider::named("cartesia")
    })
}

fn deepgram(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(deepgram::stt::connect(config)?),
        tts: Some(deepgram::tts::connect(config, TtsTimeouts::default())?),
        default: DefaultModels::of(config, deepgram::stt::DEFAULT_MODEL, "", deepgram::tts::DEFAULT_VOICE)?,
        ..Provider::named("deepgram")
    })
}

fn elevenlabs(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(elevenlabs::stt::connect(config)?),
        tts: Some(elevenlabs::tts::connect(config, TtsTimeouts::default())?),
        default: DefaultModels::of(config, elevenlabs::stt::DEFAULT_MODEL, "", elevenlabs::tts::DEFAULT_MODEL)?,
        ..Provider::named("elevenlabs")
    })
}

fn scripted(settings: &Map<String, Value>) -> Result<Provider, String> {
    let llm = ScriptedLlm::new(settings.get("flow")).map_err(|error| error.to_string())?;
    Ok(Provider {
        stt: Some(Arc::new(ScriptedStt)),
        llm: Some(Arc::new(llm)),
        tts: Some(Arc::new(ScriptedTts)),
        ..Provider::named("scripted")
    })
}

fn key(credentials: &Private<Credentials>) -> Option<Private<String>> {
    credentials.reveal().get("api_key").cloned().map(Private::new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a connection with these settings charges for hearing a minute, reading and speaking.
    fn rates(
        make: fn(&AdapterConfig<'_>) -> Result<Provider, String>,
        name: &str,
        settings: Value,
    ) -> [Option<f64>; 3] {
        crate::lifecycle::install_tls();
        let addresses = AddressPolicy::default();
        let config = AdapterConfig {
            http: &reqwest::Client::new(),
            websockets: &WebSockets::new(&Config::for_tests("/nonexistent"), &addresses).expect("a client"),
            addresses: &addresses,
            settings: settings.as_object().expect("an object"),
            key: None,
        };
        let prices = Prices::load(None).expect("a table").of(name);
        let provider = Provider { prices, ..make(&config).expect("good settings") };
        [
            provider.stt_rates(None).and_then(|rates| rates.stt_minute),
            provider.llm_rates(None).and_then(|rates| rates.llm_input_million),
            provider.tts_rates(None).and_then(|rates| rates.tts_characters_million),
        ]
    }

    fn version(written: i64) -> ConnectionVersion {
        (written, AddressPolicy::default())
    }

    #[test]
    fn hearing_thinking_and_speaking_have_each_the_price_of_their_own_model() {
        assert_eq!(rates(openai, "openai", json!({})), [Some(0.0045), Some(0.1), None]);
        let others = json!({ "stt_api": "realtime", "model": "gpt-4.1-mini", "tts_model": "tts-1" });
        assert_eq!(rates(openai, "openai", others), [Some(0.017), Some(0.4), Some(15.0)]);
        assert_eq!(rates(deepgram, "deepgram", json!({})), [Some(0.0048), None, Some(30.0)]);
        assert_eq!(rates(elevenlabs, "elevenlabs", json!({ "tts_model": "eleven_multilingual_v2" }))[2], Some(100.0));
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
    fn a_provider_is_kept_for_its_version_and_forgotten_when_nobody_uses_it() {
        let (mut cached, id, start) = (ProviderCache::default(), Uuid::nil(), Instant::now());
        cached.keep(id, version(1), start, Provider::named("scripted"));
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
    fn a_connection_is_for_what_its_settings_say() {
        let provider = || scripted(&Map::new()).expect("a provider");
        let offered = |kinds: Value| provider().offered(json!({ "kinds": kinds }).as_object().expect("an object"));
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
