//! The messages of a media websocket (Media Streams, in Twilio's words).
//!
//! Incoming messages are read tolerantly: numbers are text with one carrier and numbers with the other, and ids may be missing. Outgoing ones
//! have exactly the documented fields: others make Twilio drop a message.

use std::borrow::Cow;

use bytes::BytesMut;
use serde::Deserialize;
use serde_json::{Value, json};

use super::twiml::TOKEN;
use crate::stream::codec::StreamFormat;
use crate::stream::media_message::{MediaField, Scalar, dtmf_digit, encoding, number_or, push_base64, whole_number};
use crate::stream::{StreamEvent, StreamProtocol, StreamStart};

/// Media messages that were out of sequence.
const OUT_OF_SEQUENCE: &str = "switchhook_media_messages_out_of_sequence_total";

/// The messages of one stream.
#[derive(Default)]
pub(crate) struct MediaStreams {
    /// The carrier's id of the stream. Nothing is sent before it is known.
    stream: String,
    /// A media message of ours up to its payload.
    before_payload: String,
    /// The number of the next message, from the first one on.
    next: Option<u64>,
    /// How many messages were out of sequence.
    unexpected: u64,
}

/// A media message, borrowed from its text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MediaMessage<'t> {
    #[serde(borrow)]
    event: Cow<'t, str>,
    #[serde(borrow, default)]
    stream_sid: Scalar<'t>,
    #[serde(borrow, default)]
    sequence_number: Scalar<'t>,
    #[serde(borrow)]
    media: MediaField<'t>,
}

impl MediaStreams {
    fn start(&mut self, message: &Value) -> Result<StreamEvent<'static>, &'static str> {
        if !self.stream.is_empty() {
            return Err("a second start on a stream that has begun");
        }
        let start = &message["start"];
        let stream = start["streamSid"].as_str().or(message["streamSid"].as_str());
        let carrier_call_id = start["callSid"].as_str().ok_or("a start without callSid")?.to_owned();
        let format = format(&start["mediaFormat"]).ok_or("a start with an unsupported audio encoding")?;
        stream.ok_or("a start without streamSid")?.clone_into(&mut self.stream);
        self.before_payload = format!(r#"{{"event":"media","streamSid":{},"media":{{"payload":""#, json!(self.stream));
        let token = start["customParameters"][TOKEN].as_str().map(str::to_owned);
        Ok(StreamEvent::Start(StreamStart { carrier_call_id, token, inbound: format, outbound: format }))
    }

    /// Whether a message is of another stream than the one that this websocket began with. One that does not say is not.
    fn is_foreign(&self, stream: Option<&str>) -> bool {
        !self.stream.is_empty() && stream.is_some_and(|stream| stream != self.stream)
    }

    /// Missing messages are counted: they explain bad audio.
    fn count(&mut self, sequence_number: Option<u64>) {
        let Some(number) = sequence_number else { return };
        if self.next.is_some_and(|next| next != number) {
            metrics::counter!(OUT_OF_SEQUENCE).increment(1);
            self.unexpected += 1;
            if self.unexpected == 1 {
                tracing::warn!(expected = self.next, number, "messages of a media stream are missing or repeated");
            }
        }
        self.next = Some(number.saturating_add(1));
    }

    fn media<'p>(
        &mut self,
        message: &MediaMessage<'_>,
        payload: &'p mut Vec<u8>,
    ) -> Result<StreamEvent<'p>, &'static str> {
        if self.is_foreign(message.stream_sid.text()) {
            return Err(OF_ANOTHER_STREAM);
        }
        self.count(message.sequence_number.whole_number());
        message.media.audio(payload).map_err(|_| "media whose payload is not base64")
    }

    /// Reads any message but those of media.
    fn control(&mut self, text: &str) -> Result<StreamEvent<'static>, &'static str> {
        let message: Value = serde_json::from_str(text).map_err(|_| "a message that is no JSON")?;
        if self.is_foreign(message["streamSid"].as_str()) {
            return Err(OF_ANOTHER_STREAM);
        }
        self.count(whole_number(&message["sequenceNumber"]));
        match message["event"].as_str() {
            Some("start") => self.start(&message),
            Some("media") => Err("media without a payload"),
            Some("dtmf") => {
                dtmf_digit(&message["dtmf"]["digit"]).map(StreamEvent::Dtmf).ok_or("a key that telephones do not have")
            }
            // A cleared mark is returned too. Marks of others have names that are not numbers.
            Some("mark") => Ok(whole_number(&message["mark"]["name"]).map_or(StreamEvent::Ignored, StreamEvent::Mark)),
            Some("stop") => Ok(StreamEvent::Stop),
            _ => Ok(StreamEvent::Ignored),
        }
    }
}

const OF_ANOTHER_STREAM: &str = "a message of another stream";

