//! Responses, requested from the model one at a time, and the tools that it calls.

use std::time::Duration;

use serde_json::{Value, json};

use super::waits::{RESPONSE_TIMEOUT, too_late};
use super::{Instructions, Realtime, RealtimeCommand};
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::End;
use crate::conversation::failure::{Failure, FailureCode};
use crate::conversation::phase::{Closing, Phase};
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;
use crate::conversation::tool_call::ToolCall;
use crate::conversation::tools::{END_CALL, Returned, TRANSFERRED_INSTEAD, is_error};

/// The turn number of all its tools: their results go to the model regardless of what was said meanwhile.
pub(super) const TURN: u32 = 0;
/// How often a response is requested again while the model is busy.
const TRIES: u32 = 3;
/// How often in a row to retry a model that asks for a pause, and the longest pause: a caller does not wait longer.
const BUSY_TRIES: u32 = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long to wait for the end of a response that was stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// The result of `end_call` if another tool failed.
const TOOL_FAILED: &str = "The call continues, because another tool failed. Tell the caller.";
/// Added to the instructions when the call ends without a goodbye.
pub(super) const SAY_GOODBYE: &str = "The call is about to end. Say goodbye in one short sentence.";
/// Added to the instructions when the model broke off in the middle of a sentence.
pub(super) const GO_ON: &str = "You broke off while you were speaking, so the end of what you last said was not heard. Finish it in one \
    or two short sentences, without saying again what stands in the conversation.";

/// A request for a response.
pub(super) struct ResponseRequest {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) instructions: Instructions,
    pub(super) tries: u32,
    /// Whether the caller has spoken since.
    pub(super) unwanted: bool,
    /// When it was sent.
    pub(super) requested_at: Option<Timestamp>,
}

impl ResponseRequest {
    pub(super) fn new(number: u32, kind: Kind, instructions: Instructions) -> Self {
        Self { number, kind, instructions, tries: 0, unwanted: false, requested_at: None }
    }

    pub(super) fn is_free_response(&self) -> bool {
        self.kind == Kind::Response && self.instructions == Instructions::Freely
    }
}

/// The response that the model is giving.
pub(super) struct Response {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) instructions: Instructions,
    /// Whether it was requested from here.
    requested: bool,
    pub(super) sounded: bool,
    pub(super) called: bool,
    /// Whether it has called `end_call`.
    ends: bool,
    /// Whether the rest of it is no longer wanted, and since when its end is awaited.
    pub(super) cancelled: bool,
    stopped_at: Option<Timestamp>,
}

impl Realtime {
    pub(super) fn request_response(&mut self, kind: Kind, instructions: Instructions) {
        self.last_request += 1;
        self.requests.push_back(ResponseRequest::new(self.last_request, kind, instructions));
    }

    pub(super) fn request_response_first(&mut self, kind: Kind, instructions: Instructions) {
        self.request_response(kind, instructions);
        self.requests.rotate_right(1);
    }

    /// Repeats a request that the model has not begun. Text from the API goes back to its queue.
    pub(super) fn request_again(&mut self, d: &mut Dialogue, request: ResponseRequest) {
        match request {
            ResponseRequest { kind: Kind::Said, instructions: Instructions::Exactly(text), .. } => {
                d.say_queue.push_front(text);
            }
            request => self.requests.push_front(request),
        }
    }

    /// Returns whether the model speaks or is about to.
    pub(super) fn is_responding(&self) -> bool {
        self.response.is_some() || self.requested.is_some() || !self.requests.is_empty()
    }

    /// Returns whether the caller waits for a response: not for a text from the API, nor for a reprompt.
    pub(super) fn is_awaited(&self) -> bool {
        let awaited = |kind: Kind| !matches!(kind, Kind::Said | Kind::Reprompt);
        let tools = self.tools.is_running() && !self.is_responding();
        let requested =
            self.requested.iter().chain(&self.requests).any(|request| awaited(request.kind) && !request.unwanted);
        let begun = self.response.as_ref();
        let begun =
            begun.is_some_and(|begun| begun.requested && !begun.cancelled && !begun.sounded && awaited(begun.kind));
        tools || requested || begun
    }

