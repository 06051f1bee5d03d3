//! Turns an agent's configuration into the carrier and the pipeline of providers of a call.
//!
//! Carriers and providers are created once per connection and version of it, and shared by all calls: they hold sockets, caches and
//! models. A failure to create one is a `config_error` that names the connection.

mod carriers;
mod schemas;
mod unsupported_options;
mod voices;

pub use voices::VoiceError;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchhook_carriers::address::Addresses;
use switchhook_carriers::registry::{self, Drivers};
use switchhook_carriers::{CallControl, Carrier, ProviderFault};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, Fallback, RealtimeChoice, fill_in};
use switchhook_core::call::Timing;
use switchhook_core::entered::trimmed;
use switchhook_core::id::{AgentId, ConnectionId, TenantId};
use switchhook_core::privacy::Redact;
use switchhook_core::private::Private;
use switchhook_media::format::AudioFormat;
use switchhook_providers::check::{self, AgentTools, Check};
use switchhook_providers::entry::Provider;
use switchhook_providers::json_schema::Schema;
use switchhook_providers::llm::Withheld;
use switchhook_providers::local::LocalModel;
use switchhook_providers::prices::Rates;
use switchhook_providers::registry::{ProviderConnection, Registry};
use switchhook_providers::scripted::NeverResponds;
use switchhook_providers::{Llm, Stt, SttOptions, Tts, without_secret};
use switchhook_vault::Vault;

use self::carriers::Carriers;
use crate::config::Config;
use crate::recordings::Recordings;
use crate::store::agents::AgentRow;
use crate::store::calls::CallRow;
use crate::store::connections::ConnectionRow;
use crate::store::{Conn, Store, agents, connections};
use crate::talk::Settings;
use crate::talk::audience::Audience;
use crate::talk::phrase_cache::PhraseCache;
use crate::talk::pipeline::{AllResponseTimes, KnownRates, LlmSettings, Pipeline};
use crate::talk::provider_health::RateLimits;
use crate::talk::realtime::Model;
use crate::talk::tools::secrets::{self, Secrets};
use crate::talk::tools::{Lists, Shared, Toolbox, own_specs};
use crate::talk::voice::TtsSettings;

/// The most agents whose tools the test of a connection sends.
const TESTED_AGENTS: i64 = 20;

/// Everything that is known about a call before it is dialled.
pub struct CallSetup {
    /// The ring timeout, in seconds.
    pub ring_timeout_seconds: u32,
    /// STT, LLM and TTS.
    pub pipeline: Pipeline,
    /// The speech-to-speech models that take its place, in order of preference; empty if the agent has none.
    pub realtime: Vec<Model>,
    /// The settings of the conversation.
    pub talk: Settings,
    /// The schema of the call's outcome.
    pub outcome: Option<Schema>,
}

impl CallSetup {
    /// Sets the call's audio format to that of its carrier.
    pub fn set_format(&mut self, format: AudioFormat) {
        self.talk.format = format;
        self.pipeline.stt.iter_mut().for_each(|(_, options)| options.format = format);
        self.pipeline.tts.iter_mut().for_each(|(_, settings)| settings.format = format);
    }

    /// Injects a fault into the call's providers.
    pub fn inject(&mut self, fault: ProviderFault) {
        match fault {
            ProviderFault::ModelNeverResponds => {
                self.realtime.iter_mut().for_each(|model| model.provider = Arc::new(NeverResponds));
                self.pipeline.llm = vec![(Arc::new(NeverResponds), LlmSettings::default())];
            }
        }
    }
}

/// Why a call cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Something it needs is missing or invalid; one sentence. The call ends with `config_error`.
    #[error("{0}")]
    Config(String),
    /// The database failed. That says nothing about the call, so it is retried.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The agent's schemas were not compiled in time. That says nothing about the call either.
    #[error("the agent's schemas were not compiled in time: this node is too busy")]
    Late,
}

impl SetupError {
    fn config(words: impl Into<String>) -> Self {
        Self::Config(words.into())
    }

    /// Separates errors of the call, such as an agent that a later version has written, from errors of the database.
    ///
    /// # Errors
    /// The database's error. A node that is too busy has that of a database that is.
    pub fn apart<T>(result: Result<T, Self>) -> Result<Result<T, String>, sqlx::Error> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(Self::Config(words)) => Ok(Err(words)),
            // Every retry would fail the same way. The error may contain what is stored, and is not logged.
            Err(Self::Database(sqlx::Error::ColumnDecode { index, .. })) => {
                tracing::error!(column = index, "what is stored cannot be read");
                Ok(Err("what is stored for it cannot be read by this version of Switchhook.".to_owned()))
            }
            Err(Self::Database(error)) => Err(error),
            Err(late @ Self::Late) => {
                tracing::warn!("{late}");
                Err(sqlx::Error::PoolTimedOut)
            }
        }
    }
}

