//! Cartesia.

pub mod stt;
pub mod tts;

/// The protocol's date.
const VERSION: &str = "2026-08-14";
