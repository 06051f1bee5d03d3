//! The carrier's records of calls, numbers and the account, read tolerantly: numbers come as text or as numbers.

use std::time::Duration;

use serde::Deserialize;
use switchhook_core::Timestamp;
use switchhook_core::call::{Hangup, TransferLegState};
use switchhook_core::phone_number::PhoneNumber;
use time::OffsetDateTime;
use time::format_description::well_known::{Rfc2822, Rfc3339};

use super::Flavour;
use super::causes::{self, CallEnd};
use super::problem::lenient_text;
use crate::{FoundLeg, TransferLeg, text};

/// A call may have been created this much earlier than we say, by the carrier's clock.
const CLOCKS_DIFFER: Duration = Duration::from_secs(5);

/// A page of calls.
#[derive(Deserialize)]
pub(super) struct Calls {
    pub(super) calls: Vec<CallRecord>,
}

/// A call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CallRecord {
    #[serde(deserialize_with = "lenient_text")]
    pub(super) sid: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    status: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    from: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    to: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    direction: Option<String>,
    /// The call whose `<Dial>` created this one.
    #[serde(deserialize_with = "lenient_text")]
    parent_call_sid: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    date_created: Option<String>,
    #[serde(deserialize_with = "lenient_text")]
    queue_time: Option<String>,
    /// From the answer to the end, in seconds.
    #[serde(deserialize_with = "lenient_text")]
    duration: Option<String>,
    /// SignalWire's only.
    #[serde(deserialize_with = "lenient_text")]
    sip_result_code: Option<String>,
}

