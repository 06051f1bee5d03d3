//! Assembles the service. No other module depends on this file.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use switchhook_carriers::address::Addresses;
use switchhook_core::id::NodeId;
use switchhook_net::outbound::Exemptions;
use switchhook_providers::ProviderError;
use switchhook_providers::check::{self, Check};
use switchhook_providers::local::LocalSpeech;
use switchhook_providers::registry::Registry;
use switchhook_runtime::clock::{self, Clock};
use switchhook_speech::models::ModelStore;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls::setup::Setup;
use crate::calls::{self, Context, Live, tariff};
use crate::config::{Config, NodeRole};
use crate::exemptions;
use crate::files::{self, DatabaseLock, ServiceLock};
use crate::housekeeping::{self, Housekeeping};
use crate::http::{self, Draining, HttpState};
use crate::lifecycle::persistent;
use crate::listener;
use crate::open_files;
use crate::sign_in::SignIn;
use crate::store::Store;
use crate::store::connections::ConnectionRow;
use crate::wakeups::Wakeups;
use crate::webhooks::worker::Worker;

/// Interval of progress reports while the database is prepared.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);
/// Time limit for requests and deliveries in flight once the calls have ended.
const LAST_WORK: Duration = Duration::from_secs(20);

/// Listen backlog, as far as the system allows; further connections of a burst are reset.
const BACKLOG: u32 = 4096;

