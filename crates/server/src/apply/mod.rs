//! Agents as files: makes a tenant's connections, agents, numbers and webhooks what files describe, and writes such files.
//!
//! Files are read (`files`, `yaml`) into entries (`document`), compared with what there is (`plan`, which touches no database), and
//! written in one transaction by the functions that the API's handlers call (`write`).

mod diff;
mod document;
mod existing;
mod export;
mod fields;
mod files;
mod names;
mod plan;
mod problem;
mod report;
pub mod starter;
mod write;
mod yaml;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use switchhook_carriers::address::Addresses;
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_runtime::clock::{self, Clock};

use self::document::Found;
pub use self::document::Kind;
use self::existing::Existing;
pub use self::export::{Export, export};
use self::plan::{Context, Plan};
pub use self::problem::Problem;
pub use self::report::{Item, Report};
use self::write::{After, Done, Writer, failed};
use crate::config::Config;
use crate::exemptions;
use crate::http::webhooks::target;
use crate::http::{HttpState, agents, bounds, numbers, webhooks};
use crate::store::Store;
use crate::wakeups::Wakeups;

/// Why nothing was applied.
#[derive(Debug)]
pub enum ApplyError {
    /// There are no such files; a sentence.
    NoFiles(String),
    /// The problems with the files.
    Wrong(Vec<Problem>),
    /// The database failed, or the key file cannot be used.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for ApplyError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The resources that files describe.
pub struct Described(Found);

impl Described {
    /// Reads these files and folders, and the variables that they name.
    ///
    /// # Errors
    /// If they cannot be read, or describe nothing that can be.
    pub fn read(paths: &[PathBuf], environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, ApplyError> {
        let mut found = Found::default();
        for path in files::find(paths).map_err(ApplyError::NoFiles)? {
            match files::read(&path) {
                Ok(document) => found.add(document, environment),
                Err(problem) => found.problems.push(problem),
            }
        }
        Ok(Self(found))
    }
}

/// Makes a tenant's things what files describe, all or nothing. A dry run finds out the same and writes nothing.
///
/// # Errors
/// If something is wrong with the files, or the database fails.
pub async fn apply(
    store: &Store,
    config: Arc<Config>,
    tenant: TenantId,
    described: Described,
    dry_run: bool,
) -> Result<Report, ApplyError> {
    let Described(found) = described;
    let state = state(store, config).await?;
    let planned = Existing::load(&mut store.read().await?, tenant).await?;
    let problems = check(&state, tenant, &found, &planned).await?;
    if !problems.is_empty() {
        return Err(ApplyError::Wrong(problems));
    }
    let (done, others) = Box::pin(write(&state, tenant, &found, dry_run)).await?;
    let Done { written, unchanged, mut warnings, mut notes, after } = done;
    if !dry_run {
        warnings.extend(finish(&state, tenant, after).await);
    }
    warnings.splice(0..0, found.warnings);
    notes.extend(warnings);
    Ok(Report::new(written, unchanged, dry_run.then_some(others), &notes))
}

/// Creates the state that the API's handlers work with.
async fn state(store: &Store, config: Arc<Config>) -> anyhow::Result<HttpState> {
    let vault = config.open_vault()?;
    let addresses = Addresses::new(config.reached_at(config.listen), &vault);
    let state = HttpState::new(store.clone(), Clock::system(), config, vault, Wakeups::default(), addresses);
    exemptions::load(&state.exemptions, store).await?;
    // Built here, and not while others wait for the database. Without it some warnings are missing, as in the API.
    let _ = state.setup();
    Ok(state)
}

/// Finds everything that is wrong with files, and does what takes long, before the tenant is locked.
async fn check(
    state: &HttpState,
    tenant: TenantId,
    found: &Found,
    existing: &Existing,
) -> Result<Vec<Problem>, ApplyError> {
    let mut problems = found.problems.clone();
    let plan = match planned(state, tenant, found, existing) {
        Ok(plan) => plan,
        Err(more) => {
            problems.extend(more);
            return Ok(problems);
        }
    };
    for step in plan.agents.iter().filter(|step| !step.is_unchanged()) {
        match agents::check_schemas(&step.wanted.config).await {
            Err(error) if error.is_of_service() => return Err(failed(&error)),
            Err(error) => problems.extend(step.place.problems(&error)),
            Ok(()) => {}
        }
    }
    for step in plan.webhooks.iter().filter(|step| step.is_new()) {
        if let Err(error) = target::check(&state.config, &step.wanted.url).await {
            problems.extend(step.place.problems(&error));
        }
    }
    Ok(problems)
}

fn planned(state: &HttpState, tenant: TenantId, found: &Found, existing: &Existing) -> Result<Plan, Vec<Problem>> {
    let now = state.clock.now();
    let context = Context {
        tenant,
        addresses: state.addresses_of(tenant),
        now,
        new_id: &|| ConnectionId::new(now, clock::random()).uuid(),
        open: &|row| row.open(&state.vault).map_err(|error| format!("the stored ones cannot be opened: {error}")),
    };
    plan::plan(&found.entries, existing, &context)
}

/// Plans again with the tenant locked, and writes.
async fn write(
    state: &HttpState,
    tenant: TenantId,
    found: &Found,
    dry_run: bool,
) -> Result<(Done, Vec<(Kind, String)>), ApplyError> {
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant).await.map_err(|error| failed(&error))?;
    let existing = Existing::load(&mut tx, tenant).await?;
    let mut plan = planned(state, tenant, found, &existing).map_err(ApplyError::Wrong)?;
    let others = std::mem::take(&mut plan.others);
    let writer = Writer { state, tx: &mut tx, owner: &owner, done: Done::default(), problems: Vec::new() };
    let done = writer.write(plan).await?;
    if !dry_run {
        let uncertain = "it is uncertain whether the files were applied: apply them again";
        tx.commit().await.context(uncertain)?;
    }
    Ok((done, others))
}

/// Does what the API does after the commit. Returns warnings about what failed.
async fn finish(state: &HttpState, tenant: TenantId, after: After) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (place, row) in after.carriers {
        let refused = numbers::tell_carrier(state, &row).await;
        warnings.extend(refused.map(|words| place.below("configure_carrier").problem(words)));
    }
    for (place, webhook) in after.disabled {
        if webhooks::cancel_waiting(state, tenant, webhook).await.is_err() {
            let message =
                "is written, but deliveries that waited are not all canceled: apply it with true and false again";
            warnings.push(place.below("enabled").problem(message));
        }
    }
    warnings
}
