//! Query parameters that an operation does not know: they are ignored and named in `warnings` of a list, as unknown fields of a body are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use url::form_urlencoded;
use utoipa::openapi::OpenApi;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::ParameterIn;

/// Parameters that are taken and not described, and the path that takes those that begin so.
const ALIASES: [&str; 1] = ["call"];
const BEGINNINGS: (&str, &str) = ("/v1/calls", "metadata[");
/// Most that are named, and the longest name.
const MOST: usize = 10;
const LONGEST: usize = 100;

tokio::task_local! {
    static WARNINGS: Vec<String>;
}

/// The warnings of the request being handled by this task.
pub(super) fn warnings() -> Vec<String> {
    WARNINGS.try_with(Clone::clone).unwrap_or_default()
}

/// The query parameters of each path that `GET` takes.
#[derive(Clone)]
pub(super) struct KnownParameters(Arc<HashMap<String, HashSet<String>>>);

impl KnownParameters {
    /// Those that the document describes, whose paths stand below `prefix`.
    pub(super) fn of(document: &OpenApi, prefix: &str) -> Self {
        let described = document.paths.paths.iter().filter_map(|(path, item)| {
            let parameters = item.get.as_ref()?.parameters.iter().flatten();
            let names = parameters.filter_map(|parameter| match parameter {
                RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
                _ => None,
            });
            Some((format!("{prefix}{path}"), names.collect()))
        });
        Self(Arc::new(described.collect()))
    }

    /// A sentence for each parameter of the query that the path does not know.
    fn unknown(&self, path: &str, query: &str) -> Vec<String> {
        let Some(known) = self.0.get(path) else { return Vec::new() };
        let mut names: Vec<String> = form_urlencoded::parse(query.as_bytes())
            .map(|(name, _)| name.chars().take(LONGEST).collect::<String>().replace(char::is_control, " "))
            .filter(|name| !known.contains(name) && !ALIASES.contains(&name.as_str()))
            .filter(|name| path != BEGINNINGS.0 || !name.starts_with(BEGINNINGS.1))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.iter().take(MOST).map(|name| format!("Unknown query parameter {name} was ignored.")).collect()
    }
}

/// Middleware: notes what the operation does not know.
pub(super) async fn note(State(known): State<KnownParameters>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let warnings = match (path, request.uri().query()) {
        (Some(path), Some(query)) if matches!(*request.method(), Method::GET | Method::HEAD) => {
            known.unknown(path, query)
        }
        _ => Vec::new(),
    };
    WARNINGS.scope(warnings, next.run(request)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_operation_does_not_know_is_named() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<HashSet<_>>();
        let paths = [("/v1/calls".to_owned(), names(&["limit"])), ("/v1/agents".to_owned(), names(&["limit"]))];
        let known = KnownParameters(Arc::new(paths.into()));
        assert_eq!(known.unknown("/v1/calls", "limit=2&metadata%5Bcrm%5D=4&call=7"), Vec::<String>::new());
        let agents = known.unknown("/v1/agents", "limit=2&stat=x&stat=y&metadata[crm]=4");
        let ignored = |name: &str| format!("Unknown query parameter {name} was ignored.");
        assert_eq!(agents, [ignored("metadata[crm]"), ignored("stat")]);
        assert_eq!(known.unknown("/v1/tenant", "x=1"), Vec::<String>::new());
    }
}
