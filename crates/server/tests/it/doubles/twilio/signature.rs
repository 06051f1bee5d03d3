//! How requests to us are signed: base64 of HMAC-SHA1 over the URL and the sorted parameters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

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

/// Name and value pairs of their own.
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
}
