//! The vectors are those that the vendors' own libraries compute: `twilio` 9.13.0 (Python) and 6.3.1 (Node.js), and
//! `@signalwire/compatibility-api` 3.2.0.

use axum::http::{HeaderMap, header};

use super::*;

const FORM: &str = "application/x-www-form-urlencoded";
const URL: &str = "https://mycompany.com/myapp.php?foo=1&bar=2";
const FIELDS: &str =
    "Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE";
/// Letters of other scripts, both blanks, some at the ends, an empty value, and names whose order depends on the case.
const ODD_FIELDS: &str =
    "CallSid=CA1&CallerName=Caf%C3%A9+%F0%9F%90%99&Body=+a+b%20c+&body=low&Empty=&_z=1&Z=%2B&a.b=%26";
const SIGNED: &str = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
const SIGNED_256: &str = "033hgUJA9M/hXIZsYjwkerEP/DBm35nEri5FhCYjA5s=";
const SETTINGS_256: &str = "key=WK1,algorithm=HMAC_SHA256";
const HASHED: &str =
    "https://example.com/myapp?bodySHA256=5ccde7145dfb8f56479710896586cb9d5911809d83afbe34627818790db0aec9";
const JSON: &str = r#"{"CallSid":"CA1234567890ABCDE","Caller":"+12349013030"}"#;
const SIGNED_HASHED: &str = "hPXmLwIy3Fgqv1i9KPmH/HhQ6zo=";

/// A request as it comes in.
#[derive(Clone)]
struct Sent {
    method: Method,
    url: String,
    kind: &'static str,
    body: String,
    headers: Vec<(&'static str, String)>,
}

impl Sent {
    fn form(url: &str, body: &str, signature: &str) -> Self {
        let headers = vec![("X-Twilio-Signature", signature.to_owned())];
        Self { method: Method::POST, url: url.to_owned(), kind: FORM, body: body.to_owned(), headers }
    }

    fn json(url: &str, body: &str, signature: &str) -> Self {
        Self { kind: "application/json", ..Self::form(url, body, signature) }
    }

