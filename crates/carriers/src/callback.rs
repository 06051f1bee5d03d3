//! Carriers' webhooks: requests, their meaning and their replies, in terms that all carriers share.

use std::borrow::Cow;

use async_trait::async_trait;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use switchhook_core::call::Hangup;
use switchhook_core::phone_number::PhoneNumber;
use url::form_urlencoded;

use super::address::{CallAddress, ConnectionAddress};
use super::{CarrierError, CarrierEvent, text};

/// Reads and answers a carrier's webhooks, and configures the carrier to send them.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Reads a request to one of our addresses, after checking its signature.
    ///
    /// # Errors
    /// When the signature is wrong, or the request is not one that this carrier sends.
    fn read(&self, request: &CallbackRequest<'_>) -> Result<Callback, CallbackError>;

    /// Returns the reply that accepts an announced call, or gives instructions for a call that we placed. If the reply does not answer the
    /// call, [`super::CallControl::answer`] does. Returned again when the carrier repeats the request.
    fn accept(&self, call: &CallAddress) -> Reply;

    /// Declines a call that was announced by [`IncomingCall`].
    async fn decline(&self, carrier_call_id: &str, why: Decline) -> Reply;

    /// Returns where the carrier sends calls to one of its numbers.
    ///
    /// # Errors
    /// When the carrier could not be asked.
    async fn inbound_route(&self, number: &PhoneNumber) -> Result<InboundRoute, CarrierError>;

    /// Configures the carrier to send calls to one of its numbers to us.
    ///
    /// # Errors
    /// When the number is not on the account, or the carrier refuses or could not be reached.
    async fn set_inbound_route(&self, number: &PhoneNumber, to: &ConnectionAddress) -> Result<(), CarrierError>;
}

/// Where a carrier sends calls to a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboundRoute {
    /// The number is not on the account.
    NotOnAccount,
    /// Nowhere.
    Unset,
    /// To this address.
    To(String),
}

/// A request to one of our URLs, for the carrier's adapter to verify and read.
pub struct CallbackRequest<'a> {
    /// Its method.
    pub method: &'a Method,
    /// The public URL as given to the carrier: the configured public address with the path and query as they were sent,
    /// byte for byte. Begins with `http` even for a websocket handshake.
    pub url: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body, byte for byte.
    pub body: &'a [u8],
    /// The last segment of its path, such as `status`.
    pub topic: &'a str,
    /// The current time in seconds since 1970, for signatures with a timestamp.
    pub now: i64,
}

impl CallbackRequest<'_> {
    /// Checks the token in a handshake's `Authorization` header, which carriers without signatures repeat if it was given to them. A
    /// handshake without the header passes, since the token in its path was already checked.
    ///
    /// # Errors
    /// When the header contains another token.
    pub fn check_bearer(&self) -> Result<(), CallbackError> {
        if !self.headers.contains_key(header::AUTHORIZATION) {
            return Ok(());
        }
        let brought = self.header(header::AUTHORIZATION.as_str()).map(|value| {
            let (scheme, rest) = value.split_once(' ').unwrap_or_default();
            if scheme.eq_ignore_ascii_case("bearer") { rest.trim() } else { value.trim() }
        });
        if brought.is_some() && brought == self.token() {
            return Ok(());
        }
        Err(CallbackError::Signature("The media stream brings the token of another call.".to_owned()))
    }

    /// Returns the token in its path.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.url.split('?').next().unwrap_or_default().rsplit('/').nth(1)
    }

    /// Returns the first value of a query field.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, query) = self.url.split_once('?')?;
        form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns whether its body has this media type, ignoring parameters.
    #[must_use]
    pub fn is_of_type(&self, media_type: &str) -> bool {
        let kind = self.header(header::CONTENT_TYPE.as_str()).and_then(|kind| kind.split(';').next());
        kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(media_type))
    }

    /// Returns a header's value, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A parsed webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// The carrier's id of the call it is about.
    pub carrier_call_id: String,
    /// The events it reports, in order.
    pub events: Vec<CarrierEvent>,
    /// The token of a call's URL, if the carrier repeats it: it identifies the call of a leg whose id is unknown.
    pub reference: Option<String>,
    /// An incoming call to one of our numbers that waits for an answer.
    pub incoming: Option<IncomingCall>,
    /// Whether the carrier asks for instructions for an answered call that we placed: see [`Webhooks::accept`].
    pub wants_instructions: bool,
    /// The reply in all other cases, unless there is an incoming call.
    pub reply: Reply,
}

