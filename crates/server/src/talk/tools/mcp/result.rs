//! Converts a tool's result for the model: structured content as it is, text up to a length that a caller would listen to.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use switchhook_net::lenient_json;

use crate::talk::tools::MAX_TEXT;

/// The largest result that is forwarded unchanged, in bytes of JSON.
const WHOLE: usize = 16 * 1024;
/// The error for the model when the tool reports that it failed.
const FAILED: &str = "The tool failed.";

/// Returns the result for the model.
pub(super) fn to_json(result: &CallToolResult) -> Value {
    let text = result.content.iter().filter_map(words).collect::<Vec<_>>().join("\n");
    let has_text = !text.trim().is_empty();
    let structured = result.structured_content.clone();
    // PHP writes absent facts as an empty list.
    let structured = structured.filter(|facts| !(facts.is_null() || has_text && is_empty(facts)));
    if result.is_error == Some(true) {
        return failure(&text, structured.filter(|facts| !has_text && !is_empty(facts)));
    }
    let written = || lenient_json::from_str::<Value>(&text).ok().filter(|value| value.is_object() || value.is_array());
    match structured.or_else(written) {
        Some(facts) if facts.to_string().len() <= WHOLE => facts,
        Some(facts) => json!({ "text": truncate(&facts.to_string()), "whole": false }),
        None if text.is_empty() => json!({ "ok": true }),
        None => {
            let part = truncate(&text);
            let whole = part.len() == text.len();
            json!({ "text": part, "whole": whole })
        }
    }
}

/// Returns the result of a tool that failed, with the reason that it gives: its details if it has no text.
fn failure(text: &str, details: Option<Value>) -> Value {
    match details {
        Some(details) if details.to_string().len() <= WHOLE => json!({ "error": FAILED, "details": details }),
        Some(details) => json!({ "error": FAILED, "text": truncate(&details.to_string()) }),
        None => json!({ "error": FAILED, "text": truncate(text) }),
    }
}

/// Returns whether a value is an object or a list without contents.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the text of a block; images and audio have none.
fn words(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the beginning of a text.
pub(super) fn truncate(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"content":[{"type":"text","text":"{\"people\":4}"}],"isError":false}"##,
            r##"{"content":[{"type":"text","text":"Booked."},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x:y","text":"z","mimeType":"text/plain"}}],"structuredContent":{"people":4},"isError":true,"_meta":{}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |message| {
            let read: CallToolResult = serde_json::from_slice(message)?;
            Ok::<_, serde_json::Error>(to_json(&read).to_string().len())
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(result: Value) -> Value {
        super::to_json(&serde_json::from_value(result).expect("a result"))
    }

    #[test]
    fn facts_are_reported_as_they_are_and_text_is_cut() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let picture = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let resource = json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "Menu." } });
        assert_eq!(shown(json!({ "content": [text("{\"free\":7}")] })), json!({ "free": 7 }));
        let cut = text(r#"{"note":"Full \ud83d"}"#);
        assert_eq!(shown(json!({ "content": [cut] })), json!({ "note": "Full \u{fffd}" }));
        let both = json!({ "content": [text("Seven.")], "structuredContent": { "free": 7 } });
        assert_eq!(shown(both), json!({ "free": 7 }));
        let several = json!({ "content": [text("Seven."), picture, resource] });
        assert_eq!(shown(several), json!({ "text": "Seven.\nMenu.", "whole": true }));
        assert_eq!(shown(json!({ "content": [] })), json!({ "ok": true }));
        let failed = json!({ "content": [text("No such day.")], "isError": true });
        assert_eq!(shown(failed), json!({ "error": "The tool failed.", "text": "No such day." }));
        let reason = json!({ "code": "FULL", "next_free": "19:30" });
        for (content, structured, expected) in [
            (vec![], reason.clone(), json!({ "error": "The tool failed.", "details": reason })),
            (vec![text(" ")], reason.clone(), json!({ "error": "The tool failed.", "details": reason })),
            (vec![text("Full.")], reason, json!({ "error": "The tool failed.", "text": "Full." })),
            (vec![], json!([]), json!({ "error": "The tool failed.", "text": "" })),
        ] {
            let failed = json!({ "content": content, "structuredContent": structured, "isError": true });
            assert_eq!(shown(failed), expected);
        }
        let long = json!({ "content": [], "structuredContent": { "log": "x".repeat(50_000) }, "isError": true });
        assert_eq!(shown(long)["text"].as_str().map(str::len), Some(MAX_TEXT));
        for nothing in [json!({}), json!([]), json!(null)] {
            let with_text = json!({ "content": [text("Seven.")], "structuredContent": nothing });
            assert_eq!(shown(with_text), json!({ "text": "Seven.", "whole": true }), "{nothing} hides no text");
        }
        assert_eq!(
            shown(json!({ "content": [], "structuredContent": [] })),
            json!([]),
            "without text it is the result"
        );
        for long in [text(&"x".repeat(50_000)), text(&json!(["x".repeat(50_000)]).to_string())] {
            let result = shown(json!({ "content": [long] }));
            assert_eq!(
                (result["whole"].as_bool(), result["text"].as_str().map(str::len)),
                (Some(false), Some(MAX_TEXT))
            );
        }
    }
}
