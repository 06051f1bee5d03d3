//! What a protocol makes of messages, in a form that tests can compare.

use super::{SttMessage, SttProtocol};

/// `~` before a partial, `=` before final words, and words for the rest.
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
