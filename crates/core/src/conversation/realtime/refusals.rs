//! Responses that a content filter withholds. They cost one answer, not the call.

use super::Realtime;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::phrases;
use crate::conversation::playback::Kind;

/// How often in a row a response is requested again: first what the caller said last has left the session, then all that they said.
const TRIES: u32 = 2;
/// Why a goodbye or a message has failed.
const WITHHELD: &str = "its content filter withheld the response";

impl Realtime {
    pub(super) fn response_refused(&mut self, d: &mut Dialogue, id: &str, left_out: Vec<String>) {
        d.transcript.refuse(left_out);
        if !d.phase.is_open() {
            return self.response_done(d, id, Some(WITHHELD.to_owned()), None);
        }
        // What it called runs already; asked again, it would run twice.
        if self.response.as_ref().is_some_and(|response| response.id == id && response.called) {
            return self.response_done(d, id, None, None);
        }
        let Some(response) = self.response.take_if(|response| response.id == id) else { return };
        Self::complete_items(d, id, true);
        // The model will respond to a caller who is speaking.
        if response.cancelled || self.caller.speaking.is_some() {
            return;
        }
        self.refusals += 1;
        if self.refusals <= TRIES {
            if let Some(deadline) = &mut self.response_deadline {
                deadline.provider_since = Some(d.now);
            }
            self.request_response(response.kind, response.instructions);
        } else {
            self.continue_without_response(d, response.kind);
        }
    }

    /// Says a phrase in place of the response, unless the caller does not wait for one.
    fn continue_without_response(&mut self, d: &mut Dialogue, kind: Kind) {
        self.refusals = 0;
        if !matches!(kind, Kind::Said | Kind::Reprompt) {
            self.response_deadline = None;
            self.speak_filler(d, Kind::Apology, phrases::usual(d.language.phrases.lost_thread));
        }
    }
}
