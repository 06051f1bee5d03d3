//! Turn-taking by STT, LLM and TTS: decides when the caller has finished and when they interrupt, and speaks the LLM's response sentence by sentence.
//!
//! `caller_turn` is what the caller says; `endpointing` weighs the `evidence` that the turn is over, and computes how much silence that needs
//! (`turn_taking`). `llm` requests the response, which `sentences` splits into utterances, and runs its tools. `barge_in` evaluates callers who speak
//! over the agent (`overlap`). `dead_air` limits the silence while the caller waits, and `failures` covers failures of providers.

mod barge_in;
mod caller_turn;
mod dead_air;
mod dictation;
mod endpointing;
pub(super) mod evidence;
mod failures;
mod llm;
pub(super) mod markdown;
pub(super) mod messages;
mod overlap;
mod pauses;
mod question;
mod sentences;
mod turn_taking;
mod weights;

use std::time::Duration;

use serde_json::{Value, json};

pub use self::caller_turn::has_words;
pub use self::endpointing::probability;
pub use self::evidence::{Evidence, Found, Spoken, evidence};
pub use self::messages::{CascadeEffect, CascadeInput};

use self::barge_in::{Overlap, Words};
use self::caller_turn::{CallerTurn, FinishedTurn, spoken};
use self::llm::{CompletionRequest, TurnResponse};
use self::markdown::named_keys;
use self::pauses::Pauses;
use self::sentences::sentences_of;

use super::Conversation;
use super::dialogue::Dialogue;
use super::effect::{Effect, End};
use super::failure::Failure;
use super::history::{Message, Role};
use super::input::StrategyInput;
use super::phase::Phase;
use super::phrases;
use super::playback::{FRAME, Kind};
use super::response_deadline::ResponseDeadline;
use super::strategy::{Prompt, Strategy};
use super::tools::{NOT_PUT_THROUGH, TRANSFER_FAILED, Tools};
use crate::Timestamp;
use crate::agent::GreetingMode;
use crate::language::WordList;

/// The state of a cascade.
#[derive(Default)]
pub(super) struct Cascade {
    /// The caller's current turn.
    turn: CallerTurn,
    /// The current LLM request, which may be streaming or running its tools.
    request: Option<CompletionRequest>,
    tools: Tools,
    /// Whether a tool result came after the model had continued without it, and no request has followed.
    late_result: bool,
    /// The response to the caller's turn that is under way.
    response: Option<TurnResponse>,
    /// The caller speaks over the agent, and it is undecided whether they interrupt it.
    overlap: Option<Overlap>,
    last_turn: u32,
    speculations: u32,
    llm_failures: u32,
    /// How long the LLM has been silent in requests that were cancelled.
    llm_waited: Duration,
    tts_failures: u32,
    /// The caller waits to hear something.
    response_deadline: Option<ResponseDeadline>,
    /// When the agent was last heard.
    heard_at: Option<Timestamp>,
    /// When something other than a filler was last heard.
    spoke_at: Option<Timestamp>,
    /// How many fillers have replaced a late TTS since the agent was last heard.
    dead_air_fillers: u32,
    unclear: u32,
    /// The caller's pauses within turns.
    pauses: Pauses,
    /// When a turn with text was last taken.
    turn_taken: Option<Timestamp>,
    /// That turn, while the caller may still continue it.
    resumable: Option<FinishedTurn>,
    /// Whether the reopened turn had been counted as answered.
    uncounted: bool,
    /// Whether the previous turn had a filler.
    filled: bool,
}

type Rule = fn(&mut Cascade, &mut Dialogue) -> bool;

impl Strategy for Cascade {
    fn greet(&mut self, d: &mut Dialogue) {
        if d.agent.greeting.mode == GreetingMode::Generate {
            self.response_deadline = Some(ResponseDeadline::without_turn(d.now));
            let messages = d.transcript.history.messages();
            self.request_completion(d, Kind::Greeting, messages, None);
        } else if let Some(text) = Conversation::greeting(&d.agent) {
            self.say_text(d, Kind::Greeting, &text);
        } else {
            d.phase = Phase::Conversing;
        }
    }

    fn greet_late(&mut self, d: &mut Dialogue) {
        let text = named_keys(d.agent.greeting.text.trim(), &d.agent.language);
        if !text.is_empty() && d.is_idle() && self.is_idle(d) {
            self.say_text(d, Kind::Greeting, &text);
        }
    }

    fn speech_pending(&mut self, d: &mut Dialogue, pending: bool) {
        self.turn.speech_pending(pending.then(|| d.now + d.timings.vad_onset + FRAME));
    }

    fn speech_started(&mut self, d: &mut Dialogue) {
        self.voice_started(d);
    }

    fn speech_stopped(&mut self, d: &mut Dialogue, segment: u32) {
        self.voice_stopped(d, segment);
    }

