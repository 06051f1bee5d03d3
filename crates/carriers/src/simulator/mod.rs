//! The simulator: a phone network inside the process, for development, demonstrations and tests.
//!
//! The dialled number selects a scenario ([`scenario`]). One task per leg ([`leg`]) plays the far end on absolute 20 ms
//! deadlines; [`caller`] decides what the simulated caller says, knowing only how loud the agent is. The phone network ends with its
//! process: a new one knows no legs.

mod audio;
mod caller;
mod fault_rng;
mod faults;
mod leg;
mod line_echo;
pub mod scenario;
mod settings;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use serde_json::Value;
use switchhook_core::call::ErrorCode;
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use switchhook_runtime::panics::caught;
use tokio_util::sync::CancellationToken;

use self::scenario::Scenario;
use self::settings::SimulatorSettings;
use super::kind::CarrierKind;
use super::{
    CallControl, Carrier, CarrierError, Connection, DialError, DialRequest, Dialed, Driver, FoundLeg, LegEvents,
    LegRef, MediaTransport, ProviderFault, Simulation, TransferError,
};

/// The simulator in the registry.
pub const KIND: CarrierKind = CarrierKind {
    rings_phones: false,
    settings: Some(&["time_scale", "presses", "sample_rate", "refuse_transfers", "faults"]),
    check_settings: |settings| SimulatorSettings::parse(&Value::Object(settings.clone())).map(drop),
    driver: Some(|settings| {
        Arc::new(PhoneNetwork { dial_log_path: settings.simulator_dial_log.clone(), ..PhoneNetwork::default() })
    }),
    ..CarrierKind::planned("simulator")
};

/// The phone network of a node.
#[derive(Default)]
struct PhoneNetwork {
    legs: Legs,
    dial_log_path: Option<PathBuf>,
    dial_log: DialLog,
}

/// A file that gets a line with the call's id for each dial. It outlives the process, so it proves which calls were dialled.
/// Empty if none is configured, and before the network is started.
type DialLog = Arc<OnceLock<File>>;

#[async_trait]
impl Driver for PhoneNetwork {
    fn connect(&self, connection: &Connection<'_>) -> Result<Carrier, String> {
        let settings = SimulatorSettings::parse(&Value::Object(connection.settings.clone()))
            .map_err(|error| format!("{}: {}.", error.path, error.message))?;
        let format = settings.sample_rate;
        let simulator = Simulator { legs: self.legs.clone(), settings, dial_log: self.dial_log.clone() };
        let simulator = Arc::new(simulator);
        let media = MediaTransport::Own;
        Ok(Carrier { control: simulator.clone(), webhooks: None, media, format, simulation: Some(simulator) })
    }

    async fn start(&self) -> anyhow::Result<()> {
        let Some(path) = &self.dial_log_path else { return Ok(()) };
        let file = File::options().create(true).append(true).open(path);
        let file = file.with_context(|| format!("the dial log {} cannot be opened", path.display()))?;
        self.dial_log.get_or_init(|| file);
        Ok(())
    }

    async fn stop(&self) {
        for (_, leg) in self.legs.with(std::mem::take) {
            leg.end.cancel();
        }
    }
}

/// The phone network with one connection's settings.
struct Simulator {
    legs: Legs,
    settings: SimulatorSettings,
    dial_log: DialLog,
}

/// The live legs.
#[derive(Clone, Default)]
struct Legs(Arc<Mutex<HashMap<CallId, Leg>>>);

/// A leg, and how to end it.
#[derive(Clone, Default)]
struct Leg {
    end: CancellationToken,
    /// Whether it was transferred: it then ends without an event.
    transferred: Arc<AtomicBool>,
    /// The scenario of a simulated call to us, until we answer it.
    waiting: Option<Scenario>,
}

