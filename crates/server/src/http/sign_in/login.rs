//! `GET /auth/login`: sends the browser to the identity provider, or signs the developer in.

use std::net::SocketAddr;

use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use switchhook_core::sign_in::{STATE_MAX_AGE, local_path};
use url::Url;

use super::page::Answer;
use super::{Navigated, cookies, rate, send_to, welcome};
use crate::http::HttpState;
use crate::http::auth::session::{host, is_loopback, without_port};
use crate::http::error::ApiError;
use crate::operator;
use crate::sign_in::attempt::{self, is_random_text, random_text};
use crate::sign_in::enter::Home;
use crate::sign_in::identity::Identity;
use crate::sign_in::provider::Provider;
use crate::sign_in::{SignIn, SignInError};

#[derive(Default, Deserialize)]
pub(super) struct LoginQuery {
    /// Where to go after the sign-in.
    return_to: Option<String>,
    /// Of the link in the terminal of `switchhook dev`.
    token: Option<String>,
    /// There when a redirect to the public address has led here.
    moved: Option<String>,
}

pub(super) async fn login(
    state: HttpState,
    method: Method,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    query: Result<Query<LoginQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Navigated {
    let LoginQuery { return_to, token, moved } = query.map(|Query(query)| query).unwrap_or_default();
    let return_to = return_to.as_deref().and_then(local_path).unwrap_or("/");
    let answer = |error| Answer::new(&headers, error);
    rate::admit(&state, from).map_err(answer)?;
    match &state.sign_in {
        SignIn::Off => Err(answer(off())),
        SignIn::Local(link) if is_this_machine(from, &headers) => {
            // Programs that preview links ask for the headers first; that must not use the link up.
            if method != Method::GET || !token.is_some_and(|token| link.redeem(&token)) {
                link.ask();
                return Err(answer(link_required()));
            }
            let home = home(&state).await.map_err(|error| answer(error.into()))?;
            welcome(&state, &headers, &Identity::local(), home, None, return_to)
                .await
                .map_err(|error| answer(error.into()))
        }
        SignIn::Local(_) => Err(answer(elsewhere())),
        SignIn::Oidc(provider) => {
            let public = Url::parse(&format!("{}/auth/login", state.addresses.public_url())).ok();
            // A proxy may name another host than the browser asked for: a second redirect would not lead elsewhere.
            if let Some(mut public) = public.filter(|public| moved.is_none() && is_elsewhere(&headers, public)) {
                public.query_pairs_mut().append_pair("return_to", return_to).append_pair("moved", "1");
                return Ok((StatusCode::FOUND, [(LOCATION, public.to_string())]).into_response());
            }
            leave(&state, provider, &headers, return_to).await.map_err(|error| answer(error.into()))
        }
    }
}

/// Sends the browser to the provider.
async fn leave(
    state: &HttpState,
    provider: &Provider,
    headers: &HeaderMap,
    return_to: &str,
) -> Result<Response, SignInError> {
    // Kept while it is good, so that sign-ins in several tabs do not disturb each other.
    let browser = cookies::sign_in(headers).filter(|cookie| is_random_text(cookie)).unwrap_or_else(random_text);
    let challenge = attempt::start(&state.vault, &browser, return_to, state.clock.now());
    let url = provider.authorization_url(&challenge).await?;
    Ok(send_to(url.as_str(), cookies::set_sign_in(&browser, STATE_MAX_AGE)))
}

/// Returns whether the browser asks at another loopback name than that of the public address. The provider returns browsers to the public
/// address, and cookies belong to a name, whatever the port: a sign-in moves there first. Proxies often leave out the port.
fn is_elsewhere(headers: &HeaderMap, public: &Url) -> bool {
    let (asked, public) = (host(headers).and_then(|host| without_port(&host)), public.host_str());
    asked.zip(public).is_some_and(|(asked, public)| asked != public && is_loopback(&asked) && is_loopback(public))
}

/// Returns whether a browser on this machine asks, under a name that no site on the internet can take, and not through a proxy.
fn is_this_machine(from: SocketAddr, headers: &HeaderMap) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| headers.contains_key(*name));
    from.ip().to_canonical().is_loopback() && !forwarded && host(headers).is_some_and(|host| is_loopback(&host))
}

