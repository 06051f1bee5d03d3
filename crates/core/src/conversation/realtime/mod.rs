//! Turn-taking by a speech-to-speech model: it listens, detects turns and speaks; everything else is done here.
//!
//! `responses` requests responses and runs tools, `refusals` replaces those that are withheld, `items` are what the model says, `sessions` moves the
//! conversation from a lost session to the next one, `caller` is what the caller says, and `waits` covers and bounds the caller's waits.

mod caller;
mod items;
pub(super) mod messages;
mod refusals;
mod responses;
mod sessions;
mod waits;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

pub use self::messages::{Instructions, RealtimeCommand, RealtimeEffect, RealtimeInput};

use self::caller::CallerSpeech;
use self::responses::{Response, ResponseRequest};
use self::sessions::{SessionState, Understanding};
use super::dialogue::Dialogue;
use super::effect::End;
use super::failure::Failure;
use super::input::StrategyInput;
use super::phase::GoodbyeFiller;
use super::phrases;
use super::playback::Kind;
use super::response_deadline::ResponseDeadline;
use super::strategy::{Prompt, Strategy};
use super::tools::{NOT_PUT_THROUGH, TRANSFER_FAILED, TRANSFERRED_INSTEAD, Tools};
use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};

/// Added to the instructions to make the model open the conversation in its own words.
const GREET: &str = "The caller has just come on the line. Greet them in one or two short sentences.";
/// Added to the instructions when the caller says nothing.
const STILL_THERE: &str =
    "The caller has said nothing for a while. Ask in one short sentence whether they are still there.";
/// Added to the instructions when the maximum duration is reached.
const TIME_IS_UP: &str = "The time for this call is over. Say so, with an apology and goodbye, in one short sentence.";
/// How long to wait for a goodbye to continue, or for a message to start.
const SPEECH_START_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait after a filler that covers the wait for a goodbye; then a short goodbye replaces it.
const GOODBYE_AFTER_FILLER: Duration = Duration::from_millis(2_400);

/// The state of a conversation by a speech-to-speech model.
pub(super) struct Realtime {
    session: SessionState,
    understanding: Understanding,
    /// No session has heard the caller since then.
    unheard_since: Timestamp,
    /// Text for the next session, before anything else.
    queued_context: Vec<String>,
    caller: CallerSpeech,
    /// The response that the model is giving.
    response: Option<Response>,
    /// The response that was requested and has not begun.
    requested: Option<ResponseRequest>,
    requests: VecDeque<ResponseRequest>,
    /// The provider asked for no requests until then.
    paused_until: Option<Timestamp>,
    last_request: u32,
    /// The number of failed responses in a row.
    failures: u32,
    /// The number of responses in a row that a content filter withheld.
    refusals: u32,
    tools: Tools,
    /// Text to say while tools run.
    filler: Option<String>,
    /// Whether a tool called in a lost session has returned, and the model has not spoken since.
    late_result: bool,
    /// Whether the call ends once the tools have returned, after a goodbye that was not said yet.
    owes_goodbye: bool,
    /// Whether the TTS failed the last time.
    tts_failed: bool,
    response_deadline: Option<ResponseDeadline>,
}

/// Returns the instructions of the greeting, which can be requested while the phone rings, as request 1.
#[must_use]
pub fn greeting(agent: &AgentConfig) -> Option<Instructions> {
    (agent.greeting.mode != GreetingMode::Wait).then(|| greeting_of(agent))
}

fn greeting_of(agent: &AgentConfig) -> Instructions {
    let text = agent.greeting.text.trim();
    if agent.greeting.mode == GreetingMode::Generate || text.is_empty() {
        Instructions::Directed(GREET.to_owned())
    } else {
        Instructions::Exactly(text.to_owned())
    }
}

type Rule = fn(&mut Realtime, &mut Dialogue) -> bool;

