//! `switchhook tenant …`: works while the service runs and while it is down.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Subcommand;
use switchhook_core::dial_policy::{Prefix, parse_prefixes};
use switchhook_core::id::TenantId;
use switchhook_core::webhook::AddressPolicy;
use switchhook_runtime::clock::Clock;

use super::{CliError, output};
use crate::config::Config;
use crate::operator::{self, Tenant};
use crate::store::bounds::{BOUNDS, Bound, Stored};
use crate::store::deactivation;
use crate::store::tenants::{self, MonthlyCap, OwnLimits, OwnRules};
use crate::store::{Store, Tx};

/// Subcommands of `switchhook tenant`.
#[derive(Debug, Subcommand)]
pub(super) enum TenantCommand {
    /// Create a tenant and its first key.
    Create {
        /// Name of the tenant.
        name: String,
        #[command(flatten)]
        limits: Limits,
    },
    /// List all tenants.
    List,
    /// Show one tenant.
    Show {
        /// Id of the tenant.
        id: TenantId,
    },
    /// Change a tenant's limits or name.
    Set {
        /// Id of the tenant.
        id: TenantId,
        /// New name.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        limits: Limits,
        #[command(flatten)]
        stored: StoredLimits,
        #[command(flatten)]
        rules: Rules,
    },
    /// Deactivate a tenant: its keys get 403, its calls end, its deliveries are canceled.
    Deactivate {
        /// Id of the tenant.
        id: TenantId,
    },
    /// Reactivate a tenant; ended calls and canceled deliveries are not restored.
    Activate {
        /// Id of the tenant.
        id: TenantId,
    },
}

/// Limits of a tenant; limits that are not given keep their value or default.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Authenticated requests in any 60 seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate_limit: Option<u32>,
    /// Concurrent calls: queued, dialing or in progress.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    concurrent_calls: Option<u32>,
    /// Calls in a calendar month (UTC), or none.
    #[arg(long, value_name = "N|none", value_parser = monthly)]
    monthly_calls: Option<MonthlyCap>,
}

/// Dial policy of a tenant, and private addresses that its tools and providers can reach.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Rules {
    /// Allowed number prefixes; `none` allows every country. A prefix longer than a country code also allows premium-rate,
    /// shared-cost and satellite numbers.
    #[arg(long, value_name = "+1,+44|none", value_parser = prefixes)]
    dial_allow: Option<String>,
    /// Denied number prefixes.
    #[arg(long, value_name = "+1900|none", value_parser = prefixes)]
    dial_deny: Option<String>,
    /// Calls and transfers to one number in 24 hours.
    #[arg(long, value_name = "N|none", value_parser = per_number)]
    per_number_per_day: Option<i64>,
    /// Daily cost cap (UTC) in US dollars, after which no calls are placed.
    #[arg(long, value_name = "USD|none", value_parser = dollars)]
    cost_per_day: Option<i64>,
    /// Private addresses to allow beside SWITCHHOOK_OUTBOUND_ALLOW: CIDR, CIDR:port or http.
    #[arg(long, value_name = "10.0.0.0/8:8080|none", value_parser = exemptions)]
    outbound_allow: Option<String>,
}

/// Limits of what a tenant stores: an option for each of [`BOUNDS`].
#[derive(Clone, Debug)]
pub(super) struct StoredLimits(Vec<(Stored, Option<i64>)>);

