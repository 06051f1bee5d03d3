//! Assembles provider messages into exactly one final transcript per segment of speech.
//!
//! Providers cut speech as they like: in several final texts, in turns of several segments, or with an end before we noticed
//! one. A segment is answered when the provider says that everything before its end is last, when it judges the turn to
//! be over, or with what there is when neither comes in time. What comes later is told once as well: words that were told before
//! they were final are known again, corrected or not, and partials of a segment that is answered wait for their end.

mod alignment;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use self::alignment::{Alignment, AlignmentKind};
use super::protocol::{SttMessage, SttStreamConfig};
use crate::providers::SttEvent;

/// Transcripts that come this soon after a segment was answered without them belong to it.
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
pub(super) struct Transcripts {
    stream_config: SttStreamConfig,
    /// Final, and not told for a segment.
    finalized: String,
    /// What the provider may still change.
    partial: String,
    /// The partial as the provider told it.
    raw_partial: String,
    /// The beginning of the next text as it was told already, when time was up.
    emitted_early: String,
    /// Whether the last final words were all told already: an end that the provider tells with them is that of an earlier segment.
    stale: bool,
    /// Whether the provider has said that the speech that goes on is over, and nothing since.
    provider_ended: bool,
    /// When partials that came while nothing was expected are told as they are.
    late: Option<Instant>,
    /// Whether words are to come again on a new connection.
    replaying: bool,
    speaking: bool,
    /// When the voice began, and for how many frames it has lasted.
    began: Option<Instant>,
    voiced: u32,
    /// Segments without an answer, oldest first.
    open: VecDeque<OpenSegment>,
    /// Until when the provider's answers may still come for segments that were answered without them.
    late_confirmations: VecDeque<(Instant, u32)>,
    /// The number of the segment that the next words belong to.
    next: u32,
    /// Characters that were told since the caller last spoke, though nobody waited for them.
    unexpected_chars: usize,
    last: Option<LastFinal>,
}

struct OpenSegment {
    segment: u32,
    since: Instant,
    began: Option<Instant>,
    voiced: u32,
    /// Whether it was found to be without an answer where there should be one.
    unanswered: bool,
}

/// The last answer.
struct LastFinal {
    segment: u32,
    /// With the spaces around it: some providers send what stands between two texts with one of them.
    text: String,
    /// So much of the text is final, in bytes.
    finalized: usize,
    at: Instant,
}

impl Transcripts {
    pub(super) fn new(stream_config: SttStreamConfig) -> Self {
        Self {
            stream_config,
            finalized: String::new(),
            partial: String::new(),
            raw_partial: String::new(),
            emitted_early: String::new(),
            stale: false,
            provider_ended: false,
            late: None,
            replaying: false,
            speaking: false,
            began: None,
            voiced: 0,
            open: VecDeque::new(),
            late_confirmations: VecDeque::new(),
            next: 0,
            unexpected_chars: 0,
            last: None,
        }
    }

    /// Before this segment all is told by others.
    pub(super) fn start_at(&mut self, segment: u32) {
        self.next = segment;
    }

    pub(super) fn speech_started(&mut self, now: Instant) {
        self.speaking = true;
        (self.began, self.voiced) = (Some(now), 0);
        (self.stale, self.provider_ended, self.late, self.unexpected_chars) = (false, false, None, 0);
    }

    /// 20 ms of the caller.
    pub(super) fn audio_frame(&mut self) {
        self.voiced += u32::from(self.speaking);
    }

    /// A segment ended. Returns the number that its words will have; none when the provider was faster than we, and it is answered.
    pub(super) fn speech_stopped(&mut self, segment: u32, now: Instant) -> Option<u32> {
        self.speaking = false;
        self.stale = false;
        if segment < self.next && self.is_empty() {
            return None;
        }
        let segment = segment.max(self.next);
        self.next = segment + 1;
        let (began, voiced) = (self.began.take(), self.voiced);
        self.open.push_back(OpenSegment { segment, since: now, began, voiced, unanswered: false });
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
        self.finalized.trim().is_empty() && self.partial.trim().is_empty()
    }

