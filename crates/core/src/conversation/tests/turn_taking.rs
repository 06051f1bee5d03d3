use super::*;
use crate::conversation::{DecisionKind, TurnTimes};

#[test]
fn a_finished_sentence_is_answered_sooner_than_an_open_one() {
    let asked_at = |words: &str| {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).caller_says(words, 500).until(6_000);
        talk.asks().first().copied()
    };
    assert_eq!(asked_at("I want a table."), Some((1_900, false)), "400 ms after the last audio at 1500");
    let open = asked_at("I want a table and").map(|(ms, _)| ms);
    assert!(open.is_some_and(|ms| (3_000..=3_500).contains(&ms)), "1500 to 2000 ms after it: {open:?}");
}

#[test]
fn caller_continuing_after_a_pause_gets_one_answer() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("I want a table and", 500);
    talk.until(2_500).caller_says("it should be quiet.", 800).until(6_000);
    assert_eq!(talk.asks(), [(3_700, false)]);
    assert_eq!(talk.last_question(), [user("I want a table and it should be quiet.")]);
    assert_eq!(talk.transcript(), [(Speaker::Caller, "I want a table and it should be quiet.", false)]);
}

#[test]
fn a_turn_is_not_over_while_speech_may_be_starting() {
    let asked_at = |pending: &[(u64, bool)]| {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).caller_says("I want a table.", 500);
        for (ms, pending) in pending {
            talk.until(*ms).tell(Input::SpeechPending { pending: *pending });
        }
        talk.until(6_000);
        talk.asks()[0].0
    };
    assert_eq!(asked_at(&[]), 1_900);
    assert_eq!(asked_at(&[(1_880, true)]), 1_964, "64 ms and a frame later it is known");
    assert_eq!(asked_at(&[(1_880, true), (1_920, false)]), 1_920, "it was none");
}

#[test]
fn words_that_the_recogniser_still_owes_are_awaited_for_a_while() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_starts().partial("I want").until(1_500);
    talk.until(1_500 + HANGOVER_MS).tell(Input::SpeechStopped { segment: 0 });
    talk.until(3_999);
    assert!(talk.asks().is_empty());
    talk.until(4_000);
    assert_eq!(talk.asks().len(), 1, "2.5 s after the last audio the turn goes on with what there is");
}

/// Returns a conversation whose turn is taken at 4 s with the text so far, and whose final text comes at `final_ms`.
fn taken_without_final_words(words: &str, final_ms: u64, answer: Option<&str>) -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_starts().partial("Wait, actually, make it").until(1_500);
    talk.until(1_500 + HANGOVER_MS).tell(Input::SpeechStopped { segment: 0 });
    talk.until(4_050);
    assert_eq!(talk.last_question().last(), Some(&user("Wait, actually, make it")));
    if let Some(answer) = answer {
        talk.model_says(answer);
    }
    talk.until(final_ms)
        .tell(Input::from(CascadeInput::TranscriptFinal { segment: 0, text: words.to_owned() }))
        .until(final_ms + 50);
    talk
}

#[test]
fn final_words_that_say_more_than_the_turn_was_taken_with_take_it_again() {
    for final_ms in [4_100, 6_400] {
        let mut talk = taken_without_final_words("Wait, actually, make it Saturday.", final_ms, None);
        assert_eq!(talk.last_question(), [user("Wait, actually, make it Saturday.")], "{final_ms}");
        assert_eq!(talk.asks().len(), 2);
        talk.model_says("Saturday, gladly.").until(12_000);
        let expected = [user("Wait, actually, make it Saturday."), assistant("Saturday, gladly.")];
        assert_eq!(talk.history(), expected, "{final_ms}");
        let caller = talk.transcript().into_iter().filter(|(speaker, ..)| *speaker == Speaker::Caller);
        assert_eq!(caller.map(|(_, text, _)| text).collect::<Vec<_>>(), ["Wait, actually, make it Saturday."]);
    }
}

#[test]
fn final_words_that_say_the_same_or_come_after_the_response_was_heard_change_nothing() {
    let talk = taken_without_final_words("wait actually make it", 4_100, None);
    assert_eq!(talk.asks().len(), 1, "the same words");
    let talk = taken_without_final_words("", 4_100, None);
    assert_eq!(talk.asks().len(), 1, "none");
    let mut talk =
        taken_without_final_words("Wait, actually, make it Saturday.", 5_000, Some("For which day, please?"));
    assert_eq!(talk.asks().len(), 1, "the response is heard already");
    talk.until(12_000);
    assert_eq!(talk.history(), [user("Wait, actually, make it"), assistant("For which day, please?")]);
}

