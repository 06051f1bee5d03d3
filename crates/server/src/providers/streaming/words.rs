//! From what a provider tells to exactly one answer for every segment of the caller's speech.
//!
//! Providers cut speech as they like: in several final texts, in turns of several segments, or with an end before we noticed
//! one. A segment is answered when the provider says that everything before its end is told, when it judges the turn to
//! be over, or with what there is when neither comes in time. What comes later is told once as well: words that were told before
//! they were final are known again, corrected or not, and partials of a segment that is answered wait for their end.

mod alike;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use self::alike::{Beginning, Kind};
use super::protocol::{Heard, Style};
use crate::providers::SttEvent;

/// Words that come this soon after a segment was answered without them belong to it.
const LATE: Duration = Duration::from_secs(3);
/// The same for the answer to a finalize that may well have none.
const LATE_WITHOUT_WORDS: Duration = Duration::from_secs(1);
/// No segment has more characters: that is more than ten minutes of speech.
const LONGEST: usize = 10_000;
/// Where the provider heard the end of speech before we did, more words are awaited only so long.
const AFTER_END: Duration = Duration::from_millis(500);
/// Voice that some word would come of, in frames; the 200 ms in which its end was noticed are part of it.
const VOICE: u32 = 25;
/// The same where noise is not answered.
const LONG_VOICE: u32 = 60;

/// The words of one call.
pub(super) struct Words {
    style: Style,
    /// Final, and not told for a segment.
    settled: String,
    /// What the provider may still change.
    partial: String,
    /// The partial as the provider told it.
    unsettled: String,
    /// The beginning of the next text as it was told already, when time was up.
    told_early: String,
    /// Whether the last final words were all told already: an end that the provider tells with them is that of an earlier segment.
    stale: bool,
    /// Whether the provider has said that the speech that goes on is over, and nothing since.
    ended: bool,
    /// When partials that came while nothing was expected are told as they are.
    late: Option<Instant>,
    /// Whether words are to come again on a new connection.
    again: bool,
    speaking: bool,
    /// When the voice began, and for how many frames it has lasted.
    began: Option<Instant>,
    voiced: u32,
    /// Segments without an answer, oldest first.
    open: VecDeque<Open>,
    /// Until when the provider's answers may still come for segments that were answered without them.
    owed: VecDeque<(Instant, u32)>,
    /// The number of the segment that the next words belong to.
    next: u32,
    /// Characters that were told since the caller last spoke, though nobody waited for them.
    unasked: usize,
    last: Option<Told>,
}

struct Open {
    segment: u32,
    since: Instant,
    began: Option<Instant>,
    voiced: u32,
    /// Whether it was found to be without an answer where there should be one.
    fruitless: bool,
}

/// The last answer.
struct Told {
    segment: u32,
    /// With the spaces around it: some providers send what stands between two texts with one of them.
    text: String,
    /// So much of the text is final, in bytes.
    settled: usize,
    at: Instant,
}

