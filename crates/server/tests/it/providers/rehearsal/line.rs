//! The phone line of a rehearsal, without delay.

use switchhook_carriers::media_queue::{MediaSender, media_queue};
use switchhook_carriers::{FromCarrier, Media, ToCarrier};
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::Law;
use switchhook_media::level::rms_dbfs;
use tokio::sync::mpsc;

/// Messages of the agent that may be queued.
const WAITING: usize = 64;
/// Quieter frames do not count as voice.
const VOICE_DBFS: f32 = -45.0;

pub(super) struct Line {
    to_agent: MediaSender,
    from_agent: mpsc::Receiver<ToCarrier>,
    /// The intervals of the agent's audio, in milliseconds.
    pub(super) sounds: Vec<(u64, u64)>,
}

impl Line {
    pub(super) fn new() -> (Self, Media) {
        let (to_agent, incoming) = media_queue();
        let (outgoing, from_agent) = mpsc::channel(WAITING);
        (
            Self { to_agent, from_agent, sounds: Vec::new() },
            Media { incoming, outgoing, buffered: false, gaps_are_silence: true, shows_conversation: false },
        )
    }

    /// Sends 20 ms of the caller.
    pub(super) fn say(&mut self, frame: Frame) {
        self.send(FromCarrier::Audio(CallerAudio(frame)));
    }

    /// Receives what the agent has sent until `now`.
    pub(super) fn listen(&mut self, now: u64) {
        while let Ok(message) = self.from_agent.try_recv() {
            match message {
                ToCarrier::Audio(_) => match self.sounds.last_mut().filter(|(_, ended)| *ended + 20 >= now) {
                    Some((_, ended)) => *ended = now,
                    None => self.sounds.push((now - 20, now)),
                },
                ToCarrier::Mark(mark) => self.send(FromCarrier::MarkPlayed(mark)),
                ToCarrier::Clear | ToCarrier::Info(_) => {}
            }
        }
    }

    fn send(&self, message: FromCarrier) {
        // A driver that has ended does not receive.
        let _ = self.to_agent.send(message);
    }
}

/// Returns the frames of a recorded line, and whether each contains voice.
pub(super) fn recorded(line: &str) -> Vec<(Frame, bool)> {
    let line = switchhook_caller_audio::recording(line).expect("a shipped recording");
    let frames = line.bytes().chunks_exact(160).map(|bytes| Law::Mu.decode_frame(bytes).expect("a whole frame"));
    let voiced = |frame: &Frame| rms_dbfs(frame.samples()) >= VOICE_DBFS;
    frames.map(|frame| (frame.clone(), voiced(&frame))).collect()
}

/// Returns the text of a recorded line.
pub(crate) fn words(line: &str) -> &'static str {
    switchhook_caller_audio::recording(line).expect("a shipped recording").text
}