#[test]
fn words_that_come_while_the_caller_is_asked_to_repeat_them_are_the_answer() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("", 500).until(4_000);
    assert_eq!(talk.spoken().len(), 1, "it is asked back");
    talk.tell(Input::from(CascadeInput::TranscriptFinal { segment: 0, text: "yes".to_owned() })).until(6_000);
    assert_eq!(talk.last_question().last(), Some(&user("yes")));
    assert_eq!(talk.asks().len(), 1);
}

#[test]
fn a_recogniser_that_judges_turns_is_believed() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_starts().until(1_500);
    talk.tell(Input::from(CascadeInput::TranscriptFinal { segment: 0, text: "a table and".to_owned() }))
        .tell(Input::from(CascadeInput::EndOfTurn));
    assert_eq!(talk.asks(), [(1_500, false)]);
}

#[test]
fn an_early_answer_is_said_when_the_turn_is_over_and_not_before() {
    let mut agent = quiet_agent();
    agent.turn_taking.speculative = true;
    let mut talk = Talk::with(&agent);
    talk.until(1_005).caller_says("I want a table.", 500);
    assert_eq!(talk.asks(), [(1_805, true)]);
    talk.model_says("For how many?").until(1_904);
    let prepared = CascadeEffect::PrepareSpeech { turn: 1, text: "For how many?".to_owned() };
    assert_eq!(talk.times(|effect| *effect == Effect::Cascade(prepared.clone())), [1_805]);
    assert!(talk.spoken().is_empty() && talk.transcript().is_empty());
    talk.until(4_000);
    assert_eq!(talk.spoken(), [(1_905, "For how many?")]);
    assert_eq!(talk.asks().len(), 1);
    let turn = talk.effects.iter().find_map(|(_, effect)| match effect {
        Effect::Turn(times) => Some(*times),
        _ => None,
    });
    let times = TurnTimes {
        turn: 1,
        speech_ended: at(1_505),
        turn_ended: at(1_905),
        first_token: at(1_805),
        first_audio_ready: at(1_905),
        first_audio_played: at(1_920),
    };
    assert_eq!(turn, Some(times));
    assert_eq!(talk.conversation.turns(), 1);
}

#[test]
fn a_turn_that_is_given_much_time_is_answered_early_unless_its_end_is_open() {
    let mut agent = quiet_agent();
    agent.turn_taking.speculative = true;
    for (words, early) in [("M I L", true), ("I would like a table and", false)] {
        let mut talk = Talk::with(&agent);
        talk.until(1_000).caller_says(words, 500).until(6_000);
        let [(asked, speculative)] = talk.asks()[..] else { panic!("{:?}", talk.asks()) };
        assert_eq!((speculative, asked == 1_800), (early, early), "{words}: {asked}");
    }
}

#[test]
fn speculative_answer_is_discarded_when_the_caller_continues() {
    let mut agent = quiet_agent();
    agent.turn_taking.speculative = true;
    let mut talk = Talk::with(&agent);
    talk.until(1_000).caller_says("I want a table.", 500);
    talk.delta("For how many? ").caller_says("For two.", 400);
    assert_eq!(talk.times(|effect| *effect == Effect::Cascade(CascadeEffect::CancelCompletion { turn: 1 })), [2_500]);
    talk.tell(Input::from(CascadeInput::LlmText { turn: 1, text: "Please tell me.".to_owned() }));
    talk.tell(Input::from(CascadeInput::LlmDone { turn: 1 })).model_says("Very well.").until(6_000);
    assert_eq!(talk.spoken(), [(2_600, "Very well.")]);
    assert_eq!(talk.history(), [user("I want a table. For two."), assistant("Very well.")]);
}

#[test]
fn speech_without_words_is_asked_back_twice_and_noise_never() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("", 200).until(3_000);
    assert!(talk.spoken().is_empty(), "200 ms are noise");
    for start in [3_000, 8_000, 13_000] {
        talk.until(start).caller_says("", 600);
    }
    talk.until(16_000);
    assert_eq!(talk.spoken().len(), 2);
    assert!(talk.asks().is_empty());
}

