//! A public address with a path: a proxy takes the path away before it asks this service, so responses must name it.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::openapi::DOCUMENT;

/// Where the dashboard's files begin that are no pages.
const FILES: &str = "/assets/";
/// Maximum size of a page of this service, in bytes.
const MAX_PAGE: usize = 1 << 20;

/// The path of the public address, such as `/voice`; empty if it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BasePath(String);

impl BasePath {
    /// Returns the path of a public address.
    pub(super) fn of(public_url: &str) -> Self {
        let path = url::Url::parse(public_url).map(|url| url.path().trim_end_matches('/').to_owned());
        Self(path.unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a page whose links begin with this path. All links of our pages are paths in double quotes.
    fn in_page(&self, page: &str) -> String {
        page.replace("=\"/", &format!("=\"{}/", self.0))
    }

    /// Returns the OpenAPI document with this path as its server.
    fn in_document(&self, document: &str) -> String {
        document.replacen("\"url\":\"/\"", &format!("\"url\":\"{}\"", self.0), 1)
    }

    fn prefix_location(&self, headers: &mut HeaderMap) {
        let local = headers.get(LOCATION).and_then(|value| value.to_str().ok()).filter(|value| value.starts_with('/'));
        let public = local.and_then(|path| HeaderValue::from_str(&format!("{}{path}", self.0)).ok());
        if let Some(public) = public {
            headers.insert(LOCATION, public);
        }
    }
}

/// Middleware: adds the base path to redirects, pages and the OpenAPI document.
pub(super) async fn add(State(base): State<BasePath>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_document = path == DOCUMENT;
    // These files have no links. A page may be cached from before the address had this path.
    if !path.starts_with(FILES) {
        for header in [ACCEPT_ENCODING, IF_NONE_MATCH] {
            request.headers_mut().remove(header);
        }
    }
    let mut response = next.run(request).await;
    base.prefix_location(response.headers_mut());
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if kind.starts_with(b"text/html") {
        return rewrite(response, |page| base.in_page(page)).await;
    }
    if is_document {
        return rewrite(response, |document| base.in_document(document)).await;
    }
    response
}

async fn rewrite(response: Response, change: impl FnOnce(&str) -> String) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_PAGE).await;
    let Some(changed) = body.ok().and_then(|body| std::str::from_utf8(&body).ok().map(change)) else {
        tracing::error!("could not rewrite a page for the path of the public address");
        return ApiError::internal().into_response();
    };
    for header in [CONTENT_LENGTH, ETAG] {
        parts.headers.remove(header);
    }
    Response::from_parts(parts, Body::from(changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_is_that_of_the_public_address() {
        for (url, path) in [
            ("https://example.com", ""),
            ("https://example.com/", ""),
            ("https://example.com/voice", "/voice"),
            ("https://example.com/a/b%20c/", "/a/b%20c"),
        ] {
            assert_eq!(BasePath::of(url), BasePath(path.to_owned()), "{url}");
        }
    }

    #[test]
    fn links_of_pages_begin_with_it_and_others_stay() {
        let base = BasePath("/voice".to_owned());
        let page = r##"<a href="/docs">x</a><a href="https://a.example/">y</a><a href="#z">z</a><script src="/x.js">"##;
        let changed = r##"<a href="/voice/docs">x</a><a href="https://a.example/">y</a><a href="#z">z</a><script src="/voice/x.js">"##;
        assert_eq!(base.in_page(page), changed);
    }

    #[test]
    fn only_locations_on_this_service_get_it() {
        for (location, expected) in [
            ("/v1/calls/7", "/voice/v1/calls/7"),
            ("/", "/voice/"),
            ("https://id.example.com/authorize", "https://id.example.com/authorize"),
        ] {
            let mut headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
            BasePath("/voice".to_owned()).prefix_location(&mut headers);
            assert_eq!(headers[LOCATION], expected);
        }
    }

    #[test]
    fn the_document_names_it_as_its_server() {
        let document = crate::http::openapi().to_string();
        let changed = BasePath("/voice".to_owned()).in_document(&document);
        let changed: serde_json::Value = serde_json::from_str(&changed).expect("JSON");
        assert_eq!(changed["servers"][0]["url"], "/voice");
    }
}
