use super::*;

const ANSWER: &str = "We have a table at seven and another one at nine tonight.";

fn pauses(talk: &Talk) -> Vec<u64> {
    talk.times(|effect| *effect == Effect::PausePlayback)
}

fn resumes(talk: &Talk) -> Vec<u64> {
    talk.times(|effect| *effect == Effect::ResumePlayback)
}

fn clears(talk: &Talk) -> Vec<u64> {
    talk.times(|effect| *effect == Effect::ClearPlayback)
}

#[test]
fn words_cut_the_agent_off_and_only_what_was_heard_is_remembered() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts().until(4_300).partial("Not that");
    assert_eq!((pauses(&talk), clears(&talk)), (vec![4_064], vec![4_300]));
    talk.until(4_500).caller_stops("Not that late.").until(7_000);
    // From 3000 to 4064 ms, 17 of its characters were heard: "We have a table a".
    assert_eq!(
        talk.last_question(),
        [user("Is there a table?"), assistant("We have a table\u{2026}"), user("Not that late.")]
    );
    assert_eq!(
        talk.transcript(),
        [
            (Speaker::Caller, "Is there a table?", false),
            (Speaker::Agent, "We have a table", true),
            (Speaker::Caller, "Not that late.", false)
        ]
    );
}

#[test]
fn voice_alone_cuts_the_agent_off_when_it_lasts() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts().until(5_119);
    assert!(clears(&talk).is_empty());
    talk.until(5_120);
    assert_eq!(clears(&talk), [5_120], "a second, and the 120 ms by which a stop is reported late");
}

#[test]
fn a_backchannel_only_holds_the_agent() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_says("Mm-hmm.", 300).until(9_000);
    assert_eq!((pauses(&talk), resumes(&talk)), (vec![4_064], vec![4_580]));
    assert!(clears(&talk).is_empty());
    assert_eq!(talk.asks().len(), 1, "it needs no response");
    assert_eq!(talk.history(), [user("Is there a table?"), assistant(ANSWER)]);
}

#[test]
fn noise_only_holds_the_agent_even_if_the_recogniser_says_nothing() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts().until(4_100);
    talk.until(4_300).tell(Input::SpeechStopped { segment: 1 }).until(9_000);
    assert_eq!((pauses(&talk), resumes(&talk)), (vec![4_064], vec![4_460]));
}

#[test]
fn yes_close_to_the_end_is_an_answer() {
    let mut talk = Talk::with_answer(&quiet_agent(), "Shall I book it for you?");
    talk.until(4_000).caller_says("Yes.", 200).until(7_000);
    assert_eq!(talk.last_question(), [user("Is there a table?"), assistant("Shall I book it for you?"), user("Yes.")]);
}

#[test]
fn late_transcript_still_interrupts_the_resumed_agent() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_starts().until(4_300);
    talk.until(4_500).tell(Input::SpeechStopped { segment: 1 }).until(5_600);
    assert_eq!(resumes(&talk), [4_660]);
    talk.tell(Input::from(CascadeInput::TranscriptFinal { segment: 1, text: "Not tonight.".to_owned() }));
    assert_eq!(clears(&talk), [5_600]);
}

#[test]
fn caller_continuing_before_playback_gets_one_answer() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("I want a table.", 500).until(2_200);
    talk.caller_starts().until(2_500).partial("For two");
    assert_eq!(talk.times(|effect| *effect == Effect::Cascade(CascadeEffect::CancelCompletion { turn: 1 })), [2_500]);
    talk.until(2_600).caller_stops("For two.").until(4_000);
    assert_eq!(talk.last_question(), [user("I want a table. For two.")]);
}