    fn input(&mut self, d: &mut Dialogue, input: StrategyInput) {
        let StrategyInput::Cascade(input) = input else { return };
        match input {
            CascadeInput::TranscriptPartial { text } => {
                if self.turn.partial(spoken(&text), d.now) {
                    d.caller_active();
                }
            }
            CascadeInput::TranscriptFinal { segment, text } => {
                let text = spoken(&text);
                if self.complete_turn(d, segment, text) {
                    return;
                }
                if let Some(resumable) = self.resumable.as_mut().filter(|_| text.is_empty()) {
                    resumable.withdraw(segment);
                }
                if self.turn.settled(segment, text, d.now) {
                    d.caller_active();
                }
            }
            CascadeInput::EndOfTurn => self.turn.judged_over(),
            CascadeInput::SttFailed(failure) => self.give_up(d, failure),
            CascadeInput::LlmText { turn, text } => self.llm_text(d, turn, &text),
            CascadeInput::LlmToolCall { turn, call, filler } => self.llm_tool_call(d, turn, call, filler),
            CascadeInput::LlmDone { turn } => self.llm_done(d, turn),
            CascadeInput::LlmFailed { turn, failure } => self.llm_failed(d, turn, failure),
        }
    }

    fn tool_result(&mut self, d: &mut Dialogue, turn: u32, id: String, result: Value) {
        self.tool_returned(d, turn, &id, &result);
    }

    fn refuse_tool(&mut self, d: &mut Dialogue, id: &str, error: &str) {
        if let Some(turn) = self.tools.turn_of(id) {
            self.tool_returned(d, turn, id, &json!({ "error": error }));
        }
    }

    fn synthesized(&mut self, d: &mut Dialogue, utterance: u32) {
        if d.playback.cached_kind(utterance).is_none() {
            self.note_audio_made(d, utterance);
        }
    }

    fn synthesis_failed(&mut self, d: &mut Dialogue, utterance: u32, failure: Failure) {
        self.utterance_failed(d, utterance, failure);
    }

    fn heard(&mut self, d: &mut Dialogue, utterance: u32, kind: Kind, _: bool) {
        self.agent_heard(d, kind, utterance);
    }

    fn played(&mut self, d: &mut Dialogue, kind: Kind) {
        // A filler is not a response.
        if kind != Kind::Filler {
            self.release_turn(d);
        }
        if kind == Kind::Response {
            self.response = None;
        }
        // A phrase may come from the cache, so it does not show that the TTS works.
        if !matches!(kind, Kind::Filler | Kind::Apology) {
            self.tts_failures = 0;
        }
    }

    fn key_pressed(&mut self, d: &mut Dialogue) {
        self.turn.key(d.now);
    }

    fn dtmf_sent(&mut self, d: &mut Dialogue) {
        self.defer_response_deadline(d.now);
    }

    fn say(&mut self, d: &mut Dialogue, kind: Kind, text: &str) {
        self.cancel_llm(d);
        let sentences = sentences_of(text, &d.agent.language);
        for (i, sentence) in sentences.iter().enumerate() {
            self.speak(d, kind, sentence, i + 1 == sentences.len());
        }
        if !sentences.is_empty() {
            d.playback.close();
        }
    }

    fn prompt(&mut self, d: &mut Dialogue, prompt: Prompt) {
        match prompt {
            Prompt::Reprompt => self.say_one_of(d, Kind::Reprompt, d.language.phrases.reprompts),
            Prompt::TimeIsUp => self.say_one_of(d, Kind::Goodbye, d.language.phrases.time_is_up),
        }
    }

    fn stop(&mut self, d: &mut Dialogue, _: bool) {
        self.stop_speaking(d);
    }

    fn transfer_started(&mut self, d: &mut Dialogue, _: &str) {
        // A response that stopped for the transfer was not interrupted by it.
        d.playback.close();
        self.stop_speaking(d);
    }

    fn transfer_failed(&mut self, d: &mut Dialogue, tool_call: Option<String>) {
        if let Some(id) = tool_call {
            self.refuse_tool(d, &id, NOT_PUT_THROUGH);
        }
        self.say_or_ask(d, Kind::Said, d.language.phrases.not_put_through, TRANSFER_FAILED);
    }

    fn finish(&mut self, d: &mut Dialogue) {
        self.drop_announced_transfer(d);
        self.cancel_llm(d);
        self.release_turn(d);
        d.cut();
        let said = self.take_caller_turn(d);
        turn_taking::record(d, &said, true);
    }

    fn settle_playback(&mut self, d: &mut Dialogue) -> bool {
        const RULES: &[Rule] = &[
            Cascade::handle_tts_failure,
            Cascade::judge_overlap,
            Cascade::resume_early,
            Cascade::close_turn,
            Cascade::drop_backchannel,
            Cascade::drop_speculation,
        ];
        RULES.iter().any(|rule| rule(self, d))
    }

