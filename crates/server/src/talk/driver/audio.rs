//! Audio in both directions, 20 ms at a time.

use switchhook_carriers::FromCarrier;
use switchhook_core::conversation::{Input, MachineEvidence};
use switchhook_media::echo::Heard;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::vad::VadEvent;
use tokio::time::Instant;

use super::{Driver, Inputs};
use crate::talk::media_session::Arrived;
use crate::talk::playback::{Playback, Played};
use crate::talk::{Ended, Note, panicked};

impl Driver {
    /// Sends 20 ms of the agent's audio to the carrier, and feeds silence to the models if no audio of the caller arrives.
    pub(super) fn frame_out(&mut self, due: Instant) -> Inputs {
        let sent = self.media_session.tick(due);
        if sent.speech && !self.greeted {
            self.greeted = true;
            self.latencies.greeting(self.began.elapsed());
            self.phrases.begin(&self.pipeline, &self.synthesis.slots, &mut self.tasks);
        }
        let late = self.time_out_synthesis();
        let keys = sent.dtmf_sent.then_some(Input::DtmfSent);
        let playback = &self.media_session.playback;
        let heard = sent.heard.into_iter().map(|played| heard(playback, played));
        let mut inputs: Inputs = keys.into_iter().chain(heard).chain(late).collect();
        if self.media_session.fill_gap() {
            inputs.extend(self.silence());
        }
        inputs
    }

    /// Handles a message from the carrier; `None` means that the connection is gone.
    pub(super) fn frame_in(&mut self, message: Option<FromCarrier>) -> Inputs {
        match self.media_session.arrived(message) {
            Arrived::Audio(frame) => self.caller(frame),
            Arrived::Dtmf(digit) => vec![Input::Dtmf { digit }],
            Arrived::Nothing => Inputs::new(),
            Arrived::Gone => {
                if self.conversation.is_transferring() {
                    // What that means depends on the carrier, which may open another line when the transfer fails.
                    self.media_session.disconnect();
                    let _ = self.notes.send(Note::LineGone);
                } else {
                    self.end = Some(Ended::MediaLost);
                }
                Inputs::new()
            }
            Arrived::Broken => {
                self.end = Some(panicked());
                Inputs::new()
            }
        }
    }

    fn caller(&mut self, frame: CallerAudio) -> Inputs {
        let heard = self.media_session.heard(&frame);
        // Once the caller is speaking, everything counts as theirs: the agent is about to stop speaking.
        let heard = if self.vad.is_speaking() { Heard::Caller } else { heard };
        let silence = || CallerAudio(Frame::silence(frame.0.format()));
        // A voice that may be the agent's takes no turn, but it is still transcribed.
        let voice = if heard == Heard::Caller { frame.clone() } else { silence() };
        let frame = if heard == Heard::Agent { silence() } else { frame };
        self.listen(&frame, &voice)
    }

    /// Feeds 20 ms of silence for missing audio. It is not recorded and the echo detector learns nothing from it.
    fn silence(&mut self) -> Inputs {
        let silence = CallerAudio(Frame::silence(self.media_session.playback.format()));
        self.listen(&silence, &silence)
    }

    /// Feeds 20 ms to the models, and the part that may be the caller's voice to the VAD.
    fn listen(&mut self, frame: &CallerAudio, voice: &CallerAudio) -> Inputs {
        let (listening, now) = (self.conversation.listens(), self.now());
        self.models.caller_audio(frame, listening, now);
        let mut inputs = Inputs::new();
        match self.vad.push(voice) {
            Some(VadEvent::SpeechStarted) => {
                self.models.speech_started();
                inputs.push(Input::SpeechStarted);
            }
            Some(VadEvent::SpeechStopped) => {
                let segment = self.segment;
                self.segment += 1;
                self.models.speech_stopped(segment);
                inputs.push(Input::SpeechStopped { segment });
            }
            None if self.vad.is_starting() != self.speech_pending => {
                inputs.push(Input::SpeechPending { pending: self.vad.is_starting() });
            }
            None => {}
        }
        self.speech_pending = self.vad.is_starting();
        if self.machine.frame(&frame.0) {
            inputs.push(Input::MachineDetected { beep: true, by: MachineEvidence::Beep });
        }
        inputs
    }
}

fn heard(playback: &Playback, played: Played) -> Input {
    let Played { utterance, samples, finished } = played;
    let audio = playback.length(samples);
    if finished { Input::PlaybackFinished { utterance } } else { Input::PlaybackProgress { utterance, audio } }
}
