//! The far end's audio, 20 ms at a time, and its detection of the agent's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchhook_caller_audio as recordings;
use switchhook_media::dtmf::Detector;
use switchhook_media::format::{AudioFormat, FRAME_DURATION};
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::{level, tone};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::caller::{Action, Caller};
use super::fault_rng::FaultRng;
use super::line_echo::LineEcho;
use super::scenario::Scenario;
use super::settings::{Faults, SimulatorSettings};
use crate::media_queue::MediaSender;
use crate::{FromCarrier, ToCarrier};

/// The length of a frame.
const FRAME_MS: u32 = 20;
/// How much of the agent's sentence plays before the caller hangs up on it.
const HANGS_UP_AFTER_MS: u32 = 1_200;
/// Frames of a voicemail: silence, the greeting, [`BEFORE_BEEP`] frames of silence, and the beep.
const BEFORE_GREETING: usize = 25;
const BEFORE_BEEP: usize = 10;
const BEEP_FRAMES: usize = 20;
/// The longest recording of a voicemail.
const VOICEMAIL_MS: u32 = 60_000;
/// How long the far end stays on a dead leg.
const DEAD_LEG: Duration = Duration::from_secs(30);
/// The most DTMF digits stored.
const MAX_DTMF: usize = 256;

pub(super) struct FarEndAudio {
    format: AudioFormat,
    scenario: Scenario,
    faults: Faults,
    rng: FaultRng,
    caller: Caller,
    elapsed_ms: u32,
    agent_ms: u32,
    keys: Detector,
    echo: LineEcho,
    dtmf_received: Arc<Mutex<String>>,
}

impl FarEndAudio {
    /// Creates the far end. Detected DTMF digits are appended to `dtmf_received`.
    pub(super) fn new(
        scenario: Scenario,
        settings: &SimulatorSettings,
        rng: FaultRng,
        dtmf_received: Arc<Mutex<String>>,
    ) -> Self {
        let format = settings.sample_rate;
        let caller = match settings.presses.as_slice() {
            [] => Caller::diner(format),
            presses => Caller::dtmf_only(format, presses),
        };
        let (faults, keys) = (settings.faults.clone(), Detector::default());
        let echo = LineEcho::new(&faults, format);
        Self { format, scenario, faults, rng, caller, elapsed_ms: 0, agent_ms: 0, keys, echo, dtmf_received }
    }

    /// Talks until this end hangs up. Boxed: a future has room for every place that its parts are moved to.
    pub(super) async fn talk(mut self: Box<Self>, mut from_agent: mpsc::Receiver<ToCarrier>, to_agent: MediaSender) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            ticks.tick().await;
            let frame = next_frame(&mut from_agent, &to_agent);
            // A late frame is concealed, as phones do: it is not a pause between two keys.
            if let Some(frame) = &frame {
                self.detect_dtmf(frame);
            }
            let agent_dbfs = frame.as_ref().map(Frame::rms_dbfs);
            self.elapsed_ms += FRAME_MS;
            self.agent_ms += if agent_dbfs.is_some_and(|dbfs| dbfs > level::VOICED_DBFS) { FRAME_MS } else { 0 };
            let Some(audio) = self.next(agent_dbfs, &to_agent) else { return };
            let audio = self.echo.heard(audio, frame.as_ref());
            if to_agent.is_closed() {
                // Our side hangs up next. If its process died, the far end leaves after a while.
                tokio::time::sleep(DEAD_LEG).await;
                return;
            }
            if !self.rng.happens(self.faults.drop_audio) {
                self.send(&to_agent, FromCarrier::Audio(CallerAudio(audio)));
            }
        }
    }

    fn detect_dtmf(&mut self, frame: &Frame) {
        if let Some(key) = self.keys.push(frame) {
            // Consistent at every step.
            let mut received = self.dtmf_received.lock().unwrap_or_else(PoisonError::into_inner);
            if received.len() < MAX_DTMF {
                received.push(key);
            }
        }
    }

    /// Sends a message. A receiver that is gone or stalled loses audio, as on a real network.
    fn send(&mut self, to_agent: &MediaSender, message: FromCarrier) {
        if self.faults.jitter_ms == 0 {
            let _ = to_agent.send(message);
            return;
        }
        let late = Duration::from_millis(self.rng.up_to(self.faults.jitter_ms).into());
        let to_agent = to_agent.clone();
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            let _ = to_agent.send(message);
        });
    }

    /// Returns the next 20 ms, or `None` when the far end hangs up.
    fn next(&mut self, agent_dbfs: Option<f32>, to_agent: &MediaSender) -> Option<Frame> {
        let silence = Frame::silence(self.format);
        match self.scenario {
            Scenario::Silent => Some(silence),
            Scenario::EndsAtOnce => None,
            Scenario::HangsUpOnAgent => (self.agent_ms < HANGS_UP_AFTER_MS).then_some(silence),
            Scenario::Voicemail => voicemail(self.format, self.elapsed_ms),
            _ => match self.caller.tick(agent_dbfs) {
                Action::Speak(samples) => Some(Frame::from_slice(self.format, samples)),
                Action::Press(key) => {
                    let _ = to_agent.send(FromCarrier::Dtmf(key));
                    Some(silence)
                }
                Action::Listen => Some(silence),
                Action::HangUp => None,
            },
        }
    }
}

fn voicemail(format: AudioFormat, elapsed_ms: u32) -> Option<Frame> {
    if elapsed_ms > VOICEMAIL_MS {
        return None;
    }
    let silence = Frame::silence(format);
    let position = usize::try_from(elapsed_ms / FRAME_MS).unwrap_or(usize::MAX);
    let (Some(position), Some(greeting)) = (position.checked_sub(BEFORE_GREETING), recordings::recording("voicemail"))
    else {
        return Some(silence);
    };
    if let Some(samples) = greeting.frame_in(format, position) {
        return Some(Frame::from_slice(format, samples));
    }
    let after = position - greeting.samples(format).len() / format.frame_samples();
    let beep = after.checked_sub(BEFORE_BEEP).and_then(|position| beep(format, position));
    Some(beep.unwrap_or(silence))
}

/// Returns one frame of the beep: 1 kHz for 400 ms.
fn beep(format: AudioFormat, position: usize) -> Option<Frame> {
    // 1 kHz has a whole number of periods in a frame, so every frame is the same.
    let samples = || tone::sine(1_000.0, format.sample_rate(), 0.35, format.frame_samples());
    (position < BEEP_FRAMES).then(|| Frame::from_slice(format, &samples()))
}

/// Returns the agent's next 20 ms. Marks before it are answered.
fn next_frame(from_agent: &mut mpsc::Receiver<ToCarrier>, to_agent: &MediaSender) -> Option<Frame> {
    // Ends with the first audio frame, or when the queue is empty.
    while let Ok(message) = from_agent.try_recv() {
        match message {
            ToCarrier::Audio(audio) => return Some(audio.0),
            ToCarrier::Mark(mark) => {
                let _ = to_agent.send(FromCarrier::MarkPlayed(mark));
            }
            ToCarrier::Clear | ToCarrier::Info(_) => {}
        }
    }
    None
}
