//! One leg: the far end's side of a call, as it happens.

use std::time::Duration;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use switchhook_core::call::{CarrierCause, EndedBy, Hangup};
use switchhook_media::frame::{FRAME_DURATION, FRAME_SAMPLES};
use switchhook_media::g711::Law;
use switchhook_media::{level, tone};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::caller::{Action, Caller};
use super::recordings;
use super::scenario::Scenario;
use super::settings::{Faults, SimulatorSettings};
use crate::carrier::{CarrierEvent, DialRequest, FromCarrier, Media, ToCarrier};

/// From the dial to the first ring, and from there to the answer, before `time_scale`.
const UNTIL_RING: Duration = Duration::from_millis(400);
const UNTIL_ANSWER: Duration = Duration::from_millis(1_200);
/// From the answer to the sound.
const UNTIL_MEDIA: Duration = Duration::from_millis(60);
/// How much of the agent's sentence is heard by somebody who hangs up on it.
const HANGS_UP_AFTER_MS: u32 = 1_200;
/// A voicemail records no longer than this.
const VOICEMAIL_MS: u32 = 60_000;
/// How late a late message comes.
const LATE: Duration = Duration::from_secs(1);
/// Frames that may wait on either side: four seconds.
const WAITING: usize = 200;
/// µ-law silence.
const SILENCE: [u8; FRAME_SAMPLES] = [0xff; FRAME_SAMPLES];

/// Lives through one leg. `end` is how our own side hangs up.
pub(super) async fn run(request: DialRequest, scenario: Scenario, settings: SimulatorSettings, end: CancellationToken) {
    let teller = Teller::new(&request, &settings.faults);
    let hangup = tokio::select! {
        hangup = lives(&request, scenario, &settings, &teller) => hangup,
        cause = ended_by_us(&end, &teller) => Hangup::new(cause),
    };
    teller.tell(CarrierEvent::Hangup(hangup)).await;
    teller.flush();
}

async fn ended_by_us(end: &CancellationToken, teller: &Teller) -> CarrierCause {
    end.cancelled().await;
    if teller.answered() { CarrierCause::Normal } else { CarrierCause::Canceled }
}

async fn lives(request: &DialRequest, scenario: Scenario, settings: &SimulatorSettings, teller: &Teller) -> Hangup {
    let scaled = |time: Duration| time.mul_f64(settings.time_scale);
    tokio::time::sleep(scaled(UNTIL_RING)).await;
    let unanswered = |cause, sip_code| Hangup { sip_code: Some(sip_code), ..Hangup::new(cause) };
    match scenario {
        Scenario::Busy => return unanswered(CarrierCause::Busy, 486),
        Scenario::InvalidNumber => return unanswered(CarrierCause::InvalidNumber, 404),
        _ => teller.tell(CarrierEvent::Ringing).await,
    }
    match scenario {
        Scenario::NoAnswer => {
            tokio::time::sleep(scaled(Duration::from_secs(request.ring_timeout_seconds.into()))).await;
            return unanswered(CarrierCause::NoAnswer, 480);
        }
        Scenario::Rejects => {
            tokio::time::sleep(scaled(UNTIL_ANSWER)).await;
            return unanswered(CarrierCause::Rejected, 603);
        }
        _ => tokio::time::sleep(scaled(UNTIL_ANSWER)).await,
    }
    teller.tell(CarrierEvent::Answered).await;
    if scenario == Scenario::NoMedia {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(UNTIL_MEDIA).await;
    let (to_us, from_agent) = mpsc::channel(WAITING);
    let (to_agent, incoming) = mpsc::channel(WAITING);
    teller.tell(CarrierEvent::Media(Media { law: Law::Mu, incoming, outgoing: to_us })).await;
    let faults = &settings.faults;
    FarEnd { scenario, elapsed_ms: 0, agent_ms: 0, caller: Caller::diner(), greeting: 0, beep: beep(), dice: dice(faults, request) }
        .talk(from_agent, to_agent, faults)
        .await;
    Hangup { hung_up_by: Some(EndedBy::Caller), ..Hangup::new(CarrierCause::Normal) }
}

fn dice(faults: &Faults, request: &DialRequest) -> StdRng {
    let call = request.call.uuid().as_u128();
    let mixed = faults.seed ^ u64::try_from(call & u128::from(u64::MAX)).unwrap_or(0);
    StdRng::seed_from_u64(if faults.seed == 0 { mixed } else { faults.seed })
}

fn beep() -> Vec<u8> {
    tone::sine(1_000.0, 8_000, 0.35, FRAME_SAMPLES * 20).into_iter().map(|sample| Law::Mu.encode(sample)).collect()
}

/// Whoever is at the other end, once sound flows.
struct FarEnd {
    scenario: Scenario,
    elapsed_ms: u32,
    agent_ms: u32,
    caller: Caller,
    greeting: usize,
    beep: Vec<u8>,
    dice: StdRng,
}

impl FarEnd {
    /// Talks until somebody hangs up; returns when it was this end.
    async fn talk(mut self, mut from_agent: mpsc::Receiver<ToCarrier>, to_agent: mpsc::Sender<FromCarrier>, faults: &Faults) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut agent_gone = false;
        loop {
            ticks.tick().await;
            let heard = if agent_gone { None } else { hear(&mut from_agent, &to_agent, &mut agent_gone) };
            self.elapsed_ms += 20;
            self.agent_ms += if heard.is_some_and(|level| level > -45.0) { 20 } else { 0 };
            let sound = match self.next(heard) {
                Some(sound) => sound,
                None => return,
            };
            if faults.drop_audio > 0.0 && self.dice.random_bool(faults.drop_audio) {
                continue;
            }
            if faults.jitter_ms > 0 {
                let late = Duration::from_millis(self.dice.random_range(0..=faults.jitter_ms).into());
                let to_agent = to_agent.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(late).await;
                    let _ = to_agent.try_send(FromCarrier::Audio(sound));
                });
                continue;
            }
            // A listener that has gone or stands still loses sound, as on a real line.
            let _ = to_agent.try_send(FromCarrier::Audio(sound));
        }
    }

    /// What this end sounds like in the next 20 ms; nothing when it hangs up.
    fn next(&mut self, heard: Option<f32>) -> Option<Bytes> {
        let silence = Some(Bytes::from_static(&SILENCE));
        match self.scenario {
            Scenario::Silent => silence,
            Scenario::EndsAtOnce => None,
            Scenario::HangsUpOnAgent if self.agent_ms >= HANGS_UP_AFTER_MS => None,
            Scenario::HangsUpOnAgent => silence,
            Scenario::Voicemail => self.voicemail(),
            _ => match self.caller.tick(heard) {
                Action::Speak(frame) => Some(Bytes::from_static(frame)),
                Action::Listen => silence,
                Action::HangUp => None,
            },
        }
    }

    fn voicemail(&mut self) -> Option<Bytes> {
        if self.elapsed_ms > VOICEMAIL_MS {
            return None;
        }
        // Half a second of nothing, as machines have it, then the greeting and the beep.
        let Some(position) = (self.elapsed_ms / 20).checked_sub(25) else { return Some(Bytes::from_static(&SILENCE)) };
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let greeting = recordings::line("voicemail");
        if let Some(frame) = greeting.and_then(|line| line.frame(position)) {
            self.greeting = position + 1;
            return Some(Bytes::from_static(frame));
        }
        let beep = self.beep.chunks(FRAME_SAMPLES).nth(position.saturating_sub(self.greeting + 10));
        let frame = beep.filter(|_| position >= self.greeting + 10).unwrap_or(&SILENCE);
        Some(Bytes::copy_from_slice(frame))
    }
}

