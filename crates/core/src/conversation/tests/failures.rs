use super::*;

fn asked() -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Is there a table?", 500).until(2_000);
    talk
}

#[test]
fn a_model_that_fails_is_asked_again_and_the_second_answer_counts() {
    let mut talk = asked();
    talk.model_fails(FailureCode::Pipeline);
    assert_eq!(
        (talk.asks().len(), talk.spoken().len()),
        (2, 0),
        "at once, and nothing is said while it may come in time"
    );
    talk.until(7_000);
    assert_eq!(talk.spoken(), [(3_900, RETRYING[0])]);
    talk.model_says("Yes, at ten.").until(9_000);
    assert_eq!(talk.history(), [user("Is there a table?"), assistant("Yes, at ten.")], "apologies are not remembered");
    assert_eq!((talk.end(), talk.conversation.turns()), (None, 1));
}

#[test]
fn repeated_model_failure_gets_one_apology() {
    for (again, said) in [(1_000, &[TECHNICAL[0]][..]), (3_000, &[RETRYING[0], TECHNICAL[0]])] {
        let mut talk = asked();
        talk.model_fails(FailureCode::Pipeline).until(2_000 + again).model_fails(FailureCode::Pipeline).until(30_000);
        let heard: Vec<_> = talk.transcript().into_iter().filter(|(speaker, ..)| *speaker == Speaker::Agent).collect();
        let whole: Vec<_> = said.iter().map(|text| (Speaker::Agent, *text, false)).collect();
        assert_eq!(heard, whole, "after {again} ms: no sentence is broken off");
        assert!(matches!(talk.end(), Some((_, End::Failed(failure))) if failure.code == FailureCode::Pipeline));
    }
}

#[test]
fn a_model_that_never_answers_ends_the_call_with_a_word() {
    let mut talk = asked();
    talk.until(60_000);
    let texts: Vec<&str> = talk.spoken().into_iter().map(|(_, text)| text).collect();
    assert!(FILLERS.contains(&texts[0]), "{texts:?}");
    let rest: Vec<&str> = texts[1..].iter().copied().filter(|text| !STILL_HERE.contains(text)).collect();
    assert_eq!(rest, [RETRYING[0], TECHNICAL[0]]);
    let end = talk.end().expect("it ends");
    assert!(longest_silence(&talk, 1_500) <= 3_000, "nobody wonders whether the line is dead");
    assert!(matches!(end, (21_900..30_000, End::Failed(failure)) if failure.code == FailureCode::ProviderTimeout));
}

/// Returns the longest time without audio from the agent, from `since` to the end, in milliseconds.
fn longest_silence(talk: &Talk, since: u64) -> u64 {
    let mut silent_since = since;
    let mut longest = 0;
    for (began, text) in talk.spoken() {
        longest = longest.max(began.saturating_sub(silent_since));
        silent_since = silent_since.max(began) + MS_PER_CHARACTER * u64::try_from(text.chars().count()).unwrap();
    }
    longest.max(talk.end().map_or(0, |(end, _)| end.saturating_sub(silent_since)))
}

#[test]
fn stalled_answer_is_covered_and_resumes() {
    let mut talk = asked();
    talk.delta("We have a table at seven. And").until(7_500).delta(" one at nine.").model_done().until(12_000);
    let texts: Vec<&str> = talk.spoken().into_iter().map(|(_, text)| text).collect();
    assert!(texts.len() == 3 && FILLERS.contains(&texts[1]), "{texts:?}");
    assert_eq!((texts[0], texts[2]), ("We have a table at seven.", "And one at nine."));
    assert_eq!(
        talk.history(),
        [user("Is there a table?"), assistant("We have a table at seven."), assistant("And one at nine.")]
    );
    assert_eq!((talk.end(), talk.conversation.turns()), (None, 1));
}

#[test]
fn asking_whether_anybody_is_there_gives_the_model_no_more_time() {
    let mut talk = asked();
    for seconds in (6..60).step_by(6) {
        if talk.end().is_none() {
            talk.until(seconds * 1_000).caller_says("Hello?", 500);
        }
    }
    let end = talk.end().expect("it ends");
    assert!(
        matches!(end, (0..40_000, End::Failed(failure)) if failure.code == FailureCode::ProviderTimeout),
        "{end:?}"
    );
}

#[test]
fn a_refused_key_is_not_tried_twice() {
    for code in [FailureCode::Config, FailureCode::Refused] {
        let mut talk = asked();
        talk.model_fails(code).until(20_000);
        assert_eq!(talk.asks().len(), 1);
        assert_eq!(talk.spoken(), [(2_000, TECHNICAL[0])], "nothing is promised that cannot be kept");
        assert!(matches!(talk.end(), Some((_, End::Failed(failure))) if failure.code == code));
    }
}