    /// When [`Transcripts::expire`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.oldest_due().into_iter().chain(self.late).min()
    }

    /// When time is up for the oldest segment.
    fn oldest_due(&self) -> Option<Instant> {
        let finalize_timeout = if self.replaying || !self.partial.is_empty() {
            self.stream_config.finalize_timeout
        } else if self.provider_ended {
            AFTER_END.min(self.stream_config.finalize_timeout)
        } else {
            self.stream_config.finalize_timeout_without_words
        };
        self.open.front().map(|open| open.since + finalize_timeout)
    }

    pub(super) fn handle(&mut self, message: SttMessage, now: Instant) -> Vec<SttEvent> {
        match message {
            SttMessage::Partial(text) => self.on_partial(text, now),
            SttMessage::Final(text) => self.on_final(&text, now),
            SttMessage::Finalized | SttMessage::Failed(_) => self.on_finalized(now),
            SttMessage::EndOfTurn => self.on_end_of_turn(now),
            SttMessage::Ready | SttMessage::Reply(_) => Vec::new(),
        }
    }

    fn on_partial(&mut self, text: String, now: Instant) -> Vec<SttEvent> {
        let partial = self.beginning(&text, now).new_text().to_owned();
        let changed = partial != self.partial;
        self.provider_ended &= partial.trim().is_empty();
        (self.partial, self.raw_partial) = (partial, text);
        if self.is_expecting() {
            return self.partial_event();
        }
        // The conversation would take them for a turn, and the final words for the next one.
        if changed && !self.is_empty() {
            self.late = Some(now + self.stream_config.finalize_timeout);
        }
        Vec::new()
    }

    fn on_final(&mut self, text: &str, now: Instant) -> Vec<SttEvent> {
        let beginning = self.beginning(text, now);
        let silent = !text.contains(char::is_alphanumeric);
        let emitted_before = !silent && !std::mem::take(&mut self.emitted_early).is_empty();
        self.stale = emitted_before && beginning.new_text().trim().is_empty();
        self.late = None;
        if self.stale {
            // What may still change is behind these words.
            self.raw_partial.clone_from(&self.partial);
        } else {
            self.partial.clear();
            self.raw_partial.clear();
        }
        let expecting = self.is_expecting();
        if emitted_before {
            self.emitted_early.clone_from(&beginning.left);
            if !expecting || beginning.kind != AlignmentKind::Other {
                self.replace_early(&beginning);
            }
        }
        if expecting {
            self.append_final(beginning.new_text());
            return self.partial_event();
        }
        let corrects = emitted_before && beginning.kind != AlignmentKind::Same;
        self.on_unexpected_final(&beginning, corrects, now)
    }

    /// The provider has told everything before an end, ours or its own.
    fn on_finalized(&mut self, now: Instant) -> Vec<SttEvent> {
        if let Some(segment) = self.take_late_confirmation(now) {
            if self.last.as_ref().is_some_and(|last| last.segment == segment) {
                self.emitted_early.clear();
            }
            // Its words are told with those of the next segment, and that one's are still to come.
            if !self.finalized.is_empty() {
                self.finalized.push(' ');
            }
            return Vec::new();
        }
        self.emitted_early.clear();
        if self.stale && self.is_expecting() {
            return Vec::new();
        }
        if let Some(open) = self.open.pop_front() {
            return vec![self.finish(open.segment, now)];
        }
        self.provider_ended =
            self.speaking && !self.stream_config.confirms_finalize && !self.finalized.trim().is_empty();
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
            events.push(self.finish_late_partial(now));
        }
        while self.oldest_due().is_some_and(|deadline| deadline <= now) {
            if let Some(open) = self.open.pop_front() {
                let sure = self.stream_config.always_confirms_finalize || !self.is_empty();
                if self.stream_config.confirms_finalize {
                    self.late_confirmations
                        .push_back((now + if sure { LATE } else { LATE_WITHOUT_WORDS }, open.segment));
                }
                events.push(self.finish(open.segment, now));
            }
        }
        events
    }

    /// Whether time is up for speech that some word or answer should have come of; true once for each segment. `spoke` is when the
    /// provider said anything at all.
    pub(super) fn is_unanswered(&mut self, spoke: Instant, now: Instant) -> bool {
        let overdue = self.oldest_due().is_some_and(|deadline| deadline <= now) && self.is_empty();
        let always_confirms_finalize = self.stream_config.always_confirms_finalize;
        let Some(open) = self.open.front_mut().filter(|open| overdue && !open.unanswered) else { return false };
        open.unanswered = if always_confirms_finalize {
            open.voiced >= VOICE
        } else {
            open.voiced >= LONG_VOICE && open.began.is_some_and(|began| spoke < began)
        };
        open.unanswered
    }

    /// Whether there are more words than anybody can have said.
    pub(super) fn exceeds_limit(&self) -> bool {
        if self.unexpected_chars > LONGEST {
            return true;
        }
        let told = self.last.as_ref().map_or("", |last| last.text.as_str());
        [&[told][..], &[self.finalized.as_str(), self.raw_partial.as_str()]].into_iter().any(|texts| {
            let bytes: usize = texts.iter().map(|text| text.len()).sum();
            // Counting takes its time, and is hardly ever needed.
            bytes > LONGEST && texts.iter().map(|text| text.chars().count()).sum::<usize>() > LONGEST
        })
    }

    /// The segment that was answered without this answer, if one is outstanding.
    fn take_late_confirmation(&mut self, now: Instant) -> Option<u32> {
        self.late_confirmations.retain(|(until, _)| now < *until);
        self.late_confirmations.pop_front().map(|(_, segment)| segment)
    }

    /// There is a new connection. `everything` without final words is said again; otherwise what was heard of it stands.
    pub(super) fn reconnected(&mut self, everything: bool, now: Instant) {
        self.replaying = self.is_open();
        let partial = std::mem::take(&mut self.partial);
        if everything {
            self.finalized.clear();
        } else {
            self.append_final(&partial);
        }
        self.raw_partial.clear();
        self.emitted_early.clear();
        self.late = None;
        self.late_confirmations.clear();
        for open in &mut self.open {
            open.since = now;
        }
    }

    fn on_end_of_turn(&mut self, now: Instant) -> Vec<SttEvent> {
        self.emitted_early.clear();
        if self.stale && self.is_expecting() {
            return Vec::new();
        }
        let Some(last) = self.open.pop_back() else {
            if self.is_empty() {
                // Time was up before: the words are last, the judgement is new.
                let told = self.last.as_ref().is_some_and(|last| !last.text.trim().is_empty() && now - last.at < LATE);
                return if told && !self.speaking { vec![SttEvent::TurnJudged] } else { Vec::new() };
            }
            return vec![self.finish_next(now), SttEvent::TurnJudged];
        };
        let earlier = self.open.drain(..).map(|open| SttEvent::Final { segment: open.segment, text: String::new() });
        let mut events: Vec<SttEvent> = earlier.collect();
        events.push(self.finish(last.segment, now));
        // Who speaks again already may be going on: that judgement would take the new words with it.
        if !self.speaking {
            events.push(SttEvent::TurnJudged);
        }
        events
    }

    /// Final words while nobody seems to speak: late ones, corrections of what was told when time was up, or those of a speaker too
    /// quiet for our VAD. What is new comes as a segment of its own, since the turn of the last one may be over.
    fn on_unexpected_final(&mut self, beginning: &Alignment<'_>, corrects: bool, now: Instant) -> Vec<SttEvent> {
        let mut events = Vec::new();
        let again = self.last.as_mut().filter(|last| corrects && now - last.at < LATE);
        let remainder = if again.is_some() { beginning.remainder } else { beginning.new_text() };
        if let Some(last) = again {
            last.at = now;
            events.push(SttEvent::Final { segment: last.segment, text: last.text.trim().to_owned() });
        }
        if !remainder.trim().is_empty() {
            self.append_final(remainder);
            self.unexpected_chars += remainder.chars().count();
            let segment = self.unanswered(now);
            events.push(self.finish(segment, now));
        }
        events
    }

    /// Puts final words in the place of those that were told when time was up.
    fn replace_early(&mut self, beginning: &Alignment<'_>) {
        let separator = self.stream_config.separator;
        if let Some(last) = &mut self.last {
            last.text.truncate(last.finalized);
            last.text = join(&last.text, beginning.matched, separator);
            last.finalized = last.text.len();
            last.text = join(&last.text, &beginning.left, separator);
        }
    }

    /// Partials of which nothing final has come.
    fn finish_late_partial(&mut self, now: Instant) -> SttEvent {
        self.late = None;
        let segment = self.unanswered(now);
        self.finish(segment, now)
    }

    /// The number for words that nobody waits for: that of the last segment if it was just answered without any.
    fn unanswered(&mut self, now: Instant) -> u32 {
        let last = self.last.as_ref().filter(|last| last.text.trim().is_empty() && now - last.at < LATE);
        last.map(|last| last.segment).unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn finish_next(&mut self, now: Instant) -> SttEvent {
        let segment = self.next;
        self.next += 1;
        self.finish(segment, now)
    }

    fn finish(&mut self, segment: u32, now: Instant) -> SttEvent {
        (self.replaying, self.provider_ended) = (false, false);
        let partial = std::mem::take(&mut self.partial);
        if !self.raw_partial.is_empty() {
            self.emitted_early = std::mem::take(&mut self.raw_partial);
        }
        let finalized = self.finalized.len();
        self.append_final(&partial);
        let text = std::mem::take(&mut self.finalized);
        let event = SttEvent::Final { segment, text: text.trim().to_owned() };
        self.last = Some(LastFinal { segment, text, finalized, at: now });
        event
    }

    fn partial_event(&self) -> Vec<SttEvent> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![SttEvent::Partial {
            text: join(&self.finalized, &self.partial, self.stream_config.separator).trim().to_owned(),
        }]
    }

    fn append_final(&mut self, text: &str) {
        self.finalized = join(&self.finalized, text, self.stream_config.separator);
    }

    fn has_emitted_within(&self, time: Duration, now: Instant) -> bool {
        self.last.as_ref().is_some_and(|last| now - last.at < time)
    }

    /// How a text begins, where its beginning may have been told already.
    fn beginning<'t>(&self, text: &'t str, now: Instant) -> Alignment<'t> {
        match Alignment::of(text, &self.emitted_early) {
            // A text that comes much later is another one that has a few words in common.
            beginning if beginning.kind == AlignmentKind::Corrected && !self.has_emitted_within(LATE, now) => {
                Alignment::other(text)
            }
            beginning => beginning,
        }
    }
}

/// Texts that bring their own spaces have no separator, and keep one of them.
fn join(before: &str, after: &str, separator: &str) -> String {
    if before.is_empty() || after.is_empty() {
        return [before, after].concat();
    }
    match (before.ends_with(char::is_whitespace), separator) {
        (true, _) => [before, after.trim_start()].concat(),
        (false, "") => [before, after].concat(),
        (false, separator) => [before, separator, after.trim_start()].concat(),
    }
}

#[cfg(test)]
mod tests;
