//! Calls are accepted in batches: under the tenant's lock, so that replays and quotas are exact, and with one commit for all that
//! came while the last one was on its way to the disk.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Error;
use switchhook_core::Timestamp;
use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::dial_policy::DialRefused;
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};
use switchhook_core::idempotency::{Fingerprint, IdempotencyKey};
use switchhook_core::quota::QuotaExceeded;

use super::CallResource;
use crate::calls::admission::Admission;
use crate::clock::{self, Clock};
use crate::config::Config;
use crate::gather::Job;
use crate::http::answer::WithWarnings;
use crate::store::calls::{self, CallRequest, CallRow, NewCall};
use crate::store::idempotency::{self, Stored};
use crate::store::{Store, Tx, dial_policy};

/// A call that a request asks for, once everything it names has been found.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) agent: AgentId,
    pub(super) agent_version: i64,
    pub(super) number: NumberId,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) connection: ConnectionId,
    pub(super) provider: String,
    pub(super) request: CallRequest,
    /// Whether the call counts for the dial policy.
    pub(super) counted: bool,
    /// When to dial, if not at once.
    pub(super) schedule_at: Option<Timestamp>,
    pub(super) retention_days: Option<u32>,
}

impl Plan {
    /// The call's first row, if it is placed at `now`.
    pub(super) fn row(self, tenant: TenantId, now: Timestamp) -> CallRow {
        let due_at = self.schedule_at.map_or(now, |at| at.max(now));
        let new = NewCall {
            id: CallId::new(now, clock::random()),
            tenant,
            direction: Direction::Outbound,
            agent: self.agent,
            agent_version: self.agent_version,
            number: Some(self.number),
            connection: self.connection,
            provider: self.provider,
            from: self.from,
            to: self.to,
            request: self.request,
            created_at: now,
            due_at,
            retention_days: self.retention_days,
        };
        new.row(Call::outbound(now, due_at, Timing::default()))
    }
}

/// A request to place a call.
pub struct Wish {
    pub(super) plan: Plan,
    /// What the answer warns of.
    pub(super) warnings: Vec<String>,
    /// Under which the answer is kept.
    pub(super) key: Option<(IdempotencyKey, Fingerprint)>,
}

/// What came of it.
pub enum Accepted {
    /// A call was created by this request or by an earlier one with the same key.
    Answered { stored: Arc<Stored>, replayed: bool },
    /// The key was used with a different request.
    KeyReused,
    /// One more call would be one too many.
    Refused(QuotaExceeded),
    /// The number was called often enough.
    RefusedByPolicy(DialRefused),
    /// The tenant was deactivated meanwhile.
    Deactivated,
    /// The tenant is gone.
    NoTenant,
}

/// Creates calls of one tenant at a time.
pub struct Accept {
    store: Store,
    clock: Clock,
    config: Arc<Config>,
}

impl Accept {
    pub(in crate::http) fn new(store: Store, clock: Clock, config: Arc<Config>) -> Self {
        Self { store, clock, config }
    }
}

impl Job for Accept {
    type Key = TenantId;
    type Item = Wish;
    type Answer = Accepted;

    async fn run(&self, tenant: &TenantId, wishes: &[Wish]) -> Result<Vec<Accepted>, sqlx::Error> {
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let Some(admission) = Admission::open(&mut tx, *tenant, &self.config, now).await? else {
            return Ok(wishes.iter().map(|_| Accepted::NoTenant).collect());
        };
        if !admission.tenant.active {
            return Ok(wishes.iter().map(|_| Accepted::Deactivated).collect());
        }
        let mut batch = Batch {
            tenant: *tenant,
            now,
            per_number_per_day: dial_policy::of(&admission.tenant).per_number_per_day,
            admission,
            dialed: dialed(&mut tx, *tenant, wishes, now).await?,
            counted: Vec::new(),
            stored: earlier(&mut tx, *tenant, wishes).await?,
            rows: Vec::new(),
            answers: Vec::new(),
        };
        let mut accepted = Vec::with_capacity(wishes.len());
        for wish in wishes {
            accepted.push(batch.decide(wish).map_err(|error| sqlx::Error::Encode(error.into()))?);
        }
        calls::create(&mut tx, *tenant, &batch.rows, EventKind::CallQueued).await?;
        let counted: Vec<&str> = batch.counted.iter().map(String::as_str).collect();
        dial_policy::count(&mut tx, *tenant, &counted, batch.now).await?;
        idempotency::put(&mut tx, *tenant, &batch.answers, batch.now).await?;
        tx.commit().await?;
        Ok(accepted)
    }
}