#[test]
fn single_word_interrupts_only_as_a_continuation_of_the_turn() {
    let said = |at| {
        let mut talk = Talk::with(&quiet_agent());
        talk.until(1_000).caller_says("I want a table.", 500).until(2_000).model_says(ANSWER);
        talk.until(at).caller_says("Tonight.", 300).until(at + 2_500);
        talk
    };
    let talk = said(2_500);
    assert_eq!(clears(&talk), [3_100], "when the word is known");
    assert_eq!(talk.last_question(), [user("I want a table. Tonight.")], "one response to both");
    assert!(clears(&said(4_500)).is_empty());
}

#[test]
fn a_turn_that_was_cut_is_one_turn_all_the_same() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("A table for the evening.", 500).until(2_000).model_says(ANSWER);
    // The STT transcribes the first segment again with the second one.
    talk.until(2_500).caller_starts().until(2_900);
    talk.until(3_000).tell(Input::SpeechStopped { segment: 1 });
    for (segment, text) in [(0, ""), (1, "A table for the evening of Friday.")] {
        talk.tell(Input::from(CascadeInput::TranscriptFinal { segment, text: text.to_owned() }));
    }
    assert_eq!(clears(&talk), [3_000]);
    talk.until(5_000).model_says("Friday it is.").until(9_000);
    assert_eq!(
        talk.transcript(),
        [
            (Speaker::Caller, "A table for the evening of Friday.", false),
            (Speaker::Agent, "We have a", true),
            (Speaker::Agent, "Friday it is.", false),
        ]
    );
    assert_eq!(talk.history(), [user("A table for the evening of Friday."), assistant("Friday it is.")]);
    assert_eq!(talk.conversation.turns(), 1, "both responses were heard, and are due to one turn");
}

/// Lets the agent answer a turn. Before it has finished, there is a second of noise, with which the STT withdraws the turn's text: it finds none in
/// both together.
fn with_withdrawn_turn() -> Talk {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("A table for the evening.", 500).until(2_000).model_says(ANSWER);
    talk.until(2_500).caller_starts().until(3_700);
    assert_eq!(clears(&talk), [3_620], "taken for the caller, who goes on");
    talk.until(3_820).tell(Input::SpeechStopped { segment: 1 });
    for segment in [0, 1] {
        talk.tell(Input::from(CascadeInput::TranscriptFinal { segment, text: String::new() }));
    }
    talk.segment = 2;
    talk
}

const WITHDRAWN: [(Speaker, &str, bool); 2] =
    [(Speaker::Caller, "A table for the evening.", false), (Speaker::Agent, "We have a", true)];

#[test]
fn a_turn_that_noise_reopened_keeps_its_words_and_holds_up_no_others() {
    let mut talk = with_withdrawn_turn();
    talk.until(9_000);
    let unclear = talk.spoken().last().expect("the agent asks to repeat it").1.to_owned();
    assert!(ENGLISH.phrases.unclear.contains(&unclear.as_str()), "{unclear}");
    assert_eq!(talk.transcript(), [&WITHDRAWN[..], &[(Speaker::Agent, &unclear, false)]].concat());
    assert_eq!(talk.conversation.turns(), 1, "it was answered");
    talk.caller_says("A table for the evening of Friday.", 900).until(11_500).model_says("Friday it is.").until(13_000);
    let history = [
        user("A table for the evening."),
        assistant("We have a\u{2026}"),
        assistant(&unclear),
        user("A table for the evening of Friday."),
        assistant("Friday it is."),
    ];
    assert_eq!(talk.history(), history);
    assert_eq!((talk.transcript().len(), talk.conversation.turns()), (5, 2));
}

#[test]
fn a_turn_that_noise_reopened_keeps_its_words_when_the_call_ends() {
    let mut talk = with_withdrawn_turn();
    talk.tell(Input::HangUpRequested);
    assert_eq!(talk.transcript(), WITHDRAWN);
    assert_eq!(talk.history(), [user("A table for the evening."), assistant("We have a\u{2026}")]);
    assert_eq!(talk.conversation.turns(), 1);
}

