//! Scripts in virtual time. Times are in milliseconds since the conversation began.

mod lost;
mod machine;
mod missed;
mod promises;
mod refusals;

use serde_json::json;

use super::*;
use super::{RealtimeCommand, RealtimeEffect, RealtimeInput};
use crate::conversation::{Conversation, Effect, FailureCode, Input, MachineEvidence, SpeechSource, ToolCall};

/// How late the end of speech is reported.
const HANGOVER_MS: i64 = 120;

/// A conversation and its effects in order, abbreviated.
struct Script {
    engine: Conversation,
    now: i64,
    done: Vec<String>,
    words: Vec<String>,
    /// The start and end of what was said.
    lines: Vec<(i64, i64)>,
    /// How long the caller waited for each response.
    waits: Vec<i64>,
    /// Transfers that did not happen, and why.
    unmade: Vec<(String, String)>,
    /// The last utterance of the TTS.
    cover: u32,
    /// The last request for a response.
    request: u32,
}

impl Script {
    fn new(change: impl FnOnce(&mut AgentConfig)) -> Self {
        let mut agent = AgentConfig::new("Book.");
        change(&mut agent);
        let engine = Conversation::realtime(&agent, Timestamp::from_millis(0));
        Self {
            engine,
            now: 0,
            done: Vec::new(),
            words: Vec::new(),
            lines: Vec::new(),
            waits: Vec::new(),
            unmade: Vec::new(),
            cover: 0,
            request: 0,
        }
    }

    /// Returns a conversation whose greeting plays: two seconds of audio, as item `hello`.
    fn greeted() -> Self {
        let mut script = Self::new(|_| {});
        script.at(0, Input::MediaStarted);
        script.says(0, "r1", Some(1), "hello", "one two three four", 2_000);
        script
    }

    fn at(&mut self, ms: i64, input: Input) -> &mut Self {
        self.until(ms);
        self.now = ms;
        let effects = self.engine.handle(Timestamp::from_millis(ms), input);
        self.note(effects);
        self
    }