/// The answers that are kept under the keys of these wishes.
async fn earlier(tx: &mut Tx, tenant: TenantId, wishes: &[Wish]) -> Result<HashMap<String, Arc<Stored>>, sqlx::Error> {
    let keys: Vec<_> = wishes.iter().filter_map(|wish| wish.key.as_ref()).map(|(key, _)| key).collect();
    let stored = idempotency::get_all(tx, tenant, &keys).await?;
    Ok(stored.into_iter().map(|stored| (stored.key.clone(), Arc::new(stored))).collect())
}

/// How often the numbers of these wishes were called, where that counts.
async fn dialed(
    tx: &mut Tx,
    tenant: TenantId,
    wishes: &[Wish],
    now: Timestamp,
) -> Result<HashMap<String, u32>, sqlx::Error> {
    let numbers: BTreeSet<&str> =
        wishes.iter().filter(|wish| wish.plan.counted).map(|wish| wish.plan.to.as_str()).collect();
    dial_policy::dialed(tx, tenant, &numbers.into_iter().collect::<Vec<_>>(), now).await
}

struct Batch {
    tenant: TenantId,
    now: Timestamp,
    admission: Admission,
    per_number_per_day: Option<u32>,
    /// Calls to numbers in the last 24 hours, those of this batch too.
    dialed: HashMap<String, u32>,
    /// The numbers of this batch that count.
    counted: Vec<String>,
    /// Under their keys, those of this batch too.
    stored: HashMap<String, Arc<Stored>>,
    rows: Vec<CallRow>,
    answers: Vec<Arc<Stored>>,
}

impl Batch {
    fn decide(&mut self, wish: &Wish) -> Result<Accepted, Error> {
        if let Some((key, fingerprint)) = &wish.key
            && let Some(stored) = self.stored.get(key.as_str())
        {
            let stored = stored.clone();
            let same = stored.fingerprint == fingerprint.as_bytes();
            return Ok(if same { Accepted::Answered { stored, replayed: true } } else { Accepted::KeyReused });
        }
        let dialed = self.dialed.get(&wish.plan.to).copied().unwrap_or(0);
        if let Some(most) = self.per_number_per_day.filter(|most| wish.plan.counted && dialed >= *most) {
            return Ok(Accepted::RefusedByPolicy(DialRefused::PerNumber(most)));
        }
        if let Err(refused) = self.admission.admit(Direction::Outbound) {
            return Ok(Accepted::Refused(refused));
        }
        if wish.plan.counted {
            *self.dialed.entry(wish.plan.to.clone()).or_default() += 1;
            self.counted.push(wish.plan.to.clone());
        }
        let row = wish.plan.clone().row(self.tenant, self.now);
        self.rows.push(row.clone());
        let stored = Arc::new(answer(wish, row)?);
        if wish.key.is_some() {
            self.stored.insert(stored.key.clone(), stored.clone());
            self.answers.push(stored.clone());
        }
        Ok(Accepted::Answered { stored, replayed: false })
    }
}

fn answer(wish: &Wish, row: CallRow) -> Result<Stored, Error> {
    let location = format!("/v1/calls/{}", row.id);
    let resource = WithWarnings { resource: CallResource::from(row), warnings: wish.warnings.clone() };
    let (key, fingerprint) = wish.key.as_ref().map_or((String::new(), Vec::new()), |(key, fingerprint)| {
        (key.as_str().to_owned(), fingerprint.as_bytes().to_vec())
    });
    Ok(Stored { key, fingerprint, status: 201, location, body: serde_json::to_vec(&resource)? })
}