#[test]
fn a_transcript_of_signs_only_has_no_words() {
    for text in [".", "...", "\u{2026}", "。", " \u{266a} ", "-", "?!"] {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).partial(text).caller_says(text, 200).until(4_000);
        assert!(talk.asks().is_empty() && talk.spoken().is_empty() && talk.transcript().is_empty(), "{text}");
        talk.caller_says("#", 600).until(6_000);
        assert_eq!(talk.last_question(), [user("#")], "{text}: that is a word");
    }
}

#[test]
fn a_noise_that_gets_no_response_ends_no_turn() {
    let ended = |effect: &Effect| matches!(effect, Effect::Decision(it) if it.kind == DecisionKind::TurnEnded);
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("", 200).until(4_000);
    assert!(talk.times(ended).is_empty(), "a cough: nothing is to be thought about");
    for start in [5_000, 10_000, 15_000] {
        talk.until(start).caller_says("", 600);
    }
    talk.until(20_000);
    let asked: Vec<u64> = talk.spoken().iter().map(|(ms, _)| *ms).collect();
    assert_eq!((asked.len(), talk.times(ended)), (2, asked), "the agent asks to repeat it, twice");
}

#[test]
fn an_early_answer_to_another_number_is_thrown_away() {
    let mut agent = quiet_agent();
    agent.turn_taking.speculative = true;
    let mut talk = Talk::with(&agent);
    talk.until(1_000).caller_says("I have paid you 105 euros.", 500).model_says("105 euros, thank you.");
    let text = "I have paid you 10.5 euros.".to_owned();
    talk.until(1_850).tell(Input::from(CascadeInput::TranscriptFinal { segment: 0, text }));
    talk.model_says("10.5 euros, thank you.").until(6_000);
    assert_eq!(talk.history(), [user("I have paid you 10.5 euros."), assistant("10.5 euros, thank you.")]);
}

#[test]
fn a_wait_is_filled_but_not_in_two_turns_in_a_row() {
    let mut agent = quiet_agent();
    (agent.turn_taking.min_silence_ms, agent.turn_taking.max_silence_ms) = (300, 300);
    let mut talk = Talk::with(&agent);
    for (start, fillers) in [(1_000, 1), (12_000, 1), (23_000, 2)] {
        talk.until(start).caller_says("Is there a table?", 500).until(start + 2_850);
        let said = talk.spoken().len();
        talk.model_says("Yes.").until(start + 8_000);
        assert_eq!(talk.spoken().len(), said + 1);
        let count = talk.spoken().iter().filter(|(_, text)| *text != "Yes.").count();
        assert_eq!(count, fillers, "after the turn at {start}");
    }
    assert!(
        talk.history().iter().all(|(role, text)| *role == Role::User || text == "Yes."),
        "fillers are not remembered"
    );
}

#[test]
fn words_over_the_agent_are_answered_after_a_pause_behind_its_own() {
    let mut agent = quiet_agent();
    agent.greeting.mode = GreetingMode::Speak;
    agent.greeting.text = "This is the clinic about your appointment on Friday.".to_owned();
    let mut talk = Talk::with(&agent);
    talk.until(600).caller_says("Hello?", 400).until(10_000);
    let (greeting, _) = length(&agent.greeting.text);
    let asked_at = talk.asks()[0].0;
    assert!(asked_at >= greeting + u64::from(agent.turn_taking.min_silence_ms), "{asked_at} after {greeting}");
}

#[test]
fn a_caller_whose_turn_was_cut_gets_twice_the_silence_until_their_turns_are_clean_again() {
    let needed = |cut: bool| {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).caller_says("I want a table.", 500).until(2_100);
        if cut {
            talk.caller_says("For two.", 400).until(5_000);
        }
        let mut silences = vec![talk.asks()[0].0 - 1_500];
        talk.until(5_000).model_says("Fine.");
        for second in [10, 20, 30, 40, 50] {
            let asks = talk.asks().len();
            talk.until(second * 1_000).caller_says("I want a table.", 500).until(second * 1_000 + 4_000);
            assert_eq!(talk.asks().len(), asks + 1);
            silences.push(talk.asks()[asks].0 - second * 1_000 - 500);
            talk.model_says("Fine.");
        }
        silences
    };
    let (usual, patient) = (needed(false), needed(true));
    assert!(usual[1..].iter().all(|silence| *silence == usual[1]), "{usual:?}");
    assert!(patient[1] + 20 >= 2 * usual[1] && patient[1] <= 2_000, "{usual:?} {patient:?}");
    assert!(patient[1..].is_sorted_by(|before, after| before >= after) && patient[5] < patient[1], "{patient:?}");
}
