//! Accepts calls in batches: under the tenant's lock, so that replays, quotas and the dial policy are exact, and with one
//! commit for all requests that arrived during the previous one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use switchhook_core::Timestamp;
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, TenantId};
use switchhook_runtime::clock::Clock;

use super::plan::ResolvedCall;
use super::{Idempotency, PlaceError, Placed, PlacedResponse, Respond, replayed};
use crate::calls::dial_permission::DialPermission;
use crate::calls::quota::Admission;
use crate::config::Config;
use crate::store::agents::pruning;
use crate::store::calls::{self, CallRow};
use crate::store::group_commit::BatchJob;
use crate::store::idempotency::{self, Stored};
use crate::store::{Store, Tx};

/// One call to place.
pub(super) struct Placement {
    pub(super) plan: ResolvedCall,
    pub(super) idempotency: Option<Idempotency>,
    pub(super) respond: Respond,
}

/// Creates the calls of one tenant.
pub(super) struct CommitPlacements {
    store: Store,
    clock: Clock,
    config: Arc<Config>,
}

impl CommitPlacements {
    pub(super) fn new(store: Store, clock: Clock, config: Arc<Config>) -> Self {
        Self { store, clock, config }
    }
}

impl BatchJob for CommitPlacements {
    type Key = TenantId;
    type Item = Placement;
    type Output = Result<Placed, PlaceError>;

    async fn run(&self, tenant: &TenantId, placements: &[Placement]) -> Result<Vec<Self::Output>, sqlx::Error> {
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let Some(admission) = Admission::open(&mut tx, *tenant, &self.config, now).await? else {
            return Ok(placements.iter().map(|_| Err(PlaceError::NoTenant)).collect());
        };
        if !admission.tenant.active {
            return Ok(placements.iter().map(|_| Err(PlaceError::Deactivated)).collect());
        }
        let attempts: Vec<_> = placements.iter().map(|placement| placement.plan.attempt(now)).collect();
        let mut batch = PlacementBatch {
            tenant: *tenant,
            now,
            dialing: DialPermission::load(&mut tx, &admission.tenant, &attempts, now).await?,
            admission,
            stored: stored(&mut tx, *tenant, placements).await?,
            agents: agents(&mut tx, *tenant, placements).await?,
            rows: Vec::new(),
            responses: Vec::new(),
        };
        let mut placed = Vec::with_capacity(placements.len());
        for placement in placements {
            placed.push(batch.decide(placement).map_err(|error| sqlx::Error::Encode(error.into()))?);
        }
        calls::create(&mut tx, *tenant, &batch.rows, EventKind::CallQueued).await?;
        batch.dialing.save(&mut tx).await?;
        idempotency::put(&mut tx, *tenant, &batch.responses, now).await?;
        tx.commit().await?;
        Ok(placed)
    }
}

/// Returns the responses stored under the keys of these requests.
async fn stored(
    tx: &mut Tx,
    tenant: TenantId,
    placements: &[Placement],
) -> Result<HashMap<String, Arc<Stored>>, sqlx::Error> {
    let keys: Vec<_> = placements.iter().filter_map(|one| one.idempotency.as_ref()).map(|(key, _)| key).collect();
    let stored = idempotency::get_all(tx, tenant, &keys).await?;
    Ok(stored.into_iter().map(|stored| (stored.key.clone(), Arc::new(stored))).collect())
}

/// Returns the agent versions that still exist. Under the tenant's lock none is deleted before its call is written.
async fn agents(
    tx: &mut Tx,
    tenant: TenantId,
    placements: &[Placement],
) -> Result<HashSet<(AgentId, i64)>, sqlx::Error> {
    let mut agents: HashSet<_> = placements.iter().map(|placement| placement.plan.agent()).collect();
    for (agent, version) in agents.clone() {
        if !pruning::exists(tx, tenant, agent, version).await? {
            agents.remove(&(agent, version));
        }
    }
    Ok(agents)
}

struct PlacementBatch {
    tenant: TenantId,
    now: Timestamp,
    admission: Admission,
    /// Includes the calls of this batch.
    dialing: DialPermission,
    /// By idempotency key; includes those of this batch.
    stored: HashMap<String, Arc<Stored>>,
    agents: HashSet<(AgentId, i64)>,
    rows: Vec<CallRow>,
    responses: Vec<Arc<Stored>>,
}

