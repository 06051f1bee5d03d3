//! Failures of providers. The first failure is covered with a phrase; a second in a row, or one that is final, ends the call.

use std::time::Duration;

use super::Cascade;
use super::dead_air::late;
use super::llm::LlmStage;
use super::messages::CascadeEffect;
use super::turn_taking::MAX_SPECULATIONS;
use crate::Timestamp;
use crate::agent::GreetingMode;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::effect::End;
use crate::conversation::failure::{Failure, FailureCode};
use crate::conversation::phase::{Closing, GoodbyeFiller};
use crate::conversation::phrases;
use crate::conversation::playback::Kind;
use crate::language::Language;

/// Instructs the model to repeat what the TTS could not say.
const VOICE_BROKE_OFF: &str = "The caller did not hear your last sentence to its end. Say it again.";

impl Cascade {
    pub(super) fn llm_failed(&mut self, d: &mut Dialogue, turn: u32, failure: Failure) {
        let current = self.request.as_ref().filter(|request| request.turn == turn);
        if current.is_some_and(|request| matches!(request.stage, LlmStage::Streaming(_))) {
            self.fail_llm(d, failure);
        }
    }

    /// Handles the failure of the current request.
    pub(super) fn fail_llm(&mut self, d: &mut Dialogue, failure: Failure) {
        let Some(request) = self.request.take() else { return };
        self.llm_waited = Duration::ZERO;
        if request.early.is_some() {
            self.speculations = MAX_SPECULATIONS;
            return;
        }
        self.llm_failures += 1;
        if failure.code.is_final() || self.llm_failures > 1 {
            self.give_up(d, failure);
        } else if request.said {
            d.playback.close();
            self.say_one_of(d, Kind::Apology, d.language.phrases.lost_thread);
        } else if request.kind == Kind::Greeting && !d.agent.greeting.text.trim().is_empty() {
            let text = d.agent.greeting.text.trim().to_owned();
            self.say_text(d, Kind::Greeting, &text);
        } else {
            let messages = d.transcript.history.messages();
            self.request_completion(d, request.kind, messages, None);
            if let Some(again) = &mut self.request {
                again.is_retry = true;
            }
        }
    }

    /// Returns when the LLM request times out. A caller who speaks while waiting replaces the request; the waits add up.
    pub(super) fn llm_timeout_at(&self, d: &Dialogue) -> Option<Timestamp> {
        match self.request.as_ref()?.stage {
            LlmStage::Streaming(since) => Some(since + d.timings.model_silence.saturating_sub(self.llm_waited)),
            _ => None,
        }
    }

    /// Handles an LLM that has been silent for too long.
    pub(super) fn time_out_llm(&mut self, d: &mut Dialogue) -> bool {
        if !d.is_due(self.llm_timeout_at(d)) {
            return false;
        }
        if let Some(request) = &self.request {
            d.emit(CascadeEffect::CancelCompletion { turn: request.turn });
        }
        self.fail_llm(
            d,
            Failure::new(
                FailureCode::ProviderTimeout,
                "The language model did not respond in time; check its connection or choose a faster model.",
            ),
        );
        true
    }

    pub(super) fn utterance_failed(&mut self, d: &mut Dialogue, utterance: u32, failure: Failure) {
        match d.playback.cached_kind(utterance) {
            None => d.playback.failed(utterance, failure),
            Some(Kind::Filler) => {
                self.go_without_filler(d);
                d.playback.forget(utterance);
            }
            Some(_) => self.end_without_tts(d, late()),
        }
    }

    /// Handles a late TTS when no phrase can cover the wait: waits in silence for a goodbye, and ends the call for anything else.
    pub(super) fn go_without_filler(&mut self, d: &mut Dialogue) {
        match d.phase.closing_mut() {
            Some(closing) => closing.filler = GoodbyeFiller::Missing,
            None => self.end_without_tts(d, late()),
        }
    }

    /// Handles a TTS failure of the utterance that should be heard now. Everything before it has been heard.
    pub(super) fn handle_tts_failure(&mut self, d: &mut Dialogue) -> bool {
        let Some(failure) = d.playback.take_failure() else { return false };
        self.tts_failures += 1;
        if d.phase.is_voicemail() || failure.code.is_final() || self.tts_failures > 1 {
            self.end_without_tts(d, failure);
            return true;
        }
        if d.phase.is_closing() {
            self.say_short_goodbye(d, false);
            return true;
        }
        let greeting = d.playback.current() == Some(Kind::Greeting) && d.agent.greeting.mode == GreetingMode::Speak;
        self.stop_speaking(d);
        if greeting {
            let text = d.agent.greeting.text.trim().to_owned();
            self.say_text(d, Kind::Greeting, &text);
        } else {
            self.say_or_ask(d, Kind::Apology, d.language.phrases.lost_thread, VOICE_BROKE_OFF);
        }
        true
    }

    /// Returns when the TTS times out. Paused audio does not count.
    pub(super) fn tts_timeout_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let since = d.playback.stuck_since().filter(|_| self.overlap.is_none() && !d.dtmf_sending)?;
        Some(since + d.timings.speech_silence)
    }

    /// Handles a TTS that has been silent for too long.
    pub(super) fn time_out_tts(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.tts_timeout_at(d));
        if due {
            self.end_without_tts(d, late());
        }
        due
    }

    /// Ends the call, with a phrase if one is cached. A failed goodbye does not change the reason for the end; a message that was not heard counts as
    /// not left.
    pub(super) fn end_without_tts(&mut self, d: &mut Dialogue, failure: Failure) {
        if d.phase.is_voicemail() || d.media.is_none() {
            return self.end_call(d, End::Failed(failure));
        }
        match d.phase.closing() {
            Some(closing) if d.playback.contains_cached(Kind::Goodbye) => {
                let reason = closing.reason.clone();
                return self.end_call(d, reason);
            }
            Some(_) => {}
            None => d.close_with(End::Failed(failure), None),
        }
        self.say_short_goodbye(d, true);
    }

    /// Says a short goodbye in place of one that could not be spoken, from the cache only if `cached`. Ends the call at once if there is no phrase
    /// for it.
    fn say_short_goodbye(&mut self, d: &mut Dialogue, cached: bool) {
        let Some(closing) = d.phase.closing() else { return };
        let phrase = goodbye(closing, d.language);
        if phrase.is_empty() {
            let reason = closing.reason.clone();
            return self.end_call(d, reason);
        }
        self.stop_speaking(d);
        if cached {
            d.speak_cached(Kind::Goodbye, phrase);
        } else {
            self.say_text(d, Kind::Goodbye, phrase);
        }
    }

    /// Apologises and ends the call. A filler that is playing finishes first.
    pub(super) fn give_up(&mut self, d: &mut Dialogue, failure: Failure) {
        if d.phase.is_closing() || d.phase.is_voicemail() {
            return;
        }
        if d.media.is_none() {
            self.end_call(d, End::Failed(failure));
            return;
        }
        if self.overlap.is_none() && d.playback.is_playing_only(Kind::Filler) {
            self.cancel_llm(d);
        } else {
            self.stop_speaking(d);
        }
        self.say_one_of(d, Kind::Goodbye, d.language.phrases.technical);
        d.close_with(End::Failed(failure), None);
    }
}

/// Returns the phrase that replaces a goodbye which cannot be spoken; empty in a language without a table.
fn goodbye(closing: &Closing, language: &Language) -> &'static str {
    match closing.reason {
        End::Failed(_) => phrases::usual(language.phrases.technical),
        _ => phrases::usual(language.phrases.goodbyes),
    }
}
