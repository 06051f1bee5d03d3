//! Turn-taking: when the caller's turn is over, and what follows from it.

use std::time::Duration;

use super::Cascade;
use super::barge_in::Words;
use super::caller_turn::FinishedTurn;
use super::endpointing::{Judgement, judge};
use super::evidence::Spoken;
use super::llm::same_words;
use crate::Timestamp;
use crate::conversation::decision::{Decision, DecisionKind, TurnEndedBy};
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::Effect;
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;
use crate::conversation::transcript::CallerWords;

/// The maximum number of early LLM requests per turn: each one is wasted if the caller continues.
pub(super) const MAX_SPECULATIONS: u32 = 3;
/// How often in a row the caller is asked to repeat. After that, it is probably noise rather than speech.
const MAX_UNCLEAR: u32 = 2;

impl Cascade {
    /// Returns when the turn is over unless something is said; `None` while there is no turn or it cannot be taken.
    pub(super) fn turn_over_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let waits = self.is_busy(d) || self.overlap.is_some() || d.phase.is_closing() || d.phase.is_transferring();
        if waits || !self.has_turn(d) {
            return None;
        }
        let ended = self.turn.ended().unwrap_or(d.now);
        let words = self.turn.words();
        let ends_by = self.turn_ends_by(d, &words);
        if d.dtmf.is_complete() || ends_by == TurnEndedBy::Stt {
            return Some(ended);
        }
        if self.turn.speaking().is_some() {
            return None;
        }
        let silence = if ends_by == TurnEndedBy::Keys {
            Duration::from_millis(d.agent.dtmf.digit_timeout_ms.into())
        } else {
            self.silence_needed(d, &self.judge(d, &words))
        };
        // A slow STT may still return text.
        let recognised = if self.turn.is_settled() { silence } else { silence.max(d.timings.stt) };
        // Text over the agent's speech is awaited like any other, once the caller can hear that it is their turn.
        let over = self.spoke_at.map_or(ended, |spoke| spoke.max(ended)) + recognised;
        Some(self.turn.pending_until().map_or(over, |pending| over.max(pending)))
    }

    /// Returns what ends the turn unless something is said.
    fn turn_ends_by(&self, d: &Dialogue, words: &str) -> TurnEndedBy {
        let stt = self.turn.is_judged_over() && !words.is_empty();
        if d.dtmf.is_complete() || (!d.dtmf.is_empty() && !stt) {
            TurnEndedBy::Keys
        } else if stt {
            TurnEndedBy::Stt
        } else {
            TurnEndedBy::Silence
        }
    }

    /// Evaluates how probable it is that the caller has finished with this text.
    fn judge(&self, d: &Dialogue, words: &str) -> Judgement {
        let pauses_ms = self.pauses.mean_ms();
        let is_final = self.turn.is_final();
        judge(Spoken { language: d.language, text: words, is_final, asked: &d.last_said, pauses_ms })
    }

    /// Returns the silence after which the turn is over: more for a caller whose turn was cut.
    fn silence_needed(&self, d: &Dialogue, judgement: &Judgement) -> Duration {
        let settings = &d.agent.turn_taking;
        let max = Duration::from_millis(settings.max_silence_ms.into());
        self.pauses.silence_needed(judgement.silence_needed(settings)).min(max)
    }

    /// Returns a decision about the turn, with the evidence for it.
    fn decision(&self, d: &Dialogue, kind: DecisionKind) -> Decision {
        let judgement = self.judge(d, &self.turn.words());
        Decision {
            silence: self.turn.ended().map(|ended| d.now.since(ended)),
            silence_needed: Some(self.silence_needed(d, &judgement)),
            probability: Some(judgement.probability),
            evidence: judgement.found,
            ..Decision::new(d.now, kind)
        }
    }

    /// Returns the decision that the turn is over. Evidence counts only where silence ended it.
    fn end_of_turn(&self, d: &Dialogue) -> Effect {
        let ended_by = self.turn_ends_by(d, &self.turn.words());
        let decision = self.decision(d, DecisionKind::TurnEnded);
        Effect::Decision(Box::new(match ended_by {
            TurnEndedBy::Silence => Decision { ended_by: Some(ended_by), ..decision },
            TurnEndedBy::Stt | TurnEndedBy::Keys => Decision {
                ended_by: Some(ended_by),
                silence: decision.silence,
                ..Decision::new(d.now, DecisionKind::TurnEnded)
            },
        }))
    }

    /// Records a pause when the caller speaks again. One where they might have finished shows how they speak.
    pub(super) fn note_pause(&mut self, d: &Dialogue, onset: Timestamp) {
        let Some(ended) = self.turn.ended() else { return };
        if self.judge(d, &self.turn.words()).is_likely_end() {
            self.pauses.add(onset.since(ended));
        }
    }

    pub(super) fn take_turn(&mut self, d: &mut Dialogue) -> bool {
        if !d.is_due(self.turn_over_at(d)) {
            return false;
        }
        let keys = !d.dtmf.is_empty();
        let decision = self.end_of_turn(d);
        let said = self.take_caller_turn(d);
        self.speculations = 0;
        if said.text.is_empty() {
            self.cancel_llm(d);
            if d.transcript.history.is_unanswered() && !d.phase.is_voicemail() {
                // Noise that was taken for an interruption must not cost the caller the response.
                d.emit(decision);
                self.respond(d, &said);
            } else if self.is_to_repeat(d, &said) {
                d.emit(decision);
                self.ask_to_repeat(d, &said);
            }
            return true;
        }
        d.emit(decision);
        self.release_turn(d);
        if keys {
            record(d, &said, true);
        } else {
            d.transcript.hold_caller(caller_words(&said, true));
        }
        self.unclear = 0;
        self.turn_taken = Some(d.now);
        self.pauses.turn_taken();
        // A machine gets no response.
        if !d.phase.is_voicemail() {
            self.respond(d, &said);
        }
        self.resumable = Some(said).filter(|_| !keys);
        true
    }

    /// Records the STT's final text of a turn that was taken without it. If it says more, the turn is taken again, as long as nothing of a response
    /// was heard. Returns whether the text belongs to that turn.
    pub(super) fn complete_turn(&mut self, d: &mut Dialogue, segment: u32, text: &str) -> bool {
        let Some(past) = &mut self.resumable else { return false };
        if !past.complete(segment, text) {
            return false;
        }
        let says_more = !same_words(&past.words(), &past.text);
        if let Some(past) = self.resumable.take_if(|past| says_more && !past.answered) {
            d.caller_active();
            self.reopen_turn(d, past);
        }
        true
    }

    /// Returns when the caller can no longer continue the turn that was taken.
    pub(super) fn turn_closed_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let past = self.resumable.as_ref()?;
        let late = if past.is_incomplete() && !past.answered { d.timings.stt } else { Duration::ZERO };
        let until = self.turn_taken? + d.timings.turn_resumed.max(late);
        let undecided = self.overlap.is_some_and(|overlap| overlap.onset <= until);
        (!undecided).then_some(until)
    }

    pub(super) fn close_turn(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.turn_closed_at(d));
        if due {
            self.release_turn(d);
        }
        due
    }

    /// Releases the turn that was taken: the caller has not continued it, or no longer can.
    pub(super) fn release_turn(&mut self, d: &mut Dialogue) {
        if self.resumable.take().is_some() {
            d.transcript.release();
            d.write_transcript();
        }
    }

    /// Returns whether the caller has said or typed something that is not dealt with yet, not counting voice in progress.
    pub(super) fn has_turn(&self, d: &Dialogue) -> bool {
        self.turn.has_words() || !d.dtmf.is_empty()
    }

    /// Returns the same as [`Self::has_turn`], counting voice in progress.
    pub(super) fn caller_is_heard(&self, d: &Dialogue) -> bool {
        self.turn.speaking().is_some() || self.has_turn(d)
    }

    /// Returns the text and keys of the turn, as the model sees them.
    fn caller_text(&self, d: &Dialogue) -> String {
        let (words, keys) = (self.turn.words(), d.dtmf.text());
        let space = if words.is_empty() || keys.is_empty() { "" } else { " " };
        [words.as_str(), space, keys.as_str()].concat()
    }

    pub(super) fn take_caller_turn(&mut self, d: &mut Dialogue) -> FinishedTurn {
        let wordless = self.turn.words().is_empty();
        let text = self.caller_text(d);
        d.dtmf.take();
        let said = self.turn.take(text, d.now);
        let counted = std::mem::take(&mut self.uncounted);
        if wordless {
            // Noise reopened a turn, and the STT found no text in both together: the text that was known must not be lost.
            d.turns += u32::from(counted);
            d.transcript.restore();
            d.write_transcript();
        }
        said
    }

    /// Returns whether to ask the caller to repeat a turn without text. An STT that returns nothing at all may have missed speech, and the caller
    /// must not be left in silence.
    fn is_to_repeat(&self, d: &Dialogue, said: &FinishedTurn) -> bool {
        let unclear = said.voiced >= d.timings.unclear_speech && self.unclear < MAX_UNCLEAR;
        let greets = d.phase.awaits_greeting() && !d.agent.greeting.text.trim().is_empty();
        let may = !d.phase.is_voicemail() && !greets && !d.language.phrases.unclear.is_empty();
        may && (unclear || !said.transcribed)
    }

    fn ask_to_repeat(&mut self, d: &mut Dialogue, said: &FinishedTurn) {
        self.unclear += u32::from(said.transcribed);
        self.response_deadline = Some(ResponseDeadline::without_turn(said.ended));
        self.say_one_of(d, Kind::Unclear, d.language.phrases.unclear);
    }

    /// Requests a completion before the turn is over, if the end is probable.
    pub(super) fn speculate(&mut self, d: &mut Dialogue) -> bool {
        let may = d.agent.turn_taking.speculative && self.speculations < MAX_SPECULATIONS;
        let silent = self.turn.speaking().is_none() && d.dtmf.is_empty();
        if !may || !silent || self.request.is_some() || d.phase.is_voicemail() || self.turn_over_at(d).is_none() {
            return false;
        }
        let words = self.turn.words();
        if words.is_empty() || !self.turn.is_final() || !self.judge(d, &words).permits_speculation() {
            return false;
        }
        self.speculations += 1;
        let decision = self.decision(d, DecisionKind::Speculation);
        d.emit(Effect::Decision(Box::new(decision)));
        let messages = d.transcript.history.with_caller(&words);
        self.request_completion(d, Kind::Response, messages, Some(words));
        true
    }

    /// Drops the early request if the caller has said more than it contains.
    pub(super) fn drop_speculation(&mut self, d: &mut Dialogue) -> bool {
        let early = self.request.as_ref().and_then(|request| request.early.as_ref());
        let outdated = early.is_some_and(|words| !same_words(words, &self.caller_text(d)));
        if outdated {
            d.decided(DecisionKind::SpeculationDiscarded);
            self.cancel_llm(d);
        }
        outdated
    }

    /// Drops a backchannel while the agent speaks, unless the agent is about to finish: then it is a response.
    pub(super) fn drop_backchannel(&mut self, d: &mut Dialogue) -> bool {
        let listening_to = self.is_busy(d) && self.overlap.is_none() && !d.phase.is_closing();
        let complete = self.has_turn(d) && self.turn.speaking().is_none() && self.turn.is_final();
        if !listening_to || !complete || !d.dtmf.is_empty() {
            return false;
        }
        let text = self.turn.words();
        if self.answers_question(d, &text) {
            return false;
        }
        let about_to_finish = d.playback.remaining().is_some_and(|rest| rest <= d.timings.backchannel_boundary);
        let answers = about_to_finish && !self.llm_pending() && !text.is_empty();
        let words = Words { settled: true, ..self.words_over_agent(d, &text) };
        let settings = &d.agent.interruption;
        let aside = words.are_aside(settings) && self.turn.voiced() < d.timings.long_word;
        if answers || !(words.are_backchannel(settings) || aside) {
            return false;
        }
        d.decided(DecisionKind::Backchannel);
        let said = self.take_caller_turn(d);
        record(d, &said, aside);
        true
    }

    /// Returns when a filler covers the wait for a response: soon after the turn, though not in two turns in a row, which would sound like a habit;
    /// and whenever the wait is so long that callers wonder whether the line is dead, even in the middle of a response.
    pub(super) fn filler_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let listening = self.overlap.is_some() || self.turn.speaking().is_some();
        let engaged = !d.phase.is_open() || d.dtmf_sending;
        let wordless = d.language.phrases.fillers.is_empty();
        if wordless || !self.llm_pending() || !d.playback.is_silent() || listening || engaged {
            return None;
        }
        let first = self.response.as_ref().filter(|_| d.playback.is_idle()).and_then(|response| response.filler_at);
        [first, self.silence_too_long_at(d)].into_iter().flatten().min()
    }

    pub(super) fn fill(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.filler_at(d));
        if due {
            let first = !std::mem::replace(&mut self.filled, true);
            if let Some(response) = &mut self.response {
                response.filler_at = None;
            }
            // The rest of a stalled response comes after the filler.
            d.playback.close();
            let retries = self.request.as_mut().is_some_and(|request| std::mem::take(&mut request.is_retry));
            self.say_one_of(
                d,
                Kind::Filler,
                match (retries, first) {
                    (true, _) => d.language.phrases.retrying,
                    (false, true) => d.language.phrases.fillers,
                    (false, false) => d.language.phrases.still_here,
                },
            );
        }
        due
    }
}

fn caller_words(said: &FinishedTurn, remembered: bool) -> CallerWords {
    CallerWords { text: said.text.clone(), start: said.began, end: said.ended, remembered, item: None }
}

/// Records what the caller said in the transcript.
pub(super) fn record(d: &mut Dialogue, said: &FinishedTurn, remembered: bool) {
    if !said.text.is_empty() {
        d.record_caller(caller_words(said, remembered));
    }
}
