//! Messages of OpenID providers and people that the specification does not mention, determined by a seed.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};

use super::oidc::{CLIENT_ID, Signed};
use super::wild::{cut, gzip};
use crate::crash::rng::Rng;

/// The documents of a provider.
const PATHS: [&str; 4] = ["/.well-known/openid-configuration", "/jwks", "/token", "/userinfo"];
/// Content types that the specifications allow.
const KINDS: [Option<&str>; 4] = [
    Some("application/json"),
    Some("application/json; charset=utf-8"),
    Some("Application/JSON;charset=\"UTF-8\""),
    None,
];
/// Content types that say something else.
const WRONG_KINDS: [&str; 3] = ["text/plain; charset=utf-8", "text/html", "application/octet-stream"];

/// Whether a person may sign in who must have a verified address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// They are signed in.
    Open,
    /// They are signed in, or learn what to do.
    Unsure,
    /// They learn what to do.
    Closed,
}

/// A person who signs in.
pub(crate) struct WildPerson {
    /// Claims that replace those of the ID token.
    pub(crate) claims: Value,
    pub(crate) signed: Signed,
    pub(crate) user_info: Value,
    /// Their address, if they are signed in.
    pub(crate) email: String,
    pub(crate) entry: Entry,
}

/// A deviation that this service need not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    /// The document at this path has the content type of another one.
    WrongKind(&'static str),
    /// No key has an id, and tokens name one.
    NamelessKeys,
    /// The user info is a signed token.
    SignedUserInfo,
}

/// The deviations of one provider.
pub(super) struct WildOidc {
    random: Rng,
    flaw: Flaw,
    /// The path of the next request that fails.
    failing: Option<&'static str>,
}

impl WildOidc {
    /// Creates the deviations of a provider, and a person who signs in there.
    pub(super) fn new(seed: u64) -> (Self, WildPerson) {
        let mut random = Rng::new(seed);
        let mut person = person(&mut random, seed);
        let flaw = match random.below(12) {
            0 => Flaw::WrongKind(random.any(&PATHS)),
            1 => Flaw::NamelessKeys,
            2 => Flaw::SignedUserInfo,
            _ => Flaw::None,
        };
        if flaw != Flaw::None && person.entry == Entry::Open {
            person.entry = Entry::Unsure;
        }
        let failing = random.once_in(3).then(|| random.any(&PATHS));
        (Self { random, flaw, failing }, person)
    }

    /// Returns whether a request fails; one does.
    pub(super) fn fails(&mut self, path: &str) -> bool {
        self.failing.take_if(|failing| *failing == path).is_some()
    }

    /// Returns whether the document at a path is sent as a signed token.
    pub(super) fn signs(&self, path: &str) -> bool {
        self.flaw == Flaw::SignedUserInfo && path == "/userinfo"
    }

    /// Returns the response with a document in the form in which it is sent.
    pub(super) fn response(&mut self, path: &str, mut document: Value) -> Response {
        let random = &mut self.random;
        match path {
            "/jwks" => vary_keys(random, &mut document, self.flaw == Flaw::NamelessKeys),
            "/token" => vary_tokens(random, &mut document),
            "/userinfo" => document["unheard_of"] = odd(random),
            _ => vary_metadata(random, &mut document),
        }
        let text = if random.once_in(3) {
            serde_json::to_string_pretty(&document).expect("JSON")
        } else {
            document.to_string()
        };
        let text = format!("{}{text}{}", random.any(&["", "\u{feff}", " \r\n\t"]), random.any(&["", "\n\n"]));
        let kind = match self.flaw {
            Flaw::WrongKind(wrong) if wrong == path => Some(random.any(&WRONG_KINDS)),
            _ if path == "/jwks" && random.once_in(2) => Some("application/jwk-set+json"),
            _ => random.any(&KINDS),
        };
        self.send(text.into_bytes(), kind)
    }

