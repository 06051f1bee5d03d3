//! The recording: a stereo WAV, caller left, agent right, written off the audio path.
//!
//! The driver hands over a pair of frames every 20 ms. They are batched for a second and written by a separate task, on a thread that
//! may block. What a full disk does not take waits until there is room. A disk that cannot keep up costs the end of the recording, but never
//! delays the call's audio.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{AgentAudio, CallerAudio};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::recordings::{Recording, RecordingWriter};

type Pair = (CallerAudio, AgentAudio);

/// Pairs per write: one second.
const CHUNK: usize = 50;
/// Chunks that may be queued for the disk: half a minute.
const CHUNK_CAPACITY: usize = 30;
/// How long a full disk may take to have room, as for the changes of a call.
const ROOM_WITHIN: Duration = Duration::from_secs(600);
/// The recordings that may wait for room at a time; others end early. Each holds up to 2 MB and an open file.
static WAITING: Semaphore = Semaphore::const_new(64);
/// The pause between two attempts to write to it.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The recording of one call.
#[derive(Debug)]
pub struct Recorder {
    pairs: Vec<Pair>,
    chunks: Option<mpsc::Sender<Vec<Pair>>>,
    /// Returns whether there is a recording.
    writer: JoinHandle<bool>,
}

impl Recorder {
    /// Begins a recording in the format of its call.
    #[must_use]
    pub fn start(recording: Recording, format: AudioFormat) -> Self {
        let (chunks, waiting) = mpsc::channel(CHUNK_CAPACITY);
        let writer = tokio::spawn(write(recording, format, waiting).in_current_span());
        Self { pairs: Vec::with_capacity(CHUNK), chunks: Some(chunks), writer }
    }

    /// Adds the next 20 ms of both sides. Never blocks.
    pub fn push(&mut self, caller: CallerAudio, agent: AgentAudio) {
        self.pairs.push((caller, agent));
        if self.pairs.len() >= CHUNK {
            let chunk = std::mem::replace(&mut self.pairs, Vec::with_capacity(CHUNK));
            if self.chunks.as_ref().is_some_and(|chunks| chunks.try_send(chunk).is_err()) {
                tracing::warn!("the disk is full or too slow for recordings: this one ends early");
                self.chunks = None;
            }
        }
    }

    /// Writes the rest and closes the file. Returns whether there is a recording, if only of the beginning.
    pub async fn finish(mut self) -> bool {
        if let Some(chunks) = self.chunks.take() {
            // A writer that has failed said so.
            let _ = chunks.send(std::mem::take(&mut self.pairs)).await;
        }
        (&mut self.writer).await.unwrap_or(false)
    }
}

/// Completes the recording of a conversation that panicked or was cancelled.
impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(chunks) = self.chunks.take() {
            // If the disk is behind or the writer has failed, the rest is lost.
            let _ = chunks.try_send(std::mem::take(&mut self.pairs));
        }
    }
}

async fn write(recording: Recording, format: AudioFormat, chunks: mpsc::Receiver<Vec<Pair>>) -> bool {
    Unwritten { recording, format, file: None, pairs: VecDeque::new() }.written(chunks).await
}

/// A recording, and what of it the disk has not taken.
struct Unwritten {
    recording: Recording,
    format: AudioFormat,
    /// `None` until it could be created.
    file: Option<RecordingWriter>,
    pairs: VecDeque<Pair>,
}

impl Unwritten {
    /// Writes all, or keeps the beginning. Returns whether there is a recording.
    async fn written(self, chunks: mpsc::Receiver<Vec<Pair>>) -> bool {
        let recording = self.recording.clone();
        let Err(error) = self.write_all(chunks).await else { return true };
        tracing::error!(%error, "could not write a recording; it ends early");
        recording.repaired().await.is_some()
    }

    async fn write_all(mut self, mut chunks: mpsc::Receiver<Vec<Pair>>) -> Result<()> {
        while let Some(chunk) = chunks.recv().await {
            self.pairs.extend(chunk);
            self = self.until_done(Self::write).await?;
        }
        self.until_done(Self::finish).await.map(drop)
    }

    /// Performs a step on a thread that may block, and again while the disk is full: each step continues where it failed.
    async fn until_done(mut self, step: fn(&mut Self) -> Result<()>) -> Result<Self> {
        let (began, mut waiting) = (Instant::now(), None);
        loop {
            let attempt = tokio::task::spawn_blocking(move || {
                let done = step(&mut self);
                (self, done)
            });
            let (unwritten, done) = attempt.await.map_err(Error::other)?;
            self = unwritten;
            let Err(error) = done else { return Ok(self) };
            if waiting.is_none()
                && is_full(&error)
                && let Ok(place) = WAITING.try_acquire()
            {
                waiting = Some(place);
                tracing::warn!(%error, "could not write a recording; retrying");
                // In case this process ends before there is room.
                let _ = self.recording.clone().repaired().await;
            }
            if waiting.is_none() || !is_full(&error) || began.elapsed() >= ROOM_WITHIN {
                // Its buffer is written when it is dropped, which may block.
                let _ = tokio::task::spawn_blocking(move || drop(self)).await;
                return Err(error);
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    fn write(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file = Some(self.recording.create(self.format)?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        while let Some((caller, agent)) = self.pairs.front() {
            file.push(&caller.0, &agent.0)?;
            self.pairs.pop_front();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.write()?;
        if let Some(file) = &mut self.file {
            file.finish()?;
        }
        self.file = None; // Closed here, since that may block.
        Ok(())
    }
}

/// Returns whether there may be room for the same later. A limit on the size of files and a quota are as good as a full disk.
fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::BufWriter;

    use switchhook_media::frame::Frame;
    use switchhook_media::wav::{self, StereoWriter};
    use uuid::Uuid;

    use super::*;
    use crate::recordings::Recordings;

    #[tokio::test]
    async fn what_was_recorded_before_a_file_could_no_longer_be_written_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recording = Recordings::below(folder.path()).of(Uuid::nil(), Uuid::nil());
        let (format, frame) = (AudioFormat::Narrowband, Frame::silence(AudioFormat::Narrowband));
        let mut beginning = recording.create(format).expect("created");
        for _ in 0..CHUNK {
            beginning.push(&frame, &frame).expect("written");
        }
        drop(beginning);
        let unwritable = BufWriter::new(File::open(recording.path()).expect("a file that is read"));
        let file = Some(StereoWriter::new(unwritable, format).expect("buffered"));
        let (chunks, waiting) = mpsc::channel(1);
        let pair = (CallerAudio(frame.clone()), AgentAudio(frame));
        chunks.send(vec![pair; CHUNK]).await.expect("the writer has not begun");
        drop(chunks);
        let unwritten = Unwritten { recording: recording.clone(), format, file, pairs: VecDeque::new() };
        assert!(unwritten.written(waiting).await, "there is a recording");
        let kept = wav::read(&fs::read(recording.path()).expect("a file")).expect("a whole recording");
        assert_eq!(kept.channels[0].len(), CHUNK * 160);
    }
}
