use std::time::Duration;

use super::*;
use crate::Timestamp;
use crate::agent::{AgentConfig, Eagerness};
use crate::conversation::cascade::CascadeInput;
use crate::conversation::{DecisionKind, Input};
use crate::privacy::{Redact, Redactor};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "How can I help you?".to_owned();
    agent
}

fn log(inputs: &[(i64, Input)], ended: i64) -> InputLog {
    let mut writer = InputLogWriter::default();
    for (ms, input) in inputs {
        writer.record(at(*ms), input);
    }
    let text = writer.finish(&Header::new("test", TurnStrategy::Cascade, &agent()), at(ended));
    InputLog::parse(&text).expect("what was written can be read")
}

fn played(utterance: u32, ms: u64) -> Input {
    Input::PlaybackProgress { utterance, audio: Duration::from_millis(ms) }
}

fn heard(segment: u32, text: &str) -> Input {
    CascadeInput::TranscriptFinal { segment, text: text.to_owned() }.into()
}

/// Returns a log in which the agent greets from 0.1 s to 1.1 s, the caller speaks from 2 s on with a pause of `pause` ms, and the LLM responds.
fn call_with_pause(pause: i64) -> InputLog {
    let second = Duration::from_secs(1);
    let spoken = |utterance| Input::SpeechSynthesized { utterance, audio: second, words: Vec::new(), complete: true };
    let mut inputs = vec![(0, Input::MediaStarted), (100, spoken(1))];
    inputs.extend((1_i64..50).map(|frame| (100 + 20 * frame, played(1, 20 * frame.unsigned_abs()))));
    inputs.push((1_100, Input::PlaybackFinished { utterance: 1 }));
    inputs.extend([
        (2_064, Input::SpeechStarted),
        (3_120, Input::SpeechStopped { segment: 0 }),
        (3_200, heard(0, "I would like to book a table.")),
    ]);
    let on = 3_000 + pause;
    // The response is heard.
    inputs.extend([
        (on + 1_440, spoken(2)),
        (on + 1_460, played(2, 20)),
        (on + 2_440, Input::PlaybackFinished { utterance: 2 }),
    ]);
    inputs.extend([
        (on + 64, Input::SpeechStarted),
        (on + 1_120, Input::SpeechStopped { segment: 1 }),
        (on + 1_200, heard(1, "It is for six people.")),
        (on + 1_300, CascadeInput::LlmText { turn: 1, text: "Certainly. ".to_owned() }.into()),
        (on + 1_300, CascadeInput::LlmText { turn: 2, text: "Certainly. ".to_owned() }.into()),
        (on + 1_400, CascadeInput::LlmDone { turn: 1 }.into()),
        (on + 1_400, CascadeInput::LlmDone { turn: 2 }.into()),
    ]);
    inputs.sort_by_key(|(at, _)| *at);
    log(&inputs, on + 10_000)
}

#[test]
fn frames_take_a_character_each() {
    let frames = |steps: &[i64]| {
        let mut writer = InputLogWriter::default();
        let mut now = 0;
        for (ms, step) in (1..).zip(steps) {
            now += step;
            writer.record(at(now), &played(7, 20 * ms));
        }
        writer.record(at(now), &Input::PlaybackFinished { utterance: 7 });
        writer.finish(&Header::new("test", TurnStrategy::Cascade, &agent()), at(now + 5))
    };
    let text = frames(&[20, 20, 19, 21, 20, 40, 20]);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            r#"[20000,{"playback_progress":{"utterance":7,"audio":20000000}}]"#,
            r#"".,;.""#,
            r#"[40000,{"playback_progress":{"utterance":7,"audio":120000000}}]"#,
            r#"".""#,
            r#"[0,{"playback_finished":{"utterance":7}}]"#,
            "[5000]",
        ]
    );
    let log = InputLog::parse(&text).expect("a log");
    assert_eq!(log.inputs.len(), 8);
    assert_eq!(log.inputs[6], (at(160), played(7, 140)));
    assert_eq!(log.ended, Some(at(165)));
}

#[test]
fn a_damaged_log_says_which_line_is_wrong() {
    let damaged = |lines: &str| {
        let header = InputLogWriter::default().finish(&Header::new("test", TurnStrategy::Cascade, &agent()), at(0));
        InputLog::parse(&format!("{}\n{lines}", header.lines().next().unwrap_or_default())).map_err(|e| e.to_string())
    };
    assert_eq!(InputLog::parse("").map_err(|error| error.to_string()), Err("the log is empty".to_owned()));
    assert_eq!(damaged("\"..\""), Err("line 2: a frame of no utterance, or an unknown step".to_owned()));
    assert!(damaged("[0,\"tick\"]\n[5,\"tock\"]").is_err_and(|words| words.starts_with("line 3: ")));
    assert_eq!(damaged("[0,\"tick\"]").map(|log| log.ended), Ok(None));
    let first = r#"[0,{"playback_progress":{"utterance":1,"audio":0}}]"#;
    let endless = damaged(&format!("{first}\n\"{}\"", ".".repeat(2 << 20)));
    assert_eq!(endless.map(|log| log.ended), Err("line 3: more frames than a log holds".to_owned()));
}

