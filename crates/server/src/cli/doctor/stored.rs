//! Checks the database, and every tenant's connections and webhook endpoints.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use switchhook_carriers::address::Addresses;
use switchhook_core::id::ConnectionId;
use switchhook_net::outbound::Exemptions;
use switchhook_providers::check::{CHECKS_TIMEOUT, Check};
use switchhook_providers::registry::Registry;
use switchhook_runtime::clock::Clock;
use switchhook_speech::models::ModelStore;
use switchhook_vault::Vault;
use tokio::time::Instant;
use url::Url;

use super::{Finding, carriers};
use crate::calls::setup::Setup;
use crate::catalogue::{CatalogueEntry, ConnectionKind};
use crate::config::Config;
use crate::exemptions;
use crate::store::connections::ConnectionRow;
use crate::store::inspect::{self, Disabled, Schema};
use crate::store::page::PageRequest;
use crate::store::{
    Dialect, ForeignPrograms, ReadOnly, Store, TooFew, UnusablePooler, WrongEncoding, connections, tenants, webhooks,
    why_unwritable,
};

const DATABASE: &str = "database";
const CLOCK: &str = "clock";
const POOLER: &str = "pooler";
const CONNECTIONS: &str = "database connections";
const ALLOW_MORE: &str = "Raise max_connections of PostgreSQL, or the connection limit of the role or database; or set \
    SWITCHHOOK_DATABASE_CONNECTIONS to what each node may take.";
/// Clock difference to the database that causes a warning, and a problem.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(1);
const FAR_APART: Duration = Duration::from_secs(5);
/// Concurrent connection tests.
const CONCURRENT_TESTS: usize = 4;
/// Rows of a page.
const PAGE: i64 = 100;

/// Checks the database; returns the store if it can be read.
pub(super) async fn database(config: &Config) -> (Vec<Finding>, Option<Store>) {
    let url = config.database_url();
    if let Some(path) = url.strip_prefix("sqlite://").filter(|path| !Path::new(path).exists()) {
        let words = format!("{path} does not exist yet; the first start creates it.");
        return (vec![Finding::ok(DATABASE, words)], None);
    }
    let unreachable = |words: String| {
        let fix = "Check SWITCHHOOK_DATABASE_URL, and that the server runs and accepts connections from this machine.";
        (vec![Finding::problem(DATABASE, words, fix)], None)
    };
    let store = match Store::connect_within(&url, config.database_connections).await {
        Ok(store) => store,
        Err(error) if error.is::<TooFew>() => {
            return (vec![Finding::problem(CONNECTIONS, sentence(&error), ALLOW_MORE)], None);
        }
        Err(error) if error.is::<UnusablePooler>() => {
            return (
                vec![Finding::problem(DATABASE, sentence(&error), "Change SWITCHHOOK_DATABASE_URL, or the pooler.")],
                None,
            );
        }
        Err(error) if error.is::<ReadOnly>() => {
            let fix = "Change SWITCHHOOK_DATABASE_URL, or turn default_transaction_read_only off.";
            return (vec![Finding::problem(DATABASE, sentence(&error), fix)], None);
        }
        Err(error) if error.is::<WrongEncoding>() => {
            let fix = "Create a database in UTF-8, and set its address in SWITCHHOOK_DATABASE_URL.";
            return (vec![Finding::problem(DATABASE, sentence(&error), fix)], None);
        }
        Err(error) if error.is::<ForeignPrograms>() => {
            let fix = "Restore a backup, or find out who changed the file before you drop what they added.";
            return (vec![Finding::problem(DATABASE, sentence(&error), fix)], None);
        }
        Err(error) if config.database_file().is_some() => {
            let fix = "Change the owner of the file and its companions to the user that runs the service; keep them on a local disk.";
            return (vec![Finding::problem(DATABASE, sentence(&error), fix)], None);
        }
        Err(error) => return unreachable(format!("{error:#}.")),
    };
    let few = few_connections(config, &store);
    let looked_at = looked_at(&store).await.map(|(mut findings, known)| {
        findings.extend(few);
        (findings, known)
    });
    match looked_at {
        Ok((findings, true)) => (findings, Some(store)),
        Ok((findings, false)) => (findings, None),
        Err(error) => unreachable(format!("It returned an error: {error}.")),
    }
}

/// Whether PostgreSQL allows this node fewer connections than it would take.
fn few_connections(config: &Config, store: &Store) -> Option<Finding> {
    let (gets, wants) = (store.budget().total(), config.database_connections);
    let detail = format!("PostgreSQL allows this node {gets} of the {wants} connections in database_connections.");
    (store.dialect() == Dialect::Postgres && gets < wants).then(|| Finding::warning(CONNECTIONS, detail, ALLOW_MORE))
}

