//! Refuses query parameters that an operation does not take: a filter that is ignored selects everything.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use switchhook_core::agent::FieldError;
use url::form_urlencoded;
use utoipa::openapi::path::{ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use super::error::ApiError;

/// Parameters that are not described, or not by their name, each with the path that takes it.
const UNDESCRIBED: [(&str, &str); 4] = [
    ("/v1/webhooks/{id}/deliveries", "call"),
    ("/v1/events", "token"),
    ("/v1/calls/{id}/events", "token"),
    ("/v1/calls/{id}/transcript", "token"),
];
/// The path that takes `metadata[key]`.
const BY_METADATA: &str = "/v1/calls";
/// Most parameters that are named, and the most characters of a name.
pub(super) const MAX_NAMED: usize = 10;
const MAX_NAME: usize = 100;

/// The query parameters of each operation.
#[derive(Clone)]
pub(super) struct KnownParameters(Arc<HashMap<(Method, String), BTreeSet<String>>>);

impl KnownParameters {
    /// Those that the document describes, whose paths stand below `prefix`.
    pub(super) fn of(document: &OpenApi, prefix: &str) -> Self {
        let operations = document.paths.paths.iter().flat_map(|(path, item)| {
            let path = format!("{prefix}{path}");
            operations(item).map(move |(method, names)| ((method, path.clone()), names))
        });
        Self(Arc::new(operations.collect()))
    }

    /// An error for each parameter of the query that the operation does not take.
    fn unknown(&self, method: &Method, path: &str, query: &str) -> Vec<FieldError> {
        let method = if method == Method::HEAD { Method::GET } else { method.clone() };
        let Some(known) = self.0.get(&(method.clone(), path.to_owned())) else { return Vec::new() };
        let is_known = |name: &str| {
            known.contains(name)
                || method == Method::GET && UNDESCRIBED.contains(&(path, name))
                || path == BY_METADATA && name.starts_with("metadata[") && name.ends_with(']')
        };
        let unknown: BTreeSet<String> = form_urlencoded::parse(query.as_bytes())
            .filter(|(name, _)| !is_known(name))
            .map(|(name, _)| name.chars().take(MAX_NAME).collect::<String>().replace(char::is_control, " "))
            .collect();
        let taken = match known.iter().map(String::as_str).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "there are none".to_owned(),
            names => format!("there are {names}"),
        };
        let error = |name| FieldError::new(name, format!("is not a query parameter here: {taken}"));
        unknown.into_iter().take(MAX_NAMED).map(error).collect()
    }
}

/// The methods of a path with their query parameters.
fn operations(item: &PathItem) -> impl Iterator<Item = (Method, BTreeSet<String>)> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| {
        let parameters = operation.as_ref()?.parameters.iter().flatten();
        let names = parameters.filter_map(|parameter| match parameter {
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
            _ => None,
        });
        Some((method, names.collect()))
    })
}

/// Middleware: 422 for what the operation does not take. What only reads runs first, since what is missing is 404 all the same.
pub(super) async fn refuse(State(known): State<KnownParameters>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let unknown = match (path, request.uri().query()) {
        (Some(path), Some(query)) => known.unknown(request.method(), path, query),
        _ => Vec::new(),
    };
    if unknown.is_empty() {
        return next.run(request).await;
    }
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        let response = next.run(request).await;
        if !response.status().is_success() {
            return response;
        }
    }
    ApiError::invalid_fields(unknown).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> KnownParameters {
        let operation = |method, path: &str, names: &[&str]| {
            ((method, path.to_owned()), names.iter().map(|name| (*name).to_owned()).collect())
        };
        KnownParameters(Arc::new(HashMap::from([
            operation(Method::GET, "/v1/calls", &["limit", "status"]),
            operation(Method::POST, "/v1/calls", &[]),
            operation(Method::GET, "/v1/events", &["limit"]),
        ])))
    }

    fn unknown(method: &Method, path: &str, query: &str) -> Vec<String> {
        known().unknown(method, path, query).into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn only_what_the_operation_does_not_take_is_named() {
        let nothing = Vec::<String>::new();
        assert_eq!(unknown(&Method::GET, "/v1/calls", "limit=2&metadata%5Bcrm%5D=4"), nothing);
        assert_eq!(unknown(&Method::HEAD, "/v1/calls", "limit=2"), nothing);
        assert_eq!(unknown(&Method::GET, "/v1/calls", "stat=x&stat=y&call=7&token=t"), ["call", "stat", "token"]);
        assert_eq!(unknown(&Method::GET, "/v1/calls", "metadata[crm=4&metadata=5"), ["metadata", "metadata[crm"]);
        assert_eq!(unknown(&Method::POST, "/v1/calls", "dry_run=true&limit=1"), ["dry_run", "limit"]);
        assert_eq!(unknown(&Method::GET, "/v1/events", "token=t&limit=1"), nothing);
        assert_eq!(unknown(&Method::GET, "/v1/nowhere", "x=1"), nothing, "404 says enough");
        let many: String = (10..40).map(|n| format!("x{n}=1&")).collect();
        assert_eq!(unknown(&Method::GET, "/v1/calls", &many).len(), MAX_NAMED);
    }

    #[test]
    fn the_error_names_what_the_operation_takes() {
        let message = |method, path| known().unknown(method, path, "stat=x").remove(0).message;
        assert_eq!(message(&Method::GET, "/v1/calls"), "is not a query parameter here: there are limit, status");
        assert_eq!(message(&Method::POST, "/v1/calls"), "is not a query parameter here: there are none");
    }
}
