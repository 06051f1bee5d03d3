//! The life of a call, from the queue to its one terminal event.
//!
//! [`Call`] decides and performs nothing. The owner of the call (the node that holds the lease of its row) drives it:
//!
//! 1. Create it with [`Call::outbound`] or [`Call::inbound`], whose change inserts the row, or take it over from its row with [`Call::restore`].
//! 2. Give it **one** input with the time it happened: `call.handle(now, input)`.
//! 3. Perform every effect in order. A [`CallEffect::Commit`] comes first: write status, fields and events in one transaction, under the lease's
//!    fencing token. If that fails, discard the effects *and* the `Call` and start again from the row; nothing has been sent to the carrier.
//!    If it succeeds late, give the delay to [`Call::postpone`].
//! 4. The results of the effects (the carrier's response, the end of the talk) are new inputs: back to 2.
//! 5. Otherwise wait for the next input or for [`Call::next_deadline`], then give [`CallInput::Tick`].
//! 6. The call is over when [`Call::status`] is terminal. Later inputs are accepted and change nothing.
//!
//! Messages from the carrier may be late, repeated or out of order. A message that no longer fits is ignored; one that arrives early (audio before
//! the answer) implies those that were missed.

mod carrier_event;
mod closing;
mod ending;
mod message;
mod phase;
#[cfg(test)]
mod properties;
mod snapshot;
mod status;
#[cfg(test)]
mod tests;
mod transfer;

use std::time::Duration;

pub use self::carrier_event::CarrierEvent;
pub use self::ending::Ending;
pub use self::message::{CallEffect, CallInput, Change, TalkEnd, TalkFailure};
pub use self::phase::{Closing, Phase, Timing};
pub use self::snapshot::Snapshot;
pub use self::status::{CarrierCause, Direction, EndReason, EndedBy, ErrorCode, Hangup, Status};
pub use self::transfer::{TransferLegState, TransferStep, TransferWatch};

use self::ending::Reached;
use crate::Timestamp;
use crate::event::kind::EventKind;
use crate::private::Private;

/// State of the carrier's leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LegState {
    /// Never dialled.
    None,
    /// About to be dialled; it is unknown whether the carrier accepted the dial.
    Requested,
    /// The carrier accepted the dial and its id of the call is known.
    Known,
    /// Ended, refused or transferred away.
    Over,
}

impl LegState {
    const fn may_exist(self) -> bool {
        matches!(self, Self::Requested | Self::Known)
    }
}

/// One call, as a state machine without input or output.
#[derive(Clone, Debug)]
pub struct Call {
    direction: Direction,
    timing: Timing,
    phase: Phase,
    leg: LegState,
    ringing: bool,
    /// Whether the call was looked up at the carrier, which reported nothing for too long.
    looked_up: bool,
    answered_at: Option<Timestamp>,
}

impl Call {
    /// Creates a call accepted from the API. `dial_at` is `schedule_at`, or `now`; the dialler claims it from then on.
    #[must_use]
    pub fn outbound(now: Timestamp, dial_at: Timestamp, timing: Timing) -> (Self, Vec<CallEffect>) {
        Self::placed(Direction::Outbound, now, dial_at, timing)
    }

    /// Creates a call accepted from the API that waits for a browser: it is dialled when one connects, or fails at `connect_by`.
    #[must_use]
    pub fn web(now: Timestamp, connect_by: Timestamp, timing: Timing) -> (Self, Vec<CallEffect>) {
        Self::placed(Direction::Web, now, connect_by, timing)
    }

    fn placed(direction: Direction, now: Timestamp, dial_at: Timestamp, timing: Timing) -> (Self, Vec<CallEffect>) {
        let phase = Phase::Queued { deadline: now.max(dial_at) + timing.queue };
        let call = Self::new(direction, phase, LegState::None, timing);
        let effects = call.first_commit(EventKind::CallQueued, |_| {});
        (call, effects)
    }

    /// Creates a call that arrived on one of the tenant's numbers.
    #[must_use]
    pub fn inbound(now: Timestamp, carrier_call_id: String, timing: Timing) -> (Self, Vec<CallEffect>) {
        let phase = Phase::Dialing { deadline: now + timing.ring_timeout, abandoned: false };
        let call = Self::new(Direction::Inbound, phase, LegState::Known, timing);
        let mut effects = call.first_commit(EventKind::CallReceived, |change| {
            change.dialing_at = Some(now);
            change.carrier_call_id = Some(carrier_call_id);
        });
        effects.push(CallEffect::Answer);
        (call, effects)
    }

