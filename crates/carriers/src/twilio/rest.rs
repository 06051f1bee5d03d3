//! Requests to the carrier's REST API.

use std::fmt;

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use switchhook_core::call::ErrorCode;
use switchhook_core::phone_number::PhoneNumber;
use url::form_urlencoded::Serializer;

use super::records::{ApplicationRecord, Applications, CallRecord, Calls, NumberRecord, Numbers};
use super::{Flavour, Secret, causes};
use crate::CarrierError;
use crate::rest::{Rest, RestError, RestResponse, below};

/// Calls between two numbers that are looked through, the newest first.
const LOOKED_THROUGH: &str = "50";

/// The API of one account.
pub(super) struct TwilioApi {
    flavour: Flavour,
    rest: Rest,
    /// Without a slash at its end.
    account_url: String,
    user: Secret,
    password: Secret,
}

impl TwilioApi {
    pub(super) fn new(flavour: Flavour, rest: Rest, account_url: String, user: Secret, password: Secret) -> Self {
        Self { flavour, rest, account_url, user, password }
    }

    /// Creates a call. The caller of this function decides from the response whether a phone rang.
    pub(super) async fn create_call(&self, fields: &[(&str, String)]) -> Result<RestResponse, RestError> {
        self.post(&["Calls.json"], fields).await
    }

    /// Changes a call that lives.
    pub(super) async fn update_call<V: AsRef<str>>(
        &self,
        id: &str,
        fields: &[(&str, V)],
    ) -> Result<RestResponse, RestError> {
        self.post(&["Calls", &document(id)], fields).await
    }

    /// A call, if there is one with this id.
    pub(super) async fn call(&self, id: &str) -> Result<Option<CallRecord>, CarrierError> {
        let answer = self.get(&below(&self.account_url, &["Calls", &document(id)])).await?;
        if answer.status == 404 { Ok(None) } else { self.read(&answer).map(Some) }
    }

    /// The newest calls from one number to another.
    ///
    /// Nothing is asked about when they started: calls that wait in the carrier's queue have not.
    pub(super) async fn calls_between(
        &self,
        from: &PhoneNumber,
        to: &PhoneNumber,
    ) -> Result<Vec<CallRecord>, CarrierError> {
        let query = [("To", to.reveal()), ("From", from.reveal()), ("PageSize", LOOKED_THROUGH)];
        let answer = self.get(&self.list("Calls.json", &query)).await?;
        self.read::<Calls>(&answer).map(|found| found.calls)
    }

    /// The newest call that a `<Dial>` of this one created, if there is one.
    pub(super) async fn child_of(&self, id: &str) -> Result<Option<CallRecord>, CarrierError> {
        let query = [("ParentCallSid", id), ("PageSize", LOOKED_THROUGH)];
        let answer = self.get(&self.list("Calls.json", &query)).await?;
        let found = self.read::<Calls>(&answer)?.calls;
        Ok(found.into_iter().find(|call| call.is_of(id)))
    }

    /// The account itself.
    pub(super) async fn account<T: DeserializeOwned>(&self) -> Result<T, CarrierError> {
        let answer = self.get(&format!("{}.json", self.account_url)).await?;
        self.read(&answer)
    }

    /// One of the account's numbers.
    pub(super) async fn number(&self, number: &PhoneNumber) -> Result<Option<NumberRecord>, CarrierError> {
        let answer = self.get(&self.list("IncomingPhoneNumbers.json", &[("PhoneNumber", number.reveal())])).await?;
        let found = self.read::<Numbers>(&answer)?.incoming_phone_numbers;
        // The carrier also finds numbers that merely contain this one.
        Ok(found.into_iter().find(|found| found.phone_number.as_deref() == Some(number.reveal())))
    }

    /// Changes one of the account's numbers.
    pub(super) async fn update_number(
        &self,
        number: &NumberRecord,
        fields: &[(&str, String)],
    ) -> Result<(), CarrierError> {
        let answer = self.post(&["IncomingPhoneNumbers", &document(&number.sid)], fields).await;
        let answer = answer.map_err(|error| self.error(error))?;
        if answer.is_success() { Ok(()) } else { Err(causes::carrier_error(self.flavour, &answer)) }
    }

    /// One of the account's applications, if there is one with this id.
    pub(super) async fn application(&self, id: &str) -> Result<Option<ApplicationRecord>, CarrierError> {
        let answer = self.get(&below(&self.account_url, &["Applications", &document(id)])).await?;
        if answer.status == 404 { Ok(None) } else { self.read(&answer).map(Some) }
    }

    /// The account's applications with this name.
    pub(super) async fn applications(&self, name: &str) -> Result<Vec<ApplicationRecord>, CarrierError> {
        let answer = self.get(&self.list("Applications.json", &[("FriendlyName", name)])).await?;
        self.read::<Applications>(&answer).map(|found| found.applications)
    }

    /// Makes an application.
    pub(super) async fn create_application(
        &self,
        fields: &[(&str, String)],
    ) -> Result<ApplicationRecord, CarrierError> {
        let answer = self.post(&["Applications.json"], fields).await.map_err(|error| self.error(error))?;
        self.read(&answer)
    }

    fn list(&self, name: &str, query: &[(&str, &str)]) -> String {
        let query = Serializer::new(String::new()).extend_pairs(query).finish();
        format!("{}?{query}", below(&self.account_url, &[name]))
    }

    async fn get(&self, url: &str) -> Result<RestResponse, CarrierError> {
        let request = self.rest.request(Method::GET, url).basic_auth(self.user.reveal(), Some(self.password.reveal()));
        self.rest.send(request).await.map_err(|error| self.error(error))
    }

    async fn post<V: AsRef<str>>(&self, path: &[&str], fields: &[(&str, V)]) -> Result<RestResponse, RestError> {
        let form = Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self
            .rest
            .request(Method::POST, &below(&self.account_url, path))
            .basic_auth(self.user.reveal(), Some(self.password.reveal()))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        self.rest.send(request).await
    }

    fn read<T: DeserializeOwned>(&self, answer: &RestResponse) -> Result<T, CarrierError> {
        if !answer.is_success() {
            return Err(causes::carrier_error(self.flavour, answer));
        }
        answer.json().ok_or_else(|| self.error("its response cannot be read"))
    }

    fn error(&self, words: impl fmt::Display) -> CarrierError {
        CarrierError { code: ErrorCode::CarrierError, message: self.flavour.says(words) }
    }
}

fn document(id: &str) -> String {
    format!("{id}.json")
}
