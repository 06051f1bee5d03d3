//! The engine of a conversation that a speech-to-speech model holds: turn taking is the model's, everything else is ours.
//!
//! [`Realtime`] is driven as [`super::Conversation`] is: give it one [`Input`], perform every [`Effect`] in order, wait for the
//! next input or for [`Realtime::next_deadline`]. After [`Effect::HangUp`] it is over.
//!
//! The cast: `mouth` knows what is queued and what was heard of it, `responses` has the model speak and runs its tools,
//! `sessions` takes the conversation from one that is lost to the next one, `waiting` bridges and bounds the caller's waits, `lines` writes the transcript in the order of what was said, `control` does
//! what the API asks, `ending` says goodbye.

mod control;
mod ending;
mod lines;
mod messages;
mod mouth;
mod responses;
mod sessions;
mod waiting;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

pub use self::messages::{Direction, Effect, Input};

use self::ending::{Closing, Machine};
use self::lines::Lines;
use self::mouth::Mouth;
use self::responses::{Response, Wish};
use self::sessions::{LateTool, Understanding};
use self::waiting::Owed;
use super::history::{History, Message};
use super::input::ToolCall;
use super::keys::Keys;
use super::mouth::Kind;
use super::silence::Quiet;
use super::timings::Timings;
use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};
use crate::language::Language;

/// Added to the instructions when the model is to open the conversation in its own words.
const GREET: &str = "The caller has just come on the line. Greet them in one or two short sentences.";

/// One conversation. `Debug` shows where it stands, not what was said.
pub struct Realtime {
    agent: AgentConfig,
    language: &'static Language,
    timings: Timings,
    now: Timestamp,
    effects: Vec<Effect>,
    history: History,
    mouth: Mouth,
    lines: Lines,
    /// The response that the model is giving.
    response: Option<Response>,
    /// What it was told to speak about and has not begun with.
    asked: Option<Wish>,
    wishes: VecDeque<Wish>,
    last_wish: u32,
    /// Responses in a row that came to nothing.
    failures: u32,
    /// Tools that run.
    tools: Vec<ToolCall>,
    /// Calls and answers that belong together in the history.
    round: Vec<(ToolCall, serde_json::Value)>,
    /// The other voice could not speak the last time.
    voiceless: bool,
    /// What is said while they run.
    filler: Option<String>,
    /// Tools that run and were called in a session that was lost.
    late_tools: Vec<LateTool>,
    /// What the next session is to be told before anything else.
    untold: Vec<String>,
    /// One of them has answered, and the model has not spoken since.
    late_result: bool,
    /// How often in a row tools have run since the caller's last turn.
    rounds: u32,
    pass_on: Option<(String, String)>,
    voice: Voice,
    /// When the caller fell silent whom only our own voice detection has heard.
    missed: Option<Timestamp>,
    understanding: Understanding,
    /// Since when the model hears the caller speak.
    speaking: Option<Timestamp>,
    owed: Option<Owed>,
    keys: Keys,
    key_at: Option<Timestamp>,
    quiet: Quiet,
    closing: Option<Closing>,
    rescued: bool,
    machine: Option<Machine>,
    keys_on_line: bool,
    /// The carrier is asked to pass the caller on; the tool call that wants it, if one does.
    passing_on: Option<Option<String>>,
    lost: bool,
    /// What the caller has said since is not known to any session.
    unheard_since: Timestamp,
    /// The next session hears the caller before it answers them.
    hears_first: bool,
    /// It is hearing what they said before it began.
    catching_up: bool,
    began: Timestamp,
    media: bool,
    greet_at: Option<Timestamp>,
    /// When sound last came or was heard.
    progress: Timestamp,
    turns: u32,
    ended: bool,
}

/// When the caller spoke, by our own voice detection.
#[derive(Default)]
struct Voice {
    /// Since when the caller speaks, or spoke last.
    began: Option<Timestamp>,
    /// The first sound since the last turn was taken.
    turn_began: Option<Timestamp>,
    ended: Option<Timestamp>,
    speaks: bool,
}

type Rule = fn(&mut Realtime) -> bool;

