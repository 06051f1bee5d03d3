//! Places calls: `plan` validates a request and resolves its references, `commit` accepts it in one transaction with its quota, its dial
//! policy and its idempotency record. The API and other callers only translate.

mod commit;
mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AnsweringMachine, FieldError};
use switchhook_core::dial_policy::DialRefused;
use switchhook_core::id::{AgentId, NumberId, TenantId};
use switchhook_core::idempotency::{Fingerprint, IdempotencyKey};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::quota::{QuotaExceeded, QuotaLimits, admit};
use switchhook_runtime::clock::Clock;

use self::commit::{CommitPlacements, Placement};
use crate::calls::{dial_permission, quota};
use crate::config::Config;
use crate::store::Store;
use crate::store::calls::CallRow;
use crate::store::group_commit::Batcher;
use crate::store::idempotency::{self, Stored};
use crate::wakeups::Wakeups;

/// How long a request waits for another one with the same idempotency key.
const IN_PROGRESS_TIMEOUT: Duration = Duration::from_secs(5);

/// A request to place a call.
pub struct PlaceCall {
    /// The agent.
    pub agent: AgentId,
    /// The version of the agent. Defaults to the one that its traffic selects, or the newest.
    pub agent_version: Option<i64>,
    /// The number to call, or a browser.
    pub to: PhoneNumber,
    /// The tenant's number to call from. Defaults to `number`, or to the only number that can dial.
    pub from: Option<PhoneNumber>,
    /// The same number, by its id.
    pub number: Option<NumberId>,
    /// Values for `{{name}}` in the agent's texts.
    pub variables: BTreeMap<String, Value>,
    /// Returned with the call and its events.
    pub metadata: Map<String, Value>,
    /// Overrides parts of the agent for this call.
    pub overrides: AgentOverrides,
    /// Overrides the agent's.
    pub answering_machine: Option<AnsweringMachine>,
    /// Overrides the agent's, in seconds.
    pub ring_timeout_seconds: Option<u32>,
    /// When to dial; now if absent.
    pub schedule_at: Option<Timestamp>,
}

/// Agent settings to override for one call.
#[derive(Default)]
pub struct AgentOverrides {
    /// The greeting's text.
    pub greeting: Option<String>,
    /// The instructions.
    pub instructions: Option<String>,
    /// Limits to override.
    pub limits: Option<LimitOverrides>,
}

/// Overrides of an agent's limits.
pub struct LimitOverrides {
    /// Maximum duration, in seconds.
    pub max_duration_seconds: Option<u32>,
    /// Ring timeout, in seconds.
    pub ring_timeout_seconds: Option<u32>,
}

/// The idempotency key of a request and the fingerprint of its body.
pub type Idempotency = (IdempotencyKey, Fingerprint);

/// The response to a placed call, stored under its idempotency key.
pub struct PlacedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Renders the response for a new call. It is stored in the transaction that creates the call.
pub type Respond = Box<dyn Fn(CallRow) -> Result<PlacedResponse, serde_json::Error> + Send + Sync>;

/// The response to a request, new or replayed.
pub struct Placed {
    /// The response.
    pub response: Arc<Stored>,
    /// Whether an earlier request with the same key created the call.
    pub replayed: bool,
}

/// The result of checking a request without placing the call.
pub enum Checked {
    /// The call would be accepted and look like this.
    Acceptable(Box<CallRow>),
    /// An earlier request with the same key created a call.
    Replayed(Placed),
}

/// Why no call was placed.
#[derive(Debug)]
pub enum PlaceError {
    /// Invalid fields.
    Invalid(Vec<FieldError>),
    /// The tenant's dial policy refuses the number.
    Refused(DialRefused),
    /// A quota is reached.
    Quota(QuotaExceeded),
    /// The idempotency key was used with a different request.
    KeyReused,
    /// A request with the same idempotency key is still in progress.
    InProgress,
    /// The tenant is deactivated.
    Deactivated,
    /// The tenant does not exist.
    NoTenant,
    /// The database failed.
    Database(Arc<sqlx::Error>),
}

