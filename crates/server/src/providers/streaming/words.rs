//! From what a provider tells to exactly one answer for every segment of the caller's speech.
//!
//! Providers cut speech as they like: in several final texts, in turns of several segments, or with an end before we noticed
//! one. A segment is answered when the provider says that everything before its end is told, when it judges the turn to
//! be over, or with what there is when neither comes in time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::protocol::{Heard, Style};
use crate::providers::SttEvent;

/// Words that come this soon after a segment was answered without them belong to it.
const LATE: Duration = Duration::from_secs(3);
/// The same for the answer to a finalize that may well have none.
const LATE_WITHOUT_WORDS: Duration = Duration::from_secs(1);
/// No segment has more characters: that is more than ten minutes of speech.
const LONGEST: usize = 10_000;
/// What ends the words before it rather than beginning those behind it.
const LEFT_OVER: [char; 6] = ['.', ',', ';', ':', '!', '?'];
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
    /// Whether words are to come again on a new connection.
    again: bool,
    speaking: bool,
    /// When the voice began, and for how many frames it has lasted.
    began: Option<Instant>,
    voiced: u32,
    /// Segments without an answer, oldest first.
    open: VecDeque<Open>,
    /// Until when the provider's answers may still come for segments that were answered without them.
    owed: VecDeque<Instant>,
    /// The number of the segment that the next words belong to.
    next: u32,
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
            again: false,
            speaking: false,
            began: None,
            voiced: 0,
            open: VecDeque::new(),
            owed: VecDeque::new(),
            next: 0,
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
    }

    /// 20 ms of the caller.
    pub(super) fn sound(&mut self) {
        self.voiced += u32::from(self.speaking);
    }

    /// A segment ended. Returns the number that its words will have; none when the provider was faster than we, and it is answered.
    pub(super) fn stopped(&mut self, segment: u32, now: Instant) -> Option<u32> {
        self.speaking = false;
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

    /// When time is up for the oldest segment.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let outstanding = self.again || !self.partial.is_empty();
        let patience = if outstanding { self.style.patience } else { self.style.patience_without_words };
        self.open.front().map(|open| open.since + patience)
    }

    pub(super) fn heard(&mut self, heard: Heard, now: Instant) -> Vec<SttEvent> {
        match heard {
            Heard::Partial(text) => {
                self.partial = self.beyond_told(&text).unwrap_or(&text).to_owned();
                self.unsettled = text;
                self.so_far()
            }
            Heard::Words(text) => {
                let beyond = self.beyond_told(&text);
                let corrects = beyond.is_none();
                let text = beyond.unwrap_or(&text).to_owned();
                self.partial.clear();
                self.unsettled.clear();
                self.told_early.clear();
                self.settle(&text);
                if self.speaking || !self.open.is_empty() { self.so_far() } else { self.unexpected(corrects, now) }
            }
            // The words of a segment that was answered without them are told with the next one's, and that one's are still to come.
            Heard::Flushed | Heard::Failed(_) if self.was_owed(now) => {
                if !self.settled.is_empty() {
                    self.settled.push(' ');
                }
                Vec::new()
            }
            Heard::Flushed | Heard::Failed(_) => match self.open.pop_front() {
                Some(open) => vec![self.tell(open.segment, now)],
                None => Vec::new(),
            },
            Heard::TurnOver => self.turn_over(now),
            Heard::Ready | Heard::Answer(_) => Vec::new(),
        }
    }

    /// Answers the segments whose time is up with what there is.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<SttEvent> {
        let mut events = Vec::new();
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            if let Some(open) = self.open.pop_front() {
                let sure = self.style.answers_all() || !self.is_empty();
                if self.style.answers_finalize {
                    self.owed.push_back(now + if sure { LATE } else { LATE_WITHOUT_WORDS });
                }
                events.push(self.tell(open.segment, now));
            }
        }
        events
    }

    /// Whether time is up for speech that some word or answer should have come of; true once for each segment. `spoke` is when the
    /// provider said anything at all.
    pub(super) fn is_fruitless(&mut self, spoke: Instant, now: Instant) -> bool {
        let overdue = self.deadline().is_some_and(|deadline| deadline <= now) && self.is_empty();
        let answers_all = self.style.answers_all();
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
        let told = self.last.as_ref().map_or("", |told| told.text.as_str());
        [&[told][..], &[self.settled.as_str(), self.unsettled.as_str()]].into_iter().any(|texts| {
            let bytes: usize = texts.iter().map(|text| text.len()).sum();
            // Counting takes its time, and is hardly ever needed.
            bytes > LONGEST && texts.iter().map(|text| text.chars().count()).sum::<usize>() > LONGEST
        })
    }

    /// Whether this answer is that of a segment which was answered without it.
    fn was_owed(&mut self, now: Instant) -> bool {
        self.owed.retain(|until| now < *until);
        self.owed.pop_front().is_some()
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
        self.owed.clear();
        for open in &mut self.open {
            open.since = now;
        }
    }

    fn turn_over(&mut self, now: Instant) -> Vec<SttEvent> {
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

    /// Final words while nobody seems to speak: late ones, which may correct what was told when time was up, or of a speaker too quiet
    /// for our ears.
    fn unexpected(&mut self, corrects: bool, now: Instant) -> Vec<SttEvent> {
        if self.is_empty() {
            return Vec::new();
        }
        match self.last.take_if(|told| now - told.at < LATE) {
            Some(mut told) => {
                if corrects {
                    told.text.truncate(told.settled);
                }
                let rest = std::mem::replace(&mut self.settled, told.text);
                self.settle(&rest);
                vec![self.tell(told.segment, now)]
            }
            None => vec![self.tell_next(now)],
        }
    }

    fn tell_next(&mut self, now: Instant) -> SttEvent {
        let segment = self.next;
        self.next += 1;
        self.tell(segment, now)
    }

    fn tell(&mut self, segment: u32, now: Instant) -> SttEvent {
        self.again = false;
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

    /// The text without the words that were told already; nothing when it does not begin with them.
    fn beyond_told<'t>(&self, text: &'t str) -> Option<&'t str> {
        beyond(&self.told_early, text)
    }
}

/// What is behind `told` in `text`, whatever the case and the punctuation of both, with the space in front of it.
fn beyond<'t>(told: &str, text: &'t str) -> Option<&'t str> {
    let mut letters = text.char_indices().filter(|(_, letter)| letter.is_alphanumeric());
    let mut end = 0;
    for expected in told.chars().filter(|letter| letter.is_alphanumeric()) {
        let (at, letter) = letters.next().filter(|(_, letter)| letter.to_lowercase().eq(expected.to_lowercase()))?;
        end = at + letter.len_utf8();
    }
    if end == 0 {
        return Some(text);
    }
    let Some((at, next)) = letters.next() else { return Some("") };
    // "four on" is not the beginning of "four one". Scripts without cases may write words without spaces.
    if at == end {
        return Some(&text[at..]).filter(|_| !(next.is_lowercase() || next.is_uppercase() || next.is_numeric()));
    }
    // What stands right before the first new letter belongs to it, as in "$20".
    let between = &text[end..at];
    Some(if between.contains(char::is_whitespace) { text[end..].trim_start_matches(LEFT_OVER) } else { &text[at..] })
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