impl Realtime {
    pub(super) fn new(agent: &AgentConfig, now: Timestamp) -> Self {
        Self {
            session: SessionState::Ready,
            understanding: Understanding::default(),
            unheard_since: now,
            queued_context: Vec::new(),
            caller: CallerSpeech::default(),
            response: None,
            requested: greeting(agent).map(|instructions| ResponseRequest::new(1, Kind::Greeting, instructions)),
            requests: VecDeque::new(),
            paused_until: None,
            last_request: 1,
            failures: 0,
            refusals: 0,
            tools: Tools::default(),
            filler: None,
            late_result: false,
            owes_goodbye: false,
            tts_failed: false,
            response_deadline: None,
        }
    }

    fn is_greeting(&self, d: &Dialogue) -> bool {
        let greeting = |kind: Kind| kind == Kind::Greeting;
        d.playback.contains(Kind::Greeting)
            || self.response.as_ref().is_some_and(|response| greeting(response.kind))
            || self.requested.as_ref().is_some_and(|request| greeting(request.kind))
    }

    fn listens_to_caller(&self, d: &Dialogue) -> bool {
        let protected = !d.agent.greeting.interruptible && self.is_greeting(d);
        let closing = d.phase.is_closing() && !d.may_cancel_goodbye();
        !protected && !closing && !d.phase.is_voicemail() && !d.phase.is_transferring()
    }

    /// Stops speaking, without an interruption by the caller.
    fn stop_speaking(&mut self, d: &mut Dialogue) {
        d.cut();
        self.stop_response(d);
        (self.response_deadline, self.caller.missed) = (None, None);
    }

    /// Returns whether a goodbye is due of which nothing has arrived.
    fn lacks_goodbye(&self, d: &Dialogue) -> bool {
        let begun = self.response.as_ref().is_some_and(|response| response.sounded);
        self.is_responding() && !begun && d.playback.is_idle() && !d.phase.is_voicemail()
    }

    /// Drops the requests and the response under way.
    fn drop_responses(&mut self) {
        (self.response, self.requested) = (None, None);
        self.requests.clear();
    }

    /// Apologises by TTS and ends the call. A filler that is playing finishes first.
    fn give_up(&mut self, d: &mut Dialogue, failure: Failure) {
        if let Some(closing) = d.phase.closing() {
            let reason = closing.reason.clone();
            return d.end(reason);
        }
        if d.media.is_none() || d.phase.is_voicemail() {
            return d.end(End::Failed(failure));
        }
        if d.playback.is_playing_only(Kind::Filler) {
            self.stop_response(d);
            self.caller.missed = None;
        } else {
            self.stop_speaking(d);
        }
        self.drop_responses();
        self.close_with(d, End::Failed(failure), None);
        self.speak_filler(d, Kind::Goodbye, phrases::usual(d.language.phrases.technical));
    }

    fn close_with(&mut self, d: &mut Dialogue, reason: End, tool_call: Option<String>) {
        self.response_deadline = None;
        d.close_with(reason, tool_call);
    }
}

impl Strategy for Realtime {
    fn greet(&mut self, d: &mut Dialogue) {
        if let Some(requested) = &mut self.requested {
            requested.requested_at = Some(d.now);
        }
        self.response_deadline = Some(ResponseDeadline::without_turn(d.now));
    }

    fn greet_late(&mut self, d: &mut Dialogue) {
        self.response_deadline = Some(ResponseDeadline::without_turn(d.now));
        let instructions = greeting_of(&d.agent);
        self.request_response(Kind::Greeting, instructions);
    }

    fn speech_started(&mut self, d: &mut Dialogue) {
        self.voice_started(d);
    }

    fn speech_stopped(&mut self, d: &mut Dialogue, _: u32) {
        self.voice_stopped(d);
    }

