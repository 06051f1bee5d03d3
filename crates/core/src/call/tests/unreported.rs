//! Ends that the carrier explains or does not report.

use super::*;

/// Returns the carrier's record of a call that lasted `seconds`.
fn recorded(seconds: u32) -> CallInput {
    CallInput::CarrierHangup(Hangup { duration_seconds: Some(seconds), ..Hangup::new(CarrierCause::Normal) })
}

#[test]
fn the_conversation_ends_with_its_stream_and_the_carrier_says_who_left() {
    let lost = || Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::MediaLost));
    assert_eq!(
        lost().effects(),
        [&CallEffect::StopTalk],
        "mostly the caller has hung up, and the carrier is about to say so"
    );
    assert!(!lost().call.is_in_conversation());
    let said = lost().then(9_300, hangup(CarrierCause::Normal)).then(9_400, CallInput::WrappedUp);
    assert_eq!(said.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Caller)));
    assert_eq!(said.row.ended_at, Some(at(9_000)), "when the stream ended");
    assert_eq!((said.row.duration_seconds, said.call.status()), (Some(4), Status::Completed));

    let faulty = lost().then(9_300, hangup(CarrierCause::Failed));
    assert_eq!(faulty.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Carrier)));
}

#[test]
fn a_stream_that_ends_without_a_report_has_the_carriers_record_looked_up() {
    let lost =
        || Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::MediaLost)).then(9_100, CallInput::WrappedUp);
    assert_eq!(lost().call.next_deadline(), Some(at(10_000)));
    let asked = || lost().then(10_000, CallInput::Tick);
    assert_eq!(asked().effects(), [&CallEffect::LookUp]);

    let ended = asked().then(10_100, recorded(3));
    assert_eq!(ended.call.status(), Status::Completed);
    assert_eq!(ended.events[3..], [EventKind::CarrierHangup, EventKind::CallCompleted]);
    assert_eq!(ended.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Caller)));
    assert_eq!(ended.row.duration_seconds, Some(3), "the record counts, not our clock");

    let alive = asked().then(10_100, accepted());
    assert_eq!(alive.effects(), [&CallEffect::HangUp], "nobody is left on a leg without audio");
    let alive = alive.then(10_200, accepted());
    assert!(alive.last.is_empty(), "once is enough");
    let ended = alive.then(11_100, recorded(6));
    assert_eq!(ended.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Carrier)), "we hung up");
    assert_eq!((ended.row.duration_seconds, ended.row.ended_at), (Some(6), Some(at(9_000))));

    let unknown = asked().then(13_000, CallInput::Tick);
    assert_eq!(unknown.effects(), [&CallEffect::HangUp], "it may live on");
    assert_eq!((unknown.call.status(), unknown.row.duration_seconds), (Status::Completed, Some(4)));
    assert_eq!(unknown.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Carrier)));
}

#[test]
fn unreported_end_is_looked_up_after_our_own_hangup() {
    let asked = Story::talking().then(9_000, CallInput::HangUpRequested).then(9_100, CallInput::WrappedUp);
    let asked = asked.then(10_000, CallInput::Tick);
    assert_eq!(asked.effects(), [&CallEffect::LookUp]);
    let ended = asked.then(10_200, recorded(5));
    assert_eq!(ended.events[3..], [EventKind::CarrierHangup, EventKind::CallCompleted]);
    assert_eq!(ended.row.hangup.and_then(|hangup| hangup.hung_up_by), Some(EndedBy::Api));
    assert_eq!((ended.row.ended_at, ended.row.duration_seconds), (Some(at(9_000)), Some(5)));

    let busy = Story::talking().then(9_000, CallInput::HangUpRequested).then(10_010, CallInput::WrappedUp);
    assert_eq!(busy.effects(), [&CallEffect::LookUp], "also when something else happens first");

    let reported = Story::talking().then(9_000, CallInput::HangUpRequested).then(9_200, hangup(CarrierCause::Normal));
    assert_eq!(reported.call.next_deadline(), Some(at(21_000)), "only the summary is awaited");
}
