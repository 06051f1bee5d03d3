//! An OpenID Connect provider, as Core 1.0 and Discovery 1.0 describe it. It signs with ES256 or ES384, requires PKCE and the
//! client's secret, and issues each code once. Tests decide who signs in, how the ID token is wrong, what else is sent, and when the
//! provider is silent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Form, Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchhook::config::OidcSettings;
use switchhook_runtime::clock::{self, Clock};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::wild_oidc::{WildOidc, WildPerson};
use crate::harness::TIMEOUT;

pub(crate) const CLIENT_ID: &str = "switchhook";
pub(crate) const CLIENT_SECRET: &str = "a secret: with ünusual characters";

/// A running provider. Stopped when dropped.
pub(crate) struct Oidc {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

struct Shared {
    issuer: String,
    clock: Clock,
    key: EcdsaKeyPair,
    p384_key: EcdsaKeyPair,
    /// Members to replace in the documents at these paths.
    replaced: Mutex<HashMap<&'static str, Value>>,
    codes: Mutex<HashMap<String, Grant>>,
    /// The response of the user info endpoint, by access token.
    user_info: Mutex<HashMap<String, Value>>,
    /// Connections that were opened.
    connections: AtomicUsize,
    /// The paths of all requests.
    requests: watch::Sender<Vec<String>>,
    /// Whether requests are held.
    silent: watch::Sender<bool>,
    /// How it deviates from the specification, if it does.
    wild: Mutex<Option<WildOidc>>,
}

/// Grant of a code.
struct Grant {
    challenge: String,
    redirect: String,
    token: String,
    user_info: Value,
}

/// How an ID token is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signed {
    /// Correctly.
    Well,
    /// Correctly, with its P-384 key.
    WithP384,
    /// With `alg: none`.
    Not,
    /// With the client's secret.
    WithSecret,
    /// With a key that the provider does not publish.
    ByAnother,
}

impl Oidc {
    pub(crate) async fn start(clock: &Clock) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            issuer: format!("http://{address}"),
            clock: clock.clone(),
            key: new_key(&ECDSA_P256_SHA256_FIXED_SIGNING),
            p384_key: new_key(&ECDSA_P384_SHA384_FIXED_SIGNING),
            replaced: Mutex::default(),
            codes: Mutex::default(),
            user_info: Mutex::default(),
            connections: AtomicUsize::new(0),
            requests: watch::Sender::default(),
            silent: watch::Sender::default(),
            wild: Mutex::default(),
        });
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(configuration))
            .route("/jwks", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(user_info))
            .layer(from_fn_with_state(shared.clone(), attend))
            .with_state(shared.clone());
        let of = shared.clone();
        let listener = listener.tap_io(move |_| {
            of.connections.fetch_add(1, Ordering::Relaxed);
        });
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let serving = axum::serve(listener, routes).with_graceful_shutdown(stopped);
        let task = tokio::spawn(async move { serving.await.expect("it serves") });
        Self { address, shared, stop, task }
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn settings(&self) -> OidcSettings {
        OidcSettings {
            issuer: self.issuer(),
            client_id: CLIENT_ID.to_owned(),
            client_secret: Some(CLIENT_SECRET.to_owned().into()),
            allow: switchhook_core::sign_in::AllowList::default(),
            scopes: ["openid", "email", "profile"].map(str::to_owned).to_vec(),
        }
    }

    /// Signs in the user who was sent to `url`, and returns the code. `claims` replace those of the ID token; `null` removes one.
    pub(crate) fn code(&self, url: &Url, claims: Value, signed: Signed) -> String {
        self.code_with(url, claims, signed, json!({}))
    }

    /// The same, with this response of the user info endpoint.
    pub(crate) fn code_with(&self, url: &Url, claims: Value, signed: Signed, user_info: Value) -> String {
        let sent: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert!(url.as_str().starts_with(&format!("{}/authorize?", self.issuer())), "{url}");
        let fixed = [("response_type", "code"), ("client_id", CLIENT_ID), ("code_challenge_method", "S256")];
        for (name, value) in fixed.into_iter().chain([("scope", "openid email profile")]) {
            assert_eq!(sent.get(name).map(String::as_str), Some(value), "{name} of {url}");
        }
        assert!(sent["redirect_uri"].ends_with("/auth/callback") && sent["state"].len() > 20, "{url}");
        let now = self.shared.clock.now().as_seconds();
        let mut all = json!({
            "iss": self.issuer(), "sub": "ana", "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": sent["nonce"],
            "email": "ana@example.com", "email_verified": true, "name": "Ana",
        });
        replace(&mut all, &claims);
        let grant = Grant {
            challenge: sent["code_challenge"].clone(),
            redirect: sent["redirect_uri"].clone(),
            token: self.shared.sign(&all, signed),
            user_info,
        };
        let code = random();
        self.shared.codes.lock().expect("whole").insert(code.clone(), grant);
        code
    }

    /// Replaces these members of the document at `path` from now on; `null` removes one.
    pub(crate) fn replace(&self, path: &'static str, members: Value) {
        self.shared.replaced.lock().expect("whole").insert(path, members);
    }

    /// Makes it follow the specification loosely from now on, determined by this seed. Returns a person who signs in there.
    pub(crate) fn go_wild(&self, seed: u64) -> WildPerson {
        let (wild, person) = WildOidc::new(seed);
        *self.shared.wild.lock().expect("whole") = Some(wild);
        person
    }

    /// Sets whether requests are held.
    pub(crate) fn set_silent(&self, silent: bool) {
        self.shared.silent.send_replace(silent);
    }

    /// Returns how many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Returns how many requests with this path have arrived.
    pub(crate) fn requests(&self, path: &str) -> usize {
        self.shared.requests.borrow().iter().filter(|came| *came == path).count()
    }

    /// Waits for this many requests with this path.
    pub(crate) async fn until_requested(&self, path: &str, times: usize) {
        let mut requests = self.shared.requests.subscribe();
        let come = |all: &Vec<String>| all.iter().filter(|came| *came == path).count() >= times;
        let waiting = tokio::time::timeout(TIMEOUT, requests.wait_for(come)).await;
        waiting.expect("they come within a minute").expect("it runs");
    }

    /// Takes the provider off the network, including the clients' open connections.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.task).await.expect("it ends");
    }
}

