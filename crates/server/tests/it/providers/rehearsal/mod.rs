//! Whole conversations in virtual time: the service's own call driver with an STT, an LLM and a TTS, each of them scripted or an
//! adapter connected to its double.
//!
//! The clock is advanced manually, 20 ms at a time, and stops until all work is done: a response takes as long as scripted, and an
//! adapter waits as long as it would on a call, regardless of the machine's load. The doubles run on the test's own thread, and data
//! sent over the loopback device has arrived when sending returns. Use `#[tokio::test(start_paused = true)]`, and wait only for
//! virtual time while a rehearsal runs.

mod fake_providers;
mod line;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use switchhook::talk::audience::Audience;
use switchhook::talk::prepared::{Preparation, Prepared};
use switchhook::talk::realtime::Model;
use switchhook::talk::{Ended, Note, Report, Settings, TranscriptLine as Entry};
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::{End, FailureCode};
use switchhook_media::format::{AudioFormat, FRAME_DURATION};
use switchhook_media::frame::Frame;
use switchhook_providers::json_schema::Schema;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::fake_providers::ProviderLog;
pub(super) use self::fake_providers::{FakeProviders, always, and_goodbye};
use self::line::Line;
pub(super) use self::line::words;

/// How long the phone rings.
const RINGS: Duration = Duration::from_secs(2);
/// How often each task and each socket may run within 20 ms.
const ROUNDS: usize = 32;
/// The longest allowed time without the agent's audio after the caller's speech, in milliseconds.
const DEAD_AIR: u64 = 3_000;
/// The longest wait for a response to the caller's speech, in milliseconds.
const NEVER: u64 = 30_000;

/// A running call.
pub(super) struct VirtualCall {
    line: Line,
    talk: JoinHandle<Report>,
    notes: mpsc::UnboundedReceiver<Note>,
    began: Instant,
    log: Arc<ProviderLog>,
    /// When work was last in progress.
    at_work: u64,
    pub(super) transcript: Vec<Entry>,
    /// When the call ended, in milliseconds, and why. A call that cannot be set up ends before it is answered.
    pub(super) end: Option<(u64, Ended)>,
}

impl VirtualCall {
    /// Rings, and begins the call once it is answered.
    pub(super) async fn begin(agent: &AgentConfig, cast: FakeProviders) -> Self {
        Self::begin_with(agent, cast, Vec::new()).await
    }

    /// The same with speech-to-speech models, the first one preferred; the TTS of `cast` fills waits.
    pub(super) async fn begin_with(agent: &AgentConfig, cast: FakeProviders, models: Vec<Model>) -> Self {
        Self::answered_after(RINGS, agent, cast, models).await
    }

    /// The same with this much time until the call is answered.
    pub(super) async fn answered_after(
        rings: Duration,
        agent: &AgentConfig,
        cast: FakeProviders,
        models: Vec<Model>,
    ) -> Self {
        let (pipeline, log) = cast.pipeline(agent);
        let mut prepared = Prepared::new(
            Settings {
                agent: agent.clone(),
                recording: None,
                audience: Audience::default(),
                format: AudioFormat::Narrowband,
                log_inputs: false,
            },
            pipeline,
            models,
        );
        let answered = Instant::now() + rings;
        let mut refused = None;
        while Instant::now() < answered && refused.is_none() {
            pass().await;
            if let Some(Preparation::Failed(failure)) = prepared.progress().now_or_never() {
                refused = Some(failure);
            }
        }
        let (line, media) = Line::new();
        let (said, notes) = mpsc::unbounded_channel();
        // No commands are sent.
        let (_, commands) = mpsc::unbounded_channel();
        let talk = tokio::spawn(prepared.talk(media, commands, said));
        let end = refused.map(|failure| (0, Ended::By(End::Failed(failure))));
        Self { line, talk, notes, began: Instant::now(), log, at_work: 0, transcript: Vec::new(), end }
    }

