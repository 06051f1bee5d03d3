//! Cartesia.

pub mod tts;