    /// Advances the time.
    fn until(&mut self, ms: i64) -> &mut Self {
        while let Some(due) = self.engine.next_deadline().filter(|due| due.as_millis() <= ms) {
            self.now = due.as_millis().max(self.now);
            let effects = self.engine.handle(Timestamp::from_millis(self.now), Input::Tick);
            self.note(effects);
        }
        self
    }

    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let seconds = self.now / 1_000;
            self.done.push(match effect {
                Effect::Transcript(entry) => {
                    let cut = if entry.interrupted { "\u{2026}" } else { "" };
                    self.words.push(format!("{:?}: {}{cut}", entry.speaker, entry.text));
                    self.lines.push((entry.start.as_millis(), entry.end.as_millis()));
                    continue;
                }
                Effect::Turn(times) => {
                    self.waits.push(times.first_audio_played.as_millis() - times.speech_ended.as_millis());
                    continue;
                }
                Effect::HangUp { reason } => format!("{seconds}s {reason:?}"),
                Effect::Speak { utterance, text, source: SpeechSource::Within(_), .. } => {
                    self.cover = utterance;
                    format!("{seconds}s cover {text}")
                }
                Effect::Realtime(RealtimeEffect::Send(RealtimeCommand::Truncate { item, heard })) => {
                    format!("truncate {item} {}", heard.as_millis())
                }
                Effect::Realtime(RealtimeEffect::Send(RealtimeCommand::ToolOutput { id, result })) => {
                    format!("output {id} {result}")
                }
                Effect::Realtime(RealtimeEffect::Send(RealtimeCommand::Respond { request, instructions })) => {
                    self.request = request;
                    format!("respond {request} {instructions:?}")
                }
                Effect::Realtime(RealtimeEffect::Send(RealtimeCommand::AddContext { text })) => format!("tell {text}"),
                Effect::Transfer { .. } => "transfer".to_owned(),
                Effect::NotTransferred { id, error } => {
                    self.unmade.push((id, error));
                    continue;
                }
                Effect::Realtime(RealtimeEffect::Send(RealtimeCommand::Cancel { .. })) => "cancel".to_owned(),
                Effect::ClearPlayback => "clear".to_owned(),
                Effect::RunTool { call, .. } => format!("run {}", call.name),
                Effect::Realtime(RealtimeEffect::Send(RealtimeCommand::EndTurn)) => "end turn".to_owned(),
                Effect::Realtime(RealtimeEffect::ReplaceSession) => format!("{seconds}s replace"),
                _ => continue,
            });
        }
    }

    /// Gives a whole response with one item.
    fn says(&mut self, ms: i64, response: &str, request: Option<u32>, item: &str, text: &str, lasts: u64) -> &mut Self {
        let (id, item) = (response.to_owned(), item.to_owned());
        self.at(ms, Input::from(RealtimeInput::ResponseStarted { response: id.clone(), request }));
        self.at(
            ms,
            Input::from(RealtimeInput::Text { response: id.clone(), item: item.clone(), text: text.to_owned() }),
        );
        self.at(
            ms,
            Input::from(RealtimeInput::Audio {
                response: id.clone(),
                item: item.clone(),
                audio: Duration::from_millis(lasts),
            }),
        );
        self.at(ms, Input::from(RealtimeInput::AudioDone { item }));
        self.at(ms, Input::from(RealtimeInput::ResponseDone { response: id, failed: None, retry_after_ms: None }))
    }

    fn played(&mut self, ms: i64, utterance: u32, heard: u64) -> &mut Self {
        self.at(ms, Input::PlaybackProgress { utterance, audio: Duration::from_millis(heard) })
    }

    fn heard(&mut self, ms: i64, utterance: u32) -> &mut Self {
        self.played(ms, utterance, 20).at(ms, Input::PlaybackFinished { utterance })
    }

    /// Lets the caller speak from `ms` for half a second.
    fn caller(&mut self, ms: i64, item: &str) -> &mut Self {
        self.at(ms, Input::SpeechStarted).at(ms, Input::from(RealtimeInput::SpeechStarted));
        self.at(ms + 500, Input::SpeechStopped { segment: 0 }).at(ms + 500, Input::from(RealtimeInput::SpeechStopped));
        self.at(ms + 500, Input::from(RealtimeInput::TurnCommitted { item: item.to_owned() }))
    }

    fn said(&mut self, ms: i64, item: &str, text: &str) -> &mut Self {
        self.at(ms, Input::from(RealtimeInput::TurnTranscribed { item: item.to_owned(), text: text.to_owned() }))
    }

    fn done(&mut self) -> Vec<String> {
        std::mem::take(&mut self.done)
    }
}

/// Returns the input that reports this much synthesized audio of a filler.
fn synthesized(utterance: u32, ms: u64) -> Input {
    let audio = Duration::from_millis(ms);
    Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: true }
}

fn failed(utterance: u32) -> Input {
    Input::SynthesisFailed { utterance, failure: Failure::new(FailureCode::Pipeline, "x") }
}

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: json!({}), signature: None }
}

#[test]
fn the_model_forgets_what_was_not_heard_and_words_come_in_the_order_in_which_they_were_said() {
    let mut script = Script::greeted();
    script.played(1_000, 1, 1_000).caller(1_000, "c1");
    assert_eq!(script.done(), ["truncate hello 1000", "clear"]);
    script.says(1_600, "r2", None, "i2", "Good.", 500).heard(2_200, 2);
    assert_eq!(script.words, ["Agent: one two\u{2026}"], "what the caller said is still unknown");
    script.said(2_300, "c1", "Hi.");
    assert_eq!(script.words[1..], ["Caller: Hi.", "Agent: Good."]);
    assert_eq!((script.engine.turns(), script.engine.history().len()), (1, 4));
}

#[test]
fn waits_are_bridged_in_the_language_of_the_agent_or_by_a_tone() {
    for (language, filler) in [("de-AT", "Einen Moment, bitte."), ("xx", "")] {
        let mut script = Script::new(|agent| language.clone_into(&mut agent.language));
        script.at(0, Input::MediaStarted);
        script.says(0, "r1", Some(1), "hello", "one two three four", 2_000).heard(2_000, 1).caller(2_500, "c1");
        script.until(5_000);
        assert_eq!(script.done(), ["respond 2 Freely".to_owned(), format!("5s cover {filler}")]);
    }
}

