//! The agent's own voice, as a line returns it.
//!
//! Some lines send back what they are sent: weaker, and a while later. The level of an echo follows the agent's, by a loss that stays the same
//! for the whole call and by a delay that changes whenever a buffer on the way runs empty. Both are learned from the levels in either
//! direction. A frame is an echo if it is not louder than an echo of any delay, unless the caller was louder than that a moment ago:
//! then only the learned delay excuses it. Nothing is subtracted: whoever speaks over the agent is louder than its echo.

use std::time::Duration;

use crate::level::SILENCE_DBFS;

/// How long a frame is, in milliseconds.
const FRAME_MS: u128 = 20;
/// The longest delay of an echo, in frames. A carrier that plays late returns late.
const MAX_DELAY: usize = 60;
/// How many frames of the agent are remembered: it may be sent ahead of time.
const REMEMBERED: usize = 128;
/// The agent is heard above this level.
const AUDIBLE_DBFS: f32 = -45.0;
/// Levels below this are all the same silence.
const FLOOR_DBFS: f32 = -70.0;
/// Frames of the agent after which an echo is known, or known not to be.
const ENOUGH: f32 = 25.0;
/// How much of the past is left after a frame: half of it is gone after 7 s of the agent's speech.
const KEPT: f32 = 0.998;
/// How closely the levels of an echo follow those of the agent, as a correlation.
const FOLLOWS: f32 = 0.8;
/// Frames of the agent after which an echo is certain: from then on the line returns it for the rest of the call. Before, a caller who
/// pauses with the agent may look like one.
const CERTAIN: f32 = 150.0;
/// The least loss of an echo. What comes back louder is another caller.
const MIN_LOSS_DB: f32 = 6.0;
/// An echo may be so much louder than predicted, since frames of the two directions do not begin at the same time.
const MARGIN_DB: f32 = 6.0;
/// Before anything is known: the least loss on a line, with the margin.
const PRESUMED_LOSS_DB: f32 = 15.0;
/// How many frames a caller who was louder than any echo is taken to go on speaking.
const SPEAKS_FOR: u128 = 25;

/// Sums over pairs of levels: the agent's, and the caller's some frames later.
#[derive(Clone, Copy, Default)]
struct Pairs {
    count: f32,
    agent: f32,
    caller: f32,
    agent_squared: f32,
    caller_squared: f32,
    product: f32,
}

impl Pairs {
    fn add(&mut self, agent: f32, caller: f32) {
        for sum in [
            &mut self.count,
            &mut self.agent,
            &mut self.caller,
            &mut self.agent_squared,
            &mut self.caller_squared,
            &mut self.product,
        ] {
            *sum *= KEPT;
        }
        self.count += 1.0;
        self.agent += agent;
        self.caller += caller;
        self.agent_squared += agent * agent;
        self.caller_squared += caller * caller;
        self.product += agent * caller;
    }

    /// How closely the levels follow each other, from -1 to 1; 0 if one of them does not change.
    fn correlation(&self) -> f32 {
        let (agent, caller) = (self.agent / self.count, self.caller / self.count);
        let variances =
            (self.agent_squared / self.count - agent * agent) * (self.caller_squared / self.count - caller * caller);
        if variances < 1.0 { 0.0 } else { (self.product / self.count - agent * caller) / variances.sqrt() }
    }

    /// By how much the caller's side is quieter, in decibels.
    fn loss(&self) -> f32 {
        (self.agent - self.caller) / self.count
    }
}

/// What is known of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    /// The agent has not spoken for long enough.
    Unknown,
    /// Nothing comes back.
    Clean,
    /// The agent's voice comes back.
    Returns { delay: usize, loss: f32 },
}

/// Tells a caller from the agent's echo, on one line.
pub struct EchoGuard {
    /// Levels of the agent, each with the number of its frame.
    agent: Vec<(u128, f32)>,
    pairs: [Pairs; MAX_DELAY],
    line: Line,
    /// The number of the last frame that was louder than any echo.
    louder: Option<u128>,
}

impl Default for EchoGuard {
    fn default() -> Self {
        Self {
            agent: vec![(0, SILENCE_DBFS); REMEMBERED],
            pairs: [Pairs::default(); MAX_DELAY],
            line: Line::Unknown,
            louder: None,
        }
    }
}

impl EchoGuard {
    /// A frame of the agent is played at this time, so loud in dBFS. It may be in the future.
    pub fn sent(&mut self, at: Duration, level: f32) {
        let number = at.as_millis() / FRAME_MS;
        if let Some(place) = self.agent.get_mut(place(number)) {
            *place = if place.0 == number { (number, place.1.max(level)) } else { (number, level) };
        }
    }

    /// A frame of the caller has come at this time, so loud in dBFS. Returns whether it is no more than the agent's echo.
    pub fn is_echo(&mut self, at: Duration, level: f32) -> bool {
        let number = at.as_millis() / FRAME_MS;
        let level = level.max(FLOOR_DBFS);
        self.learn(number, level);
        match self.line {
            Line::Clean => false,
            Line::Unknown => self.loudest(number, 0, MAX_DELAY).is_some_and(|agent| level <= agent - PRESUMED_LOSS_DB),
            Line::Returns { delay, loss } => self.is_returned(number, level, delay, loss),
        }
    }

    fn is_returned(&mut self, number: u128, level: f32, delay: usize, loss: f32) -> bool {
        let within = |agent: f32| level <= (agent - loss + MARGIN_DB).max(FLOOR_DBFS);
        if !self.loudest(number, 0, MAX_DELAY).is_some_and(within) {
            self.louder = Some(number);
            return false;
        }
        let speaks = self.louder.is_some_and(|louder| number.saturating_sub(louder) < SPEAKS_FOR);
        !speaks || self.loudest(number, delay.saturating_sub(1), delay + 1).is_some_and(within)
    }

