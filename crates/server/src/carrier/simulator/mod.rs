//! The simulator: a phone network inside the process, for development, demonstrations and tests.
//!
//! The number dialled picks what happens ([`scenario`]). One task per leg ([`leg`]) plays the far end on absolute 20 ms
//! deadlines; what the simulated caller says is decided by [`caller`], which only ever hears how loud the agent is. When the
//! process dies, its phone network dies with it: a new one knows no legs.

mod caller;
mod leg;
pub mod recordings;
mod scenario;
mod settings;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use switchhook_core::call::ErrorCode;
use switchhook_core::id::CallId;
use tokio_util::sync::CancellationToken;

pub use self::scenario::Scenario;
pub use self::settings::{Faults, SimulatorSettings};

use super::{Carrier, CarrierError, DialError, DialRequest, Dialed, LegRef, LegState, Line};

/// The phone network, with one connection's settings. Clones share the network.
#[derive(Clone, Default)]
pub struct Simulator {
    network: Network,
    settings: SimulatorSettings,
}

/// The legs that live, and how each is told to end.
#[derive(Clone, Default)]
struct Network(Arc<Mutex<HashMap<CallId, CancellationToken>>>);

impl Network {
    fn with<T>(&self, use_it: impl FnOnce(&mut HashMap<CallId, CancellationToken>) -> T) -> T {
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

    /// The same network, as another connection sees it.
    #[must_use]
    pub fn with_settings(&self, settings: SimulatorSettings) -> Self {
        Self { network: self.network.clone(), settings }
    }

    /// Whether calls to this number are to meet a language model that never answers.
    #[must_use]
    pub fn silences_the_model(to: &str) -> bool {
        Scenario::of(to) == Scenario::ModelNeverAnswers
    }
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
            Scenario::CarrierErrs => refused(ErrorCode::CarrierError, "The simulated carrier could not place the call."),
            _ => {
                let carrier_call_id = format!("SIM-{}", request.call);
                let end = CancellationToken::new();
                self.network.with(|legs| legs.insert(request.call, end.clone()));
                let (network, settings) = (self.network.clone(), self.settings.clone());
                tokio::spawn(async move {
                    let call = request.call;
                    leg::run(request, scenario, settings, end).await;
                    network.with(|legs| legs.remove(&call));
                });
                Ok(Dialed { carrier_call_id })
            }
        }
    }

    async fn answer(&self, _leg: &LegRef, _line: Line) -> Result<(), CarrierError> {
        let words = "The simulated network has no incoming calls yet.".to_owned();
        Err(CarrierError { code: ErrorCode::CarrierError, words })
    }

    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError> {
        if let Some(end) = self.network.with(|legs| legs.get(&leg.call).cloned()) {
            end.cancel();
        }
        Ok(())
    }

    async fn find(&self, leg: &LegRef) -> Result<LegState, CarrierError> {
        let lives = self.network.with(|legs| legs.contains_key(&leg.call));
        let carrier_call_id = format!("SIM-{}", leg.call);
        Ok(if lives { LegState::Live { carrier_call_id } } else { LegState::Unknown })
    }

    async fn verify(&self) -> Result<(), CarrierError> {
        Ok(())
    }
}
