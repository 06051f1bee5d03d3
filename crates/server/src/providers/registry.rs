//! Which providers there are, and one instance of each connection's for all calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use reqwest::Client;
use serde_json::{Map, Value};
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use uuid::Uuid;

use super::anthropic::{self, ANTHROPIC_URL};
use super::connect::Connect;
use super::gemini::{self, GEMINI_URL};
use super::local::{LocalSpeech, LocalStt, LocalTts};
use super::openai::{self, OPENAI_URL};
use super::prices::{PriceList, Prices, Rates};
use super::realtime::Realtime;
use super::scripted::{ScriptedLlm, ScriptedStt, ScriptedTts};
use super::voice::Deadlines;
use super::{Llm, Stt, Tts, assemblyai, cartesia, deepgram, elevenlabs};
use crate::config::Config;
use crate::models::Models;
use crate::outbound::{self, ws::WebSockets};
use crate::store::connections::{ConnectionRow, Credentials};
use crate::vault::Vault;

/// Until a connection to a provider is made.
pub(crate) const CONNECT: Duration = Duration::from_secs(3);
/// A connection that is kept saves its making in the next turn.
const KEEP_IDLE: Duration = Duration::from_secs(90);

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
    /// The connection's model, or the provider's usual one.
    model: Option<String>,
    /// The same of speech to speech.
    realtime_model: Option<String>,
}

impl Provider {
    /// What a model of this provider charges, as far as that is known.
    #[must_use]
    pub fn rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.model.as_deref())).copied()
    }

    /// What a speech-to-speech model of this provider charges, as far as that is known.
    #[must_use]
    pub fn realtime_rates(&self, model: Option<&str>) -> Option<Rates> {
        self.prices.of(model.or(self.realtime_model.as_deref())).copied()
    }

    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Its speech to text.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn stt(self) -> Result<Arc<dyn Stt>, String> {
        self.stt.ok_or_else(|| format!("Provider {} does no speech to text in this version.", self.name))
    }

    /// Its language model.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn llm(self) -> Result<Arc<dyn Llm>, String> {
        self.llm.ok_or_else(|| format!("Provider {} has no language model in this version.", self.name))
    }

    /// Its text to speech.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn tts(self) -> Result<Arc<dyn Tts>, String> {
        self.tts.ok_or_else(|| format!("Provider {} does no text to speech in this version.", self.name))
    }

    /// Its speech to speech.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn realtime(self) -> Result<Arc<dyn Realtime>, String> {
        self.realtime.ok_or_else(|| format!("Provider {} does no speech to speech in this version.", self.name))
    }
}

/// Makes and keeps providers.
pub struct Registry {
    http: Client,
    websockets: WebSockets,
    addresses: AddressPolicy,
    tools: outbound::Client,
    prices: Prices,
    speech: Arc<LocalSpeech>,
    local: Provider,
    /// By connection, each for the version of it that was written at that time.
    made: Mutex<HashMap<Uuid, (i64, Provider)>>,
}

impl Registry {
    /// With nothing loaded or connected yet.
    ///
    /// # Errors
    /// When the client for requests to providers cannot be made.
    pub fn new(config: &Config, models: Models) -> anyhow::Result<Self> {
        let http =
            outbound::builder(config, &config.outbound_allow)?.connect_timeout(CONNECT).pool_idle_timeout(KEEP_IDLE);
        let http = http.build().context("the client for requests to providers could not be made")?;
        let speech = LocalSpeech::new(models);
        let prices = Prices::load(config.prices.as_deref())?;
        let local = Provider {
            prices: prices.of("local"),
            stt: Some(Arc::new(LocalStt::new(speech.clone()))),
            tts: Some(Arc::new(LocalTts::new(speech.clone()))),
            ..Provider::named("local")
        };
        let websockets = WebSockets::new(config, &config.outbound_allow)?;
        let tools = outbound::Client::new(config, &config.outbound_allow, TOOL)?;
        let addresses = config.outbound_allow.clone();
        Ok(Self { http, websockets, addresses, tools, prices, speech, local, made: Mutex::default() })
    }

