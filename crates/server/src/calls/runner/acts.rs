//! What is asked of the carrier, once the intention is a row.

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::call::{CallInput, ErrorCode};
use switchhook_core::phone_number::PhoneNumber;

use super::{Outcome, Runner, Stopped};
use crate::calls::setup::CallPlan;
use crate::carrier::{DialError, DialRequest, Dialed, LegRef, LegState};

/// How long the carrier may take to answer a request.
const CARRIER_ANSWER: Duration = Duration::from_secs(15);
/// How often it is asked to hang up before its own limits have to do.
const HANG_UP_TRIES: u32 = 3;

impl Runner {
    fn leg(&self) -> LegRef {
        LegRef { call: self.row.call_id(), carrier_call_id: self.row.carrier_call_id.clone() }
    }

    pub(super) fn dial(&mut self) {
        let request = match (&self.plan, self.row.from_number.parse::<PhoneNumber>(), self.row.to_number.parse()) {
            (Ok(plan), Ok(from), Ok(to)) => Ok((
                plan.clone(),
                DialRequest {
                    call: self.row.call_id(),
                    from,
                    to,
                    ring_timeout_seconds: plan.ring_timeout_seconds,
                    line: self.line.clone(),
                },
            )),
            (Err(error), ..) => Err((error.code, error.words.clone())),
            _ => Err((ErrorCode::InvalidNumber, "The number cannot be dialled.".to_owned())),
        };
        self.start(async move {
            Some(Outcome::Input(match request {
                Ok((plan, request)) => dial(plan, request).await,
                Err((code, words)) => CallInput::DialRefused { code, error: words.into() },
            }))
        });
    }

    /// Answers a call that has arrived; one that cannot be held is not.
    pub(super) async fn pick_up(&mut self) -> Result<(), Stopped> {
        if let Err(error) = &self.plan {
            let (code, error) = (error.code, error.words.clone().into());
            return self.handle(CallInput::DialRefused { code, error }).await;
        }
        self.answer();
        Ok(())
    }

    pub(super) fn answer(&mut self) {
        let (Ok(plan), leg) = (self.plan.clone(), self.leg()) else { return };
        let line = self.line.clone();
        self.start(async move {
            // Not answered in time, the call ends by its deadline.
            match tokio::time::timeout(CARRIER_ANSWER, plan.carrier.answer(&leg, line)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "an incoming call could not be answered"),
                Err(_) => tracing::warn!("the carrier did not take the answer to an incoming call"),
            }
            None
        });
    }

    pub(super) fn hang_up(&mut self) {
        let (Ok(plan), leg) = (self.plan.clone(), self.leg()) else { return };
        self.start(async move {
            for try_number in 1..=HANG_UP_TRIES {
                match tokio::time::timeout(CARRIER_ANSWER, plan.carrier.hang_up(&leg)).await {
                    Ok(Ok(())) => return None,
                    Ok(Err(error)) => tracing::warn!(%error, try_number, "the carrier did not hang up"),
                    Err(_) => tracing::warn!(try_number, "the carrier did not answer a request to hang up"),
                }
            }
            None
        });
    }

    pub(super) fn look_up(&mut self) {
        let (Ok(plan), leg) = (self.plan.clone(), self.leg()) else { return };
        self.start(async move {
            match tokio::time::timeout(CARRIER_ANSWER, plan.carrier.find(&leg)).await {
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

async fn dial(plan: Arc<CallPlan>, request: DialRequest) -> CallInput {
    match tokio::time::timeout(CARRIER_ANSWER, plan.carrier.dial(request)).await {
        Ok(Ok(Dialed { carrier_call_id })) => CallInput::DialAccepted { carrier_call_id },
        Ok(Err(DialError::Refused { code, words })) => CallInput::DialRefused { code, error: words.into() },
        Ok(Err(DialError::Unknown { words })) => {
            tracing::warn!(words, "the fate of a dial is unknown");
            CallInput::DialUnknown
        }
        Err(_) => CallInput::DialUnknown,
    }
}