/// Creates and caches carriers and providers.
pub struct Setup {
    config: Arc<Config>,
    vault: Vault,
    providers: Registry,
    carriers: Carriers,
    /// The tools of MCP servers.
    lists: Arc<Lists>,
    /// The response times of models.
    paces: AllResponseTimes,
    /// The rate limits of models and voices.
    limits: RateLimits,
    /// Cached speech.
    phrases: Arc<PhraseCache>,
}

impl Setup {
    /// Creates it with empty caches.
    ///
    /// # Errors
    /// If the client for requests to carriers cannot be created.
    pub fn new(config: Arc<Config>, vault: Vault, providers: Registry, addresses: Addresses) -> anyhow::Result<Self> {
        let carriers = Carriers::new(&config, vault.clone(), providers.exemptions().clone(), addresses)?;
        Ok(Self {
            config,
            vault,
            providers,
            carriers,
            lists: Arc::default(),
            paces: AllResponseTimes::default(),
            limits: RateLimits::default(),
            phrases: Arc::default(),
        })
    }

    /// Returns where carriers reach this service.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.carriers.addresses
    }

    /// Returns the carriers of this node.
    #[must_use]
    pub fn drivers(&self) -> &Drivers {
        &self.carriers.drivers
    }

    /// Plans the conversation of the call in `row`.
    ///
    /// # Errors
    /// If something it needs is missing or invalid, or the database fails.
    pub async fn plan(&self, store: &Store, row: &CallRow) -> Result<CallSetup, SetupError> {
        let mut conn = store.read().await?;
        let tenant = row.tenant();
        let agent = agents::version(&mut conn, tenant, AgentId::from_uuid(row.agent_id), row.agent_version)
            .await?
            .ok_or_else(|| SetupError::config("The agent of this call no longer exists."))?;
        drop(conn);
        let agent = for_call(agent, row);
        let schemas = schemas::compile(&agent).await?;
        let mut conn = store.read().await?;
        let pipeline = self.pipeline(&mut conn, tenant, &agent, &schemas.parameters, row).await?;
        let realtime = self.realtime(&mut conn, tenant, &agent).await?;
        let recordings = Recordings::below(&self.config.data_dir);
        let recording = agent.recording.enabled.then(|| recordings.of(row.tenant_id, row.id));
        Ok(CallSetup {
            ring_timeout_seconds: agent.limits.ring_timeout_seconds,
            pipeline,
            realtime,
            talk: Settings {
                log_inputs: self.config.replay_days > 0 && may_be_logged(&agent),
                agent,
                recording,
                audience: Audience::default(),
                format: AudioFormat::default(),
            },
            outcome: schemas.outcome,
        })
    }

    /// Loads the local speech models that the agent uses, once per process. A model that cannot be loaded is reported when it is used.
    pub async fn load_local_speech(&self, agent: &AgentConfig) {
        if agent.realtime.is_some() {
            return; // Its TTS only speaks where the model cannot.
        }
        let hears = agent.stt.as_ref().is_none_or(|stt| stt.connection_id.is_none());
        let speaks = agent.tts.as_ref().is_none_or(|tts| tts.connection_id.is_none());
        let used = [(hears, LocalModel::Stt), (speaks, LocalModel::Tts)];
        let used = used.into_iter().filter_map(|(used, model)| used.then_some(model));
        let speech = self.providers.local_speech();
        join_all(used.map(|model| speech.load(model))).await;
    }

    /// Returns the carrier of the call in `row`. That suffices to end a leg, even if the conversation cannot be set up.
    ///
    /// # Errors
    /// As [`Setup::plan`].
    pub async fn carrier(&self, store: &Store, row: &CallRow) -> Result<Arc<Carrier>, SetupError> {
        if !registry::has_connections(&row.provider) {
            return self.carriers.without_connection(&row.provider, row.tenant()).map_err(SetupError::config);
        }
        let id = ConnectionId::from_uuid(row.connection_id);
        let row = connections::get(&mut store.read().await?, row.tenant(), id)
            .await?
            .ok_or_else(|| SetupError::config("The carrier connection of this call no longer exists."))?;
        self.carrier_of(&row)
    }

    /// Returns the carrier of a connection.
    ///
    /// # Errors
    /// If its settings or credentials are invalid.
    pub fn carrier_of(&self, row: &ConnectionRow) -> Result<Arc<Carrier>, SetupError> {
        self.carriers.get(row).map_err(|words| SetupError::config(format!("Connection {}: {words}", row.name)))
    }

    /// Drops the carrier and providers of a connection that has changed or is gone.
    pub fn forget_connection(&self, id: ConnectionId) {
        self.carriers.forget(id);
        self.providers.forget(id);
    }

    /// Drops carriers and providers, and with them their credentials, that no call has used for an hour.
    pub fn forget_unused(&self) {
        self.carriers.forget_unused();
        self.providers.forget_unused();
    }

    /// Tests a connection with its credentials, and with the tools of agents that use it, without placing a call, within `deadline`.
    /// Secrets are not in the result.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn check(
        &self,
        store: &Store,
        row: &ConnectionRow,
        carries: bool,
        deadline: Duration,
    ) -> Result<Vec<Check>, sqlx::Error> {
        let mut checks = if carries {
            vec![match self.carrier_of(row) {
                Ok(carrier) => Check::within(deadline, "carrier", verify(&*carrier.control)).await,
                Err(words) => Check::failed("settings", words.to_string()),
            }]
        } else if row.provider == secrets::PROVIDER {
            vec![match Secrets::of(row, &self.vault) {
                Ok(secrets) => secrets.check(&self.providers.tools(TenantId::from_uuid(row.tenant_id)), deadline).await,
                Err(words) => Check::failed("settings", format!("Connection {}: {words}", row.name)),
            }]
        } else {
            match self.provider_of(row) {
                Ok(provider) => {
                    let (tenant, id) = (TenantId::from_uuid(row.tenant_id), ConnectionId::from_uuid(row.id));
                    let found = agents::using(&mut store.read().await?, tenant, id, TESTED_AGENTS).await;
                    let found = SetupError::apart(found.map_err(SetupError::from))?;
                    let unreadable = found.as_ref().err().map(|words| {
                        Check::failed("settings", format!("An agent that uses connection {}: {words}", row.name))
                    });
                    let tools = tools_of(&found.unwrap_or_default(), row);
                    let mut checks = check::provider(&provider, tools, deadline).await;
                    checks.extend(unreadable);
                    checks
                }
                Err(words) => vec![Check::failed("settings", format!("Connection {}: {words}", row.name))],
            }
        };
        // A provider that refuses a key may quote it.
        let secrets = row.open(&self.vault).unwrap_or_default();
        for check in &mut checks {
            for secret in secrets.reveal().values() {
                check.detail = without_secret(&check.detail, secret);
            }
        }
        Ok(checks)
    }

    async fn pipeline(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
        schemas: &HashMap<String, Schema>,
        row: &CallRow,
    ) -> Result<Pipeline, SetupError> {
        let shared =
            Shared { lists: self.lists.clone(), agent: AgentId::from_uuid(row.agent_id), version: row.agent_version };
        let secrets = self.secrets(conn, tenant, agent).await?;
        let variables = variables(agent, row);
        let tools =
            Toolbox::new(self.providers.tools(tenant), &shared, agent, &variables, &secrets, schemas, row.call_id());
        // Speech to speech needs no STT, and an LLM for post-call analysis only if one is named.
        let (hears, thinks) = (agent.realtime.is_none(), agent.realtime.is_none() || agent.llm.is_some());
        let stt = if hears { self.stt(conn, tenant, agent).await? } else { Vec::new() };
        let llm = if thinks { self.llm(conn, tenant, agent).await? } else { Vec::new() };
        let (stt, stt_rates) = stt.into_iter().unzip();
        let (llm, llm_rates) = llm.into_iter().unzip();
        let (tts, tts_rates) = self.tts(conn, tenant, agent).await?.into_iter().unzip();
        let rates = KnownRates { stt: stt_rates, llm: llm_rates, tts: tts_rates };
        let hedge = agent.llm.as_ref().is_some_and(|llm| llm.hedge);
        Ok(Pipeline {
            stt,
            llm,
            tts,
            phrases: self.phrases.clone(),
            tools: Arc::new(tools),
            rates,
            hedge,
            withheld: Withheld::default(),
        })
    }

    async fn stt(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
    ) -> Result<Vec<Charged<(Arc<dyn Stt>, SttOptions)>>, SetupError> {
        let choice = agent.stt.as_ref();
        let keyterms = choice.map(|stt| stt.keyterms.clone()).unwrap_or_default();
        let (id, model) = choice.map_or((None, None), |stt| (stt.connection_id, stt.model.clone()));
        let mut found = Vec::new();
        for (id, model, _) in with_fallbacks(id, model, None, choice.map_or(&[], |stt| &stt.fallbacks)) {
            let provider = self.provider(conn, tenant, id, "local").await?;
            let rates = provider.stt_rates(model.as_deref());
            let stt = provider.stt().map_err(SetupError::config)?;
            let options = SttOptions {
                language: agent.language.clone(),
                model,
                keyterms: keyterms.clone(),
                ..SttOptions::default()
            };
            found.push(((stt, options), rates));
        }
        Ok(found)
    }

    async fn llm(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
    ) -> Result<Vec<Charged<(Arc<dyn Llm>, LlmSettings)>>, SetupError> {
        let choice = agent.llm.as_ref();
        let (id, model) = choice.map_or((None, None), |llm| (llm.connection_id, llm.model.clone()));
        let (temperature, max_tokens) = choice.map_or((None, None), |llm| (llm.temperature, llm.max_tokens));
        let mut found = Vec::new();
        for (id, model, _) in with_fallbacks(id, model, None, choice.map_or(&[], |llm| &llm.fallbacks)) {
            let provider = self.provider(conn, tenant, id, "scripted").await?;
            let rates = provider.llm_rates(model.as_deref());
            let llm = provider.llm().map_err(SetupError::config)?;
            let pace = self.paces.of(id, model.as_deref());
            let proven = self.limits.of("llm", id, model.as_deref());
            found.push((
                (llm, LlmSettings { model, temperature, max_tokens, response_times: pace, health: proven }),
                rates,
            ));
        }
        Ok(found)
    }

    async fn tts(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
    ) -> Result<Vec<Charged<(Arc<dyn Tts>, TtsSettings)>>, SetupError> {
        let choice = agent.tts.as_ref();
        let (id, model) = choice.map_or((None, None), |tts| (tts.connection_id, tts.model.clone()));
        let voice = choice.and_then(|tts| tts.voice.clone());
        let speed = choice.and_then(|tts| tts.speed).unwrap_or(1.0);
        let mut found = Vec::new();
        for (id, model, voice) in with_fallbacks(id, model, voice, choice.map_or(&[], |tts| &tts.fallbacks)) {
            let provider = self.provider(conn, tenant, id, "local").await?;
            let rates = provider.tts_rates(model.as_deref());
            let tts = provider.tts().map_err(SetupError::config)?;
            let (language, proven) = (agent.language.clone(), self.limits.of("tts", id, model.as_deref()));
            let format = AudioFormat::default();
            found.push(((tts, TtsSettings { voice, model, speed, language, format, health: proven }), rates));
        }
        Ok(found)
    }

    /// Returns the secrets of the connections that the agent's tools name.
    async fn secrets(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
    ) -> Result<HashMap<ConnectionId, Secrets>, SetupError> {
        let mut found = HashMap::new();
        for id in agent.tools.iter().filter_map(|tool| tool.connection_id) {
            let row = connections::get(conn, tenant, id).await?.ok_or_else(|| no_longer_exists(id))?;
            let secrets = Secrets::of(&row, &self.vault);
            found.insert(id, secrets.map_err(|words| SetupError::config(format!("Connection {}: {words}", row.name)))?);
        }
        Ok(found)
    }

    async fn realtime(&self, conn: &mut Conn, tenant: TenantId, agent: &AgentConfig) -> Result<Vec<Model>, SetupError> {
        let Some(RealtimeChoice { connection_id, model, voice, fallbacks }) = &agent.realtime else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (id, model, voice) in with_fallbacks(Some(*connection_id), model.clone(), voice.clone(), fallbacks) {
            let provider = self.provider(conn, tenant, id, "").await?;
            let rates = provider.realtime_rates(model.as_deref());
            let provider = provider.realtime().map_err(SetupError::config)?;
            found.push(Model { provider, model, voice, rates });
        }
        Ok(found)
    }

    /// Returns the provider of a connection, or the built-in one without a connection.
    async fn provider(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        id: Option<ConnectionId>,
        built_in: &'static str,
    ) -> Result<Provider, SetupError> {
        let Some(id) = id else { return self.providers.built_in(built_in).map_err(SetupError::config) };
        let row = connections::get(conn, tenant, id).await?.ok_or_else(|| no_longer_exists(id))?;
        self.provider_of(&row).map_err(|words| SetupError::config(format!("Connection {}: {words}", row.name)))
    }

    fn provider_of(&self, row: &ConnectionRow) -> Result<Provider, String> {
        let connection = ProviderConnection {
            id: ConnectionId::from_uuid(row.id),
            tenant: TenantId::from_uuid(row.tenant_id),
            provider: &row.provider,
            settings: &row.settings,
            updated_at: Timestamp::from_micros(row.updated_at),
        };
        self.providers.for_connection(&connection, || {
            let credentials =
                row.open(&self.vault).map_err(|error| format!("its credentials cannot be read: {error}."))?;
            // It was stored before pasted keys were trimmed.
            Ok(credentials.reveal().get("api_key").map(|key| Private::new(trimmed(key).to_owned())))
        })
    }
}

