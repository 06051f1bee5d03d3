//! Media streams as carriers send them against their documentation: in other types, forms and orders, between messages that mean nothing. The
//! caller is heard whole, each key and mark counts once, and each message that cannot be read is counted.

mod wild;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use super::codec::StreamFormat;
use super::reorder::{Chunk, ReorderBuffer};
use super::{StreamEvent, StreamProtocol};
use crate::telnyx::wire::{Codec, TelnyxWire};
use crate::twilio::wire::MediaStreams;

const STREAM: &str = "MZ1";
const CALL: &str = "CA1";
const TOKEN: &str = "abc";

#[derive(Clone, Copy, Debug)]
enum Carrier {
    Twilio,
    Telnyx,
}

impl Carrier {
    fn protocol(self) -> Box<dyn StreamProtocol> {
        match self {
            Self::Twilio => Box::new(MediaStreams::default()),
            Self::Telnyx => Box::new(TelnyxWire::new(Codec::Pcmu)),
        }
    }
}

/// How a number is written.
#[derive(Clone, Copy, Debug)]
enum Number {
    Plain,
    Text,
    Padded,
    Decimal,
}

impl Number {
    fn write(self, number: u64) -> Value {
        match self {
            Self::Plain => json!(number),
            Self::Text => json!(number.to_string()),
            Self::Padded => json!(format!(" {number} ")),
            Self::Decimal => serde_json::from_str(&format!("{number}.0")).expect("a number"),
        }
    }
}

/// How audio is written.
#[derive(Clone, Copy, Debug)]
enum Base64 {
    Standard,
    Unpadded,
    ForUrls,
    InLines,
}

impl Base64 {
    fn write(self, audio: &[u8]) -> String {
        match self {
            Self::Standard => BASE64_STANDARD.encode(audio),
            Self::Unpadded => BASE64_STANDARD_NO_PAD.encode(audio),
            Self::ForUrls => BASE64_URL_SAFE_NO_PAD.encode(audio),
            Self::InLines => {
                let whole = BASE64_STANDARD.encode(audio);
                whole.as_bytes().chunks(76).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\r\n")
            }
        }
    }
}

/// What a stream does throughout.
#[derive(Clone, Debug)]
struct Habits {
    carrier: Carrier,
    numbers: Number,
    base64: Base64,
    /// The number of the first chunk, where chunks are numbered.
    first_chunk: Option<u64>,
    encoding: &'static str,
    /// Values for the track of the caller's audio.
    track: Value,
    /// What messages say of their stream.
    stream: Value,
    /// Whether messages are binary.
    binary: bool,
    /// Whether fields are written from the last to the first.
    backwards: bool,
    /// A field of the future, in each object.
    further: Option<Value>,
}

/// Something that the caller or the telephone network does.
#[derive(Clone, Debug)]
enum Fact {
    Audio(Vec<u8>),
    Key(char),
    Mark(u64),
}

/// A fact, and what happens to its message.
#[derive(Clone, Debug)]
struct Sent {
    fact: Fact,
    /// By how many messages a numbered chunk is late.
    late: usize,
    /// Whether a numbered chunk comes twice.
    twice: bool,
    /// What comes before it.
    noise: Option<Noise>,
}

/// A message that changes nothing.
#[derive(Clone, Debug)]
enum Noise {
    Unknown(Value),
    Garbage(&'static str),
    Agent,
    ForeignStop,
    ForeignMedia,
    SecondStart,
    MarkOfOthers,
    NoPayload,
    WrongKey,
    Bytes,
}

impl Noise {
    fn is_unreadable(&self) -> bool {
        !matches!(self, Self::Unknown(_) | Self::Agent | Self::MarkOfOthers)
    }
}

impl Habits {
    fn name<'n>(&self, twilio: &'n str, telnyx: &'n str) -> &'n str {
        match self.carrier {
            Carrier::Twilio => twilio,
            Carrier::Telnyx => telnyx,
        }
    }

    /// Writes an object with its fields in the order of the stream.
    fn object(&self, fields: &[(&str, Value)]) -> String {
        let mut written: Vec<_> = fields.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
        written.extend(self.further.as_ref().map(|value| format!("\"x-further\":{value}")));
        if self.backwards {
            written.reverse();
        }
        format!(" {{{}}}\n", written.join(" , "))
    }

    fn value(&self, fields: &[(&str, Value)]) -> Value {
        serde_json::from_str(&self.object(fields)).expect("an object")
    }

    fn message(&self, event: &str, stream: &Value, content: Value) -> Vec<u8> {
        let named = (self.name("streamSid", "stream_id"), stream.clone());
        self.object(&[("event", json!(event)), named, (event, content)]).into_bytes()
    }

