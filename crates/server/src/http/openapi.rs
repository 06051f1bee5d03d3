//! The OpenAPI document and a page that shows it.

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;

use super::HttpState;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Switchhook",
        description = "Places and answers phone calls, and lets configured agents hold the conversation.\n\n\
            Every error has the same shape. Unknown body fields are ignored and named in `warnings`. Lists are newest \
            first; `next_cursor` of one page is `cursor` of the next.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    modifiers(&BearerKey),
    security(("api_key" = [])),
)]
struct Document;

struct BearerKey;

impl Modify for BearerKey {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("vk_<env>_<prefix>_<secret>")
            .description(Some("An API key. The first one of a tenant comes from `switchhook tenant create`."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
    }
}

/// What the API is, for programs. The same bytes at every call.
#[must_use]
pub fn openapi() -> OpenApi {
    OpenApiRouter::<HttpState>::with_openapi(Document::openapi()).nest("/v1", super::v1()).into_openapi()
}

pub(super) fn routes() -> Router<HttpState> {
    // As bytes that all connections share: a handler is cloned for each of them.
    let document = Bytes::from(openapi().to_json().expect("the document is plain data"));
    let json = [(CONTENT_TYPE, "application/json")];
    Router::new()
        .route("/openapi.json", get(async move || (json, document.clone())))
        .route("/docs", get(page))
        .route("/docs/docs.js", get(async || ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)))
        .route("/docs/docs.css", get(async || ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)))
}

const PAGE: &str = include_str!("docs/docs.html");
const SCRIPT: &str = include_str!("docs/docs.js");
const STYLE: &str = include_str!("docs/docs.css");

/// A page of our own that renders the document: nothing is loaded from elsewhere.
async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'";
    ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)], PAGE)
}
