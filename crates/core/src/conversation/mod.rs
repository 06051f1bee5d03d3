//! The turn engine: who speaks when, and what about.
//!
//! [`Conversation`] is a machine without clock and without sockets. It is driven so: give it one [`Input`], perform every
//! [`Effect`] in order, wait for the next input or for [`Conversation::next_deadline`], whichever is first; at the deadline
//! send [`Input::Tick`]. After [`Effect::HangUp`] it is over and says nothing more.
//!
//! The cast: `caller` gathers the caller's turn, `keys` what is typed in it, and `endpointing` says how much silence ends it (`turns`); `answer` asks the
//! model, whose stream `speech` cuts into utterances, and runs its `tools`; `mouth` queues them and knows what was `heard`, which alone enters
//! `history` and `transcript`; `barge_in` judges callers who speak over the agent (`overlap`); `ending` says goodbye,
//! also when `failures` cannot be covered up; `dead_air` lets no caller wait in silence; `control` does what the API asks of a running conversation.
//!
//! Calls with a speech-to-speech model have an engine of their own in [`realtime`].
//!
//! After each input the rules of [`Conversation::settle`] are tried in order until none applies any more. A rule looks at
//! the state and the time only; what time alone can make it do is in [`Conversation::next_deadline`].

mod answer;
mod barge_in;
mod caller;
mod control;
mod dead_air;
mod effect;
mod ending;
mod endpointing;
mod failures;
mod heard;
mod history;
mod input;
mod keys;
mod mouth;
mod overlap;
mod phrases;
pub mod realtime;
mod silence;
mod speech;
mod timings;
mod tools;
mod transcript;
mod turns;

#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::time::Duration;

pub use effect::{Effect, End, TurnTimes};
pub use history::{Message, Role};
pub use input::{Failure, FailureCode, Input, SpokenWord, ToolCall};
pub use timings::Timings;
pub use transcript::{Entry, Speaker};

use self::answer::{Answering, Thinking};
use self::barge_in::Overlap;
use self::caller::Caller;
use self::dead_air::Debt;
use self::ending::{Closing, Machine};
use self::history::History;
use self::mouth::{Kind, Mouth};
use self::silence::Quiet;
use self::tools::LateTool;
use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};
use crate::language::{Language, WordList};

/// One conversation. `Debug` shows where it stands, not what was said.
pub struct Conversation {
    agent: AgentConfig,
    language: &'static Language,
    timings: Timings,
    now: Timestamp,
    effects: Vec<Effect>,
    history: History,
    caller: Caller,
    mouth: Mouth,
    /// The model is being asked, or its tools run.
    thinking: Option<Thinking>,
    late_tools: Vec<LateTool>,
    /// The caller's turn that is being answered.
    answering: Option<Answering>,
    /// Playback is held because the caller speaks over it.
    overlap: Option<Overlap>,
    quiet: Quiet,
    closing: Option<Closing>,
    machine: Option<Machine>,
    /// Texts of the API that wait for the end of an answer.
    to_say: VecDeque<String>,
    /// Tones of keys are on the line, and the agent waits.
    keys_on_line: bool,
    /// The carrier is asked to pass the caller on, and nobody is answered.
    passing_on: bool,
    began: Timestamp,
    media: Option<Timestamp>,
    /// When the agent greets a caller who says nothing.
    greet_at: Option<Timestamp>,
    last_turn: u32,
    turns: u32,
    speculations: u32,
    model_failures: u32,
    /// How long the model was waited for since its last sign of life, in questions that were taken back.
    model_waited: Duration,
    voice_failures: u32,
    /// The caller waits to hear something.
    owed: Option<Debt>,
    /// When the agent was last heard.
    heard_at: Option<Timestamp>,
    /// How often the voice was covered up for since it was last heard.
    covers: u32,
    unclear: u32,
    /// Whether a hang-up was already cancelled because the caller spoke during the goodbye.
    rescued: bool,
    /// Whether the turn before this one had a filler.
    filled: bool,
    /// What the agent said last.
    last_said: String,
    ended: bool,
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("now", &self.now)
            .field("turns", &self.turns)
            .field("last_turn", &self.last_turn)
            .field("saying", &self.mouth.current())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

type Rule = fn(&mut Conversation) -> bool;

impl Conversation {
    /// A conversation held by this agent, whose texts are already filled in.
    #[must_use]
    pub fn new(agent: &AgentConfig, now: Timestamp) -> Self {
        Self::with_timings(agent, Timings::default(), now)
    }

