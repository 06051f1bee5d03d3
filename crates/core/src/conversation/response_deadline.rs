//! The deadline of a response to the caller: since when they wait, the fillers so far, and when each stage happened.

use super::dialogue::Dialogue;
use super::effect::{Effect, TurnTimes};
use crate::Timestamp;

/// The caller waits to hear the agent.
pub(super) struct ResponseDeadline {
    /// The start of the wait: the caller's last audio, their turn, or the event that needs a response.
    pub(super) since: Timestamp,
    /// Since when only one provider is awaited: the TTS, or a speech-to-speech model.
    pub(super) provider_since: Option<Timestamp>,
    /// When the caller's speech and their turn ended, until the first of the response is heard; `None` without a turn.
    turn: Option<(Timestamp, Timestamp)>,
    pub(super) first_token: Option<Timestamp>,
    pub(super) first_audio: Option<Timestamp>,
    /// How many fillers have covered the wait, and when the last one did.
    pub(super) fillers: u32,
    pub(super) filled_at: Option<Timestamp>,
    /// Whether a speech-to-speech model has noticed the turn without being asked.
    pub(super) noticed: bool,
    /// Whether the response was requested from a model that did not begin on its own.
    pub(super) prompted: bool,
}

impl ResponseDeadline {
    /// Creates a deadline for a caller who waits without having said anything.
    pub(super) fn without_turn(since: Timestamp) -> Self {
        Self {
            since,
            provider_since: None,
            turn: None,
            first_token: None,
            first_audio: None,
            fillers: 0,
            filled_at: None,
            noticed: false,
            prompted: false,
        }
    }

    /// Creates a deadline for a caller who has finished a turn, from which the wait counts.
    pub(super) fn after_turn(speech_ended: Timestamp, turn_ended: Timestamp) -> Self {
        Self { turn: Some((speech_ended, turn_ended)), ..Self::without_turn(turn_ended) }
    }

    pub(super) fn is_after_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Records a filler.
    pub(super) fn filled(&mut self, now: Timestamp) {
        self.fillers += 1;
        self.filled_at = Some(now);
    }

    /// Records that the response is heard: counts its turn, once, and reports the times of its stages. Returns whether it was counted now.
    pub(super) fn heard(&mut self, d: &mut Dialogue, turn: u32) -> bool {
        let Some((speech_ended, turn_ended)) = self.turn.take() else { return false };
        d.turns += 1;
        d.answered_at.get_or_insert(d.now);
        let first_audio_ready = self.first_audio.unwrap_or(d.now);
        let first_token = self.first_token.unwrap_or(first_audio_ready);
        d.emit(Effect::Turn(TurnTimes {
            turn,
            speech_ended,
            turn_ended,
            first_token,
            first_audio_ready,
            first_audio_played: d.now,
        }));
        true
    }
}