impl CallRecord {
    /// How long the call waits in the carrier's queue, in milliseconds.
    pub(super) fn queue_time_ms(&self) -> u64 {
        self.queue_time.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Returns the leg; `None` if the record lacks its id or status.
    pub(super) fn found(self, flavour: Flavour) -> Option<FoundLeg> {
        let (carrier_call_id, status) = (self.sid.filter(|sid| text::is_id(sid))?, self.status?);
        let sip_code = self.sip_result_code.and_then(|code| code.parse().ok());
        let end = CallEnd { status: &status, sip_code, code: None };
        let duration_seconds = self.duration.and_then(|seconds| seconds.parse().ok());
        let ended = causes::is_terminal(&status).then(|| Hangup { duration_seconds, ..end.hangup(flavour) });
        Some(FoundLeg { carrier_call_id, ended, certain: false })
    }

    /// Returns whether a `<Dial>` of this call created it.
    pub(super) fn is_of(&self, parent: &str) -> bool {
        self.parent_call_sid.as_deref() == Some(parent)
    }

    /// Returns it as the leg to the number of a transfer. One that is completed was answered.
    pub(super) fn transfer_leg(self) -> TransferLeg {
        let state = match self.status.as_deref() {
            Some("in-progress" | "answered" | "completed") => TransferLegState::Connected,
            Some("queued" | "initiated" | "ringing") => TransferLegState::Ringing,
            Some(status) if causes::is_terminal(status) => TransferLegState::Ended,
            _ => TransferLegState::Unknown,
        };
        TransferLeg { carrier_call_id: self.sid.filter(|sid| text::is_id(sid)), state }
    }

    /// Returns whether it may be a call of ours between these numbers that was intended at `dialing_at`.
    pub(super) fn may_be(&self, from: &PhoneNumber, to: &PhoneNumber, dialing_at: Timestamp) -> bool {
        // One account may own both numbers: the other one's side of the call is listed too.
        let placed = self.direction.as_deref().is_none_or(|direction| direction == "outbound-api");
        let between = self.from.as_deref() == Some(from.reveal()) && self.to.as_deref() == Some(to.reveal());
        placed && between && self.created_at().is_some_and(|created| created >= earlier(dialing_at, CLOCKS_DIFFER))
    }

    fn created_at(&self) -> Option<Timestamp> {
        let text = self.date_created.as_deref()?;
        let time = OffsetDateTime::parse(text, &Rfc2822).or_else(|_| OffsetDateTime::parse(text, &Rfc3339)).ok()?;
        Some(Timestamp::from_micros(i64::try_from(time.unix_timestamp_nanos() / 1_000).ok()?))
    }
}

fn earlier(time: Timestamp, by: Duration) -> Timestamp {
    Timestamp::from_micros(time.as_micros().saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
}

/// A page of the account's numbers.
#[derive(Deserialize)]
pub(super) struct Numbers {
    pub(super) incoming_phone_numbers: Vec<NumberRecord>,
}

/// A number of the account.
#[derive(Deserialize)]
pub(super) struct NumberRecord {
    pub(super) sid: String,
    #[serde(default, deserialize_with = "lenient_text")]
    pub(super) phone_number: Option<String>,
    #[serde(default, deserialize_with = "lenient_text")]
    voice_url: Option<String>,
    #[serde(default, deserialize_with = "lenient_text")]
    voice_application_sid: Option<String>,
    #[serde(default, deserialize_with = "lenient_text")]
    trunk_sid: Option<String>,
}

/// Where the calls of a number go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NumberRoute<'a> {
    /// Nowhere.
    Unset,
    /// To this address.
    Url(&'a str),
    /// To this application's address, which overrides the number's own.
    Application(&'a str),
    /// Into this trunk, which overrides everything else.
    Trunk(&'a str),
}

impl NumberRecord {
    /// Where its calls go.
    pub(super) fn route(&self) -> NumberRoute<'_> {
        match (&self.trunk_sid, &self.voice_application_sid, &self.voice_url) {
            (Some(trunk), ..) => NumberRoute::Trunk(trunk),
            (None, Some(application), _) => NumberRoute::Application(application),
            (None, None, Some(url)) => NumberRoute::Url(url),
            (None, None, None) => NumberRoute::Unset,
        }
    }
}

/// A page of the account's applications.
#[derive(Deserialize)]
pub(super) struct Applications {
    pub(super) applications: Vec<ApplicationRecord>,
}

/// An application: addresses that numbers share.
#[derive(Deserialize)]
pub(super) struct ApplicationRecord {
    pub(super) sid: String,
    #[serde(default, deserialize_with = "lenient_text")]
    pub(super) voice_url: Option<String>,
}

/// The account.
#[derive(Deserialize)]
pub(super) struct Account {
    #[serde(default, deserialize_with = "lenient_text")]
    status: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "lenient_text")]
    kind: Option<String>,
}

impl Account {
    /// Returns what the account can do.
    ///
    /// # Errors
    /// The reason when it can do nothing.
    pub(super) fn in_words(&self, flavour: Flavour) -> Result<String, String> {
        let kind = self.kind.as_deref().unwrap_or("unknown");
        let status = self.status.as_deref().unwrap_or("unknown");
        if matches!(status, "suspended" | "closed") {
            return Err(format!("the account is {status}: its calls fail until it is opened again"));
        }
        let found =
            format!("{} accepts the credentials. The account's status is {status}, its type {kind}", flavour.name());
        Ok(match kind {
            "Trial" => format!(
                "{found}: only verified numbers can be called, whoever answers hears a notice first and may have to \
                 press a key, and some trial accounts stream no audio to this service at all, so that calls end as \
                 no_media."
            ),
            _ => format!("{found}."),
        })
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"calls":[{"sid":"CA1","status":"busy","from":"+12025550199","to":"+12025550100","direction":"outbound-api","date_created":"Tue, 31 Aug 2010 20:36:28 +0000","queue_time":"1000","duration":"42","sip_result_code":486}],"page":0,"next_page_uri":null}"##,
            r##"{"incoming_phone_numbers":[{"sid":"PN1","phone_number":"+12025550199","voice_url":"https://x.example","voice_application_sid":"AP1","trunk_sid":null}]}"##,
            r##"{"applications":[{"sid":"AP1","friendly_name":"Switchhook","voice_url":"https://x.example"}]}"##,
            r##"{"friendly_name":"Acme","status":"active","type":"Trial"}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            let answer = crate::rest::RestResponse { status: 200, retry_after: None, body: body.to_vec() };
            let [from, to]: [PhoneNumber; 2] =
                ["+12025550199", "+12025550100"].map(|text| text.parse().expect("a number"));
            let calls = answer.json::<Calls>().map(|page| page.calls).unwrap_or_default().into_iter();
            let calls = calls.map(|call| {
                usize::from(call.may_be(&from, &to, Timestamp::from_micros(i64::MIN)) || call.queue_time_ms() > 0)
                    + call.found(Flavour::Twilio).map_or(1, |found| found.carrier_call_id.len())
            });
            let numbers = answer.json::<Numbers>().map(|page| page.incoming_phone_numbers).unwrap_or_default();
            let applications = answer.json::<Applications>().map(|page| page.applications).unwrap_or_default();
            let account = answer.json::<Account>().and_then(|account| account.in_words(Flavour::Twilio).ok());
            let refused = super::causes::carrier_error(Flavour::SignalWire, &answer).message.len();
            let read = calls.sum::<usize>()
                + numbers
                    .iter()
                    .map(|number| match number.route() {
                        NumberRoute::Url(url) => url.len(),
                        _ => 1,
                    })
                    .sum::<usize>()
                + applications.len()
                + account.map_or(0, |words| words.len());
            if read > 0 { Ok(read + refused) } else { Err(()) }
        })
    },
};

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchhook_core::call::CarrierCause;

    use super::*;

    fn call(record: Value) -> CallRecord {
        serde_json::from_value(record).expect("readable")
    }

    fn number(text: &str) -> PhoneNumber {
        text.parse().expect("valid")
    }

    #[test]
    fn a_call_waits_as_long_as_it_says() {
        assert_eq!(call(json!({ "queue_time": "1000" })).queue_time_ms(), 1_000);
        assert_eq!(call(json!({ "queue_time": 2000 })).queue_time_ms(), 2_000);
        assert_eq!(call(json!({ "queue_time": null })).queue_time_ms(), 0);
        assert_eq!(call(json!({})).queue_time_ms(), 0);
    }

    #[test]
    fn a_call_lives_until_its_status_says_otherwise() {
        for status in ["queued", "initiated", "ringing", "in-progress", "on-hold"] {
            let live = FoundLeg { carrier_call_id: "CA1".to_owned(), ended: None, certain: false };
            assert_eq!(call(json!({ "sid": "CA1", "status": status })).found(Flavour::Twilio), Some(live), "{status}");
        }
        let busy = call(json!({ "sid": "x", "status": "busy", "sip_result_code": 486 })).found(Flavour::SignalWire);
        let hangup =
            Hangup { sip_code: Some(486), carrier_code: Some("busy".to_owned()), ..Hangup::new(CarrierCause::Busy) };
        assert_eq!(busy, Some(FoundLeg { carrier_call_id: "x".to_owned(), ended: Some(hangup), certain: false }));
        assert_eq!(call(json!({ "status": "busy" })).found(Flavour::Twilio), None);
        for (duration, seconds) in [(json!("42"), Some(42)), (json!(42), Some(42)), (json!(null), None)] {
            let record = call(json!({ "sid": "x", "status": "completed", "duration": duration }));
            let ended = record.found(Flavour::Twilio).and_then(|found| found.ended).expect("it has ended");
            assert_eq!((ended.cause, ended.duration_seconds), (CarrierCause::Normal, seconds));
        }
    }

    #[test]
    fn a_leg_to_another_number_shows_whether_it_was_answered() {
        let child = |status: &str| call(json!({ "sid": "CA2", "parent_call_sid": "CA1", "status": status }));
        assert!(child("ringing").is_of("CA1") && !child("ringing").is_of("CA3") && !call(json!({})).is_of("CA1"));
        for (status, state) in [
            ("queued", TransferLegState::Ringing),
            ("ringing", TransferLegState::Ringing),
            ("in-progress", TransferLegState::Connected),
            ("completed", TransferLegState::Connected),
            ("busy", TransferLegState::Ended),
            ("no-answer", TransferLegState::Ended),
            ("failed", TransferLegState::Ended),
            ("canceled", TransferLegState::Ended),
            ("on-hold", TransferLegState::Unknown),
        ] {
            let leg = TransferLeg { carrier_call_id: Some("CA2".to_owned()), state };
            assert_eq!(child(status).transfer_leg(), leg, "{status}");
        }
    }

    #[test]
    fn only_a_call_of_ours_between_the_numbers_that_is_new_enough_may_be_the_lost_one() {
        let fits = |change: Value| {
            let mut record = json!({
                "sid": "CA1", "status": "queued", "from": "+12025550199", "to": "+12025550100",
                "direction": "outbound-api", "date_created": "Tue, 31 Aug 2010 20:36:28 +0000", "start_time": null,
            });
            let changed = record.as_object_mut().expect("an object");
            changed.extend(change.as_object().expect("an object").clone());
            let dialing_at = Timestamp::parse("2010-08-31T20:36:30.5Z").expect("valid");
            call(record).may_be(&number("+12025550199"), &number("+12025550100"), dialing_at)
        };
        assert!(fits(json!({})));
        assert!(fits(json!({ "date_created": "Tue, 31 Aug 2010 20:36:26 +0000" })), "clocks differ");
        assert!(!fits(json!({ "date_created": "Tue, 31 Aug 2010 20:36:25 +0000" })), "an earlier call");
        assert!(fits(json!({ "date_created": "2010-08-31T20:36:28Z" })));
        assert!(!fits(json!({ "date_created": null })));
        assert!(!fits(json!({ "date_created": "yesterday" })));
        assert!(!fits(json!({ "from": "+12025550198" })));
        assert!(!fits(json!({ "to": "+12025550101" })));
        assert!(!fits(json!({ "direction": "inbound" })), "the other side of it");
        assert!(!fits(json!({ "direction": "outbound-dial" })), "a transfer");
        assert!(fits(json!({ "direction": null })));
    }

    #[test]
    fn a_number_says_where_its_calls_go() {
        let number = |record: Value| serde_json::from_value::<NumberRecord>(record).expect("readable");
        let unset = number(json!({ "sid": "PN1", "voice_url": "", "voice_application_sid": null }));
        assert_eq!(unset.route(), NumberRoute::Unset);
        let url = number(json!({ "sid": "PN1", "voice_url": "https://voice.example.com/x" }));
        assert_eq!(url.route(), NumberRoute::Url("https://voice.example.com/x"));
        let application =
            number(json!({ "sid": "PN1", "voice_url": "https://x.example", "voice_application_sid": "AP1" }));
        assert_eq!(application.route(), NumberRoute::Application("AP1"));
        let trunk = number(json!({ "sid": "PN1", "voice_url": "https://x.example", "trunk_sid": "TK1" }));
        assert_eq!(trunk.route(), NumberRoute::Trunk("TK1"));
    }

    #[test]
    fn an_account_says_what_it_may_not() {
        let words = |status: &str, kind: &str| {
            let account: Account = serde_json::from_value(json!({ "status": status, "type": kind })).expect("readable");
            account.in_words(Flavour::Twilio)
        };
        let full = "Twilio accepts the credentials. The account's status is active, its type Full.";
        assert_eq!(words("active", "Full").as_deref(), Ok(full));
        let trial = words("active", "Trial").expect("usable");
        assert!(trial.contains("Trial: only verified numbers can be called"), "{trial}");
        assert!(words("suspended", "Full").is_err_and(|words| words.contains("suspended")));
    }
}