impl Realtime {
    /// A conversation held by this agent, whose texts are already filled in. Where the model speaks first, it has been told to
    /// already, with [`Realtime::opening`] as wish 1.
    #[must_use]
    pub fn new(agent: &AgentConfig, now: Timestamp) -> Self {
        let opening = Self::opening(agent);
        let asked = opening.map(|direction| Wish {
            number: 1,
            kind: Kind::Greeting,
            direction,
            tries: 0,
            unwanted: false,
            asked_at: None,
        });
        Self {
            agent: agent.clone(),
            language: Language::of(&agent.language),
            timings: Timings::default(),
            now,
            effects: Vec::new(),
            history: History::new(&agent.instructions),
            mouth: Mouth::default(),
            lines: Lines::default(),
            response: None,
            asked,
            wishes: VecDeque::new(),
            last_wish: 1,
            failures: 0,
            tools: Vec::new(),
            round: Vec::new(),
            voiceless: false,
            filler: None,
            late_tools: Vec::new(),
            untold: Vec::new(),
            late_result: false,
            rounds: 0,
            pass_on: None,
            voice: Voice::default(),
            missed: None,
            understanding: Understanding::default(),
            speaking: None,
            owed: None,
            keys: Keys::default(),
            key_at: None,
            quiet: Quiet::since(now),
            closing: None,
            rescued: false,
            machine: None,
            keys_on_line: false,
            passing_on: None,
            lost: false,
            unheard_since: now,
            hears_first: false,
            catching_up: false,
            began: now,
            media: false,
            greet_at: None,
            progress: now,
            turns: 0,
            ended: false,
        }
    }

    /// What the model says first: it can be told to while the phone rings, as wish 1.
    #[must_use]
    pub fn opening(agent: &AgentConfig) -> Option<Direction> {
        (agent.greeting.mode != GreetingMode::Wait).then(|| Self::greeting(agent))
    }

    fn greeting(agent: &AgentConfig) -> Direction {
        let text = agent.greeting.text.trim();
        match agent.greeting.mode {
            GreetingMode::Generate => Direction::Directed(GREET.to_owned()),
            _ if text.is_empty() => Direction::Directed(GREET.to_owned()),
            _ => Direction::Exactly(text.to_owned()),
        }
    }

