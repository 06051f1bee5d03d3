//! The line's end of a call: audio in both directions, 20 ms at a time, whoever makes and hears it.

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

/// Frames of the caller that may wait to be recorded and listened to, against jitter: 200 ms.
const CALLER_BEHIND: usize = 10;
/// Frames that are later than this are not sent after each other: what they would have played is played a little later.
const LATEST: Duration = Duration::from_millis(200);
/// Without audio of the caller for so long they are silent: jitter is shorter.
const GAP: Duration = Duration::from_millis(400);
/// How long the end of a recording is waited for.
const RECORDING_CLOSED: Duration = Duration::from_secs(1);

pub(super) struct MediaSession {
    pub(super) media: Media,
    pub(super) playback: Playback,
    pub(super) in_flight: InFlight,
    pub(super) dialer: Dialer,
    /// Nothing where the carrier does not buffer: there a frame is sent when it is to be heard.
    lead: Option<Lead>,
    /// Until when tones of keys are heard.
    tones_until: Instant,
    punctuality: Punctuality,
    echo: EchoGuard,
    /// When audio of the caller last came.
    heard_at: Instant,
    /// When the line began.
    began: Instant,
    recorder: Option<Recorder>,
    tap: Tap,
    /// Frames of the caller that are recorded and listened to when their turn comes.
    caller_behind: VecDeque<CallerAudio>,
    /// Frames of the agent that were sent ahead; each is recorded and listened to when the caller hears it.
    sent_ahead: VecDeque<AgentAudio>,
    /// Whether the line has taken nothing for seconds.
    broken: bool,
    /// Keeps a line without media open.
    disconnected: Option<MediaSender>,
}

/// What came of 20 ms to the line.
#[derive(Default)]
pub(super) struct FrameOutcome {
    /// Whether speech left.
    pub(super) speech: bool,
    /// Whether the last tone of keys left.
    pub(super) dtmf_sent: bool,
    /// What the caller has heard by now.
    pub(super) heard: Vec<Played>,
}

/// Something from the line.
pub(super) enum Arrived {
    Audio(CallerAudio),
    Dtmf(char),
    Nothing,
    /// Nothing more will come.
    Gone,
    /// The same, by a fault of ours.
    Broken,
}

impl MediaSession {
    /// For media whose frames have this format.
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
            began: now,
            recorder,
            tap,
            caller_behind: VecDeque::new(),
            sent_ahead: VecDeque::new(),
            broken: false,
            disconnected: None,
        }
    }

    /// Nothing comes from the line any more, until it is connected again. What was on its way was not heard.
    pub(super) fn disconnect(&mut self) {
        let (sender, incoming) = media_queue();
        let (outgoing, _closed) = mpsc::channel(1);
        self.disconnected = Some(sender);
        self.media = Media { incoming, outgoing, ..self.media };
        self.in_flight.clear();
        self.sent_ahead.clear();
    }

    /// Goes on over another line.
    pub(super) fn reconnect(&mut self, media: Media) {
        let now = Instant::now();
        self.disconnected = None;
        self.lead = media.buffered.then(|| Lead::new(now));
        self.media = media;
        self.in_flight.clear();
        self.sent_ahead.clear();
        self.tones_until = now;
        self.heard_at = now;
        self.broken = false;
        self.echo = EchoGuard::default();
    }

    /// 20 ms of the agent to the line, which were due at `due`, and what the carrier is to have ahead of that.
    pub(super) fn tick(&mut self, due: Instant) -> FrameOutcome {
        let (now, late) = (Instant::now(), due.elapsed());
        self.punctuality.tick(late);
        let mut sent = FrameOutcome::default();
        if let Some(lead) = &mut self.lead {
            lead.late(now, late);
        }
        if late > LATEST {
            // Nothing is sent, and yet 20 ms of the call have passed.
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

    /// The next frame: tones of keys, before which speech stands back, or the next of the agent's speech. Whether there was one.
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

    /// Sends a frame that was due at `due`; gives when the carrier plays it.
    fn send_audio(&mut self, now: Instant, due: Instant, audio: AgentAudio) -> Instant {
        if self.is_overheard() {
            self.sent_ahead.push_back(audio.clone());
        }
        let level = audio.0.rms_dbfs();
        self.send(ToCarrier::Audio(audio));
        let plays_at = self.lead.as_mut().map(|lead| lead.send(now));
        // A carrier that does not buffer plays one frame after the other, also those that a busy node sends at once.
        self.echo.sent(plays_at.unwrap_or(due) - self.began, level);
        plays_at.unwrap_or(now)
    }

    /// Who is heard in a frame of the caller: lines return the agent's voice. To be asked for every frame.
    pub(super) fn heard(&mut self, frame: &CallerAudio) -> Heard {
        self.echo.heard(self.began.elapsed(), frame.0.rms_dbfs())
    }

    /// Whether no audio of the caller comes, and that is silence. Frames that wait to be received are not missing.
    pub(super) fn is_gap(&self) -> bool {
        self.media.gaps_are_silence && self.heard_at.elapsed() >= GAP && !self.media.incoming.has_audio()
    }

    /// 20 ms of both sides to the recording and to whoever listens, as they are heard.
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

    /// Whether the conversation is recorded or listened to.
    fn is_overheard(&self) -> bool {
        self.recorder.is_some() || self.tap.is_heard()
    }

    /// Shows the far end what happens, where it is shown that.
    pub(super) fn inform(&mut self, info: impl FnOnce() -> CallInfo) {
        if self.media.shows_conversation {
            self.send(ToCarrier::Info(info()));
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
        self.clear_carrier(Instant::now());
    }

    /// Falls silent at once; what was sent ahead is heard when playback goes on.
    pub(super) fn pause(&mut self) {
        self.playback.pause();
        let now = Instant::now();
        if self.lead.as_ref().is_some_and(|lead| !lead.ahead(now).is_zero()) && self.clear_carrier(now) {
            for (audio, played) in self.in_flight.reclaim(now) {
                self.playback.put_back(audio, played);
            }
        }
    }

    /// Has the carrier throw away what it has not played, unless that is tones of keys, behind which there is hardly any speech.
    /// Whether it does.
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

    /// Takes what [`Media::incoming`] gave.
    pub(super) fn arrived(&mut self, message: Option<FromCarrier>) -> Arrived {
        match message {
            Some(FromCarrier::Audio(frame)) => {
                self.heard_at = Instant::now();
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
