//! Echo detection: the agent's own voice as it returns on the line.
//!
//! Some lines send back what they receive: weaker, and with a delay. The level of an echo follows the agent's, with a loss that stays the same for
//! the whole call and a delay that changes whenever a buffer on the way runs empty. Both are measured in each second of the agent's speech, and
//! accepted when two seconds agree on the loss. A frame is an echo if it is not louder than an echo of any delay, unless the caller was louder than
//! that a moment ago: then it must match the measured delay. Nothing is subtracted: a caller who speaks over the agent is louder than its echo.
//!
//! Frames of the caller are counted rather than timed: networks and busy nodes delay some and then deliver several at once, so the time between a
//! frame and its echo would seem to change constantly.

use std::time::Duration;

use crate::level::SILENCE_DBFS;

/// The duration of a frame, in milliseconds.
const FRAME_MS: u128 = 20;
/// The longest delay of an echo, in frames. A carrier that plays late also returns late.
const MAX_DELAY: usize = 40;
/// How many frames of the agent are kept: they may be sent ahead of time, and frames of the caller may come late.
const REMEMBERED: usize = 128;
/// Frames of the caller that come later than this, in frames, were not delayed: the line was silent.
const MAX_LAG: u128 = 50;
/// The maximum number of frames by which the count of the caller's frames may be ahead of the time.
const MAX_LEAD: u128 = 10;
/// If this many frames in a row come late, earlier frames are assumed to be lost.
const LAG_WINDOW: u32 = 50;
/// The level above which a side is audible.
const AUDIBLE_DBFS: f32 = -45.0;
/// Levels below this count as the same silence.
const FLOOR_DBFS: f32 = -70.0;
/// The level below which the caller's side is quiet: nothing comes back that could be taken for a voice.
const QUIET_DBFS: f32 = -60.0;
/// Frames in a measurement.
const MEASURED: u32 = 50;
/// The minimum frames of the agent for a delay in a measurement.
const ENOUGH: f32 = 25.0;
/// The minimum variance of the agent's level, in dB², from which a missing match means that there is no echo.
const VARIED: f32 = 4.0;
/// The minimum correlation of the levels of an echo with those of the agent.
const FOLLOWS: f32 = 0.8;
/// The maximum difference between two measurements of the same loss.
const SAME_LOSS_DB: f32 = 4.0;
/// How many measurements in a row change the known state: unrelated ones after an echo, or quiet ones while an echo was known.
const UNRELATED: u32 = 2;
const GONE: u32 = 3;
/// The minimum loss of an echo. Louder audio is the caller.
const MIN_LOSS_DB: f32 = 6.0;
/// How much louder than predicted an echo may be, since frames of the two directions are not aligned.
const MARGIN_DB: f32 = 6.0;
/// Before anything is measured: the minimum loss of a line, including the margin, and the longest delay, in frames.
const PRESUMED_LOSS_DB: f32 = 15.0;
const PRESUMED_DELAY: u128 = 25;
/// For how many frames a caller who was louder than any echo is assumed to continue speaking.
const SPEAKS_FOR: u128 = 25;

/// Sums over pairs of levels: the agent's, and the caller's a fixed number of frames later.
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
        self.count += 1.0;
        self.agent += agent;
        self.caller += caller;
        self.agent_squared += agent * agent;
        self.caller_squared += caller * caller;
        self.product += agent * caller;
    }

    /// Returns the correlation of the levels, from -1 to 1; 0 if one of them does not change or there are too few.
    fn correlation(&self) -> f32 {
        if self.count < ENOUGH {
            return 0.0;
        }
        let (agent, caller) = (self.agent / self.count, self.caller / self.count);
        let variances = self.agent_variance() * (self.caller_squared / self.count - caller * caller);
        if variances < 1.0 { 0.0 } else { (self.product / self.count - agent * caller) / variances.sqrt() }
    }

    fn agent_variance(&self) -> f32 {
        let mean = self.agent / self.count.max(1.0);
        self.agent_squared / self.count.max(1.0) - mean * mean
    }

    /// Returns whether an echo would be detectable.
    fn are_telling(&self) -> bool {
        self.count >= ENOUGH && self.agent_variance() >= VARIED
    }

    /// Returns how much quieter the caller's side is, in decibels.
    fn loss(&self) -> f32 {
        (self.agent - self.caller) / self.count
    }
}

