//! Sound in both directions, 20 ms at a time.

use switchhook_core::conversation::Input;
use switchhook_media::frame::{AgentAudio, CallerAudio, FRAME_DURATION, Frame};
use switchhook_media::vad::VadEvent;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Driver, Inputs};
use crate::carrier::{FromCarrier, ToCarrier};
use crate::talk::Ended;
use crate::talk::playback::Played;

/// Frames of the caller that may wait to be recorded, against jitter: 200 ms.
const RECORDED_BEHIND: usize = 10;

impl Driver {
    /// 20 ms of the agent to the line: tones of keys, before which speech stands back, or the next of its speech.
    pub(super) fn frame_out(&mut self) -> Inputs {
        if let Some(tone) = self.dialer.next_frame() {
            self.sound_out(Some(AgentAudio(tone)));
            return if self.dialer.is_idle() { vec![Input::KeysSent] } else { Inputs::new() };
        }
        let next = self.playback.next_frame();
        let sound = next.as_ref().and_then(|(frame, _)| *frame);
        if sound.is_some() && !self.greeted {
            self.greeted = true;
            self.latencies.greeting(self.began.elapsed());
        }
        self.sound_out(sound);
        let now = Instant::now();
        if let Some(mark) = next.and_then(|(_, played)| self.in_flight.sent(now, played)) {
            self.send(ToCarrier::Mark(mark));
        }
        self.in_flight.heard(now).into_iter().map(heard).collect()
    }

    /// The agent's sound to the line, and both sides to the recording.
    fn sound_out(&mut self, sound: Option<AgentAudio>) {
        if let Some(frame) = &sound {
            self.send(ToCarrier::Audio(*frame));
        }
        if let Some(recorder) = &mut self.recorder {
            let caller = self.unrecorded.pop_front().unwrap_or(CallerAudio(Frame::silence()));
            recorder.push(caller, sound.unwrap_or(AgentAudio(Frame::silence())));
        }
    }

    /// A full channel means that the line has taken nothing for seconds: it is broken. The end of one that is closed is told
    /// by its other direction.
    pub(super) fn send(&mut self, message: ToCarrier) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.media.outgoing.try_send(message) {
            self.end.get_or_insert(Ended::MediaLost);
        }
    }

    /// Something from the line; nothing more comes when it is gone.
    pub(super) fn frame_in(&mut self, message: Option<FromCarrier>) -> Inputs {
        match message {
            Some(FromCarrier::Audio(frame)) => self.caller(frame),
            Some(FromCarrier::Dtmf(digit)) => vec![Input::Dtmf { digit }],
            Some(FromCarrier::MarkPlayed(mark)) => {
                self.in_flight.returned(Instant::now(), mark);
                Inputs::new()
            }
            None => {
                self.end = Some(Ended::MediaLost);
                Inputs::new()
            }
        }
    }

    fn caller(&mut self, frame: CallerAudio) -> Inputs {
        self.heard.stt_audio_ms += u64::try_from(FRAME_DURATION.as_millis()).unwrap_or(0);
        self.session.audio(&frame);
        if self.recorder.is_some() {
            if self.unrecorded.len() >= RECORDED_BEHIND {
                self.unrecorded.pop_front();
            }
            self.unrecorded.push_back(frame);
        }
        let mut inputs = Inputs::new();
        match self.vad.push(&frame) {
            Some(VadEvent::SpeechStarted) => {
                self.session.speech_started();
                inputs.push(Input::SpeechStarted);
            }
            Some(VadEvent::SpeechStopped) => {
                let segment = self.segment;
                self.segment += 1;
                self.session.speech_stopped(segment);
                inputs.push(Input::SpeechStopped { segment });
            }
            None => {}
        }
        if self.machine.frame(&frame.0) {
            inputs.push(Input::MachineDetected { beep: true });
        }
        inputs
    }
}

fn heard(played: Played) -> Input {
    let Played { utterance, samples, finished } = played;
    if finished { Input::PlaybackFinished { utterance } } else { Input::Played { utterance, samples } }
}
