//! The voices of an account (`GET /v2/voices`): ElevenLabs' own, and those that the account created or added.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;

use super::tts::{URL, VOICE};
use crate::adapter_config::AdapterConfig;
use crate::voices::{AskedVoices, Voice, VoiceList, Voices, text};

/// Creates the voice list of a connection.
pub(super) fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Voices>, String> {
    Ok(Arc::new(AskedVoices {
        provider: "elevenlabs",
        http: config.http.clone(),
        // The largest page.
        url: format!("{}/v2/voices?page_size=100", config.base_url(URL)?),
        key: config.key.clone(),
        key_header: (HeaderName::from_static("xi-api-key"), ""),
        headers: HeaderMap::new(),
        read,
        default: config.text("tts_voice")?.unwrap_or(VOICE).to_owned(),
    }))
}

fn read(answer: &Value) -> VoiceList {
    let voices = answer.get("voices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let complete = answer.get("has_more").and_then(Value::as_bool) != Some(true);
    VoiceList { data: voices.iter().filter_map(voice).collect(), complete }
}

fn voice(voice: &Value) -> Option<Voice> {
    let id = text(voice, "voice_id")?;
    let mut languages: Vec<&str> =
        voice.get("verified_languages").and_then(Value::as_array).map_or_else(Vec::new, |all| {
            all.iter().filter_map(|verified| text(verified, "locale").or(text(verified, "language"))).collect()
        });
    if languages.is_empty() {
        languages.extend(voice.get("labels").and_then(|labels| text(labels, "language")));
    }
    languages.sort_unstable();
    languages.dedup();
    let description = text(voice, "description").map(str::to_owned);
    Some(Voice { description, ..Voice::new(id, text(voice, "name").unwrap_or(id), &languages) })
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"has_more":false,"voices":[{"voice_id":"a1","name":"Ann","description":"Calm.","labels":{"language":"en"},"verified_languages":[{"language":"en","locale":"en-US"},{"language":"de"}]}]}"##,
            r##"{"voices":[{"voice_id":"b2","labels":{"language":"fr"},"verified_languages":null,"description":""},7]}"##,
        ])
    },
    read: |messages| crate::fuzz::voices(read, messages),
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_account_has_is_read_whatever_is_missing() {
        let list = read(&json!({ "has_more": true, "voices": [
            { "voice_id": "a1", "name": "Ann", "description": "Calm.", "labels": { "language": "en" },
              "verified_languages": [{ "language": "en", "locale": "en-US" }, { "language": "de" }, { "language": "de" }] },
            { "voice_id": "b2", "labels": { "language": "fr" }, "verified_languages": null, "description": "" },
            { "name": "without an id" }, 7,
        ] }));
        let ann = Voice { description: Some("Calm.".to_owned()), ..Voice::new("a1", "Ann", &["de", "en-US"]) };
        assert_eq!(list, VoiceList { data: vec![ann, Voice::new("b2", "b2", &["fr"])], complete: false });
        assert_eq!(read(&json!([])), VoiceList { data: Vec::new(), complete: true });
    }
}
