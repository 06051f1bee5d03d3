//! Whole conversations in virtual time: the service's own driver of calls with an STT, a model and a voice, each of them
//! scripted or an adapter that speaks to its double.
//!
//! The clock is turned by hand, 20 ms at a time, and stands still until nothing is left to be done: an answer takes as long
//! as it says, and an adapter waits as long as it would on a call, whatever the machine is doing. The doubles serve on the
//! test's own thread, and what is sent over the loopback device is there when sending returns. Use
//! `#[tokio::test(start_paused = true)]`, and wait for nothing but virtual time while a rehearsal runs.

mod cast;
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

use self::cast::Backstage;
pub(super) use self::cast::{Cast, always, and_goodbye};
use self::line::Line;
pub(super) use self::line::words;

/// How long the phone rings.
const RINGS: Duration = Duration::from_secs(2);
/// How often each task and each socket may have its turn before 20 ms are over.
const ROUNDS: usize = 64;
/// The longest time without the agent's audio after the caller's words, in milliseconds.
const DEAD_AIR: u64 = 3_000;
/// No answer to the caller's words is waited for longer, in milliseconds.
const NEVER: u64 = 30_000;

/// A call that is held.
pub(super) struct Rehearsal {
    line: Line,
    talk: JoinHandle<Report>,
    notes: mpsc::UnboundedReceiver<Note>,
    began: Instant,
    backstage: Arc<Backstage>,
    /// When something was in the making last.
    at_work: u64,
    pub(super) transcript: Vec<Entry>,
    /// When the call ended, in milliseconds, and why. One that is not to be held ends before it is answered.
    pub(super) end: Option<(u64, Ended)>,
}

impl Rehearsal {
    /// Rings, and begins when that is answered.
    pub(super) async fn begin(agent: &AgentConfig, cast: Cast) -> Self {
        Self::begin_with(agent, cast, Vec::new()).await
    }

    /// The same with models that hear and speak themselves, the first one preferred; of the cast the voice covers their waits.
    pub(super) async fn begin_with(agent: &AgentConfig, cast: Cast, models: Vec<Model>) -> Self {
        let (pipeline, backstage) = cast.pipeline(agent);
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
        let answered = Instant::now() + RINGS;
        let mut refused = None;
        while Instant::now() < answered && refused.is_none() {
            pass().await;
            if let Some(Preparation::Failed(failure)) = prepared.progress().now_or_never() {
                refused = Some(failure);
            }
        }
        let (line, media) = Line::new();
        let (said, notes) = mpsc::unbounded_channel();
        // Nobody commands.
        let (_, commands) = mpsc::unbounded_channel();
        let talk = tokio::spawn(prepared.talk(media, commands, said));
        let end = refused.map(|failure| (0, Ended::By(End::Failed(failure))));
        Self { line, talk, notes, began: Instant::now(), backstage, at_work: 0, transcript: Vec::new(), end }
    }

