//! Scripts of what a caller and a provider do, and what is told of it.

use super::*;
use crate::providers::streaming::sound::Encoding;

const STYLE: Style = Style {
    name: "test",
    encoding: Encoding::Mulaw,
    sample_rate: 8_000,
    chunk: 2,
    only_whole_chunks: false,
    only_speech: false,
    joiner: " ",
    patience: Duration::from_millis(1_500),
    patience_without_words: Duration::from_millis(700),
    answers_finalize: true,
    answers_all: false,
};

/// The provider ends speech by itself.
const ALONE: Style = Style { patience_without_words: STYLE.patience, answers_finalize: false, ..STYLE };

/// One thing that happens.
enum Happens {
    Starts,
    Stops(u32),
    Partial(&'static str),
    Words(&'static str),
    Flushed,
    TurnOver,
    /// So many milliseconds go by.
    Passes(u64),
    Reconnected {
        everything: bool,
    },
}

use Happens::{Flushed, Partial, Passes, Reconnected, Starts, Stops, TurnOver};

/// What is told: `~` for a partial, the number for a final, `.` for a turn.
fn told(script: Vec<Happens>) -> Vec<String> {
    told_in(STYLE, script)
}

fn told_in(style: Style, script: Vec<Happens>) -> Vec<String> {
    let mut words = Words::new(style);
    let mut now = Instant::now();
    let mut told = Vec::new();
    for happens in script {
        told.extend(match happens {
            Starts => {
                words.started(now);
                Vec::new()
            }
            Stops(segment) => {
                words.stopped(segment, now);
                Vec::new()
            }
            Partial(text) => words.heard(Heard::Partial(text.to_owned()), now),
            Happens::Words(text) => words.heard(Heard::Words(text.to_owned()), now),
            Flushed => words.heard(Heard::Flushed, now),
            TurnOver => words.heard(Heard::TurnOver, now),
            Passes(ms) => {
                now += Duration::from_millis(ms);
                words.expire(now)
            }
            Reconnected { everything } => {
                words.again(everything, now);
                Vec::new()
            }
        });
    }
    told.into_iter()
        .map(|event| match event {
            SttEvent::Partial { text } => format!("~ {text}"),
            SttEvent::Final { segment, text } => format!("{segment} {text}"),
            SttEvent::TurnJudged => ".".to_owned(),
            SttEvent::Failed { .. } => unreachable!("words do not fail"),
        })
        .collect()
}

/// Without partials.
fn finals(script: Vec<Happens>) -> Vec<String> {
    finals_in(STYLE, script)
}

fn finals_in(style: Style, script: Vec<Happens>) -> Vec<String> {
    told_in(style, script).into_iter().filter(|told| !told.starts_with('~')).collect()
}

#[test]
fn several_final_texts_of_a_segment_are_joined_once() {
    let script = vec![
        Starts,
        Partial("book a"),
        Happens::Words("Book a table"),
        Partial("for"),
        Stops(0),
        Happens::Words("for two."),
        Happens::Words(""),
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
    assert_eq!(told(script), expected);
}

#[test]
fn a_segment_is_answered_in_time_also_without_an_answer_of_the_provider() {
    let slow = vec![Starts, Partial("yes"), Stops(0), Passes(1_499), Passes(1), Passes(5_000)];
    assert_eq!(finals(slow), ["0 yes"]);
    let cough = vec![Starts, Stops(0), Passes(699), Passes(1)];
    assert_eq!(finals(cough), ["0 "], "there is nothing to wait for");
}

#[test]
fn words_that_were_told_when_time_was_up_are_not_told_again() {
    let cumulative = vec![
        Starts,
        Partial("my number is"),
        Stops(0),
        Passes(1_500),
        Starts,
        Partial("my number is four one"),
        Stops(1),
        Happens::Words("My number is four one five."),
        TurnOver,
    ];
    assert_eq!(finals(cumulative), ["0 my number is", "1 four one five.", "."]);
}

#[test]
fn late_words_belong_to_the_segment_that_was_answered_without_them() {
    let late = vec![Starts, Happens::Words("Yes,"), Stops(0), Passes(700), Happens::Words("please."), Flushed];
    assert_eq!(finals(late), ["0 Yes,", "1 please."], "as new ones, since the turn of the others may be over");
    let altogether = vec![Starts, Stops(0), Passes(700), Passes(1_300), Happens::Words("Yes, please."), Flushed];
    assert_eq!(finals(altogether), ["0 ", "0 Yes, please."]);
    let much_later = vec![Starts, Stops(0), Passes(700), Passes(3_000), Happens::Words("Hello?")];
    assert_eq!(finals(much_later), ["0 ", "1 Hello?"], "a speaker whom we do not hear");
}

#[test]
fn a_late_answer_is_that_of_the_segment_that_was_told_without_it() {
    let owed = vec![
        Starts,
        Stops(0),
        Passes(700),
        Starts,
        Stops(1),
        Happens::Words("Hello."),
        Flushed,
        Happens::Words("A table, please."),
        Flushed,
    ];
    assert_eq!(finals(owed), ["0 ", "1 Hello. A table, please."]);
    let noise = vec![Starts, Stops(0), Passes(700), Passes(1_000), Starts, Stops(1), Happens::Words("Yes."), Flushed];
    assert_eq!(finals(noise), ["0 ", "1 Yes."], "noise had no answer, and nobody waits for it");
}

#[test]
fn what_was_told_early_and_is_corrected_is_told_as_a_whole() {
    let early = || vec![Starts, Happens::Words("It is"), Partial("twenty dollars"), Stops(0), Passes(1_500)];
    let mut late = early();
    late.push(Happens::Words("$20 and thanks."));
    assert_eq!(finals(late), ["0 It is twenty dollars", "0 It is $20 and thanks."]);
    let mut goes_on = early();
    goes_on.extend([Starts, Stops(1), Happens::Words("$20 and thanks."), TurnOver]);
    assert_eq!(finals(goes_on), ["0 It is twenty dollars", "1 $20 and thanks.", "."], "rather twice than not at all");
}

#[test]
fn a_text_that_brings_its_own_spaces_keeps_them_when_some_of_it_was_told_early() {
    for joiner in ["", " "] {
        let mut words = Words::new(Style { joiner, ..STYLE });
        let now = Instant::now();
        words.started(now);
        words.heard(Heard::Partial("Sarah Miller.".to_owned()), now);
        words.stopped(0, now);
        let late = now + STYLE.patience;
        assert_eq!(words.expire(late).len(), 1);
        let told = words.heard(Heard::Words("Sarah Miller. Friday evening.".to_owned()), late);
        let [SttEvent::Final { segment: 1, text }] = told.as_slice() else { panic!("what is new is told") };
        assert_eq!(text, "Friday evening.", "joined by {joiner:?}");
        let told = words.heard(Heard::Words("Sarah Muller.".to_owned()), late);
        assert!(matches!(told.as_slice(), [SttEvent::Final { segment: 2, .. }]));
    }
}

#[test]
fn late_words_are_apart_from_those_of_the_next_segment_also_where_texts_bring_their_own_spaces() {
    let mut words = Words::new(Style { joiner: "", answers_finalize: true, ..STYLE });
    let now = Instant::now();
    words.started(now);
    words.stopped(0, now);
    let late = now + STYLE.patience;
    assert_eq!(words.expire(late).len(), 1);
    words.started(late);
    words.stopped(1, late);
    for text in ["Sarah ", "Miller."] {
        words.heard(Heard::Words(text.to_owned()), late);
    }
    assert!(words.heard(Heard::Flushed, late).is_empty(), "the answer for the segment before");
    words.heard(Heard::Words("Friday.".to_owned()), late);
    let told = words.heard(Heard::Flushed, late);
    let [SttEvent::Final { segment: 1, text }] = told.as_slice() else { panic!("it is told") };
    assert_eq!(text, "Sarah Miller. Friday.");
}

/// Whether a segment of so much voice is without an answer that there should be.
fn is_fruitless(style: Style, frames: u32, spoke_in_it: bool, partial: &str) -> bool {
    let mut words = Words::new(style);
    let start = Instant::now();
    let later = |ms| start + Duration::from_millis(ms);
    words.started(later(1_000));
    (0..frames).for_each(|_| words.sound());
    words.heard(Heard::Partial(partial.to_owned()), later(2_000));
    words.stopped(0, later(3_000));
    let spoke = later(if spoke_in_it { 2_000 } else { 500 });
    assert!(!words.is_fruitless(spoke, later(3_600)), "it is too early to say");
    let found = words.is_fruitless(spoke, later(4_500));
    assert!(!words.is_fruitless(spoke, later(4_500)), "it is found once");
    found
}

#[test]
fn speech_without_an_answer_is_told_from_noise() {
    let answers_all = Style { patience_without_words: STYLE.patience, answers_all: true, ..STYLE };
    assert!(is_fruitless(answers_all, 25, true, "") && !is_fruitless(answers_all, 24, true, ""));
    assert!(!is_fruitless(answers_all, 100, true, "yes"));
    for style in [STYLE, ALONE] {
        assert!(is_fruitless(style, 60, false, "") && !is_fruitless(style, 59, false, ""), "noise is not answered");
        assert!(!is_fruitless(style, 60, true, ""), "it has said that it hears none");
    }
}

#[test]
fn nobody_can_have_said_so_much() {
    let too_many = |text: &str, times| {
        let mut words = Words::new(STYLE);
        (0..times).any(|_| {
            words.heard(Heard::Words(text.to_owned()), Instant::now());
            words.are_too_many()
        })
    };
    assert!(!too_many(&"word ".repeat(1_900), 1) && too_many(&"word ".repeat(1_900), 5), "words that nobody expects");
    assert!(!too_many(&"词".repeat(9_000), 1) && too_many(&"词".repeat(10_001), 1));
    let mut words = Words::new(STYLE);
    words.started(Instant::now());
    words.heard(Heard::Partial("word ".repeat(2_100)), Instant::now());
    assert!(words.are_too_many());
}

#[test]
fn a_turn_of_several_segments_is_told_with_the_last() {
    let script = vec![
        Starts,
        Partial("four"),
        Stops(0),
        Starts,
        Partial("four one"),
        Stops(1),
        Happens::Words("four one"),
        TurnOver,
    ];
    assert_eq!(finals(script), ["0 ", "1 four one", "."]);
}

#[test]
fn a_turn_that_is_over_before_our_ears_say_so_is_told_under_the_number_to_come() {
    let early = vec![Starts, Happens::Words("Yes."), TurnOver, Stops(0), Passes(5_000)];
    assert_eq!(finals(early), ["0 Yes.", "."], "and is not answered a second time");
    let goes_on = vec![
        Starts,
        Happens::Words("Yes."),
        TurnOver,
        Partial("wait"),
        Stops(0),
        Happens::Words("Wait."),
        TurnOver,
        Starts,
        Stops(1),
        Passes(700),
    ];
    assert_eq!(finals(goes_on), ["0 Yes.", ".", "1 Wait.", "."]);
}

#[test]
fn a_turn_is_not_judged_while_the_caller_speaks_again() {
    let script = vec![Starts, Stops(0), Starts, Happens::Words("Yes."), TurnOver, Stops(1), Flushed];
    assert_eq!(finals(script), ["0 Yes.", "1 "]);
}

#[test]
fn a_turn_without_words_is_no_turn() {
    assert!(finals(vec![TurnOver, Happens::Words(""), TurnOver]).is_empty());
}

#[test]
fn after_a_reconnect_words_are_neither_lost_nor_doubled() {
    let replayed = vec![
        Starts,
        Happens::Words("Book a"),
        Partial("tab"),
        Stops(0),
        Passes(1_000),
        Reconnected { everything: true },
        Passes(1_000),
        Happens::Words("Book a table."),
        Flushed,
    ];
    assert_eq!(finals(replayed), ["0 Book a table."]);
    let too_long = vec![
        Starts,
        Partial("a long story"),
        Reconnected { everything: false },
        Happens::Words("that ends."),
        Stops(0),
        Flushed,
    ];
    assert_eq!(finals(too_long), ["0 a long story that ends."]);
}

#[test]
fn whoever_takes_over_in_mid_call_goes_on_counting() {
    let mut words = Words::new(STYLE);
    words.go_on_from(7);
    let now = Instant::now();
    words.started(now);
    words.heard(Heard::Words("Yes.".to_owned()), now);
    let told = words.heard(Heard::TurnOver, now);
    assert!(matches!(&told[0], SttEvent::Final { segment: 7, text } if text == "Yes."));
    assert_eq!((words.stopped(7, now), words.stopped(8, now)), (None, Some(8)));
}

#[test]
fn words_of_which_a_beginning_was_told_count_once_however_they_become_final() {
    let early = || vec![Starts, Partial("right a evening please"), Stops(0), Passes(1_500)];
    for style in [STYLE, ALONE] {
        let mut whole = early();
        whole.extend([Passes(500), Happens::Words("Right, a evening, please."), Flushed]);
        assert_eq!(finals_in(style, whole), ["0 right a evening please"]);
        let mut in_two = early();
        in_two.extend([
            Starts,
            Happens::Words("Right, a"),
            Partial("for two"),
            Happens::Words("evening, please."),
            Flushed,
        ]);
        in_two.extend([Stops(1), Happens::Words("For two."), Flushed]);
        assert_eq!(finals_in(style, in_two), ["0 right a evening please", "1 For two."]);
        let mut corrected = early();
        corrected.extend([Starts, Happens::Words("Right, this evening, please. For"), Flushed]);
        corrected.extend([Stops(1), Happens::Words("two."), Flushed]);
        assert_eq!(finals_in(style, corrected), ["0 right a evening please", "1 For two."]);
        let mut in_two_corrected = early();
        in_two_corrected.extend([Happens::Words("Right, this evening."), Happens::Words("Please. For two."), Flushed]);
        let told = ["0 right a evening please", "0 Right, this evening. please", "1 For two."];
        assert_eq!(finals_in(style, in_two_corrected), told);
    }
}

#[test]
fn the_end_of_words_that_were_told_is_not_that_of_the_next_segment() {
    let script = |end: fn() -> Happens| {
        let early = [Starts, Partial("yes"), Stops(0), Passes(1_500), Starts, Stops(1), Happens::Words("Yes."), end()];
        early.into_iter().chain([Passes(500), Happens::Words("For two."), end()]).collect::<Vec<_>>()
    };
    assert_eq!(finals_in(ALONE, script(|| Flushed)), ["0 yes", "1 For two."]);
    assert_eq!(finals_in(ALONE, script(|| TurnOver)), ["0 yes", "1 For two.", "."]);
}

#[test]
fn partials_of_a_segment_that_was_answered_wait_for_its_end() {
    let late = || vec![Starts, Stops(0), Passes(1_500), Passes(500), Partial("right a"), Partial("right a evening")];
    let mut is_final = late();
    is_final.extend([Passes(1_400), Happens::Words("Right, this evening."), Flushed, Passes(5_000)]);
    assert_eq!(told_in(ALONE, is_final), ["0 ", "0 Right, this evening."]);
    let mut never = late();
    never.extend([Passes(1_500), Starts, Partial("right a evening for two"), Stops(1), Passes(1_500)]);
    let told = ["0 ", "0 right a evening", "~ for two", "1 for two"];
    assert_eq!(told_in(ALONE, never), told, "nothing is ever final");
    let mut goes_on = late();
    goes_on.extend([
        Starts,
        Partial("right a evening for"),
        Stops(1),
        Happens::Words("Right, this evening for two."),
        Flushed,
    ]);
    assert_eq!(finals_in(ALONE, goes_on), ["0 ", "1 Right, this evening for two."]);
}

#[test]
fn after_words_of_somebody_whom_we_do_not_hear_those_of_the_next_segment_are_not_lost() {
    let quiet = vec![Happens::Words("Hello?"), Starts, Stops(0), Passes(1_000), Happens::Words("For two."), Flushed];
    assert_eq!(finals_in(ALONE, quiet), ["0 Hello?", "1 For two."]);
}

#[test]
fn first_words_are_awaited_like_others_and_those_behind_an_end_hardly() {
    let first = |ms| vec![Starts, Stops(0), Passes(ms)];
    assert!(finals_in(ALONE, first(1_499)).is_empty() && finals_in(ALONE, first(1_500)) == ["0 "]);
    let ended = |ms| vec![Starts, Partial("yes"), Happens::Words("Yes."), Flushed, Stops(0), Passes(ms)];
    assert!(finals_in(ALONE, ended(499)).is_empty() && finals_in(ALONE, ended(500)) == ["0 Yes."]);
}
