//! Scenarios in virtual time: a caller, a model and playback of 60 ms of audio for each character.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;

use super::{
    Conversation, Effect, End, Failure, FailureCode, Input, Message, Role, Speaker, SpeechSource, StrategyInput,
    ToolCall,
};
use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};
use crate::conversation::cascade::{CascadeEffect, CascadeInput};
use crate::language::{ENGLISH, WordList};

mod closing;
mod control;
mod dtmf;
mod failures;
mod greeting;
mod interleaving;
mod interruption;
mod language;
mod overlap;
mod promises;
mod random;
mod response_deadline;
mod settling;
mod silence;
mod tools;
mod turn_taking;
mod voicemail;

const REPROMPTS: WordList = ENGLISH.phrases.reprompts;
const FILLERS: WordList = ENGLISH.phrases.fillers;
const STILL_HERE: WordList = ENGLISH.phrases.still_here;
const COVERS: &[&str] = &[FILLERS[0], STILL_HERE[0]];
const GOODBYES: WordList = ENGLISH.phrases.goodbyes;
const RETRYING: WordList = ENGLISH.phrases.retrying;
const LOST_THREAD: WordList = ENGLISH.phrases.lost_thread;
const TECHNICAL: WordList = ENGLISH.phrases.technical;
const NOT_PUT_THROUGH: WordList = ENGLISH.phrases.not_put_through;
const TIME_IS_UP: WordList = ENGLISH.phrases.time_is_up;

const MS_PER_CHARACTER: u64 = 60;
/// How late the end of speech is reported.
const HANGOVER_MS: u64 = 120;

/// How the TTS behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Speaks,
    Fails(FailureCode),
    SaysNothing,
}

/// Playback at the agent's end.
struct Line {
    queue: VecDeque<(u32, u64)>,
    played_ms: u64,
    held: bool,
}

/// A conversation and its environment.
struct Talk {
    conversation: Conversation,
    now: u64,
    voice: Voice,
    /// Whether phrases are cached.
    ready: bool,
    line: Line,
    segment: u32,
    effects: Vec<(u64, Effect)>,
}

/// Returns an agent that does not greet: tests of greetings set their own.
fn quiet_agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.mode = GreetingMode::Wait;
    agent.greeting.text = String::new();
    agent.turn_taking.speculative = false;
    agent
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_micros(0) + Duration::from_millis(ms)
}

fn failure(code: FailureCode) -> Failure {
    Failure::new(code, "It broke.")
}

/// Returns how long a text takes to say, in milliseconds and as a duration.
fn length(text: &str) -> (u64, Duration) {
    let ms = MS_PER_CHARACTER * u64::try_from(text.chars().count()).unwrap();
    (ms, Duration::from_millis(ms))
}

impl Talk {
    /// Returns a conversation with media from 0 ms on.
    fn with(agent: &AgentConfig) -> Self {
        Self::with_voice(agent, Voice::Speaks)
    }

    fn with_voice(agent: &AgentConfig, voice: Voice) -> Self {
        let conversation = Conversation::cascade(agent, at(0));
        let line = Line { queue: VecDeque::new(), played_ms: 0, held: false };
        let mut talk = Self { conversation, now: 0, voice, ready: false, line, segment: 0, effects: Vec::new() };
        talk.tell(Input::MediaStarted);
        talk
    }

    /// Returns an answered turn: the caller asked something at 1 s, and the agent says `answer` from 3 s on.
    fn with_answer(agent: &AgentConfig, answer: &str) -> Self {
        let mut talk = Self::with(agent);
        talk.until(1_000).caller_says("Is there a table?", 500);
        talk.until(3_000).model_says(answer);
        talk
    }

