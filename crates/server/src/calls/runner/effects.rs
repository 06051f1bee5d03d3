//! Call effects that reach the carrier, performed once the intention is committed.

use std::sync::Arc;
use std::time::Duration;

use switchhook_carriers::{AmdMode, Carrier, DialError, DialRequest, Dialed, FoundLeg, LegRef};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AnsweringMachine, MachineDetection, OnMachine};
use switchhook_core::call::{CallInput, Direction, ErrorCode, Phase};
use switchhook_core::conversation::{Failure, FailureCode};
use switchhook_core::id::ConnectionId;
use switchhook_core::phone_number::PhoneNumber;
use switchhook_runtime::clock;
use switchhook_runtime::panics::caught;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{Runner, Stopped, TaskOutcome, talking};
use crate::calls::{HEARTBEAT, LEASE};
use crate::store::{Store, calls};

/// The timeout of a request to the carrier.
pub(super) const CARRIER_ANSWER: Duration = Duration::from_secs(15);
/// The longest queue of a carrier that is believed.
const LONGEST_QUEUE: Duration = Duration::from_secs(600);
/// Calls between the same numbers that were dialled within this time may be mistaken for each other.
const AMBIGUOUS_DIAL_WINDOW: Duration = Duration::from_secs(600);
/// Added to the longest conversation for the carrier's own time limit, in seconds: it ends legs that we failed to end.
const TIME_LIMIT_MARGIN: u32 = 60;
/// An inbound call is answered when the agent is ready to speak, and after this long in any case.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// The pauses between two dial attempts while the carrier has no capacity, if it does not specify one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// When to look up a dial whose response was lost.
const LOOK_UP_AGAIN: [Duration; 5] =
    [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];
/// When to repeat a hang-up request, before relying on the carrier's own limits.
const HANG_UP_AGAIN: [Duration; 8] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
    Duration::from_secs(40),
    Duration::from_secs(80),
    Duration::from_secs(160),
];

impl Runner {
    pub(super) fn leg(&self) -> LegRef {
        let placed = self.row.direction != Direction::Inbound.as_str();
        LegRef {
            call: self.row.call_id(),
            carrier_call_id: self.row.carrier_call_id.clone(),
            from: self.row.from_number.parse().ok(),
            to: self.row.to_number.parse().ok(),
            dialing_at: self.row.dialing_at.filter(|_| placed).map(Timestamp::from_micros),
            answered: self.row.answered_at.is_some(),
        }
    }

    /// Returns the carrier with the call's leg.
    pub(super) fn leg_control(&self) -> Option<LegControl> {
        let carrier = self.carrier.clone().ok()?;
        let connection = ConnectionId::from_uuid(self.row.connection_id);
        Some(LegControl { store: self.context.store.clone(), carrier, connection, leg: self.leg() })
    }

    /// Has the carrier dial, as was `decided` at that time. The task outlives the runner: a leg that is created after the runner has ended is
    /// hung up.
    pub(super) fn dial(&mut self, decided: Instant) {
        let (carrier, request) = match self.dial_request() {
            Ok(ready) => ready,
            Err((code, words)) => {
                let refused = CallInput::DialRefused { code, error: words.into() };
                return self.start(async move { Some(TaskOutcome::Input(refused)) });
            }
        };
        let Some(control) = self.leg_control() else { return };
        let dial = Dial {
            carrier,
            request,
            dial_permit: self.dial_permit.token.clone(),
            token: self.row.lease_token,
            control,
        };
        let outcomes = self.outcomes.0.clone();
        self.context.runners.spawn(
            async move {
                // If this process was suspended since then, the call may have been taken over, and ended, by another node.
                let ours = decided.elapsed() < LEASE - HEARTBEAT;
                let input = if ours { dial.ask(decided, &outcomes).await } else { CallInput::DialUnknown };
                let carrier_call_id = match &input {
                    CallInput::DialAccepted { carrier_call_id, .. } => Some(carrier_call_id.clone()),
                    _ => None,
                };
                if outcomes.send(TaskOutcome::Input(input)).is_err()
                    && let Some(carrier_call_id) = carrier_call_id
                {
                    dial.control.hang_up_unowned(carrier_call_id).await;
                }
            }
            .in_current_span(),
        );
    }