impl PlacementBatch {
    fn decide(&mut self, placement: &Placement) -> Result<Result<Placed, PlaceError>, serde_json::Error> {
        let Placement { plan, idempotency, respond } = placement;
        if let Some((key, fingerprint)) = idempotency
            && let Some(stored) = self.stored.get(key.as_str())
        {
            return Ok(replayed(stored.clone(), fingerprint));
        }
        if !self.agents.contains(&plan.agent()) {
            return Ok(Err(plan.agent_deleted()));
        }
        let attempt = plan.attempt(self.now);
        if let Err(refused) = self.dialing.check(&attempt) {
            return Ok(Err(PlaceError::Refused(refused)));
        }
        if let Err(exceeded) = self.admission.admit(plan.direction()) {
            return Ok(Err(PlaceError::Quota(exceeded)));
        }
        self.dialing.count(&attempt);
        let row = plan.clone().row(self.tenant, self.now);
        self.rows.push(row.clone());
        let response = Arc::new(to_store(respond(row)?, idempotency.as_ref()));
        if idempotency.is_some() {
            self.stored.insert(response.key.clone(), response.clone());
            self.responses.push(response.clone());
        }
        Ok(Ok(Placed { response, replayed: false }))
    }
}

fn to_store(response: PlacedResponse, idempotency: Option<&Idempotency>) -> Stored {
    let (key, fingerprint) = idempotency.map_or((String::new(), Vec::new()), |(key, fingerprint)| {
        (key.as_str().to_owned(), fingerprint.as_bytes().to_vec())
    });
    Stored { key, fingerprint, status: response.status.into(), location: response.location, body: response.body }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Map;
    use switchhook_core::phone_number::PhoneNumber;

    use super::*;
    use crate::calls::place::{AgentOverrides, PlaceCall, plan};
    use crate::store::agents;
    use crate::store::tenants::OwnLimits;
    use crate::store::testing::{TestStore, new_agent, now, stores, tenant};

    fn web_call(agent: AgentId) -> PlaceCall {
        PlaceCall {
            agent,
            agent_version: None,
            to: PhoneNumber::web(),
            from: None,
            number: None,
            variables: BTreeMap::new(),
            metadata: Map::new(),
            overrides: AgentOverrides::default(),
            answering_machine: None,
            ring_timeout_seconds: None,
            schedule_at: None,
        }
    }

    async fn commit(test: &TestStore, tenant: TenantId, plan: ResolvedCall) -> Result<Placed, PlaceError> {
        let config = Arc::new(Config::for_tests(test.folder.path()));
        let job = CommitPlacements::new(test.store.clone(), Clock::system(), config);
        let respond = |_| Ok(PlacedResponse { status: 201, location: String::new(), body: Vec::new() });
        let placement = Placement { plan, idempotency: None, respond: Box::new(respond) };
        job.run(&tenant, &[placement]).await.expect("decided").pop().expect("a decision")
    }

    #[tokio::test]
    async fn a_call_whose_version_went_while_it_was_placed_is_refused() {
        for test in stores().await {
            let tenant = tenant(&test.store, OwnLimits::default()).await;
            let mut row = new_agent(tenant, "Ava");
            let mut tx = test.store.begin().await.expect("a transaction");
            agents::insert(&mut tx, &row).await.expect("written");
            tx.commit().await.expect("committed");
            let plan = plan::find(&test.store, tenant, &web_call(row.agent()), now()).await.expect("a plan");
            let placed = commit(&test, tenant, plan.clone()).await;
            assert!(placed.is_ok(), "{}: {:?}", test.engine, placed.err());

            row.version += 1;
            let mut tx = test.store.begin().await.expect("a transaction");
            agents::update(&mut tx, &row).await.expect("written");
            tx.commit().await.expect("committed");
            let newer = plan::find(&test.store, tenant, &web_call(row.agent()), now()).await.expect("a plan");
            let mut tx = test.store.begin().await.expect("a transaction");
            agents::delete(&mut tx, tenant, row.agent()).await.expect("deleted");
            pruning::prune_for_housekeeping(&mut tx, tenant, row.agent(), 0).await.expect("pruned");
            tx.commit().await.expect("committed");
            let refused = commit(&test, tenant, newer).await.err().expect("no call without its agent");
            assert!(format!("{refused:?}").contains("agent_id"), "{}: {refused:?}", test.engine);
            let placed = commit(&test, tenant, plan).await;
            assert!(placed.is_ok(), "{}: a call keeps this version", test.engine);
        }
    }
}
