//! Changes that could be written only late, since the database could not be written.

use super::*;

const LATE: Duration = Duration::from_secs(20);

#[test]
fn an_end_that_was_written_late_still_waits_for_the_conversation_and_the_carrier() {
    let mut story = Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::MediaLost));
    story.call.postpone(LATE);
    let story = story.then(29_000, CallInput::Tick);
    assert!(story.last.is_empty(), "what was to be done after the change begins only now");
    let story = story.then(29_100, hangup(CarrierCause::Normal)).then(29_200, CallInput::WrappedUp);
    assert_eq!(story.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Caller)));
    assert_eq!((story.row.ended_at, story.row.duration_seconds), (Some(at(9_000)), Some(4)), "when it ended");
    assert_eq!(story.call.status(), Status::Completed);
}

#[test]
fn a_call_that_was_answered_while_a_change_of_it_waited_is_not_given_up() {
    let mut story = Story::ringing();
    let due = story.call.next_deadline().expect("it rings");
    story.call.postpone(LATE);
    assert_eq!(story.call.next_deadline(), Some(due + LATE));
    let mut story = story.then(30_000, CallInput::Answered);
    let due = story.call.next_deadline().expect("audio is awaited");
    story.call.postpone(LATE);
    assert_eq!(story.call.next_deadline(), Some(due + LATE));
}

#[test]
fn a_queued_call_is_dialled_in_time_or_not_at_all() {
    let mut story = Story::outbound();
    let due = story.call.next_deadline();
    story.call.postpone(LATE);
    assert_eq!(story.call.next_deadline(), due);
}
