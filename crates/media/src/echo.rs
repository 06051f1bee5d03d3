//! The agent's own voice, as a line returns it.
//!
//! Some lines send back what they are sent: weaker, and a while later. The level of an echo follows the agent's, by a loss that stays the same
//! for the whole call and by a delay that changes whenever a buffer on the way runs empty. Both are learned from the levels in either
//! direction. A frame is an echo if it is not louder than an echo of any delay, unless the caller was louder than that a moment ago:
//! then only the learned delay excuses it. Nothing is subtracted: whoever speaks over the agent is louder than its echo.
//!
//! Frames of the caller are counted rather than timed: networks and busy nodes delay some and then deliver several at once, and the time
//! between a sound and its echo would seem to change with every frame.

use std::time::Duration;

use crate::level::SILENCE_DBFS;

/// How long a frame is, in milliseconds.
const FRAME_MS: u128 = 20;
/// The longest delay of an echo, in frames. A carrier that plays late returns late.
const MAX_DELAY: usize = 40;
/// How many frames of the agent are remembered: it may be sent ahead of time, and frames of the caller may come late.
const REMEMBERED: usize = 128;
/// Frames of the caller that come later than this, in frames, were not delayed: the line was silent.
const MAX_LAG: u128 = 50;
/// By how many frames the count of the caller's frames may be ahead of the time.
const MAX_LEAD: u128 = 10;
/// After so many frames, all of which came late, frames before them are taken to be lost.
const LAG_WINDOW: u32 = 50;
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
/// Before anything is known: the least loss on a line, with the margin, and the longest delay, in frames.
const PRESUMED_LOSS_DB: f32 = 15.0;
const PRESUMED_DELAY: u128 = 25;
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

/// Numbers the caller's frames in the order in which they were spoken. Time and numbers are in frames.
#[derive(Default)]
struct FrameCounter {
    next: u128,
    /// How late the most punctual frame of the current window came, and how many frames the window has.
    least_lag: u128,
    frames: u32,
}

impl FrameCounter {
    /// The number of a frame that comes now: at most [`MAX_LAG`] before `now` and [`MAX_LEAD`] after.
    fn number(&mut self, now: u128) -> u128 {
        let number = if now > self.next + MAX_LAG { now } else { self.next.min(now + MAX_LEAD) };
        let lag = now.saturating_sub(number);
        self.least_lag = if self.frames == 0 { lag } else { self.least_lag.min(lag) };
        self.frames += 1;
        self.next = number + 1;
        if self.frames == LAG_WINDOW {
            self.next += self.least_lag;
            self.frames = 0;
        }
        number
    }
}

/// Who is heard in a frame that the line brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The caller, or nobody.
    Caller,
    /// The agent, or a caller who is quieter: too little of the agent was heard to know the line.
    Either,
    /// The agent.
    Agent,
}

/// Tells a caller from the agent's echo, on one line.
pub struct EchoGuard {
    /// Levels of the agent, each with the number of its frame.
    agent: Vec<(u128, f32)>,
    pairs: [Pairs; MAX_DELAY],
    line: Line,
    caller: FrameCounter,
    /// The number of the last frame that was louder than any echo.
    louder: Option<u128>,
}