impl PlaceError {
    fn field(path: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(path, message)])
    }
}

impl From<sqlx::Error> for PlaceError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

impl From<Arc<sqlx::Error>> for PlaceError {
    fn from(error: Arc<sqlx::Error>) -> Self {
        Self::Database(error)
    }
}

/// Places calls. Clones share one queue of requests.
#[derive(Clone)]
pub struct Placer {
    store: Store,
    clock: Clock,
    wakeups: Wakeups,
    commits: Batcher<CommitPlacements>,
}

impl Placer {
    /// Creates a placer on this database.
    #[must_use]
    pub fn new(store: Store, clock: Clock, config: Arc<Config>, wakeups: Wakeups) -> Self {
        let commits = Batcher::new(CommitPlacements::new(store.clone(), clock.clone(), config));
        Self { store, clock, commits, wakeups }
    }

    /// Places a call, once per idempotency key.
    ///
    /// # Errors
    /// The reason why no call was placed.
    pub async fn place(
        &self,
        tenant: TenantId,
        request: &PlaceCall,
        idempotency: Option<Idempotency>,
        respond: Respond,
    ) -> Result<Placed, PlaceError> {
        let plan = match plan::find(&self.store, tenant, request, self.clock.now()).await {
            Ok(plan) => plan,
            // The call may already be placed, and its resources deleted since.
            Err(error) => return self.replay(tenant, idempotency, error).await,
        };
        let timeout = if idempotency.is_some() { IN_PROGRESS_TIMEOUT } else { Duration::MAX };
        let placement = Placement { plan, idempotency, respond };
        let placed = tokio::time::timeout(timeout, self.commits.submit(tenant, placement)).await;
        let placed = placed.map_err(|_| PlaceError::InProgress)???;
        self.wakeups.calls.notify_one();
        self.wakeups.webhooks.notify_one();
        Ok(placed)
    }

    /// Checks everything that [`place`](Self::place) checks, without placing the call.
    ///
    /// # Errors
    /// The reason why no call would be placed.
    pub async fn check(
        &self,
        tenant: TenantId,
        limits: &QuotaLimits,
        request: &PlaceCall,
        idempotency: Option<Idempotency>,
    ) -> Result<Checked, PlaceError> {
        let now = self.clock.now();
        let plan = match plan::find(&self.store, tenant, request, now).await {
            Ok(plan) => plan,
            Err(error) => return self.replay(tenant, idempotency, error).await.map(Checked::Replayed),
        };
        let mut conn = self.store.read().await?;
        if let Some((key, fingerprint)) = &idempotency
            && let Some(stored) = idempotency::get_all(&mut conn, tenant, &[key]).await?.pop()
        {
            return replayed(Arc::new(stored), fingerprint).map(Checked::Replayed);
        }
        let allowed = dial_permission::check(&mut conn, tenant, plan.attempt(now), now).await?;
        allowed.map_err(PlaceError::Refused)?;
        let usage = quota::usage(&mut conn, tenant, limits, now).await?;
        admit(&usage, limits, now).map_err(PlaceError::Quota)?;
        Ok(Checked::Acceptable(Box::new(plan.row(tenant, now))))
    }

    /// Returns the response stored for exactly this request, or `error`.
    async fn replay(
        &self,
        tenant: TenantId,
        idempotency: Option<Idempotency>,
        error: PlaceError,
    ) -> Result<Placed, PlaceError> {
        let Some((key, fingerprint)) = idempotency else { return Err(error) };
        let stored = idempotency::get_all(&mut self.store.read().await?, tenant, &[&key]).await?.pop();
        stored.and_then(|stored| replayed(Arc::new(stored), &fingerprint).ok()).ok_or(error)
    }
}

/// Returns a stored response if it belongs to a request with this fingerprint.
fn replayed(response: Arc<Stored>, fingerprint: &Fingerprint) -> Result<Placed, PlaceError> {
    let same = response.fingerprint == fingerprint.as_bytes();
    if same { Ok(Placed { response, replayed: true }) } else { Err(PlaceError::KeyReused) }
}
