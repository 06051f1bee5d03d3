//! Items of the model's speech, and the fillers of the MIN_TTS_TIME.

use std::time::Duration;

use super::{Realtime, RealtimeEffect};
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::Effect;
use crate::conversation::playback::Kind;

/// The longest silence before a filler.
const MAX_SILENCE: Duration = Duration::from_millis(2_900);
/// The minimum time for the MIN_TTS_TIME, and the time for it after a failure.
const MIN_TTS_TIME: Duration = Duration::from_millis(500);
const FAILED_TTS: Duration = Duration::from_millis(200);

impl Realtime {
    /// Queues an item of the response under way, unless it is queued already. Returns whether the item is wanted.
    fn queue_item(&mut self, d: &mut Dialogue, response: &str, item: &str) -> bool {
        let running = self.response.as_mut().filter(|running| running.id == response && !running.cancelled);
        let Some(running) = running else { return false };
        running.sounded = true;
        let kind = running.kind;
        if !d.playback.contains_item(item) {
            // The response has arrived before the filler that was to cover the wait for it.
            if d.playback.drop_unheard_fillers() {
                d.emit(Effect::ClearPlayback);
            }
            let utterance = d.playback.add_item(kind, response, item, d.now);
            d.emit(RealtimeEffect::QueueItem { utterance, item: item.to_owned() });
        }
        true
    }

    pub(super) fn item_audio(&mut self, d: &mut Dialogue, response: &str, item: &str, audio: Duration) {
        if !self.queue_item(d, response, item) {
            return;
        }
        d.playback.item_audio(item, audio, d.now);
        if let Some(deadline) = &mut self.response_deadline {
            deadline.first_audio.get_or_insert(d.now);
        }
        if self.response_deadline.as_ref().is_some_and(|deadline| deadline.noticed) {
            self.understood();
        }
    }

    pub(super) fn item_text(&mut self, d: &mut Dialogue, response: &str, item: &str, text: &str) {
        if !self.queue_item(d, response, item) {
            return;
        }
        d.playback.item_text(item, text);
        if let Some(deadline) = &mut self.response_deadline {
            deadline.first_token.get_or_insert(d.now);
        }
    }

    pub(super) fn item_complete(&mut self, d: &mut Dialogue, item: &str) {
        if let Some(utterance) = d.playback.item_complete(item) {
            d.emit(RealtimeEffect::ItemComplete { utterance });
        }
    }

    /// Completes the items of a response that is over. If it broke off, the text may be ahead of the audio.
    pub(super) fn complete_items(d: &mut Dialogue, response: &str, broke_off: bool) {
        for utterance in d.playback.response_over(response, broke_off) {
            d.emit(RealtimeEffect::ItemComplete { utterance });
        }
    }

    /// Says something by MIN_TTS_TIME in place of the model. A tone replaces an empty text.
    pub(super) fn speak_filler(&mut self, d: &mut Dialogue, kind: Kind, text: &str) {
        let left = (d.silence.anybody() + MAX_SILENCE).since(d.now);
        let deadline = d.playback.queued() + if self.tts_failed { FAILED_TTS } else { left.max(MIN_TTS_TIME) };
        d.speak_within(kind, text, deadline);
    }
}
