//! Post-call analysis: a summary, which every call has, and an outcome.

use std::time::Duration;

use serde_json::Value;
use switchhook_core::conversation::{Message, Role};
use switchhook_core::event::{NO_CONVERSATION, NO_SUMMARY};
use switchhook_providers::Usage;
use switchhook_providers::json_schema::Schema;

use crate::calls::setup::CallSetup;
use crate::store::calls::{AnalysisResult, AnalysisStatus, TranscriptEntry};
use crate::talk::Report;

/// The model's timeout.
const ANALYSIS_TIMEOUT: Duration = Duration::from_secs(8);
/// How much of one utterance is quoted in a summary that no model wrote, in characters.
const QUOTED: usize = 200;

/// The result of post-call analysis.
pub(super) struct Analysis {
    pub(super) summary: String,
    pub(super) outcome: Option<Value>,
    pub(super) result: AnalysisResult,
    /// The usage of the analysis.
    pub(super) usage: Usage,
}

impl Analysis {
    /// Returns a summary without an analysis because there is nothing to analyse.
    fn skipped(summary: impl Into<String>) -> Self {
        let result = AnalysisResult { status: AnalysisStatus::Skipped, error: None };
        Self { summary: summary.into(), outcome: None, result, usage: Usage::default() }
    }

    /// Returns the result of an analysis that panicked.
    pub(super) fn broken(history: &[Message]) -> Self {
        let result = failed("The analysis stopped with an internal error.");
        Self { summary: extract(history), outcome: None, result, usage: Usage::default() }
    }
}

/// Requests an analysis from the agent's model; if that fails, quotes the caller as the summary.
pub(super) async fn analyse(report: &Report, plan: &CallSetup) -> Analysis {
    let analysis = &plan.talk.agent.analysis;
    if report.history.iter().all(|message| message.role == Role::System) {
        return Analysis::skipped(NO_CONVERSATION);
    }
    if !analysis.summary && analysis.schema.is_none() {
        return Analysis::skipped(NO_SUMMARY);
    }
    if plan.pipeline.llm.is_empty() {
        // A speech-to-speech model cannot analyse a transcript.
        let summary = if analysis.summary { extract(&report.history) } else { NO_SUMMARY.to_owned() };
        return Analysis::skipped(summary);
    }
    let (found, usage) = plan.pipeline.analyse(&report.history, plan.outcome.as_ref(), ANALYSIS_TIMEOUT).await;
    let (written, outcome, mut result) = match found {
        Ok((written, outcome)) => {
            (Some(written), Some(outcome), AnalysisResult { status: AnalysisStatus::Completed, error: None })
        }
        Err(error) => {
            // The error message may quote the conversation.
            let code = error.code().as_str();
            tracing::warn!(code, "post-call analysis failed");
            (None, None, failed(format!("The language model could not analyse the conversation ({code}).")))
        }
    };
    let summary = match written.filter(|written| !written.trim().is_empty()) {
        _ if !analysis.summary => NO_SUMMARY.to_owned(),
        Some(written) => written,
        None => extract(&report.history),
    };
    let outcome = match outcome {
        Some(outcome) if follows(&outcome, plan.outcome.as_ref()).await => Some(outcome),
        Some(outcome) if !outcome.is_null() => {
            result = failed("The outcome does not follow the agent's schema and is left out.");
            None
        }
        _ => None,
    };
    Analysis { summary, outcome, result, usage }
}

fn failed(words: impl Into<String>) -> AnalysisResult {
    AnalysisResult { status: AnalysisStatus::Failed, error: Some(words.into()) }
}

/// Returns whether the outcome matches the schema, which clients rely on.
async fn follows(outcome: &Value, schema: Option<&Schema>) -> bool {
    let Some(schema) = schema else { return true };
    let follows = schema.problems(outcome).await.is_empty();
    if !follows && !outcome.is_null() {
        tracing::warn!("the outcome of a call does not follow the agent's schema and is left out");
    }
    follows
}

/// Returns a summary without a model: the caller's first and last message.
fn extract(history: &[Message]) -> String {
    let mut caller = history.iter().filter(|message| message.role == Role::User);
    let quoted = |message: &Message| {
        let text: String = message.text.chars().take(QUOTED).collect();
        if text.len() < message.text.len() { format!("\"{text}\u{2026}\"") } else { format!("\"{text}\"") }
    };
    match (caller.next(), caller.next_back()) {
        (None, _) => "The agent spoke; the caller said nothing.".to_owned(),
        (Some(only), None) => format!("The caller said: {}.", quoted(only)),
        (Some(first), Some(last)) => {
            format!("The caller began with: {}. Their last words were: {}.", quoted(first), quoted(last))
        }
    }
}

/// Returns such a summary of a conversation of which only the transcript is known.
pub(super) fn extract_of_transcript(said: &[TranscriptEntry]) -> String {
    if said.is_empty() {
        return NO_CONVERSATION.to_owned();
    }
    let role = |entry: &TranscriptEntry| if entry.role == "caller" { Role::User } else { Role::Assistant };
    let history: Vec<Message> = said.iter().map(|entry| Message::new(role(entry), &entry.text)).collect();
    extract(&history)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn without_a_model_the_caller_is_quoted() {
        let say = |role, text: &str| Message::new(role, text);
        let mut history = vec![say(Role::System, "Book."), say(Role::Assistant, "Hello?")];
        assert_eq!(extract(&history), "The agent spoke; the caller said nothing.");
        history.push(say(Role::User, "A table."));
        assert_eq!(extract(&history), "The caller said: \"A table.\".");
        history.extend([say(Role::Assistant, "When?"), say(Role::User, &"\u{e9}".repeat(300))]);
        let summary = extract(&history);
        assert!(summary.starts_with("The caller began with: \"A table.\". Their last words were: \"\u{e9}"));
        assert!(summary.ends_with("\u{e9}\u{2026}\".") && summary.chars().count() < 300, "{summary}");
    }

    #[tokio::test]
    async fn an_outcome_of_another_form_is_none() {
        let schema = Schema::new(&json!({ "type": "object", "required": ["day"] })).expect("a schema");
        assert!(follows(&json!({ "day": 1 }), Some(&schema)).await && !follows(&json!({}), Some(&schema)).await);
        assert!(follows(&json!("anything"), None).await);
    }
}