    fn dial_request(&self) -> Result<(Arc<Carrier>, DialRequest), (ErrorCode, String)> {
        if let Some(refused) = &self.dial_permit.refused {
            return Err((ErrorCode::Rejected, format!("The number {refused}.")));
        }
        let config = |words: &String| (ErrorCode::ConfigError, words.clone());
        let plan = self.plan.as_ref().map_err(config)?;
        let carrier = self.carrier.as_ref().map_err(config)?;
        let number = |text: &str| {
            let words = "The number cannot be dialled.".to_owned();
            PhoneNumber::parse_or_web(text).map_err(|_| (ErrorCode::InvalidNumber, words))
        };
        let request = DialRequest {
            call: self.row.call_id(),
            from: number(&self.row.from_number)?,
            to: number(&self.row.to_number)?,
            ring_timeout_seconds: plan.ring_timeout_seconds,
            time_limit_seconds: plan.talk.agent.limits.max_duration_seconds + TIME_LIMIT_MARGIN,
            machines: machines(&plan.talk.agent.answering_machine),
            address: self.context.setup.addresses().for_call(&self.row.provider, self.row.call_id()),
            events: self.events.clone(),
        };
        Ok((carrier.clone(), request))
    }

    /// Answers an inbound call; one whose conversation cannot be set up is refused.
    pub(super) async fn pick_up(&mut self) -> Result<(), Stopped> {
        if let Err(words) = &self.plan {
            let failure = Failure::new(FailureCode::Config, words.clone());
            return self.handle(CallInput::TalkEnded(talking::failed(&failure))).await;
        }
        self.answer_when_ready();
        Ok(())
    }

    pub(super) fn answer_when_ready(&mut self) {
        self.answering.by = Some(Instant::now() + ANSWER_TIMEOUT);
        self.answering.ready |= self.prepared.is_none();
        self.answer_if_due();
    }

    pub(super) fn answer_if_due(&mut self) {
        if self.answering.ready && self.is_unanswered() && self.answering.by.take().is_some() {
            self.answer();
        }
    }

    fn answer(&mut self) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        let events = self.events.clone();
        self.start(async move {
            // If it is not answered in time, the call's deadline ends it.
            match answer_of(carrier.control.answer(&leg, events)).await {
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::warn!(%error, "could not answer an incoming call"),
                None => tracing::warn!("the carrier did not take the answer to an incoming call"),
            }
            None
        });
    }

    /// Has the carrier end the leg, even if the runner ends before that is done.
    pub(super) fn hang_up(&mut self) {
        let Some(control) = self.leg_control() else { return };
        self.context.runners.spawn(async move { control.hang_up().await }.in_current_span());
    }

    /// Looks up the call at the carrier, repeatedly since the carrier's list may lag, until the carrier knows it or the call changes otherwise;
    /// if the call is closing, until it has ended.
    pub(super) fn look_up(&mut self) {
        let Some(control) = self.leg_control() else { return };
        let until_ended = matches!(self.call.phase(), Phase::Closing(_));
        let outcomes = self.outcomes.0.clone();
        self.start(async move {
            for pause in LOOK_UP_AGAIN {
                tokio::time::sleep(pause).await;
                let Some(Some(FoundLeg { carrier_call_id, ended, .. })) = control.find().await else { continue };
                let input = match ended {
                    None => CallInput::DialAccepted { carrier_call_id, waits: Duration::ZERO },
                    Some(hangup) => CallInput::CarrierHangup(hangup),
                };
                if !until_ended || matches!(input, CallInput::CarrierHangup(_)) {
                    return Some(TaskOutcome::Input(input));
                }
                // A runner that is gone needs no outcome.
                let _ = outcomes.send(TaskOutcome::Input(input));
            }
            None
        });
    }
}

