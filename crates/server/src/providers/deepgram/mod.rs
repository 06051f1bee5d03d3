//! Deepgram, and servers that speak its protocols.

mod flux;
mod nova;
pub mod stt;
pub mod tts;