    /// Milliseconds since the call was answered.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).expect("short")
    }

    /// The caller speaks a recorded line. Gives when their voice ended.
    pub(super) async fn caller_says(&mut self, line: &str) -> u64 {
        self.caller_says_and(line, || {}).await
    }

    /// The same, and in the middle of it something happens.
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

    /// The caller speaks a recorded line, if the call is not over, and the agent answers. Gives what is wrong with that.
    pub(super) async fn says_and_is_answered(&mut self, line: &str) -> Option<String> {
        if self.end.is_some() {
            return None;
        }
        let spoke = self.caller_says(line).await;
        self.dead_air_since(spoke).await
    }

    /// Waits until the agent has answered what the caller said, or the call is over, and tells when the caller was left alone
    /// meanwhile.
    pub(super) async fn dead_air_since(&mut self, spoke: u64) -> Option<String> {
        self.until_silent_for(DEAD_AIR + 100, spoke).await;
        let silence = self.longest_silence(spoke);
        let heard =
            || format!("{silence} ms of silence since {spoke}; heard {:?}, {:?}", self.line.sounds, self.spoken());
        (silence > DEAD_AIR).then(heard)
    }

    /// Lets so many milliseconds pass, or less when the call ends.
    pub(super) async fn wait(&mut self, ms: u64) {
        let until = self.now() + ms;
        while self.now() < until && self.end.is_none() {
            self.step(Frame::silence(AudioFormat::Narrowband)).await;
        }
    }

    /// Waits until the agent has spoken since then, has nothing more to say and was silent for so long, or the call is over, or there is no hope.
    pub(super) async fn until_silent_for(&mut self, quiet: u64, since: u64) {
        while self.end.is_none() && self.now() < since + NEVER {
            self.wait(20).await;
            let ended = self.line.sounds.last().map_or(0, |(_, ended)| *ended);
            if ended > since && self.now() >= ended.max(self.at_work) + quiet {
                return;
            }
        }
    }

    /// Waits until the agent is asked to say something with these words in it.
    pub(super) async fn until_it_says(&mut self, words: &str) {
        let since = self.now();
        while !self.spoken().iter().any(|said| said.contains(words)) {
            assert!(self.end.is_none() && self.now() < since + NEVER, "{words} is not said: {:?}", self.spoken());
            self.wait(20).await;
        }
    }

    /// Waits until this much of the agent was heard at one stretch, in milliseconds.
    pub(super) async fn until_heard(&mut self, ms: u64, since: u64) {
        let heard =
            |line: &Line| line.sounds.last().is_some_and(|(began, ended)| *began >= since && ended - began >= ms);
        while !heard(&self.line) {
            assert!(self.end.is_none() && self.now() < since + NEVER, "it is not heard: {:?}", self.line.sounds);
            self.wait(20).await;
        }
    }

    /// What the voice was asked to speak.
    pub(super) fn spoken(&self) -> Vec<String> {
        self.backstage.spoken.lock().expect("whole").clone()
    }

    /// When the agent's audio is on the line.
    pub(super) fn sounds(&self) -> &[(u64, u64)] {
        &self.line.sounds
    }

    /// By whom (whether the agent) what was said.
    pub(super) fn said(&self) -> Vec<(bool, &str)> {
        self.transcript.iter().map(|entry| (entry.by_agent, entry.text.as_str())).collect()
    }

    /// The failure that ended the call.
    pub(super) fn failure(&self) -> Option<FailureCode> {
        match &self.end.as_ref()?.1 {
            Ended::By(End::Failed(failure)) => Some(failure.code),
            _ => None,
        }
    }

    /// Whether the agent ended the call as it wanted to.
    pub(super) fn was_ended_by_the_agent(&self) -> bool {
        self.end.as_ref().is_some_and(|(_, end)| matches!(end, Ended::By(End::AgentHungUp)))
    }

    /// The longest time without the agent's audio from then on until it had said all, or the call was over.
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
            // What was begun is awaited.
            None if answered => longest.max(self.at_work.saturating_sub(silent_since)),
            None => self.now() - since,
        }
    }

    /// 20 ms of the call.
    pub(super) async fn step(&mut self, caller: Frame) {
        if self.end.is_some() {
            return;
        }
        self.line.say(caller);
        pass().await;
        let now = self.now();
        self.line.listen(now);
        if self.backstage.is_at_work() {
            self.at_work = now;
        }
        while let Ok(note) = self.notes.try_recv() {
            if let Note::Transcript(entry) = note {
                self.transcript.push(*entry);
            }
        }
        if self.talk.is_finished() {
            let report = (&mut self.talk).now_or_never().expect("it is finished").expect("the driver does not panic");
            self.end = Some((now, report.end));
        }
    }
}

/// Lets 20 ms pass, and everything happen that can happen then. Threads know nothing of virtual time: they are waited for.
async fn pass() {
    tokio::time::advance(FRAME_DURATION).await;
    for _ in 0..ROUNDS {
        tokio::task::yield_now().await;
    }
    while Schema::under_way() > 0 {
        tokio::task::yield_now().await;
    }
}