/// The tenant of `switchhook dev`, with its agent and number.
async fn home(state: &HttpState) -> Result<Home, sqlx::Error> {
    Ok(operator::seeded_tenant(&state.store).await?.map_or(Home::New, |row| Home::Tenant(row.tenant())))
}

fn off() -> ApiError {
    let detail = "The dashboard is off. Set SWITCHHOOK_OIDC_ISSUER, SWITCHHOOK_OIDC_CLIENT_ID and SWITCHHOOK_OIDC_CLIENT_SECRET \
        (docs/dashboard.md), or run `switchhook dev` on your own machine, without a SWITCHHOOK_PUBLIC_URL elsewhere.";
    ApiError::new(StatusCode::NOT_FOUND, "sign_in_off", detail)
}

fn link_required() -> ApiError {
    let detail =
        "The terminal in which `switchhook dev` runs shows a link that signs you in, once: open it in this browser.";
    ApiError::new(StatusCode::FORBIDDEN, "sign_in_link_required", detail)
}

fn elsewhere() -> ApiError {
    let detail = "This sign-in works only in a browser on the machine that runs `switchhook dev`, at a loopback address. For other \
        machines, set SWITCHHOOK_OIDC_ISSUER (docs/dashboard.md).";
    ApiError::new(StatusCode::FORBIDDEN, "sign_in_local_only", detail)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_sign_in_moves_to_another_loopback_name_whatever_the_ports() {
        let is_elsewhere = |asked: &'static str, public: &str| {
            let headers = HeaderMap::from_iter([(axum::http::header::HOST, HeaderValue::from_static(asked))]);
            is_elsewhere(&headers, &public.parse().expect("an address"))
        };
        for (asked, public) in [
            ("localhost:8081", "http://127.0.0.1:8081"),
            ("localhost", "http://127.0.0.1:8081/voice"),
            ("127.0.0.1:8081", "http://[::1]:8081"),
        ] {
            assert!(is_elsewhere(asked, public), "{asked} {public}");
        }
        for (asked, public) in [
            ("127.0.0.1", "http://127.0.0.1:8081"),
            ("localhost", "http://localhost:8081"),
            ("[::1]", "http://[::1]:8081/voice"),
            ("127.0.0.1:8080", "http://127.0.0.1:8081"),
            ("127.0.0.1:80", "http://127.0.0.1"),
            ("example.com", "http://127.0.0.1:8081"),
            ("localhost:8081", "https://example.com"),
        ] {
            assert!(!is_elsewhere(asked, public), "{asked} {public}");
        }
    }

    #[test]
    fn the_local_sign_in_is_for_this_machine_only() {
        let asks = |from: &str, headers: &[(&'static str, &'static str)]| {
            let header = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            is_this_machine(from.parse().expect("an address"), &headers.iter().map(header).collect())
        };
        let here = ("host", "127.0.0.1:8080");
        assert!(asks("127.0.0.1:5000", &[here]));
        assert!(asks("[::1]:5000", &[("host", "localhost:8080")]));
        assert!(asks("[::ffff:127.0.0.1]:5000", &[here]));
        assert!(!asks("10.0.0.7:5000", &[here]), "another machine");
        assert!(!asks("127.0.0.1:5000", &[("host", "evil.test:8080")]), "a name that points here");
        for (name, value) in [
            ("x-forwarded-for", "203.0.113.7"),
            ("x-forwarded-for", "203.0.113.7:51008, 127.0.0.1"),
            ("x-forwarded-for", "[2001:db8::1]:51008"),
            ("forwarded", "for=\"[2001:db8::1]:51008\""),
        ] {
            assert!(!asks("127.0.0.1:5000", &[here, (name, value)]), "through a proxy: {value}");
        }
        assert!(!asks("127.0.0.1:5000", &[]), "no name");
    }
}