    /// Returns the milliseconds since the call was answered.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).expect("short")
    }

    /// Plays a recorded line of the caller. Returns when it ended.
    pub(super) async fn caller_says(&mut self, line: &str) -> u64 {
        self.caller_says_and(line, || {}).await
    }

    /// The same, and calls `happens` in the middle of the line.
    pub(super) async fn caller_says_and(&mut self, line: &str, happens: impl FnOnce()) -> u64 {
        let frames = line::recorded(line);
        let mut happens = Some(happens);
        let mut voice = self.now();
        for (at, (frame, loud)) in frames.iter().enumerate() {
            if at >= frames.len() / 2
                && let Some(happens) = happens.take()
            {
                happens();
            }
            self.step(frame.clone()).await;
            voice = if *loud { self.now() } else { voice };
        }
        voice
    }

    /// Plays a recorded line of the caller, unless the call has ended, and waits for the response. Returns what is wrong with it.
    pub(super) async fn says_and_is_answered(&mut self, line: &str) -> Option<String> {
        if self.end.is_some() {
            return None;
        }
        let spoke = self.caller_says(line).await;
        self.dead_air_since(spoke).await
    }

    /// Waits until the agent has responded to the caller, or the call has ended. Returns a description of any dead air meanwhile.
    pub(super) async fn dead_air_since(&mut self, spoke: u64) -> Option<String> {
        self.until_silent_for(DEAD_AIR + 100, spoke).await;
        let silence = self.longest_silence(spoke);
        let heard =
            || format!("{silence} ms of silence since {spoke}; heard {:?}, {:?}", self.line.sounds, self.spoken());
        (silence > DEAD_AIR).then(heard)
    }

    /// Lets this many milliseconds pass, or fewer if the call ends.
    pub(super) async fn wait(&mut self, ms: u64) {
        let until = self.now() + ms;
        while self.now() < until && self.end.is_none() {
            self.step(Frame::silence(AudioFormat::Narrowband)).await;
        }
    }

    /// Waits until the agent has spoken after `since`, has nothing left to say and was silent for `quiet`, the call has ended, or the wait
    /// is hopeless.
    pub(super) async fn until_silent_for(&mut self, quiet: u64, since: u64) {
        while self.end.is_none() && self.now() < since + NEVER {
            self.wait(20).await;
            let ended = self.line.sounds.last().map_or(0, |(_, ended)| *ended);
            if ended > since && self.now() >= ended.max(self.at_work) + quiet {
                return;
            }
        }
    }

    /// Waits until the agent is asked to speak a text that contains these words.
    pub(super) async fn until_it_says(&mut self, words: &str) {
        let since = self.now();
        while !self.spoken().iter().any(|said| said.contains(words)) {
            assert!(self.end.is_none() && self.now() < since + NEVER, "{words} is not said: {:?}", self.spoken());
            self.wait(20).await;
        }
    }

    /// Waits until this much of the agent was heard without a break, in milliseconds.
    pub(super) async fn until_heard(&mut self, ms: u64, since: u64) {
        let heard =
            |line: &Line| line.sounds.last().is_some_and(|(began, ended)| *began >= since && ended - began >= ms);
        while !heard(&self.line) {
            assert!(self.end.is_none() && self.now() < since + NEVER, "it is not heard: {:?}", self.line.sounds);
            self.wait(20).await;
        }
    }

    /// Returns the texts that the TTS was asked to speak.
    pub(super) fn spoken(&self) -> Vec<String> {
        self.log.spoken.lock().expect("whole").clone()
    }

    /// Returns the intervals of the agent's audio on the line.
    pub(super) fn sounds(&self) -> &[(u64, u64)] {
        &self.line.sounds
    }

    /// Returns what was said, and whether the agent said it.
    pub(super) fn said(&self) -> Vec<(bool, &str)> {
        self.transcript.iter().map(|entry| (entry.by_agent, entry.text.as_str())).collect()
    }

    /// Returns the failure that ended the call.
    pub(super) fn failure(&self) -> Option<FailureCode> {
        match &self.end.as_ref()?.1 {
            Ended::By(End::Failed(failure)) => Some(failure.code),
            _ => None,
        }
    }

    /// Returns whether the agent ended the call on purpose.
    pub(super) fn was_ended_by_the_agent(&self) -> bool {
        self.end.as_ref().is_some_and(|(_, end)| matches!(end, Ended::By(End::AgentHungUp)))
    }

    /// Returns the longest time without the agent's audio from `since` until it had finished, or the call had ended.
    fn longest_silence(&self, since: u64) -> u64 {
        let mut silent_since = since;
        let mut longest = 0;
        for (began, ended) in self.line.sounds.iter().filter(|(_, ended)| *ended > since) {
            longest = longest.max(began.saturating_sub(silent_since));
            silent_since = *ended;
        }
        let answered = silent_since > since;
        match &self.end {
            Some((end, _)) => longest.max(end - silent_since),
            // Wait for work in progress.
            None if answered => longest.max(self.at_work.saturating_sub(silent_since)),
            None => self.now() - since,
        }
    }

    /// Advances the call by 20 ms.
    pub(super) async fn step(&mut self, caller: Frame) {
        if self.end.is_some() {
            return;
        }
        self.line.say(caller);
        pass().await;
        let now = self.now();
        self.line.listen(now);
        if self.log.is_at_work() {
            self.at_work = now;
        }
        while let Ok(note) = self.notes.try_recv() {
            match note {
                Note::Transcript(entry) => self.transcript.push(*entry),
                // As if it were stored. A conversation that has ended does not wait for it.
                Note::ToolRequested(_, stored) => {
                    let _ = stored.send(());
                }
                Note::ToolCall(_) | Note::CarrierRequest(_) | Note::LineGone => {}
            }
        }
        if self.talk.is_finished() {
            let report = (&mut self.talk).now_or_never().expect("it is finished").expect("the driver does not panic");
            self.end = Some((now, report.end));
        }
    }
}

/// Lets 20 ms pass, with all work due in them. Threads do not know virtual time, so they are awaited.
async fn pass() {
    tokio::time::advance(FRAME_DURATION).await;
    for _ in 0..ROUNDS {
        tokio::task::yield_now().await;
    }
    while Schema::under_way() > 0 {
        tokio::task::yield_now().await;
    }
}
