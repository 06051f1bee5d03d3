//! The pages shown when a sign-in fails, and other pages outside the dashboard.

use axum::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::http::error::ApiError;
use crate::http::request_id;

const STYLE: &str = include_str!("page.css");

/// An error as a page for browsers, as JSON for programs. Boxed, because it is large and rare.
pub(in crate::http) struct Answer(Box<(bool, ApiError)>);

impl Answer {
    /// Answers a request with these headers.
    pub(super) fn new(headers: &HeaderMap, error: ApiError) -> Self {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Self(Box::new((accepts.contains("text/html"), error)))
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let (as_page, error) = *self.0;
        if !as_page {
            return error.into_response();
        }
        let body = error.body(request_id::current());
        let request =
            body.request_id.map(|id| format!("<p class=\"meta\">Request {}</p>", escaped(&id))).unwrap_or_default();
        let content = format!(
            "<p>{}</p>\n<p><a class=\"button\" href=\"/auth/login\">Sign in again</a></p>\n{request}",
            escaped(&body.detail)
        );
        let page = html("You are not signed in", &content);
        // Status and headers are those of the error.
        let (mut parts, _) = error.into_response().into_parts();
        parts.headers.remove(CONTENT_TYPE);
        parts.headers.remove(axum::http::header::CONTENT_LENGTH);
        (parts.status, parts.headers, page).into_response()
    }
}

/// A page with this heading; `content` is HTML.
pub(in crate::http) fn html(title: &str, content: &str) -> Response {
    let title = escaped(title);
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · Switchhook</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/auth/page.css\">\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{content}\n</main>\n</body>\n</html>\n"
    );
    let policy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (StatusCode::OK, headers, page).into_response()
}

pub(super) async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")], STYLE)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_sent_is_no_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