#[test]
fn a_voice_that_refuses_in_the_middle_of_a_call_is_not_tried_twice() {
    let mut talk = asked();
    talk.model_says("We have a table at seven.").until(2_900);
    talk.tell(Input::SynthesisFailed { utterance: 1, failure: failure(FailureCode::Refused) });
    assert_eq!(talk.spoken().len(), 1);
    assert!(matches!(talk.end(), Some((_, End::Failed(failure))) if failure.code == FailureCode::Refused));
}

#[test]
fn an_answer_that_breaks_off_is_excused() {
    let mut talk = asked();
    talk.delta("We have a table at seven. And").model_fails(FailureCode::Pipeline).until(9_000);
    let texts: Vec<&str> = talk.spoken().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["We have a table at seven.", LOST_THREAD[0]]);
    assert_eq!(talk.end(), None);
}

#[test]
fn a_voice_that_fails_twice_ends_the_call() {
    let mut agent = quiet_agent();
    agent.greeting = crate::agent::Greeting::default();
    let talk = Talk::with_voice(&agent, Voice::Fails(FailureCode::Pipeline));
    assert_eq!(talk.spoken().len(), 2, "the greeting is tried again");
    assert!(matches!(talk.end(), Some((0, End::Failed(_)))));
    assert!(talk.transcript().is_empty() && talk.history().is_empty(), "nobody heard anything");
}

#[test]
fn a_voice_that_fails_once_loses_the_thread() {
    let mut talk = asked();
    talk.model_says("We have a table at seven.").until(2_900);
    talk.tell(Input::SynthesisFailed { utterance: 1, failure: failure(FailureCode::Pipeline) }).until(9_000);
    assert_eq!(talk.spoken().last().map(|(_, text)| *text), Some(LOST_THREAD[0]));
    assert_eq!(talk.history().last(), Some(&assistant("We have a table\u{2026}")));
    assert_eq!(talk.end(), None);
}

#[test]
fn a_sentence_that_fails_is_missed_when_its_turn_comes() {
    let answer = "We have a table at seven. There is one at nine.";
    let fails = |talk: &mut Talk, code| {
        let failed = talk.model_says(answer).spoken().len();
        let utterance = u32::try_from(failed).unwrap();
        talk.until(2_900).tell(Input::SynthesisFailed { utterance, failure: failure(code) });
    };
    let mut talk = asked();
    fails(&mut talk, FailureCode::Pipeline);
    assert_eq!(talk.spoken().len(), 2, "the first sentence is being heard");
    talk.until(9_000);
    let heard_whole = 2_000 + length("We have a table at seven.").0;
    assert_eq!(talk.spoken().last(), Some(&(heard_whole, LOST_THREAD[0])));
    assert_eq!(talk.history().last(), Some(&assistant("We have a table at seven.\u{2026}")));
    assert_eq!(talk.end(), None);

    let mut talk = asked();
    fails(&mut talk, FailureCode::Refused);
    talk.until(9_000);
    assert!(matches!(talk.end(), Some((end, End::Failed(_))) if end >= heard_whole), "{:?}", talk.end());

    let mut talk = asked();
    fails(&mut talk, FailureCode::Pipeline);
    talk.until(3_000).caller_says("No, wait, stop that please.", 1_000).until(5_900);
    assert_eq!((talk.asks().len(), talk.spoken().len()), (2, 2), "what nobody wants to hear is not missed");
}

#[test]
fn a_silent_voice_ends_the_call() {
    let mut agent = quiet_agent();
    agent.greeting = crate::agent::Greeting::default();
    let mut talk = Talk::with_voice(&agent, Voice::SaysNothing);
    talk.until(30_000);
    assert!(matches!(talk.end(), Some((2_700, End::Failed(f))) if f.code == FailureCode::ProviderTimeout));
}

#[test]
fn a_recogniser_that_is_lost_ends_the_call_with_a_word() {
    let mut talk = asked();
    talk.tell(Input::from(CascadeInput::SttFailed(failure(FailureCode::Pipeline)))).until(20_000);
    assert_eq!(talk.spoken(), [(2_000, TECHNICAL[0])]);
    assert!(matches!(talk.end(), Some((_, End::Failed(f))) if f.message == "It broke."));
}

#[test]
fn missing_transcripts_never_leave_the_caller_in_silence() {
    let mut talk = Talk::with(&quiet_agent());
    for start in [1_000, 9_000, 17_000, 25_000] {
        let before = talk.spoken().len();
        talk.until(start).caller_starts().until(start + 200);
        let segment = talk.segment;
        talk.segment += 1;
        talk.until(start + 200 + HANGOVER_MS).tell(Input::SpeechStopped { segment }).until(start + 3_200);
        let spoken = talk.spoken();
        let (began, _) = spoken.get(before).unwrap_or_else(|| panic!("nothing is said after {start}"));
        assert_eq!(*began, start + 2_700, "2.5 s after the last audio");
    }
}
