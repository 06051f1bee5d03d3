//! What the model is told to speak about, one thing at a time, and the tools that it calls.

use std::time::Duration;

use serde_json::{Value, json};

use super::Realtime;
use super::messages::{Direction, Effect};
use super::waiting::{ANSWER, Owed, too_late};
use crate::Timestamp;
use crate::conversation::End;
use crate::conversation::input::{Failure, FailureCode, ToolCall};
use crate::conversation::mouth::Kind;

/// How often the model is told again when it is busy.
const TRIES: u32 = 3;
/// How often tools run for one turn. A model that wants more than that goes round in circles.
const MAX_ROUNDS: u32 = 8;
/// How long the end of a response that was stopped is waited for.
const STOPPED: Duration = Duration::from_secs(3);
/// The tool that ends the call.
const END_CALL: &str = "end_call";
/// Added to the instructions when the call ends without a goodbye.
pub(super) const SAY_GOODBYE: &str = "The call is about to end. Say goodbye in one short sentence.";
/// The same when it broke off in the middle of a sentence.
pub(super) const GO_ON: &str = "You broke off while you were speaking, so the end of what you last said was not heard. Finish it in one \
    or two short sentences, without saying again what stands in the conversation.";

/// Something that the model is to speak about.
pub(super) struct Wish {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) direction: Direction,
    pub(super) tries: u32,
    /// The caller has spoken since.
    pub(super) unwanted: bool,
    /// When the model was told.
    pub(super) asked_at: Option<Timestamp>,
}

/// What the model is saying.
pub(super) struct Response {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) direction: Direction,
    /// Whether it was told to speak.
    told: bool,
    pub(super) sounded: bool,
    called: bool,
    /// Nothing more of it is wanted, since when its end is waited for.
    pub(super) dead: bool,
    stopped_at: Option<Timestamp>,
}

impl Realtime {
    pub(super) fn want(&mut self, kind: Kind, direction: Direction) {
        self.last_wish += 1;
        self.wishes.push_back(Wish {
            number: self.last_wish,
            kind,
            direction,
            tries: 0,
            unwanted: false,
            asked_at: None,
        });
    }

    /// Whether the model speaks or is about to.
    pub(super) fn is_responding(&self) -> bool {
        self.response.is_some() || self.asked.is_some() || !self.wishes.is_empty()
    }

    /// Whether something is to come that the caller waits for: not what the API has said, nor a question to who is silent.
    pub(super) fn is_awaited(&self) -> bool {
        let awaited = |kind: Kind| !matches!(kind, Kind::Said | Kind::Reprompt);
        let tools = !self.tools.is_empty() && !self.is_responding();
        let asked = self.asked.iter().chain(&self.wishes).any(|wish| awaited(wish.kind) && !wish.unwanted);
        let begun = self.response.as_ref();
        let begun = begun.is_some_and(|begun| begun.told && !begun.dead && !begun.sounded && awaited(begun.kind));
        tools || asked || begun
    }

    /// Tells the model what to speak about next, when it is its turn.
    pub(super) fn ask_next(&mut self) -> bool {
        let busy = self.response.is_some() || self.asked.is_some() || self.lost || self.passing_on.is_some();
        let Some(wish) = self.wishes.front().filter(|_| !busy) else { return false };
        let may = match wish.kind {
            Kind::Goodbye | Kind::Voicemail => true,
            // What nobody waits for comes when nothing else does.
            Kind::Said | Kind::Reprompt => self.speaking.is_none() && self.owed.is_none() && self.mouth.is_idle(),
            _ => self.speaking.is_none(),
        };
        let Some(wish) = self.wishes.pop_front().filter(|_| may) else { return false };
        self.effects.push(Effect::Respond { wish: wish.number, direction: wish.direction.clone() });
        self.asked = Some(Wish { asked_at: Some(self.now), ..wish });
        true
    }