    /// The same with other timings.
    #[must_use]
    pub fn with_timings(agent: &AgentConfig, timings: Timings, now: Timestamp) -> Self {
        Self {
            agent: agent.clone(),
            language: Language::of(&agent.language),
            timings,
            now,
            effects: Vec::new(),
            history: History::new(&agent.instructions),
            caller: Caller::default(),
            mouth: Mouth::default(),
            thinking: None,
            late_tools: Vec::new(),
            answering: None,
            overlap: None,
            quiet: Quiet::since(now),
            closing: None,
            machine: None,
            to_say: VecDeque::new(),
            keys_on_line: false,
            passing_on: false,
            began: now,
            media: None,
            greet_at: None,
            last_turn: 0,
            turns: 0,
            speculations: 0,
            model_failures: 0,
            model_waited: Duration::ZERO,
            voice_failures: 0,
            owed: None,
            heard_at: None,
            covers: 0,
            unclear: 0,
            rescued: false,
            filled: false,
            last_said: String::new(),
            ended: false,
        }
    }

    /// What will be said first: it can be made while the phone rings.
    #[must_use]
    pub fn opening(agent: &AgentConfig) -> Option<String> {
        let text = agent.greeting.text.trim();
        (agent.greeting.mode == GreetingMode::Speak && !text.is_empty()).then(|| text.to_owned())
    }

    /// Texts that may be said in any conversation of this agent, those first that are needed most when its voice is late or
    /// fails. Their sound can be made in advance and kept.
    #[must_use]
    pub fn phrases(agent: &AgentConfig) -> Vec<String> {
        let own = agent.tools.iter().filter_map(|tool| tool.filler.as_deref()).map(|text| text.trim().to_owned());
        let language = Language::of(&agent.language);
        let urgent = phrases::urgent(language).map(str::to_owned);
        let all = urgent.chain(own).chain(phrases::others(language).map(str::to_owned));
        let mut known = HashSet::new();
        all.filter(|text| !text.is_empty() && known.insert(text.clone())).collect()
    }

