//! What the far end sounds like, 20 ms at a time, and what it hears.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use switchhook_media::dtmf::Detector;
use switchhook_media::frame::{CallerAudio, FRAME_DURATION, FRAME_SAMPLES, Frame};
use switchhook_media::g711::Law;
use switchhook_media::{level, tone};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::caller::{Action, Caller};
use super::dice::Dice;
use super::recordings;
use super::scenario::Scenario;
use super::settings::{Faults, SimulatorSettings};
use crate::carrier::media_queue::MediaSender;
use crate::carrier::{FromCarrier, ToCarrier};

/// One frame.
const FRAME_MS: u32 = 20;
/// How much of the agent's sentence is heard by somebody who hangs up on it.
const HANGS_UP_AFTER_MS: u32 = 1_200;
/// A voicemail says nothing for so long, then its greeting, then nothing for [`BEFORE_BEEP`] frames, then the beep.
const BEFORE_GREETING: usize = 25;
const BEFORE_BEEP: usize = 10;
const BEEP_FRAMES: usize = 20;
/// It records no longer than this.
const VOICEMAIL_MS: u32 = 60_000;
/// How long this end stays on a line that is dead.
const DEAD_LINE: Duration = Duration::from_secs(30);
/// As many keys are remembered as anybody would press.
const MOST_KEYS: usize = 256;
/// µ-law silence.
const SILENCE: [u8; FRAME_SAMPLES] = [0xff; FRAME_SAMPLES];

pub(super) struct Sound {
    scenario: Scenario,
    faults: Faults,
    dice: Dice,
    caller: Caller,
    elapsed_ms: u32,
    agent_ms: u32,
    keys: Detector,
    heard_keys: Arc<Mutex<String>>,
}

impl Sound {
    /// Keys that are heard are added to `heard_keys`.
    pub(super) fn new(
        scenario: Scenario,
        settings: &SimulatorSettings,
        dice: Dice,
        heard_keys: Arc<Mutex<String>>,
    ) -> Self {
        let caller = if settings.presses.is_empty() { Caller::diner() } else { Caller::typist(&settings.presses) };
        let (faults, keys) = (settings.faults.clone(), Detector::default());
        Self { scenario, faults, dice, caller, elapsed_ms: 0, agent_ms: 0, keys, heard_keys }
    }

    /// Talks until this end hangs up.
    pub(super) async fn talk(mut self, mut from_agent: mpsc::Receiver<ToCarrier>, to_agent: MediaSender) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            ticks.tick().await;
            let frame = hear(&mut from_agent, &to_agent);
            self.hear_keys(frame.as_ref());
            let heard = frame.map(|frame| frame.rms_dbfs());
            self.elapsed_ms += FRAME_MS;
            self.agent_ms += if heard.is_some_and(|dbfs| dbfs > level::VOICED_DBFS) { FRAME_MS } else { 0 };
            let Some(sound) = self.next(heard, &to_agent) else { return };
            if to_agent.is_closed() {
                // Our side hangs up next. If it has died, nobody stays on a line on which nothing is heard.
                tokio::time::sleep(DEAD_LINE).await;
                return;
            }
            if !self.dice.happens(self.faults.drop_audio) {
                self.send(&to_agent, FromCarrier::Audio(over_the_line(&sound)));
            }
        }
    }

    fn hear_keys(&mut self, frame: Option<&Frame>) {
        if let Some(key) = self.keys.push(frame.unwrap_or(&Frame::silence())) {
            // It is whole at every step.
            let mut heard = self.heard_keys.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.len() < MOST_KEYS {
                heard.push(key);
            }
        }
    }

    /// A listener that has gone or stands still loses sound, as on a real line.
    fn send(&mut self, to_agent: &MediaSender, sound: FromCarrier) {
        if self.faults.jitter_ms == 0 {
            let _ = to_agent.send(sound);
            return;
        }
        let late = Duration::from_millis(self.dice.up_to(self.faults.jitter_ms).into());
        let to_agent = to_agent.clone();
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            let _ = to_agent.send(sound);
        });
    }

    /// The next 20 ms; nothing when this end hangs up.
    fn next(&mut self, heard: Option<f32>, to_agent: &MediaSender) -> Option<Bytes> {
        let silence = Bytes::from_static(&SILENCE);
        match self.scenario {
            Scenario::Silent => Some(silence),
            Scenario::EndsAtOnce => None,
            Scenario::HangsUpOnAgent => (self.agent_ms < HANGS_UP_AFTER_MS).then_some(silence),
            Scenario::Voicemail => voicemail(self.elapsed_ms),
            _ => match self.caller.tick(heard) {
                Action::Speak(frame) => Some(Bytes::from_static(frame)),
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

fn voicemail(elapsed_ms: u32) -> Option<Bytes> {
    if elapsed_ms > VOICEMAIL_MS {
        return None;
    }
    let silence = Bytes::from_static(&SILENCE);
    let position = usize::try_from(elapsed_ms / FRAME_MS).unwrap_or(usize::MAX);
    let (Some(position), Some(greeting)) = (position.checked_sub(BEFORE_GREETING), recordings::line("voicemail"))
    else {
        return Some(silence);
    };
    if let Some(frame) = greeting.frame(position) {
        return Some(Bytes::from_static(frame));
    }
    let after = position - greeting.bytes().len() / FRAME_SAMPLES;
    let beep = after.checked_sub(BEFORE_BEEP).and_then(beep);
    Some(beep.unwrap_or(silence))
}

/// One frame of the beep: 1 kHz for 400 ms.
fn beep(position: usize) -> Option<Bytes> {
    // 1 kHz has a whole number of periods in a frame, so every frame is the same.
    let frame =
        || tone::sine(1_000.0, 8_000, 0.35, FRAME_SAMPLES).into_iter().map(|sample| Law::Mu.encode(sample)).collect();
    (position < BEEP_FRAMES).then(frame)
}

/// As it is heard at the other end of a line that carries µ-law.
fn over_the_line(sound: &[u8]) -> CallerAudio {
    CallerAudio(Law::Mu.decode_frame(sound).unwrap_or(Frame::silence()))
}

/// The agent's next 20 ms. Marks are answered in their place.
fn hear(from_agent: &mut mpsc::Receiver<ToCarrier>, to_agent: &MediaSender) -> Option<Frame> {
    // Ends with the first sound, or when nothing waits.
    while let Ok(message) = from_agent.try_recv() {
        match message {
            ToCarrier::Audio(audio) => return Some(audio.0),
            ToCarrier::Mark(mark) => {
                let _ = to_agent.send(FromCarrier::MarkPlayed(mark));
            }
            ToCarrier::Clear => {}
        }
    }
    None
}