    /// Moves the conversation on.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        if self.ended {
            return Vec::new();
        }
        self.now = self.now.max(now);
        self.take_in(input);
        self.settle();
        std::mem::take(&mut self.effects)
    }

    /// When `handle(_, Tick)` is next worth calling; nothing once the conversation is over.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.ended {
            return None;
        }
        let in_talk = [
            self.line_due_at(),
            self.beep_at(),
            self.closing_at(),
            self.stuck_at(),
            self.overdue_at(),
            self.nudge_at(),
            self.cover_at(),
            self.answer_lost_at(),
            self.cancel_lost_at(),
            self.asked_lost_at(),
            self.keys_due_at(),
            self.greet_at,
            self.silence_at(),
            self.reprompt_at(),
        ];
        let in_talk = in_talk.into_iter().filter(|_| self.media);
        [self.maximum_at()].into_iter().chain(in_talk).flatten().min()
    }

    /// The line is gone: gives what belongs into the transcript and is not yet there.
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

    /// The same, and what the caller is about to have heard: what another session is to know.
    #[must_use]
    pub fn so_far(&self) -> Vec<Message> {
        let mut history = self.history.clone();
        for text in self.mouth.remembered() {
            history.agent_was_heard(text, false);
        }
        history.messages()
    }

    /// What the caller said since then another session is to hear before anything else.
    #[must_use]
    pub fn unheard_since(&self) -> Timestamp {
        // A session that is only now there was told to greet them: that is the answer to whatever they have said.
        if self.asked.is_some() { self.now } else { self.unheard_since }
    }

    /// Whether the model is to hear the caller. It does not while nothing that the caller says may change anything: a
    /// model cannot be told not to listen to what it has heard.
    #[must_use]
    pub fn listens(&self) -> bool {
        let protected = !self.agent.greeting.interruptible && self.is_greeting();
        let closing = self.closing.is_some() && !self.may_be_rescued();
        !protected && !closing && self.machine.is_none() && self.passing_on.is_none()
    }

    fn is_greeting(&self) -> bool {
        let greeting = |kind: Kind| kind == Kind::Greeting;
        self.mouth.holds(Kind::Greeting)
            || self.response.as_ref().is_some_and(|response| greeting(response.kind))
            || self.asked.as_ref().is_some_and(|wish| greeting(wish.kind))
    }

    /// Tries the rules in order, from the first one again whenever one applied.
    fn settle(&mut self) {
        const ALWAYS: &[Rule] = &[Realtime::reach_maximum];
        const IN_TALK: &[Rule] = &[
            Realtime::file_what_was_heard,
            Realtime::write_down,
            Realtime::leave_message,
            Realtime::give_up_on_cancelled,
            Realtime::give_up_on_asked,
            Realtime::give_up_on_stuck,
            Realtime::finish_goodbye,
            Realtime::give_up_on_answer,
            Realtime::take_keys,
            Realtime::greet,
            Realtime::end_overdue_turn,
            Realtime::wait_in_silence,
            Realtime::nudge,
            Realtime::bridge,
            Realtime::hang_up_on_silence,
            Realtime::reprompt,
            Realtime::pass_on_when_silent,
            Realtime::ask_next,
        ];
        loop {
            let in_talk = if self.media { IN_TALK } else { &[] };
            if self.ended || !ALWAYS.iter().chain(in_talk).any(|rule| rule(self)) {
                return;
            }
        }
    }

    fn take_in(&mut self, input: Input) {
        match input {
            Input::MediaStarted => self.start(),
            Input::VoiceStarted => self.voice_started(),
            Input::VoiceStopped => self.voice_stopped(),
            Input::SpeechStarted => self.speech_started(),
            Input::SpeechStopped => self.speech_stopped(),
            Input::TurnTaken { item } => self.turn_taken(item),
            Input::CallerSaid { item, text } => self.caller_said(&item, text),
            Input::ResponseStarted { response, wish } => self.response_started(response, wish),
            Input::Busy { wish } => self.busy(wish),
            Input::Sound { response, item, samples } => self.sound(&response, &item, samples),
            Input::Words { response, item, text } => self.words(&response, &item, &text),
            Input::SoundDone { item } => self.sound_done(&item),
            Input::ToolCall { response, call, filler } => self.tool_called(&response, call, filler),
            Input::ResponseDone { response, failed } => self.response_done(&response, failed),
            Input::Opening => self.lost = true,
            Input::Lost => self.session_lost(),
            Input::Resumed => self.session_resumed(),
            Input::Failed(failure) => self.give_up(failure),
            Input::CoverReady { utterance, samples, complete } => self.cover_ready(utterance, samples, complete),
            Input::CoverFailed { utterance, samples } => self.cover_failed(utterance, samples),
            Input::Played { utterance, samples } => self.played(utterance, samples),
            Input::PlaybackFinished { utterance } => self.finished(utterance),
            Input::Dtmf { digit } => self.key_pressed(digit),
            Input::Say { text, interrupt } => self.asked_to_say(text, interrupt),
            Input::KeysStarted => self.keys_on_line = true,
            Input::KeysSent => self.keys_sent(),
            Input::ToolResult { id, result } => self.tool_answered(&id, result),
            Input::PassOn { id, number } => self.pass_on = Some((id, number)),
            Input::TransferStarted => self.transfer_started(),
            Input::TransferRefused => self.transfer_refused(),
            Input::MachineDetected { beep } => self.machine_detected(beep),
            Input::HangUpRequested => self.end(super::End::Requested),
            Input::Tick => {}
        }
    }

    fn start(&mut self) {
        if std::mem::replace(&mut self.media, true) {
            return;
        }
        self.quiet = Quiet::since(self.now);
        self.progress = self.now;
        if let Some(asked) = &mut self.asked {
            asked.asked_at = Some(self.now);
        }
        match self.agent.greeting.mode {
            GreetingMode::Wait => self.greet_at = Some(self.now + self.timings.greeting_wait),
            _ => self.owed = Some(Owed::nothing_asked(self.now)),
        }
    }

    fn greet(&mut self) -> bool {
        let due = self.is_due(self.greet_at) && self.speaking.is_none();
        if due {
            self.greet_at = None;
            self.owed = Some(Owed::nothing_asked(self.now));
            self.want(Kind::Greeting, Self::greeting(&self.agent));
        }
        due
    }

    fn voice_started(&mut self) {
        let began = (self.now - self.timings.vad_onset).max(self.began);
        self.voice.turn_began.get_or_insert(began);
        (self.voice.speaks, self.voice.began) = (true, Some(began));
        self.quiet.sign_of_life(self.now);
    }

    fn voice_stopped(&mut self) {
        let ended = (self.now - self.timings.vad_hangover).max(self.began);
        (self.voice.speaks, self.voice.ended) = (false, Some(ended));
        self.quiet.sign_of_life(self.now);
        // Nobody else hears them now; they wait all the same.
        if self.lost && self.listens() {
            self.hears_first = true;
            self.greet_at = None;
            self.owed = Some(Owed::an_answer(ended, self.now));
        } else {
            self.note_missed(ended);
        }
    }

    fn is_due(&self, at: Option<Timestamp>) -> bool {
        at.is_some_and(|at| at <= self.now)
    }

    fn maximum_at(&self) -> Option<Timestamp> {
        let longest = Duration::from_secs(self.agent.limits.max_duration_seconds.into());
        self.closing.is_none().then_some(self.began + longest)
    }
}

impl fmt::Debug for Realtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Realtime")
            .field("now", &self.now)
            .field("turns", &self.turns)
            .field("speaking", &self.speaking)
            .field("closing", &self.closing.is_some())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
