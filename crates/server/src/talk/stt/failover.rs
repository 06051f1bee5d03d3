//! Which STT hears the caller, and when another takes over. Nothing is done here.
//!
//! Tell what happens, take every [`Step`], and call [`SttFailover::tick`] at [`SttFailover::next_deadline`].

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_core::call::ErrorCode;
use switchhook_providers::replay_buffer::{ReplayBuffer, SttInput};
use switchhook_providers::{ProviderError, SttEvent};
use tokio::time::Instant;

/// Speech that has waited for its words for so long is given to the next STT.
pub(super) const LATE: Duration = Duration::from_secs(2);

/// What is to be done.
pub(super) enum Step {
    /// Tell the STT that runs.
    Pass(SttInput),
    /// Open the STT at this position.
    Open { position: usize },
    /// The one that was opened runs from now on; the one before is not wanted any more.
    Adopt,
    /// The one that was opened is not wanted.
    Discard,
    /// The one that runs has failed.
    LetGo,
    /// Tell the conversation.
    Tell(SttEvent),
}

/// The providers of one call.
pub(super) struct SttFailover {
    count: usize,
    /// The first one that was not used yet.
    next: usize,
    running: bool,
    opening: bool,
    /// Whether one has run.
    begun: bool,
    /// Whether the one that runs is not the one that the call began with.
    taken_over: bool,
    /// Why the last one that was lost is.
    lost: Option<(ErrorCode, String)>,
    /// What has no final words.
    replay: ReplayBuffer,
    speaking: bool,
    /// Segments without final words, in the order of speech.
    open: VecDeque<Open>,
    /// The first number that no segment has yet.
    next_segment: u32,
    /// Segments whose words were reported before they ended.
    early: Vec<u32>,
    /// Words that may still change.
    partial: String,
    /// Words of speech that is too long to be said again: the next ones come behind them.
    stands: String,
    /// When the one that runs was last heard of.
    sign: Option<Instant>,
}

struct Open {
    segment: u32,
    since: Instant,
    /// Its words, which wait for those of the segments before it.
    words: Option<String>,
}

impl SttFailover {
    /// Of so many providers, none runs yet.
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

    /// Whether the STT that runs is not the one that the call began with.
    pub(super) fn has_taken_over(&self) -> bool {
        self.taken_over
    }

    /// The call tells something.
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

    /// The end of a segment under the number that its words will have, and whether they are still to come: an STT that
    /// judges turns itself can be faster than we.
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

    /// Whether there is speech without final words.
    fn is_open(&self) -> bool {
        self.speaking || !self.open.is_empty() || !self.partial.is_empty()
    }

    /// The STT that runs says something.
    pub(super) fn handle_event(&mut self, event: SttEvent, now: Instant) -> Vec<Step> {
        self.sign = Some(now);
        match event {
            SttEvent::Partial { text } => {
                text.trim().clone_into(&mut self.partial);
                if !self.partial.is_empty() {
                    self.replay.words();
                }
                vec![Step::Tell(SttEvent::Partial { text: join(&self.stands, &self.partial) })]
            }
            SttEvent::Final { segment, text } => {
                self.replay.words();
                self.partial.clear();
                self.settle(segment, text)
            }
            SttEvent::TurnJudged => vec![Step::Tell(SttEvent::TurnJudged)],
            SttEvent::Failed { code, words } => {
                self.running = false;
                self.lost(code, words);
                let mut steps = vec![Step::LetGo];
                if !self.opening {
                    steps.extend(self.open_next());
                }
                steps
            }
        }
    }

    /// Final words have come. They are reported in the order of speech, so that what has none is always the last that was said.
    fn settle(&mut self, segment: u32, text: String) -> Vec<Step> {
        if let Some(at) = self.early.iter().position(|early| *early == segment) {
            self.early.remove(at);
            // Whoever took over after these words knows nothing of them, and is not to replace them.
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

    /// Words before the end of their segment: everything until now is reported.
    fn settle_early(&mut self, segment: u32, text: &str) -> Vec<Step> {
        self.open.clear();
        self.next_segment = segment + 1;
        self.replay.settled(segment);
        vec![self.say(segment, text)]
    }

    fn say(&mut self, segment: u32, text: &str) -> Step {
        let text = join(&std::mem::take(&mut self.stands), text);
        Step::Tell(SttEvent::Final { segment, text })
    }

    /// What is refused in mid-call is a failure and no wrong setting.
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
        let (code, words) = self.lost.take().filter(|_| !self.running)?;
        Some(Step::Tell(SttEvent::Failed { code, words }))
    }

    /// The STT that was to be opened is open.
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

    /// It cannot be opened.
    pub(super) fn not_opened(&mut self, error: &ProviderError) -> Vec<Step> {
        self.opening = false;
        let code = match error.code() {
            ErrorCode::ConfigError if self.begun => ErrorCode::PipelineError,
            code => code,
        };
        self.lost(code, error.to_string());
        self.open_next().into_iter().collect()
    }

    /// What has no final words, from a start on where there is speech.
    fn replay(&self) -> Vec<SttInput> {
        let replayed = self.replay.replay();
        if !self.speaking && self.open.is_empty() {
            return replayed.into_iter().filter(|input| matches!(input, SttInput::Audio(_))).collect();
        }
        let first_mark = replayed.iter().find(|input| !matches!(input, SttInput::Audio(_)));
        let start = (!matches!(first_mark, Some(SttInput::SpeechStarted))).then_some(SttInput::SpeechStarted);
        start.into_iter().chain(replayed).collect()
    }

    /// When the oldest speech without words has waited for too long.
    fn late_at(&self) -> Option<Instant> {
        let open = self.open.front()?;
        Some(self.sign.map_or(open.since, |sign| sign.max(open.since)) + LATE)
    }

    /// When [`SttFailover::tick`] has something to do.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.late_at().filter(|_| self.running && !self.opening && self.next < self.count)
    }

    /// Time has passed.
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