/// Returns the input for a carrier call id that the carrier had already given to another call. The leg with that id belongs to the other
/// call, so it is not looked up.
pub(super) fn id_of_another_call() -> CallInput {
    tracing::error!("the carrier gave a call the id of another one");
    let error = "The carrier gave this call the id of another call of the connection, so its reports about the two cannot be \
                 distinguished. The call was not dialled again.";
    CallInput::DialRefused { code: ErrorCode::CarrierError, error: error.to_owned().into() }
}

/// Returns a carrier's response to a request; `None` if it times out or its adapter panics, so that the outcome is unknown.
pub(super) async fn answer_of<T>(request: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(CARRIER_ANSWER, caught(request)).await.ok()?.ok()
}

fn machines(wanted: &AnsweringMachine) -> AmdMode {
    match (wanted.mode, wanted.on_machine) {
        (MachineDetection::Off, _) => AmdMode::Off,
        (MachineDetection::Detect, OnMachine::Hangup) => AmdMode::Detect,
        (MachineDetection::Detect, OnMachine::LeaveMessage) => AmdMode::DetectMessageEnd,
    }
}

/// The control of one leg at a carrier.
pub(super) struct LegControl {
    store: Store,
    pub(super) carrier: Arc<Carrier>,
    connection: ConnectionId,
    pub(super) leg: LegRef,
}

impl LegControl {
    /// Returns the leg as the carrier knows it: `Some(None)` if it knows none, `None` if several match or the lookup fails.
    async fn find(&self) -> Option<Option<FoundLeg>> {
        let found = match answer_of(self.carrier.control.look_up(&self.leg)).await {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                tracing::warn!(%error, "could not look up the call at the carrier");
                return None;
            }
            None => return None,
        };
        let mut ours = self.not_of_others(found).await.ok()?;
        let found = match (ours.pop(), ours.is_empty()) {
            (None, _) => return Some(None),
            (Some(only), true) => only,
            (Some(_), false) => return None,
        };
        // It may be another call between the same numbers whose id is unknown too.
        let certain = found.certain || self.leg.carrier_call_id.is_some() || !self.has_twin().await.ok()?;
        certain.then_some(Some(found))
    }

    /// Looks the leg up repeatedly: the carrier's list may lag, and requests fail. `None` if it is never found.
    pub(super) async fn find_repeatedly(&self) -> Option<FoundLeg> {
        for pause in LOOK_UP_AGAIN {
            tokio::time::sleep(pause).await;
            if let Some(Some(found)) = self.find().await {
                return Some(found);
            }
        }
        None
    }

    /// Returns the legs that do not belong to other calls.
    async fn not_of_others(&self, found: Vec<FoundLeg>) -> Result<Vec<FoundLeg>, sqlx::Error> {
        let mut conn = self.store.read().await?;
        let mut ours = Vec::new();
        for leg in found {
            let owner = calls::by_carrier_call_id(&mut conn, self.connection, &leg.carrier_call_id).await?;
            if owner.is_none_or(|owner| owner.call_id() == self.leg.call) {
                ours.push(leg);
            }
        }
        Ok(ours)
    }

    async fn has_twin(&self) -> Result<bool, sqlx::Error> {
        let Some(dialing_at) = self.leg.dialing_at else { return Ok(false) };
        let mut conn = self.store.read().await?;
        calls::has_twin_without_id(&mut conn, self.leg.call, dialing_at - AMBIGUOUS_DIAL_WINDOW).await
    }

    /// Ends the leg. If its id never arrived, looks it up first, since a phone may be ringing.
    pub(super) async fn hang_up(mut self) {
        if self.leg.carrier_call_id.is_none() {
            self.leg.carrier_call_id = self.find_repeatedly().await.map(|found| found.carrier_call_id);
        }
        hang_up(&self.carrier, &self.leg).await;
    }

    /// Ends a leg that was created after its runner ended, unless another node has taken over the call with it.
    async fn hang_up_unowned(mut self, carrier_call_id: String) {
        let taken = async {
            let mut conn = self.store.read().await.ok()?;
            calls::by_carrier_call_id(&mut conn, self.connection, &carrier_call_id).await.ok()?
        };
        if taken.await.is_some() {
            return;
        }
        self.leg.carrier_call_id = Some(carrier_call_id);
        hang_up(&self.carrier, &self.leg).await;
    }

    /// Returns whether this runner still owns the call.
    async fn is_ours(&self, token: i64) -> Result<bool, sqlx::Error> {
        let row = calls::get_for_carrier(&mut self.store.read().await?, self.leg.call).await?;
        Ok(row.is_some_and(|row| row.lease_token == token))
    }
}