/// The result of a measurement over one second of the agent's speech.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measured {
    /// The caller's side is quiet.
    Quiet,
    /// The caller's side has other audio, or the delay changed.
    Unrelated,
    /// The agent spoke too little or too evenly.
    Unclear,
    /// The caller's side follows the agent.
    Echo { delay: usize, loss: f32 },
}

/// A second of the agent's speech.
#[derive(Clone)]
struct Measurement {
    /// The sums for each delay.
    pairs: [Pairs; MAX_DELAY],
    frames: u32,
    loudest: f32,
}

impl Default for Measurement {
    fn default() -> Self {
        Self { pairs: [Pairs::default(); MAX_DELAY], frames: 0, loudest: SILENCE_DBFS }
    }
}

impl Measurement {
    fn result(&self) -> Measured {
        if self.loudest < QUIET_DBFS {
            return Measured::Quiet;
        }
        let correlations = self.pairs.iter().map(Pairs::correlation).enumerate();
        let (delay, correlation) = correlations.max_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or_default();
        let loss = self.pairs[delay].loss();
        if correlation >= FOLLOWS && loss >= MIN_LOSS_DB {
            Measured::Echo { delay, loss }
        } else if self.pairs.iter().all(Pairs::are_telling) {
            Measured::Unrelated
        } else {
            Measured::Unclear
        }
    }
}

/// The known state of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    /// The agent has not spoken for long enough, or the measurements do not agree.
    Unknown,
    /// The line has no echo.
    Clean,
    /// The line returns the agent's voice.
    Returns { delay: usize, loss: f32 },
}

/// Numbers the caller's frames in the order in which they were spoken. Time and numbers are in frames.
#[derive(Default)]
struct FrameCounter {
    /// The number of the next frame; `None` before the first.
    next: Option<u128>,
    /// The smallest delay of a frame in the current window, and the number of frames in the window.
    least_lag: u128,
    frames: u32,
}

impl FrameCounter {
    /// Returns the number of a frame that arrives now, at most [`MAX_LAG`] before `now` and [`MAX_LEAD`] after, and by how many numbers the count was
    /// advanced for lost frames before it.
    fn number(&mut self, now: u128) -> (u128, u128) {
        let lost = if self.frames == LAG_WINDOW { self.least_lag } else { 0 };
        if self.frames == LAG_WINDOW {
            self.frames = 0;
        }
        let next = self.next.map_or(now, |next| next + lost);
        let number = if now > next + MAX_LAG { now } else { next.min(now + MAX_LEAD) };
        let lag = now.saturating_sub(number);
        self.least_lag = if self.frames == 0 { lag } else { self.least_lag.min(lag) };
        self.frames += 1;
        self.next = Some(number + 1);
        (number, lost)
    }
}

/// The speaker in a frame from the caller's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The caller, or silence.
    Caller,
    /// The agent, or a quieter caller: the agent has not spoken for long enough to measure the line.
    Either,
    /// The agent.
    Agent,
}

/// Distinguishes the caller from the agent's echo on one line.
pub struct EchoGuard {
    /// Levels of the agent, each with the number of its frame.
    agent: Vec<(u128, f32)>,
    line: Line,
    measurement: Measurement,
    /// The last clear measurement, and how many of its kind came in a row.
    last: (Measured, u32),
    caller: FrameCounter,
    /// The number of the last frame that was louder than any echo.
    louder: Option<u128>,
}

impl Default for EchoGuard {
    fn default() -> Self {
        Self {
            agent: vec![(0, SILENCE_DBFS); REMEMBERED],
            line: Line::Unknown,
            measurement: Measurement::default(),
            last: (Measured::Unrelated, 0),
            caller: FrameCounter::default(),
            louder: None,
        }
    }
}

impl EchoGuard {
    /// Records that a frame of the agent with this level in dBFS is played at `at`, which may be in the future.
    pub fn sent(&mut self, at: Duration, level: f32) {
        let number = at.as_millis() / FRAME_MS;
        if let Some(place) = self.agent.get_mut(place(number)) {
            *place = if place.0 == number { (number, place.1.max(level)) } else { (number, level) };
        }
    }

