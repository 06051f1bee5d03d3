//! What handlers give: a created resource, a page of a list.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::store::page::Page;

/// A resource, with the warnings of the request that made or changed it.
#[derive(Debug, Serialize, ToSchema)]
pub struct WithWarnings<T> {
    /// The resource itself; its fields stand at the top.
    #[serde(flatten)]
    pub resource: T,
    /// What was odd about the request, one sentence each; absent when nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// 201 with `Location`.
pub fn created<T: Serialize>(location: &str, resource: T, warnings: Vec<String>) -> Response {
    let mut response = (StatusCode::CREATED, Json(WithWarnings { resource, warnings })).into_response();
    if let Ok(value) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

/// One page of a list, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Whether there are more.
    pub has_more: bool,
    /// `cursor` of the next page.
    pub next_cursor: Option<Uuid>,
}

impl<T> List<T> {
    /// A page as it was read, each row as it is to be shown.
    pub fn of<R>(page: Page<R>, show: impl Fn(R) -> T) -> Self {
        Self { data: page.rows.into_iter().map(show).collect(), has_more: page.next.is_some(), next_cursor: page.next }
    }

    /// A page from up to `limit + 1` rows: the one too many says that there are more.
    pub fn from_rows(mut rows: Vec<T>, limit: i64, id: impl Fn(&T) -> Uuid) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = if has_more { rows.last().map(id) } else { None };
        Self { data: rows, has_more, next_cursor }
    }
}
