//! Overlap: the caller speaks while the agent speaks or is about to. Playback pauses at once, and then resumes or is cut.

use super::Cascade;
use super::barge_in::{Overlap, Playing, Verdict, Words};
use super::caller_turn::FinishedTurn;
use super::llm::CompletionRequest;
use super::question::is_yes_no_question;
use crate::Timestamp;
use crate::conversation::decision::DecisionKind;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::Effect;
use crate::conversation::playback::Kind;

impl Cascade {
    pub(super) fn voice_started(&mut self, d: &mut Dialogue) {
        let onset = d.now - d.timings.vad_onset;
        self.note_pause(d, onset);
        self.turn.started(onset);
        if !self.is_busy(d) || !self.may_be_interrupted(d) {
            return;
        }
        match &mut self.overlap {
            Some(overlap) => {
                overlap.resume(onset, &d.timings);
                if overlap.playing == Playing::Resumed {
                    overlap.playing = Playing::Paused;
                    d.emit(Effect::PausePlayback);
                }
            }
            None => {
                // Where nothing was heard yet, or the caller continues their turn, waiting for the verdict costs nothing.
                let continues = self.resumable.is_some() && self.resumes_turn(d);
                let yields = continues || !d.playback.was_heard() || d.playback.is_silent();
                let playing = if yields { Playing::Yielded } else { Playing::Paused };
                self.overlap = Some(Overlap { playing, onset, stopped: None });
                d.emit(Effect::PausePlayback);
            }
        }
    }

    /// Resumes playback after the voice, before the verdict.
    pub(super) fn resume_early(&mut self, d: &mut Dialogue) -> bool {
        let is_due = d.is_due(self.resume_at(d));
        let Some(overlap) = self.overlap.as_mut().filter(|_| is_due) else { return false };
        overlap.playing = Playing::Resumed;
        d.playback.touch(d.now);
        d.emit(Effect::ResumePlayback);
        true
    }

    fn resume_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let text = self.turn.words();
        self.overlap?.resume_at(self.words_over_agent(d, &text), &d.agent.interruption, &d.timings)
    }

    /// Ends the overlap without a verdict once the agent has finished: what the caller says is their turn.
    fn end_overlap(&mut self, d: &mut Dialogue) -> bool {
        let ended = self.overlap.take_if(|_| d.playback.is_idle() && self.request.is_none());
        if ended.is_some_and(|overlap| overlap.playing != Playing::Resumed) {
            d.emit(Effect::ResumePlayback);
        }
        ended.is_some()
    }

    pub(super) fn voice_stopped(&mut self, d: &mut Dialogue, segment: u32) {
        self.turn.stopped(segment, d.now - d.timings.vad_hangover);
        if let Some(overlap) = &mut self.overlap {
            overlap.stopped.get_or_insert(d.now);
        }
    }

    /// Returns whether the agent speaks or will do so before it listens again.
    pub(super) fn is_busy(&self, d: &Dialogue) -> bool {
        !d.playback.is_idle() || self.llm_pending()
    }

    pub(super) fn may_be_interrupted(&self, d: &Dialogue) -> bool {
        let said = d.playback.current().or_else(|| self.request.as_ref().map(|request| request.kind));
        let allowed = said != Some(Kind::Greeting) || d.agent.greeting.interruptible;
        allowed && d.agent.interruption.enabled && !d.phase.is_closing() && !d.phase.is_voicemail()
    }

    /// Returns what the caller said over the agent.
    pub(super) fn words_over_agent<'a>(&self, d: &Dialogue, text: &'a str) -> Words<'a> {
        let one_word_interrupts = self.resumes_turn(d) || !d.playback.was_heard();
        let (settled, courtesies) = (self.turn.is_final(), self.is_about_to_act());
        Words { language: d.language, text, settled, one_word_interrupts, courtesies }
    }

    /// Returns whether a text that would otherwise be a backchannel is an answer: the agent has asked a yes-or-no question, and nothing of its
    /// response to other text was heard.
    pub(super) fn answers_question(&self, d: &Dialogue, text: &str) -> bool {
        let asked = self.resumable.is_some() && is_yes_no_question(&d.last_said, d.language);
        asked && !text.is_empty() && self.llm_pending() && d.playback.is_idle()
    }

    /// Returns whether tools run or wait for the agent to finish speaking, or the call ends then.
    fn is_about_to_act(&self) -> bool {
        self.request.as_ref().is_some_and(CompletionRequest::acts)
    }

    /// Returns whether the caller speaks so soon after their turn was taken that they continue it.
    fn resumes_turn(&self, d: &Dialogue) -> bool {
        let onset = self.overlap.map_or_else(|| self.turn.began(), |overlap| Some(overlap.onset));
        let taken = self.turn_taken.map(|taken| taken + d.timings.turn_resumed);
        onset.zip(taken).is_some_and(|(onset, until)| onset <= until)
    }

    /// Reopens a turn that was taken too early. One response is due to both parts.
    pub(super) fn reopen_turn(&mut self, d: &mut Dialogue, past: FinishedTurn) {
        if let Some(onset) = self.turn.began() {
            self.pauses.add(onset.since(past.ended));
        }
        d.decided(DecisionKind::TurnReopened);
        d.turns -= u32::from(past.answered);
        self.uncounted = past.answered;
        self.turn.reopen(past);
        d.transcript.reopen();
        let asked = d.last_said.clone();
        self.stop_speaking(d);
        d.last_said = asked;
    }

    pub(super) fn overlap_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let overlap = self.overlap?;
        let text = self.turn.words();
        let verdict = overlap.verdict_at(self.words_over_agent(d, &text), &d.agent.interruption, &d.timings);
        Some(self.resume_at(d).map_or(verdict, |resumes| resumes.min(verdict)))
    }

    /// Evaluates an overlap. Voice counts until the verdict; text also counts after it, or if no voice was detected.
    pub(super) fn judge_overlap(&mut self, d: &mut Dialogue) -> bool {
        if self.end_overlap(d) {
            return true;
        }
        if self.overlap.is_none() && !(self.has_turn(d) && self.is_busy(d) && self.may_be_interrupted(d)) {
            return false;
        }
        let text = self.turn.words();
        let words = self.words_over_agent(d, &text);
        let settings = &d.agent.interruption;
        let verdict = match &self.overlap {
            _ if words.settled && self.answers_question(d, &text) => Verdict::Interrupt,
            Some(overlap) => overlap.judge(words, settings, &d.timings, d.now),
            // A caller who is asked to repeat was understood after all, only late.
            None if words.interrupt(settings) || (d.playback.current() == Some(Kind::Unclear) && !text.is_empty()) => {
                Verdict::Interrupt
            }
            None => Verdict::Wait,
        };
        match verdict {
            Verdict::Wait => return false,
            Verdict::Interrupt => {
                let resumed = self.resumes_turn(d);
                match self.resumable.take_if(|_| resumed) {
                    Some(past) => {
                        self.pauses.cut();
                        self.reopen_turn(d, past);
                    }
                    None => {
                        d.decided(DecisionKind::Interruption);
                        self.stop_speaking(d);
                    }
                }
            }
            Verdict::GoOn => {
                d.decided(DecisionKind::FalseInterruption);
                let Some(overlap) = self.overlap.take() else { return false };
                self.defer_response_deadline(overlap.stopped.unwrap_or(d.now));
                if overlap.playing != Playing::Resumed {
                    d.playback.touch(d.now);
                    d.emit(Effect::ResumePlayback);
                }
            }
        }
        true
    }
}
