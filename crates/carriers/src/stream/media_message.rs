//! JSON media messages, parsed and written without building a tree: there are fifty per second in each direction of a call.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::StreamEvent;

/// `media` of a media message, borrowed from its text.
#[derive(serde::Deserialize)]
pub struct MediaField<'t> {
    /// `inbound` or `outbound`, in the carrier's spelling.
    #[serde(borrow)]
    pub track: Option<Text<'t>>,
    #[serde(default)]
    chunk: WholeNumber,
    #[serde(borrow)]
    payload: Cow<'t, str>,
}

impl MediaField<'_> {
    /// Decodes the caller's audio into `payload`.
    ///
    /// # Errors
    /// When it is not base64.
    pub fn audio<'p>(&self, payload: &'p mut Vec<u8>) -> Result<StreamEvent<'p>, base64::DecodeError> {
        payload.clear();
        STANDARD.decode_vec(&*self.payload, payload)?;
        Ok(StreamEvent::Audio { chunk: self.chunk.0, payload })
    }
}

/// Text, borrowed unless it has escapes. An `Option<Cow<str>>` would never borrow.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct Text<'t>(#[serde(borrow)] pub Cow<'t, str>);

/// Appends `payload` to `out` in base64.
pub fn push_base64(payload: &[u8], out: &mut BytesMut) {
    let start = out.len();
    out.resize(start + base64::encoded_len(payload.len(), true).expect("audio is shorter than the address space"), 0);
    STANDARD.encode_slice(payload, &mut out[start..]).expect("as long as was computed");
}

/// A whole number that some carriers write as text; `None` for any other value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholeNumber(pub Option<u64>);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeNumberVisitor)
    }
}

struct WholeNumberVisitor;

impl<'de> Visitor<'de> for WholeNumberVisitor {
    type Value = WholeNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E>(self, number: u64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(Some(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<WholeNumber, E> {
        Ok(WholeNumber(text.parse().ok()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_unit<E>(self) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WholeNumber, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(WholeNumber(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WholeNumber, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(WholeNumber(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_field_is_borrowed_and_its_number_may_be_anything() {
        for (chunk, expected) in [
            ("7", Some(7)),
            ("\"7\"", Some(7)),
            ("-7", None),
            ("7.5", None),
            ("null", None),
            ("[7]", None),
            ("{\"a\":7}", None),
        ] {
            let text = format!(r#"{{"track":"inbound","chunk":{chunk},"payload":"YWJj","timestamp":"5"}}"#);
            let media: MediaField<'_> = serde_json::from_str(&text).expect("readable");
            assert!(matches!((&media.track, &media.payload), (Some(Text(Cow::Borrowed(_))), Cow::Borrowed(_))));
            let mut payload = b"what was there before".to_vec();
            assert!(
                media.audio(&mut payload) == Ok(StreamEvent::Audio { chunk: expected, payload: b"abc" }),
                "{chunk}"
            );
        }
        let escaped: MediaField<'_> = serde_json::from_str(r#"{"payload":"\/38A"}"#).expect("readable");
        let mut payload = Vec::new();
        assert!(escaped.audio(&mut payload) == Ok(StreamEvent::Audio { chunk: None, payload: &[0xff, 0x7f, 0x00] }));
    }

    #[test]
    fn messages_that_were_sent_give_their_memory_back() {
        let mut out = BytesMut::new();
        let mut addresses = std::collections::BTreeSet::new();
        for _ in 0..100 {
            out.extend_from_slice(b"{\"payload\":\"");
            push_base64(&[0x7f; 160], &mut out);
            let message = out.split().freeze();
            addresses.insert(message.as_ptr());
        }
        assert!(addresses.len() <= 4, "{} buffers for 100 messages", addresses.len());
    }
}