#[test]
fn words_that_never_come_hold_up_nothing_for_long() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").says(3_600, "r2", None, "i2", "Good.", 500).heard(4_000, 2);
    script.until(8_400);
    assert_eq!(script.words.len(), 1);
    script.until(8_500);
    assert_eq!(script.words[1..], ["Agent: Good."]);
}

#[test]
fn late_audio_of_an_interrupted_response_is_not_played() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(3_700, Input::from(RealtimeInput::SpeechStarted));
    let effects = script.engine.handle(
        Timestamp::from_millis(3_800),
        Input::from(RealtimeInput::Audio {
            response: "r2".to_owned(),
            item: "i2".to_owned(),
            audio: Duration::from_millis(100),
        }),
    );
    assert_eq!(effects, []);
}

#[test]
fn a_wait_is_bridged_twice_and_given_up_after_eight_seconds() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").until(5_600);
    assert_eq!(script.done(), ["respond 2 Freely", "5s cover One moment."], "instructed to respond first");
    script.at(5_600, synthesized(2, 1000)).heard(6_600, 2).until(9_200);
    assert_eq!(script.done(), ["9s cover This is taking longer than usual. One moment, please."]);
    script.at(9_200, synthesized(3, 1000)).heard(10_200, 3).until(11_600);
    assert_eq!(
        script.done()[..1],
        ["11s cover Sorry, I cannot go on because of a technical problem. Please call again later."]
    );
    script.at(11_700, failed(4)).until(12_000);
    assert_eq!(
        script.done(),
        ["11s Failed(Failure(ProviderTimeout))"],
        "a caller who cannot hear it is not kept waiting"
    );
}

#[test]
fn a_model_that_asks_for_a_pause_is_asked_again_after_it_and_in_the_end_given_up() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "Hi.");
    let refuses = |script: &mut Script, ms: i64, response: &str, request: Option<u32>, pause_ms: u64| {
        let response = || response.to_owned();
        script.at(ms, Input::from(RealtimeInput::ResponseStarted { response: response(), request }));
        let failed = Some(format!("Rate limit reached. Please try again in {pause_ms}ms."));
        let done = RealtimeInput::ResponseDone { response: response(), failed, retry_after_ms: Some(pause_ms) };
        script.at(ms, Input::from(done));
    };
    let asks =
        |script: &mut Script| script.done().into_iter().filter(|done| done.starts_with("respond")).collect::<Vec<_>>();
    refuses(&mut script, 3_600, "r2", None, 1_200);
    script.until(4_799);
    assert!(asks(&mut script).is_empty(), "it is waited for");
    script.until(4_800);
    assert_eq!(asks(&mut script), ["respond 2 Freely"]);
    refuses(&mut script, 4_900, "r3", Some(2), 300);
    script.until(5_200);
    assert_eq!(asks(&mut script), ["respond 3 Freely"]);
    refuses(&mut script, 5_300, "r4", Some(3), 300);
    script.until(5_600);
    assert_eq!(asks(&mut script), ["respond 4 Freely"]);
    refuses(&mut script, 5_700, "r5", Some(4), 300);
    assert!(script.done().iter().any(|done| done.contains("cover Sorry")), "enough");
}

#[test]
fn a_phrase_that_is_being_heard_is_not_broken_off_by_the_apology() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").said(3_600, "c1", "Hi.").until(5_600);
    script.at(5_600, synthesized(2, 1000)).played(5_700, 2, 100);
    script
        .at(5_800, Input::from(RealtimeInput::SessionFailed(Failure::new(FailureCode::Pipeline, "x"))))
        .heard(6_600, 2);
    assert_eq!(script.words[2..], ["Agent: One moment."], "to its end");
    assert!(!script.done().contains(&"clear".to_owned()));
    script.at(6_600, synthesized(3, 1000)).heard(7_700, 3).until(8_100);
    assert_eq!(script.done(), ["8s Failed(Failure(Pipeline))"]);
    assert!(script.words[3].contains("technical problem"), "{:?}", script.words);
}

