//! Deepgram.

pub mod tts;
