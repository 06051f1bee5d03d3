//! What a peer and an agent do in a conversation, determined by a seed, and what either must receive of the other.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use switchhook_media::format::AudioFormat;
use switchhook_media::g711::Law;
use tokio::time::sleep;

use super::peer::{BINARY, CLOSE, Line, PING, PONG, TEXT, fragments, frame};
use crate::stream::MESSAGE_LIMIT;
use crate::stream::tests::{Base64, Carrier, Habits, Noise, Number, STREAM, habits, noise};

/// Chunks with one number that come before their numbers are ignored.
const UNCOUNTED: usize = 7;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How chunks of the caller's audio are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// In order, with gaps. Chunks come late and twice.
    Counted,
    /// Every third number is missing.
    Sometimes,
    /// All chunks are the first.
    Constant,
    Absent,
}

/// How a message is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carriage {
    Text,
    /// As text behind a byte order mark.
    Marked,
    Binary,
    /// In fragments with pings between them.
    Fragments,
}

/// How marks of the agent are sent back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Echo {
    Never,
    Once,
    Twice,
    /// Under another name.
    Other,
}

/// How the stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Stop,
    StopAndClose,
    /// Without `stop`.
    Close,
    /// Without a close frame.
    Shut,
    /// The peer answers no pings.
    Mute,
    /// A message that is longer than is read.
    TooLong,
    /// Bytes that are no frame.
    Garbage,
    /// The conversation ends on our side.
    AgentLeaves,
}

/// Something that the peer does.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Audio {
        chunk: Option<u64>,
        /// Distinguishes its audio from that of others.
        serial: u16,
        bytes: usize,
    },
    Key(char),
    /// A mark comes back that was not sent.
    Mark(u64),
    Noise(Noise),
    Ping,
    Pong,
    /// Nothing for some milliseconds.
    Pause(u64),
}

/// Something that the agent does. Marks have its position as their number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
    Audio(i16),
    Mark,
    Clear,
}

/// A step before its place in the stream is determined.
#[derive(Clone, Debug)]
struct Draft {
    step: Step,
    carriage: Carriage,
    /// By how many messages a numbered chunk is late.
    late: usize,
    twice: bool,
    /// Whether the chunk after it is lost.
    lost: bool,
    noise: Option<Noise>,
}

#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) habits: Habits,
    pub(super) numbering: Numbering,
    pub(super) echo: Echo,
    pub(super) ending: Ending,
    /// What comes before the start.
    pub(super) before: Vec<Noise>,
    /// How the start is sent.
    pub(super) start: Carriage,
    pub(super) steps: Vec<(Carriage, Step)>,
    pub(super) says: Vec<Said>,
}

/// What the peer received, with audio that belongs together in one.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Audio(Vec<u8>),
    Other(Value),
}

pub(super) fn audio(serial: u16, bytes: usize) -> Vec<u8> {
    serial.to_le_bytes().into_iter().cycle().take(bytes).collect()
}

fn draft() -> impl Strategy<Value = Draft> {
    let bytes = select(vec![0_usize, 1, 80, 159, 160, 161, 320, 4_000]);
    let step = prop_oneof![
        8 => bytes.prop_map(|bytes| Step::Audio { chunk: None, serial: 0, bytes }),
        1 => select(b"0123456789*#ABCD".to_vec()).prop_map(|key| Step::Key(key.into())),
        1 => (0..5_000_u64).prop_map(Step::Mark),
        1 => select(vec![Step::Ping, Step::Pong]),
    ];
    let seldom = || prop_oneof![9 => Just(false), 1 => Just(true)];
    let noise = prop_oneof![3 => Just(None), 1 => noise().prop_map(Some)];
    (step, carriage(), 0..3_usize, seldom(), seldom(), noise)
        .prop_map(|(step, carriage, late, twice, lost, noise)| Draft { step, carriage, late, twice, lost, noise })
}

