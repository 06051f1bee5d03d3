//! One request at a time for each tenant, where several would only wait for each other in the database.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};

use switchhook_core::id::TenantId;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// A turn lasts until its guard is dropped. Clones share the turns.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<std::sync::Mutex<HashMap<TenantId, Weak<Mutex<()>>>>>);

impl Turns {
    /// Waits for the tenant's turn on this node.
    pub(super) async fn take(&self, tenant: TenantId) -> OwnedMutexGuard<()> {
        self.of(tenant).lock_owned().await
    }

    fn of(&self, tenant: TenantId) -> Arc<Mutex<()>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = all.get(&tenant).and_then(Weak::upgrade) {
            return turn;
        }
        all.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        all.insert(tenant, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_tenant_has_one_turn_at_a_time_and_others_have_theirs() {
        let turns = Turns::default();
        let [one, another] = [1, 2].map(|number| TenantId::from_uuid(Uuid::from_u128(number)));
        let turn = turns.take(one).await;
        assert!(turns.take(one).now_or_never().is_none());
        drop(turns.take(another).await);
        drop(turn);
        drop(turns.take(one).await);
        drop(turns.take(another).await);
        assert!(turns.0.lock().expect("whole").len() <= 2, "those that are over are forgotten");
    }
}
