//! Items of speech-to-speech sessions in the ledger: their text and audio arrive piece by piece, and the session may be lost.

use std::time::Duration;

use super::{PlaybackLedger, Response, Utterance, heard};
use crate::Timestamp;

impl PlaybackLedger {
    fn item(&mut self, id: &str) -> Option<&mut Utterance> {
        let known =
            |response: &&mut Response| response.item.as_ref().is_some_and(|item| item.id.as_deref() == Some(id));
        self.queue.iter_mut().find(known).map(|response| &mut response.utterances[0])
    }

    /// Returns whether an item is queued.
    pub(in crate::conversation) fn contains_item(&mut self, id: &str) -> bool {
        self.item(id).is_some()
    }

    /// Adds audio to an item.
    pub(in crate::conversation) fn item_audio(&mut self, id: &str, audio: Duration, now: Timestamp) {
        if let Some(utterance) = self.item(id) {
            utterance.audio.made += audio;
            self.progress = Some(now);
        }
    }

    /// Adds text to an item.
    pub(in crate::conversation) fn item_text(&mut self, id: &str, text: &str) {
        if let Some(utterance) = self.item(id) {
            utterance.text.push_str(text);
        }
    }

    /// Marks an item as having all its audio. Returns its utterance, once.
    pub(in crate::conversation) fn item_complete(&mut self, id: &str) -> Option<u32> {
        let utterance = self.item(id).filter(|utterance| !utterance.audio.complete)?;
        utterance.audio.complete = true;
        Some(utterance.number)
    }

    /// Marks the items of a finished response as complete. If it broke off, text that is ahead of the audio is cut. Returns the utterances that are
    /// now complete.
    pub(in crate::conversation) fn response_over(&mut self, id: &str, broke_off: bool) -> Vec<u32> {
        let mut complete = Vec::new();
        for response in &mut self.queue {
            let Some(item) = response.item.as_ref().filter(|item| item.response == id) else { continue };
            response.open = false;
            let utterance = &mut response.utterances[0];
            if item.id.is_some() && !utterance.audio.complete {
                if broke_off {
                    utterance.text = heard(utterance.text.trim(), &utterance.audio, utterance.audio.made).to_owned();
                }
                utterance.audio.complete = true;
                complete.push(utterance.number);
            }
        }
        complete
    }

    /// Closes the items of a response: nothing more is added to them.
    pub(in crate::conversation) fn close_response(&mut self, id: &str) {
        for response in &mut self.queue {
            if response.item.as_ref().is_some_and(|item| item.response == id) {
                response.open = false;
            }
        }
    }

    /// Removes the ids of the items: the session that knew them is gone.
    pub(in crate::conversation) fn disown_items(&mut self) {
        for item in self.queue.iter_mut().filter_map(|response| response.item.as_mut()) {
            item.id = None;
        }
    }
}