fn carriage() -> impl Strategy<Value = Carriage> {
    prop_oneof![
        5 => Just(Carriage::Text),
        1 => select(vec![Carriage::Marked, Carriage::Binary, Carriage::Fragments]),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let numbering = select(vec![
        Numbering::Counted,
        Numbering::Counted,
        Numbering::Sometimes,
        Numbering::Constant,
        Numbering::Absent,
    ]);
    let echo = select(vec![Echo::Never, Echo::Once, Echo::Twice, Echo::Other]);
    let ending = select(vec![
        Ending::Stop,
        Ending::StopAndClose,
        Ending::Close,
        Ending::Shut,
        Ending::Mute,
        Ending::TooLong,
        Ending::Garbage,
        Ending::AgentLeaves,
    ]);
    let changes_nothing = |noise: &Noise| !matches!(noise, Noise::ForeignStop | Noise::SecondStart);
    let before = vec(noise().prop_filter("it would begin or end the stream", changes_nothing), 0..3);
    let phrases = vec((vec(draft(), 1..12), select(vec![50_u64, 300, 1_000, 30_000])), 1..5);
    let said =
        prop_oneof![6 => (-30_000..30_000_i16).prop_map(Said::Audio), 1 => Just(Said::Mark), 1 => Just(Said::Clear)];
    let manners = (habits(), numbering, echo, ending);
    (manners, before, carriage(), phrases, vec(said, 0..40)).prop_map(
        |((habits, numbering, echo, ending), before, start, phrases, says)| {
            let steps = steps(numbering, habits.first_chunk.unwrap_or(1), phrases);
            Script { habits, numbering, echo, ending, before, start, steps, says }
        },
    )
}

/// Puts drafts in the order in which they are sent. Only numbered chunks change places, within a phrase.
fn steps(numbering: Numbering, first: u64, phrases: Vec<(Vec<Draft>, u64)>) -> Vec<(Carriage, Step)> {
    let (mut number, mut serial, mut steps) = (first, 0_u16, Vec::new());
    for (phrase, pause) in phrases {
        let mut ordered = Vec::new();
        for (position, Draft { step, carriage, late, twice, lost, noise }) in phrase.into_iter().enumerate() {
            ordered.extend(noise.map(|noise| (position, (Carriage::Text, Step::Noise(noise)))));
            let Step::Audio { bytes, .. } = step else {
                ordered.push((position, (carriage, step)));
                continue;
            };
            let (chunk, bytes) = match numbering {
                Numbering::Counted => (Some(number), bytes),
                Numbering::Sometimes => ((number % 3 > 0).then_some(number), bytes),
                // Empty ones are not distinguished from repeated ones.
                Numbering::Constant => (Some(1), bytes.max(1)),
                Numbering::Absent => (None, bytes),
            };
            let moves = numbering == Numbering::Counted && serial > 0;
            let audio = (carriage, Step::Audio { chunk, serial, bytes });
            ordered.push((position + if moves { late } else { 0 }, audio.clone()));
            ordered.extend((moves && twice).then_some((position + 3, audio)));
            number += 1 + u64::from(lost);
            serial += 1;
        }
        ordered.sort_by_key(|(position, _)| *position);
        steps.extend(ordered.into_iter().map(|(_, step)| step));
        steps.push((Carriage::Text, Step::Pause(pause)));
    }
    steps
}

pub(super) fn script_of(seed: u64) -> Script {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    script().new_tree(&mut runner).expect("few are refused").current()
}

impl Script {
    pub(super) fn framed(&self, carriage: Carriage, message: &[u8]) -> Vec<u8> {
        let is_text = std::str::from_utf8(message).is_ok();
        match carriage {
            Carriage::Marked if is_text => frame(TEXT, &[BYTE_ORDER_MARK, message].concat()),
            Carriage::Fragments if is_text => fragments(TEXT, message),
            Carriage::Text if is_text && !self.habits.binary => frame(TEXT, message),
            _ => frame(BINARY, message),
        }
    }

    fn media(&self, chunk: Option<u64>, audio: &[u8]) -> Vec<u8> {
        let Habits { stream, track, .. } = &self.habits;
        self.habits.message("media", stream, self.habits.media(track.clone(), chunk, audio))
    }

    pub(super) async fn take(&self, line: &Line, carriage: Carriage, step: &Step) {
        let message = match step {
            Step::Audio { chunk, serial, bytes } => self.media(*chunk, &audio(*serial, *bytes)),
            Step::Key(key) => self.habits.key(*key),
            Step::Mark(mark) => self.habits.mark(*mark),
            Step::Noise(noise) => self.habits.noise(noise),
            Step::Ping => return line.write(&frame(PING, b"peer")).await,
            Step::Pong => return line.write(&frame(PONG, b"peer")).await,
            Step::Pause(ms) => return sleep(Duration::from_millis(*ms)).await,
        };
        line.write(&self.framed(carriage, &message)).await;
    }

    pub(super) async fn end(&self, line: &Line) {
        let stop = self.framed(Carriage::Text, &self.habits.stop());
        let close = frame(CLOSE, &1_000_u16.to_be_bytes());
        match self.ending {
            Ending::Stop => line.write(&stop).await,
            Ending::StopAndClose => line.write(&[stop, close].concat()).await,
            Ending::Close => line.write(&close).await,
            Ending::Shut => line.shut().await,
            Ending::Mute => line.mute(),
            Ending::TooLong => line.write(&frame(TEXT, &vec![b' '; MESSAGE_LIMIT + 1])).await,
            Ending::Garbage => line.write(&[0xff; 16]).await,
            Ending::AgentLeaves => {}
        }
    }

    /// The audio that must be heard: all that was sent, once, in the order of its numbers, in whole frames.
    pub(super) fn expected_samples(&self) -> Vec<i16> {
        let chunk_of = |(_, step): &(Carriage, Step)| match step {
            Step::Audio { chunk, serial, bytes } => Some((*chunk, audio(*serial, *bytes))),
            _ => None,
        };
        let mut sent: Vec<_> = self.steps.iter().filter_map(chunk_of).collect();
        if self.numbering == Numbering::Constant && sent.len() < UNCOUNTED {
            sent.truncate(1);
        }
        if self.numbering == Numbering::Counted {
            // A stream may begin anywhere.
            let first = sent.first().and_then(|(chunk, _)| *chunk);
            let ordered: BTreeMap<_, _> = sent.into_iter().filter(|(chunk, _)| *chunk >= first).collect();
            sent = ordered.into_iter().collect();
        }
        let audio: Vec<u8> = sent.into_iter().flat_map(|(_, audio)| audio).collect();
        let size = AudioFormat::Narrowband.frame_samples();
        audio[..audio.len() / size * size].iter().map(|&byte| Law::Mu.decode(byte)).collect()
    }

    /// The marks that must come back, sorted.
    pub(super) fn expected_marks(&self) -> Vec<u64> {
        let times = match self.echo {
            Echo::Never | Echo::Other => 0,
            Echo::Once => 1,
            Echo::Twice => 2,
        };
        let said = (0_u64..).zip(&self.says).filter(|(_, said)| matches!(said, Said::Mark));
        let echoed = said.flat_map(|(mark, _)| std::iter::repeat_n(mark, times));
        let others =
            self.steps.iter().filter_map(|(_, step)| if let Step::Mark(mark) = step { Some(*mark) } else { None });
        let mut marks: Vec<u64> = echoed.chain(others).collect();
        marks.sort_unstable();
        marks
    }

    pub(super) fn expected_keys(&self) -> String {
        self.steps.iter().filter_map(|(_, step)| if let Step::Key(key) = step { Some(*key) } else { None }).collect()
    }

    pub(super) fn expected_sent(&self) -> Vec<Part> {
        let mut sent = Vec::new();
        for (mark, said) in (0_u64..).zip(&self.says) {
            match said {
                Said::Audio(level) => push_audio(&mut sent, &[Law::Mu.encode(*level); 160]),
                Said::Mark => {
                    let name = json!({ "name": mark.to_string() });
                    sent.push(Part::Other(documented(self.habits.carrier, "mark", Some(name))));
                }
                Said::Clear => sent.push(Part::Other(documented(self.habits.carrier, "clear", None))),
            }
        }
        sent
    }
}

pub(super) fn push_audio(sent: &mut Vec<Part>, audio: &[u8]) {
    if let Some(Part::Audio(before)) = sent.last_mut() {
        before.extend(audio);
    } else {
        sent.push(Part::Audio(audio.to_vec()));
    }
}

/// Returns a message for the carrier, with all its fields.
pub(super) fn documented(carrier: Carrier, event: &str, content: Option<Value>) -> Value {
    let mut message = json!({ "event": event });
    if matches!(carrier, Carrier::Twilio) {
        message["streamSid"] = json!(STREAM);
    }
    if let Some(content) = content {
        message[event] = content;
    }
    message
}

/// A peer that follows the documentation.
pub(super) fn plain(steps: Vec<(Carriage, Step)>) -> Script {
    let habits = Habits {
        carrier: Carrier::Twilio,
        numbers: Number::Text,
        base64: Base64::Standard,
        first_chunk: Some(1),
        encoding: "audio/x-mulaw",
        track: json!("inbound"),
        stream: json!(STREAM),
        binary: false,
        backwards: false,
        further: None,
    };
    let (numbering, echo, ending) = (Numbering::Counted, Echo::Once, Ending::Stop);
    let (before, says) = (Vec::new(), vec![Said::Audio(1_000), Said::Mark]);
    Script { habits, numbering, echo, ending, before, start: Carriage::Text, steps, says }
}

pub(super) fn chunk(number: u16) -> Step {
    Step::Audio { chunk: Some(number.into()), serial: number, bytes: 160 }
}
