//! Redacts private data in a log.

use serde_json::Value;

use super::log::{InputLog, InputLogWriter};
use crate::conversation::cascade::CascadeInput;
use crate::conversation::{Input, StrategyInput};
use crate::privacy::Redactor;

/// Fields with ids and names that connect inputs, such as a tool call and its result.
const REFERENCES: &[&str] = &["id", "name", "item", "response", "code"];

impl InputLog {
    /// Returns the log as text, redacted.
    #[must_use]
    pub fn masked(mut self, redactor: &Redactor) -> String {
        self.join_responses(redactor);
        let mut writer = InputLogWriter::default();
        for (at, input) in &self.inputs {
            writer.record(*at, &masked(input, redactor));
        }
        self.header.redacted = true;
        let agent = &mut self.header.agent;
        for text in [Some(&mut agent.greeting.text), agent.answering_machine.message.as_mut()].into_iter().flatten() {
            *text = redactor.zeroed(text);
        }
        writer.finish_at(&self.header, self.ended)
    }

    /// Joins the pieces of a model's text. If the whole text contains private data, all of it moves to the first piece.
    fn join_responses(&mut self, redactor: &Redactor) {
        let mut texts: Vec<(u32, String)> = Vec::new();
        for (_, input) in &self.inputs {
            if let Input::Strategy(StrategyInput::Cascade(CascadeInput::LlmText { turn, text })) = input {
                match texts.last_mut().filter(|(last, _)| last == turn) {
                    Some((_, whole)) => whole.push_str(text),
                    None => texts.push((*turn, text.clone())),
                }
            }
        }
        texts.retain(|(_, whole)| redactor.zeroed(whole) != *whole);
        for (_, input) in &mut self.inputs {
            if let Input::Strategy(StrategyInput::Cascade(CascadeInput::LlmText { turn, text })) = input
                && let Some((_, whole)) = texts.iter_mut().find(|(hidden, _)| hidden == turn)
            {
                *text = redactor.zeroed(&std::mem::take(whole));
            }
        }
    }
}

fn masked(input: &Input, redactor: &Redactor) -> Input {
    let value = serde_json::to_value(input).expect("an input has string keys only");
    serde_json::from_value(masked_value(value, redactor)).unwrap_or(Input::Tick)
}

fn masked_value(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.zeroed(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(|value| masked_value(value, redactor)).collect()),
        Value::Object(fields) => {
            let masked = fields.into_iter().map(|(name, value)| {
                let value = match name.as_str() {
                    reference if REFERENCES.contains(&reference) => value,
                    // No decision depends on them.
                    "arguments" | "result" => Value::Null,
                    _ => masked_value(value, redactor),
                };
                (name, value)
            });
            Value::Object(masked.collect())
        }
        other => other,
    }
}
