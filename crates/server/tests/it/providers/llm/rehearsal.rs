//! A conversation in virtual time, its model asked for real: the caller, the voice and the line are arithmetic, so that only
//! the model's server decides how it goes. A model's first words take as long as it says, whatever the machine is doing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use switchhook::providers::{Llm, LlmEvent, LlmRequest, ProviderError, ToolSpec};
use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::call::ErrorCode;
use switchhook_core::conversation::{Conversation, Effect, End, Entry, Failure, FailureCode, Input};
use tokio::sync::mpsc;

const MS_PER_CHARACTER: u64 = 60;
const SAMPLES_PER_MS: u64 = 8;
/// What a model that answers takes to its first word.
const THINKS: u64 = 600;
/// What a voice takes to its first sound.
const BREATHES: u64 = 150;

/// A conversation and everything around it, at `now` milliseconds.
pub(super) struct Rehearsal {
    conversation: Conversation,
    llm: Arc<dyn Llm>,
    tools: Vec<ToolSpec>,
    /// What a tool answers.
    tool_says: serde_json::Value,
    now: u64,
    /// What will happen, and when.
    ahead: Vec<(u64, Input)>,
    /// Utterances to play: number, when it is made, length in milliseconds.
    line: VecDeque<(u32, u64, u64)>,
    played: u64,
    held: bool,
    segment: u32,
    /// When the agent's sound is on the line.
    pub(super) sounds: Vec<(u64, u64)>,
    pub(super) transcript: Vec<Entry>,
    pub(super) said: Vec<String>,
    pub(super) end: Option<(u64, End)>,
}

impl Rehearsal {
    pub(super) async fn new(agent: &AgentConfig, llm: Arc<dyn Llm>, tools: Vec<ToolSpec>) -> Self {
        let mut rehearsal = Self {
            conversation: Conversation::new(agent, at(0)),
            llm,
            tools,
            tool_says: serde_json::json!({ "free": ["19:00"] }),
            now: 0,
            ahead: Vec::new(),
            line: VecDeque::new(),
            played: 0,
            held: false,
            segment: 0,
            sounds: Vec::new(),
            transcript: Vec::new(),
            said: Vec::new(),
            end: None,
        };
        rehearsal.tell(Input::MediaStarted).await;
        rehearsal
    }

    /// The caller speaks for as long as their words take, and is understood a moment later.
    pub(super) async fn caller_says(&mut self, words: &str) -> u64 {
        let ends = self.now + MS_PER_CHARACTER * u64::try_from(words.chars().count()).expect("few");
        let segment = self.segment;
        self.segment += 1;
        let text = words.to_owned();
        self.ahead.push((self.now + 64, Input::SpeechStarted));
        self.ahead.push(((self.now + 600).min(ends), Input::Partial { text: text.clone() }));
        self.ahead.push((ends + 200, Input::SpeechStopped { segment }));
        self.ahead.push((ends + 300, Input::Final { segment, text }));
        self.until(ends + 320).await;
        ends
    }

    /// Lets time pass, frame by frame, until then or until the call is over.
    pub(super) async fn until(&mut self, ms: u64) {
        while self.now < ms && self.end.is_none() {
            self.now += 20;
            self.play().await;
            let due: Vec<Input> =
                self.ahead.extract_if(.., |(when, _)| *when <= self.now).map(|(_, input)| input).collect();
            for input in due {
                self.tell(input).await;
            }
            if self.conversation.next_deadline().is_some_and(|when| when <= at(self.now)) {
                self.tell(Input::Tick).await;
            }
        }
    }

    /// Until the agent has been silent for as long as `quiet`, or the call is over.
    pub(super) async fn until_silent_for(&mut self, quiet: u64) {
        let limit = self.now + 120_000;
        while self.end.is_none() && self.now < limit {
            self.until(self.now + 20).await;
            let last = self.sounds.last().map_or(0, |(_, ended)| *ended);
            if self.line.is_empty() && self.ahead.is_empty() && self.now >= last + quiet {
                return;
            }
        }
    }

