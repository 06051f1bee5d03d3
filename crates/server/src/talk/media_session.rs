//! The connection of a call to its carrier: audio in both directions, 20 ms at a time, for any kind of carrier and models.

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_carriers::media_queue::{MediaSender, media_queue};
use switchhook_carriers::{CallInfo, FromCarrier, Media, ToCarrier};
use switchhook_media::dtmf::Dialer;
use switchhook_media::echo::{EchoGuard, Heard};
use switchhook_media::format::{AudioFormat, FRAME_DURATION};
use switchhook_media::frame::{AgentAudio, CallerAudio, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::audience::Tap;
use super::in_flight::InFlight;
use super::latency::Punctuality;
use super::lead::Lead;
use super::playback::{Playback, Played};
use super::recorder::Recorder;

#[cfg(test)]
mod tests;

/// Frames of the caller that are buffered before they are recorded and streamed to listeners, against jitter: 200 ms.
const CALLER_BEHIND: usize = 10;
/// A tick that is later than this sends nothing, so that frames do not pile up: the audio is played a little later instead.
const MAX_TICK_DELAY: Duration = Duration::from_millis(200);
/// Audio of the caller that is missing for this long counts as silence: jitter is shorter.
const GAP: Duration = Duration::from_millis(400);
/// A frame that comes this soon after the one before is part of a stream. Comfort noise comes in single frames.
const STREAMED_WITHIN: Duration = Duration::from_millis(40);
/// How long to wait until a recording is written.
const RECORDING_CLOSED: Duration = Duration::from_secs(1);

pub(super) struct MediaSession {
    pub(super) media: Media,
    pub(super) playback: Playback,
    pub(super) in_flight: InFlight,
    pub(super) dialer: Dialer,
    /// `None` if the carrier does not buffer: then each frame is sent when it should be heard.
    lead: Option<Lead>,
    /// When the last DTMF tone ends at the carrier.
    tones_until: Instant,
    punctuality: Punctuality,
    echo: EchoGuard,
    /// When the caller's audio last arrived.
    heard_at: Instant,
    /// Until when the caller was heard: advanced by each frame and by the silence in place of missing ones. Never later than the present.
    heard_until: Instant,
    /// When the session began.
    began: Instant,
    recorder: Option<Recorder>,
    tap: Tap,
    /// Frames of the caller that wait to be recorded and streamed to listeners.
    caller_behind: VecDeque<CallerAudio>,
    /// Frames of the agent that were sent ahead; each is recorded and streamed when the caller hears it.
    sent_ahead: VecDeque<AgentAudio>,
    /// Whether the carrier has accepted nothing for seconds.
    broken: bool,
    /// Keeps a line without media open.
    disconnected: Option<MediaSender>,
}

/// The result of one tick.
#[derive(Default)]
pub(super) struct FrameOutcome {
    /// Whether speech was sent.
    pub(super) speech: bool,
    /// Whether the last DTMF tone was sent.
    pub(super) dtmf_sent: bool,
    /// The playback that the caller has heard since the last tick.
    pub(super) heard: Vec<Played>,
}

/// A message from the carrier.
pub(super) enum Arrived {
    Audio(CallerAudio),
    Dtmf(char),
    Nothing,
    /// The connection is closed.
    Gone,
    /// The connection is closed because of a bug of ours.
    Broken,
}

impl MediaSession {
    /// Creates a session for media whose frames have this format.
    pub(super) fn new(media: Media, format: AudioFormat, recorder: Option<Recorder>, tap: Tap) -> Self {
        let now = Instant::now();
        Self {
            lead: media.buffered.then(|| Lead::new(now)),
            media,
            playback: Playback::new(format),
            in_flight: InFlight::default(),
            dialer: Dialer::new(format),
            tones_until: now,
            punctuality: Punctuality::default(),
            echo: EchoGuard::default(),
            heard_at: now,
            heard_until: now,
            began: now,
            recorder,
            tap,
            caller_behind: VecDeque::new(),
            sent_ahead: VecDeque::new(),
            broken: false,
            disconnected: None,
        }
    }

    /// Drops the line's media until [`Self::reconnect`]. Audio in flight counts as not heard.
    pub(super) fn disconnect(&mut self) {
        let (sender, incoming) = media_queue();
        let (outgoing, _closed) = mpsc::channel(1);
        self.disconnected = Some(sender);
        self.media = Media { incoming, outgoing, ..self.media };
        self.in_flight.clear();
        self.sent_ahead.clear();
    }

    /// Continues over another line.
    pub(super) fn reconnect(&mut self, media: Media) {
        let now = Instant::now();
        self.disconnected = None;
        self.lead = media.buffered.then(|| Lead::new(now));
        self.media = media;
        self.in_flight.clear();
        self.sent_ahead.clear();
        self.tones_until = now;
        self.heard_at = now;
        self.heard_until = now;
        self.broken = false;
        self.echo = EchoGuard::default();
    }

    /// Sends the 20 ms of the agent's audio that were due at `due`, and fills the carrier's buffer up to the lead.
    pub(super) fn tick(&mut self, due: Instant) -> FrameOutcome {
        let (now, late) = (Instant::now(), due.elapsed());
        self.punctuality.tick(late);
        let mut sent = FrameOutcome::default();
        if let Some(lead) = &mut self.lead {
            lead.late(now, late);
        }
        if late > MAX_TICK_DELAY {
            // Nothing is sent, but 20 ms of the call have passed.
            self.share();
            return sent;
        }
        loop {
            let wanted = self.lead.as_ref().is_none_or(|lead| lead.wants_more(now));
            if !wanted || !self.send_next(now, due, &mut sent) || self.lead.is_none() {
                break;
            }
        }
        self.share();
        sent.heard = self.in_flight.heard(now);
        sent
    }

    /// Sends the next frame: a DTMF tone, or else the agent's speech. Returns whether there was one.
    fn send_next(&mut self, now: Instant, due: Instant, sent: &mut FrameOutcome) -> bool {
        if let Some(tone) = self.dialer.next_frame() {
            self.tones_until = self.send_audio(now, due, AgentAudio(tone)) + FRAME_DURATION;
            sent.dtmf_sent = self.dialer.is_idle();
            return true;
        }
        let Some((audio, played)) = self.playback.next_frame() else { return false };
        let plays_at = match &audio {
            Some(audio) => self.send_audio(now, due, audio.clone()),
            None => self.lead.as_ref().map_or(now, |lead| lead.next(now)),
        };
        sent.speech |= audio.is_some();
        if let Some(mark) = self.in_flight.sent(plays_at, audio, played) {
            self.send(ToCarrier::Mark(mark));
        }
        true
    }

    /// Sends a frame that was due at `due`; returns when the carrier plays it.
    fn send_audio(&mut self, now: Instant, due: Instant, audio: AgentAudio) -> Instant {
        if self.is_overheard() {
            self.sent_ahead.push_back(audio.clone());
        }
        let level = audio.0.rms_dbfs();
        self.send(ToCarrier::Audio(audio));
        let plays_at = self.lead.as_mut().map(|lead| lead.send(now));
        // A carrier that does not buffer plays one frame after the other, even those that a busy node sends at once.
        self.echo.sent(plays_at.unwrap_or(due) - self.began, level);
        plays_at.unwrap_or(now)
    }

    /// Returns who is heard in a frame of the caller, since phone lines echo the agent's voice. Must be called for every frame.
    pub(super) fn heard(&mut self, frame: &CallerAudio) -> Heard {
        self.echo.heard(self.began.elapsed(), frame.0.rms_dbfs())
    }

    /// Returns whether 20 ms of silence must be heard in place of missing audio, and counts them as heard. Frames that have arrived but were not
    /// received yet are not missing.
    pub(super) fn fill_gap(&mut self) -> bool {
        let is_gap = self.heard_until.elapsed() >= GAP;
        let fills = self.media.gaps_are_silence && is_gap && !self.media.incoming.has_audio();
        if fills {
            self.heard_until += FRAME_DURATION;
        }
        fills
    }

    /// Counts a frame of the caller as heard. One that follows the frame before it also makes up for one that is missing: it was lost, or is
    /// delayed from now on. Frames that come late, all at once, do not make up for later ones.
    fn count_heard(&mut self, now: Instant) {
        let streamed = now - self.heard_at <= STREAMED_WITHIN;
        self.heard_at = now;
        self.heard_until = (self.heard_until + FRAME_DURATION * if streamed { 2 } else { 1 }).min(now);
    }

    /// Sends 20 ms of both sides to the recording and to listeners, as they are heard.
    fn share(&mut self) {
        if !self.is_overheard() {
            self.caller_behind.clear();
            self.sent_ahead.clear();
            return;
        }
        let silence = || Frame::silence(self.playback.format());
        let caller = self.caller_behind.pop_front().unwrap_or_else(|| CallerAudio(silence()));
        let agent = self.sent_ahead.pop_front().unwrap_or_else(|| AgentAudio(silence()));
        if self.tap.is_heard() {
            self.tap.push(&caller, &agent);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.push(caller, agent);
        }
    }

    /// Returns whether the conversation is recorded or streamed to listeners.
    fn is_overheard(&self) -> bool {
        self.recorder.is_some() || self.tap.is_heard()
    }

    /// Sends information about the conversation to the far end, if it displays that.
    pub(super) fn inform(&mut self, info: impl FnOnce() -> CallInfo) {
        if self.media.shows_conversation {
            self.send(ToCarrier::Info(info()));
        }
    }

    /// Sends a message. A full channel means that the carrier has accepted nothing for seconds. A closed channel is ignored: the other
    /// direction reports the end.
    fn send(&mut self, message: ToCarrier) {
        self.broken |= matches!(self.media.outgoing.try_send(message), Err(mpsc::error::TrySendError::Full(_)));
    }

    /// Returns whether the carrier has accepted nothing for seconds.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Stops playback at once, and drops all queued audio, at the carrier too.
    pub(super) fn clear(&mut self) {
        self.playback.clear();
        self.in_flight.clear();
        self.clear_carrier(Instant::now());
    }

    /// Pauses playback at once. Audio that was sent ahead is played when playback resumes.
    pub(super) fn pause(&mut self) {
        self.playback.pause();
        let now = Instant::now();
        if self.lead.as_ref().is_some_and(|lead| !lead.ahead(now).is_zero()) && self.clear_carrier(now) {
            for (audio, played) in self.in_flight.reclaim(now) {
                self.playback.put_back(audio, played);
            }
        }
    }

    /// Has the carrier drop the audio that it has not played, unless that is DTMF tones, behind which there is hardly any speech. Returns
    /// whether it did.
    fn clear_carrier(&mut self, now: Instant) -> bool {
        if self.lead.is_some() && self.tones_until > now {
            return false;
        }
        self.send(ToCarrier::Clear);
        self.sent_ahead.clear();
        if let Some(lead) = &mut self.lead {
            lead.cleared(now);
        }
        true
    }

    /// Handles a message from [`Media::incoming`].
    pub(super) fn arrived(&mut self, message: Option<FromCarrier>) -> Arrived {
        match message {
            Some(FromCarrier::Audio(frame)) => {
                self.count_heard(Instant::now());
                if self.is_overheard() {
                    if self.caller_behind.len() >= CALLER_BEHIND {
                        self.caller_behind.pop_front();
                    }
                    self.caller_behind.push_back(frame.clone());
                }
                Arrived::Audio(frame)
            }
            Some(FromCarrier::Dtmf(key)) => Arrived::Dtmf(key),
            Some(FromCarrier::MarkPlayed(mark)) => {
                let now = Instant::now();
                if let (Some(late), Some(lead)) = (self.in_flight.returned(now, mark), &mut self.lead) {
                    lead.late(now, late);
                }
                Arrived::Nothing
            }
            Some(FromCarrier::Broken) => Arrived::Broken,
            None => Arrived::Gone,
        }
    }

    /// Ends the recording and returns whether there is one. A full or slow disk keeps writing in the background: the end of the call does not
    /// wait for it.
    pub(super) async fn written(&mut self) -> bool {
        let Some(recorder) = self.recorder.take() else { return false };
        match timeout(RECORDING_CLOSED, recorder.finish()).await {
            Ok(is_recorded) => is_recorded,
            Err(_) => {
                tracing::warn!("the disk is full or slow: a recording is still being written");
                true
            }
        }
    }
}