    pub(super) fn response_started(&mut self, id: String, wish: Option<u32>) {
        let asked = self.asked.take_if(|asked| Some(asked.number) == wish);
        let own = asked.is_none();
        self.missed = None;
        if own {
            self.understood();
        }
        let unwanted = asked.as_ref().is_some_and(|wish| wish.unwanted) || (own && !self.listens());
        let (kind, direction) = asked.map_or((Kind::Answer, Direction::Freely), |wish| (wish.kind, wish.direction));
        self.response = Some(Response {
            id,
            kind,
            direction,
            told: !own,
            sounded: false,
            called: false,
            dead: false,
            stopped_at: None,
        });
        if unwanted {
            self.stop_response();
        }
    }

    /// The model has begun to answer by itself, which is as good as an answer that it was asked for.
    pub(super) fn busy(&mut self, wish: u32) {
        let Some(mut asked) = self.asked.take_if(|asked| asked.number == wish) else { return };
        asked.tries += 1;
        if asked.kind != Kind::Answer && asked.tries < TRIES && !asked.unwanted {
            self.wishes.push_front(asked);
        }
    }

    /// Stops the response that is under way.
    pub(super) fn stop_response(&mut self) {
        let now = self.now;
        if let Some(response) = self.response.as_mut().filter(|response| !response.dead) {
            response.dead = true;
            response.stopped_at = Some(now);
            let response = response.id.clone();
            self.effects.push(Effect::Cancel { response });
        }
        self.forget_wishes();
    }

    /// The provider has stopped it already, since the caller speaks.
    pub(super) fn response_was_stopped(&mut self) {
        let now = self.now;
        if let Some(response) = &mut self.response {
            response.dead = true;
            response.stopped_at.get_or_insert(now);
        }
        self.forget_wishes();
    }

    /// What the API wants said is still wanted.
    fn forget_wishes(&mut self) {
        if let Some(asked) = &mut self.asked {
            asked.unwanted = asked.kind != Kind::Said;
        }
        self.wishes.retain(|wish| wish.kind == Kind::Said);
    }

    pub(super) fn cancel_lost_at(&self) -> Option<Timestamp> {
        self.response.as_ref()?.stopped_at.map(|at| at + STOPPED)
    }

    /// A server that does not tell the end of what it stopped.
    pub(super) fn give_up_on_cancelled(&mut self) -> bool {
        let due = self.is_due(self.cancel_lost_at());
        if due {
            self.response = None;
        }
        due
    }

    /// When it is no longer to be expected that the model begins with what it was told.
    pub(super) fn asked_lost_at(&self) -> Option<Timestamp> {
        let asked = self.asked.as_ref().filter(|_| !self.lost && self.response.is_none())?;
        Some(asked.asked_at? + if asked.unwanted { STOPPED } else { ANSWER })
    }

    pub(super) fn give_up_on_asked(&mut self) -> bool {
        let due = self.is_due(self.asked_lost_at());
        if due && self.asked.take().is_some_and(|asked| !asked.unwanted) {
            self.give_up(too_late());
        }
        due
    }

    pub(super) fn response_done(&mut self, id: &str, failed: Option<String>) {
        let Some(response) = self.response.take_if(|response| response.id == id) else { return };
        self.complete_items(id, failed.is_some());
        if response.dead {
            return;
        }
        if let Some(words) = failed.as_ref().filter(|_| response.sounded && !response.called) {
            return self.broke_off(response.kind, words);
        }
        if response.sounded || response.called {
            self.failures = 0;
            self.cover_tools(response.sounded);
            self.answer_when_tools_have();
            return;
        }
        if let Some(id) = self.closing.as_mut().and_then(|closing| closing.by_tool.take()) {
            self.effects.push(Effect::ToolOutput { id, result: json!({ "ok": true }) });
            self.want(Kind::Goodbye, Direction::Directed(SAY_GOODBYE.to_owned()));
            return;
        }
        if failed.is_none() && self.owed.is_none() {
            return;
        }
        // Who has been answered need not hear what a tool has done.
        if failed.is_none() && self.rounds > 0 && self.owed.as_ref().is_some_and(|owed| !owed.answers) {
            self.owed = None;
            return;
        }
        self.failures += 1;
        if self.failures > 1 {
            self.fail(failed.as_deref().unwrap_or("it answers without saying anything"));
        } else if self.speaking.is_none() {
            self.want(response.kind, response.direction);
        }
    }