impl Default for EchoGuard {
    fn default() -> Self {
        Self {
            agent: vec![(0, SILENCE_DBFS); REMEMBERED],
            pairs: [Pairs::default(); MAX_DELAY],
            line: Line::Unknown,
            caller: FrameCounter::default(),
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

    /// A frame of the caller comes at this time, so loud in dBFS. Returns who is heard in it.
    pub fn heard(&mut self, at: Duration, level: f32) -> Heard {
        let now = at.as_millis() / FRAME_MS;
        let number = self.caller.number(now);
        let level = level.max(FLOOR_DBFS);
        self.learn(number, level);
        let within = |least_loss: f32| move |agent: f32| level <= (agent - least_loss).max(FLOOR_DBFS);
        // After frames were lost, the count is behind the time for a while.
        let loudest = |longest: u128| self.loudest(number.saturating_sub(longest), number.max(now));
        match self.line {
            Line::Clean => Heard::Caller,
            Line::Unknown if loudest(PRESUMED_DELAY).is_some_and(within(PRESUMED_LOSS_DB)) => Heard::Either,
            Line::Unknown => Heard::Caller,
            Line::Returns { delay, loss } => {
                let within = within(loss - MARGIN_DB);
                if !loudest(MAX_DELAY as u128).is_some_and(within) {
                    self.louder = Some(number);
                    return Heard::Caller;
                }
                let speaks = self.louder.is_some_and(|louder| number.saturating_sub(louder) < SPEAKS_FOR);
                let expected = number.saturating_sub(delay as u128);
                let is_agent = !speaks || self.loudest(expected.saturating_sub(1), expected + 1).is_some_and(within);
                if is_agent { Heard::Agent } else { Heard::Caller }
            }
        }
    }

    fn learn(&mut self, number: u128, level: f32) {
        let mut heard = false;
        for delay in 0..MAX_DELAY {
            if let Some(agent) = number.checked_sub(delay as u128).and_then(|played| self.agent_at(played)) {
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

    /// How loud the agent was in this frame; nothing if it was not heard.
    fn agent_at(&self, number: u128) -> Option<f32> {
        let (played, level) = self.agent[place(number)];
        (played == number && level > AUDIBLE_DBFS).then_some(level)
    }

    /// How loud the agent was at most, from one frame to another.
    fn loudest(&self, from: u128, to: u128) -> Option<f32> {
        (from..=to).filter_map(|number| self.agent_at(number)).reduce(f32::max)
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
                guard.heard(at(frame), came_back(frame)) != Heard::Caller
            })
            .collect()
    }

    fn share(of: &[bool]) -> f32 {
        f32::from(u16::try_from(of.iter().filter(|echo| **echo).count()).unwrap_or(u16::MAX))
            / f32::from(u16::try_from(of.len()).unwrap_or(u16::MAX))
    }

    #[test]
    fn what_comes_back_weaker_and_later_is_an_echo_from_the_first_frame_on() {
        for (delay, loss) in [(0, 20.0), (10, 20.0), (10, 35.0), (25, 25.0), (35, 20.0)] {
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
    fn only_a_line_that_is_known_hides_anybody() {
        let mut guard = EchoGuard::default();
        let early: Vec<Heard> = (0..65)
            .map(|frame| {
                guard.sent(at(frame), voice(frame, 1));
                guard.heard(at(frame), -40.0)
            })
            .collect();
        assert!(early.contains(&Heard::Either) && !early.contains(&Heard::Agent), "{early:?}");
    }

    #[test]
    fn a_quiet_caller_is_heard_soon_after_a_short_greeting() {
        let mut guard = EchoGuard::default();
        for frame in 0..20 {
            guard.sent(at(frame), voice(frame, 1));
        }
        for frame in 0..45 {
            guard.heard(at(frame), SILENCE_DBFS);
        }
        assert!((45..90).all(|frame| guard.heard(at(frame), -40.0) == Heard::Caller));
    }

    #[test]
    fn a_quiet_caller_is_heard_while_the_agent_is_silent() {
        let mut guard = EchoGuard::default();
        assert!((0..100).all(|frame| guard.heard(at(frame), -50.0) == Heard::Caller));
    }

    #[test]
    fn a_caller_who_speaks_all_the_time_is_no_echo() {
        let taken = echoes(|frame| voice(frame, 99) - 8.0);
        assert!(share(&taken[..65]) < 0.4, "only quiet syllables before the line is known: {}", share(&taken[..65]));
        assert!(share(&taken[65..]) < 0.05, "{}", share(&taken[65..]));
    }

    /// What a guard hears whose node gets to the frames of both sides late and then to several at once: by up to `stall` frames.
    /// `came_back` gives the level of a frame of the caller, which is lost where there is none. Returns the frames not taken for an echo.
    fn missed_on_a_busy_node(stall: u32, came_back: impl Fn(u32) -> Option<f32>) -> Vec<u32> {
        let (mut guard, mut random, mut from, mut missed) = (EchoGuard::default(), 1_u32, 0, Vec::new());
        while from < 1_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let now = from + if (random >> 8).is_multiple_of(4) { (random >> 12) % stall } else { 0 };
            for frame in from..=now {
                guard.sent(at(frame), voice(frame, 1));
            }
            for (frame, level) in (from..=now).filter_map(|frame| Some((frame, came_back(frame)?))) {
                if guard.heard(at(now), level) == Heard::Caller && level > -60.0 {
                    missed.push(frame);
                }
            }
            from = now + 1;
        }
        missed
    }

    #[test]
    fn an_echo_stays_one_on_a_busy_node() {
        for stall in [3, 5, 10, 15, 40] {
            for delay in [0, 5, 10, 25] {
                let echo = |frame: u32| frame.checked_sub(delay).map_or(SILENCE_DBFS, |past| voice(past, 1) - 20.0);
                let missed = missed_on_a_busy_node(stall, |frame| Some(echo(frame)));
                assert!(missed.is_empty(), "{delay} frames, stalls of {stall}: {missed:?}");
            }
        }
    }

    #[test]
    fn an_echo_stays_one_where_frames_are_lost() {
        for lost in [1, 5, 20, 45, 100] {
            let echo = |frame: u32| frame.checked_sub(10).map_or(SILENCE_DBFS, |past| voice(past, 1) - 20.0);
            let is_lost = |frame: u32| (300..300 + lost).contains(&frame) || (700..700 + lost).contains(&frame);
            let missed = missed_on_a_busy_node(5, |frame| (!is_lost(frame)).then(|| echo(frame)));
            assert!(missed.is_empty(), "{lost} frames lost: {missed:?}");
        }
    }

    #[test]
    fn late_frames_are_counted_and_lost_ones_skipped() {
        let mut counter = FrameCounter::default();
        let burst: Vec<u128> = [0, 4, 4, 4, 4, 5].map(|now| counter.number(now)).into();
        assert_eq!(burst, [0, 1, 2, 3, 4, 5]);
        let after_a_loss: Vec<u128> = (16..116).map(|now| counter.number(now)).collect();
        assert_eq!((after_a_loss[0], after_a_loss[99]), (6, 115));
        assert_eq!(counter.number(1_000), 1_000, "the line was silent");
        let faster: Vec<u128> = (0..20).map(|_| counter.number(1_001)).collect();
        assert_eq!(faster[19], 1_001 + MAX_LEAD);
    }
}
