//! Telnyx's API, version 2: JSON in both directions, successes in `data`, refusals in an array `errors`.

use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchhook_core::call::ErrorCode;
use switchhook_core::private::Private;
use url::Url;

use super::causes::{self, RefusalKind};
use crate::rest::{Rest, RestError, RestResponse, below};
use crate::{CarrierError, DialError, text};

/// The API with one account's key. Clones share connections.
#[derive(Clone)]
pub(super) struct TelnyxApi {
    pub(super) rest: Rest,
    /// Without a trailing slash.
    pub(super) base: String,
    pub(super) key: Private<String>,
}

/// Why a request did not succeed.
pub(super) enum TelnyxError {
    /// Telnyx refused.
    Refused(TelnyxRefusal),
    /// Telnyx never received the request.
    NotSent(String),
    /// Telnyx may have carried out the request.
    Lost(String),
}

/// Telnyx's error.
pub(super) struct TelnyxRefusal {
    status: u16,
    code: String,
    title: String,
    detail: String,
    /// The field that it refers to, such as `/to`.
    pointer: Option<String>,
    retry_after: Option<Duration>,
}

#[derive(Deserialize)]
struct DataBody<T> {
    data: T,
}

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct ListPage<T> {
    pub(super) data: Vec<T>,
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    cursors: Option<Cursors>,
}

#[derive(Deserialize)]
struct Cursors {
    after: Option<String>,
}

impl<T> ListPage<T> {
    /// Returns the cursor of the next page, if there is one.
    pub(super) fn next(&self) -> Option<String> {
        let after = self.meta.as_ref()?.cursors.as_ref()?.after.clone()?;
        (!self.data.is_empty() && !after.is_empty()).then_some(after)
    }
}

/// Every field of an error may be missing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OneError {
    code: Value,
    title: Option<String>,
    detail: Option<String>,
    source: Option<ErrorSource>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorSource {
    pointer: Option<String>,
}

impl TelnyxApi {
    /// Gets the resource at `path`.
    ///
    /// # Errors
    /// When Telnyx refuses, or there is no readable response.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, TelnyxError> {
        self.ask(Method::GET, path, query, None).await.map(|DataBody { data }| data)
    }

    /// Gets a page of the list at `path`.
    ///
    /// # Errors
    /// As [`TelnyxApi::get`].
    pub(super) async fn page<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<ListPage<T>, TelnyxError> {
        self.ask(Method::GET, path, query, None).await
    }

    /// Posts `body` to `path`.
    ///
    /// # Errors
    /// As [`TelnyxApi::get`].
    pub(super) async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &Value) -> Result<T, TelnyxError> {
        self.ask(Method::POST, path, &[], Some(body)).await.map(|DataBody { data }| data)
    }

    /// Updates the resource at `path`.
    ///
    /// # Errors
    /// As [`TelnyxApi::get`].
    pub(super) async fn patch(&self, path: &[&str], body: &Value) -> Result<(), TelnyxError> {
        self.ask(Method::PATCH, path, &[], Some(body)).await.map(|_: DataBody<Value>| ())
    }

    /// Sends a command for a call.
    ///
    /// # Errors
    /// As [`TelnyxApi::get`].
    pub(super) async fn command(&self, call: &str, action: &str, body: &Value) -> Result<(), TelnyxError> {
        self.post(&["calls", call, "actions", action], body).await.map(|_: Value| ())
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<T, TelnyxError> {
        let mut request = self.rest.request(method, &with_query(below(&self.base, path), query));
        request = request.bearer_auth(self.key.reveal());
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = self.rest.send(request).await?;
        if !answer.is_success() {
            return Err(TelnyxError::Refused(TelnyxRefusal::read(&answer)));
        }
        answer.json().ok_or_else(|| TelnyxError::Lost("the carrier's answer cannot be read".to_owned()))
    }
}

fn with_query(url: String, query: &[(&str, &str)]) -> String {
    match Url::parse(&url) {
        Ok(mut parsed) if !query.is_empty() => {
            parsed.query_pairs_mut().extend_pairs(query);
            parsed.into()
        }
        _ => url,
    }
}

impl From<RestError> for TelnyxError {
    fn from(error: RestError) -> Self {
        match error {
            RestError::NotSent(_) => Self::NotSent(error.to_string()),
            RestError::Lost(_) => Self::Lost(error.to_string()),
        }
    }
}

impl TelnyxRefusal {
    fn read(answer: &RestResponse) -> Self {
        let errors: Errors = answer.json().unwrap_or_default();
        let first = errors.errors.into_iter().next().unwrap_or_default();
        let code = first
            .code
            .as_str()
            .map_or_else(|| first.code.as_u64().map(|code| code.to_string()), |code| Some(code.to_owned()));
        Self {
            status: answer.status,
            code: code.map(|code| text::code(&code)).unwrap_or_default(),
            title: first.title.unwrap_or_default(),
            detail: first.detail.unwrap_or_default(),
            pointer: first.source.and_then(|source| source.pointer),
            retry_after: answer.retry_after,
        }
    }

    fn meaning(&self) -> RefusalKind {
        let text = format!("{} {}", self.title, self.detail);
        causes::of_refusal(self.status, &self.code, self.pointer.as_deref(), &text)
    }

