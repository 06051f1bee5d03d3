//! Scenarios of single calls: fields, events and effects, transition by transition.

mod late;
mod unreported;

use std::time::Duration;

use super::*;
use crate::private::Private;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

/// A call with all its events and effects so far.
struct Story {
    call: Call,
    events: Vec<EventKind>,
    last: Vec<CallEffect>,
    row: Row,
}

/// The columns of the call's row.
#[derive(Debug, Default)]
struct Row {
    dialing_at: Option<Timestamp>,
    ringing_at: Option<Timestamp>,
    answered_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    duration_seconds: Option<u32>,
    carrier_call_id: Option<String>,
    ending: Option<Ending>,
    hangup: Option<Hangup>,
}

impl Story {
    fn begin((call, effects): (Call, Vec<CallEffect>)) -> Self {
        let mut story = Self { call, events: vec![], last: vec![], row: Row::default() };
        story.absorb(effects);
        story
    }

    fn outbound() -> Self {
        Self::begin(Call::outbound(at(0), at(0), Timing::default()))
    }

    fn inbound() -> Self {
        Self::begin(Call::inbound(at(0), "CA1".to_owned(), Timing::default()))
    }

    /// Returns a call dialled at 1 s and accepted by the carrier.
    fn ringing() -> Self {
        Self::outbound().then(1_000, CallInput::Dial).then(1_200, accepted()).then(2_000, CallInput::Ringing)
    }

    /// Returns a call answered at 5 s, with audio from 5.5 s.
    fn talking() -> Self {
        Self::ringing().then(5_000, CallInput::Answered).then(5_500, CallInput::MediaStarted)
    }

    fn then(mut self, millis: i64, input: CallInput) -> Self {
        let effects = self.call.handle(at(millis), input);
        self.absorb(effects);
        self
    }

    fn absorb(&mut self, effects: Vec<CallEffect>) {
        for effect in &effects {
            let CallEffect::Commit(change) = effect else { continue };
            self.events.extend(&change.events);
            let row = &mut self.row;
            row.dialing_at = change.dialing_at.or(row.dialing_at);
            row.ringing_at = change.ringing_at.or(row.ringing_at);
            row.answered_at = change.answered_at.or(row.answered_at);
            row.ended_at = change.ended_at.or(row.ended_at);
            row.duration_seconds = change.duration_seconds.or(row.duration_seconds);
            row.carrier_call_id = change.carrier_call_id.clone().or(row.carrier_call_id.take());
            row.ending = change.ending.clone().or(row.ending.take());
            row.hangup = change.hangup.clone().or(row.hangup.take());
        }
        self.last = effects;
    }

    /// Returns the effects of the last step, without the commit.
    fn effects(&self) -> Vec<&CallEffect> {
        self.last.iter().filter(|effect| !matches!(effect, CallEffect::Commit(_))).collect()
    }

    fn code(&self) -> Option<ErrorCode> {
        self.row.ending.as_ref().and_then(|ending| ending.error().map(|(code, _)| code))
    }

    fn reason(&self) -> Option<EndReason> {
        self.row.ending.as_ref().and_then(Ending::reason)
    }

    /// Restores the call from its row, as another node does.
    fn taken_over(self) -> Self {
        let snapshot = Snapshot {
            direction: self.call.direction(),
            status: self.call.status(),
            deadline: self.call.next_deadline(),
            dialing_at: self.row.dialing_at,
            ringing_at: self.row.ringing_at,
            answered_at: self.row.answered_at,
            ended_at: self.row.ended_at,
            carrier_call_id_known: self.row.carrier_call_id.is_some(),
            hangup_reported: self.row.hangup.is_some(),
            ending: self.row.ending.clone(),
        };
        Self { call: Call::restore(snapshot, Timing::default()), ..self }
    }
}

fn accepted() -> CallInput {
    CallInput::DialAccepted { carrier_call_id: "CA1".to_owned(), waits: Duration::ZERO }
}

fn hangup(cause: CarrierCause) -> CallInput {
    CallInput::CarrierHangup(Hangup::new(cause))
}

fn talk_failed(failure: TalkFailure) -> CallInput {
    CallInput::TalkEnded(TalkEnd::Failed { failure, error: Private::new("Details.".to_owned()) })
}

