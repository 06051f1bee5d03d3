//! From a session that is lost to the next one: what was said and called it is told, what it cannot be told it hears.

use std::time::Duration;

use serde_json::{Value, json};

use super::Realtime;
use super::messages::{Direction, Effect};
use super::responses::{GO_ON, Response, SAY_GOODBYE, Wish, by_id, output};
use super::waiting::Owed;
use crate::Timestamp;
use crate::conversation::mouth::Kind;

/// What is heard again begins so long before our own ears noticed the caller.
const LEAD: Duration = Duration::from_millis(200);
/// Who fell silent longer ago and was not heard by the model had nothing to say.
const RECENT: Duration = Duration::from_secs(5);
/// So many turns of the caller may be lost on a session before it is replaced with the next one.
const UNDERSTANDS_NOTHING: u32 = 1;
/// The answer of a tool that has none yet.
const STILL_RUNNING: &str = "It is still running. Its answer will follow; do not call it again for the same.";

/// A tool that was called in a session that was lost.
pub(super) struct LateTool {
    id: String,
    name: String,
    /// Where in the history its result belongs.
    place: usize,
}

/// Whether the session understands the caller.
#[derive(Debug, Default)]
pub(super) struct Understanding {
    /// It has told words of theirs, or answered them by itself.
    shown: bool,
    /// Our own voice detection has heard them speak since their last turn was counted.
    pub(super) spoken: bool,
    /// Turns of theirs of which it has shown nothing.
    unanswered: u32,
}

impl Realtime {
    /// The model has understood something of what the caller said in this session.
    pub(super) fn understood(&mut self) {
        self.understanding.shown = true;
    }

    /// Counts the caller's turn that the model does not answer by itself: two of which it has understood nothing are enough.
    pub(super) fn understands_nothing(&mut self) -> bool {
        let answers = self.owed.as_ref().is_some_and(|owed| owed.answers);
        if !answers || !std::mem::take(&mut self.understanding.spoken) || self.understanding.shown {
            return false;
        }
        self.understanding.unanswered += 1;
        self.understanding.unanswered > UNDERSTANDS_NOTHING
    }

    pub(super) fn session_lost(&mut self) {
        self.lost = true;
        self.leave_tools_running();
        let says_goodbye = self.closing.as_mut().is_some_and(|closing| closing.by_tool.take().is_some());
        if let Some(by_tool) = &mut self.passing_on {
            *by_tool = None;
        }
        let unheard = self.unheard();
        self.unheard_since = unheard.map_or(self.now, |at| (at - LEAD).max(self.began));
        self.hears_first = unheard.is_some();
        (self.speaking, self.missed, self.catching_up) = (None, None, false);
        if let Some(response) = self.response.take() {
            self.response_was_lost(response, says_goodbye);
        }
        self.disown_items();
        if let Some(asked) = self.asked.take().filter(|asked| !asked.unwanted) {
            self.want_first(asked.kind, asked.direction);
        }
        if self.hears_first {
            // It answers what it hears.
            self.wishes.retain(|wish| !is_answer(wish));
        }
    }

    /// When the caller began with what the model has not heard, or of which only the lost session knew the words.
    fn unheard(&mut self) -> Option<Timestamp> {
        let answering = self.response.as_ref().is_some_and(|response| !response.dead);
        let waits = self.owed.is_some() || answering || self.speaking.is_some();
        let untold = self.lines.disown(self.now).filter(|_| waits);
        let speaks = self.voice.speaks;
        let recent = |ended: &Timestamp| self.now.since(*ended) < RECENT;
        let spoke = self.voice.ended.filter(recent).filter(|_| !speaks);
        let began = self.voice.turn_began.filter(|began| speaks || spoke.is_some_and(|ended| ended >= *began));
        let began = began.filter(|_| self.listens());
        if let Some(ended) = spoke.filter(|_| began.is_some() && self.owed.is_none()) {
            self.owed = Some(Owed::an_answer_since(ended));
        }
        untold.into_iter().chain(began).min()
    }

    fn response_was_lost(&mut self, response: Response, says_goodbye: bool) {
        self.complete_items(&response.id, true);
        if response.dead {
            return;
        }
        if says_goodbye && !response.sounded {
            self.want_first(Kind::Goodbye, Direction::Directed(SAY_GOODBYE.to_owned()));
        } else if response.kind == Kind::Answer && self.hears_first {
            let now = self.now;
            self.owed.get_or_insert_with(|| Owed::nothing_asked(now));
        } else if response.sounded {
            self.want_first(response.kind, Direction::Directed(GO_ON.to_owned()));
        } else if self.owed.is_some() {
            self.want_first(response.kind, response.direction);
        }
    }

    pub(super) fn want_first(&mut self, kind: Kind, direction: Direction) {
        self.want(kind, direction);
        self.wishes.rotate_right(1);
    }

    pub(super) fn session_resumed(&mut self) {
        self.lost = false;
        self.understanding = Understanding::default();
        self.lines.disown(self.now);
        self.effects.extend(std::mem::take(&mut self.untold).into_iter().map(|text| Effect::Tell { text }));
        if let Some(asked) = &mut self.asked {
            asked.asked_at = Some(self.now);
        }
        // What the caller has said it hears now, and may answer by itself.
        self.catching_up = std::mem::take(&mut self.hears_first) && self.asked.is_none();
        let idle = self.wishes.is_empty() && self.asked.is_none() && self.tools.is_empty() && !self.catching_up;
        if let Some(owed) = &mut self.owed {
            owed.by_another(self.now);
            if idle {
                self.want(Kind::Answer, Direction::Freely);
            }
        }
    }

    /// The next session knows what was called, and hears of what comes of it later: what a tool does is done once.
    fn leave_tools_running(&mut self) {
        let answered = std::mem::take(&mut self.round).into_iter().map(by_id);
        let running = self.tools.iter().filter(|call| self.late_tools.iter().all(|late| late.id != call.id));
        let running = running.map(|call| by_id((call.clone(), json!({ "status": STILL_RUNNING }))));
        let (calls, results): (Vec<_>, Vec<_>) = answered.chain(running).unzip();
        if calls.is_empty() {
            return;
        }
        let known: Vec<_> = calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
        let first = self.history.tools_ran(calls, results);
        for (i, (id, name)) in known.into_iter().enumerate() {
            if self.tools.iter().any(|call| call.id == id) {
                self.late_tools.push(LateTool { id, name, place: first + i });
            }
        }
    }

    pub(super) fn take_late(&mut self, id: &str) -> Option<LateTool> {
        let at = self.late_tools.iter().position(|late| late.id == id)?;
        Some(self.late_tools.swap_remove(at))
    }

    /// What a tool of ours comes to, in the session that called it or in another one.
    pub(super) fn tell_result(&mut self, id: &str, error: &str) {
        match self.take_late(id) {
            Some(late) => self.answered_late(&late, &json!({ "error": error })),
            None => self.effects.push(output(id, error)),
        }
    }

    pub(super) fn answered_late(&mut self, tool: &LateTool, result: &Value) {
        self.history.tool_answered(tool.place, result);
        self.late_result = true;
        let text = format!("[{} answered] {result}", tool.name);
        if self.lost {
            self.untold.push(text);
        } else {
            self.effects.push(Effect::Tell { text });
        }
    }
}

fn is_answer(wish: &Wish) -> bool {
    wish.kind == Kind::Answer && wish.direction == Direction::Freely
}
