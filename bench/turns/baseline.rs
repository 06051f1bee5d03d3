//! Simple ways to end a turn, computed on the same corpus with the same voice activity detection, without a call.

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::FRAME_BYTES;
use switchhook_media::vad::{Vad, VadEvent, VadSettings};

use super::corpus::{Class, Clip, Corpus};
use super::outcome::Outcome;
use super::smart_turn::SmartTurn;

const FRAME_MS: i64 = 20;
const BEFORE_MS: i64 = 1_000;
/// Long enough for the slowest rule.
const AFTER_MS: i64 = 5_000;
/// Smart-turn's own default: an unfinished turn ends after so much silence.
const TIMEOUT_MS: i64 = 3_000;
/// Audio before the speech that the model hears too, its own default.
const PRE_SPEECH_MS: i64 = 500;

/// The rule that ends a turn.
pub(crate) enum Rule<'a> {
    /// So much silence.
    Timer(i64),
    /// Silence of 200 ms if the model gives at least this probability, else [`TIMEOUT_MS`].
    SmartTurn(&'a [Vec<f32>], f32),
}

/// When voice activity detection heard speech begin and stop in an item, in milliseconds from its first sample, and when that
/// was reported.
struct Speech {
    started: Option<i64>,
    stopped: i64,
    reported: i64,
}

/// Applies a rule to every turn. From the decision to the first audio everything takes `after_ms`.
pub(crate) fn apply(corpus: &Corpus, rule: &Rule<'_>, after_ms: i64) -> Vec<Outcome> {
    turns(corpus)
        .enumerate()
        .map(|(number, clip)| judge(clip, &speech(clip, &corpus.room), number, rule, after_ms))
        .collect()
}

pub(crate) fn turns(corpus: &Corpus) -> impl Iterator<Item = &Clip> {
    corpus.clips.iter().filter(|clip| matches!(clip.item.class, Class::Complete | Class::Paused))
}

/// The model's probabilities at every stop of every turn.
pub(crate) fn probabilities(corpus: &Corpus, model: &SmartTurn, done: impl Fn()) -> anyhow::Result<Vec<Vec<f32>>> {
    let one = |clip: &Clip| -> anyhow::Result<Vec<f32>> {
        let samples = clip.samples(&corpus.room, BEFORE_MS as usize, AFTER_MS as usize);
        let at = |ms: i64| usize::try_from((ms + BEFORE_MS).max(0) * 8).unwrap_or(0).min(samples.len());
        let speech = speech(clip, &corpus.room);
        let first = speech.iter().find_map(|speech| speech.started).unwrap_or_default();
        let heard =
            speech.iter().map(|speech| model.probability(&samples[at(first - PRE_SPEECH_MS)..at(speech.reported)]));
        let heard = heard.collect();
        done();
        heard
    };
    turns(corpus).map(one).collect()
}

fn speech(clip: &Clip, room: &[u8]) -> Vec<Speech> {
    let samples = clip.samples(room, BEFORE_MS as usize, AFTER_MS as usize);
    // Smart-turn is asked after 200 ms.
    let settings = VadSettings { stop_silence_ms: 200, ..VadSettings::default() };
    let mut vad = Vad::new(settings);
    let (mut all, mut started) = (Vec::new(), None);
    for (number, frame) in samples.chunks_exact(FRAME_BYTES).enumerate() {
        let now = (number as i64 + 1) * FRAME_MS - BEFORE_MS;
        match vad.push(&CallerAudio(Frame::from_slice(AudioFormat::Narrowband, frame))) {
            Some(VadEvent::SpeechStarted) => started = Some(now),
            Some(VadEvent::SpeechStopped) => {
                let stopped = now - i64::from(settings.stop_silence_ms);
                all.push(Speech { started: started.take(), stopped, reported: now });
            }
            None => {}
        }
    }
    all
}

fn judge(clip: &Clip, speech: &[Speech], number: usize, rule: &Rule<'_>, after_ms: i64) -> Outcome {
    let item = &clip.item;
    let end = i64::from(item.end_ms());
    let (mut turns, mut cut_off, mut latency) = (0, false, None);
    for (position, stop) in speech.iter().enumerate() {
        let resumes = speech.get(position + 1).and_then(|next| next.started).unwrap_or(i64::MAX);
        let ends = match rule {
            Rule::Timer(ms) => (stop.stopped + ms).max(stop.reported),
            Rule::SmartTurn(probabilities, threshold) => {
                let probability = probabilities.get(number).and_then(|all| all.get(position)).copied().unwrap_or(1.0);
                if probability >= *threshold { stop.reported } else { stop.stopped + TIMEOUT_MS }
            }
        };
        if ends >= resumes {
            continue;
        }
        turns += 1;
        let sounds = ends + after_ms;
        // The agent is quiet if the caller is heard again before its first sound.
        if sounds < resumes {
            cut_off |= sounds < end;
            latency = Some(sounds - end);
        }
    }
    Outcome {
        id: item.id.clone(),
        class: item.class,
        kind: item.kind.clone(),
        voice: item.voice.clone(),
        pause_ms: item.pause_ms,
        cut_off,
        split: turns > 1,
        latency_ms: latency.filter(|latency| !cut_off && *latency >= 0),
        answered: latency.is_some(),
        silenced_ms: None,
        ended_sentence: false,
        understood: false,
        said: Vec::new(),
        requests: 0,
        stages: Vec::new(),
        late_ms: 0,
    }
}