#[test]
fn a_goodbye_that_does_not_come_is_covered_and_then_said_in_the_other_voice() {
    for comes in [true, false] {
        let mut script = Script::greeted();
        script.heard(2_000, 1).caller(3_000, "c1").said(3_500, "c1", "That is all.");
        script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
        script.at(
            3_600,
            Input::from(RealtimeInput::ToolCall {
                response: "r2".to_owned(),
                call: call("a", "end_call"),
                filler: None,
            }),
        );
        script.at(
            3_700,
            Input::from(RealtimeInput::ResponseDone { response: "r2".to_owned(), failed: None, retry_after_ms: None }),
        );
        assert_eq!(script.done(), ["output a {\"ok\":true}", "respond 2 Directed"]);
        script.until(5_700);
        assert_eq!(script.done(), ["5s cover One moment."]);
        script.at(5_700, synthesized(2, 1000)).heard(6_700, 2);
        if comes {
            script.says(7_000, "r3", Some(2), "i3", "Goodbye then.", 500).heard(7_600, 3).until(8_000);
            assert_eq!(
                (script.done(), script.words.last()),
                (vec!["7s AgentHungUp".to_owned()], Some(&"Agent: Goodbye then.".to_owned()))
            );
            continue;
        }
        script.until(9_200);
        assert_eq!(script.done(), ["9s cover Goodbye."]);
        script.at(9_200, synthesized(3, 500)).heard(9_700, 3).until(10_100);
        assert_eq!(script.done(), ["10s AgentHungUp"]);
        assert_eq!(script.words.last().map(String::as_str), Some("Agent: Goodbye."));
    }
}

#[test]
fn one_thing_at_a_time_is_asked_of_the_model() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(3_700, Input::Say { text: "x".to_owned(), interrupt: false });
    assert_eq!(script.done(), Vec::<String>::new(), "while it answers");
    script.at(3_800, Input::Say { text: "y".to_owned(), interrupt: true });
    assert_eq!(script.done(), ["cancel"], "and what is stopped has to end first");
    script.at(
        3_900,
        Input::from(RealtimeInput::ResponseDone { response: "r2".to_owned(), failed: None, retry_after_ms: None }),
    );
    assert_eq!(script.done(), ["respond 2 Exactly"]);
    script.at(4_000, Input::from(RealtimeInput::Busy { request: 2 }));
    assert_eq!(script.done(), ["respond 3 Exactly"], "a busy model gets the request again");
}

#[test]
fn model_continues_once_after_all_tool_results() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    let response = || "r2".to_owned();
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: response(), request: None }));
    script.at(
        3_600,
        Input::from(RealtimeInput::ToolCall { response: response(), call: call("a", "tables"), filler: None }),
    );
    script.at(
        3_600,
        Input::from(RealtimeInput::ToolCall { response: response(), call: call("b", "weather"), filler: None }),
    );
    script.at(3_600, Input::ToolResult { turn: 0, id: "a".to_owned(), result: json!(1) });
    script.at(
        3_600,
        Input::from(RealtimeInput::ResponseDone { response: response(), failed: None, retry_after_ms: None }),
    );
    assert_eq!(script.done(), ["run tables", "run weather", "output a 1"]);
    script.until(20_000);
    let bridged = script.done();
    assert!(bridged.iter().all(|done| done.contains("cover") || done == "clear"), "not the model's fault: {bridged:?}");
    script.at(20_000, Input::ToolResult { turn: 0, id: "b".to_owned(), result: json!(2) });
    assert_eq!(script.done(), ["output b 2", "respond 2 Freely"]);
}

#[test]
fn a_goodbye_is_heard_and_can_be_taken_back_once() {
    let ends = |script: &mut Script, ms: i64, response: &str, utterance: u32| {
        let id = response.to_owned();
        script.at(ms, Input::from(RealtimeInput::ResponseStarted { response: id.clone(), request: None }));
        script.at(
            ms,
            Input::from(RealtimeInput::Audio {
                response: id.clone(),
                item: id.clone(),
                audio: Duration::from_millis(1000),
            }),
        );
        script.at(
            ms,
            Input::from(RealtimeInput::ToolCall {
                response: id.clone(),
                call: call(response, "end_call"),
                filler: None,
            }),
        );
        script
            .at(ms, Input::from(RealtimeInput::ResponseDone { response: id, failed: None, retry_after_ms: None }))
            .played(ms + 500, utterance, 500);
    };
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    ends(&mut script, 3_600, "bye", 2);
    script.caller(4_200, "c2");
    assert!(script.done().iter().any(|done| done.starts_with("output bye") && done.contains("goes on")));
    ends(&mut script, 5_000, "again", 3);
    assert!(!script.engine.listens(), "nobody is kept on the line for ever");
    script.at(5_600, Input::from(RealtimeInput::SpeechStarted)).heard(6_000, 3).until(6_300);
    assert_eq!(script.done().last().map(String::as_str), Some("6s AgentHungUp"));
}

