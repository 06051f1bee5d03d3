//! `switchhook key …`: recovery when a tenant has lost its last key.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Subcommand;
use switchhook_core::Timestamp;
use switchhook_core::id::{ApiKeyId, TenantId};
use switchhook_runtime::clock::Clock;

use super::{CliError, output};
use crate::config::Config;
use crate::http::api_keys::ApiKeyResource;
use crate::operator;
use crate::store::page::PageRequest;
use crate::store::{Store, api_keys, tenants};

/// Subcommands of `switchhook key`.
#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Create a key.
    Create {
        /// Id of the tenant.
        tenant: TenantId,
        /// Label of the key.
        #[arg(long)]
        name: Option<String>,
        /// Days until it expires; by default it never expires.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3_650))]
        expires_in_days: Option<u32>,
    },
    /// List a tenant's keys.
    List {
        /// Id of the tenant.
        tenant: TenantId,
    },
    /// Revoke a key at once.
    Revoke {
        /// Id of the tenant.
        tenant: TenantId,
        /// Id of the key.
        id: ApiKeyId,
    },
}

pub(super) async fn run(command: KeyCommand, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open_migrated(&config.database_url()).await?;
    let done = execute(command, &store, config, json).await;
    store.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

async fn execute(command: KeyCommand, store: &Store, config: &Config, json: bool) -> Result<(), CliError> {
    match command {
        KeyCommand::Create { tenant, name, expires_in_days } => {
            let key = operator::create_key(store, config, tenant, name.as_deref(), expires_in_days).await?;
            output::show(json, &key, |key| output::line(&format!("API key (shown only this once): {}", key.key)))?;
        }
        KeyCommand::List { tenant } => {
            let mut conn = store.read().await?;
            tenants::get(&mut conn, tenant).await?.with_context(|| format!("tenant {tenant} does not exist"))?;
            let page = api_keys::list(&mut conn, tenant, PageRequest::first(i64::from(i32::MAX))).await?;
            let keys: Vec<ApiKeyResource> = page.rows.into_iter().map(ApiKeyResource::from).collect();
            output::show(json, &keys, |keys| print(keys))?;
        }
        KeyCommand::Revoke { tenant, id } => {
            let mut tx = store.begin().await?;
            api_keys::revoke(&mut tx, tenant, id, Clock::system().now()).await?;
            let row = api_keys::get(&mut tx, tenant, id).await?;
            tx.commit().await?;
            let key = ApiKeyResource::from(row.with_context(|| format!("tenant {tenant} has no key {id}"))?);
            output::show(json, &key, |_| output::line("Revoked."))?;
        }
    }
    Ok(())
}

fn print(keys: &[ApiKeyResource]) {
    let at = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
    let row = |key: &ApiKeyResource| {
        vec![
            key.id.to_string(),
            key.prefix.clone(),
            key.name.clone().unwrap_or_default(),
            at(key.last_used_at),
            at(key.expires_at),
            at(key.revoked_at),
        ]
    };
    output::table(
        &["ID", "PREFIX", "NAME", "LAST USED", "EXPIRES", "REVOKED"],
        &keys.iter().map(row).collect::<Vec<_>>(),
    );
}
