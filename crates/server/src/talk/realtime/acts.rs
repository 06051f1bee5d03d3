//! What the engine wants done.

use std::time::Duration;

use serde_json::Value;
use switchhook_core::conversation::realtime::{Effect, Input};
use switchhook_core::conversation::{ToolCall, TurnTimes};
use switchhook_media::frame::SAMPLE_RATE;
use switchhook_media::tone::sine;
use tokio::time::Instant;

use super::{Covering, Driver, Inputs};
use crate::providers::TtsAudio;
use crate::providers::realtime::Order;
use crate::talk::pipeline::Signal;
use crate::talk::tools::Deed;
use crate::talk::{Ended, Note, Wish};

/// Two short, soft tones: somebody is there. It is what is heard where no voice can speak.
fn tone() -> Vec<i16> {
    let beep = || sine(425.0, SAMPLE_RATE, 0.1, 1_200);
    beep().into_iter().chain(std::iter::repeat_n(0, 800)).chain(beep()).collect()
}

impl Driver {
    /// Does what the engine wants; what it is to be told of that at once comes back.
    pub(super) fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Respond { wish, direction } => self.order(Order::Respond { wish, direction }),
            Effect::Cancel { response } => self.order(Order::Cancel { response }),
            Effect::Truncate { item, heard_ms } => self.order(Order::Truncate { item, heard_ms }),
            Effect::ToolOutput { id, result } => self.order(Order::ToolOutput { id, result }),
            Effect::Tell { text } => self.order(Order::Tell { text }),
            Effect::EndTurn => self.order(Order::EndTurn),
            Effect::Replace => return self.replace(),
            Effect::Announce { utterance, item } => {
                self.handset.playback.announce(utterance);
                self.items.insert(item, utterance);
            }
            Effect::Complete { utterance } => drop(self.handset.playback.complete(utterance)),
            Effect::Cover { utterance, text, patience } => return self.cover(utterance, text, patience),
            Effect::ClearPlayback => {
                self.handset.clear();
                self.items.clear();
                self.stop_covering();
            }
            Effect::RunTool { call } => return self.run_tool(call),
            Effect::Transfer { number } => self.wish(Wish::Transfer(number)),
            Effect::Transcript(entry) => self.write_down(entry),
            Effect::Turn(times) => self.measured(&times),
            Effect::HangUp { reason } => self.end = Some(Ended::By(reason)),
        }
        None
    }

    /// Without a session there is nobody to tell; the engine tells the next one.
    fn order(&mut self, order: Order) {
        if let Some(session) = &mut self.session {
            session.order(order);
        }
    }

    fn measured(&mut self, times: &TurnTimes) {
        let waited = times.first_audio_played.since(times.speech_ended);
        self.latencies.response(waited);
        // How long the line is, is not ours to answer for.
        let after_turn = times.first_audio_played.since(times.turn_ended);
        self.latencies.after_turn(after_turn.saturating_sub(self.handset.in_flight.delay()));
        self.last_response = i64::try_from(waited.as_millis()).ok();
    }

    fn cover(&mut self, utterance: u32, text: String, patience: Duration) -> Option<Input> {
        self.handset.playback.announce(utterance);
        if text.is_empty() {
            return Some(self.sound_the_tone(utterance));
        }
        let request = self.pipeline.speak(utterance, text, self.covers.0.clone());
        self.covering.insert(utterance, Covering { request, due: Some(Instant::now() + patience) });
        None
    }

    pub(super) fn covered(&mut self, utterance: u32, signal: Signal<TtsAudio>) -> Inputs {
        if !self.covering.contains_key(&utterance) {
            return Inputs::new(); // It was cleared while this was on its way.
        }
        vec![match signal {
            Signal::Piece(audio) => {
                if let Some(covering) = self.covering.get_mut(&utterance) {
                    covering.due = None;
                }
                let samples = self.handset.playback.push(utterance, &audio.samples);
                Input::CoverReady { utterance, samples, complete: false }
            }
            Signal::Done(usage) => {
                self.usage.add(usage);
                self.covering.remove(&utterance);
                let samples = self.handset.playback.complete(utterance);
                Input::CoverReady { utterance, samples, complete: true }
            }
            Signal::Failed(error) => {
                // Its words may quote what was to be spoken.
                let code = error.code().as_str();
                tracing::warn!(code, "the voice that bridges waits cannot speak; set the agent's tts");
                if let Some(failed) = self.covering.remove(&utterance) {
                    self.usage.add(failed.request.cost(0));
                }
                self.sound_the_tone(utterance)
            }
        }]
    }

    /// Sentences of the other voice that are too late.
    pub(super) fn give_up_covers(&mut self) -> Inputs {
        let now = Instant::now();
        let late: Vec<(u32, Covering)> =
            self.covering.extract_if(|_, covering| covering.due.is_some_and(|due| due <= now)).collect();
        late.into_iter()
            .map(|(utterance, covering)| {
                tracing::warn!("the voice that bridges waits is too slow: a tone is heard in its place");
                self.usage.add(covering.request.cost(0));
                self.sound_the_tone(utterance)
            })
            .collect()
    }

    /// Ends a sentence of the other voice: with a tone, if nothing of it came.
    fn sound_the_tone(&mut self, utterance: u32) -> Input {
        let samples = self.handset.playback.push(utterance, &[]);
        if samples > 0 {
            self.handset.playback.complete(utterance);
            return Input::CoverReady { utterance, samples, complete: true };
        }
        self.handset.playback.push(utterance, &tone());
        let samples = self.handset.playback.complete(utterance);
        Input::CoverFailed { utterance, samples }
    }

    /// Nothing of it is wanted any more. It was sent and is charged all the same.
    pub(super) fn stop_covering(&mut self) {
        for (_, stopped) in self.covering.drain() {
            self.usage.add(stopped.request.cost(0));
        }
    }

    /// Starts what the model wants; what it is to be told at once comes back.
    fn run_tool(&mut self, call: ToolCall) -> Option<Input> {
        match self.pipeline.tools.run(&call) {
            Deed::Tell(result) => Some(Input::ToolResult { id: call.id, result }),
            Deed::Wish(wish, result) => {
                self.wish(wish);
                Some(Input::ToolResult { id: call.id, result })
            }
            Deed::PassOn(number) => Some(Input::PassOn { id: call.id, number }),
            Deed::Ask(asking) => self.wait_for(call.id, asking.answer()),
            Deed::Call(calling) => self.wait_for(call.id, calling.answer()),
        }
    }

    /// It runs to its end also when the caller interrupts: what a service was asked to do it may have done.
    fn wait_for(&mut self, id: String, answer: impl Future<Output = Value> + Send + 'static) -> Option<Input> {
        let results = self.results.0.clone();
        self.tasks.spawn(async move {
            let _ = results.send((id, answer.await)).await;
        });
        None
    }

    fn wish(&mut self, wish: Wish) {
        // A runner that is gone carries nothing out.
        let _ = self.notes.send(Note::Wish(wish));
    }
}
