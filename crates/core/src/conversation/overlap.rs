//! The caller speaks while the agent speaks or is about to: the sound is held at once, then it goes on or is cut.

use super::Conversation;
use super::barge_in::{Overlap, Verdict, Words};
use super::effect::Effect;
use super::mouth::Kind;
use crate::Timestamp;

impl Conversation {
    pub(super) fn speech_started(&mut self) {
        let onset = self.now - self.timings.vad_onset;
        self.caller.started(onset);
        if !self.is_busy() || !self.may_be_interrupted() {
            return;
        }
        if self.overlap.replace(Overlap { onset, stopped: None }).is_none() {
            self.effects.push(Effect::Pause);
        }
    }

    pub(super) fn speech_stopped(&mut self, segment: u32) {
        self.caller.stopped(segment, self.now - self.timings.vad_hangover);
        if let Some(overlap) = &mut self.overlap {
            overlap.stopped.get_or_insert(self.now);
        }
    }

    /// Whether the agent speaks or will do so before it listens again.
    pub(super) fn is_busy(&self) -> bool {
        !self.mouth.is_idle() || self.is_thinking()
    }

    pub(super) fn may_be_interrupted(&self) -> bool {
        let said = self.mouth.current().or_else(|| self.thinking.as_ref().map(|thinking| thinking.kind));
        let allowed = said != Some(Kind::Greeting) || self.agent.greeting.interruptible;
        allowed && self.agent.interruption.enabled && self.closing.is_none() && self.machine.is_none()
    }

    /// What the caller said over the agent.
    pub(super) fn words_over_agent<'a>(&self, text: &'a str) -> Words<'a> {
        Words { language: self.language, text, settled: self.caller.is_final(), nothing_heard: !self.mouth.was_heard() }
    }

    pub(super) fn overlap_at(&self) -> Option<Timestamp> {
        let overlap = self.overlap?;
        let text = self.caller.words();
        Some(overlap.verdict_at(self.words_over_agent(&text), &self.agent.interruption, &self.timings))
    }

    /// Voice is judged while the sound is held; words also when they come after it went on, or when no voice was found.
    pub(super) fn judge_overlap(&mut self) -> bool {
        if self.overlap.is_none() && !(self.caller.has_turn() && self.is_busy() && self.may_be_interrupted()) {
            return false;
        }
        let text = self.caller.words();
        let words = self.words_over_agent(&text);
        let settings = &self.agent.interruption;
        let verdict = match &self.overlap {
            Some(overlap) => overlap.judge(words, settings, &self.timings, self.now),
            // Whoever is asked to say it again has said it already, and was only understood late.
            None if words.interrupt(settings) || (self.mouth.current() == Some(Kind::Unclear) && !text.is_empty()) => {
                Verdict::Interrupt
            }
            None => Verdict::Wait,
        };
        match verdict {
            Verdict::Wait => return false,
            Verdict::Interrupt => self.fall_silent(),
            Verdict::GoOn => {
                let stopped = self.overlap.take().and_then(|overlap| overlap.stopped);
                self.excuse_silence(stopped.unwrap_or(self.now));
                self.mouth.go_on(self.now);
                self.effects.push(Effect::Resume);
            }
        }
        true
    }
}
