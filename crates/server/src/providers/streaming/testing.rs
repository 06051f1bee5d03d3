//! What a protocol makes of messages, in a form that tests can compare.

use super::{Heard, Protocol};

/// `~` before a partial, `=` before final words, and words for the rest.
pub(crate) fn heard(protocol: &mut dyn Protocol, messages: &[&str]) -> Vec<String> {
    let read = |message: &&str| protocol.read(message).unwrap_or_else(|broken| panic!("{message}: {broken:?}"));
    let heard: Vec<Heard> = messages.iter().flat_map(read).collect();
    heard
        .into_iter()
        .map(|heard| match heard {
            Heard::Ready => "ready".to_owned(),
            Heard::Partial(text) => format!("~ {text}"),
            Heard::Words(text) => format!("= {text}"),
            Heard::Flushed => "flushed".to_owned(),
            Heard::Failed(broken) => format!("failed {broken:?}"),
            Heard::TurnOver => "over".to_owned(),
            Heard::Answer(message) => format!("> {message}"),
        })
        .collect()
}