fn no_longer_exists(id: ConnectionId) -> SetupError {
    SetupError::config(format!("Connection {id} of the agent no longer exists."))
}

async fn verify(carrier: &dyn CallControl) -> Result<String, String> {
    match carrier.verify().await {
        Ok(found) => Ok(found),
        Err(error) => Err(format!("{}.", error.message.trim_end_matches('.'))),
    }
}

/// A provider, and its prices if they are known.
type Charged<T> = (T, Option<Rates>);
/// A connection, a model and a voice.
type Choice = (Option<ConnectionId>, Option<String>, Option<String>);

fn with_fallbacks(
    id: Option<ConnectionId>,
    model: Option<String>,
    voice: Option<String>,
    fallbacks: &[Fallback],
) -> impl Iterator<Item = Choice> + use<> {
    let rest: Vec<Choice> =
        fallbacks.iter().map(|f| (Some(f.connection_id), f.model.clone(), f.voice.clone())).collect();
    std::iter::once((id, model, voice)).chain(rest)
}

/// Returns the agent with this call's overrides, localised and with its variables filled in.
fn for_call(mut agent: AgentConfig, row: &CallRow) -> AgentConfig {
    let request = &row.request.0;
    let overrides = &request.overrides;
    agent.localise();
    if let Some(greeting) = &overrides.greeting {
        agent.greeting.text.clone_from(greeting);
    }
    if let Some(instructions) = &overrides.instructions {
        agent.instructions.clone_from(instructions);
    }
    if let Some(limits) = &overrides.limits {
        agent.limits = limits.clone();
    }
    if let Some(answering_machine) = &request.answering_machine {
        agent.answering_machine = answering_machine.clone();
    }
    if let Some(seconds) = request.ring_timeout_seconds {
        agent.limits.ring_timeout_seconds = seconds;
    }
    let variables = variables(&agent, row);
    agent.greeting.text = fill_in(&agent.greeting.text, &variables);
    agent.admit_demo_script();
    agent.instructions = fill_in(&agent.instructions, &variables);
    if let Some(message) = &mut agent.answering_machine.message {
        *message = fill_in(message, &variables);
    }
    agent
}

