//! The outcome of an item, from what the caller heard and what the transcript says.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchhook_speech::wer::WordErrors;
use tokio::time::Instant;

use super::caller::Noticed;
use super::corpus::{Class, Item};
use super::phone::Sound;

/// Stretches of the agent's audio are joined if the silence between them is no longer than this.
const JOINED_MS: i64 = 60;
/// A silence of the agent from which on it was stopped rather than late.
const STOPPED_MS: i64 = 300;
/// So much of a sentence is all of it.
const WHOLE: f64 = 0.95;
/// Words that are understood have at most this word error rate.
const UNDERSTOOD: f64 = 0.5;

/// Times are in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) class: Class,
    pub(crate) kind: String,
    pub(crate) voice: String,
    pub(crate) pause_ms: u32,
    /// Turns: the agent was heard before the caller had finished.
    pub(crate) cut_off: bool,
    /// Turns: more than one turn was taken out of it.
    pub(crate) split: bool,
    /// Turns that were not cut off: from the caller's true end to the first audio of the agent.
    pub(crate) latency_ms: Option<i64>,
    /// Turns and interruptions: the agent said something afterwards.
    pub(crate) answered: bool,
    /// Overlaps: from the onset to the last audio of the agent before it fell silent; nothing if it never did while the caller
    /// made a sound, or within a second after that.
    pub(crate) silenced_ms: Option<i64>,
    /// Overlaps: the sentence was not spoken completely.
    pub(crate) ended_sentence: bool,
    /// Words were in the transcript, with at most half of them wrong.
    pub(crate) understood: bool,
    /// Turns in the transcript.
    pub(crate) said: Vec<String>,
    pub(crate) requests: u32,
    /// The service's own account of the stages of each response.
    pub(crate) stages: Vec<Value>,
    /// The bench itself was late by this much.
    pub(crate) late_ms: i64,
}

/// Agent audio in milliseconds from the item's first sample.
struct Stretch {
    sound: Sound,
    start: i64,
    end: i64,
}

pub(crate) fn judge(item: &Item, noticed: &Noticed, said: Vec<String>, requests: u32) -> Outcome {
    let stretches = stretches(noticed);
    let (onset, end) = (i64::from(item.onset_ms()), i64::from(item.end_ms()));
    let overlaps = item.class.is_overlap();
    let cut_off = !overlaps && stretches.iter().any(|heard| heard.end > onset && heard.start < end);
    let first = stretches.iter().map(|heard| heard.start).find(|start| *start >= end);
    let silenced = stretches.iter().enumerate().find_map(|(n, heard)| {
        let next = stretches.get(n + 1).map_or(i64::MAX, |next| next.start);
        (heard.end >= onset && heard.end < end + 1_000 && next - heard.end >= STOPPED_MS).then_some(heard.end - onset)
    });
    let answered = match item.class {
        Class::Complete | Class::Paused => first.is_some(),
        _ => stretches.iter().any(|heard| heard.sound != Sound::Question && heard.start >= onset),
    };
    let wer = WordErrors::between(&item.text(), &said.join(" "));
    Outcome {
        id: item.id.clone(),
        class: item.class,
        kind: item.kind.clone(),
        voice: item.voice.clone(),
        pause_ms: item.pause_ms,
        cut_off,
        split: !overlaps && said.len() > 1,
        latency_ms: first.filter(|_| !overlaps && !cut_off).map(|first| first - end),
        answered,
        silenced_ms: silenced.filter(|_| overlaps),
        ended_sentence: overlaps && !was_finished(&stretches),
        understood: wer.words > 0 && wer.rate() <= UNDERSTOOD,
        said,
        requests,
        stages: Vec::new(),
        late_ms: i64::try_from(noticed.late.as_millis()).unwrap_or(i64::MAX),
    }
}

/// Returns whether the long sentence was spoken completely.
fn was_finished(stretches: &[Stretch]) -> bool {
    let spoken: i64 =
        stretches.iter().filter(|heard| heard.sound == Sound::Question).map(|heard| heard.end - heard.start).sum();
    spoken as f64 >= WHOLE * super::world::lasts_ms(super::world::OVERLAPPED_SPEECH)
}

fn stretches(noticed: &Noticed) -> Vec<Stretch> {
    let at = |instant: Instant| {
        let (after, before) =
            (instant.saturating_duration_since(noticed.began), noticed.began.saturating_duration_since(instant));
        i64::try_from(after.as_millis()).unwrap_or(i64::MAX) - i64::try_from(before.as_millis()).unwrap_or(i64::MAX)
    };
    let mut stretches: Vec<Stretch> = Vec::new();
    for heard in &noticed.phone.heard {
        let (start, end) = (at(heard.start), at(heard.end));
        match stretches.last_mut() {
            Some(last) if last.sound == heard.sound && start - last.end <= JOINED_MS => last.end = end,
            _ => stretches.push(Stretch { sound: heard.sound, start, end }),
        }
    }
    stretches
}
