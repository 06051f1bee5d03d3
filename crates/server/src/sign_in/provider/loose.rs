//! Reads a provider's unsigned documents loosely. The library checks the type of every member, and a sign-in would fail for one that
//! this service does not use.

use openidconnect::HttpRequest;
use openidconnect::http::Method;
use openidconnect::http::header::AUTHORIZATION;
use serde_json::{Map, Value, json};
use switchhook_net::lenient_json;
use tokio::time::Instant;

use crate::telemetry::Seldom;

/// The warning of a claim that is not read.
static LEFT_OUT: Seldom = Seldom::new();

/// A document that the provider sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Document {
    /// What it publishes about itself (Discovery, section 3).
    Metadata,
    /// The response of the token endpoint (RFC 6749 section 5.1). Its ID token is signed and stays as it is.
    Tokens,
    /// The claims of the user info endpoint (Core, section 5.3.2).
    UserInfo,
    /// The keys of its signatures.
    Keys,
}

impl Document {
    /// Returns the document that a request of the library is for.
    pub(super) fn of(request: &HttpRequest) -> Self {
        if request.method() == Method::POST {
            Self::Tokens
        } else if request.headers().contains_key(AUTHORIZATION) {
            Self::UserInfo
        } else if request.uri().path().ends_with("/.well-known/openid-configuration") {
            Self::Metadata
        } else {
            Self::Keys
        }
    }

    /// Returns the JSON of a document without the members that are not used. Other text stays as it is, such as a signed user info.
    pub(super) fn read(self, text: String) -> String {
        if self == Self::Keys {
            return text;
        }
        let Ok(mut members) = lenient_json::from_str::<Map<String, Value>>(&text) else { return text };
        members.retain(|name, value| self.uses(name, value));
        if self == Self::Metadata {
            // The library requires both.
            members.insert("response_types_supported".to_owned(), json!(["code"]));
            members.insert("subject_types_supported".to_owned(), json!(["public"]));
        }
        Value::Object(members).to_string()
    }

    fn uses(self, name: &str, value: &Value) -> bool {
        match self {
            Self::Metadata => matches!(
                name,
                "issuer"
                    | "authorization_endpoint"
                    | "token_endpoint"
                    | "userinfo_endpoint"
                    | "jwks_uri"
                    | "id_token_signing_alg_values_supported"
                    | "token_endpoint_auth_methods_supported"
            ),
            Self::Tokens => matches!(name, "access_token" | "token_type" | "id_token"),
            Self::UserInfo => uses_claim(name, value),
            Self::Keys => true,
        }
    }
}

/// Returns whether a claim is used and has its type. Without its flag an address is unverified.
fn uses_claim(name: &str, value: &Value) -> bool {
    let has_its_type = match name {
        // It must be that of the ID token, so the library refuses another type.
        "sub" => true,
        "email" | "name" => value.is_string() || value.is_null(),
        "email_verified" => value.is_boolean() || value.is_null() || matches!(value.as_str(), Some("true" | "false")),
        _ => return false,
    };
    if !has_its_type {
        warn_of(name);
    }
    has_its_type
}

fn warn_of(claim: &str) {
    if let Some(left_out) = LEFT_OUT.line(Instant::now()) {
        tracing::warn!(claim, left_out, "a claim of the user info endpoint has another type and is not read");
    }
}

#[cfg(test)]
mod tests {
    use openidconnect::http::Request;

    use super::*;

    fn read(document: Document, sent: &Value) -> Value {
        serde_json::from_str(&document.read(sent.to_string())).expect("JSON")
    }

    #[test]
    fn a_request_says_which_document_it_is_for() {
        let get = |path: &str| Request::get(format!("https://id.example.com{path}"));
        for (request, document) in [
            (get("/.well-known/openid-configuration"), Document::Metadata),
            (get("/realms/main/.well-known/openid-configuration"), Document::Metadata),
            (get("/jwks"), Document::Keys),
            (get("/userinfo").header(AUTHORIZATION, "Bearer a"), Document::UserInfo),
            (get("/token").method(Method::POST), Document::Tokens),
            (get("/token").method(Method::POST).header(AUTHORIZATION, "Basic a"), Document::Tokens),
        ] {
            let request = request.body(Vec::new()).expect("a request");
            assert_eq!(Document::of(&request), document, "{}", request.uri());
        }
    }

    #[test]
    fn what_the_library_requires_and_nothing_uses_is_put_in() {
        let expected = json!({
            "issuer": "https://id.example.com", "response_types_supported": ["code"], "subject_types_supported": ["public"],
        });
        for members in [
            json!({}),
            json!({ "subject_types_supported": null, "response_types_supported": null }),
            json!({ "subject_types_supported": "public", "response_types_supported": ["id_token", 7] }),
            json!({ "op_policy_uri": "", "claims_supported": "all", "request_parameter_supported": "false" }),
        ] {
            let mut sent = members.clone();
            sent["issuer"] = json!("https://id.example.com");
            assert_eq!(read(Document::Metadata, &sent), expected, "{members}");
        }
    }

    #[test]
    fn tokens_have_what_is_used() {
        let used = json!({ "access_token": "a", "token_type": "Bearer", "id_token": "b.c.d" });
        let mut sent = used.clone();
        sent["expires_in"] = json!("3600");
        sent["scope"] = json!(["openid"]);
        sent["refresh_token"] = json!(false);
        assert_eq!(read(Document::Tokens, &sent), used);
    }

    #[test]
    fn claims_have_their_type_or_are_left_out() {
        for (sent, expected) in [
            (
                json!({ "sub": "7", "email": "a@b.c", "email_verified": "true", "name": null, "locale": {} }),
                json!({ "sub": "7", "email": "a@b.c", "email_verified": "true", "name": null }),
            ),
            (
                json!({ "sub": "7", "email": ["a@b.c"], "email_verified": true }),
                json!({ "sub": "7", "email_verified": true }),
            ),
            (json!({ "sub": "7", "email": "a@b.c", "email_verified": 1 }), json!({ "sub": "7", "email": "a@b.c" })),
            (json!({ "sub": "7", "email_verified": "True", "name": { "given": "Ana" } }), json!({ "sub": "7" })),
            // The library refuses it.
            (json!({ "sub": 7 }), json!({ "sub": 7 })),
        ] {
            assert_eq!(read(Document::UserInfo, &sent), expected, "{sent}");
        }
        let half = r#"{"sub":"7","nickname":"Ana \ud83d"}"#.to_owned();
        assert_eq!(Document::UserInfo.read(half), r#"{"sub":"7"}"#);
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for document in [Document::Metadata, Document::Tokens, Document::UserInfo] {
            for text in ["", "eyJh.eyJz.c2ln", r#""eyJh.eyJz.c2ln""#, "[{}]", "null", r#"{"sub":"7""#, "<html>"] {
                assert_eq!(document.read(text.to_owned()), text, "{document:?}");
            }
        }
        let keys = r#"{"keys": [], "more": 1}"#;
        assert_eq!(Document::Keys.read(keys.to_owned()), keys);
    }
}