#[test]
fn a_redacted_log_has_no_numbers_and_decides_the_same() {
    let inputs = [
        (0, Input::MediaStarted),
        (10, CascadeInput::LlmText { turn: 1, text: "You said 42".to_owned() }.into()),
        (20, CascadeInput::LlmText { turn: 1, text: "42, Ann@exa".to_owned() }.into()),
        (30, CascadeInput::LlmText { turn: 1, text: "mple.com. ".to_owned() }.into()),
        (40, heard(3, "My card is 4242 forty two, double five.")),
        (50, Input::Dtmf { digit: '7' }),
        (60, Input::ToolResult { turn: 1, id: "call_17".to_owned(), result: serde_json::json!({ "phone": 5551234 }) }),
    ];
    let redactor = Redactor::new(&[Redact::EmailAddresses]);
    let text = log(&inputs, 100).masked(&redactor);
    let secret = ["42", "Ann", "exa", "forty", "double", "'7'", "5551234"];
    assert!(secret.iter().all(|secret| !text.contains(secret)), "{text}");
    let masked = InputLog::parse(&text).expect("a log");
    assert!(masked.header.redacted);
    let said = "You said 0000, [email_address]. ";
    assert_eq!(masked.inputs[1].1, CascadeInput::LlmText { turn: 1, text: said.to_owned() }.into());
    assert_eq!(masked.inputs[4], (at(40), heard(3, "My card is 0000 zero, zero.")));
    assert_eq!(masked.inputs[5], (at(50), Input::Dtmf { digit: '0' }));
    assert!(matches!(&masked.inputs[6].1, Input::ToolResult { id, .. } if id == "call_17"));
}

#[test]
fn a_log_that_was_cut_says_so_when_it_is_redacted_too() {
    let cut = InputLog { ended: None, ..log(&[(0, Input::MediaStarted), (40, heard(0, "Room 204."))], 100) };
    let masked = InputLog::parse(&cut.masked(&Redactor::new(&[Redact::Digits]))).expect("a log");
    assert_eq!((masked.ended, masked.inputs.len()), (None, 2));
}

#[test]
fn decisions_are_compared_as_far_as_both_sides_know_them() {
    let log = |ended, redacted| {
        let mut log = call_with_pause(300);
        (log.ended, log.header.redacted) = (ended, redacted);
        log
    };
    let (whole, cut) = (log(Some(at(9_000)), false), log(None, false));
    let table: [(&InputLog, &[u8], &[u8], Comparison); 9] = [
        (&whole, &[1, 2], &[1, 2], Comparison::Same),
        (&whole, &[1, 2], &[1, 3], Comparison::Different),
        (&whole, &[1, 2], &[1, 2, 3], Comparison::Different),
        (&whole, &[1, 2, 3], &[1, 2], Comparison::Different),
        (&whole, &[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5], Comparison::Same),
        (&whole, &[1, 2, 3], &[1, 2, 3, 4, 5], Comparison::Different),
        (&cut, &[1, 2], &[1, 2, 3], Comparison::Same),
        (&cut, &[1, 2], &[1, 3, 3], Comparison::Different),
        (&cut, &[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5], Comparison::Same),
    ];
    for (log, again, made, expected) in table {
        let found = log.compare(again, made, 5);
        assert_eq!(found, expected, "{again:?} {made:?}, cut {}", log.is_cut());
    }
    let redacted = log(Some(at(9_000)), true);
    assert_eq!(redacted.compare(&[1, 2], &[1, 2], 5), Comparison::Same);
    assert_eq!(redacted.compare(&[1, 2], &[1, 3], 5), Comparison::NotComparable(NotComparable::Redacted));
}

#[test]
fn other_settings_change_when_the_agent_speaks_and_not_the_caller() {
    let log = call_with_pause(500);
    let with = |eagerness| {
        let mut agent = log.header.agent.clone();
        agent.turn_taking.eagerness = eagerness;
        simulate(&log, &agent).1
    };
    let (low, high) = (with(Eagerness::Low), with(Eagerness::High));
    assert_eq!((high.early, low.early), (1, 0), "only who waits longer lets the caller pause: {high:?} {low:?}");
    assert_eq!(low.turns, 1);
    assert!(low.response_percentile(50) > high.response_percentile(50), "{low:?} {high:?}");
}

#[test]
fn the_same_settings_come_to_the_same_turns() {
    let log = call_with_pause(300);
    let (decisions, figures) = simulate(&log, &log.header.agent);
    let again = rerun(&log);
    let ends = |decisions: &[crate::conversation::Decision]| -> Vec<Timestamp> {
        let ended = |kind| kind == DecisionKind::TurnEnded;
        decisions.iter().filter(|decision| ended(decision.kind)).map(|decision| decision.at).collect()
    };
    assert_eq!(ends(&decisions), ends(&again.decisions));
    assert_eq!(figures.turns, again.figures.turns);
    assert_eq!(figures.turns, 1);
}
