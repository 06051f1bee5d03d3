//! Replaces a lost session: the next one gets history and results as text, and the audio again of what has no transcript yet.

use std::time::Duration;

use serde_json::{Value, json};

use super::responses::{GO_ON, Response, SAY_GOODBYE, TURN, output};
use super::{Instructions, Realtime, RealtimeCommand};
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::phase::Phase;
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;
use crate::conversation::tools::Returned;

/// How much audio from before our own VAD noticed the caller is replayed.
const REPLAY_LEAD: Duration = Duration::from_millis(200);
/// Speech that ended longer ago and was not heard by the model is ignored.
const RECENT_SPEECH: Duration = Duration::from_secs(5);
/// How many turns of the caller may go without a response before the session is replaced.
const UNDERSTANDS_NOTHING: u32 = 1;
/// The placeholder for the result of a tool that is still running.
const STILL_RUNNING: &str = "It is still running. Its result will follow; do not call it again for the same.";

/// The state of the model's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionState {
    /// It hears the caller live.
    Ready,
    /// It hears what the caller said before the session began.
    CatchingUp,
    /// There is no session; the next one hears the caller before it responds if `hears_first`.
    Lost { hears_first: bool },
}

impl SessionState {
    pub(super) fn is_lost(self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// Evidence that the session understands the caller.
#[derive(Debug, Default)]
pub(super) struct Understanding {
    /// Whether it has transcribed text from the caller or responded without a request.
    shown: bool,
    /// Whether our own VAD has heard them speak since their last turn was counted.
    pub(super) spoken: bool,
    /// The number of their turns without any such evidence.
    unanswered: u32,
}

impl Realtime {
    /// Records that the model has understood something that the caller said in this session.
    pub(super) fn understood(&mut self) {
        self.understanding.shown = true;
    }

    /// Counts a turn of the caller to which the model does not respond without a request. Returns whether the session should be replaced, which is so
    /// after two.
    pub(super) fn session_understands_nothing(&mut self) -> bool {
        let after_turn = self.response_deadline.as_ref().is_some_and(ResponseDeadline::is_after_turn);
        if !after_turn || !std::mem::take(&mut self.understanding.spoken) || self.understanding.shown {
            return false;
        }
        self.understanding.unanswered += 1;
        self.understanding.unanswered > UNDERSTANDS_NOTHING
    }

    pub(super) fn set_session(&mut self, d: &mut Dialogue, session: SessionState) {
        self.session = session;
        d.transcript.on_hold = session.is_lost();
    }

    pub(super) fn session_lost(&mut self, d: &mut Dialogue) {
        self.leave_tools_running(d);
        let says_goodbye = d.phase.closing_mut().is_some_and(|closing| closing.tool_call.take().is_some());
        if let Phase::Transferring { tool_call } = &mut d.phase {
            *tool_call = None;
        }
        let unheard = self.unheard(d);
        let hears_first = unheard.is_some();
        self.unheard_since = unheard.map_or(d.now, |at| (at - REPLAY_LEAD).max(d.began));
        self.set_session(d, SessionState::Lost { hears_first });
        (self.caller.speaking, self.caller.missed) = (None, None);
        if let Some(response) = self.response.take() {
            self.response_was_lost(d, response, says_goodbye, hears_first);
        }
        d.playback.disown_items();
        if let Some(requested) = self.requested.take().filter(|requested| !requested.unwanted) {
            self.request_response_first(requested.kind, requested.instructions);
        }
        if hears_first {
            // The model responds to what it hears.
            self.requests.retain(|request| !request.is_free_response());
        }
    }

    /// Returns when the caller began to say what the model has not heard, or what only the lost session transcribed.
    fn unheard(&mut self, d: &mut Dialogue) -> Option<Timestamp> {
        let responding = self.response.as_ref().is_some_and(|response| !response.cancelled);
        let waits = self.response_deadline.is_some() || responding || self.caller.speaking.is_some();
        let queued_context = d.transcript.disown(d.now).filter(|_| waits);
        let speaks = self.caller.is_voiced;
        let recent = |ended: &Timestamp| d.now.since(*ended) < RECENT_SPEECH;
        let spoke = self.caller.ended.filter(recent).filter(|_| !speaks);
        let began = self.caller.turn_began.filter(|began| speaks || spoke.is_some_and(|ended| ended >= *began));
        let began = began.filter(|_| self.listens_to_caller(d));
        if let Some(ended) = spoke.filter(|_| began.is_some() && self.response_deadline.is_none()) {
            self.response_deadline = Some(ResponseDeadline::after_turn(ended, ended));
        }
        queued_context.into_iter().chain(began).min()
    }

    fn response_was_lost(&mut self, d: &mut Dialogue, response: Response, says_goodbye: bool, hears_first: bool) {
        Self::complete_items(d, &response.id, true);
        if response.cancelled {
            return;
        }
        if says_goodbye && !response.sounded {
            self.request_response_first(Kind::Goodbye, Instructions::Directed(SAY_GOODBYE.to_owned()));
        } else if response.kind == Kind::Response && hears_first {
            let now = d.now;
            self.response_deadline.get_or_insert_with(|| ResponseDeadline::without_turn(now));
        } else if response.sounded {
            self.request_response_first(response.kind, Instructions::Directed(GO_ON.to_owned()));
        } else if self.response_deadline.is_some() {
            self.request_response_first(response.kind, response.instructions);
        }
    }

    pub(super) fn session_ready(&mut self, d: &mut Dialogue) {
        let hears_first = self.session == SessionState::Lost { hears_first: true };
        // The session now hears what the caller has said, and may respond without a request.
        let catching_up = hears_first && self.requested.is_none();
        self.set_session(d, if catching_up { SessionState::CatchingUp } else { SessionState::Ready });
        self.understanding = Understanding::default();
        d.transcript.disown(d.now);
        for text in std::mem::take(&mut self.queued_context) {
            d.emit(RealtimeCommand::AddContext { text });
        }
        if let Some(requested) = &mut self.requested {
            requested.requested_at = Some(d.now);
        }
        let idle = self.requests.is_empty() && self.requested.is_none() && !self.tools.is_running() && !catching_up;
        if let Some(deadline) = &mut self.response_deadline {
            (deadline.provider_since, deadline.prompted) = (Some(d.now), false);
            if idle {
                self.request_response(Kind::Response, Instructions::Freely);
            }
        }
    }

    /// Leaves tools running: the next session knows that they were called and gets their results later, so that each tool runs once.
    fn leave_tools_running(&mut self, d: &mut Dialogue) {
        self.tools.record(d, &json!({ "status": STILL_RUNNING }), true);
    }

    /// Records the failure of a tool that runs here, in the session that called it or in a later one.
    pub(super) fn tool_failed(&mut self, d: &mut Dialogue, id: &str, error: &str) {
        match self.tools.returned(d, TURN, id, &json!({ "error": error })) {
            Returned::Late(name) => self.returned_late(d, &name, &json!({ "error": error })),
            Returned::InRound | Returned::Unknown => d.emit(output(id, error)),
        }
    }

    pub(super) fn returned_late(&mut self, d: &mut Dialogue, name: &str, result: &Value) {
        self.late_result = true;
        let text = format!("[{name} returned] {result}");
        if self.session.is_lost() {
            self.queued_context.push(text);
        } else {
            d.emit(RealtimeCommand::AddContext { text });
        }
    }
}
