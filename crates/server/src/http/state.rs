//! Shared state of handlers.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use metrics_exporter_prometheus::PrometheusHandle;
use switchhook_carriers::address::Addresses;
use switchhook_core::id::ConnectionId;
use switchhook_core::id::TenantId;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::Exemptions;
use switchhook_providers::registry::Registry;
use switchhook_runtime::clock::{Clock, SteadyClock};
use switchhook_speech::models::ModelStore;
use switchhook_vault::Vault;

use super::auth::LastUsed;
use super::calls::Followers;
use super::carrier::CarrierRate;
use super::connections::{Trials, VoiceLists};
use super::events::Feeds;
use super::guest_rate::GuestRate;
use super::health::Pings;
use super::metrics;
use super::sign_in::SignInRate;
use super::throttle::Throttle;
use super::turns::Turns;
use crate::calls::Context;
use crate::calls::place::Placer;
use crate::calls::setup::Setup;
use crate::config::Config;
use crate::heartbeats::Heartbeats;
use crate::sign_in::SignIn;
use crate::store::group_commit::Batcher;
use crate::store::{Store, rate};
use crate::wakeups::Wakeups;

/// State for handlers. Clones share it.
#[derive(Clone, FromRef)]
pub struct HttpState {
    /// The database.
    pub store: Store,
    /// The time of day.
    pub clock: Clock,
    /// The clock of what this process caches and counts.
    #[from_ref(skip)]
    pub(super) steady: SteadyClock,
    /// The configuration.
    pub config: Arc<Config>,
    /// Seals and opens credentials.
    pub vault: Vault,
    /// Wakes workers.
    pub wakeups: Wakeups,
    /// Accepts inbound calls, if this node has the role.
    #[from_ref(skip)]
    pub calls: Option<Arc<Context>>,
    /// When keys were last used, until it is written.
    pub last_used: LastUsed,
    /// Slows down clients that guess keys.
    pub throttle: Throttle,
    /// The sign-in method of the dashboard.
    pub sign_in: SignIn,
    /// Rate limits of people and of pages with event tokens.
    pub(super) guest_rate: GuestRate,
    /// Rate limits of carriers.
    pub(super) carrier_rate: CarrierRate,
    /// Requests below `/auth` by address.
    pub(super) sign_in_rate: SignInRate,
    /// Open event streams.
    pub(super) followers: Followers,
    /// The feeds of whole tenants' events.
    #[from_ref(skip)]
    pub(super) feeds: Feeds,
    /// Whether the service is stopping.
    pub draining: Draining,
    /// The progress of this node's work.
    #[from_ref(skip)]
    pub heartbeats: Heartbeats,
    /// Pings of the database for those who ask whether this node is ready.
    #[from_ref(skip)]
    pub(super) pings: Pings,
    /// Decides request rate admissions.
    #[from_ref(skip)]
    pub(super) admissions: Batcher<rate::Admit>,
    /// Places calls.
    #[from_ref(skip)]
    pub(super) placer: Placer,
    /// Limits connection tests.
    #[from_ref(skip)]
    pub(super) trials: Arc<Trials>,
    /// Changes of agents: one at a time for each tenant.
    #[from_ref(skip)]
    pub(super) agent_changes: Turns,
    /// Cached voice lists of providers.
    #[from_ref(skip)]
    pub(super) voice_lists: VoiceLists,
    pub(super) metrics: PrometheusHandle,
    /// Addresses that carriers use.
    pub addresses: Addresses,
    /// Outbound exemptions of tenants.
    #[from_ref(skip)]
    pub exemptions: Exemptions,
    /// On a node without the role `calls`: carriers and providers, built on first use.
    #[from_ref(skip)]
    spare: Arc<Mutex<Option<Arc<Setup>>>>,
}

impl FromRequestParts<Self> for HttpState {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, state: &Self) -> Result<Self, Infallible> {
        Ok(state.clone())
    }
}

impl HttpState {
    /// The same, accepting inbound calls.
    #[must_use]
    pub fn with_calls(self, calls: Context) -> Self {
        Self { calls: Some(Arc::new(calls)), ..self }
    }

    /// Returns the outbound policy for a tenant's carriers and providers.
    pub(crate) fn addresses_of(&self, tenant: TenantId) -> AddressPolicy {
        self.config.outbound_allow.clone().with(&self.exemptions.of(tenant))
    }

    /// Returns the carriers and providers by connection.
    ///
    /// # Errors
    /// When they cannot be built.
    pub fn setup(&self) -> anyhow::Result<Arc<Setup>> {
        if let Some(calls) = &self.calls {
            return Ok(calls.setup.clone());
        }
        // The state is consistent at every step.
        let mut kept = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(setup) = &*kept {
            return Ok(setup.clone());
        }
        let models = ModelStore::new(&self.config.data_dir);
        let providers = Registry::new(self.config.providers(), models, self.exemptions.clone())?;
        let (config, vault, addresses) = (self.config.clone(), self.vault.clone(), self.addresses.clone());
        let setup = Setup::new(config, vault, providers, addresses)?;
        Ok(kept.insert(Arc::new(setup)).clone())
    }

    /// Drops the cached carrier or provider of a changed or deleted connection.
    pub(super) fn forget_connection(&self, id: ConnectionId) {
        if let Some(setup) = self.made_setup() {
            setup.forget_connection(id);
        }
    }

    /// Returns the setup of [`HttpState::setup`] if it is already built.
    pub(super) fn made_setup(&self) -> Option<Arc<Setup>> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.calls.as_ref().map(|calls| calls.setup.clone()).or_else(spare)
    }

    /// Creates the initial state: no keys used, not draining.
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
            admissions: Batcher::new(rate::Admit(store.clone())),
            placer: Placer::new(store.clone(), clock.clone(), config.clone(), wakeups.clone()),
            sign_in: SignIn::new(&config, &clock, addresses.public_url()),
            guest_rate: GuestRate::default(),
            steady: clock.steady(),
            store,
            clock,
            config,
            vault,
            wakeups,
            calls: None,
            last_used: LastUsed::default(),
            throttle: Throttle::default(),
            carrier_rate: CarrierRate::default(),
            sign_in_rate: SignInRate::default(),
            followers: Followers::default(),
            feeds: Feeds::default(),
            draining: Draining::default(),
            heartbeats: Heartbeats::default(),
            pings: Pings::default(),
            trials: Arc::default(),
            agent_changes: Turns::default(),
            voice_lists: VoiceLists::default(),
            exemptions: Exemptions::default(),
            metrics: metrics::recorder(),
            addresses,
            spare: Arc::default(),
        }
    }
}

/// Whether the service is stopping; `/readyz` then returns 503. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// Marks the service as not ready.
    pub fn start(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it is stopping.
    #[must_use]
    pub fn started(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
