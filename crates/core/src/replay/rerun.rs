//! Reruns the same inputs.

use super::figures::{Figures, Observer};
use super::log::InputLog;
use crate::Timestamp;
use crate::conversation::{Decision, Effect};

/// The results of a rerun.
pub struct Rerun {
    /// The effects, and when each was returned.
    pub effects: Vec<(Timestamp, Effect)>,
    /// The decisions about turns.
    pub decisions: Vec<Decision>,
    /// Counts and times of the turns.
    pub figures: Figures,
}

/// Reruns a conversation with its original settings.
#[must_use]
pub fn rerun(log: &InputLog) -> Rerun {
    let mut conversation = log.conversation(&log.header.agent);
    let (mut observer, mut effects) = (Observer::default(), Vec::new());
    let mut note = |now, observer: &mut Observer, effect| {
        observer.effect(&effect);
        effects.push((now, effect));
    };
    for (now, input) in &log.inputs {
        observer.input(*now, input);
        for effect in conversation.handle(*now, input.clone()) {
            note(*now, &mut observer, effect);
        }
    }
    if let Some(ended) = log.ended {
        for effect in conversation.finish(ended) {
            note(ended, &mut observer, effect);
        }
    }
    let (decisions, figures) = observer.finish(conversation.turns());
    Rerun { effects, decisions, figures }
}