    fn start(&self) -> Vec<u8> {
        let number = |number| self.numbers.write(number);
        let rate = (self.name("sampleRate", "sample_rate"), number(8_000));
        let format = self.value(&[("encoding", json!(self.encoding)), rate, ("channels", number(1))]);
        let start = match self.carrier {
            Carrier::Twilio => self.value(&[
                ("streamSid", json!(STREAM)),
                ("callSid", json!(CALL)),
                ("mediaFormat", format),
                ("customParameters", json!({ "token": TOKEN, "further": [1] })),
            ]),
            Carrier::Telnyx => self.value(&[
                ("call_control_id", json!(CALL)),
                ("client_state", json!(BASE64_STANDARD.encode(TOKEN))),
                ("media_format", format),
            ]),
        };
        self.message("start", &json!(STREAM), start)
    }

    fn media(&self, track: Value, chunk: Option<u64>, audio: &[u8]) -> Value {
        let payload = ("payload", json!(self.base64.write(audio)));
        let chunk = chunk.map_or(Value::Null, |chunk| self.numbers.write(chunk));
        self.value(&[("track", track), ("chunk", chunk), payload, ("timestamp", json!("5"))])
    }

    fn key(&self, key: char) -> Vec<u8> {
        let digit = key.to_digit(10).map_or(json!(key), |digit| self.numbers.write(digit.into()));
        self.message("dtmf", &self.stream, self.value(&[("digit", digit)]))
    }

    fn mark(&self, mark: u64) -> Vec<u8> {
        self.message("mark", &self.stream, self.value(&[("name", self.numbers.write(mark))]))
    }

    fn connected(&self) -> Vec<u8> {
        self.message("connected", &Value::Null, json!("1.0.0"))
    }

    fn stop(&self) -> Vec<u8> {
        self.message("stop", &self.stream, Value::Null)
    }

    fn noise(&self, noise: &Noise) -> Vec<u8> {
        let other = json!("MZ2");
        match noise {
            Noise::Unknown(value) => self.message("of-the-future", &self.stream, value.clone()),
            Noise::Garbage(text) => text.as_bytes().to_vec(),
            Noise::Agent => {
                let track = json!(self.name("outbound_track", "outbound"));
                self.message("media", &self.stream, self.media(track, Some(7), b"agent"))
            }
            Noise::ForeignStop => self.message("stop", &other, json!({})),
            Noise::ForeignMedia => self.message("media", &other, self.media(self.track.clone(), Some(7), b"other")),
            Noise::SecondStart => self.start(),
            Noise::MarkOfOthers => self.message("mark", &self.stream, json!({ "name": "theirs" })),
            Noise::NoPayload => self.message("media", &self.stream, json!({ "track": "inbound", "payload": null })),
            Noise::WrongKey => self.message("dtmf", &self.stream, json!({ "digit": "12" })),
            Noise::Bytes => vec![0xff, 0x00, 0x7f],
        }
    }

    /// Returns the messages of a whole stream.
    fn messages(&self, sent: &[Sent]) -> Vec<Vec<u8>> {
        let (mut chunk, mut ordered) = (self.first_chunk, Vec::new());
        for (position, Sent { fact, late, twice, noise }) in sent.iter().enumerate() {
            ordered.extend(noise.iter().map(|noise| (position, self.noise(noise))));
            let is_first = chunk == self.first_chunk;
            match fact {
                Fact::Audio(audio) => {
                    let message = self.message("media", &self.stream, self.media(self.track.clone(), chunk, audio));
                    let numbered = chunk.is_some() && !is_first;
                    ordered.push((position + if numbered { *late } else { 0 }, message.clone()));
                    ordered.extend((chunk.is_some() && *twice).then_some((position + 3, message)));
                    chunk = chunk.map(|chunk| chunk + 1);
                }
                Fact::Key(key) => ordered.push((position, self.key(*key))),
                Fact::Mark(mark) => ordered.push((position, self.mark(*mark))),
            }
        }
        ordered.sort_by_key(|(position, _)| *position);
        let between = ordered.into_iter().map(|(_, message)| message);
        [self.connected(), self.start()].into_iter().chain(between).chain([self.stop()]).collect()
    }
}

/// What is heard of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    audio: Vec<u8>,
    keys: String,
    marks: Vec<u64>,
    unreadable: usize,
}

