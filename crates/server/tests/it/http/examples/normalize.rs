//! The same story each time: other ids, times and addresses.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use switchhook_core::Timestamp;
use uuid::Uuid;

/// When the story happens.
const BEGIN: &str = "2026-01-31T12:00:00.000000Z";
const UUID_LENGTH: usize = 36;

pub(super) struct Normalizer {
    receiver: String,
    ids: BTreeMap<String, String>,
    /// How far its times are moved.
    began: Option<Timestamp>,
}

impl Normalizer {
    pub(super) fn new(receiver: &str) -> Self {
        Self { receiver: receiver.to_owned(), ids: BTreeMap::new(), began: None }
    }

    pub(super) fn normalize(&mut self, mut recorded: Value) -> Value {
        self.began = earliest(&recorded);
        self.change(&mut recorded);
        // Tests have a tenant that may do more than others.
        recorded["Tenant"]["name"] = json!("Acme");
        recorded["Tenant"]["rate_limit"]["limit"] = json!(120);
        recorded["Tenant"]["monthly_calls"]["resets_at"] = json!("2026-02-01T00:00:00.000000Z");
        recorded["ApiKey"]["prefix"] = json!("k3v9x0a1b2c3");
        let created = recorded["CallEvent"]["created_at"].as_str().and_then(|at| Timestamp::parse(at).ok());
        for event in ["CallEvent", "WebhookEvent"] {
            recorded[event]["created"] = json!(created.map(Timestamp::as_seconds));
        }
        recorded
    }

    fn change(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|value| self.change(value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.change(item)),
            Value::String(text) => {
                *text = match Timestamp::parse(text) {
                    Ok(at) => self.moved(at).to_string(),
                    Err(_) if *text == self.receiver => "https://example.com/hooks/calls".to_owned(),
                    Err(_) => self.with_other_ids(text),
                }
            }
            _ => {}
        }
    }

    /// The same time after the story's beginning.
    fn moved(&self, at: Timestamp) -> Timestamp {
        let begin = Timestamp::parse(BEGIN).expect("a time");
        let after = |began: Timestamp| Duration::from_micros(at.as_micros().abs_diff(began.as_micros()));
        self.began.map_or(begin, |began| if at < began { begin - after(began) } else { begin + after(began) })
    }

    fn with_other_ids(&mut self, text: &str) -> String {
        let id = (0..text.len()).find_map(|at| {
            let id = text.get(at..at + UUID_LENGTH)?;
            Uuid::try_parse(id).ok().map(|_| id.to_owned())
        });
        let Some(id) = id else { return text.to_owned() };
        let next = format!("0198c6a0-0000-7000-8000-{:012}", self.ids.len());
        let other = self.ids.entry(id.clone()).or_insert(next);
        text.replace(&id, other)
    }
}

fn earliest(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Object(fields) => fields.values().filter_map(earliest).min(),
        Value::Array(items) => items.iter().filter_map(earliest).min(),
        Value::String(text) => Timestamp::parse(text).ok(),
        _ => None,
    }
}

/// Keeps only what is the same each time: fields, types, and the first of each list.
pub(super) fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.first().map(shape).into_iter().collect(),
        Value::String(_) => "text".into(),
        Value::Number(_) => 0.into(),
        Value::Bool(_) => true.into(),
        Value::Null => Value::Null,
    }
}
