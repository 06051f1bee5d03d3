//! What handlers work with.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use switchhook_core::id::ConnectionId;
use switchhook_core::id::TenantId;
use switchhook_core::webhook::AddressPolicy;

use super::auth::LastUsed;
use super::calls::{Accept, Followers};
use super::carrier::CarrierRate;
use super::connections::Trials;
use super::metrics;
use super::throttle::Throttle;
use crate::calls::Context;
use crate::calls::setup::Setup;
use crate::carrier::address::Addresses;
use crate::clock::Clock;
use crate::config::Config;
use crate::gather::Gather;
use crate::models::Models;
use crate::outbound::Exemptions;
use crate::providers::registry::Registry;
use crate::store::{Store, rate};
use crate::vault::Vault;
use crate::wakeups::Wakeups;

/// Everything that a handler may need. Clones share it.
#[derive(Clone, FromRef)]
pub struct HttpState {
    /// The database.
    pub store: Store,
    /// The time of day.
    pub clock: Clock,
    /// The configuration.
    pub config: Arc<Config>,
    /// Seals and opens credentials.
    pub vault: Vault,
    /// Wakes those who have work.
    pub wakeups: Wakeups,
    /// Takes in calls, when this node has the role.
    #[from_ref(skip)]
    pub calls: Option<Arc<Context>>,
    /// When keys were last used, until that is written down.
    pub last_used: LastUsed,
    /// Slows down those who try keys.
    pub throttle: Throttle,
    /// How often carriers may call.
    pub(super) carrier_rate: CarrierRate,
    /// Who follows calls live.
    pub(super) followers: Followers,
    /// Whether the service is stopping.
    pub draining: Draining,
    /// Decides about the request rate.
    #[from_ref(skip)]
    pub(super) admissions: Gather<rate::Admit>,
    /// Creates calls.
    #[from_ref(skip)]
    pub(super) acceptances: Gather<Accept>,
    /// Tries connections.
    #[from_ref(skip)]
    pub(super) trials: Arc<Trials>,
    pub(super) metrics: PrometheusHandle,
    /// Where carriers reach this service.
    pub addresses: Addresses,
    /// What single tenants may reach.
    #[from_ref(skip)]
    pub exemptions: Exemptions,
    /// On a node without calls: carriers and providers, made when they are first needed.
    #[from_ref(skip)]
    spare: Arc<Mutex<Option<Arc<Setup>>>>,
}

impl HttpState {
    /// The same, with calls taken in.
    #[must_use]
    pub fn with_calls(self, calls: Context) -> Self {
        Self { calls: Some(Arc::new(calls)), ..self }
    }

    /// Where requests to carriers and providers of a tenant may go.
    pub(super) fn addresses_of(&self, tenant: TenantId) -> AddressPolicy {
        self.config.outbound_allow.clone().with(&self.exemptions.of(tenant))
    }

    /// Carriers and providers by connection.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn setup(&self) -> anyhow::Result<Arc<Setup>> {
        if let Some(calls) = &self.calls {
            return Ok(calls.setup.clone());
        }
        // It is whole at every step.
        let mut kept = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(setup) = &*kept {
            return Ok(setup.clone());
        }
        let models = Models::new(&self.config.data_dir);
        let providers = Registry::new(&self.config, models, self.exemptions.clone())?;
        let (config, vault, addresses) = (self.config.clone(), self.vault.clone(), self.addresses.clone());
        let setup = Setup::new(config, vault, providers, addresses)?;
        Ok(kept.insert(Arc::new(setup)).clone())
    }

    /// Forgets what was made of a connection that has changed or is gone.
    pub(super) fn forget_connection(&self, id: ConnectionId) {
        if let Some(setup) = self.made_setup() {
            setup.forget_connection(id);
        }
    }

    /// What [`HttpState::setup`] gives, when it has been made.
    pub(super) fn made_setup(&self) -> Option<Arc<Setup>> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.calls.as_ref().map(|calls| calls.setup.clone()).or_else(spare)
    }

    /// With nothing used yet, and not draining.
    #[must_use]
    pub fn new(
        store: Store,
        clock: Clock,
        config: Arc<Config>,
        vault: Vault,
        wakeups: Wakeups,
        addresses: Addresses,
    ) -> Self {
        Self {
            admissions: Gather::new(rate::Admit(store.clone())),
            acceptances: Gather::new(Accept::new(store.clone(), clock.clone(), config.clone())),
            store,
            clock,
            config,
            vault,
            wakeups,
            calls: None,
            last_used: LastUsed::default(),
            throttle: Throttle::default(),
            carrier_rate: CarrierRate::default(),
            followers: Followers::default(),
            draining: Draining::default(),
            trials: Arc::default(),
            exemptions: Exemptions::default(),
            metrics: metrics::recorder(),
            addresses,
            spare: Arc::default(),
        }
    }
}

/// Whether the service is stopping: `/readyz` then says so, and load balancers go elsewhere. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// From now on the service is not ready.
    pub fn start(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is stopping.
    #[must_use]
    pub fn started(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