    /// Sends the next request to the model when it is due.
    pub(super) fn request_next(&mut self, d: &mut Dialogue) -> bool {
        let busy = self.response.is_some()
            || self.requested.is_some()
            || self.session.is_lost()
            || d.phase.is_transferring()
            || self.pause_ends_at(d).is_some();
        let Some(request) = self.requests.front().filter(|_| !busy) else { return false };
        let may = match request.kind {
            Kind::Goodbye | Kind::Voicemail => true,
            // The caller does not wait for these, so they come last.
            Kind::Said | Kind::Reprompt => {
                self.caller.speaking.is_none() && self.response_deadline.is_none() && d.playback.is_idle()
            }
            _ => self.caller.speaking.is_none(),
        };
        // A request that cannot be sent now is obsolete: the model will respond to the caller who is speaking.
        let Some(request) = self.requests.pop_front().filter(|_| may) else { return false };
        d.emit(RealtimeCommand::Respond { request: request.number, instructions: request.instructions.clone() });
        self.requested = Some(ResponseRequest { requested_at: Some(d.now), ..request });
        true
    }

    /// Returns when the next response may be requested, if not yet.
    pub(super) fn pause_ends_at(&self, d: &Dialogue) -> Option<Timestamp> {
        self.paused_until.filter(|until| *until > d.now && !self.requests.is_empty())
    }

    pub(super) fn response_started(&mut self, d: &mut Dialogue, id: String, request: Option<u32>) {
        let requested = self.requested.take_if(|requested| Some(requested.number) == request);
        let own = requested.is_none();
        self.caller.missed = None;
        if own {
            self.understood();
        }
        let unwanted =
            requested.as_ref().is_some_and(|request| request.unwanted) || (own && !self.listens_to_caller(d));
        let (kind, instructions) =
            requested.map_or((Kind::Response, Instructions::Freely), |request| (request.kind, request.instructions));
        if let Some(before) = &self.response {
            d.playback.close_response(&before.id);
        }
        self.response = Some(Response {
            id,
            kind,
            instructions,
            requested: !own,
            sounded: false,
            called: false,
            ends: false,
            cancelled: false,
            stopped_at: None,
        });
        if unwanted {
            self.stop_response(d);
        }
    }

    /// Handles a busy model: it began to respond on its own, which serves as the requested response.
    pub(super) fn busy(&mut self, d: &mut Dialogue, request: u32) {
        let Some(mut requested) = self.requested.take_if(|requested| requested.number == request) else { return };
        requested.tries += 1;
        if requested.kind != Kind::Response && requested.tries < TRIES && !requested.unwanted {
            self.request_again(d, requested);
        }
    }

    /// Stops the response that is under way.
    pub(super) fn stop_response(&mut self, d: &mut Dialogue) {
        let now = d.now;
        if let Some(response) = self.response.as_mut().filter(|response| !response.cancelled) {
            response.cancelled = true;
            response.stopped_at = Some(now);
            let response = response.id.clone();
            d.emit(RealtimeCommand::Cancel { response });
        }
        self.drop_requests();
    }

    /// Records that the provider has stopped the response because the caller speaks.
    pub(super) fn response_was_stopped(&mut self, d: &Dialogue) {
        let now = d.now;
        if let Some(response) = &mut self.response {
            response.cancelled = true;
            response.stopped_at.get_or_insert(now);
        }
        self.drop_requests();
    }

    /// Drops requests, except those for text from the API.
    fn drop_requests(&mut self) {
        if let Some(requested) = &mut self.requested {
            requested.unwanted = requested.kind != Kind::Said;
        }
        self.requests.retain(|request| request.kind == Kind::Said);
    }

    pub(super) fn cancel_timeout_at(&self) -> Option<Timestamp> {
        self.response.as_ref()?.stopped_at.map(|at| at + STOP_TIMEOUT)
    }