    fn settle_turn(&mut self, d: &mut Dialogue) -> bool {
        const RULES: &[Rule] = &[
            Cascade::fill_dead_air,
            Cascade::time_out_tts,
            Cascade::time_out_llm,
            Cascade::time_out_tools,
            Cascade::finish_response,
            Cascade::take_turn,
            Cascade::speculate,
            Cascade::tell_late_result,
            Cascade::fill,
        ];
        RULES.iter().any(|rule| rule(self, d))
    }

    fn settled(&mut self, d: &mut Dialogue) {
        self.clear_response_deadline(d);
    }

    fn next_deadline(&self, d: &Dialogue) -> Option<Timestamp> {
        let all = [
            self.overlap_at(d),
            self.turn_closed_at(d),
            self.tts_timeout_at(d),
            self.dead_air_at(d),
            self.llm_timeout_at(d),
            self.tools_timeout_at(d),
            self.turn_over_at(d),
            self.filler_at(d),
        ];
        all.into_iter().flatten().min()
    }

    fn is_idle(&self, d: &Dialogue) -> bool {
        !self.caller_is_heard(d) && self.request.is_none()
    }

    fn may_reprompt(&self, d: &Dialogue) -> bool {
        !d.language.phrases.reprompts.is_empty()
    }

    fn may_say(&self, d: &Dialogue) -> bool {
        !self.is_responding() && !self.caller_is_heard(d)
    }

    fn may_transfer(&self, d: &Dialogue) -> bool {
        let others = d.pending_transfer.as_ref().is_some_and(|transfer| self.tools.runs_beside(&transfer.tool_call));
        d.playback.is_silent() && self.overlap.is_none() && !others
    }

    fn may_be_cut_off(&self, d: &Dialogue) -> bool {
        self.is_busy(d) && self.may_be_interrupted(d)
    }

    /// Waits for a caller who speaks to finish, if that can change anything.
    fn goodbye_silence(&self, d: &Dialogue) -> Option<Duration> {
        let heard_out = !d.may_cancel_goodbye() || (self.turn.speaking().is_none() && self.turn.is_settled());
        // Tools that the agent announced finish before the hang-up.
        let done = !d.is_ended_by_agent() || !self.tools.is_unfinished();
        (d.playback.is_idle() && heard_out && done).then_some(d.timings.goodbye_tail)
    }

    fn words_began(&self, d: &Dialogue) -> Timestamp {
        self.turn.began().unwrap_or(d.now)
    }

    fn caller_continues(&self, d: &Dialogue) -> bool {
        let (text, settled) = (self.turn.words(), self.turn.is_final());
        let words = Words { language: d.language, text: &text, settled, one_word_interrupts: false, courtesies: true };
        words.interrupt(&d.agent.interruption)
    }
}

impl Cascade {
    fn speak(&mut self, d: &mut Dialogue, kind: Kind, text: &str, last_of_turn: bool) -> u32 {
        self.synthesis_requested(d);
        d.speak(kind, text, last_of_turn)
    }

    /// Says one utterance as a separate response.
    fn say_text(&mut self, d: &mut Dialogue, kind: Kind, text: &str) {
        self.speak(d, kind, text, true);
        d.playback.close();
    }

    /// Says one of the phrases. In a language that has none, the model puts `situation` into words.
    fn say_or_ask(&mut self, d: &mut Dialogue, kind: Kind, phrases: WordList, situation: &str) {
        if !phrases.is_empty() {
            return self.say_one_of(d, kind, phrases);
        }
        // A late tool result would cause a second request.
        self.late_result = false;
        self.response_deadline = Some(ResponseDeadline::without_turn(d.now));
        let mut messages = d.transcript.history.messages();
        messages.push(Message::new(Role::User, format!("({situation})")));
        self.request_completion(d, Kind::Response, messages, None);
    }

    fn say_one_of(&mut self, d: &mut Dialogue, kind: Kind, phrases: WordList) {
        if let Some(phrase) = phrases::vary(phrases, d.now, &d.last_said) {
            self.say_text(d, kind, phrase);
        }
    }

    /// Stops speaking at once: records what was heard and drops the rest. Texts from the API that have not begun stay queued.
    fn stop_speaking(&mut self, d: &mut Dialogue) {
        self.release_turn(d);
        self.cancel_llm(d);
        let held = self.overlap.take().is_some();
        if !d.cut() && held {
            d.emit(Effect::ClearPlayback);
        }
        self.response = None;
    }

    fn end_call(&mut self, d: &mut Dialogue, reason: End) {
        self.finish(d);
        d.end(reason);
    }
}