#[test]
fn an_ordinary_call_is_reported_in_five_events() {
    let story = Story::talking().then(47_600, hangup(CarrierCause::Normal));
    assert_eq!(story.call.status(), Status::InProgress, "the summary is still being written");
    assert_eq!(story.effects(), [&CallEffect::StopTalk]);
    let story = story.then(49_000, CallInput::WrappedUp);

    assert_eq!(story.call.status(), Status::Completed);
    assert_eq!(story.events, {
        use EventKind::{CallCompleted, CallDialing, CallInProgress, CallQueued, CarrierHangup};
        [CallQueued, CallDialing, CallInProgress, CarrierHangup, CallCompleted]
    });
    assert_eq!(story.row.dialing_at, Some(at(1_000)));
    assert_eq!(story.row.ringing_at, Some(at(2_000)));
    assert_eq!(story.row.answered_at, Some(at(5_000)));
    assert_eq!(story.row.ended_at, Some(at(47_600)), "when the leg ended, not when the summary was done");
    assert_eq!(story.row.duration_seconds, Some(43), "42.6 s from answer to end");
    assert_eq!(story.row.ending, Some(Ending::completed(EndReason::CallerHangup, EndedBy::Caller)));
    assert_eq!(story.row.hangup.and_then(|hangup| hangup.hung_up_by), Some(EndedBy::Caller));
}

#[test]
fn the_intention_to_dial_is_written_before_the_dial() {
    let story = Story::outbound().then(1_000, CallInput::Dial);
    let [CallEffect::Commit(change), CallEffect::Dial] = story.last.as_slice() else {
        panic!("first the commit, then the dial: {:?}", story.last)
    };
    assert_eq!((change.status, change.events.as_slice()), (Status::Dialing, [EventKind::CallDialing].as_slice()));
    assert_eq!(change.deadline, Some(at(41_000)), "30 s of ringing and 10 s of grace");
}

#[test]
fn a_scheduled_call_waits_for_its_time() {
    let (call, _) = Call::outbound(at(0), at(3_600_000), Timing::default());
    assert_eq!(call.next_deadline(), Some(at(3_600_000) + Duration::from_secs(300)));
}

#[test]
fn the_end_follows_from_the_cause_and_from_how_far_the_call_came() {
    use CallInput::{Drain, HangUpRequested};
    let ring_end = 41_000;
    let table: Vec<(&str, Story, Option<ErrorCode>, Option<EndReason>)> = vec![
        ("busy", Story::ringing().then(3_000, hangup(CarrierCause::Busy)), Some(ErrorCode::Busy), None),
        ("declined", Story::ringing().then(3_000, hangup(CarrierCause::Rejected)), Some(ErrorCode::Rejected), None),
        (
            "rings out",
            Story::ringing().then(ring_end + 1_000, CallInput::Tick).then(ring_end + 7_000, CallInput::Tick),
            Some(ErrorCode::NoAnswer),
            None,
        ),
        (
            "refused dial",
            Story::outbound().then(1_000, CallInput::Dial).then(
                1_100,
                CallInput::DialRefused {
                    code: ErrorCode::CarrierUnauthorized,
                    error: Private::new("The carrier refused the credentials.".to_owned()),
                },
            ),
            Some(ErrorCode::CarrierUnauthorized),
            None,
        ),
        (
            "fate of the dial never known",
            Story::outbound()
                .then(1_000, CallInput::Dial)
                .then(9_000, CallInput::DialUnknown)
                .then(ring_end, CallInput::Tick),
            Some(ErrorCode::CarrierError),
            None,
        ),
        ("no dialler", Story::outbound().then(300_000, CallInput::Tick), Some(ErrorCode::UnknownError), None),
        ("cancelled in the queue", Story::outbound().then(1, HangUpRequested), None, Some(EndReason::Canceled)),
        ("cancelled while ringing", Story::ringing().then(3_000, HangUpRequested), None, Some(EndReason::Canceled)),
        (
            "no audio",
            Story::ringing().then(5_000, CallInput::Answered).then(35_000, CallInput::Tick),
            Some(ErrorCode::NoMedia),
            None,
        ),
        (
            "hung up before audio",
            Story::ringing().then(5_000, CallInput::Answered).then(5_100, hangup(CarrierCause::Normal)),
            Some(ErrorCode::NoMedia),
            None,
        ),
        (
            "provider missing, found while ringing",
            Story::ringing().then(3_000, talk_failed(TalkFailure::ConfigError)),
            Some(ErrorCode::ConfigError),
            None,
        ),
        ("ended by the API", Story::talking().then(9_000, HangUpRequested), None, Some(EndReason::ApiHangup)),
        ("drained", Story::talking().then(9_000, Drain), None, Some(EndReason::Drained)),
        (
            "media lost in conversation",
            Story::talking().then(9_000, hangup(CarrierCause::Failed)),
            None,
            Some(EndReason::CallerHangup),
        ),
        (
            "goodbye",
            Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::AgentHungUp)),
            None,
            Some(EndReason::AgentHangup),
        ),
        (
            "silence",
            Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::Silence)),
            None,
            Some(EndReason::Silence),
        ),
        (
            "voicemail",
            Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::Voicemail)),
            None,
            Some(EndReason::Voicemail),
        ),
        (
            "the talk forgot to end itself",
            Story::talking().then(3_620_500, CallInput::Tick),
            None,
            Some(EndReason::MaxDuration),
        ),
        (
            "model never answers",
            Story::talking().then(9_000, talk_failed(TalkFailure::ProviderTimeout)),
            Some(ErrorCode::ProviderTimeout),
            None,
        ),
        (
            "caller gives up before we answer",
            Story::inbound().then(500, hangup(CarrierCause::Canceled)),
            None,
            Some(EndReason::CallerHangup),
        ),
        ("inbound without audio", Story::inbound().then(30_000, CallInput::Tick), Some(ErrorCode::NoMedia), None),
    ];
    for (name, story, code, reason) in table {
        assert_eq!((story.code(), story.reason()), (code, reason), "{name}");
        // Time ends the call, even if something is still awaited.
        let story = story.then(3_700_000, CallInput::Tick);
        assert!(story.call.status().is_terminal(), "{name} ended");
        let expected = if code.is_some() { EventKind::CallFailed } else { EventKind::CallCompleted };
        assert_eq!(story.events.last(), Some(&expected), "{name}");
    }
}

