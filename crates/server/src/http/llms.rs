//! `/llms.txt` and `/llms-full.txt`: what a coding assistant needs to know, in the form of <https://llmstxt.org>.

mod operations;

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use super::{HttpState, openapi};

const INDEX: &str = include_str!("../../../../docs/llms.txt");
/// The documentation, from the first call to the operation of a cluster.
const ALL: &str = concat!(
    include_str!("../../../../docs/first-call.md"),
    include_str!("../../../../docs/api.md"),
    include_str!("../../../../docs/agents.md"),
    include_str!("../../../../docs/agents-as-files.md"),
    include_str!("../../../../docs/calls.md"),
    include_str!("../../../../docs/webhooks.md"),
    include_str!("../../../../docs/simulator.md"),
    include_str!("../../../../docs/web-calls.md"),
    include_str!("../../../../docs/carriers.md"),
    include_str!("../../../../docs/speech-to-text.md"),
    include_str!("../../../../docs/text-to-speech.md"),
    include_str!("../../../../docs/conversation.md"),
    include_str!("../../../../docs/clients.md"),
    include_str!("../../../../docs/dashboard.md"),
    include_str!("../../../../docs/testing.md"),
    include_str!("../../../../docs/deployment.md"),
    include_str!("../../../../docs/operations.md"),
    include_str!("../../../../docs/security.md"),
    include_str!("../../../../docs/field.md"),
);

/// The documentation and the operations, written when they are first asked for.
static FULL: LazyLock<String> = LazyLock::new(|| format!("{ALL}{}", operations::text(&openapi())));

pub(super) fn routes() -> Router<HttpState> {
    let text = |text: &'static str| ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text);
    Router::new()
        .route("/llms.txt", get(async move || text(INDEX)))
        .route("/llms-full.txt", get(async move || text(&FULL)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_documentation_is_in_the_full_text() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        for entry in std::fs::read_dir(docs).expect("the documentation").map(|entry| entry.expect("a file").path()) {
            if entry.extension().is_some_and(|ending| ending == "md") {
                let page = std::fs::read_to_string(&entry).expect("text");
                assert!(ALL.contains(&page), "{}", entry.display());
            }
        }
    }
}
