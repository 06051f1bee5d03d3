//! `GET /auth/callback`: the browser comes back from the identity provider.

use std::net::SocketAddr;

use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use switchhook_core::Timestamp;

use super::page::Answer;
use super::{Navigated, cookies, expired, rate, redirect, welcome};
use crate::http::HttpState;
use crate::http::auth;
use crate::http::error::ApiError;
use crate::sign_in::attempt::{self, Returned};
use crate::sign_in::enter::{Home, shut_out};
use crate::sign_in::provider::Provider;
use crate::sign_in::{SignIn, SignInError};
use crate::store::sessions::SessionRow;

/// The parameters that the provider sends (RFC 6749 section 4.1.2, RFC 9207 section 2).
#[derive(Deserialize)]
pub(super) struct Sent {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

pub(super) async fn callback(
    state: HttpState,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    sent: Result<Query<Sent>, QueryRejection>,
    headers: HeaderMap,
) -> Navigated {
    rate::admit(&state, from).map_err(|error| Answer::new(&headers, error))?;
    let sent = sent.ok().map(|Query(sent)| sent);
    let came = sent.and_then(|sent| Some((open(&state, &sent, &headers)?, sent)));
    let (return_to, since) = match &came {
        Some((returned, _)) => (returned.return_to.clone(), Some(returned.started_at)),
        None => ("/".to_owned(), None),
    };
    let error = match come_back(&state, came, &headers).await {
        Ok(response) => return Ok(response),
        Err(error) => error,
    };
    if may_be_repeated(&error) && is_signed_in(&state, from, &headers, since).await {
        return Ok(redirect(&return_to));
    }
    Err(Answer::new(&headers, error))
}

/// Opens the state that the browser returned with; `None` unless it is still good.
fn open(state: &HttpState, sent: &Sent, headers: &HeaderMap) -> Option<Returned> {
    let browser = cookies::sign_in(headers)?;
    attempt::open(&state.vault, &browser, sent.state.as_deref()?, state.clock.now())
}

/// Returns whether a sign-in fails like this when it has succeeded before: going back or reloading sends its code and state again.
fn may_be_repeated(error: &ApiError) -> bool {
    matches!(error.code(), "sign_in_expired" | "sign_in_refused")
}

/// Returns whether the browser has an open session, not older than the attempt: who tries to sign in as somebody else and fails sees why.
/// So does everyone for whom that cannot be found out.
async fn is_signed_in(state: &HttpState, from: SocketAddr, headers: &HeaderMap, since: Option<Timestamp>) -> bool {
    let Some(cookie) = cookies::session(headers) else { return false };
    let found = auth::session::find_open(state, Some(from.ip()), &cookie).await;
    let is_of_attempt = |session: &SessionRow| since.is_none_or(|since| session.times().created_at >= since);
    found.ok().flatten().is_some_and(|(_, session)| session.tenant_active && is_of_attempt(&session))
}

async fn come_back(
    state: &HttpState,
    came: Option<(Returned, Sent)>,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let SignIn::Oidc(provider) = &state.sign_in else { return Err(expired()) };
    let (returned, sent) = came.ok_or_else(expired)?;
    if let Some(error) = sent.error {
        return Err(declined(&error));
    }
    let code = sent.code.ok_or_else(expired)?;
    if sent.iss.is_some_and(|issuer| issuer != provider.settings().issuer) {
        return Err(SignInError::Refused("another issuer sent the code".to_owned()).into());
    }
    Ok(finish(state, provider, code, returned, headers).await?)
}

async fn finish(
    state: &HttpState,
    provider: &Provider,
    code: String,
    returned: Returned,
    headers: &HeaderMap,
) -> Result<Response, SignInError> {
    let identity = provider.identify(code, &returned.challenge).await?;
    if !provider.settings().allow.admits(identity.verified_email()) {
        shut_out(&state.store, &identity).await?;
        return Err(SignInError::NotAllowed);
    }
    welcome(state, headers, &identity, Home::New, Some(&returned.challenge.state), &returned.return_to).await
}

/// The provider did not let the person in, or the person changed their mind.
fn declined(error: &str) -> ApiError {
    let word: String = error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(64).collect();
    let detail =
        format!("The identity provider did not let you in: {word}. Sign in again, or ask whoever administers it.");
    ApiError::new(StatusCode::FORBIDDEN, "sign_in_declined", detail)
}