    async fn play(&mut self) {
        let Some(&(utterance, ready, length)) =
            self.line.front().filter(|(_, ready, _)| !self.held && *ready <= self.now)
        else {
            return;
        };
        let _ = ready;
        match self.sounds.last_mut().filter(|(_, ended)| *ended + 20 >= self.now) {
            Some((_, ended)) => *ended = self.now,
            None => self.sounds.push((self.now - 20, self.now)),
        }
        self.played += 20;
        if self.played < length {
            let samples = self.played * SAMPLES_PER_MS;
            self.tell(Input::Played { utterance, samples }).await;
        } else {
            self.played = 0;
            self.line.pop_front();
            self.tell(Input::PlaybackFinished { utterance }).await;
        }
    }

    async fn tell(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.conversation.handle(at(self.now), input) {
                inputs.extend(self.perform(effect).await);
            }
        }
    }

    async fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Ask { turn, messages, .. } => self.ask(turn, messages).await,
            Effect::CancelModel { turn } => self.ahead.retain(|(_, input)| of_turn(input) != Some(turn)),
            Effect::Speak { utterance, text, .. } => {
                let length = MS_PER_CHARACTER * u64::try_from(text.chars().count()).expect("few");
                self.line.push_back((utterance, self.now + BREATHES, length));
                self.said.push(text);
                let samples = length * SAMPLES_PER_MS;
                return Some(Input::SpeechReady { utterance, samples, words: Vec::new(), complete: true });
            }
            Effect::ClearPlayback => {
                self.line.clear();
                self.played = 0;
                self.held = false;
            }
            Effect::Pause => self.held = true,
            Effect::Resume => self.held = false,
            Effect::RunTool { turn, call } => {
                let result = self.tool_says.clone();
                self.ahead.push((self.now + 400, Input::ToolResult { turn, id: call.id, result }));
            }
            Effect::Transcript(entry) => self.transcript.push(entry),
            Effect::Turn(_) => {}
            Effect::HangUp { reason } => self.end = Some((self.now, reason)),
        }
        None
    }

    /// Asks for real, and puts what comes of it where it belongs in virtual time.
    async fn ask(&mut self, turn: u32, messages: Vec<switchhook_core::conversation::Message>) {
        let request =
            LlmRequest { model: None, messages, tools: self.tools.clone(), temperature: None, max_tokens: None };
        let (sender, mut events) = mpsc::channel(256);
        let gathering = async {
            let mut given = Vec::new();
            while let Some(event) = events.recv().await {
                given.push(event);
            }
            given
        };
        let (result, given) = tokio::join!(self.llm.answer(request, sender), gathering);
        let mut when = self.now + THINKS;
        for event in given {
            self.ahead.push((
                when,
                match event {
                    LlmEvent::Delta(text) => Input::ModelDelta { turn, text },
                    LlmEvent::ToolCall(call) => Input::ModelToolCall { turn, call },
                },
            ));
            when += 20;
        }
        match result {
            Ok(_) => self.ahead.push((when, Input::ModelDone { turn })),
            // The doubles are waited for by a fraction of what a real server is.
            Err(ProviderError::Timeout { waited_ms, .. }) => {
                let real = if waited_ms <= 500 { 8_000 } else { 5_000 };
                let failure = Failure::new(FailureCode::ProviderTimeout, "It was late.");
                self.ahead.push((when + real, Input::ModelFailed { turn, failure }));
            }
            Err(error) => {
                let code =
                    if error.code() == ErrorCode::ConfigError { FailureCode::Config } else { FailureCode::Pipeline };
                self.ahead.push((when, Input::ModelFailed { turn, failure: Failure::new(code, error.to_string()) }));
            }
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The longest time without the agent's sound from `since` to the end of the call, in milliseconds.
    pub(super) fn longest_silence(&self, since: u64) -> u64 {
        self.longest_silence_until(since, self.end.as_ref().map_or(self.now, |(end, _)| *end))
    }

    pub(super) fn longest_silence_until(&self, since: u64, end: u64) -> u64 {
        let mut silent_since = since;
        let mut longest = 0;
        for (began, ended) in self.sounds.iter().filter(|(_, ended)| *ended > since) {
            longest = longest.max(began.saturating_sub(silent_since));
            silent_since = *ended;
        }
        longest.max(end.saturating_sub(silent_since))
    }
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_micros(0) + Duration::from_millis(ms)
}

fn of_turn(input: &Input) -> Option<u32> {
    match input {
        Input::ModelDelta { turn, .. }
        | Input::ModelToolCall { turn, .. }
        | Input::ModelDone { turn }
        | Input::ModelFailed { turn, .. } => Some(*turn),
        _ => None,
    }
}
