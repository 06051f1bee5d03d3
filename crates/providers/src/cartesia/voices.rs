//! The voices of an account (`GET /voices`): Cartesia's own, and those that the account created.

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::VERSION;
use super::tts::{URL, VOICE};
use crate::adapter_config::AdapterConfig;
use crate::voices::{AskedVoices, Voice, VoiceList, Voices, text};

/// Creates the voice list of a connection.
pub(super) fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Voices>, String> {
    let version = (HeaderName::from_static("cartesia-version"), HeaderValue::from_static(VERSION));
    Ok(Arc::new(AskedVoices {
        provider: "cartesia",
        http: config.http.clone(),
        // The largest page.
        url: format!("{}/voices?limit=100", config.base_url(URL)?),
        key: config.key.clone(),
        key_header: (AUTHORIZATION, "Bearer "),
        headers: HeaderMap::from_iter([version]),
        read,
        default: config.text("tts_voice")?.unwrap_or(VOICE).to_owned(),
    }))
}

fn read(answer: &Value) -> VoiceList {
    // Older versions respond with the bare list.
    let voices = answer.get("data").unwrap_or(answer).as_array().map(Vec::as_slice).unwrap_or_default();
    let complete = answer.get("has_more").and_then(Value::as_bool) != Some(true);
    VoiceList { data: voices.iter().filter_map(voice).collect(), complete }
}

fn voice(voice: &Value) -> Option<Voice> {
    let id = text(voice, "id")?;
    let languages: Vec<&str> = text(voice, "language").into_iter().collect();
    let description = text(voice, "description").map(str::to_owned);
    Some(Voice { description, ..Voice::new(id, text(voice, "name").unwrap_or(id), &languages) })
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"data":[{"id":"6ccb","is_owner":false,"name":"Katie","description":"Calm.","language":"en"},{"name":"x"}],"has_more":true}"##,
            r##"[{"id":"6ccb","name":"Katie","language":"en","description":null}]"##,
        ])
    },
    read: |messages| crate::fuzz::voices(read, messages),
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_and_a_bare_list_are_read() {
        let katie = json!({ "id": "6ccb", "name": "Katie", "language": "en", "description": null });
        let expected = vec![Voice::new("6ccb", "Katie", &["en"])];
        let page = read(&json!({ "data": [katie, { "name": "without an id" }], "has_more": true }));
        assert_eq!(page, VoiceList { data: expected.clone(), complete: false });
        assert_eq!(read(&json!([katie])), VoiceList { data: expected, complete: true });
    }
}