#[test]
fn a_call_cancelled_in_the_queue_touches_no_carrier() {
    let story = Story::outbound().then(1, CallInput::HangUpRequested);
    assert_eq!(story.events, [EventKind::CallQueued, EventKind::CallCompleted]);
    assert!(story.effects().is_empty());
    assert_eq!(story.row.duration_seconds, Some(0));
}

#[test]
fn our_hang_up_waits_for_the_carriers_word_so_that_it_comes_before_the_end() {
    let story = Story::talking().then(9_000, CallInput::HangUpRequested);
    assert_eq!(story.effects(), [&CallEffect::StopTalk, &CallEffect::HangUp]);
    let story = story.then(9_100, CallInput::WrappedUp);
    assert_eq!(story.call.status(), Status::InProgress);
    let story = story.then(9_800, hangup(CarrierCause::Normal));
    assert_eq!(story.events[3..], [EventKind::CarrierHangup, EventKind::CallCompleted]);
    assert_eq!(story.row.hangup.and_then(|hangup| hangup.hung_up_by), Some(EndedBy::Api));
    assert_eq!(story.row.ended_at, Some(at(9_800)));
    assert_eq!(story.row.duration_seconds, Some(5), "4.8 s, to the moment the leg ended");
}

#[test]
fn a_repeated_acceptance_changes_nothing() {
    let story = Story::ringing().then(2_500, accepted());
    assert!(story.last.is_empty());
    let story = story.then(3_000, hangup(CarrierCause::Busy)).then(3_100, accepted());
    assert!(story.last.is_empty(), "the carrier has already reported the end of this leg");
}

#[test]
fn a_silent_carrier_delays_the_end_by_a_moment_only() {
    let story = Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::Silence)).then(9_100, CallInput::WrappedUp);
    assert_eq!(story.call.next_deadline(), Some(at(10_000)), "then its record is looked up");
    let story = story.then(10_000, CallInput::Tick);
    assert_eq!(story.call.next_deadline(), Some(at(13_000)));
    let story = story.then(13_000, CallInput::Tick).then(14_000, hangup(CarrierCause::Normal));
    assert_eq!(story.events[3..], [EventKind::CallCompleted], "the late report changes nothing");
    assert!(story.last.is_empty());
}

#[test]
fn the_first_cause_wins() {
    let story = Story::talking()
        .then(9_000, talk_failed(TalkFailure::PipelineError))
        .then(9_010, CallInput::HangUpRequested)
        .then(9_020, hangup(CarrierCause::Normal))
        .then(9_030, CallInput::WrappedUp);
    assert_eq!(story.code(), Some(ErrorCode::PipelineError));
    assert_eq!(story.events[3..], [EventKind::CarrierHangup, EventKind::CallFailed]);
}

