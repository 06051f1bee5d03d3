//! JSON media messages, parsed and written without building a tree: there are fifty per second in each direction of a call.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use bytes::BytesMut;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use switchhook_media::g711::Law;

use super::StreamEvent;
use super::codec::Encoding;

/// Reads base64 with or without its padding.
const UNPADDED: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// `media` of a media message, borrowed from its text.
#[derive(serde::Deserialize)]
pub struct MediaField<'t> {
    /// See [`MediaField::is_ours`].
    #[serde(borrow, default)]
    track: Scalar<'t>,
    #[serde(borrow, default)]
    chunk: Scalar<'t>,
    #[serde(borrow)]
    payload: Cow<'t, str>,
}

impl MediaField<'_> {
    /// Decodes the caller's audio into `payload`; the agent's own is ignored.
    ///
    /// # Errors
    /// When it is not base64.
    pub fn audio<'p>(&self, payload: &'p mut Vec<u8>) -> Result<StreamEvent<'p>, base64::DecodeError> {
        if self.is_ours() {
            return Ok(StreamEvent::Ignored);
        }
        payload.clear();
        if UNPADDED.decode_vec(&*self.payload, payload).is_err() {
            payload.clear();
            UNPADDED.decode_vec(of_standard_alphabet(&self.payload), payload)?;
        }
        Ok(StreamEvent::Audio { chunk: self.chunk.whole_number(), payload })
    }

    /// Returns whether it is the agent's audio: `outbound` or `outbound_track`. Anything else is the caller's.
    fn is_ours(&self) -> bool {
        self.track.text().is_some_and(|track| track.starts_with("outbound"))
    }
}

/// Converts base64 with line breaks or in the alphabet for URLs.
fn of_standard_alphabet(payload: &str) -> String {
    let letters = payload.chars().filter(|letter| !letter.is_ascii_whitespace());
    let standard = |letter| match letter {
        '-' => '+',
        '_' => '/',
        other => other,
    };
    letters.map(standard).collect()
}

/// Returns the encoding with this name: a media type with or without `audio/`, `x-` and parameters, or a codec's name.
#[must_use]
pub fn encoding(name: &str) -> Option<Encoding> {
    let name = name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let name = name.strip_prefix("audio/").unwrap_or(&name);
    match name.strip_prefix("x-").unwrap_or(name) {
        "mulaw" | "mu-law" | "ulaw" | "u-law" | "pcmu" => Some(Encoding::G711(Law::Mu)),
        "alaw" | "a-law" | "pcma" => Some(Encoding::G711(Law::A)),
        "l16" => Some(Encoding::L16),
        _ => None,
    }
}

/// Returns a DTMF digit, which some carriers write as a number.
#[must_use]
pub fn dtmf_digit(value: &Value) -> Option<char> {
    let number = value.is_number().then(|| whole_number(value)).flatten().map(|number| number.to_string());
    match number.as_deref().or(value.as_str())?.trim().as_bytes() {
        &[digit @ (b'0'..=b'9' | b'*' | b'#' | b'A'..=b'D' | b'a'..=b'd')] => Some(digit.to_ascii_uppercase().into()),
        _ => None,
    }
}

/// Returns a whole number, also one that is written as text or with a decimal point.
#[must_use]
pub fn whole_number(value: &Value) -> Option<u64> {
    Scalar::deserialize(value).ok()?.whole_number()
}

/// Returns a number of a media format, or its default where it is left out; `None` for anything else.
#[must_use]
pub fn number_or(default: u32, value: &Value) -> Option<u32> {
    if value.is_null() { Some(default) } else { u32::try_from(whole_number(value)?).ok() }
}

/// Appends `payload` to `out` in base64.
pub fn push_base64(payload: &[u8], out: &mut BytesMut) {
    let start = out.len();
    out.resize(start + base64::encoded_len(payload.len(), true).expect("audio is shorter than the address space"), 0);
    STANDARD.encode_slice(payload, &mut out[start..]).expect("as long as was computed");
}

/// Text, borrowed unless it has escapes, or a whole number; any other value is neither. An `Option<Cow<str>>` would never borrow.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Scalar<'t> {
    /// Text.
    Text(Cow<'t, str>),
    /// A whole number that is not negative.
    Number(u64),
    /// Anything else.
    #[default]
    Other,
}

impl Scalar<'_> {
    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the number, which some carriers write as text.
    #[must_use]
    pub fn whole_number(&self) -> Option<u64> {
        match self {
            Self::Text(text) => text.trim().parse().ok(),
            Self::Number(number) => Some(*number),
            Self::Other => None,
        }
    }
}

impl<'de: 't, 't> Deserialize<'de> for Scalar<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(number.to_string().parse().map_or(Scalar::Other, Scalar::Number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
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
            ("7.0", Some(7)),
            ("\" 7\"", Some(7)),
            ("7.5", None),
            ("true", None),
            ("null", None),
            ("[7]", None),
            ("{\"a\":7}", None),
        ] {
            let text = format!(r#"{{"track":"inbound","chunk":{chunk},"payload":"YWJj","timestamp":"5"}}"#);
            let media: MediaField<'_> = serde_json::from_str(&text).expect("readable");
            assert!(matches!((&media.track, &media.payload), (Scalar::Text(Cow::Borrowed(_)), Cow::Borrowed(_))));
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