impl StreamProtocol for MediaStreams {
    fn read<'p>(&mut self, text: &str, payload: &'p mut Vec<u8>) -> StreamEvent<'p> {
        let event = match serde_json::from_str::<MediaMessage<'_>>(text) {
            Ok(message) if message.event == "media" => self.media(&message, payload),
            _ => self.control(text),
        };
        event.unwrap_or_else(|why| StreamEvent::Malformed(why.to_owned()))
    }

    fn play(&mut self, payload: &[u8], out: &mut BytesMut) {
        out.extend_from_slice(self.before_payload.as_bytes());
        push_base64(payload, out);
        out.extend_from_slice(br#""}}"#);
    }

    fn mark(&mut self, mark: u64) -> String {
        let stream = json!(self.stream);
        format!(r#"{{"event":"mark","streamSid":{stream},"mark":{{"name":"{mark}"}}}}"#)
    }

    fn clear(&mut self) -> String {
        format!(r#"{{"event":"clear","streamSid":{}}}"#, json!(self.stream))
    }
}

/// Returns the format, which is µ-law at 8 kHz unless it says otherwise; `None` if it is not supported.
fn format(media_format: &Value) -> Option<StreamFormat> {
    if number_or(1, &media_format["channels"])? != 1 {
        return None;
    }
    let coding = match &media_format["encoding"] {
        Value::Null => StreamFormat::MU_LAW.coding,
        name => encoding(name.as_str()?)?,
    };
    Some(StreamFormat { coding, rate: number_or(StreamFormat::MU_LAW.rate, &media_format["sampleRate"])? })
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[&[
            r##"{"event":"connected","protocol":"Call","version":"1.0.0"}"##,
            r##"{"event":"start","sequenceNumber":"1","start":{"accountSid":"AC1","streamSid":"MZ1","callSid":"CA1","tracks":["inbound"],"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},"customParameters":{"token":"abc"}},"streamSid":"MZ1"}"##,
            r##"{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","timestamp":"5","payload":"/38A"},"streamSid":"MZ1"}"##,
            r##"{"event":"dtmf","streamSid":"MZ1","sequenceNumber":"3","dtmf":{"track":"inbound_track","digit":"1"}}"##,
            r##"{"event":"mark","sequenceNumber":"4","streamSid":"MZ1","mark":{"name":"7"}}"##,
            r##"{"event":"stop","sequenceNumber":"6","stop":{"accountSid":"AC1","callSid":"CA1"},"streamSid":"MZ1"}"##,
        ]])
    },
    read: |messages| crate::fuzz::media(&mut MediaStreams::default(), messages),
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START: &str = r#"{"event":"start","sequenceNumber":"1","start":{"accountSid":"AC1","streamSid":"MZ1","callSid":"CA1","tracks":["inbound"],"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},"customParameters":{"token":"abc"}},"streamSid":"MZ1"}"#;

    fn started() -> MediaStreams {
        let mut wire = MediaStreams::default();
        assert!(matches!(wire.read(START, &mut Vec::new()), StreamEvent::Start(_)));
        wire
    }

    fn audio(chunk: Option<u64>, payload: &[u8]) -> StreamEvent<'_> {
        StreamEvent::Audio { chunk, payload }
    }

    #[test]
    fn twilios_stream_is_read_from_its_beginning_to_its_end() {
        let mut wire = MediaStreams::default();
        assert!(
            wire.read(r#"{"event":"connected","protocol":"Call","version":"1.0.0"}"#, &mut Vec::new())
                == StreamEvent::Ignored
        );
        let expected = StreamStart {
            carrier_call_id: "CA1".to_owned(),
            token: Some("abc".to_owned()),
            inbound: StreamFormat::MU_LAW,
            outbound: StreamFormat::MU_LAW,
        };
        assert!(wire.read(START, &mut Vec::new()) == StreamEvent::Start(expected));
        let media = r#"{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","timestamp":"5","payload":"/38A"},"streamSid":"MZ1"}"#;
        assert!(wire.read(media, &mut Vec::new()) == audio(Some(1), &[0xff, 0x7f, 0x00]));
        let dtmf =
            r#"{"event":"dtmf","streamSid":"MZ1","sequenceNumber":"3","dtmf":{"track":"inbound_track","digit":"1"}}"#;
        assert!(wire.read(dtmf, &mut Vec::new()) == StreamEvent::Dtmf('1'));
        assert!(
            wire.read(
                r#"{"event":"mark","sequenceNumber":"4","streamSid":"MZ1","mark":{"name":"7"}}"#,
                &mut Vec::new()
            ) == StreamEvent::Mark(7)
        );
        assert!(
            wire.read(r#"{"event":"of-the-future","sequenceNumber":"5"}"#, &mut Vec::new()) == StreamEvent::Ignored
        );
        let stop =
            r#"{"event":"stop","sequenceNumber":"6","stop":{"accountSid":"AC1","callSid":"CA1"},"streamSid":"MZ1"}"#;
        assert!(wire.read(stop, &mut Vec::new()) == StreamEvent::Stop);
        assert_eq!(wire.unexpected, 0);
    }

    #[test]
    fn a_second_start_and_messages_of_another_stream_change_nothing_and_are_not_heard() {
        let mut wire = started();
        for message in [
            START.to_owned(),
            START.replace("MZ1", "MZ2"),
            r#"{"event":"media","media":{"payload":"/38A"},"streamSid":"MZ2"}"#.to_owned(),
            r#"{"event":"dtmf","dtmf":{"digit":"1"},"streamSid":"MZ2"}"#.to_owned(),
            r#"{"event":"mark","mark":{"name":"7"},"streamSid":"MZ2"}"#.to_owned(),
            r#"{"event":"stop","streamSid":"MZ2"}"#.to_owned(),
        ] {
            assert!(matches!(wire.read(&message, &mut Vec::new()), StreamEvent::Malformed(_)), "{message}");
        }
        assert_eq!(wire.clear(), r#"{"event":"clear","streamSid":"MZ1"}"#);
        assert!(
            wire.read(r#"{"event":"media","media":{"payload":"/38A"},"streamSid":"MZ1"}"#, &mut Vec::new())
                == audio(None, &[0xff, 0x7f, 0x00])
        );
    }

    #[test]
    fn signalwires_stream_leaves_out_what_it_likes() {
        let mut wire = MediaStreams::default();
        let start = r#"{"event":"start","sequenceNumber":1,"start":{"streamSid":"s-1","callSid":"c-1","mediaFormat":{"encoding":"audio/x-L16","sampleRate":"16000","channels":1}}}"#;
        let expected = StreamStart {
            carrier_call_id: "c-1".to_owned(),
            token: None,
            inbound: StreamFormat::L16,
            outbound: StreamFormat::L16,
        };
        assert!(wire.read(start, &mut Vec::new()) == StreamEvent::Start(expected));
        assert!(wire.read(r#"{"event":"media","media":{"payload":"AAE="}}"#, &mut Vec::new()) == audio(None, &[0, 1]));
        assert!(
            wire.read(r#"{"event":"media","media":{"chunk":3,"payload":""}}"#, &mut Vec::new()) == audio(Some(3), &[])
        );
        assert!(
            wire.read(r#"{"event":"dtmf","dtmf":{"digit":"D","duration":2000}}"#, &mut Vec::new())
                == StreamEvent::Dtmf('D')
        );
        assert!(wire.read(r#"{"event":"stop"}"#, &mut Vec::new()) == StreamEvent::Stop);
        assert_eq!(wire.clear(), r#"{"event":"clear","streamSid":"s-1"}"#);
    }

    #[test]
    fn what_is_sent_has_the_documented_fields_and_no_others() {
        let mut wire = started();
        let mut played = BytesMut::new();
        wire.play(&[0xff, 0x7f], &mut played);
        assert_eq!(played, r#"{"event":"media","streamSid":"MZ1","media":{"payload":"/38="}}"#);
        assert_eq!(wire.mark(7), r#"{"event":"mark","streamSid":"MZ1","mark":{"name":"7"}}"#);
        assert_eq!(wire.clear(), r#"{"event":"clear","streamSid":"MZ1"}"#);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_survived() {
        for message in [
            "",
            "[]garbage",
            r#"{"event":"media"}"#,
            r#"{"event":"media","media":{"payload":"***"}}"#,
            r#"{"event":"dtmf","dtmf":{"digit":"12"}}"#,
            r#"{"event":"dtmf"}"#,
            r#"{"event":"start"}"#,
            r#"{"event":"start","start":{"callSid":"CA1"}}"#,
            r#"{"event":"start","start":{"callSid":"CA1","streamSid":"MZ1","mediaFormat":{"encoding":"audio/opus"}}}"#,
            r#"{"event":"start","start":{"callSid":"CA1","streamSid":"MZ1","mediaFormat":{"sampleRate":-1}}}"#,
            r#"{"event":"start","start":{"callSid":"CA1","streamSid":"MZ1","mediaFormat":{"channels":2}}}"#,
        ] {
            assert!(
                matches!(MediaStreams::default().read(message, &mut Vec::new()), StreamEvent::Malformed(_)),
                "{message}"
            );
        }
        for message in ["[]", "{}", "7", r#"{"event":7}"#, r#"{"event":"mark","mark":{"name":"not ours"}}"#] {
            assert!(started().read(message, &mut Vec::new()) == StreamEvent::Ignored, "{message}");
        }
        let ours = r#"{"event":"media","media":{"track":"outbound","payload":"/38A"}}"#;
        assert!(started().read(ours, &mut Vec::new()) == StreamEvent::Ignored, "our own audio is ignored");
    }

    #[test]
    fn messages_that_are_missing_or_repeated_are_counted() {
        let mut wire = started();
        for number in [json!("2"), json!(3), json!("5"), json!("5"), json!(6), json!(u64::MAX), json!("x"), json!(null)]
        {
            let message = json!({ "event": "mark", "sequenceNumber": number, "mark": { "name": "1" } });
            assert!(wire.read(&message.to_string(), &mut Vec::new()) == StreamEvent::Mark(1));
        }
        assert_eq!(wire.unexpected, 3);
    }
}