impl Drop for Oidc {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// Signs claims in the compact form of RFC 7515.
    fn sign(&self, claims: &Value, signed: Signed) -> String {
        let (algorithm, key_id) = match signed {
            Signed::Well | Signed::ByAnother => ("ES256", "1"),
            Signed::WithP384 => ("ES384", "2"),
            Signed::Not => ("none", "1"),
            Signed::WithSecret => ("HS256", "1"),
        };
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&json!({ "alg": algorithm, "kid": key_id })), part(claims));
        let with =
            |key: &EcdsaKeyPair| key.sign(&SystemRandom::new(), text.as_bytes()).expect("signed").as_ref().to_vec();
        let signature = match signed {
            Signed::Not => Vec::new(),
            Signed::WithSecret => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, CLIENT_SECRET.as_bytes());
                ring::hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
            }
            Signed::Well => with(&self.key),
            Signed::WithP384 => with(&self.p384_key),
            Signed::ByAnother => with(&new_key(&ECDSA_P256_SHA256_FIXED_SIGNING)),
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Returns the document at `path` as the test wants it.
    fn document(&self, path: &str, mut body: Value) -> Json<Value> {
        if let Some(members) = self.replaced.lock().expect("whole").get(path) {
            replace(&mut body, members);
        }
        Json(body)
    }
}

async fn attend(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    shared.requests.send_modify(|all| all.push(path.clone()));
    let speaking = shared.silent.subscribe().wait_for(|silent| !silent).await.map(drop);
    speaking.expect("it runs");
    let fails = shared.wild.lock().expect("whole").as_mut().map(|wild| wild.fails(&path));
    match fails {
        None => next.run(request).await,
        Some(true) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(false) => loosely(&shared, &path, next.run(request).await).await,
    }
}

/// Returns a response in the form in which a loose provider sends it.
async fn loosely(shared: &Shared, path: &str, response: Response) -> Response {
    if !response.status().is_success() {
        return response;
    }
    let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
    let mut document: Value = serde_json::from_slice(&bytes).expect("JSON");
    let mut wild = shared.wild.lock().expect("whole");
    let wild = wild.as_mut().expect("it is wild");
    if wild.signs(path) {
        document["iss"] = json!(shared.issuer);
        document["aud"] = json!(CLIENT_ID);
        let token = shared.sign(&document, Signed::Well);
        return wild.send(token.into_bytes(), Some("application/jwt"));
    }
    wild.response(path, document)
}

/// Replaces members of an object; `null` removes one.
fn replace(object: &mut Value, members: &Value) {
    for (name, value) in members.as_object().expect("an object") {
        object[name] = value.clone();
    }
    object.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
}

fn new_key(algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key")
}

fn random() -> String {
    URL_SAFE_NO_PAD.encode(clock::random::<16>())
}

async fn configuration(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let issuer = &shared.issuer;
    let metadata = json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"), "userinfo_endpoint": format!("{issuer}/userinfo"),
        "jwks_uri": format!("{issuer}/jwks"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
        // As a careless provider offers it.
        "id_token_signing_alg_values_supported": ["ES256", "ES384", "HS256", "none"],
    });
    shared.document("/.well-known/openid-configuration", metadata)
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let public = |key: &EcdsaKeyPair, id: &str, curve: &str, algorithm: &str| {
        // An uncompressed point: 4, x, y.
        let point = &key.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        json!({ "kty": "EC", "crv": curve, "use": "sig", "alg": algorithm, "kid": id, "x": x, "y": y })
    };
    let keys = [public(&shared.key, "1", "P-256", "ES256"), public(&shared.p384_key, "2", "P-384", "ES384")];
    Json(json!({ "keys": keys }))
}

async fn token(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Form(sent): Form<HashMap<String, String>>,
) -> Response {
    let refuse = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    if basic(&headers).as_deref() != Some(&*format!("{CLIENT_ID}:{CLIENT_SECRET}")) {
        return refuse("invalid_client");
    }
    let grant = sent.get("code").and_then(|code| shared.codes.lock().expect("whole").remove(code));
    let Some(grant) = grant else { return refuse("invalid_grant") };
    let verifier = sent.get("code_verifier").map(|text| URL_SAFE_NO_PAD.encode(Sha256::digest(text)));
    if verifier.as_ref() != Some(&grant.challenge) || sent.get("redirect_uri") != Some(&grant.redirect) {
        return refuse("invalid_grant");
    }
    let access = random();
    shared.user_info.lock().expect("whole").insert(access.clone(), grant.user_info);
    let body = json!({ "access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": grant.token });
    shared.document("/token", body).into_response()
}

/// Returns id and secret, each form-encoded (RFC 6749 section 2.3.1).
fn basic(headers: &HeaderMap) -> Option<String> {
    let coded = headers.get("authorization")?.to_str().ok()?.strip_prefix("Basic ")?;
    let text = String::from_utf8(STANDARD.decode(coded).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let decoded = |text: &str| url::form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned());
    Some(format!("{}:{}", decoded(id)?, decoded(secret)?))
}

async fn user_info(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match token.and_then(|token| shared.user_info.lock().expect("whole").get(token).cloned()) {
        Some(claims) => Json(claims).into_response(),
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}