    /// Restores a call from its row. If its owner died, give [`CallInput::Abandoned`] next.
    #[must_use]
    pub fn restore(snapshot: Snapshot, timing: Timing) -> Self {
        snapshot.restore(timing)
    }

    fn new(direction: Direction, phase: Phase, leg: LegState, timing: Timing) -> Self {
        Self { direction, timing, phase, leg, ringing: false, looked_up: false, answered_at: None }
    }

    fn first_commit(&self, event: EventKind, set: impl FnOnce(&mut Change)) -> Vec<CallEffect> {
        let mut change = Change::none(self.status(), self.next_deadline());
        change.events.push(event);
        set(&mut change);
        vec![CallEffect::Commit(change)]
    }

    /// Returns the status of the call, for the API.
    #[must_use]
    pub fn status(&self) -> Status {
        self.phase.status()
    }

    /// Returns the phase of the call, which is finer than its status.
    #[must_use]
    pub const fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Returns whether the conversation is live: its end is not decided, so commands from clients may be executed.
    #[must_use]
    pub const fn is_in_conversation(&self) -> bool {
        matches!(self.phase, Phase::InProgress { .. })
    }

    /// Returns who placed the call.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns when to give [`CallInput::Tick`] next; `None` only once the call has ended.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.phase.deadline()
    }

    /// Moves the deadlines of a call that was dialled by the time for which its last change could not be written: what follows that change begins
    /// only now, and reports of the carrier are waiting. The deadline of a queued call stays.
    pub fn postpone(&mut self, by: Duration) {
        self.phase.postpone(by);
    }

    /// Applies an input and returns the effects to perform, in order. Performs nothing here.
    pub fn handle(&mut self, now: Timestamp, input: CallInput) -> Vec<CallEffect> {
        let mut transition = Transition::begin(self);
        if let CallInput::DialAccepted { carrier_call_id, waits } = input {
            self.accepted(now, carrier_call_id, waits, &mut transition);
            return transition.finish(self);
        }
        match &self.phase {
            Phase::Queued { .. } => self.while_queued(now, input, &mut transition),
            Phase::Dialing { abandoned, .. } => self.while_dialing(now, input, *abandoned, &mut transition),
            Phase::Answered { .. } => self.while_answered(now, input, &mut transition),
            Phase::InProgress { .. } => self.while_in_progress(now, input, &mut transition),
            Phase::Closing(_) => self.while_closing(now, input, &mut transition),
            Phase::Ended(_) => {} // Carriers repeat themselves; an ended call stays as it ended.
        }
        transition.finish(self)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.next_deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Records the id of the leg. A leg that turns up after the end was decided is hung up, since it could not be before.
    fn accepted(&mut self, now: Timestamp, carrier_call_id: String, waits: Duration, transition: &mut Transition) {
        if self.leg == LegState::Known {
            self.hang_up_once(transition);
        }
        if self.leg != LegState::Requested {
            return;
        }
        self.leg = LegState::Known;
        self.rings_from(now + waits);
        match self.phase {
            Phase::Ended(_) => transition.effect(CallEffect::HangUp),
            Phase::Closing(_) => {
                transition.change.carrier_call_id = Some(carrier_call_id);
                transition.effect(CallEffect::HangUp);
            }
            _ => transition.change.carrier_call_id = Some(carrier_call_id),
        }
    }

    /// Extends the ring deadline if the carrier queues the call before it rings. The look-up of a dead node's dial does not
    /// wait for that.
    fn rings_from(&mut self, at: Timestamp) {
        let until = at + self.timing.ring_timeout + self.timing.ring_grace;
        if let (true, Phase::Dialing { deadline, abandoned: false }) = (self.direction.is_placed(), &mut self.phase) {
            *deadline = (*deadline).max(until);
        }
    }

    fn while_queued(&mut self, now: Timestamp, input: CallInput, transition: &mut Transition) {
        match input {
            CallInput::Dial | CallInput::Tick if self.is_due(now) => {
                let error = "The call waited too long to be dialled. Check that a node with the role `calls` is running and that the \
                     connection's max_concurrent leaves room.";
                self.close(now, Ending::failed(ErrorCode::UnknownError, EndedBy::System, error), transition);
            }
            CallInput::Dial => {
                self.leg = LegState::Requested;
                let deadline = now + self.timing.ring_timeout + self.timing.ring_grace;
                self.phase = Phase::Dialing { deadline, abandoned: false };
                transition.change.dialing_at = Some(now);
                transition.event(EventKind::CallDialing);
                transition.effect(CallEffect::Dial);
            }
            CallInput::HangUpRequested => {
                self.close(now, Ending::completed(EndReason::Canceled, EndedBy::Api), transition);
            }
            // A queued call belongs to no node: any live node dials it.
            _ => {}
        }
    }

    fn while_dialing(&mut self, now: Timestamp, input: CallInput, abandoned: bool, transition: &mut Transition) {
        match input {
            CallInput::DialRefused { code, error } => {
                self.leg = LegState::Over;
                let by = if code == ErrorCode::ConfigError { EndedBy::System } else { EndedBy::Carrier };
                self.close(now, Ending::Failed { code, by, error }, transition);
            }
            CallInput::DialUnknown if self.leg == LegState::Requested => transition.effect(CallEffect::LookUp),
            CallInput::DialDelayed(pause) if self.leg == LegState::Requested => self.rings_from(now + pause),
            CallInput::Ringing if !self.ringing => {
                self.ringing = true;
                self.rings_from(now);
                transition.change.ringing_at = Some(now);
            }
            CallInput::Answered => {
                self.answered(now, transition);
                self.phase = Phase::Answered { deadline: now + self.timing.media_timeout };
            }
            CallInput::MediaStarted => self.talk(now, transition),
            CallInput::NoMedia { error } => self.close(now, without_media(error), transition),
            CallInput::CarrierHangup(hangup) => self.hung_up(now, hangup, Reached::Ringing, transition),
            CallInput::TalkEnded(end @ TalkEnd::Failed { .. }) => self.close(now, end.ending(), transition),
            CallInput::HangUpRequested => {
                self.close(now, Ending::completed(EndReason::Canceled, EndedBy::Api), transition);
            }
            CallInput::Drain => self.close(now, drained(), transition),
            CallInput::Abandoned if self.direction.is_placed() => {
                let deadline = self.next_deadline().map_or(now, |was| was.min(now + self.timing.look_up));
                self.phase = Phase::Dialing { deadline, abandoned: true };
                transition.effect(CallEffect::LookUp);
            }
            CallInput::Abandoned => self.close(now, node_died(), transition),
            CallInput::Tick if self.is_due(now) && self.may_have_ended_unheard(abandoned) => {
                self.looked_up = true;
                self.phase = Phase::Dialing { deadline: now + self.timing.look_up, abandoned };
                transition.effect(CallEffect::LookUp);
            }
            CallInput::Tick if self.is_due(now) => self.close(now, self.never_answered(abandoned), transition),
            _ => {}
        }
    }

    /// Returns whether the carrier's report of the end may have been lost, so that the call is looked up before it ends without one.
    fn may_have_ended_unheard(&self, abandoned: bool) -> bool {
        self.direction.is_placed() && self.leg == LegState::Known && !abandoned && !self.looked_up
    }

    /// Returns the end of a call that was not answered in time.
    fn never_answered(&self, abandoned: bool) -> Ending {
        if self.direction == Direction::Inbound {
            let error = "The incoming call was never connected to its audio stream.";
            return Ending::failed(ErrorCode::NoMedia, EndedBy::System, error);
        }
        let taken = self.leg == LegState::Known || self.ringing;
        let (code, error) = match (abandoned, taken) {
            (true, _) => (
                ErrorCode::CarrierError,
                "The service stopped while the carrier was dialling, and the carrier did not say what became of the \
                 call. It was not dialled again, so that nobody is rung twice.",
            ),
            (false, true) => (ErrorCode::NoAnswer, "Nobody answered before the call timed out."),
            (false, false) => (
                ErrorCode::CarrierError,
                "The carrier never confirmed the call. It was not dialled again, so that nobody is rung twice.",
            ),
        };
        Ending::failed(code, EndedBy::System, error)
    }

    fn while_answered(&mut self, now: Timestamp, input: CallInput, transition: &mut Transition) {
        match input {
            CallInput::MediaStarted => self.talk(now, transition),
            CallInput::NoMedia { error } => self.close(now, without_media(error), transition),
            CallInput::CarrierHangup(hangup) => self.hung_up(now, hangup, Reached::Answered, transition),
            CallInput::TalkEnded(end @ TalkEnd::Failed { .. }) => self.close(now, end.ending(), transition),
            CallInput::HangUpRequested => {
                self.close(now, Ending::completed(EndReason::ApiHangup, EndedBy::Api), transition);
            }
            CallInput::Drain => self.close(now, drained(), transition),
            CallInput::Abandoned => self.close(now, node_died(), transition),
            CallInput::Tick if self.is_due(now) => {
                let error = "The carrier connected the call but no audio stream started. On a trial account the callee \
                             may have to press a key first; otherwise check that the carrier can reach the public URL.";
                self.close(now, Ending::failed(ErrorCode::NoMedia, EndedBy::System, error), transition);
            }
            _ => {}
        }
    }

    fn while_in_progress(&mut self, now: Timestamp, input: CallInput, transition: &mut Transition) {
        match input {
            CallInput::CarrierHangup(hangup) => self.hung_up(now, hangup, Reached::Talking, transition),
            CallInput::TalkEnded(TalkEnd::MediaLost) => self.stream_ended(now, transition),
            CallInput::TalkEnded(end) => {
                if matches!(end, TalkEnd::Transferred { .. }) {
                    self.leg = LegState::Over;
                }
                self.close(now, end.ending(), transition);
            }
            CallInput::HangUpRequested => {
                self.close(now, Ending::completed(EndReason::ApiHangup, EndedBy::Api), transition);
            }
            CallInput::Drain => self.close(now, drained(), transition),
            // The talk died with its node: nothing is left to stop or to wait for.
            CallInput::Abandoned => self.close_with(false, now, node_died(), transition),
            CallInput::Tick if self.is_due(now) => self.close(now, TalkEnd::MaxDuration.ending(), transition),
            _ => {}
        }
    }

    fn answered(&mut self, now: Timestamp, transition: &mut Transition) {
        self.answered_at = Some(now);
        transition.change.answered_at = Some(now);
    }

    /// Handles the first audio: the call is connected, even if no answer was reported.
    fn talk(&mut self, now: Timestamp, transition: &mut Transition) {
        if self.answered_at.is_none() {
            self.answered(now, transition);
        }
        let deadline = now + self.timing.max_duration + self.timing.max_duration_grace;
        self.phase = Phase::InProgress { deadline };
        transition.event(EventKind::CallInProgress);
        transition.effect(CallEffect::StartTalk);
    }

    fn hung_up(&mut self, now: Timestamp, hangup: Hangup, reached: Reached, transition: &mut Transition) {
        self.leg = LegState::Over;
        let ending = ending::of_hangup(reached, self.direction, &hangup);
        transition.report(hangup, ending.ended_by());
        self.close(now, ending, transition);
    }
}

