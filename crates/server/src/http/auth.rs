//! Authenticates requests: finds the tenant of `Authorization: Bearer <API key>`, of a session's cookie, or of an event stream's token.
//!
//! Every request looks the key or session up and caches nothing, so revoking a key and signing out are immediate on every node. A
//! token without the shape of a key, and a cookie without that of a session, are rejected without a query; unknown ones are slowed down.

pub(crate) mod event_token;
pub(super) mod session;

pub(super) use self::event_token::EventGrant;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use switchhook_core::Timestamp;
use switchhook_core::api_key::PresentedKey;
use switchhook_core::id::{ApiKeyId, PersonId, TenantId};
use switchhook_core::quota::QuotaLimits;
use switchhook_core::sign_in::Role;
use uuid::Uuid;

use super::HttpState;
use super::audit;
use super::error::ApiError;
use super::sign_in::cookies;
use crate::store::sessions::SessionHash;
use crate::store::{Conn, Store, api_keys, sessions};

/// The authenticated tenant; handlers below `/v1` take it as an argument.
#[derive(Clone, Copy, Debug)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// Its limits.
    pub limits: QuotaLimits,
    /// How the request was authenticated.
    pub principal: Principal,
    /// The caller.
    pub actor: Actor,
    /// The permission that a streamed response keeps requiring.
    pub permission: Permission,
}

/// How a request was authenticated.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Principal {
    /// An API key.
    Key(ApiKeyId),
    /// A person's session.
    Session(SessionHash),
}

/// The caller of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A program with an API key.
    Program,
    /// A person with a session, or a token of theirs.
    Person(PersonId),
    /// The holder of this event token of a program.
    Page(TokenHash),
}

/// By which an event token is known.
pub type TokenHash = [u8; 32];

/// The permission of a request, which is checked again while its response is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Reading events with a key or a session.
    Read,
    /// Reading events with a token, which its holder can give to others.
    EventToken,
    /// Listening to a call.
    Listen,
    /// Talking in a web call that one has placed.
    Talk,
}

impl Permission {
    fn is_given_to(self, role: Role) -> bool {
        match self {
            Self::Read => role.permits(true, "/events"),
            Self::EventToken => role.permits(false, "/event-tokens"),
            Self::Listen | Self::Talk => role.permits(false, "/calls"),
        }
    }
}

impl Tenant {
    /// Returns whether the key or session is still valid and permits what it did, for streams that outlive their request's check.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn is_still_admitted(&self, state: &HttpState, conn: &mut Conn) -> Result<bool, sqlx::Error> {
        let actor = self.principal.actor_with(self.permission, self.id, state, conn).await?;
        Ok(actor.is_some())
    }
}

