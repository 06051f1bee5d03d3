//! Agents in languages other than English, and in one without a table.

use super::*;
use crate::conversation::tools::TRANSFER_FAILED;
use crate::language::Language;

fn agent(language: &str) -> AgentConfig {
    let mut agent = quiet_agent();
    language.clone_into(&mut agent.language);
    agent.localise();
    agent
}

/// Returns a call with a filler, a repeated question, a failed transfer and a reached maximum duration.
fn eventful(language: &str) -> Talk {
    let mut agent = agent(language);
    agent.limits.max_duration_seconds = 60;
    agent.silence.hangup_after_seconds = Some(90);
    let mut talk = Talk::with(&agent);
    talk.ready = true;
    talk.until(1_000).caller_says("Is there a table?", 500); // Answered after a filler.
    talk.until(7_000).model_says("Sieben?");
    talk.until(9_000).caller_says("", 1_500); // Unclear.
    talk.until(28_000).tell(Input::TransferStarted);
    talk.until(30_000).tell(Input::TransferFailed);
    if Language::of(language).phrases.not_put_through.is_empty() {
        assert_eq!(talk.last_question().last(), Some(&user(&format!("({TRANSFER_FAILED})"))));
        talk.until(31_000).model_says("Leider nicht.");
    }
    talk.until(70_000);
    talk
}

#[test]
fn a_german_agent_says_everything_in_german() {
    let talk = eventful("de-DE");
    let phrases = Language::of("de").phrases;
    let said: Vec<&str> = talk.spoken().into_iter().map(|(_, text)| text).filter(|text| *text != "Sieben?").collect();
    let lists = [
        phrases.fillers,
        phrases.unclear,
        phrases.reprompts,
        phrases.not_put_through,
        phrases.time_is_up,
        phrases.still_here,
    ];
    for list in &lists[..5] {
        assert!(said.iter().any(|text| list.contains(text)), "one of {list:?} in {said:?}");
    }
    assert!(said.iter().all(|text| lists.iter().any(|list| list.contains(text))), "{said:?}");
    let (ended, reason) = talk.end().expect("the time is up");
    assert!((60_000..70_000).contains(&ended) && *reason == End::MaxDuration);
}

#[test]
fn an_agent_of_a_language_without_a_table_says_only_what_the_model_says() {
    let talk = eventful("xx");
    assert_eq!(talk.spoken().into_iter().map(|(_, text)| text).collect::<Vec<_>>(), ["Sieben?", "Leider nicht."]);
    let ready = talk.times(|effect| matches!(effect, Effect::Speak { source: SpeechSource::Cached, .. }));
    assert!(ready.is_empty());
    assert_eq!(talk.end(), Some((60_300, &End::MaxDuration)), "without a goodbye");
    assert!(Conversation::phrases(&agent("xx")).is_empty());
}

#[test]
fn a_caller_who_waited_for_a_transfer_has_time_to_speak_after_it() {
    let mut agent = agent("xx");
    agent.silence.hangup_after_seconds = Some(10);
    let mut talk = Talk::with(&agent);
    talk.until(5_000).tell(Input::TransferStarted);
    talk.until(30_000).tell(Input::TransferFailed);
    talk.until(31_000).model_says("No."); // 3 characters: 180 ms.
    talk.until(50_000);
    assert_eq!(talk.end(), Some((41_180, &End::Silence)));
}

#[test]
fn a_voice_that_fails_once_is_asked_for_the_sentence_again_where_no_phrase_covers_it() {
    let mut talk = Talk::with_voice(&agent("xx"), Voice::SaysNothing);
    talk.until(1_000).caller_says("Is there a table?", 500);
    talk.until(2_500).model_says("Sieben?");
    let asked = talk.asks().len();
    talk.tell(Input::SynthesisFailed { utterance: 1, failure: failure(FailureCode::Pipeline) }).until(2_600);
    assert_eq!(talk.asks().len(), asked + 1);
    assert!(talk.last_question().last().is_some_and(|(_, text)| text.contains("Say it again")));
}

#[test]
fn without_phrases_calls_end_as_they_do_where_none_is_cached() {
    let slow = |language: &str, voice: Voice| {
        let mut talk = Talk::with_voice(&agent(language), voice);
        talk.until(1_000).caller_says("Is there a table?", 500);
        talk.until(2_500).model_says("Sieben?");
        talk.until(30_000);
        talk.end().map(|(ms, reason)| (ms, reason.clone()))
    };
    let late = |at: u64, end: Option<(u64, End)>| {
        assert!(
            matches!(&end, Some((ms, End::Failed(failure))) if *ms == at && failure.code == FailureCode::ProviderTimeout),
            "{end:?}"
        );
    };
    late(4_200, slow("en", Voice::SaysNothing)); // 2.7 s after the caller
    late(5_200, slow("xx", Voice::SaysNothing)); // 2.7 s after the voice was asked
    let refused = |language| slow(language, Voice::Fails(FailureCode::Config));
    assert!(refused("xx").is_some_and(|(ms, _)| ms == 2_500) && refused("xx") == refused("en"));
    let mut agent = agent("xx");
    agent.silence.hangup_after_seconds = None;
    let mut talk = Talk::with(&agent);
    talk.until(1_000).caller_says("Is there a table?", 500);
    for seconds in [3, 5] {
        talk.until(seconds * 1_000).model_fails(FailureCode::Pipeline);
    }
    talk.until(10_000);
    assert_eq!(talk.end().map(|(ms, _)| ms), Some(5_300), "nobody apologises");
}

#[test]
fn a_goodbye_without_words_ends_the_call() {
    let mut talk = Talk::with(&agent("xx"));
    talk.until(1_000).caller_says("Is there a table?", 500);
    talk.until(3_000).model_calls("call_1", "end_call").model_done();
    talk.until(10_000);
    assert_eq!(talk.end(), Some((3_300, &End::AgentHungUp)));
}

#[test]
fn german_farewells_do_not_keep_a_call_open() {
    for (words, rescued) in [("Vielen Dank, tschüss!", false), ("Halt, eine Frage noch.", true)] {
        let mut talk = Talk::with(&agent("de"));
        talk.until(1_000).caller_says("Danke.", 500);
        talk.until(3_000).delta("Auf Wiederhören.").model_calls("call_1", "end_call").model_done();
        talk.until(3_200).caller_says(words, 500);
        talk.until(6_000);
        assert_eq!(talk.end().is_none(), rescued, "{words}");
    }
}