    fn get(url: &str, signature: &str) -> Self {
        Self { method: Method::GET, ..Self::form(url, "", signature) }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn by_signalwire(mut self) -> Self {
        self.headers[0].0 = "X-SignalWire-Signature";
        self
    }

    fn check(&self, check: impl FnOnce(&CallbackRequest<'_>) -> Result<(), CallbackError>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, self.kind.parse().expect("a header's value"));
        for (name, value) in &self.headers {
            headers.insert(*name, value.parse().expect("a header's value"));
        }
        let (method, url, body) = (&self.method, self.url.as_str(), self.body.as_bytes());
        check(&CallbackRequest { method, url, headers: &headers, body, topic: "status", now: 0 }).is_ok()
    }

    fn is_genuine(&self, keys: &SigningKeys) -> bool {
        self.check(|request| keys.check(request, request.url))
    }
}

fn twilio() -> SigningKeys {
    SigningKeys::Twilio { tokens: vec![Secret::new("12345".to_owned())], shared: Some(Secret::new("12345".to_owned())) }
}

fn signalwire() -> SigningKeys {
    SigningKeys::SignalWire { signing: Secret::new("PSK_test".to_owned()) }
}

#[test]
fn twilios_own_signatures_are_genuine_and_any_change_shows() {
    let genuine = [
        Sent::form(URL, FIELDS, SIGNED),
        Sent::form(URL, FIELDS, SIGNED_256).with(TWILIO_SETTINGS, SETTINGS_256),
        Sent::form("https://mycompany.com:443/myapp.php?foo=1&bar=2", FIELDS, "kvajT1Ptam85bY51eRf/AJRuM3w="),
        Sent::form("https://a.example/x", "K=b&K=a&K=a", "Pm8xrpjqnvJue3lJnQ2I/uMJ7WU="),
        Sent::form("https://a.example/x", "B=1&A=", "16hATMGjQA0+YIqU58vqGzjGlvw="),
        Sent::form("https://a.example/voice/x?transfer=1", ODD_FIELDS, "3CCxDVVscyssut4+QXDud/YkGks="),
        Sent::json(HASHED, JSON, SIGNED_HASHED),
        Sent::get("wss://a.example/media", "IVNc30jzUhSSQ8/bdPnOLN3eQGw="),
    ];
    for sent in genuine {
        assert!(sent.is_genuine(&twilio()), "{} {}", sent.url, sent.body);
        let elsewhere = Sent { url: sent.url.replacen("m", "n", 1), ..sent.clone() };
        assert!(!elsewhere.is_genuine(&twilio()), "{}", elsewhere.url);
        if !sent.body.is_empty() {
            let changed = Sent { body: sent.body.replacen('1', "2", 1).replacen("=b", "=c", 1), ..sent.clone() };
            assert!(!changed.is_genuine(&twilio()), "{}", changed.body);
            let added = Sent { body: format!("{}&Z=1", sent.body), ..sent.clone() };
            assert!(!added.is_genuine(&twilio()), "{}", added.body);
        }
        let other = SigningKeys::Twilio { tokens: vec![Secret::new("54321".to_owned())], shared: None };
        assert!(!sent.is_genuine(&other), "with another token: {}", sent.url);
        let unsigned = Sent { headers: Vec::new(), ..sent.clone() };
        assert!(!unsigned.is_genuine(&twilio()), "unsigned: {}", sent.url);
    }
}

#[test]
fn a_port_that_is_said_or_left_out_makes_no_difference() {
    let with_port = "https://mycompany.com:443/myapp.php?foo=1&bar=2";
    assert!(Sent::form(with_port, FIELDS, SIGNED).is_genuine(&twilio()), "signed without it");
    assert!(Sent::form(URL, FIELDS, "kvajT1Ptam85bY51eRf/AJRuM3w=").is_genuine(&twilio()), "signed with it");
    let table: [(&str, &[&str]); 5] = [
        ("http://h:8080/x?y=:1", &["http://h:8080/x?y=:1", "http://h/x?y=:1", "http://h:80/x?y=:1"]),
        ("wss://h/x", &["wss://h/x", "wss://h:443/x"]),
        ("ws://h:80", &["ws://h:80", "ws://h"]),
        ("https://[2001:db8::1]/x", &["https://[2001:db8::1]/x", "https://[2001:db8::1]:443/x"]),
        ("https://[::1]:81/%2f'", &["https://[::1]:81/%2f'", "https://[::1]/%2f'", "https://[::1]:443/%2f'"]),
    ];
    for (url, expected) in table {
        assert_eq!(addresses(url), expected);
    }
}

#[test]
fn while_the_auth_token_is_changed_both_count() {
    let keys = |tokens: &[&str]| SigningKeys::Twilio {
        tokens: tokens.iter().map(|token| Secret::new((*token).to_owned())).collect(),
        shared: None,
    };
    let sent = Sent::form(URL, FIELDS, SIGNED);
    assert!(sent.is_genuine(&keys(&["54321", "12345"])));
    assert!(!sent.is_genuine(&keys(&["54321"])));
}

#[test]
fn only_known_algorithms_with_their_own_key_count() {
    let sent = |signature, settings| Sent::form(URL, FIELDS, signature).with(TWILIO_SETTINGS, settings);
    assert!(sent(SIGNED, "key=WK1").is_genuine(&twilio()), "no algorithm is the old one");
    assert!(sent(SIGNED, "key=WK1, algorithm=HMAC_SHA1").is_genuine(&twilio()));
    assert!(!sent(SIGNED, "key=WK1,algorithm=HMAC_MD5").is_genuine(&twilio()));
    assert!(!sent(SIGNED, SETTINGS_256).is_genuine(&twilio()), "the header cannot make one into the other");
    assert!(!sent(SIGNED_256, "").is_genuine(&twilio()));
    let without = SigningKeys::Twilio { tokens: vec![Secret::new("12345".to_owned())], shared: None };
    assert!(!sent(SIGNED_256, SETTINGS_256).is_genuine(&without), "there is no shared key");
}

#[test]
fn a_shared_key_signs_by_either_algorithm_where_the_settings_come_with_it() {
    let secret = |text: &str| Secret::new(text.to_owned());
    let keys = SigningKeys::Twilio { tokens: vec![secret("54321")], shared: Some(secret("12345")) };
    let sent = |signature, settings| Sent::form(URL, FIELDS, signature).with(TWILIO_SETTINGS, settings);
    for (signature, settings) in [
        (SIGNED, "key=WK1,algorithm=HMAC_SHA1"),
        (SIGNED, "key=WK1,algorithm="),
        (SIGNED_256, "key=WK1, algorithm = hmac_sha256"),
        (SIGNED_256, "algorithm=,algorithm=HMAC_SHA256"),
    ] {
        assert!(sent(signature, settings).is_genuine(&keys), "{settings}");
    }
    assert!(!Sent::form(URL, FIELDS, SIGNED).is_genuine(&keys), "without settings the token signs");
    assert!(Sent::form(URL, FIELDS, "DhEM0O+7fM1ZaLSSD70e0cqtHo8=").is_genuine(&keys));
    let without = SigningKeys::Twilio { tokens: vec![secret("54321")], shared: None };
    sent(SIGNED, "key=WK1,algorithm=HMAC_SHA1").check(|request| {
        let refused = without.check(request, request.url).expect_err("there is no shared key");
        assert!(refused.to_string().contains("credentials.webhook_key_secret"), "{refused}");
        Err(refused)
    });
}

#[test]
fn a_query_counts_however_its_characters_are_escaped() {
    let [city, sip] = ["CallSid=CA1&FromCity=", "Caller="].map(|field| format!("https://a.example/voice?{field}"));
    let raw = "KU0tfXhe8fpE6N3+2A5kXqmwVDk="; // of Trezzo+Sull'Adda
    let blank = "YbHIkS4030PNby8Nuyx1YX8eD2A="; // of Trezzo%20Sull'Adda
    let quote = "J+gHK3oxDBcPlGgSYeTk7miYNE4="; // of Trezzo+Sull%27Adda
    let table: [(String, &[&str]); 4] = [
        (format!("{city}Trezzo+Sull'Adda"), &[raw, blank, quote]),
        (format!("{city}Trezzo+Sull%27Adda"), &[raw, blank, quote]),
        (format!("{sip}sip:1@b.c"), &["/xyMs8PsmFra+46tuUX6YzUZqUQ=", "84cTXd5o4xxLNXqfqIeD65wsq4M="]),
        (format!("{sip}sip%3A1%40b.c"), &["/xyMs8PsmFra+46tuUX6YzUZqUQ=", "84cTXd5o4xxLNXqfqIeD65wsq4M="]),
    ];
    for (url, signatures) in table {
        for signature in signatures {
            assert!(Sent::get(&url, signature).is_genuine(&twilio()), "{url} {signature}");
            for changed in [url.replace('1', "2"), url.replace('=', "%3D"), format!("{url}&A=1"), format!("{url}'")] {
                assert!(!Sent::get(&changed, signature).is_genuine(&twilio()), "{changed}");
            }
        }
    }
}

#[test]
fn a_body_that_the_signature_does_not_cover_is_refused() {
    let url = "wss://a.example/media";
    let signature = "IVNc30jzUhSSQ8/bdPnOLN3eQGw=";
    assert!(Sent::get(url, signature).is_genuine(&twilio()));
    assert!(!Sent::json(url, r#"{"CallStatus":"completed"}"#, signature).is_genuine(&twilio()));
    assert!(!Sent { kind: "text/plain", ..Sent::form(url, "CallStatus=completed", signature) }.is_genuine(&twilio()));
    assert!(!Sent::form(url, "CallStatus=completed", signature).is_genuine(&twilio()));
    assert!(!Sent::json(HASHED, "", SIGNED_HASHED).is_genuine(&twilio()), "the body was taken away");
}

#[test]
fn signalwire_signs_forms_and_bodies() {
    let form = Sent::form("https://a.example/x", "CallSid=1&To=2", "7KGhUuVOtvCKjE2TJL70ZQsHx4o=");
    let body = Sent::json("https://a.example/x", r#"{"a":1}"#, "ec4bba5dadfd7f325837e375415fe810d3f5707f");
    for sent in [form.clone(), form.by_signalwire(), body.clone(), body.clone().by_signalwire()] {
        assert!(sent.is_genuine(&signalwire()), "{}", sent.body);
        let with_port = Sent { url: sent.url.replace("example", "example:443"), ..sent.clone() };
        assert!(with_port.is_genuine(&signalwire()));
        for changed in [
            Sent { url: format!("{}?", sent.url), ..sent.clone() },
            Sent { body: sent.body.replace('1', "3"), ..sent.clone() },
            Sent { headers: Vec::new(), ..sent.clone() },
        ] {
            assert!(!changed.is_genuine(&signalwire()), "{} {}", changed.url, changed.body);
        }
    }
    let as_twilio = Sent::json(HASHED, JSON, SIGNED_HASHED).by_signalwire();
    let same_key = SigningKeys::SignalWire { signing: Secret::new("12345".to_owned()) };
    assert!(as_twilio.is_genuine(&same_key), "a body whose hash is in the address");
    assert!(!Sent { body: JSON.replace('1', "3"), ..as_twilio }.is_genuine(&same_key));
    let upper = Sent { headers: vec![("X-SignalWire-Signature", body.headers[0].1.to_uppercase())], ..body };
    assert!(!upper.is_genuine(&signalwire()), "its digits are lower-case");
}

#[test]
fn signalwire_signs_each_value_of_a_repeated_field_in_its_order() {
    let sent = |body| Sent::form("https://a.example/x", body, "8R9LtarsqLvvDVp8dAaCQkw2Pfo=").by_signalwire();
    assert!(sent("K=b&K=a&K=a").is_genuine(&signalwire()));
    for other in ["K=a&K=a&K=b", "K=b&K=a", "K=b&K=a&K=a&K=a"] {
        assert!(!sent(other).is_genuine(&signalwire()), "{other}");
    }
    let as_twilio = Sent::form("https://a.example/x", "K=b&K=a&K=a", "QrMNeocEPpxrqpfWT/rT5BYwkaI=");
    assert!(as_twilio.is_genuine(&signalwire()), "each value once and sorted, as Twilio does");
}

#[test]
fn a_handshake_of_signalwire_repeats_the_token_of_its_path_or_none() {
    let sent = Sent::get("https://a.example/carrier/signalwire/calls/abc123/media", "");
    assert!(sent.check(|request| request.check_bearer()));
    assert!(sent.clone().with("Authorization", "Bearer abc123").check(|request| request.check_bearer()));
    for wrong in ["Bearer abc124", "Bearer ", "Basic abc123", "abc124"] {
        assert!(!sent.clone().with("Authorization", wrong).check(|request| request.check_bearer()), "{wrong}");
    }
}
