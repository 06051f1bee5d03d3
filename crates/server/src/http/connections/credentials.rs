//! Credentials as they are entered.

use switchhook_core::agent::FieldError;
use switchhook_core::entered::{is_blank, trimmed};
use switchhook_core::private::{Credentials, Private};

use super::CreateConnection;
use crate::catalogue::CatalogueEntry;
use crate::http::unknown_query::alike;
use crate::store::connections::ConnectionRow;

/// Prefix of a masked credential; its last characters follow.
pub(super) const MASK: &str = "••••";

pub(super) const MAX_CREDENTIALS: usize = 20;
/// Enough for a private key in PEM form.
pub(super) const MAX_CREDENTIAL: usize = 16 * 1024;
/// Minimum length of a provider's key, in characters.
const MIN_KEY: usize = 8;
/// Providers that require a key unless `base_url` names another server.
const WITH_KEY: [&str; 7] = ["openai", "anthropic", "gemini", "deepgram", "assemblyai", "elevenlabs", "cartesia"];
/// The one credential of providers.
const API_KEY: &str = "api_key";
/// The credential that may begin or end with a blank.
const PASSWORD: &str = "password";

/// Removes what surrounds pasted credentials: blanks, line breaks, invisible marks.
pub(super) fn trim(credentials: &mut Private<Credentials>) {
    let entered = std::mem::take(credentials).into_inner().into_iter();
    let kept = entered.map(|(name, secret)| {
        let secret = if name == PASSWORD { secret } else { trimmed(&secret).to_owned() };
        (name, secret)
    });
    *credentials = Private::new(kept.collect());
}

/// Names the credentials without which nothing can be done.
pub(super) fn missing(provider: &CatalogueEntry, given: &Credentials) -> Vec<FieldError> {
    let missing = provider.required.iter().filter(|name| !given.contains_key(**name));
    missing.map(|name| FieldError::new(format!("credentials.{name}"), "is required")).collect()
}

/// Names the credentials that cannot be right.
pub(super) fn bad(request: &CreateConnection) -> Vec<FieldError> {
    let credentials = request.credentials.reveal();
    if credentials.len() > MAX_CREDENTIALS {
        return vec![FieldError::new("credentials", format!("may have at most {MAX_CREDENTIALS} entries"))];
    }
    let bad = credentials.iter().filter_map(|(name, secret)| {
        let message = match secret {
            secret if secret.is_empty() => "must not be empty".to_owned(),
            secret if secret.len() > MAX_CREDENTIAL => format!("must be at most {MAX_CREDENTIAL} bytes"),
            secret if secret.starts_with(MASK) => "is masked: send the real secret".to_owned(),
            key if name == API_KEY => bad_key(request, key)?,
            _ => return None,
        };
        Some(FieldError::new(format!("credentials.{name}"), message))
    });
    bad.collect()
}

/// Says what is wrong with a key, which is sent as part of a header.
fn bad_key(request: &CreateConnection, key: &str) -> Option<String> {
    let own_server = request.settings.get("base_url").is_some_and(|url| !url.is_null() && url != "");
    let of_provider = WITH_KEY.contains(&request.provider.as_str()) && !own_server;
    let quoted = |quote: char| key.starts_with(quote) && key.ends_with(quote);
    let is_sent = |c: char| c.is_ascii() && (c == ' ' || !is_blank(c));
    if of_provider && key.chars().count() < MIN_KEY {
        Some(format!("must have at least {MIN_KEY} characters"))
    } else if !key.chars().all(is_sent) {
        Some("must be visible ASCII characters: copy the key again".to_owned())
    } else if of_provider && (key.contains(' ') || quoted('"') || quoted('\'')) {
        Some("must be the key alone, without quotation marks, blanks or a word such as Bearer".to_owned())
    } else {
        None
    }
}

/// Warns of credentials that the provider does not use.
pub(super) fn unused(row: &ConnectionRow) -> Vec<String> {
    let Some(known) = CatalogueEntry::named(&row.provider).and_then(|entry| entry.credentials.as_ref()) else {
        return Vec::new();
    };
    let unused = row.hints.0.keys().filter(|name| !known.contains(&name.as_str()));
    let warning = |name: &String| match alike(name, known.iter().copied()) {
        Some(near) => format!("credentials.{name} is not used by {}. Did you mean credentials.{near}?", row.provider),
        None => format!("credentials.{name} is not used by {}.", row.provider),
    };
    unused.map(warning).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns what is wrong with this key, and the key that would be stored.
    fn entered(settings: Value, key: &str) -> (Option<String>, String) {
        let request =
            json!({ "name": "a", "provider": "openai", "settings": settings, "credentials": { "api_key": key } });
        let mut request: CreateConnection = serde_json::from_value(request).expect("a connection");
        trim(&mut request.credentials);
        let wrong = bad(&request).pop().map(|error| error.message);
        (wrong, request.credentials.reveal()[API_KEY].clone())
    }

    #[test]
    fn what_surrounds_a_pasted_key_is_dropped_and_what_is_no_key_refused() {
        const KEY: &str = "sk-0123456789";
        for pasted in [" sk-0123456789\r\n", "\u{feff}sk-0123456789\u{200b}", "\tsk-0123456789 "] {
            assert_eq!(entered(json!({}), pasted), (None, KEY.to_owned()), "{pasted:?}");
        }
        for (pasted, wrong) in [
            ("Bearer sk-0123456789", "the key alone"),
            ("\"sk-0123456789\"", "the key alone"),
            ("sk-01234\n56789", "visible ASCII"),
            ("sk-01234\u{2013}56789", "visible ASCII"),
            ("sk-0123\u{200b}456789", "visible ASCII"),
            ("sk-0123", "at least 8"),
            (" \n", "must not be empty"),
        ] {
            let (message, _) = entered(json!({}), pasted);
            assert!(message.as_ref().is_some_and(|message| message.contains(wrong)), "{pasted:?}: {message:?}");
        }
        let own = json!({ "base_url": "https://llm.example.com/v1", "key_header": "Authorization" });
        assert_eq!(entered(own.clone(), "Token abc").0, None, "a header of its own has the form that its server wants");
        assert!(entered(own, "Token\nabc").0.is_some());
    }
}
