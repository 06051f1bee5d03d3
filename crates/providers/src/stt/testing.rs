//! Formats the parsed messages of a protocol for comparison in tests.

use super::{SttMessage, SttProtocol};

/// Describes messages: `~` before a partial, `=` before final text, and a word for each other kind.
pub(crate) fn describe(protocol: &mut dyn SttProtocol, messages: &[&str]) -> Vec<String> {
    let read = |message: &&str| protocol.read(message).unwrap_or_else(|broken| panic!("{message}: {broken:?}"));
    let heard: Vec<SttMessage> = messages.iter().flat_map(read).collect();
    heard
        .into_iter()
        .map(|message| match message {
            SttMessage::Ready => "ready".to_owned(),
            SttMessage::Partial(text) => format!("~ {text}"),
            SttMessage::Final(text) => format!("= {text}"),
            SttMessage::Finalized => "flushed".to_owned(),
            SttMessage::Failed(broken) => format!("failed {broken:?}"),
            SttMessage::EndOfTurn => "over".to_owned(),
            SttMessage::Reply(message) => format!("> {message}"),
        })
        .collect()
}