    /// Classifies a frame of the caller's side that arrives at `at` with this level in dBFS. Returns who is heard in it.
    pub fn heard(&mut self, at: Duration, level: f32) -> Heard {
        let now = at.as_millis() / FRAME_MS;
        let (number, lost) = self.caller.number(now);
        if lost > 0 {
            self.measurement = Measurement::default();
        }
        let level = level.max(FLOOR_DBFS);
        self.measure(number, level);
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
                    if level > AUDIBLE_DBFS {
                        self.louder = Some(number);
                    }
                    return Heard::Caller;
                }
                let speaks = self.louder.is_some_and(|louder| number.saturating_sub(louder) < SPEAKS_FOR);
                let expected = number.saturating_sub(delay as u128);
                let is_agent = !speaks || self.loudest(expected.saturating_sub(1), expected + 1).is_some_and(within);
                if is_agent { Heard::Agent } else { Heard::Caller }
            }
        }
    }

    fn measure(&mut self, number: u128, level: f32) {
        let mut is_heard = false;
        for delay in 0..MAX_DELAY {
            if let Some(agent) = number.checked_sub(delay as u128).and_then(|played| self.agent_at(played)) {
                is_heard = true;
                self.measurement.pairs[delay].add(agent, level);
            }
        }
        if !is_heard {
            return;
        }
        self.measurement.loudest = self.measurement.loudest.max(level);
        self.measurement.frames += 1;
        if self.measurement.frames == MEASURED {
            let measured = std::mem::take(&mut self.measurement).result();
            self.conclude(measured);
        }
    }

    fn conclude(&mut self, measured: Measured) {
        if measured == Measured::Unclear {
            return;
        }
        let (last, times) = self.last;
        let again = match (last, measured) {
            (Measured::Echo { loss: last, .. }, Measured::Echo { loss, .. }) => (last - loss).abs() <= SAME_LOSS_DB,
            _ => last == measured,
        };
        let times = if again { times + 1 } else { 1 };
        self.last = (measured, times);
        let is_known = matches!(self.line, Line::Returns { .. });
        self.line = match measured {
            Measured::Echo { delay, loss } if again => Line::Returns { delay, loss },
            Measured::Echo { .. } if !is_known => Line::Unknown,
            Measured::Unrelated if !is_known && times >= UNRELATED => Line::Clean,
            Measured::Quiet if !is_known || times >= GONE => Line::Clean,
            Measured::Echo { .. } | Measured::Unrelated | Measured::Quiet | Measured::Unclear => self.line,
        };
    }

    /// Returns the agent's level in this frame; `None` if it was not audible.
    fn agent_at(&self, number: u128) -> Option<f32> {
        let (played, level) = self.agent[place(number)];
        (played == number && level > AUDIBLE_DBFS).then_some(level)
    }

    /// Returns the agent's maximum level from one frame to another.
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

    /// Returns levels like those of a voice: syllables of 200 ms, words, pauses.
    fn voice(frame: u32, seed: u32) -> f32 {
        let hash = seed.wrapping_mul(0x85eb_ca6b) ^ (frame / 5).wrapping_mul(0x9e37_79b1);
        let hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
        let hash = (hash ^ (hash >> 12)).wrapping_mul(0x297a_2d39) >> 16;
        if frame % 70 > 60 { SILENCE_DBFS } else { -16.0 - f32::from(u16::try_from(hash % 18).unwrap_or(0)) }
    }

    fn at(frame: u32) -> Duration {
        Duration::from_millis(20) * frame
    }

    /// Returns which frames of an agent who speaks for ten seconds are classified as its echo.
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
            let missed = missed(0, |frame| voice(frame, 1), |frame| if frame < 250 { 10 } else { 10 + later });
            assert!(missed.is_empty(), "{later} frames later: {missed:?}");
        }
    }

    #[test]
    fn a_caller_who_speaks_over_the_agent_is_none_with_an_echo_or_without() {
        let echo = |frame: u32| frame.checked_sub(10).map_or(SILENCE_DBFS, |past| voice(past, 1) - 20.0);
        let caller = |frame: u32| if frame >= 300 { voice(frame, 77) } else { SILENCE_DBFS };
        let with_echo = echoes(|frame| echo(frame).max(caller(frame)));
        let spoken: Vec<bool> =
            (300..500).filter(|frame| caller(*frame) > -40.0).map(|frame| with_echo[frame as usize]).collect();
        assert!(share(&spoken) < 0.15, "{spoken:?}");
        let clean = echoes(|frame| caller(frame).max(-65.0));
        assert_eq!(share(&clean[300..]), 0.0, "a clean line hides no caller");
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
        let hidden = |seed: &u32| {
            let mut guard = EchoGuard::default();
            let heard = |frame: u32| {
                guard.sent(at(frame), voice(frame, 1));
                guard.heard(at(frame), voice(frame, *seed) - 8.0)
            };
            (0..500).map(heard).any(|heard| heard == Heard::Agent)
        };
        let seeds: Vec<u32> = (2..302).filter(hidden).collect();
        assert!(seeds.len() < 3, "of 300 callers, these are taken for an echo: {seeds:?}");
    }

    /// Returns which echoes are missed in ten seconds of an agent, returned 20 dB weaker after `delay` frames on a line whose first frame is `first`.
    fn missed(first: u32, spoken: impl Fn(u32) -> f32, delay: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut guard = EchoGuard::default();
        let is_missed = |frame: &u32| {
            guard.sent(at(*frame), spoken(*frame));
            let level = frame.checked_sub(delay(*frame)).map_or(SILENCE_DBFS, &spoken) - 20.0;
            *frame >= first && guard.heard(at(*frame), level) == Heard::Caller && level > -60.0
        };
        (0..500).filter(is_missed).collect()
    }

    #[test]
    fn an_echo_is_known_on_a_line_that_begins_late() {
        for first in [1, 10, 25, 40, 60, 200] {
            for delay in [0, 5, 10, 25] {
                let missed = missed(first, |frame| voice(frame, 1), |_| delay);
                assert!(missed.is_empty(), "from {first} on, {delay} frames: {missed:?}");
            }
        }
    }

    #[test]
    fn an_echo_stays_one_when_its_delay_changes_before_it_is_known() {
        for change in [20, 40, 60, 80, 100] {
            for later in [3, 8, 14] {
                let missed = missed(0, |frame| voice(frame, 1), |frame| if frame < change { 10 } else { 10 + later });
                assert!(missed.is_empty(), "{later} frames later at {change}: {missed:?}");
            }
        }
    }

    #[test]
    fn an_echo_stays_one_when_its_delay_changes_while_the_agent_is_silent() {
        let spoken = |frame: u32| if (250..310).contains(&frame) { SILENCE_DBFS } else { voice(frame, 1) };
        for sooner in [2, 5, 9] {
            let missed = missed(0, spoken, |frame| if frame < 290 { 10 } else { 10 - sooner });
            assert!(missed.is_empty(), "{sooner} frames sooner: {missed:?}");
        }
    }

    #[test]
    fn an_echo_is_not_missed_because_the_agent_speaks_evenly() {
        let even =
            |frame: u32| if frame % 50 < 2 { SILENCE_DBFS } else { -15.0 - f32::from(u8::from(frame % 50 == 2)) };
        let missed = missed(0, even, |_| 10);
        assert!(missed.is_empty(), "{missed:?}");
    }

    /// Simulates a node that processes frames of both sides late and then several at once, by up to `stall` frames. `came_back` gives the level of a
    /// frame of the caller, or `None` if it is lost. Returns the frames not classified as an echo.
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
        let burst: Vec<u128> = [0, 4, 4, 4, 4, 5].map(|now| counter.number(now).0).into();
        assert_eq!(burst, [0, 1, 2, 3, 4, 5]);
        let after_a_loss: Vec<u128> = (16..116).map(|now| counter.number(now).0).collect();
        assert_eq!((after_a_loss[0], after_a_loss[99]), (6, 115));
        assert_eq!(counter.number(1_000).0, 1_000, "the line was silent");
        let faster: Vec<u128> = (0..20).map(|_| counter.number(1_001).0).collect();
        assert_eq!(faster[19], 1_001 + MAX_LEAD);
    }
}
