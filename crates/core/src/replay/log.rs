//! Logs of a conversation's inputs, as lines of JSON.
//!
//! The first line is the [`Header`]. Every other line is `[µs, input]`, with the time since the previous line; the last one is `[µs]`, the end. Most
//! inputs report a played frame of 20 ms. Those are written as strings with one character per frame, which gives the time since the previous frame.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::agent::AgentConfig;
use crate::conversation::{Conversation, Input};

/// The duration of a frame.
const FRAME: Duration = Duration::from_millis(20);
/// Times between frames that have a character.
const STEPS: [(i64, char); 3] = [(20_000, '.'), (19_000, ','), (21_000, ';')];
/// The maximum size of a log: some ten hours.
const MAX_BYTES: usize = 2 << 20;

/// The turn strategy of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStrategy {
    /// STT and LLM.
    Cascade,
    /// A speech-to-speech model.
    Realtime,
}

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the program that held the conversation.
    pub program: String,
    /// The turn strategy.
    pub strategy: TurnStrategy,
    /// Whether private data was replaced, so that a rerun may decide differently.
    pub redacted: bool,
    /// The agent's configuration, without the parts that do not affect a conversation.
    pub agent: AgentConfig,
}

impl Header {
    /// Creates the header for a conversation with this agent.
    #[must_use]
    pub fn new(program: &str, strategy: TurnStrategy, agent: &AgentConfig) -> Self {
        let mut agent = AgentConfig { instructions: "…".to_owned(), ..agent.clone() };
        for tool in &mut agent.tools {
            (tool.description, tool.parameters, tool.url) = (None, None, None);
            tool.headers.clear();
        }
        agent.variables.clear();
        Self { program: program.to_owned(), strategy, redacted: false, agent }
    }
}

/// The inputs of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLog {
    /// The circumstances of the conversation.
    pub header: Header,
    /// Each input with its time, counted from the start of the conversation.
    pub inputs: Vec<(Timestamp, Input)>,
    /// When the conversation was over; `None` if the log became too long.
    pub ended: Option<Timestamp>,
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The log is empty.
    #[error("the log is empty")]
    Empty,
    /// A line is not in the format of this version of the program.
    #[error("line {line}: {error}")]
    Line {
        /// The line number, from 1.
        line: usize,
        /// The parse error.
        error: serde_json::Error,
    },
    /// A frame that does not follow another one.
    #[error("line {0}: a frame of no utterance, or an unknown step")]
    Frame(usize),
    /// More frames than the writer puts into a log.
    #[error("line {0}: more frames than a log holds")]
    TooLong(usize),
}

/// The utterance being played, and how much of it was played.
type Playing = Option<(u32, Duration)>;

fn playing_after(input: &Input, before: Playing) -> Playing {
    match input {
        Input::PlaybackProgress { utterance, audio } => Some((*utterance, *audio)),
        _ => before,
    }
}

/// Writes a log during the conversation.
#[derive(Default)]
pub struct InputLogWriter {
    lines: String,
    last: i64,
    playing: Playing,
    in_frames: bool,
    full: bool,
}

/// Hides the texts.
impl fmt::Debug for InputLogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputLogWriter({} bytes)", self.lines.len())
    }
}

impl InputLogWriter {
    /// Adds an input.
    pub fn record(&mut self, now: Timestamp, input: &Input) {
        if self.full {
            return;
        }
        let step = now.as_micros() - self.last;
        match self.frame_step(step, input) {
            Some(character) => self.push_frame(character),
            None => self.push_line(&(step, input)),
        }
        self.playing = playing_after(input, self.playing);
        self.last = now.as_micros();
        self.full = self.lines.len() > MAX_BYTES;
    }

    fn frame_step(&self, step: i64, input: &Input) -> Option<char> {
        let Input::PlaybackProgress { utterance, audio } = input else { return None };
        let follows = self.playing == Some((*utterance, audio.checked_sub(FRAME)?));
        STEPS.iter().find(|(micros, _)| follows && *micros == step).map(|(_, character)| *character)
    }

    fn push_frame(&mut self, character: char) {
        if !self.in_frames {
            self.lines.push('"');
            self.in_frames = true;
        }
        self.lines.push(character);
    }

    fn push_line(&mut self, line: &impl Serialize) {
        self.end_frames();
        let line = serde_json::to_string(line).expect("an input has string keys only");
        self.lines.push_str(&line);
        self.lines.push('\n');
    }

    fn end_frames(&mut self) {
        if std::mem::take(&mut self.in_frames) {
            self.lines.push_str("\"\n");
        }
    }

    /// Returns the log of a conversation that was over at `ended`.
    #[must_use]
    pub fn finish(self, header: &Header, ended: Timestamp) -> String {
        self.finish_at(header, Some(ended))
    }

    /// Returns the log; one that was cut before has no end.
    pub(super) fn finish_at(mut self, header: &Header, ended: Option<Timestamp>) -> String {
        match ended.filter(|_| !self.full) {
            Some(ended) => self.push_line(&[ended.as_micros() - self.last]),
            None => self.end_frames(),
        }
        let header = serde_json::to_string(header).expect("a header has string keys only");
        format!("{header}\n{}", self.lines)
    }
}

/// A line after the first.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Frames(String),
    End([i64; 1]),
    Input(i64, Input),
}

impl InputLog {
    /// Parses a log.
    ///
    /// # Errors
    /// Fails if it is not in this version's format.
    pub fn parse(text: &str) -> Result<Self, LogError> {
        let mut lines = (1..).zip(text.lines());
        let at = |line: usize| move |error| LogError::Line { line, error };
        let (_, first) = lines.next().ok_or(LogError::Empty)?;
        let mut log = Self { header: serde_json::from_str(first).map_err(at(1))?, inputs: Vec::new(), ended: None };
        let (mut now, mut playing) = (Timestamp::from_micros(0), None);
        for (number, line) in lines {
            match serde_json::from_str(line).map_err(at(number))? {
                Line::Frames(frames) => {
                    // A frame is a byte here and a hundred in memory.
                    if log.inputs.len() + frames.len() > MAX_BYTES {
                        return Err(LogError::TooLong(number));
                    }
                    for character in frames.chars() {
                        let (step, input) = next_frame(character, playing).ok_or(LogError::Frame(number))?;
                        now = now + step;
                        playing = playing_after(&input, playing);
                        log.inputs.push((now, input));
                    }
                }
                Line::Input(step, input) => {
                    now = now + micros(step);
                    playing = playing_after(&input, playing);
                    log.inputs.push((now, input));
                }
                Line::End([step]) => log.ended = Some(now + micros(step)),
            }
        }
        Ok(log)
    }

    /// Returns when the log ends.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.ended.or(self.inputs.last().map(|(at, _)| *at)).unwrap_or(Timestamp::from_micros(0))
    }

    /// Returns a new conversation, before any input.
    pub(super) fn conversation(&self, agent: &AgentConfig) -> Conversation {
        let began = Timestamp::from_micros(0);
        match self.header.strategy {
            TurnStrategy::Cascade => Conversation::cascade(agent, began),
            TurnStrategy::Realtime => Conversation::realtime(agent, began),
        }
    }
}

fn next_frame(character: char, playing: Playing) -> Option<(Duration, Input)> {
    let (step, _) = STEPS.iter().find(|(_, known)| *known == character)?;
    let (utterance, audio) = playing?;
    Some((micros(*step), Input::PlaybackProgress { utterance, audio: audio + FRAME }))
}

fn micros(step: i64) -> Duration {
    Duration::from_micros(u64::try_from(step).unwrap_or(0))
}