fn drained() -> Ending {
    Ending::completed(EndReason::Drained, EndedBy::System)
}

fn without_media(error: Private<String>) -> Ending {
    Ending::Failed { code: ErrorCode::NoMedia, by: EndedBy::Carrier, error }
}

fn node_died() -> Ending {
    let error = "The node of the service that held this call stopped unexpectedly.";
    Ending::failed(ErrorCode::PipelineError, EndedBy::System, error)
}

/// The result of one input.
struct Transition {
    before: (Status, Option<Timestamp>),
    change: Change,
    effects: Vec<CallEffect>,
}

impl Transition {
    fn begin(call: &Call) -> Self {
        let before = (call.status(), call.next_deadline());
        Self { before, change: Change::none(before.0, before.1), effects: Vec::new() }
    }

    fn effect(&mut self, effect: CallEffect) {
        self.effects.push(effect);
    }

    fn event(&mut self, event: EventKind) {
        self.change.events.push(event);
    }

    /// Records the carrier's one report. If it does not say who hung up, that is the party that ended the call.
    fn report(&mut self, mut hangup: Hangup, ended_by: EndedBy) {
        hangup.hung_up_by.get_or_insert(ended_by);
        self.change.hangup = Some(hangup);
        self.event(EventKind::CarrierHangup);
    }

    fn finish(mut self, call: &Call) -> Vec<CallEffect> {
        let unchanged = Change::none(self.before.0, self.before.1);
        self.change.status = call.status();
        self.change.deadline = call.next_deadline();
        let mut effects = Vec::with_capacity(1 + self.effects.len());
        if self.change != unchanged {
            effects.push(CallEffect::Commit(self.change));
        }
        effects.append(&mut self.effects);
        effects
    }
}
