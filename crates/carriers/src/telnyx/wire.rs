//! The messages of Telnyx's media websocket in its `rtp` mode: payloads of RTP packets without their headers.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::BytesMut;
use serde::Deserialize;
use serde_json::Value;

use crate::stream::codec::{Encoding, StreamFormat};
use crate::stream::media_message::{MediaField, Scalar, dtmf_digit, encoding, number_or, push_base64, whole_number};
use crate::stream::{StreamEvent, StreamProtocol, StreamStart};

/// The audio codec of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Pcmu,
    Pcma,
    L16,
}

impl Codec {
    pub(super) const ALL: [Self; 3] = [Self::Pcmu, Self::Pcma, Self::L16];

    /// Returns its name, in capitals as Telnyx requires.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Pcmu => "PCMU",
            Self::Pcma => "PCMA",
            Self::L16 => "L16",
        }
    }

    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.word() == word)
    }

    pub(super) const fn format(self) -> StreamFormat {
        match self {
            Self::Pcmu => StreamFormat::MU_LAW,
            Self::Pcma => StreamFormat::A_LAW,
            Self::L16 => StreamFormat::L16,
        }
    }
}

const OF_ANOTHER_STREAM: &str = "a message of another stream";

/// Returns the bytes of 20 ms: the shortest message that Telnyx accepts.
fn shortest_message(format: StreamFormat) -> usize {
    let samples = usize::try_from(format.rate / 50).unwrap_or(0);
    match format.coding {
        Encoding::G711(_) => samples,
        Encoding::L16 => 2 * samples,
    }
}

fn silence(format: StreamFormat, bytes: usize) -> Vec<u8> {
    match format.coding {
        Encoding::G711(law) => vec![law.encode(0); bytes],
        Encoding::L16 => vec![0; bytes],
    }
}

/// The protocol of a call's websocket.
pub(crate) struct TelnyxWire {
    /// The format that we requested for the agent's audio; once the stream has started, the actual one.
    outbound: StreamFormat,
    /// Whether the stream has begun, and the id in its start message.
    begun: Option<Option<String>>,
}

/// A media message, borrowed from its text.
#[derive(Deserialize)]
struct MediaMessage<'t> {
    #[serde(borrow)]
    event: Cow<'t, str>,
    #[serde(borrow, default)]
    stream_id: Scalar<'t>,
    #[serde(borrow)]
    media: MediaField<'t>,
}

