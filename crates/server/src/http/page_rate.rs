//! The rate limit of what the dashboard reads: a sliding window per tenant, in the memory of this node.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::rate::{Admissions, Decision, WINDOW, decide};

/// Reading requests of a tenant's people in any 60 seconds.
pub(super) const LIMIT: u32 = 1_200;
/// Tenants to track before those without recent requests are forgotten.
const MANY: usize = 1_000;

/// When each tenant's people were admitted. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct PageRate(Arc<Mutex<HashMap<TenantId, VecDeque<Timestamp>>>>);

impl PageRate {
    /// Decides about a request at `now`.
    pub(super) fn admit(&self, tenant: TenantId, now: Timestamp) -> Decision {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() > MANY {
            tenants.retain(|_, admitted| admitted.back().is_some_and(|at| *at + WINDOW > now));
        }
        let admitted = tenants.entry(tenant).or_default();
        while admitted.front().is_some_and(|at| *at + WINDOW <= now) {
            admitted.pop_front();
        }
        let in_window = u32::try_from(admitted.len()).unwrap_or(u32::MAX);
        let limit_th_latest = admitted.front().copied().filter(|_| in_window >= LIMIT);
        let decision = decide(Admissions { in_window, limit_th_latest }, LIMIT, now);
        if matches!(decision, Decision::Admitted { .. }) {
            admitted.push_back(now);
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_tenant_fills_its_own_window_only() {
        let (rate, now) = (PageRate::default(), Timestamp::from_millis(1_700_000_000_000));
        let tenant = |number| TenantId::new(now, [number; 10]);
        for count in 1..=LIMIT {
            assert_eq!(rate.admit(tenant(1), now), Decision::Admitted { remaining: LIMIT - count });
        }
        assert_eq!(rate.admit(tenant(1), now), Decision::Refused { retry_after_seconds: 60 });
        assert_eq!(rate.admit(tenant(2), now), Decision::Admitted { remaining: LIMIT - 1 });
        let later = now + Duration::from_secs(60);
        assert_eq!(rate.admit(tenant(1), later), Decision::Admitted { remaining: LIMIT - 1 });
    }
}