fn hear(protocol: &mut dyn StreamProtocol, binary: bool, messages: &[Vec<u8>]) -> Result<Heard, TestCaseError> {
    let (mut heard, mut reorder, mut payload) = (Heard::default(), ReorderBuffer::default(), Vec::new());
    let (mut begun, mut over) = (false, false);
    for message in messages {
        prop_assert!(!over, "a stream ends before its last message");
        let event = match std::str::from_utf8(message) {
            Ok(text) if !binary => protocol.read(text, &mut payload),
            _ => protocol.read_binary(message, &mut payload),
        };
        match event {
            StreamEvent::Start(start) => {
                prop_assert_eq!((start.carrier_call_id.as_str(), start.token.as_deref()), (CALL, Some(TOKEN)));
                prop_assert_eq!((start.inbound, start.outbound), (StreamFormat::MU_LAW, StreamFormat::MU_LAW));
                begun = true;
            }
            StreamEvent::Audio { chunk, payload } => reorder.push(chunk, payload, |chunk| match chunk {
                Chunk::Audio(audio) => heard.audio.extend(audio),
                Chunk::Lost(_) => heard.unreadable += 1,
            }),
            StreamEvent::Dtmf(key) => heard.keys.push(key),
            StreamEvent::Mark(mark) => heard.marks.push(mark),
            StreamEvent::Malformed(_) => heard.unreadable += 1,
            StreamEvent::Stop => over = true,
            StreamEvent::Ignored | StreamEvent::Error(_) => {}
        }
    }
    prop_assert!(begun && over);
    Ok(heard)
}

fn expected(sent: &[Sent]) -> Heard {
    let mut heard = Heard::default();
    for Sent { fact, noise, .. } in sent {
        heard.unreadable += usize::from(noise.as_ref().is_some_and(Noise::is_unreadable));
        match fact {
            Fact::Audio(audio) => heard.audio.extend(audio),
            Fact::Key(key) => heard.keys.push(*key),
            Fact::Mark(mark) => heard.marks.push(*mark),
        }
    }
    heard
}

fn json_of_any_type() -> impl Strategy<Value = Value> {
    select(vec![json!(null), json!(7), json!(-1.5), json!(true), json!("text"), json!([1, null]), json!({ "a": {} })])
}

fn habits() -> impl Strategy<Value = Habits> {
    let encodings = vec!["audio/x-mulaw", "audio/x-MULAW", "PCMU", "pcmu", "audio/PCMU;rate=8000", "mulaw", "ulaw"];
    let tracks = vec![json!("inbound"), json!("inbound_track"), json!(null), json!(1)];
    let streams = vec![json!(STREAM), json!(null), json!(1)];
    let numbers = select(vec![Number::Plain, Number::Text, Number::Padded, Number::Decimal]);
    let base64 = select(vec![Base64::Standard, Base64::Unpadded, Base64::ForUrls, Base64::InLines]);
    let names = (select(vec![Carrier::Twilio, Carrier::Telnyx]), select(encodings), select(tracks), select(streams));
    let forms = (numbers, base64, select(vec![None, Some(0), Some(1), Some(4_000_000_000)]));
    let whole = (any::<bool>(), any::<bool>(), proptest::option::of(json_of_any_type()));
    (names, forms, whole).prop_map(
        |((carrier, encoding, track, stream), (numbers, base64, first_chunk), (binary, backwards, further))| Habits {
            carrier,
            numbers,
            base64,
            first_chunk,
            encoding,
            track,
            stream,
            binary,
            backwards,
            further,
        },
    )
}

fn noise() -> impl Strategy<Value = Noise> {
    let garbage = vec!["", "ping", "{", r#"{"event":"media","media":"#];
    prop_oneof![
        3 => json_of_any_type().prop_map(Noise::Unknown),
        1 => select(garbage).prop_map(Noise::Garbage),
        5 => select(vec![
            Noise::Agent, Noise::ForeignStop, Noise::ForeignMedia, Noise::SecondStart, Noise::MarkOfOthers, Noise::NoPayload,
            Noise::WrongKey, Noise::Bytes,
        ]),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let fact = prop_oneof![
        8 => vec(any::<u8>(), 0..400).prop_map(Fact::Audio),
        1 => select(b"0123456789*#ABCD".to_vec()).prop_map(|key| Fact::Key(key.into())),
        1 => (0..5_000_u64).prop_map(Fact::Mark),
    ];
    let twice = prop_oneof![9 => Just(false), 1 => Just(true)];
    let noise = prop_oneof![3 => Just(None), 1 => noise().prop_map(Some)];
    (fact, 0..3_usize, twice, noise).prop_map(|(fact, late, twice, noise)| Sent { fact, late, twice, noise })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn callers_on_loose_streams_are_heard_whole(habits in habits(), sent in vec(sent(), 1..40)) {
        let heard = hear(&mut *habits.carrier.protocol(), habits.binary, &habits.messages(&sent))?;
        prop_assert_eq!(heard, expected(&sent));
    }
}
