//! Bodies of another kind than requested, despite a success status: an error, or the page of another service.

use serde_json::Value;
use switchhook_net::lenient_json;
use url::Url;

use super::{Classified, ErrorMessage, FailureClass, classify_body, is_error};

/// How many characters of a body are quoted.
const QUOTED: usize = 200;

/// Classifies such a body from `url`. `lead` begins the sentence about one that does not say what is wrong.
pub(crate) fn classify_unexpected(body: &str, lead: &str, url: &Url) -> Classified {
    let text = body.trim();
    let parsed = lenient_json::from_str::<Value>(text).ok();
    match parsed.filter(|body| is_error(body) || has_reason(body)) {
        Some(body) => {
            let classified = classify_body(&body);
            Classified { words: ErrorMessage::about(classified.words.without_key(None), url), ..classified }
        }
        None => {
            let quoted = excerpt(text);
            let reason = if quoted.is_empty() { lead.to_owned() } else { format!("{lead}: {quoted}") };
            let words = ErrorMessage::about(reason, url);
            Classified { class: FailureClass::Configuration, words, retry_after: None, busy: None }
        }
    }
}

/// Returns whether a body may say what is wrong, outside the forms of an error.
pub(crate) fn has_reason(body: &Value) -> bool {
    ["message", "detail", "reason", "title"].iter().any(|name| body.get(name).is_some_and(Value::is_string))
}

/// Returns the beginning of a text, or of the visible text of a web page.
pub(crate) fn excerpt(text: &str) -> String {
    let plain = if text.starts_with('<') { without_tags(text) } else { text.to_owned() };
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(QUOTED).collect()
}

fn without_tags(page: &str) -> String {
    let mut plain = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once('<') {
        plain.push_str(before);
        plain.push(' ');
        // Not visible text.
        let lower: String = behind.chars().take(6).collect::<String>().to_ascii_lowercase();
        let hidden = ["script", "style"].into_iter().find(|name| lower.starts_with(name));
        let behind = hidden.and_then(|name| behind.split_once(&format!("</{name}"))).map_or(behind, |(_, after)| after);
        rest = behind.split_once('>').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"error":{"message":"No such voice.","code":404}}"##,
            r##"{"type":"about:blank","title":"Gone","detail":"The voice is gone."}"##,
            r##"<!doctype html><style>b{}</style><title>Sign in</title><b>Welcome</b>"##,
        ])
    },
    read: |messages| {
        let url: Url = "https://speech.example.com/".parse().expect("an address");
        switchhook_fuzz::Read::each_text(messages, |body| {
            Ok::<_, ()>(classify_unexpected(body, "lead", &url).words.without_key(None).len())
        })
    },
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_servers_own_words_are_quoted_with_the_address_and_what_passes_is_asked_again() {
        let url: Url = "https://speech.example.com/v1/audio/speech?key=s3cret".parse().expect("an address");
        for (body, words, retry_after) in [
            (r#"{"error":"No such voice."}"#, "No such voice.", None),
            (
                r#"{"type":"about:blank","title":"No","detail":"Try again in 1s."}"#,
                "Try again in 1s. (about:blank)",
                Some(1),
            ),
            (r#"{"message":"Not Found"}"#, "Not Found", None),
            ("<!doctype html><title>Sign in</title><b>Welcome</b>", "lead: Sign in Welcome", None),
            ("{\"half\":", "lead: {\"half\":", None),
            ("<html></html>", "lead", None),
        ] {
            let classified = classify_unexpected(body, "lead", &url);
            assert_eq!(classified.retry_after, retry_after.map(Duration::from_secs), "{body}");
            let expected = format!("{words} (at https://speech.example.com/v1/audio/speech)");
            assert_eq!(classified.words.without_key(None), expected);
        }
    }
}