impl Words {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            settled: String::new(),
            partial: String::new(),
            unsettled: String::new(),
            told_early: String::new(),
            stale: false,
            ended: false,
            late: None,
            again: false,
            speaking: false,
            began: None,
            voiced: 0,
            open: VecDeque::new(),
            owed: VecDeque::new(),
            next: 0,
            unasked: 0,
            last: None,
        }
    }

    /// Before this segment all is told by others.
    pub(super) fn go_on_from(&mut self, segment: u32) {
        self.next = segment;
    }

    pub(super) fn started(&mut self, now: Instant) {
        self.speaking = true;
        (self.began, self.voiced) = (Some(now), 0);
        (self.stale, self.ended, self.late, self.unasked) = (false, false, None, 0);
    }

    /// 20 ms of the caller.
    pub(super) fn sound(&mut self) {
        self.voiced += u32::from(self.speaking);
    }

    /// A segment ended. Returns the number that its words will have; none when the provider was faster than we, and it is answered.
    pub(super) fn stopped(&mut self, segment: u32, now: Instant) -> Option<u32> {
        self.speaking = false;
        self.stale = false;
        if segment < self.next && self.is_empty() {
            return None;
        }
        let segment = segment.max(self.next);
        self.next = segment + 1;
        let (began, voiced) = (self.began.take(), self.voiced);
        self.open.push_back(Open { segment, since: now, began, voiced, fruitless: false });
        Some(segment)
    }

    pub(super) fn is_speaking(&self) -> bool {
        self.speaking
    }

    /// Whether there is speech without final words.
    pub(super) fn is_open(&self) -> bool {
        self.speaking || !self.open.is_empty() || !self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.settled.trim().is_empty() && self.partial.trim().is_empty()
    }

    /// When [`Words::expire`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.oldest_due().into_iter().chain(self.late).min()
    }

    /// When time is up for the oldest segment.
    fn oldest_due(&self) -> Option<Instant> {
        let patience = if self.again || !self.partial.is_empty() {
            self.style.patience
        } else if self.ended {
            AFTER_END.min(self.style.patience)
        } else {
            self.style.patience_without_words
        };
        self.open.front().map(|open| open.since + patience)
    }

    pub(super) fn heard(&mut self, heard: Heard, now: Instant) -> Vec<SttEvent> {
        match heard {
            Heard::Partial(text) => self.may_change(text, now),
            Heard::Words(text) => self.are_final(&text, now),
            Heard::Flushed | Heard::Failed(_) => self.flushed(now),
            Heard::TurnOver => self.turn_over(now),
            Heard::Ready | Heard::Answer(_) => Vec::new(),
        }
    }

    fn may_change(&mut self, text: String, now: Instant) -> Vec<SttEvent> {
        let partial = self.beginning(&text, now).untold().to_owned();
        let changed = partial != self.partial;
        self.ended &= partial.trim().is_empty();
        (self.partial, self.unsettled) = (partial, text);
        if self.is_expecting() {
            return self.so_far();
        }
        // The conversation would take them for a turn, and the final words for the next one.
        if changed && !self.is_empty() {
            self.late = Some(now + self.style.patience);
        }
        Vec::new()
    }

    fn are_final(&mut self, text: &str, now: Instant) -> Vec<SttEvent> {
        let beginning = self.beginning(text, now);
        let silent = !text.contains(char::is_alphanumeric);
        let told_before = !silent && !std::mem::take(&mut self.told_early).is_empty();
        self.stale = told_before && beginning.untold().trim().is_empty();
        self.late = None;
        if self.stale {
            // What may still change is behind these words.
            self.unsettled.clone_from(&self.partial);
        } else {
            self.partial.clear();
            self.unsettled.clear();
        }
        let expecting = self.is_expecting();
        if told_before {
            self.told_early.clone_from(&beginning.left);
            if !expecting || beginning.kind != Kind::Other {
                self.recall(&beginning);
            }
        }
        if expecting {
            self.settle(beginning.untold());
            return self.so_far();
        }
        let corrects = told_before && beginning.kind != Kind::Same;
        self.unexpected(&beginning, corrects, now)
    }

    /// The provider has told everything before an end, ours or its own.
    fn flushed(&mut self, now: Instant) -> Vec<SttEvent> {
        if let Some(segment) = self.pay(now) {
            if self.last.as_ref().is_some_and(|told| told.segment == segment) {
                self.told_early.clear();
            }
            // Its words are told with those of the next segment, and that one's are still to come.
            if !self.settled.is_empty() {
                self.settled.push(' ');
            }
            return Vec::new();
        }
        self.told_early.clear();
        if self.stale && self.is_expecting() {
            return Vec::new();
        }
        if let Some(open) = self.open.pop_front() {
            return vec![self.tell(open.segment, now)];
        }
        self.ended = self.speaking && !self.style.answers_finalize && !self.settled.trim().is_empty();
        Vec::new()
    }

    /// Whether there is speech that words would belong to.
    fn is_expecting(&self) -> bool {
        self.speaking || !self.open.is_empty()
    }

    /// Answers the segments whose time is up with what there is.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<SttEvent> {
        let mut events = Vec::new();
        if self.late.is_some_and(|due| due <= now) {
            events.push(self.tell_late(now));
        }
        while self.oldest_due().is_some_and(|deadline| deadline <= now) {
            if let Some(open) = self.open.pop_front() {
                let sure = self.style.answers_all || !self.is_empty();
                if self.style.answers_finalize {
                    self.owed.push_back((now + if sure { LATE } else { LATE_WITHOUT_WORDS }, open.segment));
                }
                events.push(self.tell(open.segment, now));
            }
        }
        events
    }

    /// Whether time is up for speech that some word or answer should have come of; true once for each segment. `spoke` is when the
    /// provider said anything at all.
    pub(super) fn is_fruitless(&mut self, spoke: Instant, now: Instant) -> bool {
        let overdue = self.oldest_due().is_some_and(|deadline| deadline <= now) && self.is_empty();
        let answers_all = self.style.answers_all;
        let Some(open) = self.open.front_mut().filter(|open| overdue && !open.fruitless) else { return false };
        open.fruitless = if answers_all {
            open.voiced >= VOICE
        } else {
            open.voiced >= LONG_VOICE && open.began.is_some_and(|began| spoke < began)
        };
        open.fruitless
    }

    /// Whether there are more words than anybody can have said.
    pub(super) fn are_too_many(&self) -> bool {
        if self.unasked > LONGEST {
            return true;
        }
        let told = self.last.as_ref().map_or("", |told| told.text.as_str());
        [&[told][..], &[self.settled.as_str(), self.unsettled.as_str()]].into_iter().any(|texts| {
            let bytes: usize = texts.iter().map(|text| text.len()).sum();
            // Counting takes its time, and is hardly ever needed.
            bytes > LONGEST && texts.iter().map(|text| text.chars().count()).sum::<usize>() > LONGEST
        })
    }

    /// The segment that was answered without this answer, if it is owed for one.
    fn pay(&mut self, now: Instant) -> Option<u32> {
        self.owed.retain(|(until, _)| now < *until);
        self.owed.pop_front().map(|(_, segment)| segment)
    }

    /// There is a new connection. `everything` without final words is said again; otherwise what was heard of it stands.
    pub(super) fn again(&mut self, everything: bool, now: Instant) {
        self.again = self.is_open();
        let partial = std::mem::take(&mut self.partial);
        if everything {
            self.settled.clear();
        } else {
            self.settle(&partial);
        }
        self.unsettled.clear();
        self.told_early.clear();
        self.late = None;
        self.owed.clear();
        for open in &mut self.open {
            open.since = now;
        }
    }

    fn turn_over(&mut self, now: Instant) -> Vec<SttEvent> {
        self.told_early.clear();
        if self.stale && self.is_expecting() {
            return Vec::new();
        }
        let Some(last) = self.open.pop_back() else {
            if self.is_empty() {
                // Time was up before: the words are told, the judgement is new.
                let told = self.last.as_ref().is_some_and(|told| !told.text.trim().is_empty() && now - told.at < LATE);
                return if told && !self.speaking { vec![SttEvent::TurnJudged] } else { Vec::new() };
            }
            return vec![self.tell_next(now), SttEvent::TurnJudged];
        };
        let earlier = self.open.drain(..).map(|open| SttEvent::Final { segment: open.segment, text: String::new() });
        let mut events: Vec<SttEvent> = earlier.collect();
        events.push(self.tell(last.segment, now));
        // Who speaks again already may be going on: that judgement would take the new words with it.
        if !self.speaking {
            events.push(SttEvent::TurnJudged);
        }
        events
    }

    /// Final words while nobody seems to speak: late ones, corrections of what was told when time was up, or those of a speaker too
    /// quiet for our ears. What is new comes as a segment of its own, since the turn of the last one may be over.
    fn unexpected(&mut self, beginning: &Beginning<'_>, corrects: bool, now: Instant) -> Vec<SttEvent> {
        let mut events = Vec::new();
        let again = self.last.as_mut().filter(|told| corrects && now - told.at < LATE);
        let news = if again.is_some() { beginning.news } else { beginning.untold() };
        if let Some(told) = again {
            told.at = now;
            events.push(SttEvent::Final { segment: told.segment, text: told.text.trim().to_owned() });
        }
        if !news.trim().is_empty() {
            self.settle(news);
            self.unasked += news.chars().count();
            let segment = self.unanswered(now);
            events.push(self.tell(segment, now));
        }
        events
    }

    /// Puts final words in the place of those that were told when time was up.
    fn recall(&mut self, beginning: &Beginning<'_>) {
        let joiner = self.style.joiner;
        if let Some(told) = &mut self.last {
            told.text.truncate(told.settled);
            told.text = join(&told.text, beginning.covered, joiner);
            told.settled = told.text.len();
            told.text = join(&told.text, &beginning.left, joiner);
        }
    }

    /// Partials of which nothing final has come.
    fn tell_late(&mut self, now: Instant) -> SttEvent {
        self.late = None;
        let segment = self.unanswered(now);
        self.tell(segment, now)
    }

    /// The number for words that nobody waits for: that of the last segment if it was just answered without any.
    fn unanswered(&mut self, now: Instant) -> u32 {
        let last = self.last.as_ref().filter(|told| told.text.trim().is_empty() && now - told.at < LATE);
        last.map(|told| told.segment).unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn tell_next(&mut self, now: Instant) -> SttEvent {
        let segment = self.next;
        self.next += 1;
        self.tell(segment, now)
    }

    fn tell(&mut self, segment: u32, now: Instant) -> SttEvent {
        (self.again, self.ended) = (false, false);
        let partial = std::mem::take(&mut self.partial);
        if !self.unsettled.is_empty() {
            self.told_early = std::mem::take(&mut self.unsettled);
        }
        let settled = self.settled.len();
        self.settle(&partial);
        let text = std::mem::take(&mut self.settled);
        let event = SttEvent::Final { segment, text: text.trim().to_owned() };
        self.last = Some(Told { segment, text, settled, at: now });
        event
    }

    fn so_far(&self) -> Vec<SttEvent> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![SttEvent::Partial { text: join(&self.settled, &self.partial, self.style.joiner).trim().to_owned() }]
    }

    fn settle(&mut self, text: &str) {
        self.settled = join(&self.settled, text, self.style.joiner);
    }

    fn has_told_within(&self, time: Duration, now: Instant) -> bool {
        self.last.as_ref().is_some_and(|told| now - told.at < time)
    }

    /// How a text begins, where its beginning may have been told already.
    fn beginning<'t>(&self, text: &'t str, now: Instant) -> Beginning<'t> {
        match Beginning::of(text, &self.told_early) {
            // A text that comes much later is another one that has a few words in common.
            beginning if beginning.kind == Kind::Corrected && !self.has_told_within(LATE, now) => {
                Beginning::other(text)
            }
            beginning => beginning,
        }
    }
}

/// Texts that bring their own spaces have no joiner, and keep one of them.
fn join(before: &str, after: &str, joiner: &str) -> String {
    if before.is_empty() || after.is_empty() {
        return [before, after].concat();
    }
    match (before.ends_with(char::is_whitespace), joiner) {
        (true, _) => [before, after.trim_start()].concat(),
        (false, "") => [before, after].concat(),
        (false, joiner) => [before, joiner, after.trim_start()].concat(),
    }
}

#[cfg(test)]
mod tests;
