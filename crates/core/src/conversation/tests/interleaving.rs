//! Random inputs in random order: the conversation keeps its invariants.

use std::collections::{HashMap, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::agent::{MachineDetection, OnMachine};
use crate::conversation::{MachineEvidence, Timings};
use crate::replay::{Header, InputLog, InputLogWriter, TurnStrategy, rerun};

const MACHINE: [MachineEvidence; 3] = [MachineEvidence::Carrier, MachineEvidence::Words, MachineEvidence::Beep];

/// The kind of the next input, its two arguments, and how many milliseconds later it comes.
type Step = (u8, u8, u8, u8);

fn agent(seed: u16) -> AgentConfig {
    let bit = |n: u16| seed >> n & 1 == 1;
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.mode = [GreetingMode::Speak, GreetingMode::Wait, GreetingMode::Generate][usize::from(seed % 3)];
    agent.greeting.text = if bit(2) { String::new() } else { "hello0".to_owned() };
    agent.greeting.interruptible = bit(3);
    agent.interruption.enabled = !bit(4);
    agent.turn_taking.speculative = !bit(5);
    agent.limits.max_duration_seconds = if bit(6) { 10 } else { 60 };
    agent.silence.hangup_after_seconds = if bit(7) { Some(5) } else { None };
    agent.answering_machine.mode = if bit(8) { MachineDetection::Detect } else { MachineDetection::Off };
    agent.answering_machine.on_machine = if bit(9) { OnMachine::LeaveMessage } else { OnMachine::Hangup };
    agent.dtmf.enabled = !bit(11);
    agent.dtmf.interrupt = bit(12);
    agent.dtmf.finish_on_key = bit(13).then(|| "#".to_owned());
    agent.language = if bit(15) { "xx" } else { "en-US" }.to_owned();
    agent.dtmf.max_digits = if bit(14) { 2 } else { 32 };
    agent.answering_machine.message = bit(10).then(|| "message0 message1".to_owned());
    agent
}

/// Drives a conversation and checks every effect.
struct Watched {
    conversation: Conversation,
    agent: AgentConfig,
    /// Pressed digits that no turn has shown yet.
    keys: String,
    now: Timestamp,
    began: Timestamp,
    media: bool,
    last_ask: u32,
    last_utterance: u32,
    texts: HashMap<u32, String>,
    /// Utterances of which anything was played.
    heard: HashSet<u32>,
    /// Whether phrases are cached, and the utterances that were said before everything else.
    ready: bool,
    first: HashSet<u32>,
    words: u32,
    held: bool,
    ended: bool,
    log: InputLogWriter,
    effects: Vec<(Timestamp, Effect)>,
}

impl Watched {
    fn tell(&mut self, input: Input) {
        self.media |= input == Input::MediaStarted;
        if let Input::Dtmf { digit } = input {
            self.keys.push(digit);
        }
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.log.record(self.now, &input);
            for effect in self.conversation.handle(self.now, input) {
                self.effects.push((self.now, effect.clone()));
                inputs.extend(self.check(effect));
            }
        }
        assert_eq!(self.conversation.next_deadline().is_none(), self.ended, "a deadline, or an end");
    }

    /// Checks an effect. Returns the immediate response to it.
    fn check(&mut self, effect: Effect) -> Option<Input> {
        assert!(!self.ended, "nothing follows a hang-up");
        match effect {
            Effect::Cascade(CascadeEffect::RequestCompletion { turn, messages, .. }) => {
                assert!(turn > self.last_ask, "questions rise");
                assert_eq!(messages[0].role, Role::System);
                self.last_ask = turn;
            }
            Effect::Speak { utterance, text, source, .. } => {
                let cached_only = source == SpeechSource::Cached;
                assert!(utterance > self.last_utterance, "utterances rise");
                assert!(!text.is_empty());
                assert!(!text.to_lowercase().contains("stale"), "an answer to another question is dropped");
                self.last_utterance = utterance;
                self.texts.insert(utterance, text);
                if cached_only && self.ready {
                    self.first.insert(utterance);
                    return Some(Input::SpeechSynthesized {
                        utterance,
                        audio: Duration::from_millis(100),
                        words: Vec::new(),
                        complete: true,
                    });
                } else if cached_only {
                    return Some(Input::SynthesisFailed { utterance, failure: failure(FailureCode::ProviderTimeout) });
                }
            }
            Effect::PausePlayback => assert!(!std::mem::replace(&mut self.held, true), "held twice"),
            Effect::ResumePlayback => assert!(std::mem::replace(&mut self.held, false), "went on without being held"),
            Effect::ClearPlayback => self.held = false,
            Effect::Transcript(entry) => {
                assert!(!entry.text.is_empty() && entry.start <= entry.end && entry.end <= self.now);
                match entry.speaker {
                    Speaker::Agent => self.check_heard(&entry.text),
                    Speaker::Caller => self.check_keys(&entry.text),
                }
            }
            Effect::HangUp { .. } => self.ended = true,
            _ => {}
        }
        None
    }

    /// Checks that every word belongs to an utterance that was at least partly played.
    fn check_heard(&self, text: &str) {
        let heard: Vec<&str> = self.heard.iter().filter_map(|n| self.texts.get(n)).map(String::as_str).collect();
        for word in text.split(' ') {
            assert!(heard.iter().any(|text| text.split(' ').any(|w| w == word)), "{word} was never played");
        }
    }

    /// Checks that the digits of a turn were pressed since the previous turn, in that order, and that no input is too long.
    fn check_keys(&mut self, text: &str) {
        let inputs = crate::privacy::pressed_in(text);
        assert!(inputs.is_empty() || self.agent.dtmf.enabled, "nobody listens to keys");
        let mut pressed = self.keys.chars();
        for input in &inputs {
            assert!(input.len() <= self.agent.dtmf.max_digits as usize, "{input} is too long");
            for key in input.chars() {
                assert!(pressed.any(|other| other == key), "{key} was not pressed");
            }
        }
        // A turn may be written after keys that belong to the next one.
        if !inputs.is_empty() {
            self.keys.clear();
        }
    }

    /// Advances the time, with a tick at each deadline.
    fn pass(&mut self, until: Timestamp) {
        while let Some(deadline) = self.conversation.next_deadline().filter(|deadline| *deadline <= until) {
            self.now = self.now.max(deadline);
            self.tell(Input::Tick);
            let next = self.conversation.next_deadline();
            assert!(next.is_none_or(|next| next > self.now), "what is due is done");
        }
        self.now = self.now.max(until);
    }

    /// Returns new text, so that each word can be recognised again.
    fn say(&mut self, kind: u8) -> String {
        let phrase = match kind % 8 {
            0 => return String::new(),
            1 => return "mm-hmm".to_owned(),
            2 => return "bye".to_owned(),
            3 => return "wait".to_owned(),
            4 => format!("w{} and", self.words),
            _ => format!("w{}. W{}x w{}y, w{}z.", self.words, self.words, self.words, self.words),
        };
        self.words += 1;
        phrase
    }

    /// Returns a number near the last one: mostly right, sometimes late, sometimes unknown.
    fn near(last: u32, by: u8) -> u32 {
        match by % 8 {
            0 => last.saturating_sub(1),
            1 => last.saturating_sub(2),
            2 => last + 1,
            3 => u32::MAX,
            _ => last,
        }
    }

    fn input(&mut self, (what, a, b, _): Step) -> Input {
        let (turn, utterance) = (Self::near(self.last_ask, a), Self::near(self.last_utterance, a));
        let segment = u32::from(a % 6);
        let failure = failure(if b % 8 == 0 { FailureCode::Config } else { FailureCode::Pipeline });
        match what % 44 {
            0..4 => Input::SpeechStarted,
            4..8 => Input::SpeechStopped { segment },
            8..11 => Input::from(CascadeInput::TranscriptPartial { text: self.say(b) }),
            11..15 => Input::from(CascadeInput::TranscriptFinal { segment, text: self.say(b) }),
            15 => Input::from(CascadeInput::EndOfTurn),
            16..20 if turn == self.last_ask => {
                Input::from(CascadeInput::LlmText { turn, text: format!(" {}", self.say(b)) })
            }
            16..20 => Input::from(CascadeInput::LlmText { turn, text: "Stale, stale, stale. Stale.".to_owned() }),
            20 => {
                let name = if b % 2 == 0 { "end_call" } else { "tables" };
                let call =
                    ToolCall { id: (b % 4).to_string(), name: name.to_owned(), arguments: json!({}), signature: None };
                Input::from(CascadeInput::LlmToolCall {
                    turn,
                    call,
                    filler: (b % 3 == 0).then(|| "One moment.".to_owned()),
                })
            }
            21..24 => Input::from(CascadeInput::LlmDone { turn }),
            24 => Input::from(CascadeInput::LlmFailed { turn, failure }),
            25..28 => {
                let audio = Duration::from_micros(u64::from(b) * 12_500);
                Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: b % 2 == 0 }
            }
            28 => Input::SynthesisFailed { utterance, failure },
            29..32 => {
                self.heard.insert(utterance);
                Input::PlaybackProgress { utterance, audio: Duration::from_micros(u64::from(b) * 12_500) }
            }
            32..35 => {
                self.heard.extend(1..=utterance.min(self.last_utterance));
                self.heard.extend(&self.first);
                Input::PlaybackFinished { utterance }
            }
            35 | 40..44 => {
                Input::Dtmf { digit: if b < 192 { ['1', '2', '#', 'D'][usize::from(b % 4)] } else { char::from(b) } }
            }
            36 => match a % 8 {
                0 => Input::DtmfSendStarted,
                1 => Input::DtmfSent,
                2 => Input::TransferStarted,
                3 => Input::TransferFailed,
                4 => Input::TransferRequested { id: (b % 4).to_string(), number: "+12025550142".to_owned() },
                _ => Input::Say { text: self.say(b), interrupt: a % 8 > 5 },
            },
            37 => Input::MachineDetected { beep: b % 2 == 0, by: MACHINE[usize::from(a % 3)] },
            38 => Input::ToolResult { turn, id: (b % 4).to_string(), result: json!(b) },
            _ => match b {
                0..8 => Input::HangUpRequested,
                8..16 => Input::from(CascadeInput::SttFailed(failure)),
                16..64 => Input::MediaStarted,
                _ => Input::Tick,
            },
        }
    }
}

