//! The topics of our addresses: what the carrier reports there, or asks.

pub(super) const STATUS: &str = "status";
pub(super) const AMD: &str = "amd";
pub(super) const STREAM: &str = "stream";
/// How a transfer ended; which one, says the field of its query with this name.
pub(super) const TRANSFER: &str = "transfer";
/// Instructions for a call.
pub(super) const VOICE: &str = "voice";
/// The same, where the address itself holds the document: sealed, in the field of its query with this name.
pub(super) const DOCUMENT: &str = "document";
