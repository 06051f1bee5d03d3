//! `/auth`: how people sign in to the dashboard and out of it, and which of their tenants they are in.

mod callback;
pub(crate) mod cookies;
mod login;
mod membership;
mod page;
mod rate;
mod session;

use axum::Router;
use axum::http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use switchhook_core::sign_in::ABSOLUTE_LIFETIME;
use tokio::time::Instant;

use self::page::Answer;
use super::HttpState;
use super::audit;
use super::error::ApiError;
use super::fallback;
use crate::sign_in::SignInError;
use crate::sign_in::attempt::{hash, is_random_text};
use crate::sign_in::enter::{Home, enter};
use crate::sign_in::identity::Identity;
use crate::telemetry::Seldom;

pub(super) use self::membership::last_owner;
pub(super) use self::page::html;
pub(super) use self::rate::SignInRate;

/// Warnings that strangers cause.
static UNUSABLE: Seldom = Seldom::new();
static REFUSED: Seldom = Seldom::new();

/// Routes of the sign-in. Their cookies and states are private: responses are not cached.
pub(super) fn routes(state: &HttpState) -> Router<HttpState> {
    let changes: Router<HttpState> = Router::new()
        .route("/auth/login", get(login::login))
        .route("/auth/callback", get(callback::callback))
        .route("/auth/logout", post(session::logout))
        .route("/auth/invitation/accept", post(membership::accept))
        .route("/auth/invitation/decline", post(membership::decline))
        .route("/auth/tenant", post(membership::switch))
        .route("/auth/leave", post(membership::leave))
        .layer(from_fn(audit::record));
    Router::new()
        .route("/auth/session", get(session::show))
        .route(membership::SHOW, post(membership::show))
        .route("/auth/page.css", get(page::style))
        .merge(changes)
        .layer(from_fn_with_state(state.clone(), rate::limit))
        .layer(from_fn(fallback::do_not_store))
}

/// Signs a person in and sends the browser to `return_to`. What they came back from the provider with counts once.
async fn welcome(
    state: &HttpState,
    headers: &HeaderMap,
    identity: &Identity,
    home: Home,
    came_back_with: Option<&str>,
    return_to: &str,
) -> Result<Response, SignInError> {
    let before = cookies::session(headers).filter(|cookie| is_random_text(cookie)).map(|cookie| hash(&cookie));
    let sign_in = came_back_with.map(hash);
    let entered = enter(&state.store, identity, home, sign_in, before, state.clock.now()).await?;
    audit::note_person(entered.tenant, entered.person);
    Ok(send_to(return_to, cookies::set_session(&entered.cookie, ABSOLUTE_LIFETIME)))
}

/// Sends the browser to `location` with a cookie.
fn send_to(location: &str, cookie: HeaderValue) -> Response {
    let mut response = redirect(location);
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

/// Sends the browser to `location`.
fn redirect(location: &str) -> Response {
    let mut response = StatusCode::FOUND.into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

impl From<SignInError> for ApiError {
    fn from(error: SignInError) -> Self {
        let forbidden = |code, detail: &str| Self::new(StatusCode::FORBIDDEN, code, detail);
        match error {
            SignInError::Database(error) => error.into(),
            SignInError::Provider(words) => {
                if let Some(left_out) = UNUSABLE.line(Instant::now()) {
                    tracing::warn!(error = words, left_out, "the identity provider cannot be used");
                }
                let detail = "The identity provider cannot be reached or does not respond as it should. Try again; the service's \
                    log has the reason, and `switchhook doctor` checks the provider. The API works without it.";
                Self::new(StatusCode::BAD_GATEWAY, "identity_provider_unavailable", detail).retry_after(5)
            }
            SignInError::Busy => {
                let detail = "Many people are signing in at this moment. Try again in a few seconds.";
                Self::new(StatusCode::BAD_GATEWAY, "identity_provider_unavailable", detail).retry_after(5)
            }
            SignInError::Refused(words) => {
                if let Some(left_out) = REFUSED.line(Instant::now()) {
                    tracing::warn!(error = words, left_out, "a sign-in was refused");
                }
                let detail = "The identity provider did not confirm the sign-in. Sign in again; the service's log has the reason.";
                forbidden("sign_in_refused", detail)
            }
            SignInError::NotAllowed => forbidden(
                "sign_in_not_allowed",
                "Your verified e-mail address is not among those that may sign in here. Ask the operator of the service.",
            ),
            SignInError::Deactivated => super::auth::deactivated(),
            SignInError::Replayed => expired(),
        }
    }
}

/// The error for a state that is not, or no longer, good for a sign-in.
fn expired() -> ApiError {
    let detail =
        "This sign-in was already used, took longer than ten minutes, or began in another browser. Sign in again.";
    ApiError::new(StatusCode::BAD_REQUEST, "sign_in_expired", detail)
}

/// The result of an endpoint that browsers navigate to.
type Navigated = Result<Response, Answer>;
