//! Deepgram, and servers that speak its protocols.

pub(crate) mod flux;
pub(crate) mod nova;
pub mod stt;
pub mod tts;
