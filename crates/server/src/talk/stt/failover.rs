//! Decides which STT transcribes the caller and when another takes over. Does no I/O.
//!
//! Report what happens, take every [`Step`], and call [`SttFailover::tick`] at [`SttFailover::next_deadline`].

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_core::call::ErrorCode;
use switchhook_providers::replay_buffer::ReplayBuffer;
use switchhook_providers::{ProviderError, SttEvent, SttInput};
use tokio::time::Instant;

/// Speech without a transcript for this long is given to the next STT.
pub(super) const TRANSCRIPT_TIMEOUT: Duration = Duration::from_secs(2);

/// The next action of the caller.
pub(super) enum Step {
    /// Send the input to the running STT.
    Pass(SttInput),
    /// Open the STT at this position.
    Open { position: usize },
    /// Run the STT that was opened, and drop the one before.
    Adopt,
    /// Drop the STT that was opened.
    Discard,
    /// Drop the running STT: it has failed.
    LetGo,
    /// Report an event to the conversation.
    Report(SttEvent),
}

/// The providers of one call.
pub(super) struct SttFailover {
    count: usize,
    /// The first provider that has not been used yet.
    next: usize,
    running: bool,
    opening: bool,
    /// Whether one has run.
    begun: bool,
    /// Whether another STT than the first has taken over.
    taken_over: bool,
    /// The error of the last STT that was lost.
    lost: Option<(ErrorCode, String)>,
    /// The caller's input without a final transcript.
    replay: ReplayBuffer,
    speaking: bool,
    /// Segments without a final transcript, in the order of speech.
    open: VecDeque<Open>,
    /// The number of the next segment.
    next_segment: u32,
    /// Segments whose transcript was reported before they ended.
    early: Vec<u32>,
    /// Text that may still change.
    partial: String,
    /// Text of speech that is too long to be replayed: later text is appended to it.
    stands: String,
    /// When the running STT last sent an event.
    sign: Option<Instant>,
}

struct Open {
    segment: u32,
    since: Instant,
    /// Its text, which waits for that of the segments before it.
    words: Option<String>,
}

