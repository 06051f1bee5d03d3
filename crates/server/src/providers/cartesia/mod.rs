//! Cartesia.

pub mod stt;
pub mod tts;
