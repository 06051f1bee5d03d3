//! Whether a request comes from the carrier: `X-Twilio-Signature`, `X-SignalWire-Signature`, and bearer tokens of handshakes.
//!
//! The signature covers the address as configured at the carrier, to which the fields of a form are appended, sorted. A body that is no form
//! is covered by its hash in the address (both), or signed itself (SignalWire).

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_encoding::{HEXLOWER, HEXUPPER};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use super::Secret;
use crate::callback::{CallbackError, CallbackRequest};

const TWILIO_SIGNATURE: &str = "x-twilio-signature";
const TWILIO_SETTINGS: &str = "x-twilio-webhooks-signature-settings";
const SIGNALWIRE_SIGNATURE: &str = "x-signalwire-signature";
/// The part of an address that holds the hash of a body.
const BODY_HASH: &str = "bodySHA256";

/// Keys that a carrier signs with.
pub(super) enum SigningKeys {
    /// Twilio.
    Twilio {
        /// The auth token of the account, and the one that takes its place.
        tokens: Vec<Secret>,
        /// The secret of a shared key, which signs in place of the token where a rule of the account says so.
        shared: Option<Secret>,
    },
    /// SignalWire.
    SignalWire {
        /// The signing key of the project, which is not the API token.
        signing: Secret,
    },
}

impl SigningKeys {
    /// Whether the carrier signed `request`, which it sent to `url`.
    ///
    /// # Errors
    /// When it did not.
    pub(super) fn check(&self, request: &CallbackRequest<'_>, url: &str) -> Result<(), CallbackError> {
        match self {
            Self::Twilio { tokens, shared } => {
                let signature = signature(request, &[TWILIO_SIGNATURE])?;
                let text = appended(request, Repeated::Distinct)?;
                let settings = request.header(TWILIO_SETTINGS).unwrap_or_default().trim();
                let algorithm = Algorithm::of(settings)?;
                // Only requests signed by a shared key have settings. That one can sign by both algorithms, the token by one.
                let tokens = tokens.iter().filter(|_| matches!(algorithm, Algorithm::Sha1));
                let by_shared = shared.iter().filter(|_| !settings.is_empty());
                let genuine = STANDARD.decode(signature).is_ok_and(|code| {
                    tokens.chain(by_shared).any(|key| algorithm.signed(key, url, text.as_bytes(), &code))
                });
                match (genuine, shared) {
                    (true, _) => Ok(()),
                    (false, None) if !settings.is_empty() => wrong(NO_SHARED_KEY),
                    (false, _) => wrong(NOT_GENUINE),
                }
            }
            Self::SignalWire { signing } => {
                let signature = signature(request, &[SIGNALWIRE_SIGNATURE, TWILIO_SIGNATURE])?;
                let mut texts = Vec::new();
                for repeated in [Repeated::Distinct, Repeated::AsSent] {
                    texts.extend(appended(request, repeated));
                }
                texts.dedup(); // They differ where a name is repeated.
                let as_twilio = |code: Vec<u8>| {
                    texts.iter().any(|text| Algorithm::Sha1.signed(signing, url, text.as_bytes(), &code))
                };
                let of_body = |code: Vec<u8>| Algorithm::Sha1.signed(signing, url, request.body, &code);
                let genuine = STANDARD.decode(signature).is_ok_and(as_twilio)
                    || HEXLOWER.decode(signature.as_bytes()).is_ok_and(of_body);
                if genuine { Ok(()) } else { wrong(NOT_GENUINE) }
            }
        }
    }
}

const NOT_GENUINE: &str = "The request's signature does not fit. Check that the connection holds the account's current \
                           key for signatures, and that SWITCHHOOK_PUBLIC_URL is the address that the carrier uses.";
const NO_SHARED_KEY: &str =
    "Twilio signed the request with a shared key: put its secret into credentials.webhook_key_secret.";

fn wrong<T>(words: &str) -> Result<T, CallbackError> {
    Err(CallbackError::Signature(words.to_owned()))
}

fn signature<'a>(request: &'a CallbackRequest<'_>, names: &[&str]) -> Result<&'a str, CallbackError> {
    let found = names.iter().find_map(|name| request.header(name));
    found.map_or_else(|| wrong("The request is not signed."), |text| Ok(text.trim()))
}

#[derive(Clone, Copy)]
enum Algorithm {
    Sha1,
    Sha256,
}

impl Algorithm {
    /// The algorithm of the settings header: `key=…,algorithm=…`.
    fn of(settings: &str) -> Result<Self, CallbackError> {
        let named = settings.split(',').find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = value.trim();
            (name.trim() == "algorithm" && !value.is_empty()).then_some(value)
        });
        match named {
            None => Ok(Self::Sha1),
            Some(name) if name.eq_ignore_ascii_case("HMAC_SHA1") => Ok(Self::Sha1),
            Some(name) if name.eq_ignore_ascii_case("HMAC_SHA256") => Ok(Self::Sha256),
            Some(_) => wrong("The request is signed by an algorithm that is not known here."),
        }
    }

    /// Whether `code` signs one of the forms of `url` followed by `text`. Codes are compared in constant time.
    fn signed(self, key: &Secret, url: &str, text: &[u8], code: &[u8]) -> bool {
        spellings(url).iter().flat_map(|url| addresses(url)).any(|url| match self {
            Self::Sha1 => fits::<Hmac<Sha1>>(key, &url, text, code),
            Self::Sha256 => fits::<Hmac<Sha256>>(key, &url, text, code),
        })
    }
}

