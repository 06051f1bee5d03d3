//! The closing phase: from the decided end of a call to its terminal event, with a short wait for the carrier's report and the talk's wrap-up.

use std::time::Duration;

use super::ending::{self, Reached};
use super::message::{CallEffect, CallInput, TalkEnd};
use super::phase::{Closing, Phase};
use super::status::{Hangup, Status};
use super::{Call, Ending, LegState, Transition};
use crate::Timestamp;
use crate::event::kind::EventKind;

impl Call {
    /// Records the end and stops everything that may still run. The only way out of a live phase.
    pub(super) fn close(&mut self, now: Timestamp, ending: Ending, transition: &mut Transition) {
        let talk_runs = matches!(self.phase, Phase::InProgress { .. });
        self.close_with(talk_runs, now, ending, transition);
    }

    pub(super) fn close_with(&mut self, talk_runs: bool, now: Timestamp, ending: Ending, transition: &mut Transition) {
        self.decide(talk_runs, now, ending, transition);
        self.hang_up_once(transition);
        self.settle(now, transition);
    }

    /// Handles the end of the stream. Usually the caller has hung up and the carrier is about to report it.
    pub(super) fn stream_ended(&mut self, now: Timestamp, transition: &mut Transition) {
        self.decide(true, now, TalkEnd::MediaLost.ending(), transition);
        if self.leg == LegState::Requested {
            self.hang_up_once(transition); // Without its id it can only be found by that.
        }
        self.settle(now, transition);
    }

    fn decide(&mut self, talk_runs: bool, now: Timestamp, ending: Ending, transition: &mut Transition) {
        transition.change.ending = Some(ending.clone());
        transition.change.ended_at = Some(now);
        let wrap_up_by = talk_runs.then(|| now + self.timing.wrap_up);
        if talk_runs {
            transition.effect(CallEffect::StopTalk);
        }
        self.phase = Phase::Closing(Closing {
            ending,
            status: self.status(),
            ended_at: now,
            duration_seconds: None,
            hung_up: !self.leg.may_exist(),
            report_by: None,
            look_up_at: None,
            wrap_up_by,
        });
        self.await_report(now);
    }

    /// Waits for the carrier to report the end of its leg, or for the time to look up its record.
    fn await_report(&mut self, now: Timestamp) {
        let Phase::Closing(closing) = &mut self.phase else { return };
        closing.report_by = self.leg.may_exist().then(|| now + self.timing.carrier_report);
        closing.look_up_at = (self.leg == LegState::Known).then(|| now + self.timing.report_grace);
    }

    /// Ends the call if nothing is awaited any longer.
    fn settle(&mut self, now: Timestamp, transition: &mut Transition) {
        let Phase::Closing(closing) = &mut self.phase else { return };
        let look_up = closing.look_up_at.take_if(|at| *at <= now).is_some();
        if closing.give_up_waiting(now) {
            self.hang_up_once(transition);
        } else if look_up {
            transition.effect(CallEffect::LookUp);
        }
        if self.phase.deadline().is_some() {
            return;
        }
        let Phase::Closing(closing) = &self.phase else { return };
        let talked = self.answered_at.map_or(Duration::ZERO, |answered_at| closing.ended_at.since(answered_at));
        let status = closing.ending.status();
        transition.change.duration_seconds = Some(closing.duration_seconds.unwrap_or_else(|| rounded_seconds(talked)));
        transition.event(if status == Status::Completed { EventKind::CallCompleted } else { EventKind::CallFailed });
        self.phase = Phase::Ended(status);
    }

    pub(super) fn while_closing(&mut self, now: Timestamp, input: CallInput, transition: &mut Transition) {
        let Phase::Closing(closing) = &mut self.phase else { return };
        match input {
            CallInput::CarrierHangup(hangup) if self.leg.may_exist() => self.reported(now, hangup, transition),
            // The media ended before the carrier had accepted the dial.
            CallInput::TalkEnded(end @ TalkEnd::Transferred { .. }) if !closing.hung_up => {
                self.leg = LegState::Over;
                closing.no_report();
                closing.ending = end.ending();
                transition.change.ending = Some(closing.ending.clone());
            }
            CallInput::WrappedUp => closing.wrap_up_by = None,
            CallInput::Abandoned => {
                closing.wrap_up_by = None; // The talk died with its node.
                if self.leg.may_exist() {
                    closing.hung_up = true;
                    transition.effect(CallEffect::HangUp); // Hanging up twice is harmless; perhaps nobody did.
                    self.await_report(now);
                }
            }
            CallInput::Tick => {}
            _ => return,
        }
        self.settle(now, transition);
    }

    /// Handles the carrier's report on a leg whose end is decided.
    fn reported(&mut self, now: Timestamp, hangup: Hangup, transition: &mut Transition) {
        let Phase::Closing(closing) = &mut self.phase else { return };
        self.leg = LegState::Over;
        closing.no_report();
        closing.duration_seconds = hangup.duration_seconds;
        if !std::mem::replace(&mut closing.hung_up, true) {
            // The stream had ended first; only the carrier knows who ended it.
            closing.ending = ending::of_hangup(Reached::Talking, self.direction, &hangup);
            transition.change.ending = Some(closing.ending.clone());
        } else if hangup.duration_seconds.is_none() {
            closing.ended_at = now;
            transition.change.ended_at = Some(now);
        }
        transition.report(hangup, closing.ending.ended_by());
    }

    /// Hangs up, once. A leg without its stream is unusable.
    pub(super) fn hang_up_once(&mut self, transition: &mut Transition) {
        if let Phase::Closing(closing) = &mut self.phase
            && !std::mem::replace(&mut closing.hung_up, true)
        {
            transition.effect(CallEffect::HangUp);
        }
    }
}

/// Rounds to whole seconds, halves up.
fn rounded_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis().saturating_add(500) / 1_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_rounded_to_the_nearest_second() {
        for (millis, seconds) in [(0, 0), (499, 0), (500, 1), (1_499, 1), (42_600, 43)] {
            assert_eq!(rounded_seconds(Duration::from_millis(millis)), seconds, "{millis} ms");
        }
    }
}
