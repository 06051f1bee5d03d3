//! How the carrier writes down what it knows.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::flavour::Flavour;
use super::network::{Application, Number, Record};

/// `Tue, 31 Aug 2010 20:36:28 +0000`.
pub(crate) fn date(at: OffsetDateTime) -> String {
    let whole = at.replace_nanosecond(0).expect("0 is in range");
    whole.format(&Rfc2822).expect("a date of this century")
}

/// Whole seconds of conversation.
pub(crate) fn seconds(record: &Record) -> i64 {
    match (record.started, record.ended) {
        (Some(started), Some(ended)) => (ended - started).whole_seconds(),
        _ => 0,
    }
}

/// A call. Where one carrier writes numbers as text, the other does not.
pub(crate) fn call(flavour: Flavour, record: &Record) -> Value {
    let account = flavour.account();
    let uri = format!("{}/Accounts/{account}/Calls/{}.json", flavour.base_path(), record.sid);
    let direction = if record.inbound { "inbound" } else { "outbound-api" };
    let duration = record.ended.map(|_| seconds(record));
    let mut call = json!({
        "sid": record.sid, "account_sid": account, "parent_call_sid": null, "to": record.to, "from": record.from,
        "to_formatted": record.to, "from_formatted": record.from, "phone_number_sid": null, "status": record.status,
        "start_time": record.started.map(date), "end_time": record.ended.map(date),
        "duration": duration.map(|seconds| seconds.to_string()), "price": null, "price_unit": "USD",
        "direction": direction, "answered_by": record.answered_by, "api_version": "2010-04-01",
        "forwarded_from": null, "group_sid": null, "caller_name": null, "queue_time": "0", "trunk_sid": null,
        "uri": uri, "date_created": date(record.created), "date_updated": date(record.created),
        "subresource_uris": { "recordings": uri.replace(".json", "/Recordings.json") },
    });
    if flavour == Flavour::SignalWire {
        call["duration"] = json!(duration);
        call["price"] = json!(0.0);
        call["sip_result_code"] = json!(null);
        call["audio_in_mos"] = json!(null);
        call.as_object_mut().expect("an object").remove("queue_time");
    }
    call
}

/// A page of calls, of which there is only one.
pub(crate) fn page(flavour: Flavour, calls: &[Value]) -> Value {
    let uri = format!("{}/Accounts/{}/Calls.json?PageSize=50&Page=0", flavour.base_path(), flavour.account());
    json!({
        "calls": calls, "end": calls.len().saturating_sub(1), "first_page_uri": uri, "next_page_uri": null, "page": 0,
        "page_size": 50, "previous_page_uri": null, "start": 0, "uri": uri,
    })
}

/// A number of the account.
pub(crate) fn number(flavour: Flavour, number: &Number) -> Value {
    json!({
        "sid": number.sid, "account_sid": flavour.account(), "friendly_name": number.number,
        "phone_number": number.number, "voice_url": number.voice_url, "voice_method": "POST",
        "status_callback": number.status_callback, "status_callback_method": "POST",
        "voice_application_sid": number.application.clone().unwrap_or_default(), "trunk_sid": number.trunk, "capabilities": { "voice": true, "sms": true, "mms": false },
    })
}

/// An application of the account.
pub(crate) fn application(flavour: Flavour, application: &Application) -> Value {
    json!({
        "sid": application.sid, "account_sid": flavour.account(), "friendly_name": application.name,
        "voice_url": application.voice_url, "voice_method": "POST", "status_callback": application.status_callback,
        "status_callback_method": "POST",
    })
}

/// A refusal. The other carrier writes codes as text, and some refusals as a list.
pub(crate) fn refusal(flavour: Flavour, status: u16, code: u32, words: &str) -> Response {
    let more = format!("https://www.twilio.com/docs/errors/{code}");
    let body = match (flavour, status) {
        (Flavour::Twilio, _) => json!({ "code": code, "message": words, "more_info": more, "status": status }),
        (Flavour::SignalWire, 422) => {
            let error = json!({ "type": "validation_error", "code": "10000", "message": words, "attribute": "to" });
            json!({ "errors": [error] })
        }
        (Flavour::SignalWire, _) => json!({ "code": code.to_string(), "message": words, "status": status }),
    };
    answer(status, &body)
}

pub(crate) fn answer(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).expect("a script names one that exists");
    (status, [("Twilio-Concurrent-Requests", "1")], Json(body)).into_response()
}