    /// Moves the conversation on. Nothing is done here: perform the effects, in order.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        if self.ended {
            return Vec::new();
        }
        self.now = self.now.max(now);
        self.take_in(input);
        self.settle();
        self.settle_debt();
        std::mem::take(&mut self.effects)
    }

    /// When `handle(_, Tick)` is next worth calling; nothing once the conversation is over.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.ended {
            return None;
        }
        let always = [self.maximum_at()];
        let in_talk = [
            self.beep_at(),
            self.overlap_at(),
            self.closing_at(),
            self.voice_lost_at(),
            self.voice_late_at(),
            self.model_lost_at(),
            self.tools_lost_at(),
            self.turn_over_at(),
            self.greet_at,
            self.filler_at(),
            self.silence_at(),
            self.reprompt_at(),
        ];
        let in_talk = in_talk.into_iter().filter(|_| self.media.is_some());
        always.into_iter().chain(in_talk).flatten().min()
    }

    /// The line is gone: gives what belongs into the transcript and is not yet there. The reason is yours to know.
    pub fn finish(&mut self, now: Timestamp) -> Vec<Effect> {
        if !self.ended {
            self.now = self.now.max(now);
            self.close_books();
            self.ended = true;
        }
        std::mem::take(&mut self.effects)
    }

    /// The caller's turns that the agent answered: some of the answer was heard.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// What was said and heard so far, the instructions in front.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.history.messages()
    }

    /// Tries the rules in order, from the first one again whenever one applied.
    fn settle(&mut self) {
        const ALWAYS: &[Rule] = &[Conversation::reach_maximum];
        const IN_TALK: &[Rule] = &[
            Conversation::file_what_was_heard,
            Conversation::miss_voice,
            Conversation::leave_message,
            Conversation::judge_overlap,
            Conversation::drop_backchannel,
            Conversation::drop_speculation,
            Conversation::finish_goodbye,
            Conversation::cover_voice,
            Conversation::give_up_on_voice,
            Conversation::give_up_on_model,
            Conversation::give_up_on_tools,
            Conversation::finish_answer,
            Conversation::take_turn,
            Conversation::speculate,
            Conversation::say_what_waits,
            Conversation::greet_late,
            Conversation::fill,
            Conversation::hang_up_on_silence,
            Conversation::reprompt,
        ];
        loop {
            let in_talk: &[Rule] = if self.media.is_some() { IN_TALK } else { &[] };
            let acted = !self.ended && ALWAYS.iter().chain(in_talk).any(|rule| rule(self));
            if !acted {
                return;
            }
        }
    }

    fn take_in(&mut self, input: Input) {
        match input {
            Input::MediaStarted => self.open(),
            Input::SpeechStarted => self.speech_started(),
            Input::SpeechStopped { segment } => self.speech_stopped(segment),
            Input::Partial { text } => {
                let words = self.caller.partial(&text, self.now);
                self.heard_words(words);
            }
            Input::Final { segment, text } => {
                let words = self.caller.settled(segment, &text, self.now);
                self.heard_words(words);
            }
            Input::TurnJudged => self.caller.judged_over(),
            Input::ModelDelta { turn, text } => self.model_says(turn, &text),
            Input::ModelToolCall { turn, call, filler } => self.model_calls(turn, call, filler),
            Input::ModelDone { turn } => self.model_done(turn),
            Input::ModelFailed { turn, failure } => self.model_failed(turn, failure),
            Input::SpeechReady { utterance, samples, words, complete } => {
                let wanted = self.mouth.made(utterance, samples, words, complete, self.now);
                if wanted && samples > 0 && self.mouth.ready_kind(utterance).is_none() {
                    self.note_sound_made(utterance);
                }
            }
            Input::SpeechFailed { utterance, failure } => self.voice_failed(utterance, failure),
            Input::Played { utterance, samples } => {
                let kind = self.mouth.played(utterance, samples, self.now);
                self.agent_heard(kind, utterance);
            }
            Input::PlaybackFinished { utterance } => {
                let kind = self.mouth.finished(utterance, self.now);
                self.agent_heard(kind, utterance);
            }
            Input::Dtmf { digit } => self.key_pressed(digit),
            Input::Say { text, interrupt } => self.asked_to_say(text, interrupt),
            Input::KeysStarted => self.keys_on_line = true,
            Input::KeysSent => self.keys_sent(),
            Input::TransferStarted => self.transfer_started(),
            Input::TransferRefused => self.transfer_refused(),
            Input::HangUpRequested => self.end(End::Requested),
            Input::MachineDetected { beep } => self.machine_detected(beep),
            Input::ToolResult { turn, id, result } => self.tool_answered(turn, id, result),
            Input::RecogniserFailed(failure) => self.give_up(failure),
            Input::Tick => {}
        }
    }

    fn open(&mut self) {
        if self.media.is_some() {
            return;
        }
        self.media = Some(self.now);
        self.quiet = Quiet::since(self.now);
        if self.machine.is_some() {
            return;
        }
        match self.agent.greeting.mode {
            GreetingMode::Speak => {
                if let Some(text) = Self::opening(&self.agent) {
                    self.say(Kind::Greeting, &text);
                }
            }
            GreetingMode::Wait => self.greet_at = Some(self.now + self.timings.greeting_wait),
            GreetingMode::Generate => self.ask_for_greeting(),
        }
    }

    /// In mode `wait`, a caller who says nothing is greeted.
    fn greet_late(&mut self) -> bool {
        if !self.is_due(self.greet_at) {
            return false;
        }
        self.greet_at = None;
        let text = self.agent.greeting.text.trim().to_owned();
        if !text.is_empty() && self.is_calm() {
            self.say(Kind::Greeting, &text);
        }
        true
    }

    fn heard_words(&mut self, words: bool) {
        if words {
            self.greet_at = None;
            self.quiet.sign_of_life(self.now);
        }
    }

    /// Says one utterance, an act by itself.
    fn say(&mut self, kind: Kind, text: &str) {
        self.utter(kind, text, true);
        self.mouth.close();
    }

    fn utter(&mut self, kind: Kind, text: &str, last_of_turn: bool) -> u32 {
        let utterance = self.mouth.add(kind, text, self.now);
        self.voice_asked();
        self.effects.push(Effect::Speak { utterance, text: text.to_owned(), last_of_turn, ready_only: false });
        utterance
    }

    /// Says one of the phrases; nothing in a language without a table.
    fn say_one_of(&mut self, kind: Kind, phrases: WordList) {
        if let Some(phrase) = phrases::vary(phrases, self.now, &self.last_said) {
            self.say(kind, phrase);
        }
    }

    /// Writes down acts that are over.
    fn file_what_was_heard(&mut self) -> bool {
        let Some(spoken) = self.mouth.take_finished() else { return false };
        self.file(spoken);
        true
    }

    fn file(&mut self, spoken: mouth::Spoken) {
        self.quiet.agent_fell_silent(spoken.kind, self.now);
        if spoken.kind == Kind::Answer {
            self.answering = None;
        }
        // A phrase may have come from memory, and says nothing about the voice.
        if !spoken.cut && !matches!(spoken.kind, Kind::Filler | Kind::Apology) {
            self.voice_failures = 0;
        }
        if spoken.heard.is_empty() {
            return;
        }
        if spoken.kind.is_remembered() {
            self.history.agent_was_heard(&spoken.heard, spoken.cut);
        }
        self.last_said.clone_from(&spoken.heard);
        self.effects.push(Effect::Transcript(Entry {
            speaker: Speaker::Agent,
            text: spoken.heard,
            start: spoken.began,
            end: spoken.ended,
            interrupted: spoken.cut,
        }));
    }

    /// Stops the agent at once; what was heard is written down, the rest is forgotten. What the API wanted said and has
    /// not begun waits on: it was promised.
    fn fall_silent(&mut self) {
        self.cancel_model();
        if !self.mouth.is_idle() || self.overlap.is_some() {
            self.effects.push(Effect::ClearPlayback);
        }
        for spoken in self.mouth.cut() {
            self.file(spoken);
        }
        self.overlap = None;
        self.answering = None;
    }

    fn is_due(&self, at: Option<Timestamp>) -> bool {
        at.is_some_and(|at| at <= self.now)
    }

    /// Nobody speaks, thinks or is about to.
    fn is_calm(&self) -> bool {
        self.mouth.is_idle()
            && !self.caller.is_open()
            && self.thinking.is_none()
            && self.closing.is_none()
            && self.machine.is_none()
            && self.to_say.is_empty()
            && !self.keys_on_line
            && !self.passing_on
    }

    /// When the longest duration is over; nothing when the goodbye is being said.
    fn maximum_at(&self) -> Option<Timestamp> {
        Some(self.longest_at()).filter(|_| self.closing.is_none())
    }

    fn longest_at(&self) -> Timestamp {
        self.media.unwrap_or(self.began) + Duration::from_secs(self.agent.limits.max_duration_seconds.into())
    }
}
