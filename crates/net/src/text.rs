//! Decodes untrusted text by the encoding that it declares.

use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{CONTENT_TYPE, HeaderMap};

/// Returns a body as text, without a byte order mark: in the encoding of its mark, else of the `charset` of its content type, else
/// UTF-8. Invalid bytes become U+FFFD.
#[must_use]
pub fn text(content_type: Option<&str>, body: &[u8]) -> String {
    let encoding = content_type.and_then(charset).and_then(|label| Encoding::for_label(label.as_bytes()));
    encoding.unwrap_or(UTF_8).decode(body).0.into_owned()
}

/// Returns the `Content-Type` of a response.
#[must_use]
pub fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

/// Returns the label in `text/html; charset="iso-8859-1"`.
fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_goes_before_a_label_and_a_label_before_utf_8() {
        let utf_16: Vec<u8> = "\u{feff}Müller".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (content_type, body, expected) in [
            (None, "Müller".as_bytes(), "Müller"),
            (Some("application/json"), "\u{feff}{}".as_bytes(), "{}"),
            (Some("text/plain; charset=ISO-8859-1"), b"M\xfcller", "Müller"),
            (Some("text/plain; boundary=x; Charset=\"windows-1252\""), b"M\xfcller \x80", "Müller €"),
            (Some("text/plain; charset=shift_jis"), b"\x93\xfa\x96\x7b", "日本"),
            (Some("text/plain; charset=utf-8"), &utf_16, "Müller"),
            (Some("text/plain; charset=made-up"), "Müller".as_bytes(), "Müller"),
            (Some("text/plain"), b"M\xfcller", "M\u{fffd}ller"),
        ] {
            assert_eq!(text(content_type, body), expected, "{content_type:?}");
        }
    }
}
