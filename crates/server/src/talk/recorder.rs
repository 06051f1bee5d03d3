//! The recording: a stereo WAV, caller left, agent right, written off the audio path.
//!
//! The driver hands over a pair of frames every 20 ms. They are batched for a second and written by a separate task, on a thread that
//! may block. A disk that cannot keep up costs the end of the recording, but never delays the call's audio.

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{AgentAudio, CallerAudio};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::recordings::Recording;

type Pair = (CallerAudio, AgentAudio);

/// Pairs per write: one second.
const CHUNK: usize = 50;
/// Chunks that may be queued for the disk: half a minute.
const CHUNK_CAPACITY: usize = 30;

/// The recording of one call.
#[derive(Debug)]
pub struct Recorder {
    pairs: Vec<Pair>,
    chunks: Option<mpsc::Sender<Vec<Pair>>>,
    writer: JoinHandle<std::io::Result<()>>,
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
                tracing::warn!("the disk is too slow for recordings: this one ends early");
                self.chunks = None;
            }
        }
    }

    /// Writes the rest and closes the file.
    ///
    /// # Errors
    /// If the file could not be written.
    pub async fn finish(mut self) -> std::io::Result<()> {
        if let Some(chunks) = self.chunks.take() {
            // A writer that has failed reports it below.
            let _ = chunks.send(std::mem::take(&mut self.pairs)).await;
        }
        (&mut self.writer).await.map_err(std::io::Error::other)?
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

async fn write(
    recording: Recording,
    format: AudioFormat,
    mut chunks: mpsc::Receiver<Vec<Pair>>,
) -> std::io::Result<()> {
    let mut file = blocking(move || recording.create(format)).await?;
    while let Some(chunk) = chunks.recv().await {
        file = blocking(move || {
            for (caller, agent) in &chunk {
                file.push(&caller.0, &agent.0)?;
            }
            Ok(file)
        })
        .await?;
    }
    blocking(move || file.finish().map(drop)).await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> std::io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}
