//! From a session that is lost to the next one, which gets history and results as text, and hears again what has no text yet.

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

/// What is heard again begins this long before our own VAD noticed the caller.
const LEAD: Duration = Duration::from_millis(200);
/// Who fell silent longer ago and was not heard by the model had nothing to say.
const RECENT: Duration = Duration::from_secs(5);
/// So many turns of the caller may be lost on a session before it is replaced with the next one.
const UNDERSTANDS_NOTHING: u32 = 1;
/// The result of a tool that has none yet.
const STILL_RUNNING: &str = "It is still running. Its result will follow; do not call it again for the same.";

/// Where the model's session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionState {
    /// It hears the caller.
    Ready,
    /// It hears what the caller said before it began.
    CatchingUp,
    /// There is none; the next one hears the caller before it responds, if `hears_first`.
    Lost { hears_first: bool },
}

impl SessionState {
    pub(super) fn is_lost(self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// Whether the session understands the caller.
#[derive(Debug, Default)]
pub(super) struct Understanding {
    /// It has transcribed words of theirs, or responded by itself.
    shown: bool,
    /// Our own VAD has heard them speak since their last turn was counted.
    pub(super) spoken: bool,
    /// Turns of theirs of which it has shown nothing.
    unanswered: u32,
}

impl Realtime {
    /// The model has understood something of what the caller said in this session.
    pub(super) fn understood(&mut self) {
        self.understanding.shown = true;
    }

    /// Counts a turn of the caller that the model does not respond to by itself: two of which it has understood nothing are enough.
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
        self.unheard_since = unheard.map_or(d.now, |at| (at - LEAD).max(d.began));
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
            // It responds to what it hears.
            self.requests.retain(|request| !request.is_free_response());
        }
    }

    /// When the caller began with what the model has not heard, or of which only the lost session knew the words.
    fn unheard(&mut self, d: &mut Dialogue) -> Option<Timestamp> {
        let responding = self.response.as_ref().is_some_and(|response| !response.cancelled);
        let waits = self.response_deadline.is_some() || responding || self.caller.speaking.is_some();
        let queued_context = d.transcript.disown(d.now).filter(|_| waits);
        let speaks = self.caller.is_voiced;
        let recent = |ended: &Timestamp| d.now.since(*ended) < RECENT;
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
        // What the caller has said it hears now, and may respond by itself.
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

    /// The next session knows what was called, and hears of what comes of it later: what a tool does is done once.
    fn leave_tools_running(&mut self, d: &mut Dialogue) {
        self.tools.record(d, &json!({ "status": STILL_RUNNING }), true);
    }

    /// What a tool of ours comes to, in the session that called it or in another one.
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