#[test]
fn keys_are_a_turn_of_the_callers() {
    let mut script = Script::greeted();
    script.played(500, 1, 500).at(500, Input::Dtmf { digit: '4' });
    assert_eq!(script.done(), ["truncate hello 500", "clear"]);
    script.at(900, Input::Dtmf { digit: '2' }).until(3_000);
    assert_eq!(script.done(), ["tell [keys] 42", "respond 2 Freely"]);
    assert_eq!(script.words.last().map(String::as_str), Some("Caller: [keys] 42"));
}

#[test]
fn a_machine_hears_the_message_after_the_beep_and_nothing_else() {
    use crate::agent::{MachineDetection, OnMachine};
    let mut script = Script::new(|agent| {
        agent.answering_machine.mode = MachineDetection::Detect;
        agent.answering_machine.on_machine = OnMachine::LeaveMessage;
        agent.answering_machine.message = Some("Call us.".to_owned());
    });
    script
        .at(0, Input::MediaStarted)
        .at(100, Input::from(RealtimeInput::ResponseStarted { response: "r1".to_owned(), request: Some(1) }));
    script.at(1_900, Input::MachineDetected { beep: false, by: MachineEvidence::Carrier });
    assert_eq!((script.done(), script.engine.listens()), (vec!["cancel".to_owned()], false));
    script.at(
        2_100,
        Input::from(RealtimeInput::ResponseDone { response: "r1".to_owned(), failed: None, retry_after_ms: None }),
    );
    script.at(2_200, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
    script.at(
        2_300,
        Input::from(RealtimeInput::ResponseDone { response: "r2".to_owned(), failed: None, retry_after_ms: None }),
    );
    script.at(9_000, Input::MachineDetected { beep: true, by: MachineEvidence::Carrier });
    assert_eq!(script.done(), ["cancel", "respond 2 Exactly"], "nobody answers a machine");
    script.says(9_200, "r3", Some(2), "i3", "Call us.", 500).heard(9_800, 1).until(10_200);
    assert_eq!(script.done(), ["10s VoicemailMessageLeft"]);
    assert_eq!(script.words, ["Agent: Call us."]);
}

#[test]
fn silence_and_the_longest_duration_end_a_call() {
    let mut silent = Script::new(|agent| agent.silence.max_reprompts = 1);
    silent.at(0, Input::MediaStarted).says(0, "r1", Some(1), "hello", "Hello.", 2_000).heard(2_000, 1).until(10_000);
    assert_eq!(silent.done(), ["respond 2 Directed"]);
    silent.says(10_100, "r2", Some(2), "i2", "Still there?", 500).heard(10_700, 2).until(60_000);
    let done = silent.done();
    assert!(done.last().is_some_and(|done| done == "32s Silence"), "{done:?}");
    assert!(matches!(silent.engine.handle(Timestamp::from_millis(70_000), Input::Tick)[..], []));

    let mut long = Script::new(|agent| {
        agent.limits.max_duration_seconds = 10;
        agent.silence.max_reprompts = 0;
    });
    long.at(0, Input::MediaStarted).says(0, "r1", Some(1), "hello", "Hello.", 500).heard(600, 1).until(10_000);
    long.says(10_100, "r2", Some(2), "i2", "Time is up.", 500).heard(10_700, 2).until(11_100);
    assert_eq!(long.done().last().map(String::as_str), Some("11s MaxDuration"));
}

/// Returns the times of the fillers, whose audio lasts a second each.
fn bridged(script: &mut Script, until: i64) -> Vec<i64> {
    let mut times = Vec::new();
    for ms in ((script.now / 20 + 1) * 20..until).step_by(20) {
        script.until(ms);
        if script.done.iter().any(|done| done.contains("cover")) {
            times.push(ms);
            script.done.clear();
            let utterance = script.cover;
            script.at(ms, synthesized(utterance, 1000));
            script.played(ms + 20, utterance, 20).heard(ms + 1_000, utterance);
        }
    }
    times
}

#[test]
fn a_slow_tool_is_bridged_for_as_long_as_it_takes() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1");
    let response = || "r2".to_owned();
    script.at(3_600, Input::from(RealtimeInput::ResponseStarted { response: response(), request: None }));
    let words = "Let me see.".to_owned();
    script.at(3_600, Input::from(RealtimeInput::Text { response: response(), item: "i2".to_owned(), text: words }));
    script.at(
        3_600,
        Input::from(RealtimeInput::Audio {
            response: response(),
            item: "i2".to_owned(),
            audio: Duration::from_millis(1000),
        }),
    );
    script.at(
        3_700,
        Input::from(RealtimeInput::ToolCall { response: response(), call: call("a", "tables"), filler: None }),
    );
    script
        .at(
            3_700,
            Input::from(RealtimeInput::ResponseDone { response: response(), failed: None, retry_after_ms: None }),
        )
        .heard(4_600, 2);
    let times = bridged(&mut script, 20_000);
    let gaps: Vec<i64> = std::iter::once(4_600)
        .chain(times.iter().map(|ms| ms + 1_000))
        .zip(times.iter().copied())
        .map(|(silent, said)| said - silent)
        .collect();
    assert!(times.len() >= 4 && gaps.iter().all(|gap| (1_900..=2_600).contains(gap)), "{times:?}: {gaps:?}");
}

