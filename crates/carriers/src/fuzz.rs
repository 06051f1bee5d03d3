//! Fuzzes the parsers of this crate with damaged messages.

use std::path::Path;

use switchhook_fuzz::{Read, Sources, Target};
use switchhook_media::format::AudioFormat;

use crate::stream::codec::StreamDecoder;
use crate::stream::{self, StreamEvent};

/// The size counted for a message without text, in bytes.
const SMALL: usize = 16;

/// Drives a carrier's media stream and decodes its audio.
pub(crate) fn media(wire: &mut dyn stream::StreamProtocol, messages: &[Vec<u8>]) -> Read {
    let (mut decoder, mut payload, mut samples) = (None::<StreamDecoder>, Vec::new(), Vec::new());
    Read::each_text(messages, |message| {
        Ok(match wire.read(message, &mut payload) {
            StreamEvent::Malformed(words) => return Err(words),
            StreamEvent::Start(start) => {
                decoder = StreamDecoder::new(start.inbound, AudioFormat::Narrowband).ok();
                SMALL
            }
            StreamEvent::Audio { payload, .. } => {
                samples.clear();
                if let Some(decoder) = &mut decoder {
                    decoder.decode(payload, &mut samples);
                }
                2 * samples.len()
            }
            StreamEvent::Error(words) => words.len(),
            StreamEvent::Ignored | StreamEvent::Dtmf(_) | StreamEvent::Mark(_) | StreamEvent::Stop => SMALL,
        })
    })
}

const TARGETS: [&Target; 11] = [
    &crate::address::FUZZED,
    &crate::stream::reorder::FUZZED,
    &crate::telnyx::callback::FUZZED,
    &crate::telnyx::rest::FUZZED,
    &crate::telnyx::signature::FUZZED,
    &crate::telnyx::wire::FUZZED,
    &crate::twilio::callback::FUZZED,
    &crate::twilio::records::FUZZED,
    &crate::twilio::signature::FUZZED,
    &crate::twilio::wire::FUZZED,
    &crate::web::wire::FUZZED,
];

#[test]
fn every_file_that_reads_what_strangers_send_is_driven() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let elsewhere = &[
        ("callback.rs", "a field of a query, read by the target of the carrier that put it there"),
        ("rest.rs", "reads any answer as JSON: what is made of it is in the carriers' files"),
    ];
    Sources { root, folders: &[""], elsewhere }.assert_all_driven(&TARGETS);
}

#[test]
fn what_each_target_begins_with_is_what_its_parser_takes() {
    switchhook_fuzz::assert_seeds_are_taken(&TARGETS);
}

#[test]
fn whatever_strangers_send_is_read_or_refused() {
    switchhook_fuzz::assert_all_is_read_or_refused(&TARGETS);
}
