//! An answering machine: the agent hangs up or leaves a message.

use std::time::Duration;

use super::Conversation;
use super::decision::DecisionKind;
use super::effect::End;
use super::input::MachineEvidence;
use super::phase::Phase;
use super::playback::Kind;
use crate::Timestamp;
use crate::agent::{MachineDetection, OnMachine};

impl Conversation {
    pub(super) fn machine_detected(&mut self, beep: bool, by: MachineEvidence) {
        let settings = &self.dialogue.agent.answering_machine;
        if settings.mode == MachineDetection::Off || self.dialogue.phase.is_closing() {
            return;
        }
        if let Phase::Voicemail { beeped, .. } = &mut self.dialogue.phase {
            *beeped |= beep;
            return;
        }
        // The carrier's verdict was a person; a verdict of a machine withdraws it.
        self.dialogue.is_human &= by != MachineEvidence::Carrier;
        if self.is_person(by) {
            self.dialogue.decided(DecisionKind::MachineIgnored);
            return;
        }
        if settings.on_machine == OnMachine::Hangup || self.voicemail_message().is_empty() {
            self.end(End::VoicemailHungUp);
            return;
        }
        self.strategy.stop(&mut self.dialogue, true);
        self.dialogue.say_queue.clear(); // It was meant for a person.
        self.dialogue.phase = Phase::Voicemail { since: self.dialogue.now, beeped: beep };
    }

    /// Returns whether the caller is a person in spite of this evidence: one who got a response is. The agent may have spoken into a pause of a
    /// greeting, so what only recordings say still counts after one response, if it begins before the caller can have heard that.
    fn is_person(&self, by: MachineEvidence) -> bool {
        let d = &self.dialogue;
        let begins_before = |listened: Duration| {
            d.answered_at.is_some_and(|answered| self.strategy.words_began(d) < answered + listened)
        };
        match by {
            MachineEvidence::Carrier | MachineEvidence::Beep => d.turns > 0,
            MachineEvidence::Words => d.is_human || (d.turns > 0 && !begins_before(Duration::ZERO)),
            MachineEvidence::Recording => {
                let greeting = d.turns <= 1 && !d.is_human;
                let listened = if greeting { d.timings.greeting_pause } else { Duration::ZERO };
                d.turns > 0 && !begins_before(listened)
            }
        }
    }

    fn voicemail_message(&self) -> &str {
        self.dialogue.agent.answering_machine.message.as_deref().unwrap_or_default().trim()
    }

    /// Returns when the message is left at the latest.
    pub(super) fn beep_at(&self) -> Option<Timestamp> {
        match self.dialogue.phase {
            Phase::Voicemail { since, beeped: true } => Some(since),
            Phase::Voicemail { since, beeped: false } => Some(since + self.dialogue.timings.beep),
            _ => None,
        }
    }

    /// Leaves the message after the beep, or when none comes. The message may be long.
    pub(super) fn leave_message(&mut self) -> bool {
        let due = self.dialogue.is_due(self.beep_at());
        if due {
            let message = self.voicemail_message().to_owned();
            let d = &mut self.dialogue;
            d.close_with(End::VoicemailMessageLeft, None);
            let longest = d.longest_at();
            if let Some(closing) = d.phase.closing_mut() {
                closing.limit = closing.limit.max(longest);
            }
            self.strategy.say(d, Kind::Voicemail, &message);
        }
        due
    }
}
