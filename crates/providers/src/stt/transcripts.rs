//! Assembles provider messages into exactly one final transcript per segment of speech.
//!
//! Providers segment speech in different ways: several final texts per segment, one turn for several segments, or an end before our
//! VAD detects one. A segment is final when the provider confirms our finalize, when it ends the turn, or, after a timeout, with the
//! text so far. Later text is emitted once too: words that were emitted before they were final are aligned with the final text,
//! corrected or not, and partials of a segment that is already final wait for their final text.

mod alignment;

use std::collections::VecDeque;
use std::time::Duration;

use switchhook_core::conversation::cascade::has_words;
use tokio::time::Instant;

use self::alignment::{Alignment, AlignmentKind};
use super::protocol::{SttMessage, SttStreamConfig};
use crate::SttEvent;

/// Text that arrives within this time after its segment became final without it still belongs to that segment.
const LATE_TEXT_WINDOW: Duration = Duration::from_secs(3);
/// The same for the confirmation of a finalize that does not require one.
const LATE_WITHOUT_WORDS: Duration = Duration::from_secs(1);
/// The longest segment, in characters: more than ten minutes of speech.
const LONGEST: usize = 10_000;
/// The timeout after an end of speech that the provider detected before our VAD.
const AFTER_END: Duration = Duration::from_millis(500);
/// Voice activity that should yield a word, in frames, including the 200 ms until VAD detects its end.
const VOICE: u32 = 25;
/// The same for providers that do not confirm segments of noise.
const LONG_VOICE: u32 = 60;

/// The transcripts of one call.
pub(super) struct Transcripts {
    stream_config: SttStreamConfig,
    /// Final text that is not part of an emitted segment.
    finalized: String,
    /// Text that the provider may still change.
    partial: String,
    /// The partial as the provider sent it.
    raw_partial: String,
    /// Text that was emitted at a timeout before it was final: the next final text begins with it.
    emitted_early: String,
    /// Whether all of the last final text had been emitted before: an end that comes with it belongs to an earlier segment.
    stale: bool,
    /// Whether the provider has ended the current speech and sent nothing since.
    provider_ended: bool,
    /// When partials that no segment waits for are emitted as they are.
    late: Option<Instant>,
    /// Whether audio was replayed on a new connection, so that its words will arrive again.
    replaying: bool,
    speaking: bool,
    /// When voice activity began, and its length in frames.
    began: Option<Instant>,
    voiced: u32,
    /// Segments without a final transcript, oldest first.
    open: VecDeque<OpenSegment>,
    /// Segments that became final without a confirmation, and the time until which it may still arrive.
    late_confirmations: VecDeque<(Instant, u32)>,
    /// The number of the next segment.
    next: u32,
    /// Characters of unexpected final text since the caller last spoke.
    unexpected_chars: usize,
    last: Option<LastFinal>,
}

struct OpenSegment {
    segment: u32,
    since: Instant,
    began: Option<Instant>,
    voiced: u32,
    /// Whether it was counted as unanswered.
    unanswered: bool,
}

/// The last final transcript.
struct LastFinal {
    segment: u32,
    /// Untrimmed: some providers send the separator with the text.
    text: String,
    /// The length of its final part, in bytes.
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

    /// Starts at this segment: another provider transcribed those before it.
    pub(super) fn start_at(&mut self, segment: u32) {
        self.next = segment;
    }

    pub(super) fn speech_started(&mut self, now: Instant) {
        self.speaking = true;
        (self.began, self.voiced) = (Some(now), 0);
        (self.stale, self.provider_ended, self.late, self.unexpected_chars) = (false, false, None, 0);
    }

    /// Counts 20 ms of the caller's audio.
    pub(super) fn audio_frame(&mut self) {
        self.voiced += u32::from(self.speaking);
    }

    /// Ends a segment. Returns its number, or `None` if the provider was faster than our VAD and the segment is already final.
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

    /// Returns whether there is speech without final words.
    pub(super) fn is_open(&self) -> bool {
        self.speaking || !self.open.is_empty() || !self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.finalized.trim().is_empty() && self.partial.trim().is_empty()
    }

