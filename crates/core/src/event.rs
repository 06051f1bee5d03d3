//! Call events: their kinds, their data, and the body of a webhook delivery.

pub(crate) mod kind;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Timestamp;
use crate::call::{CarrierCause, Direction, EndReason, EndedBy, ErrorCode, Status};
use crate::id::{AgentId, CallId, DeliveryId};
use crate::phone_number::PhoneNumber;
use crate::private::Private;

pub use self::kind::EventKind;

/// The event name of a test delivery. It is not an event of a call and cannot be subscribed to.
pub const WEBHOOK_TEST: &str = "webhook.test";

/// Facts about a call for its events, from the call's row when the event is recorded.
#[derive(Clone, Debug)]
pub struct CallFacts {
    /// The call.
    pub call_id: CallId,
    /// Its status after the change.
    pub status: Status,
    /// Direction of the call.
    pub direction: Direction,
    /// The agent that holds the conversation.
    pub agent_id: AgentId,
    /// The caller: usually a number, or the carrier's text for hidden numbers.
    pub from: Private<String>,
    /// The callee.
    pub to: PhoneNumber,
    /// The client's metadata, a JSON object.
    pub metadata: Private<Value>,
    /// The summary, in a few sentences; [`NO_CONVERSATION`] for a call without any speech.
    pub summary: Option<Private<String>>,
    /// The outcome in the shape of the agent's analysis schema; JSON null without one.
    pub outcome: Private<Value>,
    /// Time from answer to end.
    pub duration_seconds: u32,
    /// Number of caller turns that the agent answered.
    pub turns: u32,
    /// Why a completed call ended.
    pub end_reason: Option<EndReason>,
    /// Why a failed call failed.
    pub error_code: Option<ErrorCode>,
    /// Error details.
    pub error: Option<Private<String>>,
    /// The carrier's report of the end.
    pub carrier_cause: Option<CarrierCause>,
    /// Its SIP status code.
    pub sip_code: Option<u16>,
    /// The carrier's own code.
    pub carrier_code: Option<String>,
    /// Who hung up, as reported by the carrier.
    pub hung_up_by: Option<EndedBy>,
}

/// The summary of a call without a conversation.
pub const NO_CONVERSATION: &str = "There was no conversation.";
/// The summary of a call whose agent has summaries turned off.
pub const NO_SUMMARY: &str = "Summaries are turned off for this agent.";
/// The summary of a call whose texts were deleted.
pub const WORDS_DELETED: &str = "The words of this call were deleted at the end of their retention.";

/// The `data` of an event: JSON text, serialised once and then embedded byte for byte.
#[derive(Clone)]
pub struct EventData(Box<RawValue>);

impl EventData {
    /// Builds the data of an event of this kind. `sequence` numbers the events of a call.
    #[must_use]
    pub fn new(kind: EventKind, facts: &CallFacts, sequence: u32) -> Self {
        let data = Data {
            call_id: facts.call_id,
            status: facts.status,
            direction: facts.direction,
            agent_id: facts.agent_id,
            from: &facts.from,
            to: &facts.to,
            metadata: facts.metadata.reveal(),
            sequence,
            extras: Extras::of(kind, facts),
        };
        Self(serde_json::value::to_raw_value(&data).expect("maps with text keys and plain values are always JSON"))
    }

    /// Returns the data of a [`WEBHOOK_TEST`] delivery.
    #[must_use]
    pub fn of_test() -> Self {
        let data = serde_json::json!({ "message": "This is a test delivery." });
        Self(serde_json::value::to_raw_value(&data).expect("a literal object is JSON"))
    }

    /// Returns empty data, in place of deleted texts.
    #[must_use]
    pub fn empty() -> Self {
        Self(serde_json::value::to_raw_value(&serde_json::json!({})).expect("a literal object is JSON"))
    }

    /// Parses data from its row.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn from_stored(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    /// Returns the JSON text for the event's row.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// Events contain phone numbers and summaries.
impl std::fmt::Debug for EventData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventData([private])")
    }
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Data<'a> {
    call_id: CallId,
    status: Status,
    direction: Direction,
    agent_id: AgentId,
    from: &'a Private<String>,
    to: &'a PhoneNumber,
    metadata: &'a Value,
    sequence: u32,
    #[serde(flatten)]
    extras: Extras<'a>,
}

/// The additional fields of one kind of event.
#[derive(Serialize)]
#[serde(untagged)]
enum Extras<'a> {
    None {},
    Completed {
        summary: &'a str,
        duration_seconds: u32,
        turns: u32,
        error: (), // JSON null
        end_reason: Option<EndReason>,
        outcome: &'a Value,
    },
    Failed {
        error_code: ErrorCode,
        error: &'a str,
        duration_seconds: u32,
        turns: u32,
    },
    Hangup {
        cause: CarrierCause,
        sip_code: Option<u16>,
        carrier_code: Option<&'a str>,
        hung_up_by: Option<EndedBy>,
    },
}