    /// The model failed in the middle of what it said.
    fn broke_off(&mut self, kind: Kind, words: &str) {
        if self.closing.is_some() || self.speaking.is_some() {
            return;
        }
        self.failures += 1;
        if self.failures > 1 {
            self.fail(words);
        } else {
            self.want_first(kind, Direction::Directed(GO_ON.to_owned()));
        }
    }

    fn fail(&mut self, words: &str) {
        self.give_up(Failure::new(FailureCode::Pipeline, format!("The speech-to-speech model failed: {words}.")));
    }

    pub(super) fn tool_called(&mut self, response: &str, call: ToolCall, filler: Option<String>) {
        let ends = call.name == END_CALL;
        let running = self.response.as_mut().filter(|running| running.id == response);
        let dead = running.as_ref().is_none_or(|running| running.dead);
        if self.closing.is_some() || self.machine.is_some() || (ends && dead) {
            self.effects.push(output(&call.id, "The caller went on. Nothing was done."));
            return;
        }
        if ends {
            self.close_with(End::AgentHungUp, Some(call.id));
            return;
        }
        if let Some(running) = running {
            running.called = true;
            self.filler = filler.filter(|_| !running.dead && !running.sounded).or(self.filler.take());
        }
        self.tools.push(call.clone());
        self.effects.push(Effect::RunTool { call });
    }

    /// Says what is said while a tool runs, when the model has said nothing.
    fn cover_tools(&mut self, sounded: bool) {
        let filler = self.filler.take().filter(|_| !sounded && !self.tools.is_empty() && self.mouth.is_idle());
        if let Some(filler) = filler.filter(|words| self.speaking.is_none() && !words.trim().is_empty()) {
            let now = self.now;
            self.owed.get_or_insert_with(|| Owed::nothing_asked(now)).covered(now);
            self.cover(Kind::Filler, filler.trim());
        }
    }

    pub(super) fn tool_answered(&mut self, id: &str, result: Value) {
        let Some(position) = self.tools.iter().position(|call| call.id == id) else { return };
        let call = self.tools.remove(position);
        match self.take_late(&call.id) {
            Some(late) => self.answered_late(&late, &result),
            None => {
                self.effects.push(Effect::ToolOutput { id: call.id.clone(), result: result.clone() });
                self.round.push((call, result));
            }
        }
        self.answer_when_tools_have();
    }

    /// Once every tool has answered the model goes on, unless the caller speaks: then it will anyway.
    fn answer_when_tools_have(&mut self) {
        let has_news = !self.round.is_empty() || self.late_result;
        if !has_news || !self.tools.is_empty() || self.response.is_some() {
            return;
        }
        self.late_result = false;
        let (calls, results): (Vec<_>, Vec<_>) = std::mem::take(&mut self.round).into_iter().map(by_id).unzip();
        if !calls.is_empty() {
            let _ = self.history.tools_ran(calls, results);
        }
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            self.give_up(Failure::new(FailureCode::Pipeline, "The speech-to-speech model called tools without end."));
        } else if self.speaking.is_none() && self.closing.is_none() && self.machine.is_none() {
            self.want(Kind::Answer, Direction::Freely);
            let now = self.now;
            self.owed.get_or_insert_with(|| Owed::nothing_asked(now)).model_since = now;
        }
    }
}

/// A call, and its result with its id.
pub(super) fn by_id((call, result): (ToolCall, Value)) -> (ToolCall, (String, Value)) {
    let id = call.id.clone();
    (call, (id, result))
}

pub(super) fn output(id: &str, error: &str) -> Effect {
    Effect::ToolOutput { id: id.to_owned(), result: json!({ "error": error }) }
}
