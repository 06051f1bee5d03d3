//! The service put together: everything below is made here, and nothing below knows this file.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use switchhook_core::id::NodeId;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls::setup::Setup;
use crate::calls::{self, Context, Live};
use crate::carrier::simulator::Simulator;
use crate::clock::{self, Clock};
use crate::config::{Config, Role};
use crate::hints::Hints;
use crate::http::{self, HttpState};
use crate::models::Models;
use crate::providers::registry::Registry;
use crate::store::{Store, idempotency};
use crate::vault::Vault;
use crate::webhooks;

/// How often what nobody needs any more is deleted.
const HOUSEKEEPING: Duration = Duration::from_secs(60);

/// A running service. Dropped without [`Service::stop`] it stops like a process that was killed.
pub struct Service {
    address: SocketAddr,
    store: Store,
    live: Live,
    stop: CancellationToken,
    hurry: CancellationToken,
    tasks: TaskTracker,
}

impl Service {
    /// Opens the database, takes up its work, and listens.
    ///
    /// # Errors
    /// When the database, the key file or the address cannot be had.
    pub async fn start(config: Arc<Config>, models: Models, clock: Clock) -> anyhow::Result<Self> {
        let store = Store::open(&config.database_url()).await?;
        let vault = Vault::open(&config)?;
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}; is another process using that address?", config.listen))?;
        let address = listener.local_addr()?;
        let hints = Hints::default();
        let live = Live::default();
        let node = NodeId::new(clock.now(), clock::random());
        let providers = Registry::new(&config, models)?;
        let setup = Arc::new(Setup::new(config.clone(), vault.clone(), providers, Simulator::new()));
        let service = Self {
            address,
            store: store.clone(),
            live: live.clone(),
            stop: CancellationToken::new(),
            hurry: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        if config.has_role(Role::Calls) {
            let context = Context {
                store: store.clone(),
                clock: clock.clone(),
                config: config.clone(),
                hints: hints.clone(),
                setup,
                node,
                live,
            };
            service.tasks.spawn(calls::dispatcher::run(context, service.stop.clone(), service.hurry.clone()));
        }
        if config.has_role(Role::Webhooks) {
            let worker = webhooks::worker::Worker::new(store.clone(), clock.clone(), config.clone(), vault.clone(), hints.clone())?;
            // Deliveries go on until the calls are over: their last events are still to be sent.
            service.tasks.spawn(worker.run(service.stop.clone()));
        }
        service.tasks.spawn(keep_house(store.clone(), clock.clone(), service.stop.clone()));
        let state = HttpState::new(store, clock, config, vault, hints);
        service.tasks.spawn(serve(listener, http::router(state), service.stop.clone()));
        Ok(service)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How many calls are live in this process.
    #[must_use]
    pub fn live_calls(&self) -> usize {
        self.live.count()
    }

    /// Takes no new work and lets what is live end, for at most `patience`; then ends it.
    pub async fn stop(self, patience: Duration) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(patience, self.tasks.wait()).await.is_err() {
            tracing::warn!(calls = self.live.count(), "ending the calls that are still live");
            self.hurry.cancel();
            // The deadlines of a call that is being ended are shorter than this.
            if tokio::time::timeout(Duration::from_secs(20), self.tasks.wait()).await.is_err() {
                tracing::error!("some work did not stop; it will be taken up again at the next start");
            }
        }
        self.store.close().await;
    }
}

async fn serve(listener: TcpListener, router: axum::Router, stop: CancellationToken) {
    let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
    if let Err(error) = served {
        tracing::error!(%error, "the HTTP server failed");
    }
}

async fn keep_house(store: Store, clock: Clock, stop: CancellationToken) {
    let mut rounds = tokio::time::interval(HOUSEKEEPING);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = rounds.tick() => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = prune(&store, &clock).await {
            tracing::warn!(%error, "old rows could not be deleted; trying again");
        }
    }
}

async fn prune(store: &Store, clock: &Clock) -> Result<(), sqlx::Error> {
    loop {
        let mut tx = store.begin().await?;
        let deleted = idempotency::prune_for_housekeeping(&mut tx, clock.now()).await?;
        tx.commit().await?;
        if deleted == 0 {
            return Ok(());
        }
    }
}