impl SttFailover {
    /// Creates a failover of this many providers, none of which runs yet.
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            next: 0,
            running: false,
            opening: false,
            begun: false,
            taken_over: false,
            lost: None,
            replay: ReplayBuffer::default(),
            speaking: false,
            open: VecDeque::new(),
            next_segment: 0,
            early: Vec::new(),
            partial: String::new(),
            stands: String::new(),
            sign: None,
        }
    }

    /// Begins with the first STT.
    pub(super) fn begin(&mut self) -> Option<Step> {
        if self.count == 0 {
            self.lost(ErrorCode::ConfigError, "No speech to text is configured.".to_owned());
        }
        self.open_next()
    }

    /// Returns whether another STT than the first has taken over.
    pub(super) fn has_taken_over(&self) -> bool {
        self.taken_over
    }

    /// Handles input from the call.
    pub(super) fn handle_input(&mut self, input: SttInput, now: Instant) -> Vec<Step> {
        let (input, keep) = match input {
            SttInput::StartAt(_) => (input, false),
            SttInput::Audio(_) => (input, true),
            SttInput::SpeechStarted => {
                self.speaking = true;
                (input, true)
            }
            SttInput::SpeechStopped(segment) => self.stopped(segment, now),
        };
        if keep {
            self.replay.keep(input.clone(), self.is_open());
        }
        if self.running { vec![Step::Pass(input)] } else { Vec::new() }
    }

    /// Handles the end of a segment. Returns it with the number that its transcript will have, and whether the transcript is still
    /// outstanding: an STT that detects turns itself may be faster than our VAD.
    fn stopped(&mut self, segment: u32, now: Instant) -> (SttInput, bool) {
        self.speaking = false;
        if segment < self.next_segment && self.partial.is_empty() {
            self.early.push(segment);
            return (SttInput::SpeechStopped(segment), false);
        }
        let segment = segment.max(self.next_segment);
        self.next_segment = segment + 1;
        self.open.push_back(Open { segment, since: now, words: None });
        (SttInput::SpeechStopped(segment), true)
    }

    /// Returns whether there is speech without a final transcript.
    fn is_open(&self) -> bool {
        self.speaking || !self.open.is_empty() || !self.partial.is_empty()
    }

    /// Handles an event of the running STT.
    pub(super) fn handle_event(&mut self, event: SttEvent, now: Instant) -> Vec<Step> {
        self.sign = Some(now);
        match event {
            SttEvent::Partial { text } => {
                text.trim().clone_into(&mut self.partial);
                if !self.partial.is_empty() {
                    self.replay.words();
                }
                vec![Step::Report(SttEvent::Partial { text: join(&self.stands, &self.partial) })]
            }
            SttEvent::Final { segment, text } => {
                self.replay.words();
                self.partial.clear();
                self.settle(segment, text)
            }
            SttEvent::EndOfTurn => vec![Step::Report(SttEvent::EndOfTurn)],
            SttEvent::Failed { code, message } => {
                self.running = false;
                self.lost(code, message);
                let mut steps = vec![Step::LetGo];
                if !self.opening {
                    steps.extend(self.open_next());
                }
                steps
            }
        }
    }

    /// Handles a final transcript. They are reported in the order of speech, so that speech without one is always the latest.
    fn settle(&mut self, segment: u32, text: String) -> Vec<Step> {
        if let Some(at) = self.early.iter().position(|early| *early == segment) {
            self.early.remove(at);
            // An STT that took over after this text does not know it, and must not replace it.
            if text.is_empty() {
                return Vec::new();
            }
            self.next_segment += 1;
            return vec![self.say(self.next_segment - 1, &text)];
        }
        if segment >= self.next_segment {
            return self.settle_early(segment, &text);
        }
        let Some(open) = self.open.iter_mut().find(|open| open.segment == segment) else {
            return vec![self.say(segment, &text)]; // It replaces an earlier final.
        };
        open.words = Some(text);
        let mut steps = Vec::new();
        while let Some(Open { segment, words: Some(words), .. }) = self.open.pop_front_if(|first| first.words.is_some())
        {
            self.replay.settled(segment);
            steps.push(self.say(segment, &words));
        }
        steps
    }

    /// Handles a transcript that comes before the end of its segment: it covers everything until now.
    fn settle_early(&mut self, segment: u32, text: &str) -> Vec<Step> {
        self.open.clear();
        self.next_segment = segment + 1;
        self.replay.settled(segment);
        vec![self.say(segment, text)]
    }

    fn say(&mut self, segment: u32, text: &str) -> Step {
        let text = join(&std::mem::take(&mut self.stands), text);
        Step::Report(SttEvent::Final { segment, text })
    }

    /// Records the error. A refusal after another STT took over is a failure, not a wrong setting.
    fn lost(&mut self, code: ErrorCode, words: String) {
        let code = if self.taken_over && code == ErrorCode::ConfigError { ErrorCode::PipelineError } else { code };
        self.lost = Some((code, words));
    }

    fn open_next(&mut self) -> Option<Step> {
        if self.next < self.count {
            self.opening = true;
            self.next += 1;
            return Some(Step::Open { position: self.next - 1 });
        }
        let (code, message) = self.lost.take().filter(|_| !self.running)?;
        Some(Step::Report(SttEvent::Failed { code, message }))
    }

    /// Handles that the STT is open.
    pub(super) fn opened(&mut self, now: Instant) -> Vec<Step> {
        self.opening = false;
        if self.running && self.late_at().is_none_or(|late| late > now) {
            self.next -= 1;
            return vec![Step::Discard];
        }
        (self.running, self.taken_over) = (true, self.begun);
        self.begun = true;
        if !self.replay.is_whole() {
            self.stands = join(&self.stands, &self.partial);
        }
        self.partial.clear();
        self.sign = None;
        for open in &mut self.open {
            (open.since, open.words) = (now, None);
        }
        let first = self.open.front().map_or(self.next_segment, |open| open.segment);
        let input = std::iter::once(SttInput::StartAt(first)).chain(self.replay());
        std::iter::once(Step::Adopt).chain(input.map(Step::Pass)).collect()
    }

    /// Handles that the STT could not be opened.
    pub(super) fn not_opened(&mut self, error: &ProviderError) -> Vec<Step> {
        self.opening = false;
        let code = match error.code() {
            ErrorCode::ConfigError if self.begun => ErrorCode::PipelineError,
            code => code,
        };
        self.lost(code, error.to_string());
        self.open_next().into_iter().collect()
    }

    /// Returns the input without a final transcript; without speech, only its audio.
    fn replay(&self) -> Vec<SttInput> {
        let replayed = self.replay.replay();
        if !self.speaking && self.open.is_empty() {
            return replayed.into_iter().filter(|input| matches!(input, SttInput::Audio(_))).collect();
        }
        let first_mark = replayed.iter().find(|input| !matches!(input, SttInput::Audio(_)));
        let start = (!matches!(first_mark, Some(SttInput::SpeechStarted))).then_some(SttInput::SpeechStarted);
        start.into_iter().chain(replayed).collect()
    }

    /// Returns when the oldest speech without a transcript is overdue.
    fn late_at(&self) -> Option<Instant> {
        let open = self.open.front()?;
        Some(self.sign.map_or(open.since, |sign| sign.max(open.since)) + TRANSCRIPT_TIMEOUT)
    }

    /// Returns when to call [`SttFailover::tick`].
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.late_at().filter(|_| self.running && !self.opening && self.next < self.count)
    }

    /// Handles a deadline that has passed.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Step> {
        let due = self.next_deadline().is_some_and(|deadline| deadline <= now);
        if due { self.open_next().into_iter().collect() } else { Vec::new() }
    }
}

fn join(before: &str, after: &str) -> String {
    let space = if before.is_empty() || after.is_empty() { "" } else { " " };
    [before, space, after].concat()
}

#[cfg(test)]
mod tests;
