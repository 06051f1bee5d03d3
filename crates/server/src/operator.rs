//! What an operator does to the database directly, whether or not the service runs: tenants, their keys, and seeding.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, LlmChoice, SttChoice, TtsChoice};
use switchhook_core::id::{ApiKeyId, ConnectionId, TenantId};

use crate::clock::{self, Clock};
use crate::config::Config;
use crate::store::tenants::{OwnLimits, TenantRow};
use crate::store::{Store, agents, api_keys, connections, numbers, tenants};

/// A tenant as it is printed.
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
    /// Calls at the same time.
    pub concurrent_calls: u32,
    /// Calls in a calendar month.
    pub monthly_calls: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Tenant {
    /// A row with the limits that apply to it.
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
            created_at: Timestamp::from_micros(row.created_at),
        }
    }
}

/// A new key, shown this once. `Debug` would print it, so there is none.
#[derive(Clone, Serialize)]
pub struct NewKey {
    /// Its id.
    pub id: ApiKeyId,
    /// Its public part.
    pub prefix: String,
    /// The whole key.
    pub key: String,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was made.
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

/// Makes a tenant with a first key.
///
/// # Errors
/// When the database fails or the name is empty.
pub async fn create_tenant(store: &Store, config: &Config, name: &str, limits: OwnLimits) -> anyhow::Result<NewTenant> {
    anyhow::ensure!(!name.trim().is_empty(), "a tenant needs a name");
    let now = Clock::system().now();
    let mut tx = store.begin().await?;
    let row = tenants::create_for_operator(&mut tx, TenantId::new(now, clock::random()), name, limits, now).await?;
    let issued = api_keys::issue(&mut tx, row.tenant(), config.env, Some("first key"), None, now).await?;
    tx.commit().await?;
    Ok(NewTenant { tenant: Tenant::of(&row, config), api_key: new_key(&issued) })
}

/// Makes another key for a tenant.
///
/// # Errors
/// When the database fails or there is no such tenant.
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
    tenants::get(&mut tx, tenant).await?.with_context(|| format!("there is no tenant {tenant}"))?;
    let issued = api_keys::issue(&mut tx, tenant, config.env, name, expires_at, now).await?;
    tx.commit().await?;
    Ok(new_key(&issued))
}

fn new_key(issued: &api_keys::Issued) -> NewKey {
    NewKey {
        id: ApiKeyId::from_uuid(issued.row.id),
        prefix: issued.row.prefix.clone(),
        key: issued.key.reveal().to_owned(),
        expires_at: issued.row.expires_at.map(Timestamp::from_micros),
        created_at: Timestamp::from_micros(issued.row.created_at),
    }
}

/// What [`seed`] made.
#[derive(Clone, Serialize)]
pub struct Seeded {
    /// The tenant.
    pub tenant: Tenant,
    /// Its key; a new one each time, since old ones cannot be shown again.
    pub api_key: NewKey,
    /// The agent.
    pub agent_id: switchhook_core::id::AgentId,
    /// The number to call from.
    pub number: String,
}

/// The name of the tenant that [`seed`] makes.
const SEEDED: &str = "dev";
/// The number it calls from.
const NUMBER: &str = "+12025550199";

/// Makes what a developer needs for a first call, unless it is there: a tenant, connections, an agent, a number, and a key.
///
/// # Errors
/// When the database fails.
pub async fn seed(store: &Store, config: &Config) -> anyhow::Result<Seeded> {
    let found = {
        let mut conn = store.read().await?;
        tenants::list_for_operator(&mut conn).await?.into_iter().find(|tenant| tenant.name == SEEDED)
    };
    match found {
        Some(row) => {
            let api_key = create_key(store, config, row.tenant(), Some("seed"), None).await?;
            let mut conn = store.read().await?;
            let agent = agents::by_name(&mut conn, row.tenant(), "Ava").await?.context("the seeded agent was deleted")?;
            Ok(Seeded { tenant: Tenant::of(&row, config), api_key, agent_id: agent, number: NUMBER.to_owned() })
        }
        None => seed_anew(store, config).await,
    }
}
