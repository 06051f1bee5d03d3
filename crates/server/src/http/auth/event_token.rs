//! Tokens in the address of an event stream. A token contains whose events may be read and until when; it is sealed, so that only the
//! service's nodes can read it. Addresses are logged without their query.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD,
};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::private::Private;
use switchhook_vault::Vault;
use url::form_urlencoded;

use super::{Actor, Permission, Principal, Tenant};
use crate::http::HttpState;
use crate::http::error::ApiError;
use crate::store::tenants;

/// How long a token opens streams.
const TOKEN_LIFETIME: Duration = Duration::from_secs(600);
/// The context in which tokens are sealed.
const CONTEXT: &str = "event token";

/// The contents of a token.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(in crate::http) struct EventGrant {
    tenant: TenantId,
    /// The key or session that must still be good.
    principal: Principal,
    /// In microseconds.
    expires_at: i64,
}

impl EventGrant {
    /// Creates a grant for the requester, valid from `now`.
    pub(in crate::http) fn new(tenant: &Tenant, now: Timestamp) -> Self {
        Self { tenant: tenant.id, principal: tenant.principal, expires_at: (now + TOKEN_LIFETIME).as_micros() }
    }

    pub(in crate::http) fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(self.expires_at)
    }

    /// The token for an address.
    pub(in crate::http) fn token(&self, vault: &Vault) -> String {
        let plain = serde_json::to_vec(self).expect("ids are JSON");
        URL_SAFE_NO_PAD.encode(vault.seal(CONTEXT, &plain))
    }

    fn read(token: &str, vault: &Vault) -> Option<Self> {
        let plain = vault.open(CONTEXT, &URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        serde_json::from_slice(plain.reveal()).ok()
    }
}

/// The token of a request that reads events; any other request has none.
pub(super) fn of(request: &Request) -> Option<Private<String>> {
    let uri = request.uri();
    (*request.method() == Method::GET && reads_events(uri)).then(|| token(uri)).flatten()
}

fn reads_events(uri: &Uri) -> bool {
    let path = uri.path();
    let mut parts = path.strip_prefix("/v1").unwrap_or(path).trim_start_matches('/').split('/');
    let parts = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
    matches!(
        parts,
        (Some("events"), None | Some("stream"), None, ..)
            | (Some("calls"), Some(_), Some("events" | "transcript"), None | Some("stream"), None)
    )
}

fn token(uri: &Uri) -> Option<Private<String>> {
    let mut tokens = form_urlencoded::parse(uri.query()?.as_bytes()).filter(|(name, _)| name == "token");
    tokens.next().map(|(_, token)| Private::new(token.into_owned()))
}

/// Finds the tenant of a token.
pub(super) async fn authenticate(state: &HttpState, token: &Private<String>) -> Result<Tenant, ApiError> {
    let now = state.clock.now();
    let grant = EventGrant::read(token.reveal(), &state.vault).filter(|grant| grant.expires_at() > now);
    let EventGrant { tenant, principal, .. } = grant.ok_or_else(ApiError::unauthorized)?;
    let mut conn = state.store.read().await?;
    let row = tenants::get(&mut conn, tenant).await?.ok_or_else(ApiError::unauthorized)?;
    if !row.active {
        return Err(super::deactivated());
    }
    let permission = Permission::EventToken;
    let actor = match principal.actor_with(permission, tenant, state, &mut conn).await? {
        // Programs give tokens to pages, which must not use up what is the programs'.
        Some(Actor::Program) => Actor::Page(Sha256::digest(token.reveal()).into()),
        actor => actor.ok_or_else(ApiError::unauthorized)?,
    };
    Ok(Tenant { id: tenant, limits: row.limits(&state.config), principal, actor, permission })
}

/// Returns whether a browser asks if a page of another origin may read events with further headers, as it does before a client that
/// uses `fetch` resumes a stream. It sends neither key nor cookie with that.
pub(super) fn is_preflight(request: &Request) -> bool {
    let wanted = request.headers().get(ACCESS_CONTROL_REQUEST_METHOD);
    let asks = *request.method() == Method::OPTIONS && wanted.is_some_and(|method| method == "GET");
    asks && reads_events(request.uri()) && token(request.uri()).is_some()
}

/// Returns the answer to [`is_preflight`]. It does not depend on the token, which the request for events is checked for.
pub(super) fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET")),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Last-Event-ID, Cache-Control")),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from(TOKEN_LIFETIME.as_secs())),
    ];
    open_to_pages((StatusCode::NO_CONTENT, headers).into_response())
}

