//! The OpenAPI document and the page that renders it.

mod complete;
mod descriptions;
mod document;
mod events;
mod example;
mod names;
mod recorded;
mod requests;
mod shared;
#[cfg(test)]
mod tests;
mod unions;
mod values;
mod version_3_0;

use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::Value;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses as _, Modify, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;

use super::HttpState;
use super::error::{CommonErrors, ErrorBody, InvalidRequest, NotFound};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Switchhook",
        description = "Place and answer phone calls with AI agents.\n\n\
            All errors have the same shape and a `code`: a shared response lists in `x-error-codes` what operations can send with it \
            (`foreign_origin`: all but `GET`), an operation its others, by status. Later versions can add fields, kinds of events and tools, and values of enums with `x-extensible-enum`; other \
            enums are closed. Unknown body fields are ignored and listed in `warnings`. \
            Lists are newest first; pass `next_cursor` as `cursor` to get the next page. \
            Unsupported methods get 405 with `Allow`. Every response has `X-Request-Id` and, with a valid key, `RateLimit-Policy` and `RateLimit`.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    components(schemas(super::calls::Phone, ErrorBody)),
    modifiers(&Credentials),
    security(("api_key" = [])),
    tags(
        (name = "Calls", description = "Place, follow and end calls; read transcripts."),
        (name = "Agents", description = "Configure how agents hold conversations."),
        (name = "Numbers", description = "Phone numbers for outbound and inbound calls."),
        (name = "Connections", description = "Carriers, speech and language providers, and their credentials."),
        (name = "Webhooks", description = "Event endpoints and their deliveries."),
        (name = "Statistics", description = "Call figures, and what needs attention."),
        (name = "API keys", description = "API keys of the tenant."),
        (name = "Tenant", description = "Limits and current use."),
        (name = "People", description = "Who may use the tenant's dashboard."),
        (name = "Events", description = "Events that webhooks receive."),
    ),
)]
struct Document;

struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("vk_<env>_<prefix>_<secret>")
            .description(Some("An API key. `switchhook tenant create` creates the first one."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
        const TOKEN: &str = "For browsers' `EventSource`: a token from `POST /v1/event-tokens`, in place of a key.";
        let token = SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description("token", TOKEN)));
        components.add_security_scheme("event_token", token);
    }
}

/// Returns the OpenAPI document; the same bytes on every call.
#[must_use]
pub fn openapi() -> Value {
    let mut document = described();
    complete::complete(&mut document);
    document
}

/// Returns the same document for tools that read OpenAPI 3.0.
#[must_use]
pub fn openapi_3_0() -> Value {
    let mut document = openapi();
    version_3_0::downgrade(&mut document);
    document
}

/// The document as the code describes it.
fn described() -> Value {
    let mut described =
        OpenApiRouter::<HttpState>::with_openapi(Document::openapi()).nest("/v1", super::v1()).into_openapi();
    add_errors(&mut described);
    serde_json::to_value(described).expect("a document has string keys only")
}

/// Adds the errors that follow from an operation's shape. What the endpoint itself declares for a status wins.
fn add_errors(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        for operation in [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete].into_iter().flatten() {
            let mut errors = CommonErrors::responses();
            if path.contains('{') {
                errors.extend(NotFound::responses());
            }
            if operation.request_body.is_some() {
                errors.extend(InvalidRequest::responses());
            }
            for (status, response) in errors {
                operation.responses.responses.entry(status).or_insert(response);
            }
        }
    }
}

/// Path of the document.
pub(super) const DOCUMENT: &str = "/openapi.json";

/// The document's bytes, written when they are first asked for: few starts of a service ever need them.
static BYTES: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi().to_string()));

pub(super) fn routes() -> Router<HttpState> {
    Router::new()
        .route(DOCUMENT, get(async || ([(CONTENT_TYPE, "application/json")], BYTES.clone())))
        .route("/docs", get(page))
        .route("/docs/docs.js", get(async || script(SCRIPT)))
        .route("/docs/request.js", get(async || script(REQUEST)))
        .route("/docs/clients.js", get(async || script(CLIENTS)))
        .route("/docs/clients.json", get(async || ([(CONTENT_TYPE, "application/json")], CLIENT_METHODS)))
        .route("/docs/docs.css", get(async || ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)))
}

const PAGE: &str = include_str!("../docs/docs.html");
const SCRIPT: &str = include_str!("../docs/docs.js");
const REQUEST: &str = include_str!("../docs/request.js");
const CLIENTS: &str = include_str!("../docs/clients.js");
/// The names of the clients' methods, by operation.
const CLIENT_METHODS: &str = include_str!("../../../../../clients/operations.json");
const STYLE: &str = include_str!("../docs/docs.css");

fn script(text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], text)
}

/// Serves a page that renders the document without external resources.
async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'";
    ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)], PAGE)
}
