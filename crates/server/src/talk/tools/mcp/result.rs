//! Converts a tool's result for the model: structured content as it is, text up to a length that a caller would listen to.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::talk::tools::MAX_TEXT;

/// The largest result that is forwarded unchanged, in bytes of JSON.
const WHOLE: usize = 16 * 1024;

/// Returns the result for the model.
pub(super) fn to_json(result: &CallToolResult) -> Value {
    let text = result.content.iter().filter_map(words).collect::<Vec<_>>().join("\n");
    if result.is_error == Some(true) {
        return json!({ "error": "The tool failed.", "text": truncate(&text) });
    }
    let written = || serde_json::from_str::<Value>(&text).ok().filter(|value| value.is_object() || value.is_array());
    let facts = result.structured_content.clone().filter(|facts| !facts.is_null()).or_else(written);
    match facts {
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
        let both = json!({ "content": [text("Seven.")], "structuredContent": { "free": 7 } });
        assert_eq!(shown(both), json!({ "free": 7 }));
        let several = json!({ "content": [text("Seven."), picture, resource] });
        assert_eq!(shown(several), json!({ "text": "Seven.\nMenu.", "whole": true }));
        assert_eq!(shown(json!({ "content": [] })), json!({ "ok": true }));
        let failed = json!({ "content": [text("No such day.")], "isError": true });
        assert_eq!(shown(failed), json!({ "error": "The tool failed.", "text": "No such day." }));
        for long in [text(&"x".repeat(50_000)), text(&json!(["x".repeat(50_000)]).to_string())] {
            let result = shown(json!({ "content": [long] }));
            assert_eq!(
                (result["whole"].as_bool(), result["text"].as_str().map(str::len)),
                (Some(false), Some(MAX_TEXT))
            );
        }
    }
}