    fn learn(&mut self, number: u128, level: f32) {
        let mut heard = false;
        for delay in 0..MAX_DELAY {
            if let Some(agent) = self.agent_at(number, delay) {
                heard = true;
                self.pairs[delay].add(agent, level);
            }
        }
        if heard {
            self.line = self.judged();
        }
    }

    fn judged(&self) -> Line {
        // An echo of the longest delay is known last.
        if self.pairs[MAX_DELAY - 1].count < ENOUGH {
            return Line::Unknown;
        }
        let closest =
            self.pairs.iter().enumerate().max_by(|(_, a), (_, b)| a.correlation().total_cmp(&b.correlation()));
        match closest {
            Some((delay, pairs)) if pairs.correlation() >= FOLLOWS && pairs.loss() >= MIN_LOSS_DB => {
                Line::Returns { delay, loss: pairs.loss() }
            }
            Some((_, pairs)) if pairs.count >= CERTAIN && matches!(self.line, Line::Returns { .. }) => self.line,
            _ => Line::Clean,
        }
    }

    /// How loud the agent was so many frames before; nothing if it was not heard.
    fn agent_at(&self, number: u128, delay: usize) -> Option<f32> {
        let wanted = number.checked_sub(u128::try_from(delay).ok()?)?;
        let (played, level) = self.agent[place(wanted)];
        (played == wanted && level > AUDIBLE_DBFS).then_some(level)
    }

    /// How loud the agent was at most, between two delays.
    fn loudest(&self, number: u128, from: usize, to: usize) -> Option<f32> {
        (from..=to).filter_map(|delay| self.agent_at(number, delay)).reduce(f32::max)
    }
}

fn place(number: u128) -> usize {
    usize::try_from(number % u128::try_from(REMEMBERED).unwrap_or(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels as a voice has them: syllables of 200 ms, words, pauses.
    fn voice(frame: u32, seed: u32) -> f32 {
        let hash = (frame / 5).wrapping_add(seed).wrapping_mul(2_654_435_761) >> 20;
        if frame % 70 > 60 { SILENCE_DBFS } else { -16.0 - f32::from(u16::try_from(hash % 18).unwrap_or(0)) }
    }

    fn at(frame: u32) -> Duration {
        Duration::from_millis(20) * frame
    }

    /// Of the frames of an agent who speaks for ten seconds: which are taken for its echo.
    fn echoes(came_back: impl Fn(u32) -> f32) -> Vec<bool> {
        let mut guard = EchoGuard::default();
        (0..500)
            .map(|frame| {
                guard.sent(at(frame), voice(frame, 1));
                guard.is_echo(at(frame), came_back(frame))
            })
            .collect()
    }

    fn share(of: &[bool]) -> f32 {
        f32::from(u16::try_from(of.iter().filter(|echo| **echo).count()).unwrap_or(u16::MAX))
            / f32::from(u16::try_from(of.len()).unwrap_or(u16::MAX))
    }

    #[test]
    fn what_comes_back_weaker_and_later_is_an_echo_from_the_first_frame_on() {
        for (delay, loss) in [(0, 20.0), (10, 20.0), (10, 35.0), (25, 25.0), (55, 20.0)] {
            let echo = |frame: u32| frame.checked_sub(delay).map_or(SILENCE_DBFS, |past| voice(past, 1) - loss);
            let taken = echoes(echo);
            let missed = |frames: std::ops::Range<u32>| {
                frames.filter(|frame| echo(*frame) > -60.0 && !taken[*frame as usize]).count()
            };
            assert_eq!(missed(0..500), 0, "{delay} frames, {loss} dB");
        }
    }

    #[test]
    fn an_echo_stays_one_when_its_delay_changes() {
        for later in [3, 8, 14] {
            let delay = |frame: u32| if frame < 250 { 10 } else { 10 + later };
            let echo = |frame: u32| frame.checked_sub(delay(frame)).map_or(SILENCE_DBFS, |past| voice(past, 1) - 20.0);
            let taken = echoes(echo);
            let missed: Vec<_> = (0..500).filter(|frame| echo(*frame) > -60.0 && !taken[*frame as usize]).collect();
            assert!(missed.is_empty(), "{later} frames later: {missed:?}");
        }
    }

    #[test]
    fn a_caller_who_speaks_over_the_agent_is_none_with_an_echo_or_without() {
        let echo = |frame: u32| frame.checked_sub(10).map_or(SILENCE_DBFS, |past| voice(past, 1) - 20.0);
        let caller = |frame: u32| if frame >= 300 { voice(frame, 77) } else { SILENCE_DBFS };
        let with_echo = echoes(|frame| echo(frame).max(caller(frame)));
        let spoken: Vec<bool> =
            (300..350).filter(|frame| caller(*frame) > -40.0).map(|frame| with_echo[frame as usize]).collect();
        assert!(share(&spoken) < 0.1, "{spoken:?}");
        let clean = echoes(|frame| caller(frame).max(-65.0));
        assert_eq!(share(&clean[300..]), 0.0, "a clean line hides nobody");
    }

    #[test]
    fn a_quiet_caller_is_heard_while_the_agent_is_silent() {
        let mut guard = EchoGuard::default();
        assert!((0..100).all(|frame| !guard.is_echo(at(frame), -50.0)));
    }

    #[test]
    fn a_caller_who_speaks_all_the_time_is_no_echo() {
        let taken = echoes(|frame| voice(frame, 99) - 8.0);
        assert!(share(&taken[50..]) < 0.05, "{}", share(&taken[50..]));
    }
}