#[test]
fn a_refused_dial_has_no_carrier_hangup() {
    let refused = CallInput::DialRefused { code: ErrorCode::CarrierError, error: Private::default() };
    let story = Story::outbound().then(1_000, CallInput::Dial).then(1_100, refused);
    assert_eq!(story.events[2..], [EventKind::CallFailed]);
    assert!(story.effects().is_empty(), "there is no leg to hang up");
    let story = story.then(1_200, hangup(CarrierCause::Failed));
    assert!(story.last.is_empty());
}

#[test]
fn a_line_that_turns_up_after_the_end_is_hung_up() {
    let story =
        Story::outbound().then(1_000, CallInput::Dial).then(1_050, CallInput::HangUpRequested).then(1_500, accepted());
    assert_eq!(story.effects(), [&CallEffect::HangUp], "while the end is being reported");

    let story = Story::outbound()
        .then(1_000, CallInput::Dial)
        .then(1_050, CallInput::HangUpRequested)
        .then(9_000, CallInput::Tick)
        .then(9_500, accepted());
    assert_eq!(story.last, [CallEffect::HangUp], "after it, and nothing is written");
}

#[test]
fn audio_before_the_answer_implies_the_answer() {
    let story = Story::ringing().then(4_000, CallInput::MediaStarted).then(4_300, CallInput::Answered);
    assert_eq!(story.row.answered_at, Some(at(4_000)));
    assert!(story.last.is_empty(), "the late answer changes nothing");
    assert_eq!(story.call.status(), Status::InProgress);
}

#[test]
fn a_transferred_line_is_not_hung_up() {
    let transferred = CallInput::TalkEnded(TalkEnd::Transferred { by: EndedBy::Api });
    let story = Story::talking().then(9_000, transferred.clone());
    assert_eq!(story.effects(), [&CallEffect::StopTalk]);
    assert_eq!(story.row.ending, Some(Ending::completed(EndReason::Transferred, EndedBy::Api)));
    let story = story.then(9_500, CallInput::WrappedUp);
    assert_eq!(story.call.status(), Status::Completed);

    let story = Story::talking().then(9_000, transferred.clone()).taken_over().then(30_000, CallInput::Abandoned);
    assert!(
        !story.effects().contains(&&CallEffect::HangUp),
        "nor by whoever takes over from a node that died meanwhile"
    );
    assert_eq!(story.call.status(), Status::Completed);

    let cut = Story::talking().then(9_000, CallInput::TalkEnded(TalkEnd::MediaLost)).then(9_100, transferred);
    assert_eq!(cut.reason(), Some(EndReason::Transferred), "the media may end before the carrier has answered");
    let cut = cut.then(9_200, CallInput::WrappedUp);
    assert_eq!((cut.call.status(), cut.effects()), (Status::Completed, vec![]));
}

#[test]
fn a_dead_nodes_queued_call_is_dialled_by_another() {
    let story = Story::outbound().taken_over().then(20_000, CallInput::Abandoned);
    assert!(story.last.is_empty());
    assert_eq!(story.then(20_100, CallInput::Dial).effects(), [&CallEffect::Dial]);
}

#[test]
fn a_dead_nodes_dial_is_looked_up_and_never_repeated() {
    let story = || {
        let dialled = Story::outbound().then(1_000, CallInput::Dial);
        dialled.taken_over().then(16_000, CallInput::Abandoned)
    };
    assert_eq!(story().effects(), [&CallEffect::LookUp]);

    let busy = story().then(16_200, hangup(CarrierCause::Busy));
    assert_eq!(busy.code(), Some(ErrorCode::Busy), "the carrier knew");

    let unknown = story().then(22_000, CallInput::Tick);
    assert_eq!(unknown.effects(), [&CallEffect::HangUp], "it may be ringing somewhere");
    let unknown = unknown.then(26_000, CallInput::Tick);
    assert_eq!(unknown.code(), Some(ErrorCode::CarrierError));
    assert!(unknown.call.status().is_terminal(), "within 30 s of a death at 1 s");
}

#[test]
fn a_dead_nodes_conversation_is_hung_up_and_failed() {
    let story = Story::talking().taken_over().then(21_000, CallInput::Abandoned);
    assert_eq!(story.effects(), [&CallEffect::HangUp]);
    assert_eq!(story.code(), Some(ErrorCode::PipelineError));
    let story = story.then(22_000, CallInput::Tick);
    assert_eq!(story.call.next_deadline(), Some(at(25_000)), "only the carrier's report is awaited");
}