impl StreamProtocol for TelnyxWire {
    fn read<'p>(&mut self, text: &str, payload: &'p mut Vec<u8>) -> StreamEvent<'p> {
        let event = match serde_json::from_str::<MediaMessage<'_>>(text) {
            Ok(message) if message.event == "media" => self.media(&message, payload),
            _ => self.control(text),
        };
        event.unwrap_or_else(|why| StreamEvent::Malformed(why.into_owned()))
    }

    fn play(&mut self, payload: &[u8], out: &mut BytesMut) {
        out.extend_from_slice(br#"{"event":"media","media":{"payload":""#);
        match shortest_message(self.outbound).saturating_sub(payload.len()) {
            0 => push_base64(payload, out),
            // A resampler produces less at its beginning.
            missing => push_base64(&[&silence(self.outbound, missing)[..], payload].concat(), out),
        }
        out.extend_from_slice(br#""}}"#);
    }

    fn mark(&mut self, mark: u64) -> String {
        format!(r#"{{"event":"mark","mark":{{"name":"{mark}"}}}}"#)
    }

    fn clear(&mut self) -> String {
        r#"{"event":"clear"}"#.to_owned()
    }
}

impl TelnyxWire {
    /// Creates the protocol of a stream for which we requested this codec.
    pub(crate) fn new(codec: Codec) -> Self {
        Self { outbound: codec.format(), begun: None }
    }

    /// Returns whether a message names a different stream than the one that this websocket began with.
    fn is_foreign(&self, stream_id: Option<&str>) -> bool {
        let ours = self.begun.as_ref().and_then(Option::as_ref);
        ours.is_some_and(|ours| stream_id.is_some_and(|stream| stream != ours))
    }

    fn media<'p>(
        &self,
        message: &MediaMessage<'_>,
        payload: &'p mut Vec<u8>,
    ) -> Result<StreamEvent<'p>, Cow<'static, str>> {
        if self.is_foreign(message.stream_id.text()) {
            return Err(OF_ANOTHER_STREAM.into());
        }
        message.media.audio(payload).map_err(|_| "media whose payload is not base64".into())
    }

    /// Parses any message except media.
    fn control(&mut self, text: &str) -> Result<StreamEvent<'static>, Cow<'static, str>> {
        let message: Value = serde_json::from_str(text).map_err(|_| "a message that is not JSON")?;
        if self.is_foreign(message["stream_id"].as_str()) {
            return Err(OF_ANOTHER_STREAM.into());
        }
        match message["event"].as_str() {
            Some("start") => self.started(&message),
            Some("media") => Err("media without a payload".into()),
            Some("dtmf") => {
                let digit = dtmf_digit(&message["dtmf"]["digit"]).map(StreamEvent::Dtmf);
                digit.ok_or_else(|| "a key that telephones do not have".into())
            }
            // Marks of others have names that are not numbers.
            Some("mark") => Ok(whole_number(&message["mark"]["name"]).map_or(StreamEvent::Ignored, StreamEvent::Mark)),
            Some("stop") => Ok(StreamEvent::Stop),
            Some("error") => Ok(StreamEvent::Error(complaint(&message["payload"]))),
            _ => Ok(StreamEvent::Ignored),
        }
    }

    fn started(&mut self, message: &Value) -> Result<StreamEvent<'static>, Cow<'static, str>> {
        if self.begun.is_some() {
            return Err("a second start on a stream that has begun".into());
        }
        let start = &message["start"];
        let carrier_call_id = start["call_control_id"].as_str().ok_or("a start without call_control_id")?.to_owned();
        let inbound = inbound_format(&start["media_format"]).ok_or_else(|| {
            let codec = start["media_format"]["encoding"].as_str().unwrap_or("(none)");
            format!("the audio codec {codec} is not supported: set the codecs of Telnyx's application to G.711")
        })?;
        // If Telnyx sends another codec, it could not convert it to ours, but it converts ours to the call's.
        if inbound.coding == self.outbound.coding {
            self.outbound = inbound;
        }
        self.begun = Some(message["stream_id"].as_str().map(str::to_owned));
        let token = start["client_state"].as_str().and_then(token);
        Ok(StreamEvent::Start(StreamStart { carrier_call_id, token, inbound, outbound: self.outbound }))
    }
}

/// Returns the inbound format. Telnyx does not convert between all codecs: it may send the call's instead of the requested one.
fn inbound_format(media_format: &Value) -> Option<StreamFormat> {
    let coding = encoding(media_format["encoding"].as_str()?)?;
    let usual = Codec::ALL.into_iter().map(Codec::format).find(|format| format.coding == coding)?;
    let rate = number_or(usual.rate, &media_format["sample_rate"])?;
    let supported = number_or(1, &media_format["channels"])? == 1 && (coding == Encoding::L16 || rate == usual.rate);
    supported.then_some(StreamFormat { coding, rate })
}

/// Returns the `client_state` given with the dial.
fn token(state: &str) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(state).ok()?).ok()
}