    fn input(&mut self, d: &mut Dialogue, input: StrategyInput) {
        let StrategyInput::Realtime(input) = input else { return };
        match input {
            RealtimeInput::SpeechStarted => self.turn_started(d),
            RealtimeInput::SpeechStopped => self.turn_stopped(d),
            RealtimeInput::TurnCommitted { item } => self.turn_committed(d, item),
            RealtimeInput::TurnTranscribed { item, text } => self.turn_transcribed(d, &item, &text),
            RealtimeInput::ResponseStarted { response, request } => self.response_started(d, response, request),
            RealtimeInput::Busy { request } => self.busy(d, request),
            RealtimeInput::Audio { response, item, audio } => self.item_audio(d, &response, &item, audio),
            RealtimeInput::Text { response, item, text } => self.item_text(d, &response, &item, &text),
            RealtimeInput::AudioDone { item } => self.item_complete(d, &item),
            RealtimeInput::ToolCall { response, call, filler } => self.tool_called(d, &response, call, filler),
            RealtimeInput::ResponseDone { response, failed, retry_after_ms } => {
                self.response_done(d, &response, failed, retry_after_ms.map(Duration::from_millis));
            }
            RealtimeInput::ResponseRefused { response, left_out } => self.response_refused(d, &response, left_out),
            RealtimeInput::SessionConnecting => self.set_session(d, SessionState::Lost { hears_first: false }),
            RealtimeInput::SessionLost => self.session_lost(d),
            RealtimeInput::SessionReady => self.session_ready(d),
            RealtimeInput::SessionFailed(failure) => self.give_up(d, failure),
        }
    }

    fn tool_result(&mut self, d: &mut Dialogue, _: u32, id: String, result: Value) {
        self.tool_returned(d, &id, result);
    }

    fn refuse_tool(&mut self, d: &mut Dialogue, id: &str, error: &str) {
        self.tool_returned(d, id, json!({ "error": error }));
    }

    fn synthesized(&mut self, _: &mut Dialogue, _: u32) {
        self.tts_failed = false;
    }

    fn synthesis_failed(&mut self, d: &mut Dialogue, utterance: u32, _: Failure) {
        self.tts_failed = true;
        d.playback.forget(utterance);
    }

    fn tts_failed(&mut self) {
        self.tts_failed = true;
    }

    fn heard(&mut self, d: &mut Dialogue, _: u32, kind: Kind, first: bool) {
        if first && kind != Kind::Filler {
            self.response_is_heard(d);
        }
    }

    fn say(&mut self, _: &mut Dialogue, kind: Kind, text: &str) {
        self.request_response(kind, Instructions::Exactly(text.to_owned()));
    }

    fn prompt(&mut self, _: &mut Dialogue, prompt: Prompt) {
        let (kind, words) = match prompt {
            Prompt::Reprompt => (Kind::Reprompt, STILL_THERE),
            Prompt::TimeIsUp => (Kind::Goodbye, TIME_IS_UP),
        };
        self.request_response(kind, Instructions::Directed(words.to_owned()));
    }

    fn stop(&mut self, d: &mut Dialogue, for_good: bool) {
        self.stop_speaking(d);
        if for_good {
            self.requests.clear();
            self.caller.speaking = None;
        }
    }

    fn withdraw_end(&mut self, d: &mut Dialogue) {
        self.stay_on_the_line(d, TRANSFERRED_INSTEAD);
    }

    fn transfer_started(&mut self, _: &mut Dialogue, tool_call: &str) {
        self.tools.dismiss(tool_call);
        self.response_deadline = None;
    }

    fn transfer_failed(&mut self, d: &mut Dialogue, tool_call: Option<String>) {
        self.response_deadline = Some(ResponseDeadline::without_turn(d.now));
        match tool_call {
            Some(id) => {
                self.tool_failed(d, &id, NOT_PUT_THROUGH);
                self.request_response(Kind::Response, Instructions::Freely);
            }
            None => self.request_response(Kind::Response, Instructions::Directed(TRANSFER_FAILED.to_owned())),
        }
    }

    fn finish(&mut self, _: &mut Dialogue) {}

    fn settle_playback(&mut self, d: &mut Dialogue) -> bool {
        const RULES: &[Rule] = &[Realtime::give_up_on_cancelled, Realtime::time_out_request, Realtime::time_out_audio];
        RULES.iter().any(|rule| rule(self, d))
    }