    /// Sends bytes in chunks that are cut anywhere, packed or not.
    pub(super) fn send(&mut self, bytes: Vec<u8>, kind: Option<&'static str>) -> Response {
        let random = &mut self.random;
        let packed = random.once_in(3);
        let bytes = if packed { gzip(&bytes) } else { bytes };
        let pieces = cut(random, bytes).into_iter().map(Ok::<_, Infallible>);
        let mut response = Response::new(Body::from_stream(stream::iter(pieces)));
        if packed {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(kind) = kind {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        response
    }
}

/// Returns a value of a member that is not known.
fn odd(random: &mut Rng) -> Value {
    random.any(&[json!([]), json!({ "a": [1, null] }), json!(-1.5e300), json!("\u{1F600}"), json!(false)])
}

fn person(random: &mut Rng, seed: u64) -> WildPerson {
    let (sub, email) = (format!("wild-{seed}"), format!("wild-{seed}@example.com"));
    let verified = random.any(&[json!(true), json!("true")]);
    let mut claims = json!({ "sub": sub, "email": email, "email_verified": verified, "name": null });
    let mut user_info = json!({ "sub": sub, "email": email, "email_verified": verified });
    let (mut signed, mut entry) = (Signed::Well, Entry::Open);
    match random.below(8) {
        0 => claims["unheard_of"] = odd(random),
        1 => {
            claims["aud"] = random.any(&[json!([CLIENT_ID]), json!(["another", CLIENT_ID]), json!([CLIENT_ID, "x"])]);
            claims["azp"] = json!(CLIENT_ID);
        }
        2 => claims["email_verified"] = Value::Null,
        3 => {
            claims["email"] = Value::Null;
            claims["email_verified"] = Value::Null;
            for (name, value) in [("locale", json!({})), ("updated_at", json!("")), ("name", json!(["Ana"]))] {
                user_info[name] = value;
            }
        }
        kind => {
            entry = Entry::Closed;
            signed = spoil(random, kind, &mut claims, &mut user_info);
        }
    }
    WildPerson { claims, signed, user_info, email, entry }
}

/// Makes a sign-in one that must be refused, in one of four ways. Returns how the token is signed.
fn spoil(random: &mut Rng, kind: u64, claims: &mut Value, user_info: &mut Value) -> Signed {
    match kind {
        // An address that is not verified.
        4 => claims["email_verified"] = random.any(&[json!(false), json!("false")]),
        // The claims of another person.
        5 => {
            claims["email_verified"] = Value::Null;
            claims["email"] = random.any(&[claims["email"].clone(), Value::Null]);
            user_info["sub"] = json!("another");
        }
        // Flags and addresses that cannot be read.
        6 => {
            claims["email_verified"] = Value::Null;
            claims["email"] = Value::Null;
            let email = user_info["email"].clone();
            let (name, value) = random.any(&[
                ("email", json!([email])),
                ("email_verified", json!(["true"])),
                ("email_verified", json!("yes")),
                ("email_verified", json!(1)),
            ]);
            user_info[name] = value;
        }
        _ => return random.any(&[Signed::Not, Signed::WithSecret, Signed::ByAnother]),
    }
    Signed::Well
}

/// Puts keys of other kinds before those that are used.
fn vary_keys(random: &mut Rng, document: &mut Value, nameless: bool) {
    let keys = document["keys"].as_array_mut().expect("a list");
    let mut before = keys[0].clone();
    before.as_object_mut().expect("a key").remove("kid");
    let others = [
        before,
        json!({ "kty": "UNHEARD-OF", "kid": "7", "x": [1, null] }),
        json!({ "kty": "OKP", "crv": "X25519", "use": "enc", "kid": "8", "x": "AAAA" }),
        json!({ "kty": 7 }),
        json!({}),
    ];
    for key in keys.iter_mut() {
        if nameless {
            key.as_object_mut().expect("a key").remove("kid");
        } else {
            key["x5t"] = random.any(&[Value::Null, json!("AAAA")]);
        }
    }
    for _ in 0..random.below(4) {
        keys.insert(0, random.any(&others));
    }
    document["unheard_of"] = odd(random);
}

fn vary_tokens(random: &mut Rng, document: &mut Value) {
    document["expires_in"] = random.any(&[json!("300"), json!(299.5), Value::Null, json!(300)]);
    document["scope"] = random.any(&[json!(["openid", "email"]), json!("openid email"), Value::Null]);
    document["refresh_token"] = random.any(&[json!(false), Value::Null]);
    document["unheard_of"] = odd(random);
}

fn vary_metadata(random: &mut Rng, document: &mut Value) {
    document["subject_types_supported"] = random.any(&[Value::Null, json!("public"), json!(["public", 7])]);
    document["response_types_supported"] = random.any(&[json!("code"), json!(["code", "id_token"])]);
    document["claims_supported"] = random.any(&[json!("all"), json!({}), json!(["sub"])]);
    document["op_policy_uri"] = random.any(&[json!(""), json!(["https://id.example.com/"])]);
    document["unheard_of"] = odd(random);
}