#[test]
fn an_end_decided_by_a_dead_node_is_carried_out_as_decided() {
    let story = Story::talking()
        .then(9_000, CallInput::HangUpRequested)
        .taken_over()
        .then(25_000, CallInput::Abandoned)
        .then(25_100, CallInput::WrappedUp);
    assert_eq!(story.call.status(), Status::InProgress, "the hang-up was asked for again");
    let story = story.then(25_300, hangup(CarrierCause::Normal));
    assert_eq!(story.call.status(), Status::Completed);
    assert_eq!(story.reason(), Some(EndReason::ApiHangup));
    assert_eq!(story.events[3..], [EventKind::CarrierHangup, EventKind::CallCompleted]);
}

#[test]
fn nothing_is_asked_of_a_conversation_whose_end_is_decided() {
    let late = Story::talking();
    assert!(!Story::ringing().call.is_in_conversation() && late.call.is_in_conversation());
    let late = late.then(6_000, CallInput::HangUpRequested);
    assert_eq!((late.call.status(), late.call.is_in_conversation()), (Status::InProgress, false), "it only closes");
    let left = Story::talking().taken_over().then(6_000, CallInput::Abandoned);
    assert!(!left.call.is_in_conversation(), "it died with its node");
}

#[test]
fn a_call_has_its_time_to_ring_also_after_a_wait_in_the_carriers_own_queue() {
    let dialled = || Story::outbound().then(1_000, CallInput::Dial);
    let waits = CallInput::DialAccepted { carrier_call_id: "CA1".to_owned(), waits: Duration::from_secs(20) };
    let waiting = dialled().then(1_200, waits);
    assert_eq!(waiting.then(41_500, CallInput::Tick).code(), None, "the carrier has not let it ring yet");
    let waits = CallInput::DialAccepted { carrier_call_id: "CA1".to_owned(), waits: Duration::from_secs(20) };
    let rung_late = dialled().then(1_200, waits).then(59_000, CallInput::Ringing);
    assert_eq!(rung_late.then(98_000, CallInput::Tick).code(), None, "it has rung for 39 s");
    let waits = CallInput::DialAccepted { carrier_call_id: "CA1".to_owned(), waits: Duration::from_secs(20) };
    let rung_out = dialled().then(1_200, waits).then(59_000, CallInput::Ringing).then(99_000, CallInput::Tick);
    assert_eq!(rung_out.then(105_000, CallInput::Tick).code(), Some(ErrorCode::NoAnswer));
}

#[test]
fn a_carrier_that_says_there_will_be_no_audio_is_not_waited_for() {
    let no_media = || CallInput::NoMedia { error: Private::new("The stream failed.".to_owned()) };
    let answered = Story::ringing().then(5_000, CallInput::Answered).then(6_000, no_media());
    assert_eq!(answered.code(), Some(ErrorCode::NoMedia));
    assert!(answered.effects().contains(&&CallEffect::HangUp), "whoever answered is not left on a dead leg");
    assert_eq!(
        Story::ringing().then(6_000, no_media()).code(),
        Some(ErrorCode::NoMedia),
        "also when the answer was not reported"
    );
    let talking = Story::talking().then(9_000, no_media());
    assert_eq!(talking.call.status(), Status::InProgress, "once audio flowed, the stream reports its end");
}

#[test]
fn a_carrier_that_says_nothing_is_asked_before_the_call_ends_without_its_word() {
    let silent = || Story::ringing().then(42_000, CallInput::Tick);
    assert_eq!((silent().code(), silent().effects()), (None, vec![&CallEffect::LookUp]));
    let busy = silent().then(42_500, hangup(CarrierCause::Busy));
    assert_eq!(busy.code(), Some(ErrorCode::Busy), "its report was lost");
    let unknown = silent().then(48_000, CallInput::Tick);
    assert_eq!(unknown.code(), Some(ErrorCode::NoAnswer), "asked once, and not for ever");
}

#[test]
fn a_carrier_without_room_is_waited_for() {
    let delayed =
        Story::outbound().then(1_000, CallInput::Dial).then(1_200, CallInput::DialDelayed(Duration::from_secs(60)));
    let waiting = delayed.then(61_000, CallInput::Tick);
    assert_eq!(waiting.code(), None);
    let rung = waiting.then(61_500, accepted()).then(70_000, CallInput::Answered).then(70_500, CallInput::MediaStarted);
    assert_eq!(rung.call.status(), Status::InProgress);
}
