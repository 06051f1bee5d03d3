//! Fuzzes the messages of an identity provider: its discovery document, keys, tokens and user info.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::HttpRequest;
use openidconnect::http::Response;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::sign_in::AllowList;
use switchhook_fuzz::{Dialogue, Read, Target};
use switchhook_runtime::clock::Clock;
use tokio::runtime;

use super::loose::Document;
use super::{Challenge, ExchangeError, Provider, discover};
use crate::config::{Config, OidcSettings};

const ISSUER: &str = "https://id.example.com";
const CLIENT: &str = "switchhook";
const NOW: i64 = 1_700_000_000;

/// Each dialogue is what the provider answers, in order.
pub(crate) const FUZZED: Target = Target { file: file!(), seeds, read };

fn seeds() -> Vec<Dialogue> {
    let endpoint = |path: &str| format!("{ISSUER}{path}");
    let metadata = json!({
        "issuer": ISSUER,
        "authorization_endpoint": endpoint("/authorize"),
        "token_endpoint": endpoint("/token"),
        "userinfo_endpoint": endpoint("/userinfo"),
        "jwks_uri": endpoint("/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    });
    let key = key();
    let public = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
    let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": "1", "x": public }] });
    let claims = json!({
        "iss": ISSUER, "sub": "7", "aud": CLIENT, "exp": NOW + 300, "iat": NOW, "nonce": "n", "name": "Ana",
        "email": "ana@example.com", "email_verified": true,
    });
    let mut without_email = claims.clone();
    without_email.as_object_mut().expect("an object").retain(|name, _| !name.starts_with("email"));
    let mut without_flag = claims.clone();
    without_flag.as_object_mut().expect("an object").remove("email_verified");
    let user_info = json!({ "sub": "7", "email": "ana@example.com", "email_verified": "true" });
    let dialogue = |answers: &[Value]| answers.iter().map(|answer| answer.to_string().into_bytes()).collect();
    vec![
        dialogue(&[metadata.clone(), keys.clone(), tokens(&key, &claims)]),
        dialogue(&[metadata.clone(), keys.clone(), tokens(&key, &without_email), user_info.clone()]),
        dialogue(&[metadata.clone(), keys.clone(), tokens(&key, &without_flag), user_info]),
        dialogue(&loose(metadata, keys, tokens(&key, &without_email))),
    ]
}

/// Returns the answers of a provider that keeps to the types only of what is used.
fn loose(mut metadata: Value, keys: Value, mut tokens: Value) -> [Value; 4] {
    metadata["subject_types_supported"] = Value::Null;
    metadata["op_policy_uri"] = json!("");
    tokens["expires_in"] = json!("300");
    let user_info =
        json!({ "sub": "7", "email": "ana@example.com", "email_verified": true, "updated_at": "", "locale": {} });
    [metadata, keys, tokens, user_info]
}

fn key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a seed of 32 bytes")
}

/// RFC 6749 section 5.1, with an ID token in the compact form of RFC 7515.
fn tokens(key: &Ed25519KeyPair, claims: &Value) -> Value {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({ "alg": "EdDSA", "kid": "1" })), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()));
    json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 300, "id_token": format!("{signed}.{signature}") })
}

fn read(messages: &[Vec<u8>]) -> Read {
    let answers = Arc::new(Mutex::new(messages.iter().cloned().collect::<VecDeque<_>>()));
    let http = move |request: HttpRequest| {
        let document = Document::of(&request);
        let loosely = |body: Vec<u8>| document.read(String::from_utf8_lossy(&body).into_owned()).into_bytes();
        let answer = answers.lock().expect("no panic").pop_front().ok_or(ExchangeError::Malformed);
        let response = |body| Response::builder().header("content-type", "application/json").body(loosely(body));
        let response = answer.and_then(|body| response(body).map_err(|_| ExchangeError::Malformed));
        Box::pin(std::future::ready(response)) as futures_util::future::BoxFuture<'static, _>
    };
    let settings = OidcSettings {
        issuer: ISSUER.to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret: None,
        allow: AllowList::default(),
        scopes: Vec::new(),
    };
    let clock = Clock::manual(Timestamp::from_micros(NOW * 1_000_000));
    let provider = Provider::new(settings, Arc::new(Config::for_tests("unused")), clock, "https://calls.example.com");
    let challenge = Challenge { state: "s".to_owned(), nonce: "n".to_owned(), verifier: "v".repeat(43) };
    let signed_in = runtime::Builder::new_current_thread().build().expect("a runtime").block_on(async {
        let metadata = discover(&http, ISSUER.to_owned()).await.ok()?;
        provider.redeem(&http, metadata, "code".to_owned(), &challenge).await.ok()
    });
    let Some(identity) = signed_in else { return Read::default() };
    assert_eq!((identity.issuer.as_str(), identity.subject.as_str()), (ISSUER, "7"), "what is signed is not changed");
    let text = [identity.email, identity.name].into_iter().flatten().map(|text| text.len()).sum();
    Read { taken: messages.len(), given: text }
}