impl Legs {
    fn with<T>(&self, use_it: impl FnOnce(&mut HashMap<CallId, Leg>) -> T) -> T {
        // The map is consistent at every step, so a panic elsewhere while it was locked has not damaged it.
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Simulator {
    fn log_dial(&self, call: CallId) -> std::io::Result<()> {
        // A single write per line: it is complete or absent whenever the process dies.
        self.dial_log.get().map_or(Ok(()), |mut file| file.write_all(format!("{call}\n").as_bytes()))
    }

    /// Ends a leg in any state.
    fn end(&self, call: CallId) {
        let ended = self.legs.with(|legs| match legs.get(&call) {
            // A waiting caller has no task that would clean up.
            Some(Leg { waiting: Some(_), .. }) => legs.remove(&call),
            found => found.cloned(),
        });
        if let Some(Leg { end, .. }) = ended {
            end.cancel();
        }
    }

    /// Creates the far end of a leg with this connection's settings.
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

    /// Runs a leg in a separate task, and removes the leg afterwards.
    fn live(&self, call: CallId, leg: impl Future<Output = ()> + Send + 'static) {
        let legs = self.legs.clone();
        tokio::spawn(async move {
            // A far end that panics is treated as one that hangs up.
            let _ = caught(leg).await;
            legs.with(|legs| legs.remove(&call));
        });
    }
}

impl Simulation for Simulator {
    /// The caller's number selects the scenario after the answer.
    fn ring(&self, call: CallId, from: &PhoneNumber) -> String {
        let leg = Leg { waiting: Some(Scenario::of(from.reveal())), ..Leg::default() };
        self.legs.with(|legs| legs.insert(call, leg));
        carrier_call_id(call)
    }

    fn cancel(&self, call: CallId) {
        self.end(call);
    }

    fn provider_fault(&self, far_end: &str) -> Option<ProviderFault> {
        (Scenario::of(far_end) == Scenario::ModelNeverAnswers).then_some(ProviderFault::ModelNeverResponds)
    }
}

fn carrier_call_id(call: CallId) -> String {
    format!("SIM-{call}")
}

#[async_trait]
impl CallControl for Simulator {
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError> {
        let scenario = Scenario::of(request.to.reveal());
        let refused = |code, words: &str| Err(DialError::Refused { code, message: words.to_owned() });
        match scenario {
            Scenario::RefusesCredentials => {
                refused(ErrorCode::CarrierUnauthorized, "The simulated carrier refused the credentials.")
            }
            Scenario::CarrierErrs => {
                refused(ErrorCode::CarrierError, "The simulated carrier could not place the call.")
            }
            _ => {
                if let Err(error) = self.log_dial(request.call) {
                    tracing::error!(%error, "could not write a dial to the dial log");
                    return refused(ErrorCode::CarrierError, "The simulated carrier could not note the call.");
                }
                let carrier_call_id = carrier_call_id(request.call);
                let leg = Leg::default();
                self.legs.with(|legs| legs.insert(request.call, leg.clone()));
                let far_end = self.far_end(request.call, request.events, scenario, &leg);
                let ring = Duration::from_secs(request.ring_timeout_seconds.into());
                self.live(request.call, async move { far_end.rung(ring).await });
                Ok(Dialed::now(carrier_call_id))
            }
        }
    }

    async fn answer(&self, leg: &LegRef, events: LegEvents) -> Result<(), CarrierError> {
        let found = self.legs.with(|legs| {
            let leg = legs.get_mut(&leg.call)?;
            Some((leg.waiting.take()?, leg.clone()))
        });
        let Some((scenario, found)) = found else {
            let message = "The caller has hung up, or was answered already.".to_owned();
            return Err(CarrierError { code: ErrorCode::CarrierError, message });
        };
        let far_end = self.far_end(leg.call, events, scenario, &found);
        self.live(leg.call, async move { far_end.answered_by_us().await });
        Ok(())
    }

    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError> {
        self.end(leg.call);
        Ok(())
    }

    async fn transfer(&self, leg: &LegRef, _to: &PhoneNumber, _number: u32) -> Result<(), TransferError> {
        let refused = |words: &str| CarrierError { code: ErrorCode::CarrierError, message: words.to_owned() };
        if self.settings.refuse_transfers {
            return Err(refused("The simulated carrier refused the transfer.").into());
        }
        let found = self.legs.with(|legs| legs.get(&leg.call).cloned());
        let found = found.ok_or_else(|| refused("The simulated carrier knows no such call."))?;
        found.transferred.store(true, Ordering::Relaxed);
        found.end.cancel();
        Ok(())
    }

    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError> {
        let lives = self.legs.with(|legs| legs.contains_key(&leg.call));
        let carrier_call_id = carrier_call_id(leg.call);
        Ok(lives.then_some(FoundLeg { carrier_call_id, ended: None, certain: true }).into_iter().collect())
    }

    async fn verify(&self) -> Result<String, CarrierError> {
        Ok("It accepts the credentials.".to_owned())
    }
}
