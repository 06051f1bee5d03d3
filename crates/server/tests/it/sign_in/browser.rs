//! A minimal browser for signing in: it keeps cookies and does not follow redirects.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use reqwest::header::{COOKIE, HeaderMap, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::Url;

use crate::doubles::oidc::{Oidc, Signed};

/// The session's cookie.
pub(super) const SESSION: &str = "__Host-session";

#[derive(Clone)]
pub(super) struct Browser {
    http: reqwest::Client,
    pub(super) base: String,
    /// The URL of the pages, which it sends as their origin.
    pub(super) origin: String,
    pub(super) cookies: BTreeMap<String, String>,
}

/// Returns the target of a redirect.
pub(super) fn location(headers: &HeaderMap) -> String {
    headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

impl Browser {
    pub(super) fn new(base: &str) -> Self {
        Self::at([127, 0, 0, 1].into(), base)
    }

    /// Creates a browser at this address of the machine.
    pub(super) fn at(address: Ipv4Addr, base: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = http.local_address(std::net::IpAddr::from(address)).build();
        let (base, origin) = (base.to_owned(), base.to_owned());
        Self { http: http.expect("a client"), base, origin, cookies: BTreeMap::new() }
    }

    /// Builds a request with the cookies.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if pairs.is_empty() { request } else { request.header(COOKIE, pairs.join("; ")) }
    }

    /// Sends a request and keeps the cookies of its response.
    pub(super) async fn send(&mut self, request: RequestBuilder) -> Response {
        let response = request.send().await.expect("the service answers");
        for line in response.headers().get_all(SET_COOKIE) {
            let line = line.to_str().expect("text");
            for attribute in ["; Path=/;", "; Secure;", "; HttpOnly;", "; SameSite=Lax;", "; Max-Age="] {
                assert!(line.contains(attribute), "{attribute} is in {line}");
            }
            assert!(line.starts_with("__Host-") && !line.contains("Domain"), "{line}");
            let (name, value) = line.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
            if line.ends_with("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        response
    }

    pub(super) async fn get(&mut self, path: &str) -> Response {
        let request = self.request(Method::GET, path);
        self.send(request).await
    }

    /// Presses "Sign in" and returns the provider's page.
    pub(super) async fn login(&mut self, path: &str) -> Url {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::FOUND, "{path}");
        location(response.headers()).parse().expect("a URL")
    }

    /// Returns from the provider's page with a code.
    pub(super) async fn come_back(&mut self, url: &Url, code: &str) -> Response {
        let state = url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
        self.get(&format!("/auth/callback?code={code}&state={state}")).await
    }

    /// Signs in a user with these claims.
    pub(super) async fn sign_in(&mut self, oidc: &Oidc, claims: Value) -> Response {
        let url = self.login("/auth/login").await;
        self.come_back(&url, &oidc.code(&url, claims, Signed::Well)).await
    }

    /// Returns the session's cookie.
    pub(super) fn session(&self) -> Option<&str> {
        self.cookies.get(SESSION).map(String::as_str)
    }

    /// Builds a request of the dashboard.
    pub(super) fn api(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).header(ORIGIN, &self.origin)
    }

    /// Sends a request of the dashboard and reads its response.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let request = self.api(method, path);
        answer(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// Sends a request of the dashboard, keeps the cookies of its response and reads it.
    pub(super) async fn act(&mut self, path: &str, body: Value) -> (StatusCode, Value) {
        let request = self.api(Method::POST, path).json(&body);
        read(self.send(request).await).await
    }

    /// Returns the signed-in user.
    pub(super) async fn who(&self) -> (StatusCode, Value) {
        answer(self.request(Method::GET, "/auth/session")).await
    }
}

pub(super) async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    read(request.send().await.expect("the service answers")).await
}

async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let bytes = response.bytes().await.expect("a whole body");
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).expect("JSON") };
    (status, body)
}
