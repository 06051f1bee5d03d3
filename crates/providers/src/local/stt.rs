//! Moonshine as a provider.
//!
//! Moonshine does not stream: it gets a segment when voice activity stops, which is usually well before the turn ends, and the
//! current segment from time to time while a core is idle. A run is cancelled when more audio of its segment arrives.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::CallerAudio;
use switchhook_media::resample::Resampler;
use switchhook_speech::moonshine::{self, Moonshine};
use switchhook_speech::{Cancel, Core, Job, SpeechError};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tracing::Instrument as _;

use super::shared::{LocalSpeech, check_language, english_only, failed};
use crate::segment::{Segment, Segmenter};
use crate::{ProviderError, Stt, SttEvent, SttOptions, SttSession, is_english, understood};

/// Silence appended to a segment. Voice activity stops so early that the model would otherwise consider some last words cut off.
const TAIL_MS: usize = 80;
/// Frames between two partial runs: 600 ms.
const PARTIAL_EVERY: u32 = 30;
/// Longer segments get no further partial runs.
const PARTIAL_UP_TO: Duration = Duration::from_secs(12);

/// Speech to text on this machine.
pub struct LocalStt {
    shared: Arc<LocalSpeech>,
}

impl LocalStt {
    /// Creates speech to text with the shared models.
    #[must_use]
    pub fn new(shared: Arc<LocalSpeech>) -> Self {
        Self { shared }
    }
}

#[async_trait]
impl Stt for LocalStt {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        check_language(&options.language)?;
        let (model, shared, format) = (self.shared.moonshine().await?, Arc::clone(&self.shared), options.format);
        let transcriber = Transcriber { model, shared, format, events };
        Ok(Box::new(LocalSttSession {
            transcriber,
            segmenter: Segmenter::new(format),
            runs: JoinSet::new(),
            final_run: None,
            partial_run: None,
            frames_since_partial: 0,
        }))
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        let language = (!is_english(&options.language)).then(|| english_only(&options.language));
        let terms = (!options.keyterms.is_empty()).then(|| "takes no keyterms: they are left out".to_owned());
        language.into_iter().chain(terms).collect()
    }
}

/// The session of one call.
struct LocalSttSession {
    transcriber: Transcriber,
    segmenter: Segmenter,
    /// Runs continue in separate tasks; dropping the session ends them.
    runs: JoinSet<()>,
    /// The run of the last stop.
    final_run: Option<AbortHandle>,
    partial_run: Option<AbortHandle>,
    frames_since_partial: u32,
}

impl SttSession for LocalSttSession {
    fn audio(&mut self, frame: &CallerAudio) {
        self.segmenter.audio(frame);
        self.frames_since_partial += 1;
        if self.frames_since_partial >= PARTIAL_EVERY {
            self.start_partial_run();
        }
    }

    fn speech_started(&mut self) {
        let continues = self.segmenter.started();
        if let Some(run) = self.final_run.take().filter(|_| continues) {
            run.abort();
        }
        self.frames_since_partial = 0;
    }

    fn speech_stopped(&mut self, segment: u32) {
        if let Some(run) = self.partial_run.take() {
            run.abort();
        }
        while self.runs.try_join_next().is_some() {}
        let segment = self.segmenter.stopped(segment);
        let (transcriber, events) = (self.transcriber.clone(), self.transcriber.events.clone());
        self.final_run =
            Some(self.runs.spawn(understood(events, transcriber.transcribe_segment(segment)).in_current_span()));
    }
}

impl LocalSttSession {
    /// Starts a partial run if a core is idle.
    fn start_partial_run(&mut self) {
        if self.partial_run.as_ref().is_some_and(|run| !run.is_finished()) {
            return;
        }
        let format = self.transcriber.format;
        let short = |samples: &&[i16]| format.duration(samples.len() as u64) <= PARTIAL_UP_TO;
        let Some(samples) = self.segmenter.so_far().filter(short) else { return };
        let Some(core) = self.transcriber.shared.cores.idle() else { return };
        self.frames_since_partial = 0;
        self.partial_run = Some(
            self.runs.spawn(self.transcriber.clone().transcribe_partial(samples.to_vec(), core).in_current_span()),
        );
    }
}

/// Everything that a run needs.
#[derive(Clone)]
struct Transcriber {
    model: Arc<Moonshine>,
    shared: Arc<LocalSpeech>,
    format: AudioFormat,
    events: mpsc::Sender<SttEvent>,
}

impl Transcriber {
    /// Sends the transcript of a finished segment, and empties those already sent for the pauses in it.
    async fn transcribe_segment(self, segment: Segment) {
        let core = self.shared.cores.wait().await;
        let text = match self.transcribe(segment.samples, core).await {
            // The model ends a segment with a comma whether or not the speaker continues, so it is removed.
            Ok(text) => text.trim_end_matches(',').to_owned(),
            Err(error) => {
                let error = failed(&error);
                self.send(SttEvent::Failed { code: error.code(), message: error.to_string() }).await;
                return;
            }
        };
        for segment in segment.replaces {
            self.send(SttEvent::Final { segment, text: String::new() }).await;
        }
        self.send(SttEvent::Final { segment: segment.number, text }).await;
    }

    /// Sends a preliminary transcript of the current segment. A failure does not matter: the final run will report it.
    async fn transcribe_partial(self, samples: Vec<i16>, core: Core) {
        if let Ok(text) = self.transcribe(samples, core).await
            && !text.is_empty()
        {
            self.send(SttEvent::Partial { text }).await;
        }
    }

    /// Transcribes samples. Dropping the future cancels the run.
    async fn transcribe(&self, samples: Vec<i16>, core: Core) -> Result<String, SpeechError> {
        let (model, format) = (Arc::clone(&self.model), self.format);
        let cancel = Cancel::default();
        let job = core.job().with_cancel(cancel.clone());
        let _ends_with_us = cancel.on_drop();
        let run = tokio::task::spawn_blocking(move || {
            let text = transcribe_call(&model, format, &samples, &job);
            drop(core);
            text
        });
        run.await.unwrap_or_else(|_| Err(SpeechError::run("speech to text")("it stopped unexpectedly")))
    }

    async fn send(&self, event: SttEvent) {
        // When the receiver is gone, the call is over.
        let _ = self.events.send(event).await;
    }
}

/// Returns the transcript of a call's audio. Wideband audio goes to the model unchanged.
///
/// # Errors
/// As [`Moonshine::transcribe`].
pub fn transcribe_call(
    model: &Moonshine,
    format: AudioFormat,
    samples: &[i16],
    job: &Job,
) -> Result<String, SpeechError> {
    job.check_cancelled()?;
    let mut samples: Vec<f32> = samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
    samples.resize(samples.len() + format.samples_in_ms(TAIL_MS), 0.0);
    let model_rate = moonshine::SAMPLE_RATE as u32;
    if format.sample_rate() == model_rate {
        return model.transcribe(&samples, job);
    }
    let mut resampler = Resampler::new(format.sample_rate(), model_rate).map_err(SpeechError::run("speech to text"))?;
    let mut audio = Vec::with_capacity(2 * samples.len() + 1_000);
    resampler.process_f32(&samples, &mut audio);
    resampler.flush_f32(&mut audio);
    model.transcribe(&audio, job)
}