impl<'a> Extras<'a> {
    fn of(kind: EventKind, facts: &'a CallFacts) -> Self {
        let words = |text: &'a Option<Private<String>>| text.as_ref().map(|text| text.reveal().as_str());
        match kind {
            EventKind::CallQueued | EventKind::CallDialing | EventKind::CallInProgress | EventKind::CallReceived => {
                Self::None {}
            }
            EventKind::CallCompleted => Self::Completed {
                summary: words(&facts.summary).unwrap_or(NO_CONVERSATION),
                duration_seconds: facts.duration_seconds,
                turns: facts.turns,
                error: (),
                end_reason: facts.end_reason,
                outcome: facts.outcome.reveal(),
            },
            EventKind::CallFailed => Self::Failed {
                error_code: facts.error_code.unwrap_or(ErrorCode::UnknownError),
                error: words(&facts.error).unwrap_or_default(),
                duration_seconds: facts.duration_seconds,
                turns: facts.turns,
            },
            EventKind::CarrierHangup => Self::Hangup {
                cause: facts.carrier_cause.unwrap_or(CarrierCause::Failed),
                sip_code: facts.sip_code,
                carrier_code: facts.carrier_code.as_deref(),
                hung_up_by: facts.hung_up_by,
            },
        }
    }
}

/// The body of a webhook delivery: `id`, `event`, `created`, `data`, in this order. Its bytes are frozen when the delivery is
/// created, because every attempt signs the same ones.
#[derive(Serialize)]
pub struct DeliveryBody<'a> {
    /// The delivery's id, also in `X-Voice-Delivery`.
    pub id: DeliveryId,
    /// An [`EventKind`] or [`WEBHOOK_TEST`].
    pub event: &'a str,
    /// When it happened; serialised as Unix seconds.
    #[serde(serialize_with = "unix_seconds")]
    pub created: Timestamp,
    /// The event's data.
    pub data: &'a EventData,
}

impl DeliveryBody<'_> {
    /// Returns the bytes to store, sign and send.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a struct of plain values is always JSON")
    }
}

fn unix_seconds<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.as_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CALL: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
    const AGENT: &str = "01890a5d-ac96-774b-bcce-b302099a8058";

    fn facts() -> CallFacts {
        CallFacts {
            call_id: CALL.parse().expect("a UUID"),
            status: Status::Completed,
            direction: Direction::Outbound,
            agent_id: AGENT.parse().expect("a UUID"),
            from: Private::new("+12025550199".to_owned()),
            to: "+12025550100".parse().expect("a number"),
            metadata: Private::new(json!({ "order": 7 })),
            summary: Some(Private::new("They agreed on ten o'clock.".to_owned())),
            outcome: Private::new(json!({ "agreed": true })),
            duration_seconds: 42,
            turns: 3,
            end_reason: Some(EndReason::CallerHangup),
            error_code: Some(ErrorCode::Busy),
            error: Some(Private::new("The line was busy.".to_owned())),
            carrier_cause: Some(CarrierCause::Normal),
            sip_code: Some(200),
            carrier_code: None,
            hung_up_by: Some(EndedBy::Caller),
        }
    }

    fn data_of(kind: EventKind, facts: &CallFacts) -> Value {
        serde_json::from_str(EventData::new(kind, facts, 5).as_str()).expect("event data is JSON")
    }

    #[test]
    fn every_event_tells_the_same_eight_things_and_some_tell_more() {
        let always = json!({
            "call_id": CALL, "status": "completed", "direction": "outbound", "agent_id": AGENT,
            "from": "+12025550199", "to": "+12025550100", "metadata": { "order": 7 }, "sequence": 5,
        });
        let table = [
            (EventKind::CallQueued, json!({})),
            (EventKind::CallDialing, json!({})),
            (EventKind::CallInProgress, json!({})),
            (EventKind::CallReceived, json!({})),
            (
                EventKind::CallCompleted,
                json!({
                    "summary": "They agreed on ten o'clock.", "duration_seconds": 42, "turns": 3, "error": null,
                    "end_reason": "caller_hangup", "outcome": { "agreed": true },
                }),
            ),
            (
                EventKind::CallFailed,
                json!({ "error_code": "busy", "error": "The line was busy.", "duration_seconds": 42, "turns": 3 }),
            ),
            (
                EventKind::CarrierHangup,
                json!({ "cause": "normal", "sip_code": 200, "carrier_code": null, "hung_up_by": "caller" }),
            ),
        ];
        assert_eq!(table.len(), EventKind::ALL.len());
        for (kind, mut extras) in table {
            extras.as_object_mut().expect("an object").extend(always.as_object().expect("an object").clone());
            assert_eq!(data_of(kind, &facts()), extras, "{kind}");
        }
    }

    #[test]
    fn a_call_without_words_still_has_a_summary() {
        let silent = CallFacts { summary: None, ..facts() };
        assert_eq!(data_of(EventKind::CallCompleted, &silent)["summary"], NO_CONVERSATION);
    }

    #[test]
    fn a_body_has_its_keys_in_order_and_embeds_the_stored_data_byte_for_byte() {
        let stored = r#"{"b": 1,   "a":"\u00e9"}"#;
        let body = DeliveryBody {
            id: CALL.parse().expect("a UUID"),
            event: EventKind::CallCompleted.as_str(),
            created: Timestamp::from_millis(1_700_000_000_999),
            data: &EventData::from_stored(stored.to_owned()).expect("JSON"),
        };
        let expected = format!(r#"{{"id":"{CALL}","event":"call.completed","created":1700000000,"data":{stored}}}"#);
        assert_eq!(String::from_utf8(body.to_bytes()).expect("UTF-8"), expected);
    }

    #[test]
    fn nothing_private_is_printed() {
        let printed = format!("{:?} {:?}", facts(), EventData::new(EventKind::CallCompleted, &facts(), 1));
        for private in ["2025550", "order", "ten o'clock", "agreed", "busy."] {
            assert!(!printed.contains(private), "{private} in {printed}");
        }
    }
}
