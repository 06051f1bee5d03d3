//! Query parameters: repeated ones are lists, and each wrong one is named.

use std::collections::HashMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use switchhook_core::agent::FieldError;
use url::form_urlencoded;

use super::dotted;
use super::words::{in_our_words, named};
use crate::http::error::ApiError;
use crate::http::unknown_query::MAX_NAMED;
use crate::store::page::PageRequest;

/// Query parameters of type `T`; invalid ones are a 422.
#[derive(Debug)]
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let unreadable = unreadable(query);
        if !unreadable.is_empty() {
            return Err(ApiError::invalid_fields(unreadable));
        }
        let list = joined(query);
        let values = list.as_deref().unwrap_or(query);
        let parser = serde_urlencoded::Deserializer::new(form_urlencoded::parse(values.as_bytes()));
        let parsed = serde_path_to_error::deserialize::<_, T>(parser);
        parsed.map(Self).map_err(|error| {
            let path = dotted(error.path());
            if list.is_some() && is_repeated(query, &path) {
                return ApiError::invalid_field(&path, "must appear only once");
            }
            refusal(&path, &error.inner().to_string())
        })
    }
}

fn refusal(path: &str, message: &str) -> ApiError {
    if let Some(missing) = named(message, "missing field") {
        return ApiError::invalid_field(missing, "is required");
    }
    match in_our_words(message) {
        _ if path == "cursor" => ApiError::invalid_field(path, "is not one that this API returned"),
        words if path == "." => ApiError::invalid(format!("The query is invalid: {words}.")),
        words => ApiError::invalid_field(path, words),
    }
}

/// Names the parameters that no database could store.
fn unreadable(query: &str) -> Vec<FieldError> {
    let wrong = |pair: &str| {
        let decoded: Vec<u8> = percent_decode_str(pair).collect();
        let message = match std::str::from_utf8(&decoded) {
            Err(_) => "must be UTF-8, percent-encoded",
            Ok(text) if text.contains('\0') => "must not contain the character U+0000",
            Ok(_) => return None,
        };
        let name = form_urlencoded::parse(pair.as_bytes()).next().map(|(name, _)| name.replace(char::is_control, " "));
        Some(FieldError::new(name.unwrap_or_default(), message))
    };
    query.split('&').filter_map(wrong).take(MAX_NAMED).collect()
}

/// Joins the values of repeated parameters with commas, as generated clients send lists either way; `None` if nothing is
/// repeated.
fn joined(query: &str) -> Option<String> {
    let mut merged: Vec<(String, String)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut repeated = false;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if let Some(place) = places.get(&*name) {
            repeated = true;
            let values = &mut merged[*place].1;
            values.push(',');
            values.push_str(&value);
        } else {
            places.insert(name.to_string(), merged.len());
            merged.push((name.into_owned(), value.into_owned()));
        }
    }
    repeated.then(|| form_urlencoded::Serializer::new(String::new()).extend_pairs(merged).finish())
}

fn is_repeated(query: &str, name: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).filter(|(one, _)| one == name).count() > 1
}

impl<S: Send + Sync> FromRequestParts<S> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Params(page) = Params::<Self>::from_request_parts(parts, state).await?;
        let valid = (1..=100).contains(&page.limit).then_some(page);
        valid.ok_or_else(|| ApiError::invalid_field("limit", "must be from 1 to 100"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_parameters_are_one_list() {
        assert_eq!(joined("status=queued&limit=2&status=a%2Cb").as_deref(), Some("status=queued%2Ca%2Cb&limit=2"));
        assert_eq!(joined("status=queued,dialing&limit=2"), None);
        assert_eq!(joined(""), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let named = |query| unreadable(query).into_iter().map(|error| error.path).collect::<Vec<_>>();
        assert_eq!(named("to=%ff&limit=2&metadata[a]=%00&from=%2B1"), ["to", "metadata[a]"]);
        assert_eq!(named("a%00b=1"), ["a b"]);
        assert_eq!(named("limit=2"), [""; 0]);
    }
}