    /// Stops waiting for the end of a cancelled response, which some servers do not report.
    pub(super) fn give_up_on_cancelled(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.cancel_timeout_at());
        if due && let Some(response) = self.response.take() {
            d.playback.close_response(&response.id);
        }
        due
    }

    /// Returns when the requested response is no longer expected to begin.
    pub(super) fn request_timeout_at(&self) -> Option<Timestamp> {
        let requested = self.requested.as_ref().filter(|_| !self.session.is_lost() && self.response.is_none())?;
        Some(requested.requested_at? + if requested.unwanted { STOP_TIMEOUT } else { RESPONSE_TIMEOUT })
    }

    pub(super) fn time_out_request(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.request_timeout_at());
        if due && self.requested.take().is_some_and(|requested| !requested.unwanted) {
            self.give_up(d, too_late());
        }
        due
    }

    pub(super) fn response_done(
        &mut self,
        d: &mut Dialogue,
        id: &str,
        failed: Option<String>,
        retry_after: Option<Duration>,
    ) {
        let Some(response) = self.response.take_if(|response| response.id == id) else { return };
        Self::complete_items(d, id, failed.is_some());
        if response.cancelled {
            return;
        }
        if let Some(words) = failed.as_ref().filter(|_| response.sounded && !response.called) {
            return self.broke_off(d, response.kind, words);
        }
        if response.sounded || response.called {
            (self.failures, self.refusals) = (0, 0);
            self.owes_goodbye = response.ends && !response.sounded;
            self.fill_tools(d, response.sounded);
            self.respond_when_tools_have(d);
            return;
        }
        if d.phase.closing().is_some_and(|closing| closing.tool_call.is_some()) {
            return self.request_goodbye(d);
        }
        if failed.is_none() && self.response_deadline.is_none() {
            return;
        }
        // A caller who has had a response need not hear about a tool's effect.
        if failed.is_none()
            && self.tools.rounds > 0
            && self.response_deadline.as_ref().is_some_and(|deadline| !deadline.is_after_turn())
        {
            self.response_deadline = None;
            return;
        }
        self.failures += 1;
        let pause = retry_after.filter(|pause| !pause.is_zero());
        let tries = if pause.is_some() { BUSY_TRIES } else { 1 };
        if self.failures > tries {
            self.fail(d, failed.as_deref().unwrap_or("its response contained no speech"));
        } else if self.caller.speaking.is_none() {
            self.paused_until = pause.map(|pause| d.now + pause.min(LONGEST_PAUSE));
            self.request_response(response.kind, response.instructions);
        }
    }

    /// Requests the goodbye that was missing before `end_call`.
    fn request_goodbye(&mut self, d: &mut Dialogue) {
        if let Some(id) = d.phase.closing_mut().and_then(|closing| closing.tool_call.take()) {
            d.emit(RealtimeCommand::ToolOutput { id, result: json!({ "ok": true }) });
        }
        self.request_response(Kind::Goodbye, Instructions::Directed(SAY_GOODBYE.to_owned()));
    }

    /// Handles a response that failed midway.
    fn broke_off(&mut self, d: &mut Dialogue, kind: Kind, words: &str) {
        if d.phase.is_closing() || self.caller.speaking.is_some() {
            return;
        }
        self.failures += 1;
        if self.failures > 1 {
            self.fail(d, words);
        } else {
            self.request_response_first(kind, Instructions::Directed(GO_ON.to_owned()));
        }
    }

    fn fail(&mut self, d: &mut Dialogue, words: &str) {
        self.give_up(d, Failure::new(FailureCode::Pipeline, format!("The speech-to-speech model failed: {words}.")));
    }

    pub(super) fn tool_called(&mut self, d: &mut Dialogue, response: &str, call: ToolCall, filler: Option<String>) {
        let ends = call.name == END_CALL;
        let running = self.response.as_mut().filter(|running| running.id == response);
        let cancelled = running.as_ref().is_none_or(|running| running.cancelled);
        // Tools called together with `end_call` finish before the call ends.
        let beside_end = !ends && !cancelled && running.as_ref().is_some_and(|running| running.ends);
        let closing = d.phase.is_closing() && !(beside_end && d.is_ended_by_agent());
        if closing || d.phase.is_voicemail() || (ends && cancelled) {
            d.emit(output(&call.id, "The caller went on. Nothing was done."));
            return;
        }
        if ends && self.tools.have_failed() {
            d.emit(output(&call.id, TOOL_FAILED));
            return;
        }
        if ends && d.pending_transfer.is_some() {
            if let Some(running) = running {
                running.called = true;
            }
            d.emit(output(&call.id, TRANSFERRED_INSTEAD));
            return;
        }
        if let Some(running) = running.filter(|_| ends) {
            running.ends = true;
            self.close_with(d, End::AgentHungUp, Some(call.id));
            return;
        }
        let running = self.response.as_mut().filter(|running| running.id == response);
        if let Some(running) = running {
            running.called = true;
            self.filler = filler.filter(|_| !running.cancelled && !running.sounded).or(self.filler.take());
        }
        self.tools.run(d, TURN, call);
    }

    /// Says the filler of a running tool if the model has said nothing.
    fn fill_tools(&mut self, d: &mut Dialogue, sounded: bool) {
        let filler = self.filler.take().filter(|_| !sounded && self.tools.is_running() && d.playback.is_idle());
        if let Some(filler) = filler.filter(|words| self.caller.speaking.is_none() && !words.trim().is_empty()) {
            let now = d.now;
            self.response_deadline.get_or_insert_with(|| ResponseDeadline::without_turn(now)).filled(now);
            self.speak_filler(d, Kind::Filler, filler.trim());
        }
    }

    pub(super) fn tool_returned(&mut self, d: &mut Dialogue, id: &str, result: Value) {
        match self.tools.returned(d, TURN, id, &result) {
            Returned::Unknown => return,
            Returned::InRound => {
                self.tools.order_by_return();
                if is_error(&result) && d.is_ended_by_agent() {
                    self.stay_on_the_line(d, TOOL_FAILED);
                }
                d.emit(RealtimeCommand::ToolOutput { id: id.to_owned(), result });
            }
            Returned::Late(name) => self.returned_late(d, &name, &result),
        }
        self.respond_when_tools_have(d);
    }

    /// Cancels the end of the call, with this result of `end_call`: a tool has failed and the model can inform the caller, or they are transferred.
    pub(super) fn stay_on_the_line(&mut self, d: &mut Dialogue, result: &str) {
        self.owes_goodbye = false;
        if let Some(response) = &mut self.response {
            response.ends = false;
        }
        if let Phase::Closing(Closing { tool_call: Some(id), .. }) = std::mem::replace(&mut d.phase, Phase::Conversing)
        {
            d.emit(output(&id, result));
        }
    }

    /// Requests a response once every tool has returned, unless the caller speaks: then the model responds anyway.
    fn respond_when_tools_have(&mut self, d: &mut Dialogue) {
        let has_news = self.tools.has_results() || self.late_result;
        if !has_news || self.tools.is_running() || self.response.is_some() {
            return;
        }
        self.late_result = false;
        self.tools.record(d, &Value::Null, true);
        if let Err(circling) = self.tools.count_round("speech-to-speech model") {
            self.give_up(d, circling);
        } else if d.is_ended_by_agent() && std::mem::take(&mut self.owes_goodbye) {
            self.request_goodbye(d);
        } else if self.caller.speaking.is_none() && !d.phase.is_closing() && !d.phase.is_voicemail() {
            self.request_response(Kind::Response, Instructions::Freely);
            let now = d.now;
            self.response_deadline.get_or_insert_with(|| ResponseDeadline::without_turn(now)).provider_since =
                Some(now);
        }
    }
}

pub(super) fn output(id: &str, error: &str) -> RealtimeCommand {
    RealtimeCommand::ToolOutput { id: id.to_owned(), result: json!({ "error": error }) }
}
