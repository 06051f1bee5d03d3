//! Refuses query parameters that an operation does not take: a filter that is ignored selects everything.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use switchhook_core::agent::FieldError;
use url::form_urlencoded;
use utoipa::openapi::path::{ParameterIn, ParameterStyle, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use super::error::ApiError;

/// Parameters that are not described, or not by their name, each with the path that takes it.
const UNDESCRIBED: [(&str, &str); 7] = [
    ("/v1/webhooks/{id}/deliveries", "call"),
    ("/v1/events", "token"),
    ("/v1/events/stream", "token"),
    ("/v1/calls/{id}/events/stream", "token"),
    ("/v1/calls/{id}/transcript/stream", "token"),
    ("/v1/calls/{id}/events", "token"),
    ("/v1/calls/{id}/transcript", "token"),
];
/// The end of the name of a parameter whose key the client chooses: `metadata[key]`.
const ANY_KEY: &str = "[key]";
/// Most parameters that are named, and the most characters of a name.
pub(super) const MAX_NAMED: usize = 10;
const MAX_NAME: usize = 100;
/// The similarity of two names, from 0 to 1, from which one was probably meant to be the other.
const ALIKE: f64 = 0.85;

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
                || keyed(name).is_some_and(|name| known.contains(&name))
        };
        let unknown: BTreeSet<String> = form_urlencoded::parse(query.as_bytes())
            .filter(|(name, _)| !is_known(name))
            .map(|(name, _)| name.chars().take(MAX_NAME).collect::<String>().replace(char::is_control, " "))
            .collect();
        let error = |name: String| {
            let message = match nearest(&name, known) {
                Some(near) => format!("is not a query parameter here; did you mean {near}?"),
                None => format!("is not a query parameter here: {}", listed(known)),
            };
            FieldError::new(name, message)
        };
        unknown.into_iter().take(MAX_NAMED).map(error).collect()
    }
}

/// `metadata[key]` for `metadata[crm]`.
fn keyed(name: &str) -> Option<String> {
    let (name, key) = name.split_once('[')?;
    key.ends_with(']').then(|| format!("{name}{ANY_KEY}"))
}

/// The known parameter that a name was probably meant to be.
fn nearest(name: &str, known: &BTreeSet<String>) -> Option<String> {
    let with_key = known.iter().filter_map(|known| known.strip_suffix(ANY_KEY)).find_map(|above| {
        let rest = name.strip_prefix(above).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[', '_']))?;
        let key = rest.trim_start_matches(['.', '[', '_']).split(']').next().unwrap_or_default();
        Some(if key.is_empty() { format!("{above}{ANY_KEY}") } else { format!("{above}[{key}]") })
    });
    with_key.or_else(|| alike(name, known.iter().map(String::as_str)).map(str::to_owned))
}

/// The known name that is most like this one, if it was probably meant.
pub(crate) fn alike<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let name = name.to_lowercase();
    let likeness = known.map(|known| (known, strsim::jaro_winkler(&name, &known.to_lowercase())));
    let near = likeness.filter(|(_, likeness)| *likeness > ALIKE);
    near.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(known, _)| known)
}

fn listed(known: &BTreeSet<String>) -> String {
    match known.iter().map(String::as_str).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "there are none".to_owned(),
        names => format!("there are {names}"),
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
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(match parameter.style {
                Some(ParameterStyle::DeepObject) => format!("{}{ANY_KEY}", parameter.name),
                _ => parameter.name.clone(),
            }),
            _ => None,
        });
        Some((method, names.collect()))
    })
}

/// Middleware: 422 for parameters that the operation does not have. Reads run first, since a missing resource is a 404 in any case.
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
            operation(Method::GET, "/v1/calls", &["direction", "limit", "metadata[key]", "status"]),
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
    fn the_error_names_what_was_probably_meant_or_all_that_the_operation_takes() {
        let message = |method, path, query| known().unknown(method, path, query).remove(0).message;
        for (query, meant) in [
            ("stauts=failed", "status"),
            ("Status=failed", "status"),
            ("directoin=inbound", "direction"),
            ("metadata=order", "metadata[key]"),
            ("metadata.order=7", "metadata[order]"),
            ("metadata[order=7", "metadata[order]"),
        ] {
            let expected = format!("is not a query parameter here; did you mean {meant}?");
            assert_eq!(message(&Method::GET, "/v1/calls", query), expected, "{query}");
        }
        let all = "is not a query parameter here: there are direction, limit, metadata[key], status";
        assert_eq!(message(&Method::GET, "/v1/calls", "colour=red"), all);
        assert_eq!(message(&Method::POST, "/v1/calls", "stat=x"), "is not a query parameter here: there are none");
    }
}