/// Returns an error's code, title and detail.
fn complaint(payload: &Value) -> String {
    let text = |name: &str| match &payload[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    ["code", "title", "detail"].into_iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[&[
            r##"{"event":"connected","version":"1.0.0"}"##,
            r##"{"event":"start","sequence_number":"1","start":{"user_id":"u","call_control_id":"v3:x","call_session_id":"s","from":"+12025550199","to":"+12025550100","tags":[],"client_state":"YWJj","custom_parameters":{},"media_format":{"encoding":"L16","sample_rate":16000,"channels":1}},"stream_id":"s"}"##,
            r##"{"event":"media","sequence_number":"4","media":{"track":"inbound","chunk":"2","timestamp":"5","payload":"YWJjZGVm"},"stream_id":"s"}"##,
            r##"{"event":"dtmf","stream_id":"s","occurred_at":"x","sequence_number":"5","dtmf":{"digit":"1"}}"##,
            r##"{"event":"mark","sequence_number":"4","stream_id":"s","mark":{"name":"7"}}"##,
            r##"{"event":"error","payload":{"code":100003,"title":"malformed_frame","detail":"No."},"stream_id":"s"}"##,
            r##"{"event":"stop","sequence_number":"5","stop":{"user_id":"u","call_control_id":"v3:x"},"stream_id":"s"}"##,
        ]])
    },
    read: |messages| crate::fuzz::media(&mut TelnyxWire::new(Codec::L16), messages),
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> StreamEvent<'static> {
        TelnyxWire::new(Codec::Pcma).read(text, Box::leak(Box::default()))
    }

    fn played(wire: &mut TelnyxWire, payload: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        wire.play(payload, &mut out);
        out
    }

    fn started(encoding: &str, rate: u32) -> Option<StreamStart> {
        started_on(&mut TelnyxWire::new(Codec::Pcma), encoding, rate)
    }

    fn started_on(wire: &mut TelnyxWire, encoding: &str, rate: u32) -> Option<StreamStart> {
        let format = json!({ "encoding": encoding, "sample_rate": rate, "channels": 1 });
        let start = json!({
            "user_id": "u", "call_control_id": "v3:x", "call_session_id": "s", "from": "+12025550199", "to": "+12025550100",
            "tags": [], "client_state": "YWJj", "custom_parameters": {}, "media_format": format,
        });
        let message = json!({ "event": "start", "sequence_number": "1", "start": start, "stream_id": "s" });
        match wire.read(&message.to_string(), &mut Vec::new()) {
            StreamEvent::Start(started) => Some(started),
            _ => None,
        }
    }

    #[test]
    fn a_stream_begins_with_whose_it_is_and_how_it_is_coded() {
        let start = started("PCMU", 8_000).expect("it starts");
        let whose = (start.carrier_call_id.as_str(), start.token.as_deref());
        assert_eq!(
            (whose, start.inbound, start.outbound),
            (("v3:x", Some("abc")), StreamFormat::MU_LAW, StreamFormat::A_LAW)
        );
        assert_eq!(started("L16", 16_000).expect("it starts").inbound, StreamFormat::L16);
        assert!(started("PCMA", 8_000).is_some() && started("pcma", 8_000).is_some());
        assert!(
            started("G722", 8_000).is_none() && started("OPUS", 16_000).is_none() && started("PCMU", 16_000).is_none()
        );
    }

    #[test]
    fn numbers_of_a_start_may_be_text() {
        let format = json!({ "encoding": "PCMU", "sample_rate": "8000", "channels": "1" });
        let start = json!({ "call_control_id": "v3:x", "client_state": "YWJj", "media_format": format });
        let message = json!({ "event": "start", "start": start, "stream_id": "s" });
        assert!(matches!(read(&message.to_string()), StreamEvent::Start(_)));
        let stereo = message.to_string().replace("\"1\"", "\"2\"");
        assert!(matches!(read(&stereo), StreamEvent::Malformed(_)));
    }

    #[test]
    fn the_rate_that_comes_back_counts_in_both_directions() {
        for (rate, bytes) in [(8_000, 320), (16_000, 640), (24_000, 960)] {
            let mut wire = TelnyxWire::new(Codec::L16);
            let start = started_on(&mut wire, "L16", rate).expect("it starts");
            let format = StreamFormat { rate, ..StreamFormat::L16 };
            assert_eq!((start.inbound, start.outbound), (format, format));
            let played: Value = serde_json::from_slice(&played(&mut wire, &[7, 7])).expect("JSON");
            let payload = BASE64_STANDARD.decode(played["media"]["payload"].as_str().expect("text")).expect("base64");
            assert_eq!(payload.len(), bytes, "20 ms at {rate} Hz");
        }
    }

    #[test]
    fn each_message_is_read() {
        let media = |media: &str| {
            read(&format!(r#"{{"event":"media","sequence_number":"4","media":{media},"stream_id":"s"}}"#))
        };
        let audio = StreamEvent::Audio { chunk: Some(2), payload: b"abc" };
        assert!(media(r#"{"track":"inbound","chunk":"2","timestamp":"5","payload":"YWJj"}"#) == audio);
        assert!(media(r#"{"track":"outbound","chunk":"2","timestamp":"5","payload":"YWJj"}"#) == StreamEvent::Ignored);
        assert!(matches!(media(r#"{"track":"inbound","chunk":"2","payload":"?"}"#), StreamEvent::Malformed(_)));
        assert!(read(r#"{"event":"connected","version":"1.0.0"}"#) == StreamEvent::Ignored);
        assert!(
            read(r##"{"event":"dtmf","stream_id":"s","occurred_at":"z","sequence_number":"5","dtmf":{"digit":"#"}}"##)
                == StreamEvent::Dtmf('#')
        );
        assert!(
            read(r#"{"event":"mark","stream_id":"s","sequence_number":"5","mark":{"name":"17"}}"#)
                == StreamEvent::Mark(17)
        );
        assert!(
            read(
                r#"{"event":"stop","sequence_number":"5","stop":{"user_id":"u","call_control_id":"v3:x"},"stream_id":"s"}"#
            ) == StreamEvent::Stop
        );
        let error =
            r#"{"event":"error","payload":{"code":100003,"title":"malformed_frame","detail":"Why"},"stream_id":"s"}"#;
        assert!(read(error) == StreamEvent::Error("100003 malformed_frame Why".to_owned()));
        assert!(read(r#"{"event":"something_new"}"#) == StreamEvent::Ignored);
        assert!(matches!(read("no JSON"), StreamEvent::Malformed(_)));
    }

    #[test]
    fn a_second_start_and_messages_of_another_stream_are_not_heard() {
        let start = |stream: &str| {
            let format = json!({ "encoding": "PCMU", "sample_rate": 8_000, "channels": 1 });
            let start = json!({ "call_control_id": "v3:x", "media_format": format });
            json!({ "event": "start", "start": start, "stream_id": stream }).to_string()
        };
        let media = |stream: &str| {
            format!(r#"{{"event":"media","media":{{"track":"inbound","payload":"YWJj"}},"stream_id":"{stream}"}}"#)
        };
        let mut wire = TelnyxWire::new(Codec::Pcmu);
        assert!(matches!(wire.read(&start("s"), &mut Vec::new()), StreamEvent::Start(_)));
        for message in [
            start("s"),
            start("other"),
            media("other"),
            r#"{"event":"dtmf","dtmf":{"digit":"1"},"stream_id":"other"}"#.to_owned(),
            r#"{"event":"mark","mark":{"name":"1"},"stream_id":"other"}"#.to_owned(),
            r#"{"event":"stop","stream_id":"other"}"#.to_owned(),
        ] {
            assert!(matches!(wire.read(&message, &mut Vec::new()), StreamEvent::Malformed(_)), "{message}");
        }
        assert!(wire.read(&media("s"), &mut Vec::new()) == StreamEvent::Audio { chunk: None, payload: b"abc" });
        assert!(
            wire.read(r#"{"event":"stop"}"#, &mut Vec::new()) == StreamEvent::Stop,
            "one that does not say is of this stream"
        );
    }

    #[test]
    fn what_is_written_has_the_fields_that_telnyx_reads_and_no_others() {
        let mut wire = TelnyxWire::new(Codec::Pcmu);
        let played: Value = serde_json::from_slice(&played(&mut wire, &[7; 160])).expect("JSON");
        assert_eq!(played, json!({ "event": "media", "media": { "payload": BASE64_STANDARD.encode([7; 160]) } }));
        assert_eq!(wire.mark(17), r#"{"event":"mark","mark":{"name":"17"}}"#);
        assert_eq!(wire.clear(), r#"{"event":"clear"}"#);
    }

    #[test]
    fn no_message_is_shorter_than_20_ms() {
        for (codec, bytes, silent) in [(Codec::Pcmu, 160, 0xFF), (Codec::Pcma, 160, 0xD5), (Codec::L16, 640, 0)] {
            let played: Value = serde_json::from_slice(&played(&mut TelnyxWire::new(codec), &[7, 7])).expect("JSON");
            let payload = played["media"]["payload"].as_str().expect("a payload");
            let payload = BASE64_STANDARD.decode(payload).expect("base64");
            assert_eq!((payload.len(), payload[0], payload[bytes - 1]), (bytes, silent, 7), "{codec:?}");
        }
    }
}
