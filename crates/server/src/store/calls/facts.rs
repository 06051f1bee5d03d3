//! Converts a call's row to the facts of its events.

use serde_json::Value;
use switchhook_core::call::{CarrierCause, EndReason, EndedBy, ErrorCode};
use switchhook_core::event::CallFacts;
use switchhook_core::id::AgentId;
use switchhook_core::phone_number::PhoneNumber;

use super::{CallRow, word};

pub(super) fn of(row: &CallRow) -> Result<CallFacts, sqlx::Error> {
    let whole = |value: i64| u32::try_from(value).unwrap_or(0);
    Ok(CallFacts {
        call_id: row.call_id(),
        status: row.status()?,
        direction: word(&row.direction, "direction")?,
        agent_id: AgentId::from_uuid(row.agent_id),
        from: row.from_number.clone().into(),
        to: PhoneNumber::parse_or_web(&row.to_number).map_err(|error| sqlx::Error::Decode(error.into()))?,
        metadata: Value::Object(row.request.metadata.clone()).into(),
        summary: row.summary.clone().map(Into::into),
        outcome: row.outcome.as_ref().map_or(Value::Null, |outcome| outcome.0.clone()).into(),
        duration_seconds: whole(row.duration_seconds),
        turns: whole(row.turns),
        end_reason: optional::<EndReason>(row.end_reason.as_deref(), "end_reason")?,
        error_code: optional::<ErrorCode>(row.error_code.as_deref(), "error_code")?,
        error: row.error.clone().map(Into::into),
        carrier_cause: optional::<CarrierCause>(row.carrier_cause.as_deref(), "carrier_cause")?,
        sip_code: row.sip_code.and_then(|code| u16::try_from(code).ok()),
        carrier_code: row.carrier_code.clone(),
        hung_up_by: optional::<EndedBy>(row.hung_up_by.as_deref(), "hung_up_by")?,
    })
}

fn optional<T: std::str::FromStr>(text: Option<&str>, column: &str) -> Result<Option<T>, sqlx::Error> {
    text.map(|text| word(text, column)).transpose()
}
