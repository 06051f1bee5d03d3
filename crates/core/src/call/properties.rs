//! Properties that hold for every call, for any inputs in any order.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::private::Private;

fn any_input() -> impl Strategy<Value = CallInput> {
    let words = || Private::new("Details.".to_owned());
    let hangup = (prop::sample::select(CarrierCause::ALL), prop::option::of(prop::sample::select(EndedBy::ALL)))
        .prop_map(|(cause, hung_up_by)| CallInput::CarrierHangup(Hangup { hung_up_by, ..Hangup::new(cause) }));
    let talk_end = prop::sample::select(vec![
        TalkEnd::AgentHungUp,
        TalkEnd::Transferred { by: EndedBy::Api },
        TalkEnd::Silence,
        TalkEnd::MaxDuration,
        TalkEnd::Voicemail,
        TalkEnd::MediaLost,
        TalkEnd::Failed { failure: TalkFailure::PipelineError, error: words() },
    ]);
    prop_oneof![
        3 => Just(CallInput::Dial),
        3 => Just(CallInput::DialAccepted { carrier_call_id: "CA1".to_owned(), waits: Duration::ZERO }),
        1 => Just(CallInput::DialRefused { code: ErrorCode::CarrierError, error: words() }),
        1 => Just(CallInput::DialUnknown),
        3 => Just(CallInput::Ringing),
        3 => Just(CallInput::Answered),
        3 => Just(CallInput::MediaStarted),
        2 => hangup,
        2 => talk_end.prop_map(CallInput::TalkEnded),
        2 => Just(CallInput::WrappedUp),
        1 => Just(CallInput::HangUpRequested),
        1 => Just(CallInput::Drain),
        1 => Just(CallInput::Abandoned),
        3 => Just(CallInput::Tick),
    ]
}

/// Watches the effects of one call for violations.
#[derive(Default)]
struct Watch {
    status: Option<Status>,
    dials: usize,
    reports: usize,
    terminal_events: usize,
    row: Option<Snapshot>,
}

impl Watch {
    fn see(&mut self, call: &Call, effects: &[CallEffect]) -> Result<(), TestCaseError> {
        for (position, effect) in effects.iter().enumerate() {
            match effect {
                CallEffect::Commit(change) => {
                    prop_assert_eq!(position, 0, "the commit comes first and once");
                    self.see_change(call, change)?;
                }
                CallEffect::Dial => self.dials += 1,
                CallEffect::HangUp => {
                    prop_assert!(self.dials == 1 || call.direction() == Direction::Inbound, "there may be a leg");
                }
                CallEffect::Answer | CallEffect::LookUp | CallEffect::StartTalk | CallEffect::StopTalk => {}
            }
        }
        prop_assert!(self.dials <= 1, "nobody is rung twice");
        prop_assert_eq!(self.status, Some(call.status()), "the status changes by a commit only");
        prop_assert_eq!(call.next_deadline().is_none(), call.status().is_terminal(), "a live call has a deadline");
        Ok(())
    }

    fn see_change(&mut self, call: &Call, change: &Change) -> Result<(), TestCaseError> {
        if let Some(before) = self.status {
            prop_assert!(!before.is_terminal(), "nothing is written after the end");
            prop_assert!(before <= change.status, "{} went back to {}", before, change.status);
        }
        for event in &change.events {
            prop_assert_eq!(self.terminal_events, 0, "{} came after the end", event);
            self.terminal_events += usize::from(event.is_terminal());
            self.reports += usize::from(*event == EventKind::CarrierHangup);
        }
        prop_assert!(self.reports <= 1, "carrier.hangup is sent once");
        prop_assert_eq!(self.terminal_events == 1, change.status.is_terminal(), "the end and its event are one commit");
        self.status = Some(change.status);
        self.write(call, change);
        Ok(())
    }

    fn write(&mut self, call: &Call, change: &Change) {
        let row = self.row.get_or_insert_with(|| Snapshot {
            direction: call.direction(),
            status: change.status,
            deadline: None,
            dialing_at: None,
            ringing_at: None,
            answered_at: None,
            ended_at: None,
            carrier_call_id_known: false,
            hangup_reported: false,
            ending: None,
        });
        row.status = change.status;
        row.deadline = change.deadline;
        row.dialing_at = change.dialing_at.or(row.dialing_at);
        row.ringing_at = change.ringing_at.or(row.ringing_at);
        row.answered_at = change.answered_at.or(row.answered_at);
        row.ended_at = change.ended_at.or(row.ended_at);
        row.carrier_call_id_known |= change.carrier_call_id.is_some();
        row.hangup_reported |= change.hangup.is_some();
        row.ending = change.ending.clone().or(row.ending.take());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_call_ends_once_however_it_is_treated(
        inbound in any::<bool>(),
        steps in prop::collection::vec((any_input(), 0_u64..20_000, prop::bool::weighted(0.1)), 0..40),
    ) {
        let mut now = Timestamp::from_millis(1_700_000_000_000);
        let timing = Timing::default();
        let (mut call, effects) = if inbound {
            Call::inbound(now, "CA1".to_owned(), timing)
        } else {
            Call::outbound(now, now, timing)
        };
        let mut watch = Watch::default();
        watch.see(&call, &effects)?;

        for (input, millis, node_dies) in steps {
            now = now + Duration::from_millis(millis);
            if node_dies {
                let row = watch.row.clone().expect("the first commit wrote the row");
                call = Call::restore(row, timing);
                watch.see(&call, &[])?;
            }
            let effects = call.handle(now, input);
            watch.see(&call, &effects)?;
        }

        // Without further inputs, the call ends at its deadlines.
        for _ in 0..6 {
            now = call.next_deadline().unwrap_or(now).max(now);
            let effects = call.handle(now, CallInput::Tick);
            watch.see(&call, &effects)?;
        }
        prop_assert!(call.status().is_terminal(), "{:?}", call.phase());
        prop_assert_eq!(watch.terminal_events, 1);
    }
}