impl Callback {
    /// Sanitises the callback for storage and logs.
    ///
    /// # Errors
    /// If the id is not a valid call id.
    pub fn checked(self) -> Result<Self, CallbackError> {
        if !text::is_id(&self.carrier_call_id) {
            return Err(CallbackError::Malformed(
                "The id of the call is too long or holds control characters.".to_owned(),
            ));
        }
        let incoming = self
            .incoming
            .map(|IncomingCall { from, to }| IncomingCall { from: text::caller(&from), to: text::caller(&to) });
        let events = self.events.into_iter().map(bounded).collect();
        Ok(Self { incoming, events, ..self })
    }
}

fn bounded(event: CarrierEvent) -> CarrierEvent {
    match event {
        CarrierEvent::NoMedia(why) => CarrierEvent::NoMedia(text::message(&why)),
        CarrierEvent::Hangup(hangup) => {
            let carrier_code = hangup.carrier_code.map(|code| text::code(&code));
            CarrierEvent::Hangup(Hangup { carrier_code, ..hangup })
        }
        other => other,
    }
}

/// An incoming call. Not `Debug`, which would print numbers.
#[derive(Clone, PartialEq, Eq)]
pub struct IncomingCall {
    /// The caller: usually E.164, but carriers may send anything, such as `anonymous`.
    pub from: String,
    /// The called number.
    pub to: String,
}

impl std::fmt::Debug for IncomingCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IncomingCall")
    }
}

/// Returns a number in E.164 form that a carrier wrote as the address of a SIP domain, with or without its scheme, or without its `+`.
pub(crate) fn e164(text: &str) -> Option<String> {
    let text = text.trim();
    let is_sip = text.starts_with("sip:") || text.starts_with("sips:");
    let prefix = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        "+"
    } else if text.contains('@') && !is_sip {
        "sip:"
    } else {
        ""
    };
    format!("{prefix}{text}").parse::<PhoneNumber>().ok()?.e164()
}

/// The body of our reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// 204.
    Empty,
    /// 200 with `<?xml …>`, as `text/xml`.
    Xml(String),
    /// 200 with JSON.
    Json(String),
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        match self {
            Self::Empty => StatusCode::NO_CONTENT.into_response(),
            Self::Xml(text) => ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], text).into_response(),
            Self::Json(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        }
    }
}

/// Why a call is declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decline {
    /// The limit of concurrent calls is reached.
    Busy,
    /// No agent serves the number.
    NotServed,
}

/// Why a request is rejected. The messages are for the operator; they do not quote the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// Its signature is missing or wrong: 403.
    #[error("{0}")]
    Signature(String),
    /// It cannot be read: 422.
    #[error("{0}")]
    Malformed(String),
    /// Carriers of this kind do not send such requests: 404.
    #[error("There is nothing here.")]
    NotFound,
}

#[cfg(test)]
mod tests {
    use switchhook_core::call::CarrierCause;

    use super::*;

    fn callback(carrier_call_id: &str, events: Vec<CarrierEvent>) -> Callback {
        let incoming = IncomingCall { from: "\u{1b}x".repeat(500_000), to: "+12025550123\u{0}".to_owned() };
        Callback {
            carrier_call_id: carrier_call_id.to_owned(),
            events,
            reference: None,
            incoming: Some(incoming),
            wants_instructions: false,
            reply: Reply::Empty,
        }
    }

    #[test]
    fn what_a_carrier_says_is_bounded_before_it_is_stored() {
        let word = Some(format!("\u{0}{}", "user_busy".repeat(100_000)));
        let hangup = Hangup { carrier_code: word, ..Hangup::new(CarrierCause::Busy) };
        let events = vec![CarrierEvent::Hangup(hangup), CarrierEvent::NoMedia("no\r\n".repeat(100_000))];
        let checked = callback("CA1", events).checked().expect("an id");
        let incoming = checked.incoming.expect("somebody calls");
        assert_eq!((incoming.from, incoming.to.as_str()), ("x".repeat(255), "+12025550123"));
        let [CarrierEvent::Hangup(hangup), CarrierEvent::NoMedia(why)] = &checked.events[..] else {
            panic!("two events")
        };
        let code = hangup.carrier_code.as_deref().expect("a word");
        assert!(code.starts_with("user_busy") && code.len() == 64 && why.len() == 500, "{code} {why}");
        for id in [String::new(), "CA\u{0}1".to_owned(), "x".repeat(1 << 20)] {
            assert!(matches!(callback(&id, Vec::new()).checked(), Err(CallbackError::Malformed(_))));
        }
    }
}