/// A running service. Dropping it without [`Service::stop`] is like killing the process.
pub struct Service {
    _locks: (ServiceLock, Option<DatabaseLock>),
    address: SocketAddr,
    store: Store,
    sign_in: SignIn,
    /// Ends the work on calls and deliveries.
    apart: [Store; 3],
    live: Live,
    speech: Option<Arc<LocalSpeech>>,
    setup: Option<Arc<Setup>>,
    exemptions: Exemptions,
    draining: Draining,
    /// Stops new calls.
    stop_calls: CancellationToken,
    /// Ends live calls.
    end_now: CancellationToken,
    calls: TaskTracker,
    /// Stops everything else.
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Service {
    /// Opens the database, starts the workers, and listens.
    ///
    /// # Errors
    /// If other users can read the data directory, another service uses the SQLite database, or the database, the key file or the address is
    /// unavailable.
    pub async fn start(config: Arc<Config>, models: ModelStore, clock: Clock) -> anyhow::Result<Self> {
        files::data_directory(&config.data_dir)?;
        let database = config.database_file();
        let locks = (ServiceLock::share(&config.data_dir)?, database.as_deref().map(DatabaseLock::take).transpose()?);
        let numbering_plans = tokio::task::spawn_blocking(tariff::warm_up);
        let store = Store::open_within(&config.database_url(), config.database_connections).await?;
        index_calls(&store).await.context("could not index the calls in the database")?;
        let vault = config.open_vault()?;
        let listener = match listen(config.listen) {
            Ok(listener) => listener,
            Err(error) => {
                let words = cannot_listen(config.listen, error.kind());
                return Err(anyhow::Error::new(error).context(words));
            }
        };
        let wakeups = Wakeups::default();
        let address = listener.local_addr()?;
        let addresses = Addresses::new(config.reached_at(address), &vault);
        let mut state = HttpState::new(
            store.clone(),
            clock.clone(),
            config.clone(),
            vault.clone(),
            wakeups.clone(),
            addresses.clone(),
        );
        let budget = store.budget();
        let apart = [budget.calls, budget.leases, budget.deliveries].map(|connections| store.apart(connections));
        let [for_calls, for_leases, for_deliveries] = apart.clone();
        let mut service = Self {
            _locks: locks,
            address,
            store: store.clone(),
            sign_in: state.sign_in.clone(),
            apart,
            live: Live::default(),
            speech: None,
            setup: None,
            exemptions: state.exemptions.clone(),
            draining: state.draining.clone(),
            stop_calls: CancellationToken::new(),
            end_now: CancellationToken::new(),
            calls: TaskTracker::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        // Before any work on calls and deliveries begins: a start that is given up has begun none.
        exemptions::load(&state.exemptions, &store).await?;
        numbering_plans.await.context("could not build the numbering plans")?;
        if config.has_role(NodeRole::Calls) {
            let providers = Registry::new(config.providers(), models, state.exemptions.clone())?;
            service.speech = Some(providers.local_speech());
            let setup = Setup::new(config.clone(), vault.clone(), providers, addresses)?;
            setup.drivers().start().await?;
            let context = Context {
                store: for_calls,
                leases: for_leases,
                clock: clock.clone(),
                config: config.clone(),
                heartbeats: state.heartbeats.clone(),
                wakeups: wakeups.clone(),
                setup: Arc::new(setup),
                node: NodeId::new(clock.now(), clock::random()),
                live: service.live.clone(),
                runners: TaskTracker::new(),
            };
            service.setup = Some(context.setup.clone());
            state = state.with_calls(context.clone());
            context.heartbeats.calls.beat();
            context.heartbeats.leases.beat();
            let setup = context.setup.clone();
            let (stop, end_now) = (service.stop_calls.clone(), service.end_now.clone());
            let run = move || Box::pin(calls::dispatcher::run(context.clone(), stop.clone(), end_now.clone()));
            service.calls.spawn(async move {
                persistent("the work on calls", run).await;
                setup.drivers().stop().await;
            });
        }
        if config.has_role(NodeRole::Webhooks) {
            let heartbeat = state.heartbeats.deliveries.clone();
            heartbeat.beat();
            let worker = Worker::new(for_deliveries, clock.clone(), config.clone(), vault, wakeups, heartbeat)?;
            let stop = service.stop.clone();
            service
                .tasks
                .spawn(async move { persistent("the delivery of webhooks", || Box::pin(worker.run(&stop))).await });
        }
        service.tasks.spawn(exemptions::follow(state.exemptions.clone(), store.clone(), service.stop.clone()));
        service.tasks.spawn(Housekeeping::new(store, clock, &config).run(service.stop.clone()));
        service.tasks.spawn(http::keep_house(state.clone(), service.stop.clone()));
        service.tasks.spawn(listener::serve(
            listener,
            http::router(state),
            connection_limits(&config),
            service.stop.clone(),
        ));
        Ok(service)
    }

    /// Returns the address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns how people sign in.
    #[must_use]
    pub fn sign_in(&self) -> &SignIn {
        &self.sign_in
    }

    /// Tests a language model's connection with a small request.
    ///
    /// # Errors
    /// When the database fails, or this node takes no calls.
    pub async fn check_language_model(&self, row: &ConnectionRow) -> anyhow::Result<Vec<Check>> {
        exemptions::load(&self.exemptions, &self.store).await?;
        let setup = self.setup.as_ref().context("this node takes no calls")?;
        Ok(setup.check(&self.store, row, false, check::CHECKS_TIMEOUT).await?)
    }

    /// Returns the live calls of this process.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Preloads both local speech models; `loaded` receives their number.
    ///
    /// # Errors
    /// If they are not installed or cannot be read.
    pub async fn load_speech(&self, loaded: impl Fn(u64)) -> Result<(), ProviderError> {
        match &self.speech {
            Some(speech) => speech.load_all(loaded).await,
            None => Ok(()),
        }
    }

    /// Returns a token; cancel it to end the calls that [`Service::stop`] waits for.
    #[must_use]
    pub fn end_now(&self) -> CancellationToken {
        self.end_now.clone()
    }

    /// Starts no more calls and waits up to `drain_timeout` for live ones, then ends them. The API responds and
    /// deliveries go out until then, and at least for `open_for`, so that load balancers notice first; [`Service::end_now`] cuts
    /// both short.
    pub async fn stop(self, drain_timeout: Duration, open_for: Duration) {
        self.draining.start();
        self.stop_calls.cancel();
        self.calls.close();
        let open = tokio::time::timeout(open_for, self.end_now.cancelled());
        let (_, ()) = tokio::join!(open, self.end_calls(drain_timeout));
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(LAST_WORK, self.tasks.wait()).await.is_err() {
            tracing::error!("some work did not stop; the next start resumes it");
        }
        for store in self.apart.iter().chain([&self.store]) {
            store.close().await;
        }
    }

    async fn end_calls(&self, drain_timeout: Duration) {
        if tokio::time::timeout(drain_timeout, self.calls.wait()).await.is_err() {
            tracing::warn!(calls = self.live.count(), "drain timeout reached: ending live calls");
            self.end_now.cancel();
            // Longer than the deadlines of a call that is ending.
            if tokio::time::timeout(LAST_WORK, self.calls.wait()).await.is_err() {
                tracing::error!("some calls did not end; the next start recovers them");
            }
        }
    }
}

/// The limits of the listener, as far as the limit of open files allows.
fn connection_limits(config: &Config) -> listener::Bounds {
    let files = open_files::limit();
    let bounds = open_files::fit(config.listener_bounds(), files);
    let (connections, per_address) = (bounds.connections, bounds.connections_per_address);
    if connections < config.max_connections {
        tracing::warn!(
            open_files = files,
            connections,
            per_address,
            "the limit of open files allows fewer connections than max_connections; raise it, for example to 65536"
        );
    } else {
        tracing::info!(open_files = files, connections, per_address, "connection limits");
    }
    bounds
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?; // Needed after a restart, while old connections linger.
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Says that an address is not available, and what to do where another process has it.
fn cannot_listen(address: SocketAddr, why: std::io::ErrorKind) -> String {
    if why != std::io::ErrorKind::AddrInUse {
        return format!("cannot listen on {address}");
    }
    let another = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8080));
    format!("cannot listen on {address} (another process does; name another address, such as --listen {another})")
}

/// Indexes ended calls after an update from a version without the index; logs progress.
async fn index_calls(store: &Store) -> Result<(), sqlx::Error> {
    let mut reported = Instant::now();
    housekeeping::index_all(store, |done, total| {
        if reported.elapsed() >= PROGRESS_INTERVAL || done == total {
            reported = Instant::now();
            tracing::info!("preparing the database: {done} of {total} calls indexed");
        }
    })
    .await
}