impl clap::Args for StoredLimits {
    fn augment_args(command: clap::Command) -> clap::Command {
        BOUNDS.iter().fold(command, |command, bound| {
            let help = format!("{}; `none` restores the default, {}", bound.help, bound.default);
            let option = clap::Arg::new(bound.option).long(bound.option).value_name("N|none").help(help);
            command.arg(option.value_parser(stored_limit))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for StoredLimits {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let given = |bound: &Bound| Some((bound.of, *matches.get_one::<Option<i64>>(bound.option)?));
        Ok(Self(BOUNDS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn stored_limit(text: &str) -> Result<Option<i64>, String> {
    match text.parse() {
        _ if text == "none" => Ok(None),
        Ok(limit) if limit >= 0 => Ok(Some(limit)),
        _ => Err("must be a whole number or none".to_owned()),
    }
}

fn prefixes(text: &str) -> Result<String, String> {
    if text == "none" {
        return Ok(String::new());
    }
    let prefixes = parse_prefixes(text).map_err(|error| error.to_string())?;
    Ok(prefixes.iter().map(Prefix::as_str).collect::<Vec<_>>().join(","))
}

fn per_number(text: &str) -> Result<i64, String> {
    match text {
        "none" => Ok(-1),
        _ => text.parse::<u32>().map(i64::from).map_err(|_| "must be a whole number or none".to_owned()),
    }
}

/// Parses dollars into millionths.
fn dollars(text: &str) -> Result<i64, String> {
    if text == "none" {
        return Ok(-1);
    }
    match text.parse::<f64>() {
        Ok(dollars) if (0.0..=1_000_000.0).contains(&dollars) => Ok((dollars * 1_000_000.0).round() as i64),
        _ => Err("must be an amount from 0 to 1000000, or none".to_owned()),
    }
}

fn exemptions(text: &str) -> Result<String, String> {
    if text == "none" {
        return Ok(String::new());
    }
    text.parse::<AddressPolicy>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

impl From<Rules> for OwnRules {
    fn from(rules: Rules) -> Self {
        Self {
            dial_allow: rules.dial_allow,
            dial_deny: rules.dial_deny,
            per_number_per_day: rules.per_number_per_day,
            cost_per_day_micros: rules.cost_per_day,
            outbound_allow: rules.outbound_allow,
        }
    }
}

fn monthly(text: &str) -> Result<MonthlyCap, String> {
    match text {
        "none" => Ok(MonthlyCap::None),
        _ => text.parse().map(MonthlyCap::Calls).map_err(|_| "must be a whole number or none".to_owned()),
    }
}

impl From<Limits> for OwnLimits {
    fn from(limits: Limits) -> Self {
        Self {
            rate_per_minute: limits.rate_limit,
            concurrent_calls: limits.concurrent_calls,
            monthly_calls: limits.monthly_calls,
        }
    }
}

pub(super) async fn run(command: TenantCommand, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let url = config.database_url();
    let store = match command {
        // Often the first command of all.
        TenantCommand::Create { .. } => Store::open(&url).await?,
        _ => Store::open_migrated(&url).await?,
    };
    let done = execute(command, &store, config, json).await;
    store.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

async fn execute(command: TenantCommand, store: &Store, config: &Config, json: bool) -> Result<(), CliError> {
    let now = Clock::system().now();
    if let TenantCommand::Deactivate { id } = &command {
        deactivation::deactivate_for_operator(store, *id, now).await?;
    }
    let mut tx = match command {
        TenantCommand::Create { name, limits } => return create(store, config, &name, limits.into(), json).await,
        TenantCommand::List => return list(store, config, json).await,
        _ => store.begin().await?,
    };
    let id = match command {
        TenantCommand::Create { .. } | TenantCommand::List => unreachable!("handled above"),
        TenantCommand::Show { id } | TenantCommand::Deactivate { id } => id,
        TenantCommand::Set { id, name, limits, stored, rules } => {
            if let Some(name) = name {
                tenants::rename_for_operator(&mut tx, id, &name, now).await?;
            }
            tenants::set_limits_for_operator(&mut tx, id, limits.into(), now).await?;
            tenants::set_bounds_for_operator(&mut tx, id, &stored.0, now).await?;
            tenants::set_rules_for_operator(&mut tx, id, &rules.into(), now).await?;
            id
        }
        TenantCommand::Activate { id } => {
            tenants::activate_for_operator(&mut tx, id, now).await?;
            id
        }
    };
    let tenant = shown(&mut tx, id, config).await?;
    tx.commit().await?;
    Ok(output::show(json, &tenant, |tenant| {
        print(std::slice::from_ref(tenant));
        print_stored(tenant);
    })?)
}

async fn shown(tx: &mut Tx, id: TenantId, config: &Config) -> anyhow::Result<Tenant> {
    let row = tenants::get(tx, id).await?.with_context(|| format!("tenant {id} does not exist"))?;
    Ok(Tenant::of(&row, config))
}

async fn create(store: &Store, config: &Config, name: &str, limits: OwnLimits, json: bool) -> Result<(), CliError> {
    let created = operator::create_tenant(store, config, name, limits).await?;
    Ok(output::show(json, &created, |created| {
        print(std::slice::from_ref(&created.tenant));
        output::line(&format!("\nAPI key (shown only this once): {}", created.api_key.key));
    })?)
}

async fn list(store: &Store, config: &Config, json: bool) -> Result<(), CliError> {
    let rows = tenants::list_for_operator(&mut store.read().await?).await?;
    let all: Vec<Tenant> = rows.iter().map(|row| Tenant::of(row, config)).collect();
    Ok(output::show(json, &all, |all| print(all))?)
}

fn print(tenants: &[Tenant]) {
    let row = |tenant: &Tenant| {
        vec![
            tenant.id.to_string(),
            tenant.name.clone(),
            if tenant.active { "active" } else { "deactivated" }.to_owned(),
            tenant.rate_limit.to_string(),
            tenant.concurrent_calls.to_string(),
            tenant.monthly_calls.map_or_else(|| "none".to_owned(), |calls| calls.to_string()),
        ]
    };
    let heading = ["ID", "NAME", "STATE", "REQUESTS/MIN", "CONCURRENT CALLS", "CALLS/MONTH"];
    output::table(&heading, &tenants.iter().map(row).collect::<Vec<_>>());
}

fn print_stored(tenant: &Tenant) {
    let limits = tenant.stored_limits.iter().map(|(name, limit)| vec![(*name).to_owned(), limit.to_string()]);
    output::line("");
    output::table(&["STORED", "LIMIT"], &limits.collect::<Vec<_>>());
}
