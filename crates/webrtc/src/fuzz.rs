//! Fuzzes input from strangers and browsers.

use switchhook_fuzz::Target;

const TARGETS: [&Target; 6] = [
    &crate::tests::hostile::FUZZED,
    &crate::offer::FUZZED,
    &crate::opus::FUZZED,
    &crate::reorder::FUZZED,
    &crate::routes::FUZZED,
    &crate::session::FUZZED,
];

#[test]
fn what_each_target_begins_with_is_what_its_parser_takes() {
    switchhook_fuzz::assert_seeds_are_taken(&TARGETS);
}

#[test]
fn whatever_strangers_send_is_read_or_refused() {
    switchhook_fuzz::assert_all_is_read_or_refused(&TARGETS);
}
