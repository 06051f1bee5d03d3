//! Responses of handlers: a created resource, a page of a list.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::ApiError;
use crate::store::page::Page;

/// A resource with the warnings of the request that created or changed it.
#[derive(Debug, Serialize, ToSchema)]
pub struct WithWarnings<T> {
    /// The resource; its fields are at the top level.
    #[serde(flatten)]
    pub resource: T,
    /// Warnings, one sentence each; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The result of a handler: JSON, or an error.
pub type JsonResponse<T> = Result<Json<T>, ApiError>;

/// Returns 201 with `Location`.
pub fn created<T: Serialize>(location: &str, resource: T, warnings: Vec<String>) -> Response {
    let mut response = (StatusCode::CREATED, Json(WithWarnings { resource, warnings })).into_response();
    if let Ok(value) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

/// A page, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Whether more rows follow.
    pub has_more: bool,
    /// `cursor` for the next page.
    pub next_cursor: Option<Uuid>,
}

impl<T> List<T> {
    /// Converts a page, row by row.
    pub fn of<R>(page: Page<R>, show: impl FnMut(R) -> T) -> Self {
        Self { data: page.rows.into_iter().map(show).collect(), has_more: page.next.is_some(), next_cursor: page.next }
    }
}
