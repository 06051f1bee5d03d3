//! The parsers of this crate and of those that do no input or output, driven with damaged messages.

mod api;
mod library;

use std::path::Path;

use switchhook_fuzz::{Sources, Target};

use crate::{backup, http, sign_in, talk};

/// Every target. Those of `talk/tools` are in the files that parse.
fn targets() -> Vec<&'static Target> {
    let mut targets = vec![
        &api::FUZZED,
        &backup::manifest::FUZZED,
        &http::accept::FUZZED,
        &http::auth::event_token::FUZZED,
        &http::calls::recording::FUZZED,
        &http::extract::large_integers::FUZZED,
        &http::listening::FUZZED,
        &http::sign_in::cookies::FUZZED,
        &sign_in::attempt::FUZZED,
        &sign_in::provider::fuzz::FUZZED,
        &talk::tools::FUZZED,
        &talk::tools::mcp::listing::FUZZED,
        &talk::tools::mcp::repair::FUZZED,
        &talk::tools::mcp::result::FUZZED,
        &talk::tools::mcp::transport::FUZZED,
    ];
    targets.extend(library::TARGETS);
    targets
}

#[test]
fn every_file_that_reads_what_strangers_send_is_driven() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = &["backup", "http/auth", "http/sign_in", "sign_in", "talk/tools"];
    let elsewhere =
        &[("sign_in/provider/loose.rs", "reads the answers of the target beside it before the library does")];
    Sources { root, folders, elsewhere }.assert_all_driven(&targets());
}

#[test]
fn what_each_target_begins_with_is_what_its_parser_takes() {
    switchhook_fuzz::assert_seeds_are_taken(&targets());
}

#[test]
fn whatever_strangers_send_is_read_or_refused() {
    switchhook_fuzz::assert_all_is_read_or_refused(&targets());
}