/// Returns the tools of `agents` in the form that calls send them to the models of a connection.
fn tools_of(agents: &[AgentRow], connection: &ConnectionRow) -> AgentTools {
    let mut tools = AgentTools::default();
    for agent in agents {
        let uses = |part: &str| {
            let fields = agent.config.connections();
            fields.iter().any(|(field, id)| field.starts_with(part) && id.uuid() == connection.id)
        };
        // Of an agent with speech to speech, the language model only analyses calls, without tools.
        if agent.config.realtime.is_none() && uses("llm.") {
            tools.add(own_specs(&agent.config));
        }
        if tools.speech_to_speech.is_empty() && uses("realtime.") {
            tools.speech_to_speech = own_specs(&agent.config);
        }
    }
    tools
}

/// Returns whether the inputs of a call can be logged without the data that the agent redacts. Email addresses are spread over several
/// inputs, word by word and as a model streams them, so no single input looks like one.
fn may_be_logged(agent: &AgentConfig) -> bool {
    !agent.privacy.redact.contains(&Redact::EmailAddresses)
}

/// Returns the call's variables, with the agent's defaults for those that it does not set.
fn variables(agent: &AgentConfig, row: &CallRow) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> =
        agent.variables.iter().filter_map(|(name, v)| v.default.clone().map(|value| (name.clone(), value))).collect();
    variables.extend(row.request.0.variables.clone());
    variables
}

/// Returns the deadlines of a call's phases.
#[must_use]
pub fn timing(config: &Config, plan: Option<&CallSetup>) -> Timing {
    let limits = plan.map(|plan| plan.talk.agent.limits.clone()).unwrap_or_default();
    Timing {
        ring_timeout: Duration::from_secs(limits.ring_timeout_seconds.into()),
        max_duration: Duration::from_secs(limits.max_duration_seconds.into()),
        media_timeout: config.media_timeout,
        ..Timing::default()
    }
}
