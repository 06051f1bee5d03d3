//! Scripts of callers and providers, and the events that follow.

use super::*;
use crate::stt::encoder::Encoding;

const CONFIG: SttStreamConfig = SttStreamConfig {
    name: "test",
    encoding: Encoding::Mulaw,
    sample_rate: 8_000,
    chunk: 2,
    full_chunks_only: false,
    speech_only: false,
    separator: " ",
    finalize_timeout: Duration::from_millis(1_500),
    finalize_timeout_without_words: Duration::from_millis(700),
    confirms_finalize: true,
    always_confirms_finalize: false,
};

/// A provider that ends speech on its own.
const ALONE: SttStreamConfig =
    SttStreamConfig { finalize_timeout_without_words: CONFIG.finalize_timeout, confirms_finalize: false, ..CONFIG };

/// A step of a script.
enum Happens {
    Starts,
    Stops(u32),
    Partial(&'static str),
    Final(&'static str),
    Flushed,
    TurnOver,
    /// This many milliseconds pass.
    Passes(u64),
    Reconnected {
        everything: bool,
    },
}

use Happens::{Flushed, Partial, Passes, Reconnected, Starts, Stops, TurnOver};

/// Returns the events: `~` for a partial, the number for a final, `.` for a turn.
fn events(script: Vec<Happens>) -> Vec<String> {
    events_in(CONFIG, script)
}

fn events_in(stream_config: SttStreamConfig, script: Vec<Happens>) -> Vec<String> {
    let mut words = Transcripts::new(stream_config);
    let mut now = Instant::now();
    let mut reported = Vec::new();
    for happens in script {
        reported.extend(match happens {
            Starts => {
                words.speech_started(now);
                Vec::new()
            }
            Stops(segment) => {
                words.speech_stopped(segment, now);
                Vec::new()
            }
            Partial(text) => words.handle(SttMessage::Partial(text.to_owned()), now),
            Happens::Final(text) => words.handle(SttMessage::Final(text.to_owned()), now),
            Flushed => words.handle(SttMessage::Finalized, now),
            TurnOver => words.handle(SttMessage::EndOfTurn, now),
            Passes(ms) => {
                now += Duration::from_millis(ms);
                words.expire(now)
            }
            Reconnected { everything } => {
                words.reconnected(everything, now);
                Vec::new()
            }
        });
    }
    reported
        .into_iter()
        .map(|event| match event {
            SttEvent::Partial { text } => format!("~ {text}"),
            SttEvent::Final { segment, text } => format!("{segment} {text}"),
            SttEvent::EndOfTurn => ".".to_owned(),
            SttEvent::Failed { .. } => unreachable!("words do not fail"),
        })
        .collect()
}

/// Returns the events without partials.
fn finals(script: Vec<Happens>) -> Vec<String> {
    finals_in(CONFIG, script)
}

fn finals_in(stream_config: SttStreamConfig, script: Vec<Happens>) -> Vec<String> {
    events_in(stream_config, script).into_iter().filter(|reported| !reported.starts_with('~')).collect()
}

#[test]
fn several_final_texts_of_a_segment_are_joined_once() {
    let script = vec![
        Starts,
        Partial("book a"),
        Happens::Final("Book a table"),
        Partial("for"),
        Stops(0),
        Happens::Final("for two."),
        Happens::Final(""),
        Flushed,
    ];
    let expected = [
        "~ book a",
        "~ Book a table",
        "~ Book a table for",
        "~ Book a table for two.",
        "~ Book a table for two.",
        "0 Book a table for two.",
    ];
    assert_eq!(events(script), expected);
}

#[test]
fn punctuation_alone_is_neither_words_nor_a_turn() {
    for (text, expected) in [(".", vec!["0 "]), ("…", vec!["0 "]), ("#", vec!["~ #", "~ #", "0 #"])] {
        let noise = vec![Starts, Partial(text), Stops(0), Happens::Final(text), Flushed];
        assert_eq!(events(noise), expected, "{text}");
    }
    let late = vec![Starts, Happens::Final("Yes"), Stops(0), Flushed, Happens::Final("."), Partial("…"), Passes(5_000)];
    assert_eq!(finals(late), ["0 Yes"], "the rest is no second turn");
    let pieces = vec![Starts, Happens::Final("Yes"), Happens::Final("."), Stops(0), Flushed];
    assert_eq!(finals_in(SttStreamConfig { separator: "", ..CONFIG }, pieces), ["0 Yes."], "it belongs to words");
}

#[test]
fn a_segment_is_answered_in_time_also_without_an_answer_of_the_provider() {
    let slow = vec![Starts, Partial("yes"), Stops(0), Passes(1_499), Passes(1), Passes(5_000)];
    assert_eq!(finals(slow), ["0 yes"]);
    let cough = vec![Starts, Stops(0), Passes(699), Passes(1)];
    assert_eq!(finals(cough), ["0 "], "there is nothing to wait for");
}

#[test]
fn words_that_were_reported_when_time_was_up_are_not_reported_again() {
    let cumulative = vec![
        Starts,
        Partial("my number is"),
        Stops(0),
        Passes(1_500),
        Starts,
        Partial("my number is four one"),
        Stops(1),
        Happens::Final("My number is four one five."),
        TurnOver,
    ];
    assert_eq!(finals(cumulative), ["0 my number is", "1 four one five.", "."]);
}

#[test]
fn late_words_belong_to_the_segment_that_was_answered_without_them() {
    let late = vec![Starts, Happens::Final("Yes,"), Stops(0), Passes(700), Happens::Final("please."), Flushed];
    assert_eq!(finals(late), ["0 Yes,", "1 please."], "as new ones, since the turn of the others may be over");
    let altogether = vec![Starts, Stops(0), Passes(700), Passes(1_300), Happens::Final("Yes, please."), Flushed];
    assert_eq!(finals(altogether), ["0 ", "0 Yes, please."]);
    let much_later = vec![Starts, Stops(0), Passes(700), Passes(3_000), Happens::Final("Hello?")];
    assert_eq!(finals(much_later), ["0 ", "1 Hello?"], "a speaker whom we do not hear");
}

#[test]
fn a_late_answer_is_that_of_the_segment_that_was_reported_without_it() {
    let late_confirmations = vec![
        Starts,
        Stops(0),
        Passes(700),
        Starts,
        Stops(1),
        Happens::Final("Hello."),
        Flushed,
        Happens::Final("A table, please."),
        Flushed,
    ];
    assert_eq!(finals(late_confirmations), ["0 ", "1 Hello. A table, please."]);
    let noise = vec![Starts, Stops(0), Passes(700), Passes(1_000), Starts, Stops(1), Happens::Final("Yes."), Flushed];
    assert_eq!(finals(noise), ["0 ", "1 Yes."], "noise had no answer, and nobody waits for it");
}

#[test]
fn what_was_reported_early_and_is_corrected_is_reported_as_a_whole() {
    let early = || vec![Starts, Happens::Final("It is"), Partial("twenty dollars"), Stops(0), Passes(1_500)];
    let mut late = early();
    late.push(Happens::Final("$20 and thanks."));
    assert_eq!(finals(late), ["0 It is twenty dollars", "0 It is $20 and thanks."]);
    let mut continued = early();
    continued.extend([Starts, Stops(1), Happens::Final("$20 and thanks."), TurnOver]);
    assert_eq!(finals(continued), ["0 It is twenty dollars", "1 $20 and thanks.", "."], "rather twice than not at all");
}

#[test]
fn a_text_that_brings_its_own_spaces_keeps_them_when_some_of_it_was_reported_early() {
    for separator in ["", " "] {
        let mut words = Transcripts::new(SttStreamConfig { separator, ..CONFIG });
        let now = Instant::now();
        words.speech_started(now);
        words.handle(SttMessage::Partial("Sarah Miller.".to_owned()), now);
        words.speech_stopped(0, now);
        let late = now + CONFIG.finalize_timeout;
        assert_eq!(words.expire(late).len(), 1);
        let reported = words.handle(SttMessage::Final("Sarah Miller. Friday evening.".to_owned()), late);
        let [SttEvent::Final { segment: 1, text }] = reported.as_slice() else { panic!("what is new is reported") };
        assert_eq!(text, "Friday evening.", "joined by {separator:?}");
        let reported = words.handle(SttMessage::Final("Sarah Muller.".to_owned()), late);
        assert!(matches!(reported.as_slice(), [SttEvent::Final { segment: 2, .. }]));
    }
}

#[test]
fn late_words_are_apart_from_those_of_the_next_segment_also_where_texts_bring_their_own_spaces() {
    let mut words = Transcripts::new(SttStreamConfig { separator: "", confirms_finalize: true, ..CONFIG });
    let now = Instant::now();
    words.speech_started(now);
    words.speech_stopped(0, now);
    let late = now + CONFIG.finalize_timeout;
    assert_eq!(words.expire(late).len(), 1);
    words.speech_started(late);
    words.speech_stopped(1, late);
    for text in ["Sarah ", "Miller."] {
        words.handle(SttMessage::Final(text.to_owned()), late);
    }
    assert!(words.handle(SttMessage::Finalized, late).is_empty(), "the answer for the segment before");
    words.handle(SttMessage::Final("Friday.".to_owned()), late);
    let reported = words.handle(SttMessage::Finalized, late);
    let [SttEvent::Final { segment: 1, text }] = reported.as_slice() else { panic!("it is reported") };
    assert_eq!(text, "Sarah Miller. Friday.");
}

/// Returns whether a segment with this much voice counts as unanswered.
fn is_unanswered(stream_config: SttStreamConfig, frames: u32, spoke_in_it: bool, partial: &str) -> bool {
    let mut words = Transcripts::new(stream_config);
    let start = Instant::now();
    let later = |ms| start + Duration::from_millis(ms);
    words.speech_started(later(1_000));
    (0..frames).for_each(|_| words.audio_frame());
    words.handle(SttMessage::Partial(partial.to_owned()), later(2_000));
    words.speech_stopped(0, later(3_000));
    let spoke = later(if spoke_in_it { 2_000 } else { 500 });
    assert!(!words.is_unanswered(spoke, later(3_600)), "it is too early to say");
    let found = words.is_unanswered(spoke, later(4_500));
    assert!(!words.is_unanswered(spoke, later(4_500)), "it is found once");
    found
}

#[test]
fn speech_without_an_answer_is_distinguished_from_noise() {
    let always_confirms_finalize = SttStreamConfig {
        finalize_timeout_without_words: CONFIG.finalize_timeout,
        always_confirms_finalize: true,
        ..CONFIG
    };
    assert!(
        is_unanswered(always_confirms_finalize, 25, true, "") && !is_unanswered(always_confirms_finalize, 24, true, "")
    );
    assert!(!is_unanswered(always_confirms_finalize, 100, true, "yes"));
    for stream_config in [CONFIG, ALONE] {
        assert!(
            is_unanswered(stream_config, 60, false, "") && !is_unanswered(stream_config, 59, false, ""),
            "noise is not answered"
        );
        assert!(!is_unanswered(stream_config, 60, true, ""), "it has said that it hears none");
    }
}

#[test]
fn implausibly_long_transcript_exceeds_the_limit() {
    let too_many = |text: &str, times| {
        let mut words = Transcripts::new(CONFIG);
        (0..times).any(|_| {
            words.handle(SttMessage::Final(text.to_owned()), Instant::now());
            words.exceeds_limit()
        })
    };
    assert!(!too_many(&"word ".repeat(1_900), 1) && too_many(&"word ".repeat(1_900), 5), "words that nobody expects");
    assert!(!too_many(&"词".repeat(9_000), 1) && too_many(&"词".repeat(10_001), 1));
    let mut words = Transcripts::new(CONFIG);
    words.speech_started(Instant::now());
    words.handle(SttMessage::Partial("word ".repeat(2_100)), Instant::now());
    assert!(words.exceeds_limit());
}

#[test]
fn a_turn_of_several_segments_is_reported_with_the_last() {
    let script = vec![
        Starts,
        Partial("four"),
        Stops(0),
        Starts,
        Partial("four one"),
        Stops(1),
        Happens::Final("four one"),
        TurnOver,
    ];
    assert_eq!(finals(script), ["0 ", "1 four one", "."]);
}

#[test]
fn a_turn_that_is_over_before_our_vad_says_so_is_reported_under_the_number_to_come() {
    let early = vec![Starts, Happens::Final("Yes."), TurnOver, Stops(0), Passes(5_000)];
    assert_eq!(finals(early), ["0 Yes.", "."], "and is not answered a second time");
    let continued = vec![
        Starts,
        Happens::Final("Yes."),
        TurnOver,
        Partial("wait"),
        Stops(0),
        Happens::Final("Wait."),
        TurnOver,
        Starts,
        Stops(1),
        Passes(700),
    ];
    assert_eq!(finals(continued), ["0 Yes.", ".", "1 Wait.", "."]);
}

#[test]
fn a_turn_is_not_judged_while_the_caller_speaks_again() {
    let script = vec![Starts, Stops(0), Starts, Happens::Final("Yes."), TurnOver, Stops(1), Flushed];
    assert_eq!(finals(script), ["0 Yes.", "1 "]);
}

#[test]
fn a_turn_without_words_is_no_turn() {
    assert!(finals(vec![TurnOver, Happens::Final(""), TurnOver]).is_empty());
}

#[test]
fn after_a_reconnect_words_are_neither_lost_nor_doubled() {
    let replayed = vec![
        Starts,
        Happens::Final("Book a"),
        Partial("tab"),
        Stops(0),
        Passes(1_000),
        Reconnected { everything: true },
        Passes(1_000),
        Happens::Final("Book a table."),
        Flushed,
    ];
    assert_eq!(finals(replayed), ["0 Book a table."]);
    let too_long = vec![
        Starts,
        Partial("a long story"),
        Reconnected { everything: false },
        Happens::Final("that ends."),
        Stops(0),
        Flushed,
    ];
    assert_eq!(finals(too_long), ["0 a long story that ends."]);
}

#[test]
fn fallback_continues_the_segment_numbers() {
    let mut words = Transcripts::new(CONFIG);
    words.start_at(7);
    let now = Instant::now();
    words.speech_started(now);
    words.handle(SttMessage::Final("Yes.".to_owned()), now);
    let reported = words.handle(SttMessage::EndOfTurn, now);
    assert!(matches!(&reported[0], SttEvent::Final { segment: 7, text } if text == "Yes."));
    assert_eq!((words.speech_stopped(7, now), words.speech_stopped(8, now)), (None, Some(8)));
}

#[test]
fn words_of_which_a_beginning_was_reported_count_once_however_they_become_final() {
    let early = || vec![Starts, Partial("right a evening please"), Stops(0), Passes(1_500)];
    for stream_config in [CONFIG, ALONE] {
        let mut whole = early();
        whole.extend([Passes(500), Happens::Final("Right, a evening, please."), Flushed]);
        assert_eq!(finals_in(stream_config, whole), ["0 right a evening please"]);
        let mut in_two = early();
        in_two.extend([
            Starts,
            Happens::Final("Right, a"),
            Partial("for two"),
            Happens::Final("evening, please."),
            Flushed,
        ]);
        in_two.extend([Stops(1), Happens::Final("For two."), Flushed]);
        assert_eq!(finals_in(stream_config, in_two), ["0 right a evening please", "1 For two."]);
        let mut corrected = early();
        corrected.extend([Starts, Happens::Final("Right, this evening, please. For"), Flushed]);
        corrected.extend([Stops(1), Happens::Final("two."), Flushed]);
        assert_eq!(finals_in(stream_config, corrected), ["0 right a evening please", "1 For two."]);
        let mut in_two_corrected = early();
        in_two_corrected.extend([Happens::Final("Right, this evening."), Happens::Final("Please. For two."), Flushed]);
        let reported = ["0 right a evening please", "0 Right, this evening. please", "1 For two."];
        assert_eq!(finals_in(stream_config, in_two_corrected), reported);
    }
}

#[test]
fn the_end_of_words_that_were_reported_is_not_that_of_the_next_segment() {
    let script = |end: fn() -> Happens| {
        let early = [Starts, Partial("yes"), Stops(0), Passes(1_500), Starts, Stops(1), Happens::Final("Yes."), end()];
        early.into_iter().chain([Passes(500), Happens::Final("For two."), end()]).collect::<Vec<_>>()
    };
    assert_eq!(finals_in(ALONE, script(|| Flushed)), ["0 yes", "1 For two."]);
    assert_eq!(finals_in(ALONE, script(|| TurnOver)), ["0 yes", "1 For two.", "."]);
}

#[test]
fn partials_of_a_segment_that_was_answered_wait_for_its_end() {
    let late = || vec![Starts, Stops(0), Passes(1_500), Passes(500), Partial("right a"), Partial("right a evening")];
    let mut is_final = late();
    is_final.extend([Passes(1_400), Happens::Final("Right, this evening."), Flushed, Passes(5_000)]);
    assert_eq!(events_in(ALONE, is_final), ["0 ", "0 Right, this evening."]);
    let mut never = late();
    never.extend([Passes(1_500), Starts, Partial("right a evening for two"), Stops(1), Passes(1_500)]);
    let reported = ["0 ", "0 right a evening", "~ for two", "1 for two"];
    assert_eq!(events_in(ALONE, never), reported, "nothing is ever final");
    let mut continued = late();
    continued.extend([
        Starts,
        Partial("right a evening for"),
        Stops(1),
        Happens::Final("Right, this evening for two."),
        Flushed,
    ]);
    assert_eq!(finals_in(ALONE, continued), ["0 ", "1 Right, this evening for two."]);
}

#[test]
fn words_without_detected_speech_do_not_swallow_the_next_segment() {
    let quiet = vec![Happens::Final("Hello?"), Starts, Stops(0), Passes(1_000), Happens::Final("For two."), Flushed];
    assert_eq!(finals_in(ALONE, quiet), ["0 Hello?", "1 For two."]);
}

#[test]
fn first_words_are_awaited_like_others_and_those_behind_an_end_hardly() {
    let first = |ms| vec![Starts, Stops(0), Passes(ms)];
    assert!(finals_in(ALONE, first(1_499)).is_empty() && finals_in(ALONE, first(1_500)) == ["0 "]);
    let ended = |ms| vec![Starts, Partial("yes"), Happens::Final("Yes."), Flushed, Stops(0), Passes(ms)];
    assert!(finals_in(ALONE, ended(499)).is_empty() && finals_in(ALONE, ended(500)) == ["0 Yes."]);
}
