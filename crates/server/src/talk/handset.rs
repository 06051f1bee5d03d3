//! The line's end of a call: sound in both directions, 20 ms at a time, whoever makes and hears it.

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_media::dtmf::Dialer;
use switchhook_media::frame::{AgentAudio, CallerAudio, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::in_flight::InFlight;
use super::latency::Punctuality;
use super::playback::{Playback, Played};
use super::recorder::Recorder;
use crate::carrier::{FromCarrier, Media, ToCarrier};

/// Frames of the caller that may wait to be recorded, against jitter: 200 ms.
const RECORDED_BEHIND: usize = 10;
/// Frames that are later than this are not sent after each other: what they would have played is played a little later.
const LATEST: Duration = Duration::from_millis(200);
/// How long the end of a recording is waited for.
const RECORDING_CLOSED: Duration = Duration::from_secs(1);

pub(super) struct Handset {
    pub(super) media: Media,
    pub(super) playback: Playback,
    pub(super) in_flight: InFlight,
    pub(super) dialer: Dialer,
    punctuality: Punctuality,
    recorder: Option<Recorder>,
    unrecorded: VecDeque<CallerAudio>,
    /// Whether the line has taken nothing for seconds.
    broken: bool,
}

/// What came of 20 ms to the line.
#[derive(Default)]
pub(super) struct Sent {
    /// Whether speech left.
    pub(super) speech: bool,
    /// Whether the last tone of keys left.
    pub(super) keys_sent: bool,
    /// What the caller has heard by now.
    pub(super) heard: Vec<Played>,
}

/// Something from the line.
#[expect(clippy::large_enum_variant, reason = "nearly every one is sound")]
pub(super) enum Arrived {
    Sound(CallerAudio),
    Key(char),
    Nothing,
    /// Nothing more will come.
    Gone,
}

impl Handset {
    pub(super) fn new(media: Media, recorder: Option<Recorder>) -> Self {
        Self {
            media,
            playback: Playback::default(),
            in_flight: InFlight::default(),
            dialer: Dialer::default(),
            punctuality: Punctuality::default(),
            recorder,
            unrecorded: VecDeque::new(),
            broken: false,
        }
    }

    /// 20 ms of the agent to the line, which were due at `due`: tones of keys, before which speech stands back, or the next of
    /// its speech.
    pub(super) fn tick(&mut self, due: Instant) -> Sent {
        self.punctuality.tick(due.elapsed());
        if due.elapsed() > LATEST {
            return Sent::default();
        }
        if let Some(tone) = self.dialer.next_frame() {
            self.sound_out(Some(AgentAudio(tone)));
            return Sent { keys_sent: self.dialer.is_idle(), ..Sent::default() };
        }
        let next = self.playback.next_frame();
        let sound = next.as_ref().and_then(|(frame, _)| *frame);
        self.sound_out(sound);
        let now = Instant::now();
        if let Some(mark) = next.and_then(|(_, played)| self.in_flight.sent(now, played)) {
            self.send(ToCarrier::Mark(mark));
        }
        Sent { speech: sound.is_some(), keys_sent: false, heard: self.in_flight.heard(now) }
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

    /// A full channel means that the line has taken nothing for seconds. The end of one that is closed is told by its other
    /// direction.
    fn send(&mut self, message: ToCarrier) {
        self.broken |= matches!(self.media.outgoing.try_send(message), Err(mpsc::error::TrySendError::Full(_)));
    }

    /// Whether the line has taken nothing for seconds.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Falls silent at once, also at the carrier.
    pub(super) fn clear(&mut self) {
        self.playback.clear();
        self.in_flight.clear();
        self.send(ToCarrier::Clear);
    }

    /// Takes what [`Media::incoming`] gave.
    pub(super) fn arrived(&mut self, message: Option<FromCarrier>) -> Arrived {
        match message {
            Some(FromCarrier::Audio(frame)) => {
                if self.recorder.is_some() {
                    if self.unrecorded.len() >= RECORDED_BEHIND {
                        self.unrecorded.pop_front();
                    }
                    self.unrecorded.push_back(frame);
                }
                Arrived::Sound(frame)
            }
            Some(FromCarrier::Dtmf(key)) => Arrived::Key(key),
            Some(FromCarrier::MarkPlayed(mark)) => {
                self.in_flight.returned(Instant::now(), mark);
                Arrived::Nothing
            }
            None => Arrived::Gone,
        }
    }

    /// Ends the recording and says whether there is one. A slow disk goes on writing by itself: what is known of the call does
    /// not wait for it.
    pub(super) async fn written(&mut self) -> bool {
        let Some(recorder) = self.recorder.take() else { return false };
        match timeout(RECORDING_CLOSED, recorder.finish()).await {
            Ok(finished) => finished.inspect_err(|error| tracing::error!(%error, "a recording failed")).is_ok(),
            Err(_) => {
                tracing::warn!("the disk is slow: a recording is still being written");
                true
            }
        }
    }
}