    fn tell(&mut self, input: Input) -> &mut Self {
        for effect in self.conversation.handle(at(self.now), input) {
            self.effects.push((self.now, effect.clone()));
            self.perform(effect);
        }
        self
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Speak { utterance, text, source: SpeechSource::Cached, .. } => {
                if self.ready {
                    let (ms, audio) = length(&text);
                    self.line.queue.push_front((utterance, ms));
                    self.tell(Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: true });
                } else {
                    let failure = failure(FailureCode::ProviderTimeout);
                    self.tell(Input::SynthesisFailed { utterance, failure });
                }
            }
            Effect::Speak { utterance, text, .. } => match self.voice {
                Voice::Speaks => {
                    let (ms, audio) = length(&text);
                    self.line.queue.push_back((utterance, ms));
                    self.tell(Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: true });
                }
                Voice::Fails(code) => {
                    self.tell(Input::SynthesisFailed { utterance, failure: failure(code) });
                }
                Voice::SaysNothing => {}
            },
            Effect::ClearPlayback => self.line = Line { queue: VecDeque::new(), played_ms: 0, held: false },
            Effect::PausePlayback => self.line.held = true,
            Effect::ResumePlayback => self.line.held = false,
            _ => {}
        }
    }

    /// Advances the time, deadline by deadline and frame by frame.
    fn until(&mut self, ms: u64) -> &mut Self {
        while self.now < ms {
            let frame = (self.now / 20 + 1) * 20;
            let deadline = self.conversation.next_deadline().map_or(u64::MAX, |at| {
                at.since(Timestamp::from_micros(0)).as_micros().div_ceil(1_000).try_into().unwrap()
            });
            self.now = frame.min(ms).min(deadline.max(self.now + 1));
            if self.now == deadline {
                self.tell(Input::Tick);
            }
            if self.now == frame {
                self.play();
            }
        }
        self
    }

    /// Plays 20 ms of audio.
    fn play(&mut self) {
        let Some(&(utterance, length)) = self.line.queue.front().filter(|_| !self.line.held) else { return };
        self.line.played_ms += 20;
        if self.line.played_ms < length {
            self.tell(Input::PlaybackProgress { utterance, audio: Duration::from_millis(self.line.played_ms) });
        } else {
            self.line.played_ms = 0;
            self.line.queue.pop_front();
            self.tell(Input::PlaybackFinished { utterance });
        }
    }

    /// Starts the caller's voice. It is reported after 64 ms.
    fn caller_starts(&mut self) -> &mut Self {
        let reported = self.now + 64;
        self.until(reported).tell(Input::SpeechStarted)
    }

    /// Ends the caller's voice. The end is reported 120 ms later, and the text 180 ms after that.
    fn caller_stops(&mut self, words: &str) -> &mut Self {
        let ended = self.now;
        let segment = self.segment;
        self.segment += 1;
        self.until(ended + HANGOVER_MS).tell(Input::SpeechStopped { segment });
        self.until(ended + 300).tell(Input::from(CascadeInput::TranscriptFinal { segment, text: words.to_owned() }))
    }

    /// Lets the caller speak for `ms` from now on. Returns 300 ms after the last audio.
    fn caller_says(&mut self, words: &str, ms: u64) -> &mut Self {
        let ends = self.now + ms;
        self.caller_starts().until(ends).caller_stops(words)
    }

    fn partial(&mut self, words: &str) -> &mut Self {
        self.tell(Input::from(CascadeInput::TranscriptPartial { text: words.to_owned() }))
    }

    fn delta(&mut self, text: &str) -> &mut Self {
        let turn = self.last_ask();
        self.tell(Input::from(CascadeInput::LlmText { turn, text: text.to_owned() }))
    }

    fn model_done(&mut self) -> &mut Self {
        let turn = self.last_ask();
        self.tell(Input::from(CascadeInput::LlmDone { turn }))
    }

    /// Gives a whole response to the last request.
    fn model_says(&mut self, text: &str) -> &mut Self {
        self.delta(text).model_done()
    }

    fn model_calls(&mut self, id: &str, name: &str) -> &mut Self {
        self.model_calls_with(id, name, None)
    }

    fn model_calls_with(&mut self, id: &str, name: &str, filler: Option<&str>) -> &mut Self {
        let turn = self.last_ask();
        let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: json!({}), signature: None };
        self.tell(Input::from(CascadeInput::LlmToolCall { turn, call, filler: filler.map(str::to_owned) }))
    }

    fn model_fails(&mut self, code: FailureCode) -> &mut Self {
        let turn = self.last_ask();
        self.tell(Input::from(CascadeInput::LlmFailed { turn, failure: failure(code) }))
    }

    /// Returns when each request was made, and whether early.
    fn asks(&self) -> Vec<(u64, bool)> {
        let ask = |(ms, effect): &(u64, Effect)| match effect {
            Effect::Cascade(CascadeEffect::RequestCompletion { speculative, .. }) => Some((*ms, *speculative)),
            _ => None,
        };
        self.effects.iter().filter_map(ask).collect()
    }

    fn last_ask(&self) -> u32 {
        let turn = |(_, effect): &(u64, Effect)| match effect {
            Effect::Cascade(CascadeEffect::RequestCompletion { turn, .. }) => Some(*turn),
            _ => None,
        };
        self.effects.iter().rev().find_map(turn).expect("the model was asked")
    }

    /// Returns the last request to the model, without the instructions.
    fn last_question(&self) -> Vec<(Role, String)> {
        let messages = |(_, effect): &(u64, Effect)| match effect {
            Effect::Cascade(CascadeEffect::RequestCompletion { messages, .. }) => Some(messages.clone()),
            _ => None,
        };
        plain(self.effects.iter().rev().find_map(messages).expect("the model was asked"))
    }

    fn history(&self) -> Vec<(Role, String)> {
        plain(self.conversation.history())
    }

    /// Returns the texts given to the TTS, and when.
    fn spoken(&self) -> Vec<(u64, &str)> {
        let mut spoken = Vec::new();
        for (ms, effect) in &self.effects {
            if let Effect::Speak { text, source: SpeechSource::Any, .. } = effect {
                spoken.push((*ms, text.as_str()));
            }
        }
        spoken
    }

    /// Returns who said what, and whether it was interrupted.
    fn transcript(&self) -> Vec<(Speaker, &str, bool)> {
        let mut entries = Vec::new();
        for (_, effect) in &self.effects {
            if let Effect::Transcript(entry) = effect {
                entries.push((entry.speaker, entry.text.as_str(), entry.interrupted));
            }
        }
        entries
    }

    /// Returns when effects of a kind came.
    fn times(&self, wanted: impl Fn(&Effect) -> bool) -> Vec<u64> {
        self.effects.iter().filter(|(_, effect)| wanted(effect)).map(|(ms, _)| *ms).collect()
    }

    /// Returns when and why the call was ended.
    fn end(&self) -> Option<(u64, &End)> {
        self.effects.iter().find_map(|(ms, effect)| match effect {
            Effect::HangUp { reason } => Some((*ms, reason)),
            _ => None,
        })
    }
}

fn plain(messages: Vec<Message>) -> Vec<(Role, String)> {
    messages.into_iter().filter(|m| m.role != Role::System).map(|m| (m.role, m.text)).collect()
}

fn user(text: &str) -> (Role, String) {
    (Role::User, text.to_owned())
}

fn assistant(text: &str) -> (Role, String) {
    (Role::Assistant, text.to_owned())
}