#[test]
fn a_tools_own_words_are_said_when_the_model_says_nothing() {
    for (says, expected) in [(false, "3s cover Let me look that up."), (true, "run tables")] {
        let mut script = Script::greeted();
        script
            .heard(2_000, 1)
            .caller(3_000, "c1")
            .at(3_600, Input::from(RealtimeInput::ResponseStarted { response: "r2".to_owned(), request: None }));
        if says {
            script.at(
                3_600,
                Input::from(RealtimeInput::Audio {
                    response: "r2".to_owned(),
                    item: "i2".to_owned(),
                    audio: Duration::from_millis(1000),
                }),
            );
        }
        let filler = Some("Let me look that up.".to_owned());
        script.at(
            3_700,
            Input::from(RealtimeInput::ToolCall { response: "r2".to_owned(), call: call("a", "tables"), filler }),
        );
        script.at(
            3_800,
            Input::from(RealtimeInput::ResponseDone { response: "r2".to_owned(), failed: None, retry_after_ms: None }),
        );
        assert_eq!(script.done().last().map(String::as_str), Some(expected));
    }
}

#[test]
fn a_model_that_does_not_hear_the_end_of_a_turn_is_asked_to_answer() {
    let mut script = Script::greeted();
    script
        .heard(2_000, 1)
        .at(3_000, Input::SpeechStarted)
        .at(3_100, Input::from(RealtimeInput::SpeechStarted))
        .at(3_700 + HANGOVER_MS, Input::SpeechStopped { segment: 0 });
    script.until(6_300);
    assert_eq!(script.done(), Vec::<String>::new(), "they may go on");
    script.until(6_400);
    let mut done = script.done();
    done.sort();
    assert_eq!(done, ["6s cover One moment.", "end turn", "respond 2 Freely"]);

    let mut speaks = Script::greeted();
    speaks
        .heard(2_000, 1)
        .at(3_000, Input::SpeechStarted)
        .at(3_100, Input::from(RealtimeInput::SpeechStarted))
        .until(30_000);
    assert_eq!(speaks.done(), Vec::<String>::new(), "who speaks is listened to");
}

#[test]
fn a_tone_in_place_of_words_is_heard_and_not_written_down() {
    let mut script = Script::greeted();
    script.heard(2_000, 1).caller(3_000, "c1").until(5_600);
    script
        .at(5_600, Input::ReplacedByTone { utterance: 2, audio: Duration::from_millis(400) })
        .played(5_700, 2, 20)
        .heard(6_000, 2);
    script.done();
    script.until(8_300);
    assert_eq!(script.done(), Vec::<String>::new(), "it was a sign of life");
    script.until(8_500);
    assert_eq!(script.done().len(), 1, "the wait is bridged again");
    script.at(8_600, Input::HangUpRequested);
    assert_eq!(script.words, ["Agent: one two three four"]);
}
