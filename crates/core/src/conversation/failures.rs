//! Providers that fail. Once is covered up with a phrase; twice in a row, or for a reason that will not go away, ends the
//! call.

use std::time::Duration;

use super::Conversation;
use super::answer::Stage;
use super::dead_air::late;
use super::effect::{Effect, End};
use super::input::{Failure, FailureCode};
use super::mouth::Kind;
use super::turns::MAX_SPECULATIONS;
use crate::Timestamp;
use crate::agent::GreetingMode;

impl Conversation {
    pub(super) fn model_failed(&mut self, turn: u32, failure: Failure) {
        let current = self.thinking.as_ref().filter(|thinking| thinking.turn == turn);
        if current.is_some_and(|thinking| matches!(thinking.stage, Stage::Streaming(_))) {
            self.fail_model(failure);
        }
    }

    /// The question being answered will not be.
    pub(super) fn fail_model(&mut self, failure: Failure) {
        let Some(thinking) = self.thinking.take() else { return };
        self.model_waited = Duration::ZERO;
        if thinking.early.is_some() {
            self.speculations = MAX_SPECULATIONS;
            return;
        }
        self.model_failures += 1;
        if failure.code.is_final() || self.model_failures > 1 {
            self.give_up(failure);
        } else if thinking.said {
            self.mouth.close();
            self.say_one_of(Kind::Apology, self.language.phrases.lost_thread);
        } else if thinking.kind == Kind::Greeting && !self.agent.greeting.text.trim().is_empty() {
            let text = self.agent.greeting.text.trim().to_owned();
            self.say(Kind::Greeting, &text);
        } else {
            self.ask(thinking.kind, self.history.messages(), None);
            if let Some(again) = &mut self.thinking {
                again.is_retry = true;
            }
        }
    }

    /// A caller who speaks while they wait takes a question back and asks another one; the waits count together.
    pub(super) fn model_lost_at(&self) -> Option<Timestamp> {
        match self.thinking.as_ref()?.stage {
            Stage::Streaming(since) => Some(since + self.timings.model_silence.saturating_sub(self.model_waited)),
            _ => None,
        }
    }

    /// The model has been silent for too long.
    pub(super) fn give_up_on_model(&mut self) -> bool {
        if !self.is_due(self.model_lost_at()) {
            return false;
        }
        if let Some(thinking) = &self.thinking {
            self.effects.push(Effect::CancelModel { turn: thinking.turn });
        }
        self.fail_model(Failure::new(
            FailureCode::ProviderTimeout,
            "The language model did not answer in time; check its connection or choose a faster model.",
        ));
        true
    }

    pub(super) fn voice_failed(&mut self, utterance: u32, failure: Failure) {
        match self.mouth.ready_kind(utterance) {
            None => self.mouth.failed(utterance, failure),
            Some(Kind::Filler) => {
                self.mouth.forget(utterance);
                self.go_uncovered();
            }
            Some(_) => self.end_without_voice(late()),
        }
    }

    /// There is no phrase that could cover the wait for the voice: a goodbye is waited for in silence, and nothing else.
    pub(super) fn go_uncovered(&mut self) {
        match &mut self.closing {
            Some(closing) => closing.uncovered = true,
            None => self.end_without_voice(late()),
        }
    }

    /// The voice has failed at what is to be heard now. What was said before that has been heard.
    pub(super) fn miss_voice(&mut self) -> bool {
        let Some(failure) = self.mouth.take_failure() else { return false };
        self.voice_failures += 1;
        if self.machine.is_some() || failure.code.is_final() || self.voice_failures > 1 {
            self.end_without_voice(failure);
            return true;
        }
        if self.closing.is_some() {
            self.say_short_goodbye(false);
            return true;
        }
        let greeting = self.mouth.current() == Some(Kind::Greeting) && self.agent.greeting.mode == GreetingMode::Speak;
        self.fall_silent();
        if greeting {
            let text = self.agent.greeting.text.trim().to_owned();
            self.say(Kind::Greeting, &text);
        } else {
            self.say_one_of(Kind::Apology, self.language.phrases.lost_thread);
        }
        true
    }

    /// Sound that is held does not have to go on.
    pub(super) fn voice_lost_at(&self) -> Option<Timestamp> {
        let since = self.mouth.stuck_since().filter(|_| self.overlap.is_none() && !self.keys_on_line)?;
        Some(since + self.timings.speech_silence)
    }

    /// The voice has been silent for too long.
    pub(super) fn give_up_on_voice(&mut self) -> bool {
        let due = self.is_due(self.voice_lost_at());
        if due {
            self.end_without_voice(late());
        }
        due
    }

    /// Ends the call, with a phrase if one is cached. A goodbye that fails does not change why the call ends; a message that
    /// nobody hears was not left.
    pub(super) fn end_without_voice(&mut self, failure: Failure) {
        match self.closing.take() {
            Some(closing) if closing.reason == End::VoicemailMessageLeft => self.end(End::Failed(failure)),
            Some(closing) if self.mouth.holds_ready(Kind::Goodbye) => self.end(closing.reason),
            None if self.machine.is_some() || self.media.is_none() => self.end(End::Failed(failure)),
            closing => {
                self.closing = closing;
                if self.closing.is_none() {
                    self.close_with(End::Failed(failure));
                }
                self.say_short_goodbye(true);
            }
        }
    }

    /// Apologises and ends the call. A phrase that covers the wait is heard to its end: nobody is told "Sorry" in the middle of it.
    pub(super) fn give_up(&mut self, failure: Failure) {
        if self.closing.is_some() || self.machine.is_some() {
            return;
        }
        if self.media.is_none() {
            self.end(End::Failed(failure));
            return;
        }
        if self.overlap.is_none() && self.mouth.says_only(Kind::Filler) {
            self.cancel_model();
        } else {
            self.fall_silent();
        }
        self.say_one_of(Kind::Goodbye, self.language.phrases.technical);
        self.close_with(End::Failed(failure));
    }
}