async fn hang_up(carrier: &Arc<Carrier>, leg: &LegRef) {
    for (attempt, pause) in (1..).zip(HANG_UP_AGAIN.map(Some).into_iter().chain([None])) {
        match answer_of(carrier.control.hang_up(leg)).await {
            Some(Ok(())) => return,
            Some(Err(error)) => tracing::warn!(%error, attempt, "the carrier did not hang up"),
            None => tracing::warn!(attempt, "the carrier did not respond to a request to hang up"),
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }
    tracing::error!("hanging up failed: the leg ends by the carrier's own limits");
}

/// A dial in progress.
struct Dial {
    carrier: Arc<Carrier>,
    request: DialRequest,
    /// Cancelled when the call must no longer be dialled.
    dial_permit: CancellationToken,
    /// The runner's fencing token.
    token: i64,
    control: LegControl,
}

impl Dial {
    /// Requests the dial, and repeats it if the carrier reports that it has no capacity, in which case no phone has rung. Stops when the call
    /// may no longer ring, must no longer be dialled, or belongs to another node.
    async fn ask(&self, decided: Instant, outcomes: &mpsc::UnboundedSender<TaskOutcome>) -> CallInput {
        let mut pause = FIRST_PAUSE;
        loop {
            let (message, retry_after) = match answer_of(self.carrier.control.dial(self.request.clone())).await {
                Some(Ok(Dialed { carrier_call_id, waits })) => {
                    return CallInput::DialAccepted { carrier_call_id, waits: waits.min(LONGEST_QUEUE) };
                }
                Some(Err(DialError::Refused { code, message })) => {
                    return CallInput::DialRefused { code, error: message.into() };
                }
                Some(Err(DialError::Later { message, retry_after })) => (message, retry_after),
                Some(Err(DialError::Unknown { message })) => {
                    tracing::warn!(words = message, "the outcome of a dial is unknown");
                    return CallInput::DialUnknown;
                }
                None => return CallInput::DialUnknown,
            };
            let wait = retry_after.map_or_else(|| clock::jittered(pause), |wait| wait.min(LONGEST_QUEUE));
            pause = (pause * 2).min(LONGEST_PAUSE);
            let room_within = Duration::from_secs(self.request.ring_timeout_seconds.into());
            if decided.elapsed() + wait > room_within || !self.wait(wait, outcomes).await {
                return CallInput::DialRefused { code: ErrorCode::CarrierError, error: message.into() };
            }
        }
    }

    /// Waits before the next attempt; returns whether it should still be made.
    async fn wait(&self, wait: Duration, outcomes: &mpsc::UnboundedSender<TaskOutcome>) -> bool {
        tracing::info!("the carrier has no capacity for a call now; retrying");
        if outcomes.send(TaskOutcome::Input(CallInput::DialDelayed(wait))).is_err() {
            return false;
        }
        tokio::select! {
            biased;
            () = self.dial_permit.cancelled() => return false,
            () = tokio::time::sleep(wait) => {}
        }
        // A suspended process resumes here.
        self.control.is_ours(self.token).await.unwrap_or(false) && !self.dial_permit.is_cancelled()
    }
}