    /// Describes the error for logs: titles are Telnyx's own, details may quote numbers.
    fn title(&self) -> String {
        let code = if self.code.is_empty() { format!("status {}", self.status) } else { self.code.clone() };
        if self.title.is_empty() {
            format!("Telnyx {code}")
        } else {
            format!("Telnyx {code}: {}", text::message(&self.title))
        }
    }

    /// Describes the error for the call's owner.
    fn words(&self) -> String {
        let detail = text::message(&self.detail);
        let words = if detail.is_empty() { self.title() } else { format!("{}: {detail}", self.title()) };
        match self.meaning() {
            RefusalKind::Unauthorized => format!("{words} (check credentials.api_key and settings.connection_id)"),
            RefusalKind::CallerId => format!("{words} (the number that calls may not be shown as caller)"),
            _ => words,
        }
    }
}

impl TelnyxError {
    /// Converts the error of a dial.
    pub(super) fn of_dial(self) -> DialError {
        let refused = |code, message| DialError::Refused { code, message };
        match self {
            Self::NotSent(message) => refused(ErrorCode::CarrierError, message),
            Self::Lost(message) => DialError::Unknown { message },
            Self::Refused(refusal) => match refusal.meaning() {
                RefusalKind::Unauthorized => refused(ErrorCode::CarrierUnauthorized, refusal.words()),
                RefusalKind::InvalidNumber => refused(ErrorCode::InvalidNumber, refusal.words()),
                RefusalKind::CallerId | RefusalKind::Error => refused(ErrorCode::CarrierError, refusal.words()),
                RefusalKind::Later => DialError::Later { message: refusal.words(), retry_after: refusal.retry_after },
                RefusalKind::Uncertain => DialError::Unknown { message: refusal.title() },
            },
        }
    }

    /// Returns whether the call of a command has ended, or does not exist.
    pub(super) fn says_ended(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == "90018") || self.says_missing()
    }

    /// Returns whether the call of a command has not been answered, as far as Telnyx knows yet.
    pub(super) fn says_unanswered(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == "90034")
    }

    /// Returns whether the call already has its media stream.
    pub(super) fn says_streaming(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == "90045")
    }

    /// Returns whether the resource does not exist on the account.
    pub(super) fn says_missing(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == 404)
    }
}

impl From<TelnyxError> for CarrierError {
    fn from(failure: TelnyxError) -> Self {
        let code = match &failure {
            TelnyxError::Refused(refusal) if refusal.meaning() == RefusalKind::Unauthorized => {
                ErrorCode::CarrierUnauthorized
            }
            _ => ErrorCode::CarrierError,
        };
        let message = match failure {
            TelnyxError::Refused(refusal) => refusal.title(),
            TelnyxError::NotSent(message) | TelnyxError::Lost(message) => message,
        };
        Self { code, message }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"errors":[{"code":"10015","title":"Bad Request","detail":"No.","source":{"pointer":"/to"},"meta":{}}]}"##,
            r##"{"data":[{"call_control_id":"v3:x","client_state":"eA=="}],"meta":{"cursors":{"after":"x"},"total_items":1}}"##,
            r##"{"data":{"call_control_id":"v3:x","call_duration":3,"end_time":"2026-01-01T00:00:00Z"}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            let answer = RestResponse { status: 422, retry_after: None, body: body.to_vec() };
            let refusal = TelnyxRefusal::read(&answer);
            let page =
                answer.json::<ListPage<serde_json::Value>>().map_or(0, |page| page.next().map_or(1, |next| next.len()));
            Ok::<_, ()>(refusal.words().len() + refusal.title().len() + page)
        })
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(status: u16, body: &str) -> TelnyxError {
        TelnyxError::Refused(TelnyxRefusal::read(&RestResponse {
            status,
            retry_after: None,
            body: body.as_bytes().to_vec(),
        }))
    }

    #[test]
    fn a_refusal_is_quoted_to_the_owner_of_the_call_and_by_its_title_to_the_log() {
        let error = json!({ "code": "10016", "title": "Phone number must be in +E.164 format", "detail": "+1202555 is not\n", "source": { "pointer": "/to" } });
        let body = json!({ "errors": [error] }).to_string();
        let message = "Telnyx 10016: Phone number must be in +E.164 format: +1202555 is not".to_owned();
        assert_eq!(refusal(422, &body).of_dial(), DialError::Refused { code: ErrorCode::InvalidNumber, message });
        let logged = CarrierError::from(refusal(422, &body));
        assert_eq!(logged.message, "Telnyx 10016: Phone number must be in +E.164 format");
    }

    #[test]
    fn an_answer_that_is_not_telnyxs_is_an_error_by_its_status() {
        let message = "Telnyx status 418".to_owned();
        let teapot = DialError::Refused { code: ErrorCode::CarrierError, message };
        assert_eq!(refusal(418, "<html>").of_dial(), teapot);
        assert_eq!(refusal(418, r#"{"errors":[]}"#).of_dial(), teapot);
        assert!(matches!(refusal(502, "<html>").of_dial(), DialError::Unknown { .. }));
        assert!(matches!(refusal(429, "").of_dial(), DialError::Later { .. }));
    }
}
