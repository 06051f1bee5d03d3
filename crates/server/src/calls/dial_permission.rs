//! Decides whether a tenant may dial a number: for calls that are placed, queued calls that have waited, and transfers by the API or a tool.
//!
//! Each of these places passes what it knows as a [`DialAttempt`]. The policy, the numbering plan, the facts and the message of a refusal are
//! found here.

use switchhook_carriers::registry;
use switchhook_core::Timestamp;
use switchhook_core::agent::FieldError;
use switchhook_core::dial_policy::{DialPolicy, DialRefused, NumberingPlan};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use super::tariff::numbering_plan;
use crate::store::dial_policy::{self, DialAttempt, DialHistory};
use crate::store::tenants::{self, TenantRow};
use crate::store::{Conn, Store, Tx};

/// A number to dial, with its entry in the numbering plans.
#[derive(Clone)]
pub struct CalledNumber {
    number: PhoneNumber,
    plan: NumberingPlan,
    /// Whether dialling it counts among the day's calls to it.
    counts: bool,
}

impl CalledNumber {
    /// Returns a number that is dialled over this provider's connection. It counts if that rings a telephone.
    #[must_use]
    pub fn over(provider: &str, number: PhoneNumber) -> Self {
        Self { plan: numbering_plan(&number), number, counts: registry::rings_phones(provider) }
    }

    /// Returns a number that was counted before, or that is not dialled yet.
    #[must_use]
    pub fn uncounted(number: PhoneNumber) -> Self {
        Self { plan: numbering_plan(&number), number, counts: false }
    }

    /// Returns the number.
    #[must_use]
    pub fn number(&self) -> &PhoneNumber {
        &self.number
    }

    /// Returns the attempt to dial it at `at`.
    #[must_use]
    pub fn attempt(&self, at: Timestamp) -> DialAttempt<'_> {
        DialAttempt { to: &self.number, plan: self.plan, counts_at: self.counts.then_some(at) }
    }
}

/// A tenant's policy and the facts that it needs, for attempts in one transaction.
pub struct DialPermission {
    tenant: TenantId,
    policy: DialPolicy,
    /// Includes the attempts that were counted here.
    history: DialHistory,
    counted: Vec<(PhoneNumber, Timestamp)>,
}

impl DialPermission {
    /// Loads the policy and the facts about these attempts. Decisions about attempts that count are exact under the tenant's lock.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn load(
        conn: &mut Conn,
        tenant: &TenantRow,
        attempts: &[DialAttempt<'_>],
        now: Timestamp,
    ) -> Result<Self, sqlx::Error> {
        let (id, policy) = (TenantId::from_uuid(tenant.id), dial_policy::of(tenant));
        let history = DialHistory::read(conn, id, &policy, attempts, now).await?;
        Ok(Self { tenant: id, policy, history, counted: Vec::new() })
    }

    /// Checks one of these attempts.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn check(&self, attempt: &DialAttempt<'_>) -> Result<(), DialRefused> {
        self.policy.check(attempt.to, &self.history.facts(attempt))
    }

    /// Counts one of these attempts, if it counts, for later checks and for [`save`](Self::save).
    pub fn count(&mut self, attempt: &DialAttempt<'_>) {
        if let Some(at) = attempt.counts_at {
            self.history.add(attempt.to, at);
            self.counted.push((attempt.to.clone(), at));
        }
    }

    /// Stores the attempts that were counted.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn save(&self, tx: &mut Tx) -> Result<(), sqlx::Error> {
        dial_policy::count(tx, self.tenant, &self.counted).await
    }
}

/// Checks an attempt without counting it.
///
/// # Errors
/// When the database fails, or the tenant does not exist.
pub async fn check(
    conn: &mut Conn,
    tenant: TenantId,
    attempt: DialAttempt<'_>,
    now: Timestamp,
) -> Result<Result<(), DialRefused>, sqlx::Error> {
    let row = tenants::get(conn, tenant).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(DialPermission::load(conn, &row, &[attempt], now).await?.check(&attempt))
}

/// Checks an attempt under the tenant's lock, and counts it if it is allowed.
///
/// # Errors
/// When the database fails, or the tenant does not exist.
pub async fn check_and_count(
    store: &Store,
    tenant: TenantId,
    attempt: DialAttempt<'_>,
    now: Timestamp,
) -> Result<Result<(), DialRefused>, sqlx::Error> {
    let mut tx = store.begin().await?;
    let row = tenants::lock(&mut tx, tenant).await?.ok_or(sqlx::Error::RowNotFound)?;
    let mut permission = DialPermission::load(&mut tx, &row, &[attempt], now).await?;
    let decision = permission.check(&attempt);
    if decision.is_ok() {
        permission.count(&attempt);
        permission.save(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(decision)
}

/// Returns the rule that refuses a number until the policy or the number changes; `None` if it is allowed or refused for today only.
///
/// # Errors
/// When the database fails, or the tenant does not exist.
pub async fn lasting_refusal(
    conn: &mut Conn,
    tenant: TenantId,
    number: PhoneNumber,
    now: Timestamp,
) -> Result<Option<DialRefused>, sqlx::Error> {
    let called = CalledNumber::uncounted(number);
    let decision = check(conn, tenant, called.attempt(now), now).await?;
    Ok(decision.err().filter(DialRefused::is_lasting))
}

/// Returns the error of a request whose field `to` is refused.
#[must_use]
pub fn field_error(refused: &DialRefused) -> FieldError {
    FieldError::new("to", refused.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tenants::OwnLimits;
    use crate::store::testing::{now, stores, tenant};

    #[tokio::test]
    async fn allowed_attempts_that_ring_telephones_count_until_the_limit_of_a_day() {
        for test in stores().await {
            let tenant = tenant(&test.store, OwnLimits::default()).await;
            let number: PhoneNumber = "+12025550142".parse().expect("a number");
            for (provider, allowed) in [("simulator", 25), ("twilio", 20)] {
                let called = CalledNumber::over(provider, number.clone());
                let mut decisions = Vec::new();
                for _ in 0..25 {
                    let decision = check_and_count(&test.store, tenant, called.attempt(now()), now()).await;
                    decisions.push(decision.expect("decided").is_ok());
                }
                assert_eq!(decisions.iter().filter(|ok| **ok).count(), allowed, "{}: {provider}", test.engine);
            }
            let conn = &mut test.store.read().await.expect("a connection");
            let lasting = lasting_refusal(conn, tenant, number, now()).await.expect("decided");
            assert_eq!(lasting, None, "{}: the limit of a day does not last", test.engine);
            let premium = "+19002345678".parse().expect("a number");
            let lasting = lasting_refusal(conn, tenant, premium, now()).await.expect("decided");
            assert!(lasting.is_some(), "{}: a premium-rate number", test.engine);
        }
    }
}