#[test]
fn every_interleaving_keeps_the_rules_and_ends() {
    let strategy = (any::<u16>(), 0_usize..3, vec(any::<Step>(), 0..60));
    random::check(&strategy, |(seed, early, steps)| keeps_the_rules_and_ends(seed, early, steps));
}

fn keeps_the_rules_and_ends(seed: u16, early: usize, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let agent = agent(seed);
    let began = at(0);
    let mut watched = Watched {
        conversation: Conversation::cascade(&agent, began),
        agent: agent.clone(),
        keys: String::new(),
        now: began,
        began,
        media: false,
        last_ask: 0,
        last_utterance: 0,
        texts: HashMap::new(),
        heard: HashSet::new(),
        ready: seed >> 15 == 1,
        first: HashSet::new(),
        words: 0,
        held: false,
        ended: false,
        log: InputLogWriter::default(),
        effects: Vec::new(),
    };
    // Another run takes as long as the first: one in eight is enough.
    let replayed = steps.len().is_multiple_of(8);
    for (i, step) in steps.into_iter().enumerate() {
        if i == early && !watched.media {
            watched.began = watched.now;
            watched.tell(Input::MediaStarted);
        }
        let next = watched.input(step);
        if next == Input::MediaStarted && !watched.media {
            watched.began = watched.now;
        }
        watched.tell(next);
        let later = watched.now + Duration::from_millis(u64::from(step.3).pow(2) / 16);
        watched.pass(later);
    }
    let longest = Duration::from_secs(agent.limits.max_duration_seconds.into()) + Timings::default().goodbye_limit;
    let end = watched.began + longest;
    watched.pass(end);
    prop_assert!(watched.ended, "it ends after the longest duration and a goodbye");

    if replayed {
        let header = Header::new("test", TurnStrategy::Cascade, &agent);
        let mut log = InputLog::parse(&watched.log.finish(&header, watched.now)).expect("a log");
        // The instructions are left out, and are among the effects.
        log.header.agent = agent;
        prop_assert!(rerun(&log).effects == watched.effects, "the same inputs have the same effects");
    }
    Ok(())
}
