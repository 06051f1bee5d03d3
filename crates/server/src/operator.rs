//! Operator commands on the database, whether or not the service runs: tenants, keys, seeding.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::json;
use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, LlmChoice};
use switchhook_core::id::{AgentId, ApiKeyId, ConnectionId, NumberId, TenantId};
use switchhook_core::private::Private;
use switchhook_runtime::clock::{self, Clock};

use crate::catalogue::{self, ConnectionKind};
use crate::config::Config;
use crate::http::tenant::DialPolicyResource;
use crate::store::agents::AgentRow;
use crate::store::bounds::BOUNDS;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::NumberRow;
use crate::store::page::PageRequest;
use crate::store::tenants::{OwnLimits, OwnRules, TenantRow};
use crate::store::{Store, agents, api_keys, connections, dial_policy, numbers, tenants};

/// The provider of the demo agent's language model, which follows a script.
const DEMO_SCRIPT: &str = "scripted";

/// A tenant for output.
#[derive(Clone, Debug, Serialize)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// Its name.
    pub name: String,
    /// Whether its keys work.
    pub active: bool,
    /// Authenticated requests in any 60 seconds.
    pub rate_limit: u32,
    /// Concurrent calls.
    pub concurrent_calls: u32,
    /// Calls in a calendar month.
    pub monthly_calls: Option<u32>,
    /// Its stored limits, by name.
    pub stored_limits: BTreeMap<&'static str, i64>,
    /// Its dial policy.
    pub dial_policy: DialPolicyResource,
    /// Private addresses that its tools and providers can reach beside those of the configuration.
    pub outbound_allow: String,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Tenant {
    /// Converts a row and the limits that apply to it.
    #[must_use]
    pub fn of(row: &TenantRow, config: &Config) -> Self {
        let limits = row.limits(config);
        Self {
            id: row.tenant(),
            name: row.name.clone(),
            active: row.active,
            rate_limit: limits.rate_per_minute,
            concurrent_calls: limits.concurrent_calls,
            monthly_calls: limits.monthly_calls,
            stored_limits: BOUNDS.iter().map(|bound| (bound.name, row.bound(bound.of))).collect(),
            dial_policy: dial_policy::of(row).into(),
            outbound_allow: row.outbound_allow.clone(),
            created_at: Timestamp::from_micros(row.created_at),
        }
    }
}

