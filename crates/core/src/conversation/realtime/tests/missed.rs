//! Callers that only our own VAD hears.

use super::*;

/// Lets the caller speak for `lasts` milliseconds without the model noticing.
fn missed(script: &mut Script, ms: i64, lasts: i64) {
    script.at(ms, Input::SpeechStarted).at(ms + lasts + HANGOVER_MS, Input::SpeechStopped { segment: 0 });
}

#[test]
fn a_caller_whom_the_model_does_not_notice_is_answered_all_the_same() {
    let mut script = Script::greeted();
    script.heard(2_000, 1);
    missed(&mut script, 3_000, 500);
    script.until(6_180);
    assert_eq!(script.done(), Vec::<String>::new(), "it may yet notice");
    script.until(6_200);
    let mut done = script.done();
    done.sort();
    assert_eq!(done, ["6s cover One moment.", "end turn", "respond 2 Freely"], "2.7 s after their last audio");
    script.at(6_210, failed(2));
    script.at(6_220, Input::from(RealtimeInput::TurnCommitted { item: "c1".to_owned() })).said(6_500, "c1", "For two.");
    script.says(6_600, "r2", Some(2), "i2", "Good.", 500).heard(7_200, 3);
    assert_eq!(script.words, ["Agent: one two three four", "Caller: For two.", "Agent: Good."]);
    assert_eq!((script.engine.turns(), script.done()), (1, Vec::<String>::new()));
}

#[test]
fn noises_and_what_the_model_notices_late_are_not_missed() {
    let mut noise = Script::greeted();
    noise.heard(2_000, 1);
    missed(&mut noise, 3_000, 150);
    noise.until(9_000);
    assert_eq!(noise.done(), Vec::<String>::new());

    let mut over_the_agent = Script::greeted();
    missed(&mut over_the_agent, 500, 600);
    over_the_agent.heard(2_000, 1).until(9_000);
    assert_eq!(over_the_agent.done(), Vec::<String>::new(), "they were talked to meanwhile");

    let mut late = Script::greeted();
    late.heard(2_000, 1);
    missed(&mut late, 3_000, 500);
    late.at(3_900, Input::from(RealtimeInput::SpeechStarted)).at(4_000, Input::from(RealtimeInput::SpeechStopped));
    late.says(4_100, "r2", None, "i2", "Good.", 500).heard(4_700, 2).until(9_000);
    assert_eq!(late.done(), Vec::<String>::new());
}

#[test]
fn a_turn_that_only_the_model_hears_has_its_own_times() {
    let mut script = Script::greeted();
    script.heard(2_000, 1);
    missed(&mut script, 3_000, 150); // A noise.
    script.at(8_000, Input::from(RealtimeInput::SpeechStarted)).at(8_600, Input::from(RealtimeInput::SpeechStopped));
    script.at(8_700, Input::from(RealtimeInput::TurnCommitted { item: "c1".to_owned() })).said(8_800, "c1", "For two.");
    script.says(8_900, "r2", None, "i2", "Good.", 500).heard(9_500, 2);
    assert_eq!(script.lines[1], (8_700, 8_700), "it was not said when the noise was heard");
    assert!(matches!(script.waits.as_slice(), [..=900]), "nor did the caller wait since then: {:?}", script.waits);
}

#[test]
fn a_session_that_understands_nothing_in_two_turns_is_replaced_and_the_next_one_hears_them() {
    let mut script = Script::greeted();
    script.heard(2_000, 1);
    for (session, start) in [0, 13_000].into_iter().enumerate() {
        missed(&mut script, start + 3_000, 700);
        let response = format!("r{session}");
        let asked = if session == 0 { 2 } else { 4 };
        let cover = script.until(start + 6_450).cover;
        script.at(start + 6_450, failed(cover));
        script.says(start + 6_500, &response, Some(asked), &response, "Hello?", 500).heard(start + 7_100, cover + 1);
        assert!(!script.done().iter().any(|done| done.contains("replace")), "once is no proof");
        missed(&mut script, start + 8_000, 700);
        script.until(start + 11_450);
        let replaced = script.done();
        let seconds = (start + 11_400) / 1_000;
        assert!(replaced.contains(&format!("{seconds}s replace")), "{replaced:?}");
        assert_eq!(script.engine.unheard_since().as_millis(), 3_000 - 64 - 200, "all that nobody has understood");
        let cover = script.cover;
        script.at(start + 11_500, failed(cover));
        script.at(start + 12_000, Input::from(RealtimeInput::SessionReady)).until(start + 12_900);
        assert_eq!(script.done(), Vec::<String>::new(), "the next one is hearing them");
        script.until(start + 13_100);
        assert_eq!(script.done(), [format!("respond {} Freely", asked + 1)], "which it did not respond to by itself");
        script.says(start + 13_200, "next", Some(asked + 1), "next", "Yes?", 500);
        let heard = script.engine.dialogue.playback.last();
        script.heard(start + 13_800, heard);
    }
}

#[test]
fn a_session_that_has_understood_something_is_not_replaced() {
    for proof in 0..3 {
        let mut script = Script::greeted();
        script.heard(2_000, 1);
        match proof {
            0 => script.caller(3_000, "c1").said(3_600, "c1", "For two."),
            1 => script
                .at(3_000, Input::from(RealtimeInput::SpeechStarted))
                .at(3_500, Input::from(RealtimeInput::SpeechStopped)),
            _ => script
                .at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None })),
        };
        if proof < 2 {
            script.until(5_600).says(5_600, "r2", Some(2), "i2", "Good.", 500);
        } else {
            script.says(3_600, "r2", None, "i2", "Good.", 500);
        }
        let heard = script.engine.dialogue.playback.last();
        script.heard(6_500, heard);
        for turn in 0..4_i64 {
            missed(&mut script, 10_000 + turn * 10_000, 700);
            script.until(14_000 + turn * 10_000);
            let cover = script.cover;
            script.at(14_000 + turn * 10_000, failed(cover));
            let request = script.request;
            let (id, item) = (format!("again {turn}"), format!("i {turn}"));
            script.says(14_100 + turn * 10_000, &id, Some(request), &item, "Yes?", 500);
            let heard = script.engine.dialogue.playback.last();
            script.heard(15_000 + turn * 10_000, heard);
        }
        let done = script.done();
        assert!(!done.iter().any(|done| done.contains("replace")), "proof {proof}: {done:?}");
        assert!(done.iter().filter(|done| *done == "end turn").count() == 4, "proof {proof}: {done:?}");
    }
}