/// Lets pages of every origin read the response: the token, and no cookie, has admitted it.
pub(super) fn open_to_pages(mut response: Response) -> Response {
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// Tokens of event streams: a damaged one is none.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let grant = serde_json::json!({
            "tenant": TenantId::from_uuid(uuid::Uuid::from_u128(7)), "principal": Principal::Session([3; 32]), "expires_at": 4,
        });
        let sealed = Vault::for_tests([1; 32]).seal(CONTEXT, grant.to_string().as_bytes());
        switchhook_fuzz::each_alone(&[&URL_SAFE_NO_PAD.encode(sealed)])
    },
    read: |messages| {
        switchhook_fuzz::Read::each_text(messages, |token| {
            let grant = EventGrant::read(token, &Vault::for_tests([1; 32])).ok_or("it is none")?;
            assert_eq!((grant.tenant.uuid().as_u128(), grant.expires_at), (7, 4), "nobody changes what it says");
            Ok::<_, &str>(16)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_core::id::ApiKeyId;
    use uuid::Uuid;

    #[test]
    fn only_reading_events_takes_a_token() {
        let token = |method: Method, uri: &str| {
            let request =
                Request::builder().method(method).uri(uri).body(axum::body::Body::empty()).expect("a request");
            of(&request).map(Private::into_inner)
        };
        for uri in [
            "/v1/events?token=x",
            "/events?limit=1&token=x",
            "/v1/calls/7/events?token=x",
            "/calls/7/transcript?token=x",
            "/v1/events/stream?token=x",
            "/v1/calls/7/events/stream?token=x",
            "/v1/calls/7/transcript/stream?token=x",
        ] {
            assert_eq!(token(Method::GET, uri).as_deref(), Some("x"), "{uri}");
        }
        for uri in [
            "/v1/calls?token=x",
            "/v1/calls/7?token=x",
            "/v1/calls/7/recording?token=x",
            "/v1/tenant?token=x",
            "/v1/events",
            "/v1/calls/7/recording/stream?token=x",
        ] {
            assert_eq!(token(Method::GET, uri), None, "{uri}");
        }
        assert_eq!(token(Method::POST, "/v1/calls/7/events?token=x"), None);
    }

    #[test]
    fn only_what_a_token_opens_has_a_preflight() {
        let is_preflight = |method: Method, wanted: Option<&str>, uri: &str| {
            let request = Request::builder().method(method).uri(uri);
            let request =
                wanted.into_iter().fold(request, |request, it| request.header(ACCESS_CONTROL_REQUEST_METHOD, it));
            is_preflight(&request.body(axum::body::Body::empty()).expect("a request"))
        };
        for uri in ["/v1/events?token=x", "/events/stream?limit=1&token=x", "/calls/7/transcript/stream?token=x"] {
            assert!(is_preflight(Method::OPTIONS, Some("GET"), uri), "{uri}");
        }
        for (method, wanted, uri) in [
            (Method::GET, Some("GET"), "/v1/events?token=x"),
            (Method::OPTIONS, None, "/v1/events?token=x"),
            (Method::OPTIONS, Some("POST"), "/v1/events?token=x"),
            (Method::OPTIONS, Some("GET"), "/v1/events"),
            (Method::OPTIONS, Some("GET"), "/v1/calls?token=x"),
            (Method::OPTIONS, Some("GET"), "/v1/calls/7/recording?token=x"),
        ] {
            assert!(!is_preflight(method.clone(), wanted, uri), "{method} {wanted:?} {uri}");
        }
    }

    #[test]
    fn a_token_cannot_be_made_or_changed() {
        let grant = EventGrant {
            tenant: TenantId::from_uuid(Uuid::from_u128(1)),
            principal: Principal::Key(ApiKeyId::from_uuid(Uuid::from_u128(2))),
            expires_at: 4,
        };
        let vault = Vault::for_tests([1; 32]);
        let token = grant.token(&vault);
        let read = EventGrant::read(&token, &Vault::for_tests([1; 32])).expect("the same key");
        assert_eq!((read.tenant, read.expires_at), (grant.tenant, grant.expires_at));
        assert!(EventGrant::read(&token, &Vault::for_tests([2; 32])).is_none(), "another key");
        let other = vault.seal("listener token", &serde_json::to_vec(&grant).expect("JSON"));
        assert!(EventGrant::read(&URL_SAFE_NO_PAD.encode(other), &vault).is_none(), "sealed for something else");
        for wrong in ["", "x", &token[1..], &token[..token.len() - 1], "ä"] {
            assert!(EventGrant::read(wrong, &vault).is_none(), "{wrong}");
        }
    }
}