/// A new key, shown only this once. It has no `Debug`, which would print it.
#[derive(Clone, Serialize)]
pub struct NewKey {
    /// Its id.
    pub id: ApiKeyId,
    /// Its label.
    pub name: Option<String>,
    /// Its public part.
    pub prefix: String,
    /// The whole key.
    pub key: String,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A new tenant and its first key.
#[derive(Clone, Serialize)]
pub struct NewTenant {
    /// The tenant.
    pub tenant: Tenant,
    /// Its first key.
    pub api_key: NewKey,
}

/// Creates a tenant with a first key.
///
/// # Errors
/// If the database fails or the name is empty.
pub async fn create_tenant(store: &Store, config: &Config, name: &str, limits: OwnLimits) -> anyhow::Result<NewTenant> {
    anyhow::ensure!(!name.trim().is_empty(), "the tenant's name must not be empty");
    let now = Clock::system().now();
    let mut tx = store.begin().await?;
    let row = tenants::create_for_operator(&mut tx, TenantId::new(now, clock::random()), name, limits, now).await?;
    let issued = api_keys::issue(&mut tx, row.tenant(), config.env, Some("first key"), None, now).await?;
    tx.commit().await?;
    Ok(NewTenant { tenant: Tenant::of(&row, config), api_key: new_key(&issued) })
}

/// Returns the tenant with this id, or without one the only active tenant; else a sentence.
///
/// # Errors
/// When the database fails, or there is no tenant with this id.
pub async fn tenant_or_only(store: &Store, id: Option<TenantId>) -> anyhow::Result<Result<TenantId, String>> {
    let mut conn = store.read().await?;
    if let Some(id) = id {
        let row = tenants::get(&mut conn, id).await?.with_context(|| format!("tenant {id} does not exist"))?;
        return Ok(Ok(row.tenant()));
    }
    let active = tenants::list_for_operator(&mut conn).await?.into_iter().filter(|row| row.active).collect::<Vec<_>>();
    Ok(match active.as_slice() {
        [only] => Ok(only.tenant()),
        [] => Err("there is no active tenant: create one with switchhook tenant create NAME".to_owned()),
        many => {
            let named = many.iter().take(10).map(|row| format!("{} ({})", row.tenant(), row.name));
            let named = named.collect::<Vec<_>>().join(", ");
            Err(format!("there are {} active tenants: name one with --tenant: {named}", many.len()))
        }
    })
}

/// Creates another key for a tenant.
///
/// # Errors
/// If the database fails or the tenant does not exist.
pub async fn create_key(
    store: &Store,
    config: &Config,
    tenant: TenantId,
    name: Option<&str>,
    expires_in_days: Option<u32>,
) -> anyhow::Result<NewKey> {
    let now = Clock::system().now();
    let expires_at = expires_in_days.map(|days| now + std::time::Duration::from_secs(86_400) * days);
    let mut tx = store.begin().await?;
    tenants::get(&mut tx, tenant).await?.with_context(|| format!("tenant {tenant} does not exist"))?;
    let issued = api_keys::issue(&mut tx, tenant, config.env, name, expires_at, now).await?;
    tx.commit().await?;
    Ok(new_key(&issued))
}

fn new_key(issued: &api_keys::Issued) -> NewKey {
    NewKey {
        id: ApiKeyId::from_uuid(issued.row.id),
        name: issued.row.name.clone(),
        prefix: issued.row.prefix.clone(),
        key: issued.key.reveal().to_owned(),
        expires_at: issued.row.expires_at.map(Timestamp::from_micros),
        created_at: Timestamp::from_micros(issued.row.created_at),
    }
}

/// The result of [`seed`].
#[derive(Clone, Serialize)]
pub struct Seeded {
    /// The tenant.
    pub tenant: Tenant,
    /// Its key; a new one each time, since old ones cannot be shown again.
    pub api_key: NewKey,
    /// The agent.
    pub agent_id: AgentId,
    /// The number to call from.
    pub number: String,
}

/// The name of the tenant that [`seed`] creates.
const SEEDED: &str = "dev";
/// Its agent.
const AGENT: &str = "Ava";
/// The number it calls from.
const NUMBER: &str = "+12025550199";

/// Returns whether [`seed`] has created its tenant in this database.
///
/// # Errors
/// When the database fails.
pub async fn is_seeded(store: &Store) -> Result<bool, sqlx::Error> {
    Ok(seeded_tenant(store).await?.is_some())
}

/// Returns the tenant that [`seed`] created.
///
/// # Errors
/// When the database fails.
pub async fn seeded_tenant(store: &Store) -> Result<Option<TenantRow>, sqlx::Error> {
    let tenants = tenants::list_for_operator(&mut store.read().await?).await?;
    Ok(tenants.into_iter().find(|tenant| tenant.name == SEEDED))
}

/// Creates what a first call needs, unless it exists: a tenant, connections, an agent, a number and a key.
///
/// # Errors
/// When the database fails.
pub async fn seed(store: &Store, config: &Config) -> anyhow::Result<Seeded> {
    let Some(row) = seeded_tenant(store).await? else { return seed_new_tenant(store, config).await };
    let api_key = create_key(store, config, row.tenant(), Some("seed"), None).await?;
    let mut conn = store.read().await?;
    let mut request = PageRequest::first(100);
    let agent = loop {
        let page = agents::list(&mut conn, row.tenant(), request).await?;
        if let Some(agent) = page.rows.into_iter().find(|agent| agent.name == AGENT) {
            break agent;
        }
        request.cursor = Some(page.next.context("the seeded agent was renamed or deleted")?);
    };
    Ok(Seeded { tenant: Tenant::of(&row, config), api_key, agent_id: agent.agent(), number: NUMBER.to_owned() })
}

async fn seed_new_tenant(store: &Store, config: &Config) -> anyhow::Result<Seeded> {
    let now = Clock::system().now();
    let mut tx = store.begin().await?;
    let id = TenantId::new(now, clock::random());
    let row = tenants::create_for_operator(&mut tx, id, SEEDED, OwnLimits::default(), now).await?;
    let issued = api_keys::issue(&mut tx, id, config.env, Some("seed"), None, now).await?;
    let connection = |provider: &str| {
        let connection = ConnectionId::new(now, clock::random());
        ConnectionRow::new(connection, id, provider.to_owned(), provider.to_owned(), now)
    };
    let (simulator, local, scripted) = (connection("simulator"), connection("local"), connection(DEMO_SCRIPT));
    for row in [&simulator, &local, &scripted] {
        connections::insert(&mut tx, row).await?;
    }
    let agent = AgentRow {
        id: AgentId::new(now, clock::random()).uuid(),
        tenant_id: id.uuid(),
        name: AGENT.to_owned(),
        version: 1,
        traffic: None,
        config: Json(AgentConfig { llm: Some(by_script(scripted.id)), ..table_booker() }),
        created_at: now.as_micros(),
        updated_at: now.as_micros(),
    };
    agents::insert(&mut tx, &agent).await?;
    let number = NumberRow {
        provider: "simulator".to_owned(),
        id: NumberId::new(now, clock::random()).uuid(),
        tenant_id: id.uuid(),
        number: NUMBER.to_owned(),
        label: Some("Development".to_owned()),
        connection_id: simulator.id,
        inbound_agent_id: Some(agent.id),
        created_at: now.as_micros(),
        updated_at: now.as_micros(),
    };
    numbers::insert(&mut tx, &number).await?;
    tx.commit().await?;
    Ok(Seeded {
        tenant: Tenant::of(&row, config),
        api_key: new_key(&issued),
        agent_id: agent.agent(),
        number: NUMBER.to_owned(),
    })
}

/// A language model to connect.
pub struct LanguageModel {
    /// The name of its connection.
    pub name: String,
    /// Its provider.
    pub provider: &'static str,
    /// Its server, if it is not the provider's own.
    pub base_url: Option<String>,
    /// Its model, if it is not the provider's default.
    pub model: Option<String>,
    /// Its key.
    pub key: Option<Private<String>>,
    /// A description of where it was found, for people.
    pub found: String,
}

/// Returns whether a tenant has a connection to a language model that can follow instructions.
///
/// # Errors
/// When the database fails.
pub async fn has_language_model(store: &Store, tenant: TenantId) -> Result<bool, sqlx::Error> {
    let known = connections::list(&mut store.read().await?, tenant, PageRequest::first(100)).await?.rows;
    let follows = |row: &ConnectionRow| {
        row.provider != DEMO_SCRIPT && catalogue::kinds(&row.provider, &row.settings).contains(&ConnectionKind::Llm)
    };
    Ok(known.iter().any(follows))
}

/// Connects a language model for a tenant and permits the tenant to reach its server; returns the connection, and whether it is new. One to
/// the same server gets the model and the key.
///
/// # Errors
/// When the database fails, the key file is unusable, or the name is taken.
pub async fn connect_language_model(
    store: &Store,
    config: &Config,
    tenant: TenantId,
    model: &LanguageModel,
) -> anyhow::Result<(ConnectionRow, bool)> {
    let now = Clock::system().now();
    let known = connections::list(&mut store.read().await?, tenant, PageRequest::first(100)).await?.rows;
    let same = |row: &&ConnectionRow| {
        let url = row.settings.get("base_url").and_then(serde_json::Value::as_str);
        row.provider == model.provider && url == model.base_url.as_deref()
    };
    let found = known.iter().find(same).cloned();
    let is_new = found.is_none();
    let mut row = found.unwrap_or_else(|| {
        let id = ConnectionId::new(now, clock::random());
        let taken = known.iter().any(|row| row.name == model.name);
        let name = if taken { format!("{} {id}", model.name) } else { model.name.clone() };
        ConnectionRow::new(id, tenant, name, model.provider.to_owned(), now)
    });
    if model.base_url.is_some() {
        // A self-hosted server need not have OpenAI's other APIs.
        row.settings.0.insert("kinds".to_owned(), json!(["llm"]));
    }
    for (setting, value) in [("base_url", &model.base_url), ("model", &model.model)] {
        if let Some(value) = value {
            row.settings.0.insert(setting.to_owned(), json!(value));
        }
    }
    if let Some(key) = &model.key {
        let key = [("api_key".to_owned(), key.reveal().clone())];
        row.seal(&config.open_vault()?, &Private::new(key.into()));
    } else if is_new {
        row.seal(&config.open_vault()?, &Private::default());
    }
    let mut tx = store.begin().await?;
    if is_new {
        connections::insert(&mut tx, &row).await?;
    } else {
        row.updated_at = now.as_micros();
        connections::update(&mut tx, &row).await?;
    }
    if let Some(near) = model.base_url.as_deref().and_then(exemption) {
        let tenant_row = tenants::get(&mut tx, tenant).await?.context("the tenant no longer exists")?;
        let rules = tenant_row.outbound_allow;
        if !rules.contains(&near) {
            let allowed = [rules, near].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
            let rules = OwnRules { outbound_allow: Some(allowed.join(",")), ..OwnRules::default() };
            tenants::set_rules_for_operator(&mut tx, tenant, &rules, now).await?;
        }
    }
    tx.commit().await?;
    Ok((row, is_new))
}

/// Deletes a connection that nothing uses yet.
///
/// # Errors
/// When the database fails.
pub async fn disconnect(store: &Store, row: &ConnectionRow) -> Result<(), sqlx::Error> {
    let mut tx = store.begin().await?;
    connections::delete(&mut tx, TenantId::from_uuid(row.tenant_id), ConnectionId::from_uuid(row.id)).await?;
    tx.commit().await
}

/// Returns the exemption for the server at a URL: only its address and port.
fn exemption(url: &str) -> Option<String> {
    let url: url::Url = url.parse().ok()?;
    let port = url.port_or_known_default()?;
    Some(match url.host()? {
        url::Host::Ipv4(address) => format!("{address}:{port},http"),
        url::Host::Ipv6(address) => format!("[{address}]:{port},http"),
        url::Host::Domain("localhost") => format!("127.0.0.1:{port},[::1]:{port},http"),
        url::Host::Domain(_) => return None,
    })
}

/// Follows the demo script of a connection to `scripted`.
fn by_script(connection: uuid::Uuid) -> LlmChoice {
    LlmChoice { connection_id: Some(ConnectionId::from_uuid(connection)), ..LlmChoice::default() }
}

/// The agent of the demo: it calls back guests who asked for a table.
#[must_use]
pub fn table_booker() -> AgentConfig {
    let instructions = "You are Ava from the restaurant Harbor Table, calling somebody back who asked for a table. Find out \
                        their name, the day, the time and for how many people, one question at a time. Read the booking \
                        back, and when they agree say goodbye and end the call.";
    let mut agent = AgentConfig::new(instructions);
    agent.greeting.text =
        "Hello, this is Ava from Harbor Table. You asked us for a table. May I have your name, please?".to_owned();
    agent.recording.enabled = true;
    agent.analysis.schema = Some(json!({
        "type": "object",
        "properties": {
            "name": { "type": ["string", "null"] },
            "day": { "type": ["string", "null"], "description": "A weekday, today or tomorrow" },
            "time": { "type": ["string", "null"], "description": "On the 24 hour clock, such as 19:30" },
            "people": { "type": ["integer", "null"] },
            "confirmed": { "type": "boolean", "description": "Whether the caller agreed to the booking" },
        },
        "required": ["name", "day", "time", "people", "confirmed"],
    }));
    agent
}
