//! The simulator: a phone network inside the process, for development, demonstrations and tests.
//!
//! The number dialled picks what happens ([`scenario`]). One task per leg ([`leg`]) plays the far end on absolute 20 ms
//! deadlines; what the simulated caller says is decided by [`caller`], which only ever hears how loud the agent is. When the
//! process dies, its phone network dies with it: a new one knows no legs.

mod audio;
mod caller;
mod fault_rng;
mod faults;
mod leg;
pub mod recordings;
mod scenario;
mod settings;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use switchhook_core::call::ErrorCode;
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use tokio_util::sync::CancellationToken;

pub use self::scenario::Scenario;
pub use self::settings::{Faults, SimulatorSettings};

use super::{Carrier, CarrierError, DialError, DialRequest, Dialed, FoundLeg, LegEvents, LegRef};
use crate::panics::caught;

/// The provider of its connections.
pub const PROVIDER: &str = "simulator";

/// The phone network, with one connection's settings. Clones share the network.
#[derive(Clone, Default)]
pub struct Simulator {
    network: Network,
    settings: SimulatorSettings,
    /// Gets a line of text for each dial.
    dial_log: Option<Arc<File>>,
}

/// The legs that live.
#[derive(Clone, Default)]
struct Network(Arc<Mutex<HashMap<CallId, Leg>>>);

/// A leg, and how to end it.
#[derive(Clone, Default)]
struct Leg {
    end: CancellationToken,
    /// Whether it was transferred: it then ends without an event.
    transferred: Arc<AtomicBool>,
    /// Somebody calls us, and this is what they will do; nothing once we have answered.
    waiting: Option<Scenario>,
}

impl Network {
    fn with<T>(&self, use_it: impl FnOnce(&mut HashMap<CallId, Leg>) -> T) -> T {
        // The map is whole at every step, so a panic elsewhere while it was locked has not harmed it.
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Simulator {
    /// A network without any calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, which adds a line to the file at `path` for each dial that it takes: the id of the call. The file outlives the
    /// process, so it is a witness of who was rung.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn with_dial_log(path: &Path) -> std::io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Self { dial_log: Some(Arc::new(file)), ..Self::default() })
    }

    /// The same network, as another connection sees it.
    #[must_use]
    pub fn with_settings(&self, settings: SimulatorSettings) -> Self {
        Self { settings, ..self.clone() }
    }

    fn log_dial(&self, call: CallId) -> std::io::Result<()> {
        // One write for the whole line: it is there or it is not, whenever the process dies.
        self.dial_log.as_deref().map_or(Ok(()), |mut file| file.write_all(format!("{call}\n").as_bytes()))
    }

    /// Somebody calls one of our numbers and waits to be answered. The caller's number picks what they do then. Gives the
    /// carrier's id of the call.
    #[must_use]
    pub fn call_in(&self, call: CallId, from: &PhoneNumber) -> String {
        let leg = Leg { waiting: Some(Scenario::of(from.reveal())), ..Leg::default() };
        self.network.with(|legs| legs.insert(call, leg));
        carrier_call_id(call)
    }

    /// Ends a leg, whatever it is doing.
    pub fn give_up(&self, call: CallId) {
        let ended = self.network.with(|legs| match legs.get(&call) {
            // A caller who waits has no task that would clean up after them.
            Some(Leg { waiting: Some(_), .. }) => legs.remove(&call),
            found => found.cloned(),
        });
        if let Some(Leg { end, .. }) = ended {
            end.cancel();
        }
    }

    /// The far end of a leg, as this connection's network behaves.
    fn far_end(&self, call: CallId, events: LegEvents, scenario: Scenario, leg: &Leg) -> leg::FarEnd {
        leg::FarEnd {
            call,
            events,
            scenario,
            settings: self.settings.clone(),
            end: leg.end.clone(),
            transferred: leg.transferred.clone(),
            dtmf_received: Arc::default(),
        }
    }

    /// Lives through a leg in a task of its own, and forgets the leg after it.
    fn live(&self, call: CallId, leg: impl Future<Output = ()> + Send + 'static) {
        let network = self.network.clone();
        tokio::spawn(async move {
            // A far end that panics is gone like one that hangs up.
            let _ = caught(leg).await;
            network.with(|legs| legs.remove(&call));
        });
    }

    /// Whether calls with this number are to meet a language model that never answers.
    #[must_use]
    pub fn silences_the_model(number: &str) -> bool {
        Scenario::of(number) == Scenario::ModelNeverAnswers
    }
}

fn carrier_call_id(call: CallId) -> String {
    format!("SIM-{call}")
}

#[async_trait]
impl Carrier for Simulator {
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError> {
        let scenario = Scenario::of(request.to.reveal());
        let refused = |code, words: &str| Err(DialError::Refused { code, words: words.to_owned() });
        match scenario {
            Scenario::RefusesCredentials => {
                refused(ErrorCode::CarrierUnauthorized, "The simulated carrier refused the credentials.")
            }
            Scenario::CarrierErrs => {
                refused(ErrorCode::CarrierError, "The simulated carrier could not place the call.")
            }
            _ => {
                if let Err(error) = self.log_dial(request.call) {
                    tracing::error!(%error, "a dial could not be written to the dial log");
                    return refused(ErrorCode::CarrierError, "The simulated carrier could not note the call.");
                }
                let carrier_call_id = carrier_call_id(request.call);
                let leg = Leg::default();
                self.network.with(|legs| legs.insert(request.call, leg.clone()));
                let far_end = self.far_end(request.call, request.events, scenario, &leg);
                let ring = Duration::from_secs(request.ring_timeout_seconds.into());
                self.live(request.call, async move { far_end.rung(ring).await });
                Ok(Dialed::now(carrier_call_id))
            }
        }
    }

    async fn answer(&self, leg: &LegRef, events: LegEvents) -> Result<(), CarrierError> {
        let found = self.network.with(|legs| {
            let leg = legs.get_mut(&leg.call)?;
            Some((leg.waiting.take()?, leg.clone()))
        });
        let Some((scenario, found)) = found else {
            let words = "The caller has hung up, or was answered already.".to_owned();
            return Err(CarrierError { code: ErrorCode::CarrierError, words });
        };
        let far_end = self.far_end(leg.call, events, scenario, &found);
        self.live(leg.call, async move { far_end.answered_by_us().await });
        Ok(())
    }

    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError> {
        self.give_up(leg.call);
        Ok(())
    }

    async fn transfer(&self, leg: &LegRef, _to: &PhoneNumber) -> Result<(), CarrierError> {
        let refused = |words: &str| CarrierError { code: ErrorCode::CarrierError, words: words.to_owned() };
        if self.settings.refuse_transfers {
            return Err(refused("The simulated carrier refused the transfer."));
        }
        let found = self.network.with(|legs| legs.get(&leg.call).cloned());
        let found = found.ok_or_else(|| refused("The simulated carrier knows no such call."))?;
        found.transferred.store(true, Ordering::Relaxed);
        found.end.cancel();
        Ok(())
    }

    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError> {
        let lives = self.network.with(|legs| legs.contains_key(&leg.call));
        let carrier_call_id = carrier_call_id(leg.call);
        Ok(lives.then_some(FoundLeg { carrier_call_id, ended: None, certain: true }).into_iter().collect())
    }

    async fn verify(&self) -> Result<String, CarrierError> {
        Ok("It accepts the credentials.".to_owned())
    }
}