    /// Asks the services that tools are.
    #[must_use]
    pub fn tools(&self) -> outbound::Client {
        self.tools.clone()
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
        let kept = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&row.id).cloned();
        if let Some((version, provider)) = kept
            && version == row.updated_at
        {
            return Ok(provider);
        }
        let provider = match row.provider.as_str() {
            "local" => self.local.clone(),
            "scripted" => scripted(&row.settings)?,
            "openai" => openai(&self.connect(row, vault)?)?,
            "anthropic" => anthropic(&self.connect(row, vault)?)?,
            "gemini" => gemini(&self.connect(row, vault)?)?,
            "assemblyai" => assemblyai(&self.connect(row, vault)?)?,
            "cartesia" => cartesia(&self.connect(row, vault)?)?,
            "deepgram" => deepgram(&self.connect(row, vault)?)?,
            "elevenlabs" => elevenlabs(&self.connect(row, vault)?)?,
            other => return Err(format!("this version cannot use {other} yet.")),
        };
        let prices = self.prices.of(&row.provider).with(&row.settings)?;
        let model = text(&row.settings, "model").map(str::to_owned).or(provider.model.clone());
        let provider = Provider { prices, model, ..provider };
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(row.id, (row.updated_at, provider.clone()));
        Ok(provider)
    }

    fn connect<'a>(&'a self, row: &'a ConnectionRow, vault: &Vault) -> Result<Connect<'a>, String> {
        let credentials = row.open(vault).map_err(|error| format!("its credentials cannot be read: {error}."))?;
        Ok(Connect {
            http: &self.http,
            websockets: &self.websockets,
            addresses: &self.addresses,
            settings: &row.settings,
            key: key(&credentials),
        })
    }
}

/// A provider whose language model `connect` makes.
fn model(
    name: &str,
    connect: &Connect<'_>,
    usual_url: &str,
    usual_model: &str,
    llm: impl Fn(Client, &str, Option<Private<String>>, &Map<String, Value>) -> Result<Arc<dyn Llm>, String>,
) -> Result<Provider, String> {
    let llm = llm(connect.http.clone(), &connect.base_url(usual_url)?, connect.key.clone(), connect.settings)?;
    Ok(Provider { llm: Some(llm), model: Some(usual_model.to_owned()), ..Provider::named(name) })
}

fn openai(connect: &Connect<'_>) -> Result<Provider, String> {
    let stt = openai::stt::connect(connect)?;
    let tts = openai::speech::connect(connect, Deadlines::default())?;
    let realtime = openai::speech_to_speech::connect(connect)?;
    let model = model("openai", connect, OPENAI_URL, openai::chat::USUAL_MODEL, openai::chat::connect)?;
    let realtime_model = connect.text("realtime_model")?.unwrap_or(openai::speech_to_speech::USUAL_MODEL).to_owned();
    Ok(Provider {
        stt: Some(stt),
        tts: Some(tts),
        realtime: Some(realtime),
        realtime_model: Some(realtime_model),
        ..model
    })
}

fn anthropic(connect: &Connect<'_>) -> Result<Provider, String> {
    model("anthropic", connect, ANTHROPIC_URL, anthropic::USUAL_MODEL, anthropic::connect)
}

fn gemini(connect: &Connect<'_>) -> Result<Provider, String> {
    model("gemini", connect, GEMINI_URL, gemini::USUAL_MODEL, gemini::connect)
}

fn assemblyai(connect: &Connect<'_>) -> Result<Provider, String> {
    Ok(Provider { stt: Some(assemblyai::stt::connect(connect)?), ..Provider::named("assemblyai") })
}

fn cartesia(connect: &Connect<'_>) -> Result<Provider, String> {
    let stt = cartesia::stt::connect(connect)?;
    let tts = cartesia::tts::connect(connect, Deadlines::default())?;
    Ok(Provider { stt: Some(stt), tts: Some(tts), ..Provider::named("cartesia") })
}

fn deepgram(connect: &Connect<'_>) -> Result<Provider, String> {
    let stt = deepgram::stt::connect(connect)?;
    let tts = deepgram::tts::connect(connect, Deadlines::default())?;
    Ok(Provider { stt: Some(stt), tts: Some(tts), ..Provider::named("deepgram") })
}

fn elevenlabs(connect: &Connect<'_>) -> Result<Provider, String> {
    let stt = elevenlabs::stt::connect(connect)?;
    let tts = elevenlabs::tts::connect(connect, Deadlines::default())?;
    Ok(Provider { stt: Some(stt), tts: Some(tts), ..Provider::named("elevenlabs") })
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

fn text<'a>(settings: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    settings.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn key(credentials: &Private<Credentials>) -> Option<Private<String>> {
    credentials.reveal().get("api_key").cloned().map(Private::new)
}