/// The agent's next 20 ms, as loud as they are. Marks are answered in their place.
fn hear(from_agent: &mut mpsc::Receiver<ToCarrier>, to_agent: &mpsc::Sender<FromCarrier>, gone: &mut bool) -> Option<f32> {
    loop {
        match from_agent.try_recv() {
            Ok(ToCarrier::Audio(bytes)) => return Law::Mu.decode_frame(&bytes).ok().map(|frame| level::rms_dbfs(frame.samples())),
            Ok(ToCarrier::Mark(mark)) => drop(to_agent.try_send(FromCarrier::MarkPlayed(mark))),
            Ok(ToCarrier::Clear) => {}
            Err(mpsc::error::TryRecvError::Empty) => return None,
            Err(mpsc::error::TryRecvError::Disconnected) => {
                *gone = true;
                return None;
            }
        }
    }
}

/// Tells the runner what happens, with the faults that were asked for.
struct Teller {
    line: crate::carrier::Line,
    faults: Faults,
    state: std::sync::Mutex<Told>,
}

struct Told {
    dice: StdRng,
    held_back: Option<CarrierEvent>,
    answered: bool,
}

impl Teller {
    fn new(request: &DialRequest, faults: &Faults) -> Self {
        let told = Told { dice: dice(faults, request), held_back: None, answered: false };
        Self { line: request.line.clone(), faults: faults.clone(), state: std::sync::Mutex::new(told) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Told> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn answered(&self) -> bool {
        self.state().answered
    }

    async fn tell(&self, event: CarrierEvent) {
        let (late, twice, hold) = {
            let mut state = self.state();
            state.answered |= matches!(event, CarrierEvent::Answered);
            let late = state.dice.random_bool(self.faults.late_callbacks);
            let twice = state.dice.random_bool(self.faults.duplicate_callbacks);
            let hold = state.dice.random_bool(self.faults.reordered_callbacks);
            (late, twice, hold && state.held_back.is_none())
        };
        if late {
            tokio::time::sleep(LATE).await;
        }
        if hold {
            self.state().held_back = Some(event);
            return;
        }
        if twice && let Some(again) = repeated(&event) {
            self.line.tell(again);
        }
        self.line.tell(event);
        self.flush();
    }

    fn flush(&self) {
        let held_back = self.state().held_back.take();
        if let Some(event) = held_back {
            self.line.tell(event);
        }
    }
}

fn repeated(event: &CarrierEvent) -> Option<CarrierEvent> {
    match event {
        CarrierEvent::Ringing => Some(CarrierEvent::Ringing),
        CarrierEvent::Answered => Some(CarrierEvent::Answered),
        CarrierEvent::Hangup(hangup) => Some(CarrierEvent::Hangup(hangup.clone())),
        CarrierEvent::Media(_) => None,
    }
}