fn fits<M: Mac + KeyInit>(key: &Secret, url: &str, text: &[u8], code: &[u8]) -> bool {
    let mut mac = <M as KeyInit>::new_from_slice(key.reveal().as_bytes()).expect("HMAC takes keys of any length");
    mac.update(url.as_bytes());
    mac.update(text);
    mac.verify_slice(code).is_ok()
}

/// The address with its query as it came, and as senders and proxies also escape it: each holds the same fields.
fn spellings(url: &str) -> Vec<Cow<'_, str>> {
    let mut spellings = vec![Cow::Borrowed(url)];
    let Some((address, query)) = url.split_once('?') else { return spellings };
    let unescaped = query.replace("%27", "'").replace("%3A", ":").replace("%40", "@");
    for query in [unescaped, query.replace('\'', "%27"), as_node_escapes(query)] {
        let other: Cow<'_, str> = Cow::Owned(format!("{address}?{query}"));
        if !spellings.contains(&other) {
            spellings.push(other);
        }
    }
    spellings
}

/// The fields of a query as `querystring` of Node.js writes them, with `%20` for a blank.
fn as_node_escapes(query: &str) -> String {
    let mut written = String::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if !written.is_empty() {
            written.push('&');
        }
        escape(&name, &mut written);
        written.push('=');
        escape(&value, &mut written);
    }
    written
}

fn escape(text: &str, written: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            written.push(char::from(byte));
        } else {
            written.push('%');
            written.push_str(&HEXUPPER.encode(&[byte]));
        }
    }
}

/// The address as it is, without its port, and with the usual one: carriers are not of one mind.
fn addresses(url: &str) -> Vec<Cow<'_, str>> {
    let mut addresses = vec![Cow::Borrowed(url)];
    let Some((scheme, rest)) = url.split_once("://") else { return addresses };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        // No port; or the colons are those of an IPv6 address.
        _ => authority,
    };
    let usual = if matches!(scheme, "https" | "wss") { 443 } else { 80 };
    let others = [format!("{scheme}://{host}{path}"), format!("{scheme}://{host}:{usual}{path}")];
    addresses.extend(others.into_iter().filter(|other| other != url).map(Cow::Owned));
    addresses
}

/// Returns the text that is appended to the address.
fn appended(request: &CallbackRequest<'_>, repeated: Repeated) -> Result<String, CallbackError> {
    // Of a GET nothing but the address is read.
    if *request.method == Method::GET {
        return Ok(String::new());
    }
    if let Some(fields) = form(request, repeated) {
        return Ok(fields);
    }
    match request.query(BODY_HASH) {
        None if request.body.is_empty() => Ok(String::new()),
        // Anybody can hash a body; that it is this one is what the signature of the address says.
        Some(hash) if HEXLOWER.encode(Sha256::digest(request.body).as_slice()) == hash => Ok(String::new()),
        _ => wrong("The request's body is not covered by its signature."),
    }
}

/// How the values of a name that is repeated are signed.
#[derive(Clone, Copy)]
enum Repeated {
    /// Each value once, sorted, by Twilio.
    Distinct,
    /// All of them in their order, by SignalWire.
    AsSent,
}

/// The fields of a form, each name followed by its value, sorted by names.
fn form(request: &CallbackRequest<'_>, repeated: Repeated) -> Option<String> {
    if !request.is_of_type("application/x-www-form-urlencoded") {
        return None;
    }
    let mut fields: BTreeMap<Cow<'_, str>, Vec<Cow<'_, str>>> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(request.body) {
        fields.entry(name).or_default().push(value);
    }
    let mut text = String::new();
    for (name, mut values) in fields {
        if matches!(repeated, Repeated::Distinct) {
            values.sort_unstable();
            values.dedup();
        }
        for value in values {
            text.push_str(&name);
            text.push_str(&value);
        }
    }
    Some(text)
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        vec![vec![
            b"RSOYDt4T1cUTdK1PDd93/VVr8B8=".to_vec(),
            b"https://mycompany.com/myapp.php?foo=1&bar=2".to_vec(),
            b"Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE"
                .to_vec(),
            b"key=WK1,algorithm=HMAC_SHA256".to_vec(),
        ]]
    },
    read: |messages| {
        use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
        let part = |at: usize| messages.get(at).map_or(&[][..], Vec::as_slice);
        let keys = || Secret::new("12345".to_owned());
        let all = [
            SigningKeys::Twilio { tokens: vec![keys()], shared: Some(keys()) },
            SigningKeys::SignalWire { signing: keys() },
        ];
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Ok(signature) = HeaderValue::from_bytes(part(0)) {
            headers.insert(HeaderName::from_static(TWILIO_SIGNATURE), signature);
        }
        let url = &String::from_utf8_lossy(part(1));
        let check = |headers: &HeaderMap| {
            let request =
                CallbackRequest { method: &Method::POST, url, headers, body: part(2), topic: "status", now: 0 };
            all.iter().filter(|keys| keys.check(&request, url).is_ok()).count()
        };
        let plain = check(&headers);
        if let Ok(settings) = HeaderValue::from_bytes(part(3)) {
            headers.insert(HeaderName::from_static(TWILIO_SETTINGS), settings);
        }
        switchhook_fuzz::Read { taken: plain.min(1), given: check(&headers) }
    },
};

#[cfg(test)]
mod tests;
