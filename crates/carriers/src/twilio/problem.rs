//! Error bodies of refused requests.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

use super::Flavour;
use crate::rest::RestResponse;
use crate::text;

/// The error body of a refused request: in the shape of its old API, in that of RFC 9457, or as SignalWire's
/// list of errors. Empty where it is none of these.
#[derive(Default)]
pub(super) struct Problem {
    /// The carrier's code.
    pub(super) code: Option<String>,
    /// One sentence, perhaps.
    pub(super) message: String,
    /// The field that is wrong.
    field: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProblemBody {
    #[serde(deserialize_with = "lenient_text")]
    code: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    message: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    title: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    detail: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    attribute: Option<String>,
    errors: Vec<ProblemBody>,
}

impl Problem {
    pub(super) fn of(answer: &RestResponse) -> Self {
        let mut body: ProblemBody = answer.json().unwrap_or_default();
        let first = if body.errors.is_empty() { ProblemBody::default() } else { body.errors.swap_remove(0) };
        let message = body.message.or(body.detail).or(body.title).or(first.message).or(first.detail);
        Self {
            code: body.code.or(first.code).map(|code| text::code(&code)),
            message: text::message(&message.unwrap_or_default()),
            field: body.attribute.or(first.attribute),
        }
    }

    /// Whether a field, in lower case, is what is wrong. Where the carrier names none, a sentence that begins with it does.
    pub(super) fn is_about(&self, field: &str) -> bool {
        let named = self.field.as_deref().or_else(|| self.message.split(|char: char| !char.is_alphanumeric()).next());
        named.is_some_and(|named| named.eq_ignore_ascii_case(field))
    }

    /// One sentence. It may quote numbers.
    pub(super) fn words(&self, flavour: Flavour, status: u16) -> String {
        let (name, message) = (flavour.name(), self.message.trim_end_matches('.'));
        match (&self.code, message) {
            (None, "") => format!("{name} returned HTTP status {status}."),
            (None, message) => format!("{name} returned HTTP status {status}: {message}."),
            (Some(code), "") => format!("{name} returned code {code}."),
            (Some(code), message) => format!("{name} {code}: {message}."),
        }
    }
}

/// Text that some send as a number, and some leave out.
pub(super) fn lenient_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> (Option<String>, String) {
        let problem = Problem::of(&RestResponse { status: 400, retry_after: None, body: body.as_bytes().to_vec() });
        (problem.code.clone(), problem.words(Flavour::Twilio, 400))
    }

    #[test]
    fn problems_are_read_in_all_their_shapes() {
        let table = [
            (r#"{"code":21211,"message":"No.","more_info":"x","status":400}"#, Some("21211"), "Twilio 21211: No."),
            (r#"{"message":"No."}"#, None, "Twilio returned HTTP status 400: No."),
            (r#"{"type":"x","title":"T","status":400,"code":20001,"detail":"D"}"#, Some("20001"), "Twilio 20001: D."),
            (r#"{"errors":[{"type":"x","code":"10000","message":"is bad"}]}"#, Some("10000"), "Twilio 10000: is bad."),
            (r#"{"code":"word"}"#, Some("word"), "Twilio returned code word."),
            ("<html>", None, "Twilio returned HTTP status 400."),
            ("", None, "Twilio returned HTTP status 400."),
        ];
        for (body, code, words) in table {
            assert_eq!(problem(body), (code.map(str::to_owned), words.to_owned()), "{body}");
        }
    }
}