#[test]
fn a_turn_that_noise_reopened_keeps_its_words_beside_keys() {
    let mut talk = with_withdrawn_turn();
    talk.tell(Input::Dtmf { digit: '5' }).until(9_000);
    let callers: Vec<&str> =
        talk.transcript().iter().filter(|(who, ..)| *who == Speaker::Caller).map(|(_, text, _)| *text).collect();
    assert_eq!(callers, ["A table for the evening.", "[keys] 5"]);
}

#[test]
fn a_turn_whose_response_was_heard_to_its_end_is_over() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Is there a table?", 500).until(2_000).model_says("Yes.");
    talk.until(2_400).caller_says("Fine.", 300).until(5_000);
    assert_eq!(talk.last_question(), [user("Is there a table?"), assistant("Yes."), user("Fine.")]);
}

#[test]
fn what_tools_have_done_is_not_taken_back_with_the_turn() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Book a table.", 500).until(2_000).model_calls("c1", "book").model_done();
    talk.until(2_500).caller_says("For two.", 600).until(7_000);
    let callers: Vec<&str> =
        talk.transcript().iter().filter(|(who, ..)| *who == Speaker::Caller).map(|(_, text, _)| *text).collect();
    assert_eq!(callers, ["Book a table.", "For two."]);
}

#[test]
fn a_second_of_backchannel_or_noise_is_no_interruption() {
    for words in ["I see, okay.", "Mamma.", ""] {
        let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
        talk.until(4_000).caller_starts().until(4_650).caller_stops(words).until(9_000);
        assert!(clears(&talk).is_empty(), "{words}");
        assert_eq!((resumes(&talk), talk.asks().len()), (vec![4_930], 1), "{words}");
    }
}

#[test]
fn a_short_word_in_the_middle_of_a_sentence_is_remembered_and_not_answered() {
    let mut talk = Talk::with_answer(&quiet_agent(), ANSWER);
    talk.until(4_000).caller_says("Marble.", 550).until(9_000);
    assert!(clears(&talk).is_empty());
    assert_eq!((resumes(&talk), talk.asks().len()), (vec![4_830], 1));
    assert_eq!(talk.history(), [user("Is there a table? Marble."), assistant(ANSWER)]);
}

#[test]
fn an_agent_that_cannot_be_interrupted_answers_afterwards() {
    let mut agent = quiet_agent();
    agent.interruption.enabled = false;
    let mut talk = Talk::with_answer(&agent, ANSWER);
    talk.until(4_000).caller_says("No, not that late.", 900).until(9_000);
    assert!(pauses(&talk).is_empty() && clears(&talk).is_empty());
    assert_eq!(talk.last_question(), [user("Is there a table?"), assistant(ANSWER), user("No, not that late.")]);
}

#[test]
fn an_answer_that_follows_other_words_is_heard_while_the_model_thinks() {
    for answer in ["Yes.", "Okay.", "Sure."] {
        let mut talk = Talk::with_answer(&quiet_agent(), "Shall I book it for you?");
        talk.until(6_000).caller_says("Let me check.", 500).until(7_200);
        assert_eq!(talk.last_question().last(), Some(&user("Let me check.")), "{answer}");
        talk.caller_says(answer, 300).until(10_000);
        let heard = format!("Let me check. {answer}");
        assert_eq!(talk.last_question().last(), Some(&user(&heard)));
    }
}

#[test]
fn noise_while_the_model_thinks_does_not_cost_the_response() {
    let mut talk = Talk::with(&quiet_agent());
    talk.until(1_000).caller_says("Is there a table?", 500).until(5_000);
    assert_eq!(talk.asks().len(), 1);
    talk.caller_says("", 1_300).until(9_000);
    assert_eq!(talk.last_question(), [user("Is there a table?")]);
    assert_eq!(talk.asks().len(), 2, "asked again");
    let unclear = ENGLISH.phrases.unclear;
    assert!(!talk.spoken().iter().any(|(_, text)| unclear.contains(text)), "{:?}", talk.spoken());
}
