//! Authenticates people by their session's cookie. A browser sends the cookie with requests of any site's page, so requests that change
//! something must come from our own page; and a person may only do what their role permits.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use switchhook_core::Timestamp;
use switchhook_core::api_key::KeyHash;
use url::Url;

use super::{Actor, Permission, Principal, Tenant};
use crate::http::HttpState;
use crate::http::audit;
use crate::http::error::ApiError;
use crate::sign_in::SignIn;
use crate::sign_in::attempt::{hash, is_random_text};
use crate::store::sessions::{self, SessionHash, SessionRow};
use crate::store::{Store, people};

/// The interval at which the use of a session is recorded.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Finds the tenant of a request below `/v1` with this cookie.
pub(super) async fn authenticate(
    state: &HttpState,
    from: Option<IpAddr>,
    (method, path): (&Method, &str),
    headers: &HeaderMap,
    cookie: &str,
) -> Result<Tenant, ApiError> {
    let (hash, session) = find(state, from, cookie).await?.ok_or_else(ApiError::unauthorized)?;
    if !session.tenant_active {
        return Err(super::deactivated());
    }
    let reads = is_safe(method);
    if !reads {
        check_origin(state, headers)?;
    }
    if !session.role().permits(reads, path.strip_prefix("/v1").unwrap_or(path)) {
        let detail = format!("Your role, {}, does not permit this. Ask an owner of the tenant.", session.role());
        return Err(ApiError::new(StatusCode::FORBIDDEN, "role_forbids", detail));
    }
    Ok(Tenant {
        id: session.tenant(),
        limits: session.limits(&state.config),
        principal: Principal::Session(hash),
        actor: Actor::Person(session.person()),
        permission: Permission::Read,
    })
}

/// Returns the open session of a cookie, if its person may still sign in, and records its use.
pub(in crate::http) async fn find(
    state: &HttpState,
    from: Option<IpAddr>,
    cookie: &str,
) -> Result<Option<(SessionHash, SessionRow)>, ApiError> {
    let Some((hash, session)) = find_open(state, from, cookie).await? else { return Ok(None) };
    audit::note_person(session.tenant(), session.person());
    let now = state.clock.now();
    if session.times().used_at + TOUCH_INTERVAL <= now {
        // Its use is recorded the next time, when the database cannot be written now.
        if let Err(error) = touch(&state.store, &hash, &session, now).await {
            tracing::warn!(%error, "could not record the use of a session");
        }
    }
    Ok(Some((hash, session)))
}

/// Returns the open session of a cookie, if its person may still sign in, and leaves it as it is.
pub(in crate::http) async fn find_open(
    state: &HttpState,
    from: Option<IpAddr>,
    cookie: &str,
) -> Result<Option<(SessionHash, SessionRow)>, ApiError> {
    let now = state.clock.now();
    let is_good = |session: &SessionRow| session.times().is_open(now) && state.sign_in.admits(session);
    Ok(look_up(state, from, cookie).await?.filter(|(_, session)| is_good(session)))
}

/// Returns the session of a cookie, open or not. A cookie without the form of ours is refused at once, and an address that presents
/// many unknown ones is slowed down like one that guesses keys.
pub(in crate::http) async fn look_up(
    state: &HttpState,
    from: Option<IpAddr>,
    cookie: &str,
) -> Result<Option<(SessionHash, SessionRow)>, ApiError> {
    if !is_random_text(cookie) {
        return Ok(None);
    }
    let hash = hash(cookie);
    let attempt = state.throttle.admit(from, KeyHash::from_bytes(hash)).await;
    let mut conn = state.store.read().await?;
    let found = sessions::find_for_authentication(&mut conn, &hash).await?;
    drop(conn); // Returns the connection before the request is handled.
    let Some(session) = found else {
        attempt.wrong();
        return Ok(None);
    };
    attempt.right();
    Ok(Some((hash, session)))
}

async fn touch(store: &Store, hash: &SessionHash, session: &SessionRow, now: Timestamp) -> Result<(), sqlx::Error> {
    let mut tx = store.begin().await?;
    sessions::touch(&mut tx, session.tenant(), hash, now).await?;
    people::saw(&mut tx, session.tenant(), session.person(), now).await?;
    tx.commit().await
}

/// Returns whether requests of this method change nothing (RFC 9110 section 9.2.1).
pub(in crate::http) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

/// Rejects requests from pages of other sites.
///
/// # Errors
/// 403 unless the only `Origin` is ours.
pub(in crate::http) fn check_origin(state: &HttpState, headers: &HeaderMap) -> Result<(), ApiError> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next().and_then(|origin| origin.to_str().ok()).filter(|_| origins.next().is_none());
    let public = Url::parse(state.addresses.public_url()).map(|url| url.origin().ascii_serialization());
    let ours = |origin: &str| public.as_ref().is_ok_and(|public| public == origin);
    // The local sign-in opens at whichever loopback name the developer typed.
    let local = |origin: &str| {
        matches!(state.sign_in, SignIn::Local(_))
            && host(headers).is_some_and(|host| is_loopback(&host) && origin == format!("http://{host}"))
    };
    if origin.is_some_and(|origin| ours(origin) || local(origin)) {
        return Ok(());
    }
    let detail = format!(
        "A request with a session must come from the dashboard: its Origin must be that of {}.",
        state.addresses.public_url()
    );
    Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", detail))
}

/// The host and port that the client asked for.
pub(in crate::http) fn host(headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then(|| host.to_owned())
}

/// Returns the name or address of a host, with or without a port.
pub(in crate::http) fn without_port(host: &str) -> Option<String> {
    host.parse::<Uri>().ok()?.host().map(str::to_owned)
}

/// Returns whether a host, with or without a port, is a name of this machine that no other site can have.
pub(in crate::http) fn is_loopback(host: &str) -> bool {
    let Some(host) = without_port(host) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_no_other_site_can_have_are_loopback() {
        for host in ["localhost", "localhost:8080", "127.0.0.1:8080", "127.8.8.8", "[::1]:8080", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["", "localhost.evil.test", "127.0.0.1.evil.test", "evil.test:80", "0.0.0.0", "[::]:80", "10.0.0.1", "a b"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