    /// Returns when [`Transcripts::expire`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.oldest_due().into_iter().chain(self.late).min()
    }

    /// Returns when the oldest segment times out.
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
        // Emitted now, they would be one turn, and the final text another.
        if !has_words(&self.finalized) && !has_words(&self.partial) {
            self.partial.clear();
        } else if changed {
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
            // Text after these words may still change.
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

    /// Handles the confirmation that all text before an end, ours or the provider's own, has been sent.
    fn on_finalized(&mut self, now: Instant) -> Vec<SttEvent> {
        if let Some(segment) = self.take_late_confirmation(now) {
            if self.last.as_ref().is_some_and(|last| last.segment == segment) {
                self.emitted_early.clear();
            }
            // Its text is emitted with that of the next segment, which has not ended yet.
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

    /// Returns whether there is speech that words would belong to.
    fn is_expecting(&self) -> bool {
        self.speaking || !self.open.is_empty()
    }

    /// Emits the segments that have timed out, with the text so far.
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
                        .push_back((now + if sure { LATE_TEXT_WINDOW } else { LATE_WITHOUT_WORDS }, open.segment));
                }
                events.push(self.finish(open.segment, now));
            }
        }
        events
    }

    /// Returns whether speech that should have yielded a word or a confirmation has timed out, once for each segment. `last_message` is
    /// when the provider last sent anything.
    pub(super) fn is_unanswered(&mut self, last_message: Instant, now: Instant) -> bool {
        let overdue = self.oldest_due().is_some_and(|deadline| deadline <= now) && self.is_empty();
        let always_confirms_finalize = self.stream_config.always_confirms_finalize;
        let Some(open) = self.open.front_mut().filter(|open| overdue && !open.unanswered) else { return false };
        open.unanswered = if always_confirms_finalize {
            open.voiced >= VOICE
        } else {
            open.voiced >= LONG_VOICE && open.began.is_some_and(|began| last_message < began)
        };
        open.unanswered
    }

    /// Returns whether there is more text than a caller can have said.
    pub(super) fn exceeds_limit(&self) -> bool {
        if self.unexpected_chars > LONGEST {
            return true;
        }
        let emitted = self.last.as_ref().map_or("", |last| last.text.as_str());
        [&[emitted][..], &[self.finalized.as_str(), self.raw_partial.as_str()]].into_iter().any(|texts| {
            let bytes: usize = texts.iter().map(|text| text.len()).sum();
            // Counting characters takes time and is hardly ever needed.
            bytes > LONGEST && texts.iter().map(|text| text.chars().count()).sum::<usize>() > LONGEST
        })
    }

    /// Returns the segment that this confirmation belongs to, if the segment became final without it.
    fn take_late_confirmation(&mut self, now: Instant) -> Option<u32> {
        self.late_confirmations.retain(|(until, _)| now < *until);
        self.late_confirmations.pop_front().map(|(_, segment)| segment)
    }

    /// Continues on a new connection. If `everything` without a final transcript is replayed, the text so far is dropped.
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
                // The words were emitted at a timeout; the end of turn is new.
                let emitted = self
                    .last
                    .as_ref()
                    .is_some_and(|last| !last.text.trim().is_empty() && now - last.at < LATE_TEXT_WINDOW);
                return if emitted && !self.speaking { vec![SttEvent::EndOfTurn] } else { Vec::new() };
            }
            return vec![self.finish_next(now), SttEvent::EndOfTurn];
        };
        let earlier = self.open.drain(..).map(|open| SttEvent::Final { segment: open.segment, text: String::new() });
        let mut events: Vec<SttEvent> = earlier.collect();
        events.push(self.finish(last.segment, now));
        // The caller speaks again: this end of turn would include the new words.
        if !self.speaking {
            events.push(SttEvent::EndOfTurn);
        }
        events
    }

    /// Handles final text without speech: late text, corrections of text that was emitted at a timeout, or text of a speaker too quiet for
    /// our VAD. New text becomes a new segment, since the last turn may be over.
    fn on_unexpected_final(&mut self, beginning: &Alignment<'_>, corrects: bool, now: Instant) -> Vec<SttEvent> {
        let mut events = Vec::new();
        let again = self.last.as_mut().filter(|last| corrects && now - last.at < LATE_TEXT_WINDOW);
        let remainder = if again.is_some() { beginning.remainder } else { beginning.new_text() };
        if let Some(last) = again {
            last.at = now;
            events.push(SttEvent::Final { segment: last.segment, text: last.text.trim().to_owned() });
        }
        if has_words(remainder) {
            self.append_final(remainder);
            self.unexpected_chars += remainder.chars().count();
            let segment = self.unanswered(now);
            events.push(self.finish(segment, now));
        }
        events
    }

    /// Replaces text that was emitted at a timeout with the final text.
    fn replace_early(&mut self, beginning: &Alignment<'_>) {
        let separator = self.stream_config.separator;
        if let Some(last) = &mut self.last {
            last.text.truncate(last.finalized);
            last.text = join(&last.text, beginning.matched, separator);
            last.finalized = last.text.len();
            last.text = join(&last.text, &beginning.left, separator);
        }
    }

    /// Emits partials that never became final.
    fn finish_late_partial(&mut self, now: Instant) -> SttEvent {
        self.late = None;
        let segment = self.unanswered(now);
        self.finish(segment, now)
    }

    /// Returns the segment for unexpected text: the last one if it was just emitted empty, else a new one.
    fn unanswered(&mut self, now: Instant) -> u32 {
        let last = self.last.as_ref().filter(|last| last.text.trim().is_empty() && now - last.at < LATE_TEXT_WINDOW);
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
        let mut text = std::mem::take(&mut self.finalized);
        if !has_words(&text) {
            text.clear();
        }
        let event = SttEvent::Final { segment, text: text.trim().to_owned() };
        self.last = Some(LastFinal { segment, finalized: finalized.min(text.len()), text, at: now });
        event
    }

    fn partial_event(&self) -> Vec<SttEvent> {
        let text = join(&self.finalized, &self.partial, self.stream_config.separator);
        if !has_words(&text) {
            return Vec::new();
        }
        vec![SttEvent::Partial { text: text.trim().to_owned() }]
    }

    fn append_final(&mut self, text: &str) {
        self.finalized = join(&self.finalized, text, self.stream_config.separator);
    }

    fn has_emitted_within(&self, time: Duration, now: Instant) -> bool {
        self.last.as_ref().is_some_and(|last| now - last.at < time)
    }

    /// Aligns a text with the text that was emitted early.
    fn beginning<'t>(&self, text: &'t str, now: Instant) -> Alignment<'t> {
        match Alignment::of(text, &self.emitted_early) {
            // A similar text that comes much later is not a correction.
            beginning
                if beginning.kind == AlignmentKind::Corrected && !self.has_emitted_within(LATE_TEXT_WINDOW, now) =>
            {
                Alignment::other(text)
            }
            beginning => beginning,
        }
    }
}

/// Joins two texts. Texts that bring their own spaces have no separator, and keep one space.
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
