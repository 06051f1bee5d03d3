//! The carriers of connections: created once for each version of a connection and of its tenant's exemptions, and shared by all calls.
//! They hold credentials, so they are dropped when they are no longer used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Map;
use switchhook_carriers::address::Addresses;
use switchhook_carriers::registry::Drivers;
use switchhook_carriers::rest::Rest;
use switchhook_carriers::{Carrier, Connection};
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::{ClientSettings, Exemptions, PerTenant};
use switchhook_vault::Vault;

use crate::config::Config;
use crate::store::connections::ConnectionRow;

/// How long a carrier stays cached that no call uses.
const UNUSED_CACHED_FOR: Duration = Duration::from_secs(3_600);

/// Creates and caches the carriers of one node.
pub(super) struct Carriers {
    pub(super) drivers: Drivers,
    /// For requests to carriers, whose addresses tenants may choose.
    rest: PerTenant<Rest>,
    exemptions: Exemptions,
    vault: Vault,
    pub(super) addresses: Addresses,
    cache: Cache<Carrier>,
}

impl Carriers {
    /// Creates it with an empty cache.
    ///
    /// # Errors
    /// If the client for requests to carriers cannot be created.
    pub(super) fn new(
        config: &Config,
        vault: Vault,
        exemptions: Exemptions,
        addresses: Addresses,
    ) -> anyhow::Result<Self> {
        let settings = ClientSettings::new(&config.network(), &config.outbound_allow)?;
        let rest = PerTenant::new(exemptions.clone(), move |more| Rest::new(&settings.clone().with(more)))?;
        Ok(Self {
            drivers: Drivers::new(&config.carriers()),
            rest,
            exemptions,
            vault,
            addresses,
            cache: Cache::default(),
        })
    }

    /// Returns the carrier of a connection.
    ///
    /// # Errors
    /// One sentence about the settings or credentials that are missing or invalid.
    pub(super) fn get(&self, row: &ConnectionRow) -> Result<Arc<Carrier>, String> {
        let (id, tenant) = (ConnectionId::from_uuid(row.id), TenantId::from_uuid(row.tenant_id));
        let version = (row.updated_at, self.exemptions.of(tenant));
        if let Some(carrier) = self.cache.find(id, &version, Instant::now()) {
            return Ok(carrier);
        }
        let credentials = row.open(&self.vault).map_err(|error| format!("its credentials cannot be read: {error}."))?;
        let connection = Connection {
            rest: &self.rest.of(tenant),
            settings: &row.settings,
            credentials: &credentials,
            addresses: &self.addresses,
        };
        let carrier = Arc::new(self.drivers.connect(&row.provider, &connection)?);
        self.cache.insert(id, version, Instant::now(), carrier.clone());
        Ok(carrier)
    }

    /// Returns a carrier that needs no connection.
    ///
    /// # Errors
    /// One sentence about the reason why it is not available.
    pub(super) fn without_connection(&self, provider: &str, tenant: TenantId) -> Result<Arc<Carrier>, String> {
        let connection = Connection {
            rest: &self.rest.of(tenant),
            settings: &Map::new(),
            credentials: &Private::default(),
            addresses: &self.addresses,
        };
        self.drivers.connect(provider, &connection).map(Arc::new)
    }

    /// Drops the carrier of a connection that has changed or is gone. Live calls keep theirs.
    pub(super) fn forget(&self, id: ConnectionId) {
        self.cache.remove(id);
    }

    /// Drops carriers, and with them their credentials, that no call uses and that were not requested for an hour.
    pub(super) fn forget_unused(&self) {
        self.cache.evict_unused(Instant::now());
    }
}

/// When a connection was changed, and its tenant's exemptions.
type Version = (i64, AddressPolicy);

/// Cached values of connections, each for one version of its connection.
struct Cache<T>(Mutex<HashMap<ConnectionId, Cached<T>>>);

struct Cached<T> {
    version: Version,
    used: Instant,
    value: Arc<T>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Cache<T> {
    fn find(&self, id: ConnectionId, version: &Version, now: Instant) -> Option<Arc<T>> {
        let mut entries = self.entries();
        let cached = entries.get_mut(&id).filter(|cached| cached.version == *version)?;
        cached.used = now;
        Some(cached.value.clone())
    }

    fn insert(&self, id: ConnectionId, version: Version, now: Instant, value: Arc<T>) {
        self.entries().insert(id, Cached { version, used: now, value });
    }

    fn remove(&self, id: ConnectionId) {
        self.entries().remove(&id);
    }

    fn evict_unused(&self, now: Instant) {
        self.entries().retain(|_, cached| {
            let in_a_call = Arc::strong_count(&cached.value) > 1;
            in_a_call || now.saturating_duration_since(cached.used) < UNUSED_CACHED_FOR
        });
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ConnectionId, Cached<T>>> {
        // It is consistent at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ConnectionId {
        ConnectionId::from_uuid(uuid::Uuid::from_bytes([number; 16]))
    }

    fn version(updated_at: i64) -> Version {
        (updated_at, AddressPolicy::default())
    }

    #[test]
    fn a_carrier_lasts_as_long_as_its_tenant_s_exemptions() {
        let (cache, now) = (Cache::default(), Instant::now());
        let exempt: AddressPolicy = "10.0.0.5,http".parse().expect("an exemption");
        cache.insert(id(1), (7, exempt.clone()), now, Arc::new("a carrier"));
        assert!(cache.find(id(1), &(7, exempt), now).is_some());
        assert!(cache.find(id(1), &version(7), now).is_none(), "the operator has taken the exemption back");
    }

    #[test]
    fn a_carrier_is_forgotten_when_it_is_unused_and_no_call_has_it() {
        let (cache, now) = (Cache::default(), Instant::now());
        let known = |number| cache.entries().contains_key(&id(number));
        for number in [1, 2, 3] {
            cache.insert(id(number), version(7), now, Arc::new("a carrier"));
        }
        let in_a_call = cache.find(id(1), &version(7), now).expect("cached");
        assert!(cache.find(id(1), &version(8), now).is_none(), "the connection has changed");
        cache.find(id(2), &version(7), now + UNUSED_CACHED_FOR / 2).expect("cached");
        cache.evict_unused(now + UNUSED_CACHED_FOR);
        assert!(known(1) && known(2) && !known(3));
        drop(in_a_call);
        cache.evict_unused(now + UNUSED_CACHED_FOR * 2);
        assert!(!known(1) && !known(2));
    }

    #[test]
    fn the_carrier_of_a_changed_connection_is_forgotten_at_once() {
        let (cache, now) = (Cache::default(), Instant::now());
        cache.insert(id(1), version(7), now, Arc::new("a carrier"));
        let in_a_call = cache.find(id(1), &version(7), now).expect("cached");
        cache.remove(id(1));
        assert!(cache.find(id(1), &version(7), now).is_none());
        assert_eq!(Arc::strong_count(&in_a_call), 1, "only the call has it");
    }
}