impl Principal {
    /// Returns the holder of this key or session of the tenant, if it is still valid and has the permission.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn actor_with(
        &self,
        permission: Permission,
        tenant: TenantId,
        state: &HttpState,
        conn: &mut Conn,
    ) -> Result<Option<Actor>, sqlx::Error> {
        let now = state.clock.now();
        match self {
            Self::Key(key) => {
                let opens = api_keys::still_opens(conn, tenant, *key, now).await?;
                Ok(opens.then_some(Actor::Program))
            }
            Self::Session(hash) => {
                let session = sessions::find_for_authentication(conn, hash).await?;
                let session = session.filter(|session| {
                    session.tenant_active && session.times().is_open(now) && state.sign_in.admits(session)
                });
                let session = session.filter(|session| permission.is_given_to(session.role()));
                Ok(session.map(|session| Actor::Person(session.person())))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Tenant {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get().copied().ok_or_else(ApiError::unauthorized)
    }
}

/// Middleware: rejects requests without a valid key or session and adds the [`Tenant`] to the others.
pub async fn require(state: HttpState, mut request: Request, next: Next) -> Result<Response, ApiError> {
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip());
    let has_key = request.headers().contains_key(AUTHORIZATION);
    if let Some(token) = event_token::of(&request).filter(|_| !has_key) {
        // A browser sends the cookie unasked, but only the page has the token.
        let response = match event_token::authenticate(&state, &token).await {
            Ok(tenant) => {
                request.extensions_mut().insert(tenant);
                next.run(request).await
            }
            Err(error) => error.into_response(),
        };
        return Ok(event_token::open_to_pages(response));
    }
    if !has_key && event_token::is_preflight(&request) {
        return Ok(event_token::preflight());
    }
    let tenant = match (has_key, cookies::session(request.headers())) {
        // Reject ambiguous credentials.
        (true, Some(_)) => return Err(ApiError::unauthorized()),
        (false, Some(cookie)) => {
            let asked = (request.method(), request.uri().path());
            session::authenticate(&state, from, asked, request.headers(), &cookie).await?
        }
        (_, None) => authenticate(&state, request.headers(), from).await?,
    };
    request.extensions_mut().insert(tenant);
    Ok(next.run(request).await)
}

/// The error for a deactivated tenant.
pub(super) fn deactivated() -> ApiError {
    let detail = "This tenant is deactivated. Ask the operator of the service to activate it.";
    ApiError::new(StatusCode::FORBIDDEN, "tenant_deactivated", detail)
}

async fn authenticate(state: &HttpState, headers: &HeaderMap, from: Option<IpAddr>) -> Result<Tenant, ApiError> {
    let presented =
        bearer(headers).and_then(|text| PresentedKey::parse(text).ok()).ok_or_else(ApiError::unauthorized)?;
    let attempt = state.throttle.admit(from, presented.hash()).await;
    let mut conn = state.store.read().await?;
    let found = api_keys::find_for_authentication(&mut conn, presented.prefix()).await?;
    drop(conn); // Returns the connection before the request is handled.
    let now = state.clock.now();
    let Some(credential) = found.filter(|found| found.accepts(presented.hash(), now)) else {
        attempt.wrong();
        return Err(ApiError::unauthorized());
    };
    attempt.right();
    let (id, key) = (TenantId::from_uuid(credential.tenant_id), ApiKeyId::from_uuid(credential.id));
    audit::note_key(id, key);
    if !credential.tenant_active {
        return Err(deactivated());
    }
    state.last_used.note(credential.id, now);
    Ok(Tenant {
        id,
        limits: credential.limits(&state.config),
        principal: Principal::Key(key),
        actor: Actor::Program,
        permission: Permission::Read,
    })
}

/// The token of the only `Authorization` header, if its scheme is `Bearer` (RFC 6750 section 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim_start_matches(' '))
}

/// When keys were last used. A background task writes it to the database, so requests do not wait.
#[derive(Clone, Debug, Default)]
pub struct LastUsed(Arc<Mutex<HashMap<Uuid, Timestamp>>>);

impl LastUsed {
    fn note(&self, key: Uuid, at: Timestamp) {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = used.entry(key).or_insert(at);
        *latest = (*latest).max(at);
    }

    /// Writes the collected times.
    ///
    /// # Errors
    /// When the database fails; the times are kept for the next attempt.
    pub async fn flush(&self, store: &Store) -> Result<(), sqlx::Error> {
        let mut used: Vec<_> = {
            let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *gathered).into_iter().collect()
        };
        if used.is_empty() {
            return Ok(());
        }
        used.sort_unstable(); // The same order on every node, to avoid deadlocks.
        let written = write(store, &used).await;
        if written.is_err() {
            used.into_iter().for_each(|(key, at)| self.note(key, at));
        }
        written
    }
}

async fn write(store: &Store, used: &[(Uuid, Timestamp)]) -> Result<(), sqlx::Error> {
    let mut tx = store.begin().await?;
    api_keys::touch_for_housekeeping(&mut tx, used).await?;
    tx.commit().await
}