    fn settle_turn(&mut self, d: &mut Dialogue) -> bool {
        const RULES: &[Rule] = &[
            Realtime::time_out_response,
            Realtime::take_keys,
            Realtime::end_overdue_turn,
            Realtime::wait_in_silence,
            Realtime::prompt_response,
            Realtime::fill_wait,
            Realtime::request_next,
        ];
        RULES.iter().any(|rule| rule(self, d))
    }

    fn next_deadline(&self, d: &Dialogue) -> Option<Timestamp> {
        let all = [
            self.audio_timeout_at(d),
            self.overdue_at(d),
            self.prompt_response_at(d),
            self.filler_at(d),
            self.response_timeout_at(d),
            self.cancel_timeout_at(),
            self.request_timeout_at(),
            self.pause_ends_at(d),
            self.keys_due_at(d),
        ];
        all.into_iter().flatten().min()
    }

    fn is_idle(&self, _: &Dialogue) -> bool {
        let waits = self.is_responding() || self.response_deadline.is_some() || self.tools.is_running();
        !waits && !self.session.is_lost() && self.caller.speaking.is_none()
    }

    fn may_say(&self, d: &Dialogue) -> bool {
        let waits = self.is_responding() || self.response_deadline.is_some();
        !waits && !self.session.is_lost() && self.caller.speaking.is_none() && d.playback.is_idle()
    }

    fn may_transfer(&self, d: &Dialogue) -> bool {
        let others = d.pending_transfer.as_ref().is_some_and(|transfer| self.tools.runs_beside(&transfer.tool_call));
        d.playback.is_idle() && !self.is_responding() && !others && self.caller.speaking.is_none()
    }

    fn listens(&self, d: &Dialogue) -> bool {
        self.listens_to_caller(d)
    }

    fn may_be_cut_off(&self, d: &Dialogue) -> bool {
        d.agent.interruption.enabled && self.is_talking(d)
    }

    fn goodbye_silence(&self, d: &Dialogue) -> Option<Duration> {
        // Tools that the model announced finish before the hang-up.
        let unfinished = d.is_ended_by_agent() && self.tools.is_running();
        if unfinished || !d.playback.is_starved() {
            return None;
        }
        let filled = d.phase.closing().is_some_and(|closing| closing.filler == GoodbyeFiller::Said);
        let awaited = self.is_responding() || !d.playback.is_idle();
        Some(match (self.lacks_goodbye(d), awaited) {
            (true, _) if filled => GOODBYE_AFTER_FILLER,
            (true, _) => d.timings.filler,
            (false, true) => SPEECH_START_TIMEOUT,
            (false, false) => d.timings.goodbye_tail,
        })
    }

    /// Says something while a goodbye does not come, and eventually replaces it.
    fn replace_goodbye(&mut self, d: &mut Dialogue) -> bool {
        if !self.lacks_goodbye(d) {
            return false;
        }
        let Some(closing) = d.phase.closing_mut() else { return false };
        if std::mem::replace(&mut closing.filler, GoodbyeFiller::Said) != GoodbyeFiller::Said {
            self.speak_filler(d, Kind::Filler, phrases::usual(d.language.phrases.fillers));
        } else {
            self.stop_speaking(d);
            self.drop_responses();
            self.speak_filler(d, Kind::Goodbye, phrases::usual(d.language.phrases.goodbyes));
        }
        true
    }

    /// Returns when the caller began to say what was transcribed last: the transcript arrives some time after the turn, which may have been answered
    /// meanwhile.
    fn words_began(&self, d: &Dialogue) -> Timestamp {
        self.caller.words_began.unwrap_or(d.now)
    }

    fn unheard_since(&self, d: &Dialogue) -> Timestamp {
        // The greeting, which was requested from this session, is the response to anything they have said.
        if self.requested.is_some() { d.now } else { self.unheard_since }
    }
}
