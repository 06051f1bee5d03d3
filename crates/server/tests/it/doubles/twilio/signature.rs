//! How requests to us are signed: base64 of HMAC-SHA1 over the URL and the sorted parameters.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::flavour::Flavour;

/// The signature of a request to `url` with the parameters of a form, or with none.
pub(crate) fn of(key: &str, url: &str, parameters: &[(String, String)]) -> String {
    let mut sorted = parameters.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).expect("any length will do");
    mac.update(url.as_bytes());
    for (name, value) in &sorted {
        mac.update(name.as_bytes());
        mac.update(value.as_bytes());
    }
    STANDARD.encode(mac.finalize().into_bytes())
}

/// A body that is no form: the address to which it is posted, and the signature. One carrier puts the body's hash into the address,
/// the other signs the body itself.
pub(crate) fn of_json(flavour: Flavour, key: &str, url: &str, body: &str) -> (String, String) {
    match flavour {
        Flavour::Twilio => {
            let joint = if url.contains('?') { '&' } else { '?' };
            let url = format!("{url}{joint}bodySHA256={}", hex(&Sha256::digest(body)));
            let signature = of(key, &url, &[]);
            (url, signature)
        }
        Flavour::SignalWire => {
            let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).expect("any length will do");
            mac.update(url.as_bytes());
            mac.update(body.as_bytes());
            (url.to_owned(), hex(&mac.finalize().into_bytes()))
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string takes everything");
        digits
    })
}

/// Separate name and value pairs.
pub(crate) fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_double_signs_as_the_vendors_library_does() {
    let call = owned(&[
        ("To", "+18005551212"),
        ("From", "+14158675309"),
        ("Digits", "1234"),
        ("Caller", "+14158675309"),
        ("CallSid", "CA1234567890ABCDE"),
    ]);
    let repeated = owned(&[("K", "b"), ("K", "a"), ("K", "a")]);
    let table = [
        ("https://mycompany.com/myapp.php?foo=1&bar=2", call.clone(), "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        ("https://mycompany.com:443/myapp.php?foo=1&bar=2", call, "kvajT1Ptam85bY51eRf/AJRuM3w="),
        ("https://a.example/x", repeated, "Pm8xrpjqnvJue3lJnQ2I/uMJ7WU="),
        ("https://a.example/x", owned(&[("A", ""), ("B", "1")]), "16hATMGjQA0+YIqU58vqGzjGlvw="),
        ("wss://a.example/media", Vec::new(), "IVNc30jzUhSSQ8/bdPnOLN3eQGw="),
    ];
    for (url, parameters, signature) in table {
        assert_eq!(of("12345", url, &parameters), signature, "{url} {parameters:?}");
    }
    let json = r#"{"CallSid":"CA1234567890ABCDE","Caller":"+12349013030"}"#;
    let (url, signature) = of_json(Flavour::Twilio, "12345", "https://example.com/myapp", json);
    assert!(url.ends_with("?bodySHA256=5ccde7145dfb8f56479710896586cb9d5911809d83afbe34627818790db0aec9"), "{url}");
    assert_eq!(signature, "hPXmLwIy3Fgqv1i9KPmH/HhQ6zo=");
    let (_, signature) = of_json(Flavour::SignalWire, "PSK_test", "https://a.example/x", r#"{"a":1}"#);
    assert_eq!(signature, "ec4bba5dadfd7f325837e375415fe810d3f5707f");
}