fn sentence(error: &anyhow::Error) -> String {
    let words = format!("{error:#}.");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Checks whether this program knows the schema.
async fn looked_at(store: &Store) -> Result<(Vec<Finding>, bool), sqlx::Error> {
    let mut conn = store.read().await?;
    let schema = inspect::schema(&mut conn).await?;
    let mut findings = vec![schema_finding(schema, store.can_migrate())];
    findings.extend(writable(store).await);
    if !store.can_migrate() {
        findings.push(pooler_finding(inspect::ends_idle_transactions(&mut conn).await?));
    }
    let asked = Instant::now();
    if let Some(theirs) = inspect::clock(&mut conn).await? {
        let ours = Clock::system().now();
        let apart = ours.since(theirs).max(theirs.since(ours)).saturating_sub(asked.elapsed());
        findings.push(clock_finding(apart));
    }
    Ok((findings, schema.version == schema.newest))
}

/// Checks whether a transaction can begin; it writes nothing.
async fn writable(store: &Store) -> Option<Finding> {
    let error = store.begin().await.err()?;
    let why = why_unwritable(&error).map_or_else(|| error.to_string(), str::to_owned);
    let fix = "Make room or the file writable, or end the program that locks it.";
    Some(Finding::problem(DATABASE, format!("It cannot be written: {why}."), fix))
}

fn pooler_finding(ends_idle_transactions: bool) -> Finding {
    if ends_idle_transactions {
        let detail = "The address leads to a pooler in transaction mode, which cannot migrate: before each start of a new version, run \
            `switchhook migrate --database-url ADDRESS` with the address of PostgreSQL itself.";
        return Finding::ok(POOLER, detail);
    }
    Finding::warning(
        POOLER,
        "The pooler works in transaction mode, and PostgreSQL does not end transactions that a suspended node leaves open.",
        "Run `ALTER ROLE … SET idle_in_transaction_session_timeout = '5s'` for the service's role.",
    )
}

fn schema_finding(schema: Schema, can_migrate: bool) -> Finding {
    let Schema { version, newest } = schema;
    if version > newest {
        let detail = format!("Its schema is version {version}, but this program supports {newest}.");
        return Finding::problem(DATABASE, detail, "Install the same program version as on the other nodes.");
    }
    if version < newest && !can_migrate {
        let detail =
            format!("Its schema is version {version}, and a pooler in transaction mode cannot migrate it to {newest}.");
        let fix = "Run `switchhook migrate --database-url ADDRESS` with the address of PostgreSQL itself.";
        return Finding::problem(DATABASE, detail, fix);
    }
    if version < newest {
        let detail = format!("Its schema is version {version}; the next start migrates it to {newest}.");
        return Finding::warning(DATABASE, detail, "Start the service, or run `switchhook migrate`.");
    }
    Finding::ok(DATABASE, format!("It responds, and its schema is up to date (version {version})."))
}

fn clock_finding(apart: Duration) -> Finding {
    let detail = format!("This machine's clock and the database's are {} ms apart.", apart.as_millis());
    let fix = "Synchronise both with NTP: leases depend on them.";
    match apart {
        apart if apart >= FAR_APART => Finding::problem(CLOCK, detail, fix),
        apart if apart >= MAX_CLOCK_DIFFERENCE => Finding::warning(CLOCK, detail, fix),
        _ => Finding::ok(CLOCK, detail),
    }
}

/// Tests every active tenant's connections for real, and checks its webhook endpoints.
pub(super) async fn tenants(config: &Arc<Config>, store: &Store, vault: Option<Vault>) -> Vec<Finding> {
    match try_tenants(config, store, vault).await {
        Ok(findings) => findings,
        Err(error) => {
            vec![Finding::problem("tenants", format!("{error:#}."), "Fix the database first, then run doctor again.")]
        }
    }
}

async fn try_tenants(config: &Arc<Config>, store: &Store, vault: Option<Vault>) -> anyhow::Result<Vec<Finding>> {
    let mut rows = Vec::new();
    let mut findings = Vec::new();
    let mut conn = store.read().await?;
    let all = tenants::list_for_operator(&mut conn).await?;
    for tenant in all.iter().filter(|tenant| tenant.active) {
        let mut request = Some(PageRequest::first(PAGE));
        while let Some(page) = request {
            let found = connections::list(&mut conn, tenant.tenant(), page).await?;
            rows.extend(found.rows.into_iter().map(|row| (tenant.name.clone(), row)));
            request = found.next.map(|_| PageRequest { cursor: found.next, ..page });
        }
        let endpoints = webhooks::list(&mut conn, tenant.tenant(), PageRequest::first(PAGE)).await?.rows;
        if let Some(vault) = &vault
            && endpoints.iter().any(|endpoint| endpoint.secrets(vault, Clock::system().now()).is_err())
        {
            let name = format!("webhook secrets of {}", tenant.name);
            let fix = "Start the service with the previous master key, or create new secrets.";
            findings.push(Finding::problem(name, "They were sealed with another master key.", fix));
        }
    }
    let disabled = inspect::disabled_webhooks_for_operator(&mut conn).await?;
    drop(conn);
    findings.extend(disabled.iter().map(disabled_finding));
    match vault {
        Some(vault) => findings.extend(tried(config, store, vault, rows).await?),
        None if rows.iter().any(|(_, row)| row.credentials.is_some()) => {
            let fix = "Restore the previous key: no other key opens what it sealed.";
            findings.push(Finding::problem("credentials", "There is no master key to open them.", fix));
        }
        None => {}
    }
    Ok(findings)
}

async fn tried(
    config: &Arc<Config>,
    store: &Store,
    vault: Vault,
    rows: Vec<(String, ConnectionRow)>,
) -> anyhow::Result<Vec<Finding>> {
    let exemptions = Exemptions::default();
    exemptions::load(&exemptions, store).await?;
    let providers = Registry::new(config.providers(), ModelStore::new(&config.data_dir), exemptions)?;
    let addresses = Addresses::new(config.reached_at(config.listen), &vault);
    let setup = Setup::new(config.clone(), vault, providers, addresses)?;
    let setup = &setup;
    let tries = rows.into_iter().map(|(tenant, row)| async move {
        let mut findings = vec![connection(setup, store, &tenant, &row).await?];
        findings.extend(carriers::numbers(setup, store, &row).await?);
        Ok::<_, sqlx::Error>(findings)
    });
    let found: Vec<Vec<Finding>> = stream::iter(tries).buffered(CONCURRENT_TESTS).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn connection(setup: &Setup, store: &Store, tenant: &str, row: &ConnectionRow) -> Result<Finding, sqlx::Error> {
    let name = format!("connection {} of {tenant}", row.name);
    let provider = CatalogueEntry::named(&row.provider);
    if provider.is_none_or(|provider| !provider.usable) {
        let detail = format!("This version does not support {} yet.", row.provider);
        return Ok(Finding::warning(name, detail, "None in this version: calls with it fail as config_error."));
    }
    let carries = provider.is_some_and(|provider| provider.offers(ConnectionKind::Carrier));
    let checks = setup.check(store, row, carries, CHECKS_TIMEOUT).await?;
    let details = |ok: bool| {
        let details: Vec<_> =
            checks.iter().filter(|check| check.ok == ok).map(|check: &Check| check.detail.as_str()).collect();
        details.join(" ")
    };
    if checks.iter().all(|check| check.ok) {
        return Ok(Finding::ok(name, details(true)));
    }
    let id = ConnectionId::from_uuid(row.id);
    let fix = format!("Follow the message, or correct the connection with PATCH /v1/connections/{id}.");
    if row.provider == "local" {
        // It may be unused, and the models are checked above.
        return Ok(Finding::warning(name, details(false), fix));
    }
    Ok(Finding::problem(name, details(false), fix))
}

fn disabled_finding(endpoint: &Disabled) -> Finding {
    let host = endpoint.url.parse::<Url>().ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let reason = endpoint.disabled_reason.as_deref().unwrap_or("it was disabled through the API").trim_end_matches('.');
    Finding::warning(
        format!("webhook {} of {}", endpoint.id, endpoint.tenant),
        format!("The endpoint at {host} receives no deliveries: {reason}."),
        format!("Fix the receiver, then PATCH /v1/webhooks/{} with {{\"enabled\": true}}.", endpoint.id),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;
    use crate::store::testing::{TestStore, stores};

    #[tokio::test]
    async fn a_database_that_another_program_locks_is_a_problem() {
        for TestStore { store, folder, engine } in stores().await {
            assert!(writable(&store).await.is_none(), "{engine}");
            if store.dialect() == Dialect::Sqlite {
                let other = Store::connect(&format!("sqlite://{}", folder.path().join("test.db").display())).await;
                let other = other.expect("the same database");
                let _transaction = other.begin().await.expect("it is not locked yet");
                let finding = writable(&store).await.expect("it is locked");
                assert_eq!(finding.status, Status::Problem, "{}", finding.detail);
            }
        }
    }

    #[test]
    fn a_pooler_in_transaction_mode_needs_a_setting_of_the_role() {
        assert_eq!([true, false].map(|ends| pooler_finding(ends).status), [Status::Ok, Status::Warning]);
    }

    #[test]
    fn schemas_and_clocks_are_judged() {
        for (version, status) in [(3, Status::Ok), (1, Status::Warning), (0, Status::Warning), (4, Status::Problem)] {
            assert_eq!(schema_finding(Schema { version, newest: 3 }, true).status, status, "schema {version}");
        }
        for (ms, status) in [(20, Status::Ok), (1_500, Status::Warning), (60_000, Status::Problem)] {
            assert_eq!(clock_finding(Duration::from_millis(ms)).status, status, "{ms} ms apart");
        }
    }
}
