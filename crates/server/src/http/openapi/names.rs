//! The names of schemas as clients see them: a generated type is called by its schema, without the module that it is from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::SCHEMAS;

/// The ends of the names of a page of a list, and of a resource with warnings.
pub(super) const LIST: &str = "List";
pub(super) const WITH_WARNINGS: &str = "WithWarnings";

/// Names that would say too little, or what the code calls things.
const NAMES: [(&str, &str); 42] = [
    ("Analysis", "CallAnalysis"),
    ("AnalysisStatus", "CallAnalysisStatus"),
    ("Attempt", "WebhookDeliveryAttempt"),
    ("Bucket", "StatisticsBucket"),
    ("CarrierPart", "CallCarrier"),
    ("Check", "ConnectionCheck"),
    ("Cost", "MinutesAndCost"),
    ("DecisionEntry", "CallDecision"),
    ("DecisionKind", "CallDecisionKind"),
    ("Decisions", "CallDecisions"),
    ("DeliveryEvent", "WebhookDeliveryEvent"),
    ("DeliveryResource", "WebhookDelivery"),
    ("DeliveryState", "WebhookDeliveryState"),
    ("DeliveryWithAttempts", "WebhookDeliveryWithAttempts"),
    ("Destination", "TransferDestination"),
    ("Direction", "CallDirection"),
    ("EndReason", "CallEndReason"),
    ("EndedBy", "CallEndedBy"),
    ("ErrorCode", "CallFailure"),
    ("EventRow", "CallEvent"),
    ("Events", "CallEvents"),
    ("EvidenceEntry", "CallDecisionEvidence"),
    ("Fallback", "ProviderFallback"),
    ("Figures", "StatisticsFigures"),
    ("Interval", "StatisticsInterval"),
    ("Kind", "ConnectionKind"),
    ("Limits", "AgentLimits"),
    ("NumberResource", "PhoneNumber"),
    ("Phone", "CallAddress"),
    ("Redact", "RedactedKind"),
    ("RoleName", "PersonRole"),
    ("Sample", "CreateVoiceSample"),
    ("Status", "CallStatus"),
    ("Subject", "AttentionSubject"),
    ("SubjectKind", "AttentionSubjectKind"),
    ("ToolCallEntry", "ToolCall"),
    ("TranscriptEntry", "TranscriptLine"),
    ("Transfer", "TransferCall"),
    ("TurnEntry", "TranscriptTurn"),
    ("Used", "UsageFigures"),
    ("Variable", "AgentVariable"),
    ("WitnessEntry", "TranscriptTurnWitness"),
];

/// Renames all schemas and what refers to them.
pub(super) fn rename(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let old = std::mem::take(schemas);
    let names: BTreeMap<String, String> = old.keys().map(|name| (name.clone(), public(name))).collect();
    for (name, schema) in old {
        schemas.insert(public(&name), schema);
    }
    refer(document, &names);
}

fn public(name: &str) -> String {
    if let Some(inner) = name.strip_prefix("List_") {
        return format!("{}{LIST}", public(inner));
    }
    if let Some(inner) = name.strip_prefix("WithWarnings_") {
        return format!("{}{WITH_WARNINGS}", public(inner));
    }
    match NAMES.iter().find(|(old, _)| *old == name) {
        Some((_, new)) => (*new).to_owned(),
        None => name.strip_suffix("Resource").unwrap_or(name).to_owned(),
    }
}

fn refer(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix(SCHEMAS));
            if let Some(new) = name.and_then(|name| names.get(name)) {
                fields.insert("$ref".to_owned(), format!("{SCHEMAS}{new}").into());
            }
            fields.values_mut().for_each(|value| refer(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_schema_has_a_name_that_says_what_it_is() {
        for (name, expected) in [
            ("CallResource", "Call"),
            ("List_CallResource", "CallList"),
            ("List_DeliveryResource", "WebhookDeliveryList"),
            ("WithWarnings_NewApiKey", "NewApiKeyWithWarnings"),
            ("Status", "CallStatus"),
            ("Tool", "Tool"),
        ] {
            assert_eq!(public(name), expected);
        }
    }

    #[test]
    fn no_name_is_given_twice_and_every_entry_is_needed() {
        let before = super::super::described();
        let names = before["components"]["schemas"].as_object().expect("schemas");
        for (old, _) in NAMES {
            assert!(names.contains_key(old), "there is no {old} any more");
        }
        let public: std::collections::BTreeSet<_> = names.keys().map(|name| public(name)).collect();
        assert_eq!(public.len(), names.len());
    }

    #[test]
    fn references_follow() {
        let mut document = json!({ "components": { "schemas": {
            "Status": {}, "List_CallResource": { "items": { "$ref": "#/components/schemas/Status" } },
        } } });
        rename(&mut document);
        let expected = json!({ "components": { "schemas": {
            "CallStatus": {}, "CallList": { "items": { "$ref": "#/components/schemas/CallStatus" } },
        } } });
        assert_eq!(document, expected);
    }
}
