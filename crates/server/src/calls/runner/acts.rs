//! What is asked of the carrier, once the intention is a row.

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::call::{CallInput, ErrorCode};
use switchhook_core::conversation::{Failure, FailureCode};
use switchhook_core::phone_number::PhoneNumber;

use tokio::time::Instant;

use super::{Outcome, Runner, Stopped, talking};
use crate::calls::{HEARTBEAT, LEASE};
use crate::carrier::{Carrier, DialError, DialRequest, Dialed, LegRef, LegState};

/// How long the carrier may take to answer a request.
pub(super) const CARRIER_ANSWER: Duration = Duration::from_secs(15);
/// When it is asked again to hang up, before its own limits have to do.
const HANG_UP_AGAIN: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

impl Runner {
    pub(super) fn leg(&self) -> LegRef {
        LegRef { call: self.row.call_id(), carrier_call_id: self.row.carrier_call_id.clone() }
    }

    /// Has the carrier ring, as was `decided` then. This outlives the runner: a line that comes about when nobody waits for it
    /// any more is ended.
    pub(super) fn dial(&mut self, decided: Instant) {
        let (carrier, request) = match self.dial_request() {
            Ok(ready) => ready,
            Err((code, words)) => {
                let refused = CallInput::DialRefused { code, error: words.into() };
                return self.start(async move { Some(Outcome::Input(refused)) });
            }
        };
        let (call, outcomes) = (request.call, self.outcomes.0.clone());
        self.context.runners.spawn(async move {
            // A process that was stopped since then may have lost the call, and who has it may have ended it.
            let ours = decided.elapsed() < LEASE - HEARTBEAT;
            let input = if ours { dial(&carrier, request).await } else { CallInput::DialUnknown };
            let carrier_call_id = match &input {
                CallInput::DialAccepted { carrier_call_id } => Some(carrier_call_id.clone()),
                _ => None,
            };
            if outcomes.send(Outcome::Input(input)).is_err() && carrier_call_id.is_some() {
                hang_up(&carrier, &LegRef { call, carrier_call_id }).await;
            }
        });
    }

    fn dial_request(&self) -> Result<(Arc<dyn Carrier>, DialRequest), (ErrorCode, String)> {
        let config = |words: &String| (ErrorCode::ConfigError, words.clone());
        let plan = self.plan.as_ref().map_err(config)?;
        let carrier = self.carrier.as_ref().map_err(config)?;
        let number = |text: &str| {
            let words = "The number cannot be dialled.".to_owned();
            text.parse::<PhoneNumber>().map_err(|_| (ErrorCode::InvalidNumber, words))
        };
        let request = DialRequest {
            call: self.row.call_id(),
            from: number(&self.row.from_number)?,
            to: number(&self.row.to_number)?,
            ring_timeout_seconds: plan.ring_timeout_seconds,
            line: self.line.clone(),
        };
        Ok((carrier.clone(), request))
    }

    /// Answers a call that has arrived; one that cannot be held is refused.
    pub(super) async fn pick_up(&mut self) -> Result<(), Stopped> {
        if let Err(words) = &self.plan {
            let failure = Failure::new(FailureCode::Config, words.clone());
            return self.handle(CallInput::TalkEnded(talking::failed(&failure))).await;
        }
        self.answer();
        Ok(())
    }

    pub(super) fn answer(&mut self) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        let line = self.line.clone();
        self.start(async move {
            // Not answered in time, the call ends by its deadline.
            match tokio::time::timeout(CARRIER_ANSWER, carrier.answer(&leg, line)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "an incoming call could not be answered"),
                Err(_) => tracing::warn!("the carrier did not take the answer to an incoming call"),
            }
            None
        });
    }

    /// Has the carrier end the line, also when the runner has ended before that is done.
    pub(super) fn hang_up(&mut self) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        self.context.runners.spawn(async move { hang_up(&carrier, &leg).await });
    }

    pub(super) fn look_up(&mut self) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        self.start(async move {
            match tokio::time::timeout(CARRIER_ANSWER, carrier.find(&leg)).await {
                Ok(Ok(LegState::Live { carrier_call_id })) => {
                    Some(Outcome::Input(CallInput::DialAccepted { carrier_call_id }))
                }
                Ok(Ok(LegState::Ended(hangup))) => Some(Outcome::Input(CallInput::CarrierHangup(hangup))),
                Ok(Ok(LegState::Unknown)) => None,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the carrier could not be asked about a call");
                    None
                }
                Err(_) => None,
            }
        });
    }
}

async fn hang_up(carrier: &Arc<dyn Carrier>, leg: &LegRef) {
    for (attempt, pause) in (1..).zip(HANG_UP_AGAIN.map(Some).into_iter().chain([None])) {
        match tokio::time::timeout(CARRIER_ANSWER, carrier.hang_up(leg)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::warn!(%error, attempt, "the carrier did not hang up"),
            Err(_) => tracing::warn!(attempt, "the carrier did not answer a request to hang up"),
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }
    tracing::error!("the carrier could not be told to hang up: the line ends by the carrier's own limits");
}

async fn dial(carrier: &Arc<dyn Carrier>, request: DialRequest) -> CallInput {
    match tokio::time::timeout(CARRIER_ANSWER, carrier.dial(request)).await {
        Ok(Ok(Dialed { carrier_call_id })) => CallInput::DialAccepted { carrier_call_id },
        Ok(Err(DialError::Refused { code, words })) => CallInput::DialRefused { code, error: words.into() },
        Ok(Err(DialError::Unknown { words })) => {
            tracing::warn!(words, "the fate of a dial is unknown");
            CallInput::DialUnknown
        }
        Err(_) => CallInput::DialUnknown,
    }
}
