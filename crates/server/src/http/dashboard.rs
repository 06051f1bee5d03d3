//! The dashboard: the built files of `dashboard/`, embedded in a release and read from the disk otherwise. For clients that accept HTML,
//! every path without its own route is a page of it. Other clients only get its known pages, and 404 for other paths.

use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use rust_embed::{Embed, EmbeddedFile};

use super::HttpState;
use super::accept::accepts_page;
use super::fallback;
use super::sign_in::html;

#[derive(Embed)]
#[folder = "../../dashboard/dist"]
#[allow_missing = true]
struct Files;

const INDEX: &str = "index.html";
/// Paths, and all below them, that are not pages. Nothing else of the service is served in place of a missing page.
const NOT_PAGES: [&str; 9] =
    ["/v1", "/auth", "/carrier", "/media", "/docs", "/healthz", "/readyz", "/metrics", "/openapi.json"];
/// Where the dashboard's pages begin, as in its `routes.tsx`.
const PAGES: [&str; 9] =
    ["agents", "calls", "numbers", "connections", "webhooks", "api-keys", "usage", "settings", "invitation"];
/// Where the build puts scripts, styles and fonts; a missing one is not a page.
const ASSETS: &str = "assets/";
/// The beginning of files for other sites' pages.
const EMBED: &str = "embed";

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Serves a file of the dashboard, or its page for any other path.
pub(super) async fn serve(state: HttpState, request: Request) -> Response {
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) || !is_page(path) {
        return fallback::not_found().await.into_response();
    }
    let name = path.trim_start_matches('/');
    let headers = request.headers();
    if let Some(found) = EncodedFile::file(name, headers) {
        return found.respond(headers, name, &state);
    }
    match EncodedFile::file(INDEX, headers) {
        Some(index) if name.is_empty() || (may_be_page(name) && accepts_page(headers, is_known_page(name))) => {
            index.respond(headers, INDEX, &state)
        }
        None if name.is_empty() => not_built(),
        _ => fallback::not_found().await.into_response(),
    }
}

fn is_page(path: &str) -> bool {
    !NOT_PAGES.iter().any(|other| path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Returns whether a path may be that of a page. Files that do not exist, such as `robots.txt` and `.well-known/change-password`, are none.
fn may_be_page(name: &str) -> bool {
    is_known_page(name) || (!name.starts_with(ASSETS) && !name.contains('.'))
}

fn is_known_page(name: &str) -> bool {
    PAGES.contains(&name.split('/').next().unwrap_or_default())
}

/// A file in the encoding that the client prefers.
struct EncodedFile {
    file: EmbeddedFile,
    encoding: Option<&'static str>,
}

impl EncodedFile {
    /// Returns the file with this name: compressed by the build, if the client takes that.
    fn file(name: &str, headers: &HeaderMap) -> Option<Self> {
        if name.is_empty() || name.ends_with(".br") || name.ends_with(".gz") {
            return None;
        }
        let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let takes = |encoding: &str| accepted.split(',').any(|one| one.trim() == encoding);
        let compressed = [("br", "br"), ("gzip", "gz")].into_iter().filter(|(encoding, _)| takes(encoding));
        let compressed = compressed
            .filter_map(|(encoding, ending)| Some((encoding, Files::get(&format!("{name}.{ending}"))?)))
            .next();
        match compressed {
            Some((encoding, file)) => Some(Self { file, encoding: Some(encoding) }),
            None => Files::get(name).map(|file| Self { file, encoding: None }),
        }
    }

    fn respond(self, asked: &HeaderMap, name: &str, state: &HttpState) -> Response {
        let tag = tag(&self.file.metadata.sha256_hash());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type(name));
        // File names are the same in every build, so browsers ask whether a file has changed.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if name.starts_with(EMBED) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
        } else {
            protect(&mut headers, state.addresses.public_url());
        }
        let unchanged = is_known(asked, &tag);
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(ETAG, tag);
        }
        if unchanged {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        if let Some(encoding) = self.encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        (headers, self.file.data).into_response()
    }
}

/// Protects our pages: only our own scripts run, no site can frame them, and they only connect to this service.
fn protect(headers: &mut HeaderMap, public_url: &str) {
    if let Ok(policy) = HeaderValue::from_str(&content_security_policy(public_url)) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(PERMISSIONS_POLICY, HeaderValue::from_static("microphone=(self), camera=(), geolocation=()"));
}

fn content_security_policy(public_url: &str) -> String {
    // To older versions of Safari, 'self' does not include websockets.
    let origin = url::Url::parse(public_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let sockets = origin.replacen("http", "ws", 1);
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; \
         connect-src 'self' {sockets}; media-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

fn content_type(name: &str) -> HeaderValue {
    let kind = mime_guess::from_path(name).first_or_octet_stream();
    let text = match kind.type_() {
        mime_guess::mime::TEXT => format!("{kind}; charset=utf-8"),
        _ => kind.to_string(),
    };
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn tag(hash: &[u8; 32]) -> String {
    let hex: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// Returns whether the client already has what the tag names (RFC 9110 section 13.1.2).
fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let values = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(|one| one.trim().trim_start_matches("W/"));
    tags.any(|one| one == "*" || one == tag)
}

fn not_built() -> Response {
    let content = "<p>The API works. This binary was built without the dashboard; in the source, build it with:</p>\n\
        <pre>cd dashboard\nnpm ci\nnpm run build</pre>\n\
        <p>and then build or start Switchhook again. <a href=\"/docs\">The API's documentation</a> is here.</p>";
    html("The dashboard is not built", content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_other_routes_are_not_pages() {
        for page in ["/", "/calls", "/calls/7", "/v1x", "/authors", "/docsy"] {
            assert!(is_page(page), "{page}");
        }
        for other in
            ["/v1", "/v1/x", "/auth/nothing", "/carrier/", "/media/web/x", "/docs/x", "/healthz", "/openapi.json"]
        {
            assert!(!is_page(other), "{other}");
        }
    }

    #[test]
    fn known_pages_are_those_of_the_dashboard() {
        let routes = include_str!("../../../../dashboard/src/routes.tsx");
        let paths = routes.split("path: \"").skip(1).filter_map(|rest| rest.split(['/', '"']).next());
        let mut first: Vec<&str> = paths.filter(|path| !["", "*"].contains(path)).collect();
        first.dedup();
        assert_eq!(first, PAGES);
        assert!(first.iter().all(|page| may_be_page(page)));
        assert!(
            ["robots.txt", "swagger.json", ".well-known/change-password"].into_iter().all(|file| !may_be_page(file))
        );
        assert!(is_known_page("calls/7") && !is_known_page("v2/calls") && !is_known_page("openapi.yaml"));
    }

    #[test]
    fn pages_talk_to_this_service_only() {
        let policy = content_security_policy("https://voice.example.com/below");
        assert!(policy.contains("connect-src 'self' wss://voice.example.com;"), "{policy}");
        assert!(content_security_policy("http://127.0.0.1:8080").contains("'self' ws://127.0.0.1:8080;"));
    }

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        let tag = tag(&[7; 32]);
        let asked = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_str(value).expect("a value"));
            is_known(&headers, &tag)
        };
        assert!(asked(&tag) && asked(&format!("\"x\", W/{tag}")) && asked("*"));
        assert!(!asked("\"x\"") && !is_known(&HeaderMap::new(), &tag));
    }

    #[test]
    fn text_says_how_it_is_encoded() {
        assert_eq!(content_type("a/b.js"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("x.woff2"), "font/woff2");
    }
}
