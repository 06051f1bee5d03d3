//! Converts a call's row to the facts of its events.

use serde_json::Value;
use switchhook_core::call::{CarrierCause, EndReason, EndedBy, ErrorCode};
use switchhook_core::event::CallFacts;
use switchhook_core::id::AgentId;
use switchhook_core::phone_number::PhoneNumber;

use super::row::{CallRow, word};

impl CallRow {
    /// Returns the facts for its events.
    ///
    /// # Errors
    /// If the row has a value that this program does not know.
    pub fn facts(&self) -> Result<CallFacts, sqlx::Error> {
        let whole = |value: i64| u32::try_from(value).unwrap_or(0);
        Ok(CallFacts {
            call_id: self.call_id(),
            status: self.status()?,
            direction: word(&self.direction, "direction")?,
            agent_id: AgentId::from_uuid(self.agent_id),
            from: self.from_number.clone().into(),
            to: PhoneNumber::parse_or_web(&self.to_number).map_err(|error| sqlx::Error::Decode(error.into()))?,
            metadata: Value::Object(self.request.metadata.clone()).into(),
            summary: self.summary.clone().map(Into::into),
            outcome: self.outcome.as_ref().map_or(Value::Null, |outcome| outcome.0.clone()).into(),
            duration_seconds: whole(self.duration_seconds),
            turns: whole(self.turns),
            end_reason: optional::<EndReason>(self.end_reason.as_deref(), "end_reason")?,
            error_code: optional::<ErrorCode>(self.error_code.as_deref(), "error_code")?,
            error: self.error.clone().map(Into::into),
            carrier_cause: optional::<CarrierCause>(self.carrier_cause.as_deref(), "carrier_cause")?,
            sip_code: self.sip_code.and_then(|code| u16::try_from(code).ok()),
            carrier_code: self.carrier_code.clone(),
            hung_up_by: optional::<EndedBy>(self.hung_up_by.as_deref(), "hung_up_by")?,
        })
    }
}

fn optional<T: std::str::FromStr>(text: Option<&str>, column: &str) -> Result<Option<T>, sqlx::Error> {
    text.map(|text| word(text, column)).transpose()
}
